package jit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/jit/spec"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

const misaligned = `
kernel linear<T: float>(x: T[M, K], w: T[K, N]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    let acc = for k in K by BK with acc = zeros(f32, i, j) {
        mma(x[i, k], w[k, j], acc)
    }
    y[i, j] = acc as T
}

kernel formula(x: bf16[M, K], w: bf16[N, K]) -> y: f32[M, N] { y[i, j] = sum(x[i, k] * w[j, k], over k) }

kernel batched(x: bf16[B, M, K], w: bf16[B, K, N]) -> y: f32[B, M, N] { y[b, i, j] = sum(x[b, i, k] * w[b, k, j], over k) }

@precision(ieee)
kernel exact(x: f32[M, K], w: f32[K, N]) -> y: f32[M, N] { y[i, j] = sum(x[i, k] * w[k, j], over k) }

@relayout(2)
kernel anew(x: bf16[M, K], w: bf16[K, N]) -> y: bf16[M, N] { y[i, j] = sum(x[i, k] * w[k, j], over k) as bf16 }

graph columns(x: bf16[M, K], w: bf16[K, N]) -> y: bf16[M, 64] { y = anew(x, w[.., 1 .. 65]) }

graph both(x: bf16[M, K], w: bf16[K, N], v: bf16[K, N]) -> y: bf16[M, N] { y = anew(x, w) + anew(x, v) }

kernel more(inout x: bf16[M, K]) { x[i, k] = x[i, k] + 1 }

graph changed(inout x: bf16[M, K], w: bf16[K, N]) -> y: bf16[M, N] {
    let before = anew(x, w)
    more(x)
    y = before + anew(x, w)
}

graph chain(x: bf16[M, K], w: bf16[K, N]) -> y: bf16[M, N] { y = anew(x + x, w) * 0.5 }
`

