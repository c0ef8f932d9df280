package jit_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/jittest"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

const namedSource = `
kernel rows<T: float>(x: T[M, K], w: T[E, K, N], name: i32[R], expert: i32[E1]) -> y: f32[R, N]
    grid i in R by BM, j in N by BN
{
    axis k in K
    let at = name[i] / 2
    y[i, j] = dot(x[at, k] else 0, w[expert[0], k, j] else 0)
}

kernel both<T: float>(x: T[M, K], w: T[N, K], name: i32[R], column: i32[C]) -> y: f32[R, C]
    grid i in R by BM, j in C by BN
{
    let acc = for k in K by BK with acc = zeros(f32, i, j) {
        mma(x[name[i], k] else 0, w[column[j], k] else 0, acc)
    }
    y[i, j] = acc
}

kernel put<T: float>(x: T[M, K], w: T[K, N], name: i32[R], inout y: T[V, N])
    grid i in R by BM, j in N by BN
{
    axis k in K
    atomic_xchg(y[name[i], j], dot(x[index(i) % M, k] else 0, w[k, j]) as T)
}
`

// Products whose rows, or columns, a list names, some of them outside of the tensor, give what they give on the CPU, however far their loads run ahead.
func TestProductsOfNamedRows(t *testing.T) {
	cpu, err := jit.OpenDevice("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { cpu.Close() })
	onCPU, err := jit.NewCompiler(cpu, nil).Load("named.tile", []byte(namedSource))
	require.NoError(t, err)
	k := jittest.Load(t, "named.tile", namedSource)
	list := func(n int64, of int64) *jit.Array { // each once, in another order; every seventh is outside
		values := make([]int32, n)
		for i := range values {
			if values[i] = int32((int64(i)*37 + 11) % of); i%7 == 3 {
				values[i] = []int32{-1, int32(of), 1 << 30}[i%3]
			}
		}
		return jittest.Ints(values, n)
	}
	for _, c := range []struct {
		kernel     string
		d          lang.DType
		m, n, deep int64
		pins       map[string]int64
	}{
		{"rows", lang.BF16, 70, 80, 128, map[string]int64{"BM": 64, "BN": 64, "warps": 4, "stages": 3}},
		{"rows", lang.BF16, 131, 256, 192, map[string]int64{"BM": 128, "BN": 128, "warps": 8, "stages": 3, "k": 64}},
		{"rows", lang.F16, 33, 40, 72, map[string]int64{"BM": 16, "BN": 32, "warps": 4, "stages": 2}},
		{"rows", lang.F32, 70, 80, 96, map[string]int64{"BM": 64, "BN": 64, "warps": 4, "stages": 3, "k": 32}},
		{"rows", lang.F8E4M3, 70, 80, 128, nil},
		{"both", lang.BF16, 70, 90, 128, map[string]int64{"BM": 64, "BN": 64, "BK": 64, "warps": 4, "stages": 4}},
		{"both", lang.BF16, 70, 90, 100, map[string]int64{"BM": 32, "BN": 32, "BK": 32, "warps": 2, "stages": 3}},
		{"both", lang.F32, 40, 48, 64, nil},
		{"put", lang.BF16, 70, 80, 128, map[string]int64{"BM": 64, "BN": 64, "warps": 4, "stages": 3}},
		{"put", lang.F16, 33, 41, 64, nil},
	} {
		t.Run(fmt.Sprint(c.kernel, " ", c.d, " ", c.m, "x", c.deep, "x", c.n, " ", c.pins), func(t *testing.T) {
			t.Parallel()
			x, name := small(c.d, c.m, c.deep), list(c.m, c.m+5)
			var args []any
			named := jit.Args{"x": x, "name": name}
			switch c.kernel {
			case "rows":
				w, expert := small(c.d, 3, c.deep, c.n), jittest.Ints([]int32{2}, 1)
				args, named["w"], named["expert"] = []any{x, w, name, expert}, w, expert
			case "both":
				w, column := small(c.d, c.n, c.deep), list(c.n, c.n+3)
				args, named["w"], named["column"] = []any{x, w, name, column}, w, column
			case "put":
				w, y := small(c.d, c.deep, c.n), small(c.d, c.m+2, c.n)
				mine := jit.NewArray(c.d, c.m+2, c.n)
				copy(mine.Data, y.Data)
				args, named["w"], named["y"] = []any{x, w, name, mine}, w, y
			}
			want, err := onCPU.Call(c.kernel, named)
			require.NoError(t, err)
			got := k.Run(t, c.kernel, jit.Options{Pins: c.pins}, args...)[0]
			if c.kernel == "put" {
				want["y"] = named["y"].(*jit.Array)
			}
			jittest.Same(t, got, want["y"].Float)
		})
	}
}

// Rows that a list names before the loop are copied ahead, as what lies beside them is; and what is put at places from memory is stored.
func TestNamedRowsRunAhead(t *testing.T) {
	_, text := lowered(t, namedSource, "rows", jit.Options{Types: map[string]lang.DType{"T": lang.BF16}, Dims: map[string]int64{"M": 1024, "K": 2048, "N": 1024, "R": 4096, "E": 8, "E1": 1}})
	assert.Regexp(t, `(?s)load %x\[\?%\d+, %\d+\] else %\d+ : bf16\{i, k\}\n[^\n]*\n? *@copy tile`, text)
	assert.Contains(t, text, "by wgmma of bf16, bf16")
}

const gradientSource = `
kernel of_keys<T: float>(q: T[S, D], k: T[P, D], v: T[P, D], g: T[S, D], delta: f32[S]) -> (dk: f32[P, D], dv: f32[P, D])
    grid j in P by BN
{
    axis d in D
    let kj = k[j, d]
    let vj = v[j, d]
    let (dk_, dv_) = for i in S[j.start ..] by BM with (dk_, dv_) = (zeros(f32, j, d), zeros(f32, j, d)) {
        let p = where(index(j) <= index(i), dot(q[i, d], kj), 0)
        let dv2 = mma(p as T, g[i, d], dv_)
        let ds = p * 0.0625 * (dot(g[i, d], vj) - delta[i])
        (mma(ds as T, q[i, d], dk_), dv2)
    }
    dk[j, d] = dk_
    dv[j, d] = dv_
}
`

// The gradients of keys and values, of attention without its softmax: what products of products give on the CPU, by each instruction.
func TestProductsHaveTheRowsThatLaterOnesKeep(t *testing.T) {
	cpu, err := jit.OpenDevice("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { cpu.Close() })
	onCPU, err := jit.NewCompiler(cpu, nil).Load("gradient.tile", []byte(gradientSource))
	require.NoError(t, err)
	k := jittest.Load(t, "gradient.tile", gradientSource)
	for _, c := range []struct {
		d    lang.DType
		s, p int64
		deep int64
		pins map[string]int64
	}{
		{lang.BF16, 200, 130, 64, map[string]int64{"BN": 64, "BM": 64, "warps": 4, "stages": 3}},
		{lang.BF16, 256, 256, 64, map[string]int64{"BN": 128, "BM": 64, "warps": 8, "stages": 2}},
		{lang.F16, 150, 150, 128, map[string]int64{"BN": 64, "BM": 64, "warps": 4, "stages": 2}},
		{lang.BF16, 70, 70, 32, map[string]int64{"BN": 32, "BM": 16, "warps": 2, "stages": 3}},
	} {
		t.Run(fmt.Sprint(c.d, " ", c.s, "x", c.p, "x", c.deep, " ", c.pins), func(t *testing.T) {
			t.Parallel()
			q, keys, v, g, delta := small(c.d, c.s, c.deep), small(c.d, c.p, c.deep), small(c.d, c.p, c.deep), small(c.d, c.s, c.deep), small(lang.F32, c.s)
			want, err := onCPU.Call("of_keys", jit.Args{"q": q, "k": keys, "v": v, "g": g, "delta": delta})
			require.NoError(t, err)
			got := k.Run(t, "of_keys", jit.Options{Pins: c.pins}, q, keys, v, g, delta)
			jittest.Same(t, got[0], want["dk"].Float)
			jittest.Same(t, got[1], want["dv"].Float)
		})
	}
}

// All four products are by warpgroups, queries and their gradients come ahead, and what is computed stays in registers.
func TestGradientsOfAttentionStayInRegisters(t *testing.T) {
	_, text := lowered(t, gradientSource, "of_keys", jit.Options{Types: map[string]lang.DType{"T": lang.BF16}, Dims: map[string]int64{"S": 4096, "P": 4096, "D": 64}})
	assert.NotContains(t, text, "by mma of")
	assert.Regexp(t, `(?s)by wgmma of.*by wgmma of.*by wgmma of.*by wgmma of`, text)
	assert.Regexp(t, `@ring stages [2-8] .*produced`, text)
	assert.Contains(t, text, "@phase")
	for _, kernel := range []string{"strictly", "from_some"} {
		_, text := lowered(t, lastSource, kernel, jit.Options{Types: map[string]lang.DType{"T": lang.BF16}, Dims: map[string]int64{"S": 4096, "P": 4096, "D": 64}})
		assert.Contains(t, text, "@phase")
	}
}

const lastSource = `
kernel strictly<T: float>(q: T[S, D], k: T[P, D]) -> y: f32[P, D]
    grid j in P by BN
{
    axis d in D
    let kj = k[j, d]
    y[j, d] = for i in S by BM with y = zeros(f32, j, d) {
        mma(where(index(i) > index(j) + 1, dot(q[i, d], kj), 0) as T, q[i, d], y)
    }
}

kernel from_some<T: float>(q: T[S, D], k: T[P, D], first: i32) -> y: f32[P, D]
    grid j in P by BN
{
    axis d in D
    let kj = k[j, d]
    y[j, d] = for i in S by BM with y = zeros(f32, j, d) {
        mma(where(index(i) >= first, dot(q[i, d], kj), 1) as T, q[i, d], y)
    }
}
`

// Loops whose last steps need no mask give what they give on the CPU, wherever these begin: in the middle of a step, before the first, behind the last.
func TestPhasesAtTheEnd(t *testing.T) {
	cpu, err := jit.OpenDevice("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { cpu.Close() })
	onCPU, err := jit.NewCompiler(cpu, nil).Load("last.tile", []byte(lastSource))
	require.NoError(t, err)
	k := jittest.Load(t, "last.tile", lastSource)
	for _, pins := range []map[string]int64{nil, {"BN": 64, "BM": 64, "warps": 4, "stages": 3}, {"BN": 16, "BM": 32, "warps": 1, "stages": 2}, {"BN": 64, "BM": 64, "warps": 4, "stages": 3, "phases": 1}} {
		for _, s := range []int64{192, 200} {
			for _, first := range []int64{0, 70, 128, 131, 1000, -5} {
				t.Run(fmt.Sprint(pins, " ", s, " ", first), func(t *testing.T) {
					t.Parallel()
					q, keys := small(lang.BF16, s, 64), small(lang.BF16, 130, 64)
					want, err := onCPU.Call("from_some", jit.Args{"q": q, "k": keys, "first": first})
					require.NoError(t, err)
					got := k.Run(t, "from_some", jit.Options{Pins: pins}, q, keys, jit.IntValue(lang.I32, first))
					jittest.Same(t, got[0], want["y"].Float)
					if first != 0 {
						return
					}
					want, err = onCPU.Call("strictly", jit.Args{"q": q, "k": keys})
					require.NoError(t, err)
					got = k.Run(t, "strictly", jit.Options{Pins: pins}, q, keys)
					jittest.Same(t, got[0], want["y"].Float)
				})
			}
		}
	}
}

// lowered is a kernel as it is planned for the default target, and the text of its block program.
func lowered(t *testing.T, source, kernel string, o jit.Options) (*compile.Lowered, string) {
	t.Helper()
	program, problems := jit.Load("source.tile", []byte(source), nil)
	require.Empty(t, problems)
	machine, err := target.Find(target.Default)
	require.NoError(t, err)
	i := slices.IndexFunc(program.Kernels, func(k *typed.Kernel) bool { return k.Name == kernel })
	require.GreaterOrEqual(t, i, 0, "no kernel %s", kernel)
	s, err := jit.Specialise(program.Kernels[i], o)
	require.NoError(t, err)
	l, err := compile.Lower(s, machine, nil)
	require.NoError(t, err)
	text, err := l.Block()
	require.NoError(t, err)
	return l, text
}
