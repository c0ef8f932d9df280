package jit_test

import (
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/jit/compile"
	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/jit/spec"
	"tilec/jit/target"
	"tilec/lang"
)

const cutKernels = `
kernel squares(x: f32[M, N], z: f32[M, N]) -> y: f32[1] {
    let d = x[i, j] - z[i, j]
    y[0] = mean(d * d, over (i, j)) * 2
}

kernel total(x: i32[N]) -> y: i32[1] { y[0] = sum(x[i], over i) }

kernel greatest(x: f32[M, N]) -> y: f32[1] { y[0] = max(abs(x[i, j]), over (i, j)) }

kernel spread(x: f32[M, N]) -> y: f32[1] { y[o] = max(x[i, j], over (i, j)) }

kernel columns(x: f32[2, M, 3]) -> y: f32[2, 3] { y[b, j] = sum(x[b, i, j] * x[b, i, j], over i) }

kernel apart(x: f32[M, N], z: f32[M, N]) -> y: f32[1] {
    let a = sum(x[i, j] - z[i, j], over j)
    y[o] = sum(max(a - max(x[i, j], over j), 0), over i)
}

kernel below(x: bf16[M, K], w: bf16[K, N]) -> y: f32[M, N] {
    let p = sum(x[i, k] * w[k, j], over k)
    y[i, j] = p - max(p, over j)
}

kernel gram<T: float>(x: T[N, C]) -> y: f32[C, C] { y[i, j] = sum(x[n, i] * x[n, j], over n) / 4 }

kernel layer<T: float>(x: T[B, K], dy: T[B, N]) -> dw: T[N, K]
    grid n in N by BN, k in K
{
    axis b in B
    dw[n, k] = max(sum(dy[b, n] * x[b, k], over b), 0) as T
}

kernel along<T: float>(x: T[M, K], s: f32[K], w: T[E, N, K]) -> y: f32[E, M, N] {
    y[e, i, j] = sum((x[i, k] as f32 * s[k]) as T * w[e, j, k], over k)
}

kernel each(x: bf16[B, M, K], w: bf16[B, K, N]) -> y: f32[B, M, N]
    grid b in B, i in M by BM
{
    axis j in N
    axis k in K
    let p = sum(x[b, i, k] * w[b, k, j], over k)
    y[b, i, j] = p - max(p, over j)
}

kernel columns_of<T: float>(x: T[N, C]) -> (lo: f32[C], middle: f32[C], squares: f32[C])
    grid c in C by BC
{
    axis n in N
    lo[c] = min(x[n, c] as f32, over n)
    let m = mean(x[n, c] as f32, over n)
    middle[c] = m
    let d = x[n, c] as f32 - m
    squares[c] = sum(d * d, over n)
}

kernel samples<T: float>(x: T[B, C, H, W], g: f32[C]) -> y: T[B, C, H, W]
    grid c in C
{
    axis n in B
    axis h in H
    axis w in W
    let v = x[n, c, h, w] as f32
    let m = mean(v, over (n, h, w))
    y[n, c, h, w] = ((v - m) * rsqrt(mean((v - m) * (v - m), over (n, h, w)) + 1e-5) * g[c]) as T
}

kernel lengths<T: float>(x: T[M, N]) -> y: T[M, N]
    grid i in M by BM
{
    axis j in N
    y[i, j] = (x[i, j] as f32 / sqrt(sum(x[i, j] as f32 * x[i, j] as f32, over j))) as T
}

kernel both(x: f32[M, N]) -> (y: f32[M, N], m: f32[M])
    grid i in M by BM
{
    axis j in N
    let a = mean(x[i, j], over j)
    m[i] = a
    y[i, j] = x[i, j] - a
}

graph loss(x: f32[M, N], z: f32[M, N]) -> y: f32[1] { y = squares(x, z) + 1 }
`

// valueOf is an array's place on a device, without its elements.
func valueOf(t *testing.T, d jit.Device, x *jit.Array) jit.Value {
	t.Helper()
	m, err := d.Alloc(int64(len(x.Data)))
	require.NoError(t, err)
	t.Cleanup(func() { d.Free(m) })
	return jit.TensorValue(&jit.Tensor{DType: x.DType, Shape: x.Shape, Memory: m})
}