// misalignedOnCPU are the programs on the CPU, which lays nothing out anew.
func misalignedOnCPU(t *testing.T) *jit.Module {
	t.Helper()
	d, err := jit.OpenDevice("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { d.Close() })
	m, err := jit.NewCompiler(d, nil).Load("misaligned.tile", []byte(misaligned))
	require.NoError(t, err)
	return m
}

// A product whose operands were copied, with rows at whole lines, gives what it gives without: where rows are odd, where one operand's are, where a base is, of
// batches and in a graph. Its operands come by the TMA then.
func TestMisalignedOperandsAreCopied(t *testing.T) {
	sweep.Once(t)
	d, err := jit.OpenDevice("emu")
	require.NoError(t, err)
	defer d.Close()
	module, err := jit.NewCompiler(d, nil).Load("misaligned.tile", []byte(misaligned))
	require.NoError(t, err)
	product := jit.Args{"BM": 64, "BN": 64, "BK": 32, "warps": 4, "stages": 3}
	for _, c := range []struct {
		name, kernel string
		dtype        lang.DType
		x, w         []int64
		pins         jit.Args
	}{
		{"bf16", "linear", lang.BF16, []int64{37, 45}, []int64{45, 51}, product},
		{"f16, more steps", "linear", lang.F16, []int64{70, 131}, []int64{131, 133}, product},
		{"x alone", "linear", lang.BF16, []int64{37, 45}, []int64{45, 64}, product},
		{"w alone", "linear", lang.BF16, []int64{37, 64}, []int64{64, 51}, product},
		{"f32", "linear", lang.F32, []int64{37, 45}, []int64{45, 51}, product},
		{"w as it is stored", "formula", lang.BF16, []int64{37, 45}, []int64{51, 45}, jit.Args{}},
		{"batched", "batched", lang.BF16, []int64{3, 37, 45}, []int64{3, 45, 51}, jit.Args{}},
		{"one column", "linear", lang.BF16, []int64{37, 45}, []int64{45, 1}, jit.Args{}},
		{"one row", "linear", lang.BF16, []int64{1, 45}, []int64{45, 51}, jit.Args{}},
		{"no depth", "linear", lang.BF16, []int64{37, 0}, []int64{0, 51}, jit.Args{}},
		{"no rows", "linear", lang.F32, []int64{0, 45}, []int64{45, 51}, jit.Args{}},
		{"ieee", "exact", lang.F32, []int64{37, 45}, []int64{45, 51}, jit.Args{}},
	} {
		call := func(relayout int) []byte {
			args := jit.Args{"x": small(c.dtype, c.x...), "w": small(c.dtype, c.w...), "relayout": relayout}
			for name, n := range c.pins {
				args[name] = n
			}
			out, err := module.Call(c.kernel, args)
			require.NoError(t, err, c.name)
			return out["y"].Data
		}
		assert.Equal(t, call(1), call(2), c.name)
	}
	x, w := small(lang.BF16, 37, 45), small(lang.BF16, 45, 51)
	alone, err := module.Call("anew", jit.Args{"x": x, "w": w, "relayout": 1})
	require.NoError(t, err)
	in, err := module.Call("chain", jit.Args{"x": x, "w": w})
	require.NoError(t, err)
	assert.Equal(t, alone["y"].Data, in["y"].Data)
	columns := jit.Args{"x": small(lang.BF16, 37, 48), "w": small(lang.BF16, 48, 80)}
	aligned, err := module.Call("columns", columns)
	require.NoError(t, err)
	onCPU := misalignedOnCPU(t)
	want, err := onCPU.Call("columns", columns)
	require.NoError(t, err)
	assert.Equal(t, want["y"].Data, aligned["y"].Data, "columns from the second on: only the place of the first row is misaligned")
}

// Launches that read one operand share its copy, unless a launch between them writes the operand.
func TestCopiesOfOperandsAreShared(t *testing.T) {
	d, err := jit.OpenDevice("emu")
	require.NoError(t, err)
	defer d.Close()
	compiler := jit.NewCompiler(d, nil)
	module, err := compiler.Load("misaligned.tile", []byte(misaligned))
	require.NoError(t, err)
	program, problems := jit.Load("misaligned.tile", []byte(misaligned), nil)
	require.Empty(t, problems)
	onCPU := misalignedOnCPU(t)
	x, w := small(lang.BF16, 37, 45), small(lang.BF16, 45, 51)
	for _, c := range []struct {
		graph  string
		args   jit.Args
		copies int
	}{
		{"both", jit.Args{"x": x, "w": w, "v": w}, 3},
		{"changed", jit.Args{"x": x, "w": w}, 3},
	} {
		g := program.Graphs[slices.IndexFunc(program.Graphs, func(g *typed.Graph) bool { return g.Name == c.graph })]
		values := []jit.Value{valueOf(t, d, x), valueOf(t, d, w)}
		if c.graph == "both" {
			values = append(values, values[1])
		}
		text := ""
		p, err := compiler.BindGraph(g, values, jit.Options{Dump: func(pass string, after lang.Listing) { text = after.String() }})
		require.NoError(t, err)
		p.Close()
		assert.Equal(t, c.copies, strings.Count(text, "= relayout("), text)
		anew, err := module.Call(c.graph, c.args)
		require.NoError(t, err)
		c.args["x"] = small(lang.BF16, 37, 45) // one graph changes its own
		want, err := onCPU.Call(c.graph, c.args)
		require.NoError(t, err)
		assert.Equal(t, want["y"].Data, anew["y"].Data, c.graph)
	}
}

// The copies, whose rows begin at whole lines, are read by the TMA although the depth is odd, in elements of two bytes and of four.
func TestCopiesOfMisalignedOperandsComeByTheTMA(t *testing.T) {
	program, problems := jit.Load("misaligned.tile", []byte(misaligned), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	for _, d := range []lang.DType{lang.BF16, lang.F32} {
		s, err := jit.Specialise(program.Kernels[0], jit.Options{Types: map[string]lang.DType{"T": d}, Dims: map[string]int64{"M": 4097, "K": 4095, "N": 4099}})
		require.NoError(t, err)
		asIs, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		for i := range 2 {
			s.Layouts[i] = spec.Layout{Inner: 1, Divisors: []int64{16, 1}, Align: 16}
		}
		anew, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		text, err := anew.Block()
		require.NoError(t, err)
		assert.Regexp(t, `@ring .* produced`, text, d)
		assert.Less(t, 2*anew.Plan.Time, asIs.Plan.Time, "%s: an H200 takes more than twice as long as for aligned operands", d)
	}
}

// Large products gain by copies of operands whose rows are misaligned, small ones do not, nor those that are aligned, nor those that the setting keeps as they are.
func TestWhichMisalignedOperandsAreCopied(t *testing.T) {
	sweep.Once(t)
	launches := func(kernel string, d lang.DType, pins map[string]int64, x, w []int64) string {
		return launchesOf(t, misaligned, kernel, pins, jittest.NewArray(d, x...), jittest.NewArray(d, w...))
	}
	copies := func(text string) int { return strings.Count(text, "= relayout(") }
	odd := [][]int64{{4097, 4095}, {4095, 4099}}
	text := launches("linear", lang.BF16, nil, odd[0], odd[1])
	assert.Equal(t, 2, copies(text), text)
	assert.Contains(t, text, "x %0:bf16[4097, 4095] strides [4096, 1], w %1:bf16[4095, 4099] strides [4160, 1]")
	assert.Equal(t, 2, copies(launches("linear", lang.F32, nil, odd[0], odd[1])))
	asked := map[string]int64{"relayout": 2}
	assert.Equal(t, 2, copies(launches("linear", lang.BF16, asked, []int64{37, 45}, []int64{45, 51})))
	assert.Equal(t, 1, copies(launches("linear", lang.BF16, asked, []int64{37, 45}, []int64{45, 64})))
	assert.Equal(t, 2, copies(launches("exact", lang.F32, asked, []int64{37, 45}, []int64{45, 51})))
	assert.Equal(t, 2, copies(launches("batched", lang.BF16, nil, []int64{16, 1023, 1025}, []int64{16, 1025, 1027})))
	text = launches("linear", lang.BF16, nil, []int64{4096, 4096}, []int64{4096, 4099})
	assert.Equal(t, 1, copies(text), text)
	assert.Contains(t, text, "relayout(x w:")
	assert.Empty(t, launches("linear", lang.BF16, map[string]int64{"relayout": 1}, odd[0], odd[1]))
	assert.Empty(t, launches("linear", lang.BF16, nil, []int64{4096, 4096}, []int64{4096, 4104}), "rows begin at multiples of 16 bytes")
	assert.Empty(t, launches("linear", lang.BF16, nil, []int64{37, 45}, []int64{45, 51}), "small")
	assert.Empty(t, launches("exact", lang.F32, nil, odd[0], odd[1]), "no matrix unit")
	assert.Empty(t, launches("linear", lang.BF16, nil, []int64{1, 4095}, []int64{4095, 4099}), "of one row")
}
