package jit

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/cuda"
	"tilec/jit/plan"
	"tilec/lang"
	"tilec/typecheck"
)

var updatePins = flag.Bool("update.pins", false, "write testdata/pins.txt anew")

// pinCases are lowerings of testdata/pins.tile: a kernel, a target, sizes and pins of the launch.
var pinCases = []struct {
	kernel, target string
	dims           map[string]int64
	pins           map[string]int64
}{
	{"product", "sm_90a", map[string]int64{"M": 4096, "N": 4096, "K": 4096}, nil},
	{"product", "sm_80", map[string]int64{"M": 4096, "N": 4096, "K": 4096}, nil},
	{"product", "cpu", map[string]int64{"M": 4096, "N": 4096, "K": 4096}, nil},
	{"product", "sm_90a", map[string]int64{"M": 4096, "N": 4096, "K": 4096}, map[string]int64{"BM": 32, "occupancy": 1}},
	{"product", "sm_90a", map[string]int64{"M": 40, "N": 33, "K": 17}, nil},
	{"soft", "sm_90a", map[string]int64{"M": 100, "N": 1000}, nil},
	{"soft", "cpu", map[string]int64{"M": 100, "N": 1000}, nil},
	{"soft", "sm_80", map[string]int64{"M": 100, "N": 1000}, nil},
	{"skinny", "sm_90a", map[string]int64{"M": 16, "N": 64, "K": 8000}, nil},
	{"skinny", "sm_90a", map[string]int64{"M": 16, "N": 64, "K": 3}, nil},
	{"skinny", "sm_89", map[string]int64{"M": 16, "N": 64, "K": 8000}, nil},
	{"skinny", "cpu", map[string]int64{"M": 16, "N": 64, "K": 8000}, nil},
	{"batched", "sm_90a", map[string]int64{"B": 32, "N": 64, "K": 1024}, nil},
	{"batched", "sm_90a", map[string]int64{"B": 32, "N": 64, "K": 1024}, map[string]int64{"BB": 2}},
	{"deep", "sm_90a", map[string]int64{"M": 4096, "N": 4096, "K": 4096}, nil},
	{"deep", "sm_90a", map[string]int64{"M": 4096, "N": 4096, "K": 4096}, map[string]int64{"BM": 256, "stages": 2}},
	{"deep", "sm_90a", map[string]int64{"M": 4096, "N": 4096, "K": 4096}, map[string]int64{"warps": 5}},
	{"deep", "sm_90a", map[string]int64{"M": 4096, "N": 4096, "K": 4096}, map[string]int64{"BQ": 5}},
	{"position", "sm_90a", map[string]int64{"M": 5, "N": 500}, nil},
	{"rows", "sm_90a", map[string]int64{"M": 5, "N": 500}, nil},
	{"crowd", "sm_90a", map[string]int64{"M": 5, "N": 500}, nil},
	{"renamed", "sm_90a", map[string]int64{"N": 64}, nil},
	{"renamed", "sm_90a", map[string]int64{"N": 4096}, nil},
}

func pinKernels(t *testing.T) map[string]*typecheck.Kernel {
	text, err := os.ReadFile("testdata/pins.tile")
	require.NoError(t, err)
	program, ds := Load("pins.tile", text, nil)
	require.Empty(t, ds)
	ks := map[string]*typecheck.Kernel{}
	for _, k := range program.Kernels {
		ks[k.Name] = k
	}
	return ks
}

func lowerCase(t *testing.T, k *typecheck.Kernel, target string, dims, pins map[string]int64) (*Lowered, error) {
	to, err := plan.FindTarget(target)
	require.NoError(t, err)
	s, err := Specialise(k, Options{Dims: dims, Pins: pins})
	require.NoError(t, err)
	return Lower(s, to, nil)
}