// launchesOf are the launches of a kernel in text, where some pass of graphs changed them.
func launchesOf(t *testing.T, source, kernel string, pins map[string]int64, shapes ...*jit.Array) (text string) {
	t.Helper()
	d, err := jit.OpenDevice("emu")
	require.NoError(t, err)
	t.Cleanup(func() { d.Close() })
	program, problems := jit.Load("cut.tile", []byte(source), nil)
	require.Empty(t, problems)
	for _, k := range program.Kernels {
		if k.Name != kernel {
			continue
		}
		var args []jit.Value
		for _, x := range shapes { // whose elements nobody looks at
			args = append(args, jit.TensorValue(&jit.Tensor{DType: x.DType, Shape: x.Shape, Memory: backend.Promised(d, 0, int64(max(1, len(x.Data))))}))
		}
		p, err := jit.NewCompiler(d, nil).BindKernel(k, args, jit.Options{Pins: pins, Dump: func(pass string, after lang.Listing) { text += pass + " " + after.String() }})
		require.NoError(t, err)
		p.Close()
	}
	return text
}

// A kernel that reduces very much to one number is two launches: many blocks reduce a part each. What comes out is what one launch gives, exactly where
// that is exact.
func TestCutReductions(t *testing.T) {
	sweep.Once(t)
	d, err := jit.OpenDevice("emu")
	require.NoError(t, err)
	defer d.Close()
	module, err := jit.NewCompiler(d, nil).Load("cut.tile", []byte(cutKernels))
	require.NoError(t, err)
	one := func(name string, args jit.Args) float64 {
		t.Helper()
		out, err := module.Call(name, args)
		require.NoError(t, err)
		return out["y"].Float(0)
	}
	x, z := small(lang.F32, 1037, 1100), small(lang.F32, 1037, 1100)
	sum := 0.0
	for i := range 1037 * 1100 {
		x.SetFloat(i, x.Float(i)*3)
		sum += (x.Float(i) - z.Float(i)) * (x.Float(i) - z.Float(i))
	}
	want := float64(float32(sum)/(1037*1100)) * 2 // the sum is whole and exact
	assert.Equal(t, want, one("squares", jit.Args{"x": x, "z": z, "cut": 1}))
	assert.Equal(t, want, one("squares", jit.Args{"x": x, "z": z}))
	assert.Equal(t, want+1, one("loss", jit.Args{"x": x, "z": z}))
	sum = 0
	for i := range 1037 {
		of, most := 0.0, math.Inf(-1)
		for j := range 1100 {
			of += x.Float(1100*i+j) - z.Float(1100*i+j)
			most = max(most, x.Float(1100*i+j))
		}
		sum += max(of-most, 0)
	}
	assert.Equal(t, sum, one("apart", jit.Args{"x": x, "z": z, "cut": 1}))
	assert.Equal(t, sum, one("apart", jit.Args{"x": x, "z": z}))
	assert.Contains(t, launchesOf(t, cutKernels, "apart", nil, x, z), "between", "a reduction of reductions of each row")
	program, problems := jit.Load("cut.tile", []byte(cutKernels), nil)
	require.Empty(t, problems)
	text := ""
	p, err := jit.NewCompiler(d, nil).BindGraph(program.Graphs[0], []jit.Value{valueOf(t, d, x), valueOf(t, d, z)}, jit.Options{Dump: func(_ string, after lang.Listing) { text = after.String() }})
	require.NoError(t, err)
	defer p.Close()
	assert.Contains(t, text, "between %0:f32[", "in a graph it is not fused with what reads the number")
	assert.Contains(t, launchesOf(t, cutKernels, "squares", nil, x, z), "between %0:f32[")
	assert.Empty(t, launchesOf(t, cutKernels, "squares", map[string]int64{"cut": 1}, x, z))
	assert.Empty(t, launchesOf(t, cutKernels, "squares", nil, small(lang.F32, 100, 100), small(lang.F32, 100, 100)), "of few")

	n := jit.NewArray(lang.I32, 1<<20+77)
	whole := int32(0)
	for i := range 1<<20 + 77 {
		n.SetFloat(i, float64(i%100003-50000)*997)
		whole += int32(i%100003-50000) * 997
	}
	assert.Equal(t, float64(whole), one("total", jit.Args{"x": n}), "it wraps around as i32 does")

	assert.Equal(t, 6.0, one("spread", jit.Args{"x": x}), "of a grid of one")
	assert.Contains(t, launchesOf(t, cutKernels, "spread", nil, x), "between %0:f32[")
	three := small(lang.F32, 2, 1<<19+3, 3)
	squares := [6]float64{}
	for i := range 6 * (1<<19 + 3) {
		squares[i/(3*(1<<19+3))*3+i%3] += three.Float(i) * three.Float(i)
	}
	out, err := module.Call("columns", jit.Args{"x": three})
	require.NoError(t, err)
	for i, want := range squares {
		assert.Equal(t, want, out["y"].Float(i), "result %d of few", i)
	}
	assert.Contains(t, launchesOf(t, cutKernels, "columns", nil, three), "between %0:f32[2, 3, ")
	x.SetFloat(77777, -1000)
	assert.Equal(t, 1000.0, one("greatest", jit.Args{"x": x}))
	x.SetFloat(1037*1100-1, math.NaN())
	assert.True(t, math.IsNaN(one("greatest", jit.Args{"x": x})))
}

