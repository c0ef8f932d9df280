package jit

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/backend"
	"tilec/jit/jittest/sweep"
	"tilec/lang"
)

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
	first := run(gpu())
	for range 3 {
		assert.Equal(t, first, run(gpu()))
	}
	for i, v := range run("cpu") {
		assert.InEpsilon(t, v, first[i], 1e-5)
	}
}

// Blocks that share an axis give what one block gives, in every element type and place in which a loop may stand.
func TestSplitAgreesWithOneBlock(t *testing.T) {
	sweep.OnceEmulated(t)
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
		{"products of f32", `kernel f(a: f32[M, K], b: f32[K, N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    y[i, j] = sum(a[i, k] * b[k, j], over k)
}`, Args{"a": counting(lang.F32, 128, 320), "b": counting(lang.F32, 320, 128), "BM": 128, "BN": 64, "k": 32, "warps": 4}},
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
		{"a loop that blocks of the grid repeat", `kernel f(x: f32[H, K], w: f32[N]) -> y: f32[H, N]
    grid h in H, n in N by BM
{
    let s = for k in K by BK with s = 0.0 { s + sum(x[h, k], over k) }
    y[h, n] = s * w[n]
}`, Args{"x": counting(lang.F32, 3, 500), "w": counting(lang.F32, 64), "BM": 16, "BK": 32}},
		{"a loop that differs between blocks of the grid", `kernel f(x: f32[H, K], w: f32[N]) -> y: f32[H, N]
    grid h in H, n in N by BM
{
    let s = for k in K by BK with s = zeros(f32, n) { s + sum(x[h, k] * w[n], over k) }
    y[h, n] = s
}`, Args{"x": counting(lang.F32, 3, 500), "w": counting(lang.F32, 64), "BM": 16, "BK": 32}},
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
			run := func(device, attr string, wide bool) map[string]*Array {
				d, err := OpenDevice(device)
				require.NoError(t, err)
				defer d.Close()
				compiler := NewCompiler(d, nil)
				compiler.Wide = wide
				module, err := compiler.Load("f.tile", []byte(attr+"\n"+c.source))
				require.NoError(t, err)
				out, err := module.Call("f", c.args)
				require.NoError(t, err)
				return out
			}
			want := run("cpu", "", false)
			for _, attr := range []string{"", "@split(k, 2)", "@split(k, 3)", "@split(k, 8)"} {
				for _, wide := range []bool{false, true} {
					for name, got := range run(gpu(), attr, wide) {
						assert.Equal(t, want[name].Floats(), got.Floats(), "%s of %q", name, attr)
					}
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

// reductionsSource has every reduction whose result does not depend on how elements are grouped, of one type;
// sum, prod and mean are such where the numbers are. The last takes a tuple and a scalar from outside.
const reductionsSource = `
fn later(a, p, b, q) = if q >= 0 { (b, q) } else { (a, p) }
kernel f(x: T[M, K], valid: i32[M, K], low: T) -> (most: T[M], least: T[M], first: i32[M], last: i32[M], some: bool[M], every: bool[M],
        total: ACC[M], value: T[M], place: i32[M], above: i32[M])
    grid i in M by BM
{
    axis k in K
    let v = x[i, k]
    most[i] = max(v, over k)
    least[i] = min(v, over k)
    first[i] = argmax(v, over k)
    last[i] = argmin(v, over k)
    some[i] = any(v == low, over k)
    every[i] = all(v != low, over k)
    total[i] = sum(where(v > low, v, 0), over k)
    let (w, p) = reduce((v, where(valid[i, k] > 0, index(k), -1)), over k, (0 as T, -1), later)
    value[i] = w
    place[i] = p
    above[i] = reduce((v > low) as i32, over k, 0, (a, b) => a + b + low as i32) - low as i32 * (K - 1)
}`

// Every reduction of every type gives bit for bit what one block gives, over any number of blocks and any extent:
// of ties the first, of NaN the first, with parts that have less than a step and parts that have nothing.
func TestSplitReductions(t *testing.T) {
	sweep.OnceEmulated(t)
	on, err := OpenDevice(gpu())
	require.NoError(t, err)
	for n, d := range []lang.DType{lang.F32, lang.F64, lang.BF16, lang.F16, lang.F4E2M1, lang.F8E5M2, lang.F8E4M3, lang.I32, lang.I64, lang.U8, lang.I16} {
		if n%sweep.OneIn(2) != 0 {
			continue
		}
		source := strings.ReplaceAll(strings.ReplaceAll(reductionsSource, "ACC", d.Accumulator().String()), "T", d.String())
		const m = 3
		for _, k := range []int64{1, 2, 7, 40, 133} {
			values := make([]float64, m*k)
			valid := make([]float64, m*k)
			for i := range values {
				values[i] = float64(i*7919%13) - 4
				if !d.IsSigned() && !d.IsFloat() {
					values[i] += 4
				}
				valid[i] = float64(i * 31 % 3 / 2)
				if d.IsFloat() && i/int(k) == 1 && i%11 == 9 {
					values[i] = math.NaN()
				}
				if d.IsFloat() && i/int(k) == 2 { // nothing but the identity of a maximum
					values[i] = Converted(d, []float64{math.Inf(-1)}, 1).Floats()[0]
				}
			}
			args := Args{"x": Converted(d, values, m, k), "valid": Converted(lang.I32, valid, m, k), "low": 2, "k": 6, "BM": 2, "warps": 1}
			run := func(device backend.Device, attr string) map[string]*Array {
				module, err := NewCompiler(device, nil).Load("f.tile", []byte(strings.Replace(source, "kernel", attr+"kernel", 1)))
				require.NoError(t, err)
				out, err := module.Call("f", args)
				require.NoError(t, err)
				return out
			}
			want := run(on, "")
			for _, n := range []int{2, 3, 4, 8} {
				for name, got := range run(on, fmt.Sprintf("@split(k, %d)\n", n)) {
					assert.Equal(t, want[name].Data, got.Data, "%s of %d %s by %d blocks: %v, want %v", name, k, d, n, got.Floats(), want[name].Floats())
				}
			}
		}
	}
}

// The planner spreads a long axis by itself where the grid has too few blocks, and a launch says how far.
func TestPlannerSplits(t *testing.T) {
	sweep.OnceEmulated(t)
	const source = `
kernel f(a: bf16[M, K], b: bf16[N, K]) -> (c: f32[M, N], most: i32[M], scaled: f32[M, K])
    grid i in M by BM
{
    axis j in N
    axis k in K
    c[i, j] = dot(a[i, k], b[j, k])
    most[i] = argmax(a[i, k], over k)
    scaled[i, k] = a[i, k] as f32 - sum(a[i, k], over k)
}`
	const m, n, k = 5, 7, 16384
	args := Args{"a": counting(lang.BF16, m, k), "b": counting(lang.BF16, n, k)}
	program, problems := Load("f.tile", []byte(source), nil)
	require.Empty(t, problems)
	run := func(device string, split int) map[string]*Array {
		d, err := OpenDevice(device)
		require.NoError(t, err)
		defer d.Close()
		module, err := NewCompiler(d, nil).Load("f.tile", []byte(source))
		require.NoError(t, err)
		delete(args, "split")
		if split > 0 {
			args["split"] = split
		}
		out, err := module.Call("f", args)
		require.NoError(t, err)
		return out
	}
	want := run("cpu", 0)
	for _, c := range []struct{ split, blocks int }{{0, 8}, {1, 0}, {3, 3}, {8, 8}} {
		pins := map[string]int64{}
		if c.split > 0 {
			pins["split"] = int64(c.split)
		}
		l, err := lowerCase(t, program.Kernels[0], "sm_90a", map[string]int64{"M": m, "N": n, "K": k}, pins)
		require.NoError(t, err)
		assert.Equal(t, c.blocks, l.Split())
		got := run(gpu(), c.split)
		for name := range want {
			assert.Equal(t, want[name].Data, got[name].Data, "%s, split = %d", name, c.split)
		}
	}
}

// scansSource has scans of maps, which do not commute, of i32, in both directions, stored, reduced and one upon the other.
const scansSource = `
fn then(a1, b1, a2, b2) = (a1 * a2, a2 * b1 + b2)
kernel f(a: i32[M, K], b: i32[M, K], c: i32) -> (p: i32[M, K], q: i32[M, K], r: i32[M, K], s: i32[M], t: i32[M], u: i32[M, K], v: i32[M])
    grid i in M by BM
{
    axis k in K
    let (_, p1) = scan((a[i, k], b[i, k]), over k, (1, 0), then)
    p[i, k] = p1
    let (_, q1) = scan((a[i, k], b[i, k]), over k, (1, 0), then, reverse = true)
    q[i, k] = q1
    r[i, k] = scan(b[i, k], over k, 0, (x, y) => x + y + c)
    s[i] = max(p1, over k)
    t[i] = argmin(q1, over k)
    u[i, k] = cumsum(p1 - 1, over k) - q1
    v[i] = reduce(cumsum(b[i, k], over k, reverse = true), over k, 0, (x, y) => x + y * c)
}`

// A scan goes on in each block where the blocks before it end, whichever way it goes.
func TestSplitScans(t *testing.T) {
	sweep.OnceEmulated(t)
	on, err := OpenDevice(gpu())
	require.NoError(t, err)
	const m = 3
	for _, k := range []int64{1, 7, 12, 40, 133} {
		a, b := make([]float64, m*k), make([]float64, m*k)
		for i := range a {
			a[i], b[i] = float64(i*7919%5-2), float64(i*31%7-3)
		}
		args := Args{"a": Converted(lang.I32, a, m, k), "b": Converted(lang.I32, b, m, k), "c": 1, "k": 6, "BM": 2, "warps": 1}
		run := func(attr string, wide bool) map[string]*Array {
			compiler := NewCompiler(on, nil)
			compiler.Wide = wide
			module, err := compiler.Load("f.tile", []byte(strings.Replace(scansSource, "kernel", attr+"kernel", 1)))
			require.NoError(t, err)
			out, err := module.Call("f", args)
			require.NoError(t, err)
			return out
		}
		want := run("", false)
		for _, n := range []int{2, 3, 4, 8} {
			for _, wide := range []bool{false, true} { // positions of i32 and i64
				for name, got := range run(fmt.Sprintf("@split(k, %d)\n", n), wide) {
					assert.Equal(t, want[name].Floats(), got.Floats(), "%s of %d by %d blocks", name, k, n)
				}
			}
		}
	}
}