// What became of every pin and hint is golden, and so is each error of one that cannot be.
func TestPins(t *testing.T) {
	kernels := pinKernels(t)
	var b strings.Builder
	for _, c := range pinCases {
		fmt.Fprintf(&b, "%s on %s %v %v\n", c.kernel, c.target, c.dims, c.pins)
		l, err := lowerCase(t, kernels[c.kernel], c.target, c.dims, c.pins)
		var d *lang.Diagnostic
		switch {
		case errors.As(err, &d):
			var text strings.Builder
			require.NoError(t, lang.Render(&text, lang.Diagnostics{d}, lang.RenderOptions{}))
			fmt.Fprintf(&b, "%s", text.String())
		case err != nil:
			t.Errorf("%s on %s: %v is no diagnostic", c.kernel, c.target, err)
		default:
			fmt.Fprintf(&b, "  %s\n", l.Plan)
			for _, line := range append(l.Pins, l.Shared()...) {
				fmt.Fprintf(&b, "  %s\n", line)
			}
		}
		b.WriteString("\n")
	}
	const file = "testdata/pins.txt"
	if *updatePins {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	golden, got := strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")
	for i := range min(len(golden), len(got)) {
		require.Equal(t, golden[i], got[i], "%s:%d: run with -update.pins where the change is meant", file, i+1)
	}
	assert.Len(t, got, len(golden))
}

// Every hint changes the code that it is about, which assembles.
func TestPinsShowInPTX(t *testing.T) {
	kernels := pinKernels(t)
	assembler, noAssembler := cuda.FindAssembler()
	for _, c := range []struct {
		kernel, target string
		dims           map[string]int64
		want, not      []string
	}{
		{"product", "sm_90a", map[string]int64{"M": 4096, "N": 4096, "K": 4096},
			[]string{".minnctapersm 2", "st.global.L1::evict_last", "cp.async.wait_group          2"}, []string{"cache_hint"}},
		{"product", "sm_90a", map[string]int64{"M": 40, "N": 33, "K": 17}, []string{"ld.global.nc.L1::evict_first", "ld.global.nc.L1::no_allocate"}, nil},
		{"soft", "sm_90a", map[string]int64{"M": 100, "N": 1000},
			[]string{".reqnctapercluster 4, 1, 1", "ex2.approx", "ld.global.nc.L1::evict_last", "st.global.L1::no_allocate"}, []string{"mapa"}},
		{"skinny", "sm_90a", map[string]int64{"M": 16, "N": 64, "K": 8000},
			[]string{".reqnctapercluster 4, 1, 1", "%cluster_ctarank", "mapa.shared::cluster.u32", "ld.shared::cluster.b32", "barrier.cluster.arrive.release.aligned"}, []string{"atom.", " red."}},
	} {
		t.Run(c.kernel+" "+c.target, func(t *testing.T) {
			l, err := lowerCase(t, kernels[c.kernel], c.target, c.dims, nil)
			require.NoError(t, err)
			text, err := l.PTX()
			require.NoError(t, err)
			for _, want := range c.want {
				assert.True(t, strings.Contains(text, want), "no %s", want)
			}
			for _, not := range c.not {
				assert.False(t, strings.Contains(text, not), "there is %s", not)
			}
			if noAssembler == nil {
				_, _, err = assembler.Compile(context.Background(), []byte(text), c.target, cuda.CompileOptions{})
				assert.NoError(t, err)
			}
		})
	}
}

// The largest number of blocks in a cluster that is not a divisor of the grid: the launch is rounded up.
func TestClusterRoundsTheGridUp(t *testing.T) {
	l, err := lowerCase(t, pinKernels(t)["soft"], "sm_90a", map[string]int64{"M": 101, "N": 1000}, map[string]int64{"BM": 1, "cluster": 8})
	require.NoError(t, err)
	for _, d := range l.Func.Dims {
		if d.Name == "M" && !d.Known() {
			d.Value = 101
		}
	}
	assert.EqualValues(t, 104, l.module.Blocks(nil))
	l, err = lowerCase(t, pinKernels(t)["skinny"], "sm_90a", map[string]int64{"M": 33, "N": 64, "K": 999}, map[string]int64{"BI": 32, "BJ": 32})
	require.NoError(t, err)
	for _, d := range l.Func.Dims {
		if d.Name == "M" && !d.Known() {
			d.Value = 33
		}
	}
	assert.EqualValues(t, 2*2*4, l.module.Blocks(nil))
}

// A sum over blocks is added up in one order: the same bits each time, whichever block ends first, near those of the CPU.
func TestSplitIsRepeatable(t *testing.T) {
	const source = `
@split(j, 5)
kernel f(x: f32[M, N]) -> y: f32[M]
    grid i in M by 2
{
    axis j in N
    y[i] = sum(exp(x[i, j]), over j)
}`
	const m, n = 7, 3001
	x := make([]float32, m*n)
	for i := range x {
		x[i] = float32(i*7919%1000)/100 - 5
	}
	run := func(device string) []float32 {
		d, err := OpenDevice(device)
		require.NoError(t, err)
		defer d.Close()
		module, err := NewCompiler(d, nil).Load("f.tile", []byte(source))
		require.NoError(t, err)
		out, err := module.Call("f", Args{"x": ArrayOf(x, m, n), "j": 64})
		require.NoError(t, err)
		y, err := Slice[float32](out["y"])
		require.NoError(t, err)
		return y
	}
	first := run("emu")
	for range 3 {
		assert.Equal(t, first, run("emu"))
	}
	for i, v := range run("cpu") {
		assert.InEpsilon(t, v, first[i], 1e-5)
	}
}

// Blocks that share an axis give what one block gives, in every element type and place in which a loop may stand.
func TestSplitAgreesWithOneBlock(t *testing.T) {
	for _, c := range []struct {
		name, source string
		args         Args
	}{
		{"tensor cores", `kernel f(a: bf16[M, K], b: bf16[K, N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    y[i, j] = 3 * sum(a[i, k] * b[k, j], over k)
}`, Args{"a": counting(lang.BF16, 70, 520), "b": counting(lang.BF16, 520, 72), "BM": 64, "BN": 64, "k": 64}},
		{"wgmma", `kernel f(a: bf16[M, K], b: bf16[K, N], z: f32[N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    y[i, j] = sum(a[i, k] * b[k, j], over k) + z[j]
}`, Args{"a": counting(lang.BF16, 128, 320), "b": counting(lang.BF16, 320, 128), "z": counting(lang.F32, 128), "BM": 128, "BN": 128, "k": 64, "warps": 8}},
		{"small tiles", `kernel f(a: f16[M, K], b: f16[K, N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    y[i, j] = sum(a[i, k] * b[k, j], over k)
}`, Args{"a": counting(lang.F16, 9, 100), "b": counting(lang.F16, 100, 7), "BM": 4, "BN": 4, "k": 9, "warps": 1}},
		{"types", `kernel f(x: f64[M, K], h: f16[M, K], n: i64[M, K], c: u8[M, K]) -> (s: f64[M], m: f16[M], p: i64[M], q: u8[M], any_: bool[M])
    grid i in M by BM
{
    axis k in K
    s[i] = sum(x[i, k], over k)
    m[i] = max(h[i, k], over k)
    p[i] = min(n[i, k], over k)
    q[i] = max(c[i, k], over k)
    any_[i] = any(n[i, k] == 3, over k) and not all(c[i, k] > 0, over k)
}`, Args{"x": counting(lang.F64, 5, 301), "h": counting(lang.F16, 5, 301), "n": counting(lang.I64, 5, 301), "c": counting(lang.U8, 5, 301), "k": 16, "BM": 2}},
		{"inside a loop and a choice", `kernel f(x: f32[B, M, K], flag: i32) -> y: f32[M]
    grid i in M by BM
{
    axis k in K
    let total = for b in B with t = zeros(f32, i) {
        let part = if b % 2 == flag { sum(x[b, i, k], over k) } else { max(x[b, i, k], over k) }
        t + part
    }
    y[i] = total
}`, Args{"x": counting(lang.F32, 3, 5, 200), "flag": 1, "k": 16, "BM": 4}},
		{"stores of every block", `kernel f(x: f32[M, K]) -> (y: f32[M, K], z: f32[K, M], m: f32[M])
    grid i in M by BM
{
    axis k in K
    let s = sum(x[i, k], over k)
    y[i, k] = x[i, k] - s
    z[k, i] = x[i, k] * 2
    m[i] = s
}`, Args{"x": counting(lang.F32, 6, 1000), "k": 100, "BM": 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(device, attr string) map[string]*Array {
				d, err := OpenDevice(device)
				require.NoError(t, err)
				defer d.Close()
				module, err := NewCompiler(d, nil).Load("f.tile", []byte(attr+"\n"+c.source))
				require.NoError(t, err)
				out, err := module.Call("f", c.args)
				require.NoError(t, err)
				return out
			}
			want := run("cpu", "")
			for _, attr := range []string{"", "@split(k, 2)", "@split(k, 3)", "@split(k, 8)"} {
				for name, got := range run("emu", attr) {
					assert.Equal(t, want[name].Floats(), got.Floats(), "%s of %q", name, attr)
				}
			}
		})
	}
}

// counting is small integers, of which sums are exact in any order.
func counting(d lang.DType, shape ...int64) *Array {
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i * 7 % 5)
	}
	return Converted(d, values, shape...)
}