// Rows of a product that are reduced again are made once and kept, where that is faster.
func TestCutProducts(t *testing.T) {
	sweep.Once(t)
	d, err := jit.OpenDevice("emu")
	require.NoError(t, err)
	defer d.Close()
	module, err := jit.NewCompiler(d, nil).Load("cut.tile", []byte(cutKernels))
	require.NoError(t, err)
	for name, shapes := range map[string][2][]int64{"below": {{37, 48}, {48, 200}}, "each": {{3, 21, 16}, {3, 16, 70}}} {
		x, w := small(lang.BF16, shapes[0]...), small(lang.BF16, shapes[1]...)
		one, err := module.Call(name, jit.Args{"x": x, "w": w, "cut": 1})
		require.NoError(t, err)
		two, err := module.Call(name, jit.Args{"x": x, "w": w, "cut": 2})
		require.NoError(t, err)
		assert.Equal(t, one["y"].Data, two["y"].Data, name)
		assert.Contains(t, launchesOf(t, cutKernels, name, map[string]int64{"cut": 2}, x, w), "between %0:f32[")
	}
	large := launchesOf(t, cutKernels, "below", nil, jit.NewArray(lang.BF16, 4096, 1024), jit.NewArray(lang.BF16, 1024, 4096))
	assert.Contains(t, large, "between %0:f32[4096, 4096]")
	assert.Empty(t, launchesOf(t, cutKernels, "below", nil, jit.NewArray(lang.BF16, 64, 64), jit.NewArray(lang.BF16, 64, 64)), "small ones stay")
}

// The halves of a large mean squared error are predicted to take what reading takes; one launch, one cluster's time of it.
func TestCutReductionsAreFast(t *testing.T) {
	sweep.Once(t)
	program, problems := jit.Load("cut.tile", []byte(cutKernels), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	s, err := jit.Specialise(program.Kernels[0], jit.Options{Dims: map[string]int64{"M": 32768, "N": 32768}})
	require.NoError(t, err)
	whole, err := compile.Lower(s, machine, nil)
	require.NoError(t, err)
	half := *s
	k := *s.Kernel
	half.Kernel, half.Cut = &k, &spec.Cut{Of: s}
	front, err := compile.Lower(&half, machine, nil)
	require.NoError(t, err)
	assert.Less(t, 3*front.Plan.Time, whole.Plan.Time)
}

const scanKernels = `
kernel prefix(x: i32[N]) -> y: i32[N]
    grid g in 1
{
    axis i in N
    y[i] = cumsum(x[i], over i)
}

/// Where what is kept comes to lie, and how much that is.
kernel kept(x: i32[N]) -> (y: i32[N], count: i32[1])
    grid g in 1
{
    axis i in N
    let keep = x[i] > 0
    let at = cumsum(keep as i32, over i) - 1
    let at = where(keep, at, N)
    y[at] = x[i]
    count[0] = sum(keep as i32, over i)
}

kernel rows(x: f32[3, N]) -> y: f32[3, N]
    grid b in 3
{
    axis i in N
    y[b, i] = 2 * cumsum(x[b, i], over i)
}

kernel backwards(x: i32[N]) -> y: i32[N]
    grid g in 1
{
    axis i in N
    y[i] = cumsum(x[i], over i, reverse = true)
}
`

// A kernel that scans one very long row, or a few, is two launches: many blocks add up a part each, and each scans its part behind those before it.
func TestCutScans(t *testing.T) {
	sweep.Once(t)
	d, err := jit.OpenDevice("emu")
	require.NoError(t, err)
	defer d.Close()
	module, err := jit.NewCompiler(d, nil).Load("scans.tile", []byte(scanKernels))
	require.NoError(t, err)
	n := 1<<20 + 77
	x, rows := jit.NewArray(lang.I32, int64(n)), jit.NewArray(lang.F32, 3, int64(n/2))
	for i := range n {
		x.SetFloat(i, float64(i%100003-50000)*997)
	}
	for i := range rows.Len() {
		rows.SetFloat(i, float64(i%7-3))
	}
	assert.Contains(t, launchesOf(t, scanKernels, "prefix", nil, x), "between %0:i32[1, 257]")
	out, err := module.Call("prefix", jit.Args{"x": x})
	require.NoError(t, err)
	sum := int32(0)
	for i := range n {
		sum += int32(i%100003-50000) * 997
		require.Equal(t, float64(sum), out["y"].Float(i), "element %d", i)
	}

	assert.Contains(t, launchesOf(t, scanKernels, "kept", nil, x), "between %0:i32[1, 257]")
	out, err = module.Call("kept", jit.Args{"x": x})
	require.NoError(t, err)
	kept := 0
	for i := range n {
		if x.Float(i) > 0 {
			require.Equal(t, x.Float(i), out["y"].Float(kept), "element %d", i)
			kept++
		}
	}
	assert.Equal(t, float64(kept), out["count"].Float(0))
	assert.Zero(t, out["y"].Float(kept))

	assert.Contains(t, launchesOf(t, scanKernels, "rows", nil, rows), "between %0:f32[3, 129]")
	out, err = module.Call("rows", jit.Args{"x": rows})
	require.NoError(t, err)
	for b := range 3 {
		sum := 0.0
		for i := range n / 2 {
			sum += rows.Float(b*(n/2) + i)
			require.Equal(t, 2*sum, out["y"].Float(b*(n/2)+i), "row %d, element %d", b, i)
		}
	}

	assert.Empty(t, launchesOf(t, scanKernels, "prefix", map[string]int64{"cut": 1}, x))
	assert.Empty(t, launchesOf(t, scanKernels, "prefix", nil, small(lang.I32, 1000)), "of few")
	assert.Empty(t, launchesOf(t, scanKernels, "backwards", nil, x), "from the last")
}

// A product of very much depth for few results is many products of a part of the depth each, and their sum.
func TestCutDepth(t *testing.T) {
	device := jittest.Device(t)
	module, err := jit.NewCompiler(device, nil).Load("cut.tile", []byte(cutKernels))
	require.NoError(t, err)
	for _, c := range []struct {
		kernel, out string
		args        jit.Args
	}{
		{"gram", "y", jit.Args{"x": small(lang.F32, 16384, 20)}},
		{"gram", "y", jit.Args{"x": small(lang.BF16, 6400, 64)}},
		{"layer", "dw", jit.Args{"x": small(lang.BF16, 12800, 19), "dy": small(lang.BF16, 12800, 24)}},
		{"layer", "dw", jit.Args{"x": small(lang.F16, 8192, 5), "dy": small(lang.F16, 8192, 1)}},
		{"gram", "y", jit.Args{"x": small(lang.BF16, 25600, 129)}}, // four tiles of results
		{"along", "y", jit.Args{"x": small(lang.F16, 7, 10240), "s": small(lang.F32, 10240), "w": small(lang.F16, 2, 40, 10240)}},
	} {
		var of [2]*jit.Array
		for cut := range of {
			args := maps.Clone(c.args)
			args["cut"] = cut + 1
			out, err := module.Call(c.kernel, args)
			require.NoError(t, err)
			of[cut] = out[c.out]
		}
		assert.Equal(t, of[0].Data, of[1].Data, "%s: all sums are exact", c.kernel)
	}
	x := small(lang.BF16, 65536, 64)
	assert.Contains(t, launchesOf(t, cutKernels, "gram", nil, x), "between %0:f32[128, 64, 64]", "and that is chosen")
	assert.NotContains(t, launchesOf(t, cutKernels, "gram", map[string]int64{"cut": 1}, x), "between")
	assert.NotContains(t, launchesOf(t, cutKernels, "gram", map[string]int64{"cut": 2}, small(lang.BF16, 65537, 64)), "between", "no parts of one length")
}

// A norm of few or long rows is two launches: what parts of the rows give, and what is made of that. Means and squares of what is off them are put together as they are of the whole.
func TestCutRows(t *testing.T) {
	device := jittest.Device(t)
	module, err := jit.NewCompiler(device, nil).Load("cut.tile", []byte(cutKernels))
	require.NoError(t, err)
	shifted := func(x *jit.Array, by float64) *jit.Array { // a mean that is far from 0, and another in each part
		for i := range x.Len() {
			x.SetFloat(i, x.Float(i)+by+math.Floor(float64(8*i)/float64(x.Len())))
		}
		return x
	}
	for _, c := range []struct {
		kernel string
		args   jit.Args
		cut    bool
	}{
		{"columns_of", jit.Args{"x": shifted(small(lang.F32, 1024, 20), 100)}, true},
		{"columns_of", jit.Args{"x": small(lang.BF16, 2048, 70)}, true},
		{"columns_of", jit.Args{"x": small(lang.F16, 1028, 3)}, true},
		{"columns_of", jit.Args{"x": small(lang.F32, 1021, 3)}, false}, // no parts of one length
		{"samples", jit.Args{"x": shifted(small(lang.F32, 8, 3, 6, 10), 30), "g": small(lang.F32, 3)}, true},
		{"samples", jit.Args{"x": small(lang.BF16, 5, 2, 7, 9), "g": small(lang.F32, 2)}, true},
		{"lengths", jit.Args{"x": small(lang.F32, 2, 65536)}, true},
		{"lengths", jit.Args{"x": small(lang.BF16, 3, 81920)}, true},
		{"both", jit.Args{"x": small(lang.F32, 1, 65536)}, false}, // each element and the row in one kernel
	} {
		var of [2]map[string]*jit.Array
		for cut := range of {
			args := maps.Clone(c.args)
			args["cut"] = cut + 1
			of[cut], err = module.Call(c.kernel, args)
			require.NoError(t, err)
		}
		for name, want := range of[0] {
			got, most := of[1][name], 0.0
			for _, v := range want.Floats() {
				most = max(most, math.Abs(v))
			}
			// As many roundings as a row has elements would be the bound; these are sums of sums.
			unit := most * math.Ldexp(64, -min(want.DType.Precision()+5, 24))
			for i, v := range want.Floats() {
				if !assert.InDelta(t, v, got.Float(i), unit, "%s: %s, element %d", c.kernel, name, i) {
					break
				}
			}
		}
		shapes := []*jit.Array{c.args["x"].(*jit.Array)}
		if g, has := c.args["g"]; has {
			shapes = append(shapes, g.(*jit.Array))
		}
		text := launchesOf(t, cutKernels, c.kernel, map[string]int64{"cut": 2}, shapes...)
		assert.Equal(t, c.cut, strings.Contains(text, "between"), "%s: %s", c.kernel, text)
	}
}
