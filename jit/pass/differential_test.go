package pass

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/cpu"
	"tilec/jit/ir"
	"tilec/lang"
)

// data fills a tensor: small whole numbers, so that every sum is exact in any
// order, or real numbers; with specials, NaN and infinities and ties too.
type data struct {
	real, specials bool
	seed           uint64
}

func (d data) value(r *rand.Rand) float64 {
	if d.specials && r.IntN(20) == 0 {
		return []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}[r.IntN(4)]
	}
	if d.real {
		return r.NormFloat64()
	}
	return float64(r.IntN(7) - 3)
}

// execute runs the kernel on the CPU and gives every tensor after it as float64.
func execute(t *testing.T, f *ir.Func, sizes map[string]int64, d data) map[string][]float64 {
	t.Helper()
	f = ir.Clone(f)
	for _, a := range f.Axes {
		if a.Extent == 0 {
			a.Extent = 7 // ragged everywhere
		}
	}
	size := func(x *ir.Dim) int64 {
		if x.Known() {
			return x.Value
		}
		return sizes[x.Name]
	}
	r := rand.New(rand.NewPCG(d.seed, 9))
	var args cpu.Args
	for _, x := range f.Tensors {
		n := int64(1)
		for _, s := range x.Shape {
			n *= size(s)
		}
		buf := make([]byte, n*int64(x.DType.Size()))
		for i := range n {
			put(x.DType, buf, i, d.value(r))
		}
		args.Tensors = append(args.Tensors, buf)
	}
	for _, s := range f.Scalars {
		require.Equal(t, lang.F32, s.Type.DType)
		args.Scalars = append(args.Scalars, uint64(math.Float32bits(0.5)))
	}
	for _, x := range f.Dims {
		if !x.Known() {
			args.Dims = append(args.Dims, sizes[x.Name])
		}
	}
	p, err := cpu.Compile(f)
	require.NoError(t, err, f.String())
	require.NoError(t, p.Run(args), f.String())
	out := map[string][]float64{}
	for i, x := range f.Tensors {
		for j := range int64(len(args.Tensors[i]) / x.DType.Size()) {
			out[x.Name] = append(out[x.Name], get(x.DType, args.Tensors[i], j))
		}
	}
	return out
}

func put(d lang.DType, b []byte, i int64, v float64) {
	switch d {
	case lang.F32:
		le32(b[4*i:], math.Float32bits(float32(v)))
	case lang.I32:
		if v != v || math.IsInf(v, 0) {
			v = 1
		}
		le32(b[4*i:], uint32(int32(v)))
	case lang.BF16:
		bits := lang.BF16Bits(float32(v))
		b[2*i], b[2*i+1] = byte(bits), byte(bits>>8)
	case lang.Bool:
		b[i] = byte(int(math.Abs(v)) & 1)
	case lang.I8, lang.U8:
		b[i] = byte(int(v) * 40) // -120 to 120, or as far from 0 and 256
	case lang.I16, lang.U32, lang.I64:
		for j := range d.Size() {
			b[int(i)*d.Size()+j] = byte(int64(v) >> (8 * j))
		}
	default:
		panic(d)
	}
}

func get(d lang.DType, b []byte, i int64) float64 {
	u32 := func(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24 }
	switch d {
	case lang.F32:
		return float64(math.Float32frombits(u32(b[4*i:])))
	case lang.I32:
		return float64(int32(u32(b[4*i:])))
	case lang.BF16:
		return float64(lang.BF16Value(uint16(b[2*i]) | uint16(b[2*i+1])<<8))
	case lang.Bool, lang.U8:
		return float64(b[i])
	case lang.I8:
		return float64(int8(b[i]))
	case lang.I16:
		return float64(int16(uint16(b[2*i]) | uint16(b[2*i+1])<<8))
	case lang.U32:
		return float64(u32(b[4*i:]))
	case lang.I64:
		return float64(int64(u32(b[8*i:])) | int64(u32(b[8*i+4:]))<<32)
	}
	panic(d)
}

func le32(b []byte, v uint32) {
	b[0], b[1], b[2], b[3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
}

// same compares results: exactly with tolerance 0 (NaN equals NaN), else relative to the largest.
func same(t *testing.T, want, got map[string][]float64, tolerance float64, about string) {
	t.Helper()
	for name, w := range want {
		g := got[name]
		require.Len(t, g, len(w))
		scale := 0.0
		for _, v := range w {
			if !math.IsInf(v, 0) && v == v {
				scale = max(scale, math.Abs(v))
			}
		}
		for i := range w {
			equal := w[i] == g[i] || w[i] != w[i] && g[i] != g[i] || math.Abs(w[i]-g[i]) <= tolerance*scale
			if !equal {
				t.Fatalf("%s[%d]: %v, want %v\n%s", name, i, g[i], w[i], about)
			}
		}
	}
}

// check runs the passes with several chunks and compares what the kernel computes.
func check(t *testing.T, text string, sizes map[string]int64, chunked []string, d data, tolerance float64) {
	t.Helper()
	f := parse(t, text)
	want := execute(t, f, sizes, d)
	chunkings := []map[string]int64{nil}
	for _, c := range []int64{1, 5, 8, 64} {
		m := map[string]int64{}
		for _, a := range chunked {
			m[a] = c
		}
		chunkings = append(chunkings, m)
	}
	for _, chunks := range chunkings {
		g := ir.Clone(f)
		require.NoError(t, Run(g, Options{Verify: true, Chunks: chunks}), text)
		for _, a := range g.Axes {
			assert.False(t, a.Kind == ir.Whole && chunks[a.Name] > 0 && chunks[a.Name] < a.Len, "axis %s is not streamed", a.Name)
		}
		same(t, want, execute(t, g, sizes, d), tolerance, fmt.Sprintf("chunks %v\n%s", chunks, g))
	}
}

func small(text string) string {
	return strings.NewReplacer("dim K = 768", "dim K = 40", "dim N = 3072", "dim N = 24", "dim N = 768", "dim N = 40",
		"N[0 .. 768]", "N[0 .. 40]", "dim V = 50257", "dim V = 9", "dim C = 768", "dim C = 10", "dim H = 12", "dim H = 2",
		"dim D = 64", "dim D = 10", "D[0 .. 64]", "D[0 .. 10]", "bf16", "f32").Replace(text)
}

// The kernels of the IR's test data compute the same after the passes, streamed or not.
func TestKernelsComputeTheSame(t *testing.T) {
	sizes := map[string]int64{"M": 17, "N": 33, "B": 2, "S": 19}
	for name, text := range kernels(t) {
		t.Run(name, func(t *testing.T) {
			chunked := map[string][]string{"softmax.tir": {"j"}, "layernorm.tir": {"j"}, "linear_gelu.tir": {"k"}}[name]
			check(t, small(text), sizes, chunked, data{real: true, seed: 1}, 2e-6)
		})
	}
}

// Every reduction, streamed, over an axis that is a part of its dimension.
func TestStreamedReductions(t *testing.T) {
	for _, c := range []struct {
		op, in, out string
	}{
		{"sum", "f32", "f32"}, {"prod", "f32", "f32"}, {"reduce_max", "f32", "f32"}, {"reduce_min", "f32", "f32"}, {"mean", "f32", "f32"},
		{"argmax", "f32", "i32"}, {"argmin", "f32", "i32"}, {"any", "bool", "bool"}, {"all", "bool", "bool"},
		{"sum", "i32", "i32"}, {"reduce_max", "i32", "i32"}, {"reduce_min", "i32", "i32"}, {"argmax", "i32", "i32"}, {"argmin", "i32", "i32"}, {"prod", "i32", "i32"},
	} {
		text := fmt.Sprintf(`kernel @r {
  dim M = ?
  dim N = 61
  tensor %%x : in %[2]s[M, N]
  tensor %%y : out %[3]s[M]
  axis i : grid M by 3
  axis j : whole N[4 .. 57]
body:
  %%0 = index i : i32{i}
  %%1 = index j : i32{j}
  %%2 = load %%x[%%0, %%1] : %[2]s{i, j}
  %%3 = %[1]s %%2 over j : %[3]s{i}
  store %%y[%%0] = %%3
}`, c.op, c.in, c.out)
		t.Run(c.op+" "+c.in, func(t *testing.T) {
			for seed := range uint64(3) {
				tolerance := 0.0
				if c.op == "mean" { // the sum is exact, how it is divided is the backend's
					tolerance = 1e-7
				}
				check(t, text, map[string]int64{"M": 5}, []string{"j"}, data{seed: seed}, tolerance)
				check(t, text, map[string]int64{"M": 50}, []string{"j"}, data{seed: seed, specials: true}, tolerance)
			}
		})
	}
}

// Several axes, free axes, contractions with an accumulator, stores through the
// axis, two streamed axes of which one order works, results that share a loop.
var streamKernels = map[string]struct {
	text    string
	chunked []string
	loops   int // with a chunk of 8
}{
	"several axes": {`kernel @k {
  dim M = ?
  dim N = 30
  tensor %x : in f32[M, N]
  tensor %y : out f32[M]
  tensor %z : out i32[M]
  axis i : grid M by 3
  axis j : whole N[0 .. 30]
  axis r : whole [0 .. 20]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = index r : i32{r}
  %4 = cast %3 : f32{r}
  %5 = mul %2, %4 : f32{i, j, r}
  %6 = mean %5 over r, j : f32{i}
  store %y[%0] = %6
  %7 = gt %2, %4 : bool{i, j, r}
  %8 = cast %7 : i32{i, j, r}
  %9 = sum %8 over j, r : i32{i}
  store %z[%0] = %9
}`, []string{"j", "r"}, 0},
	"a mean over a grid axis": {`kernel @k {
  dim M = ?
  dim N = 30
  tensor %x : in f32[M, N]
  tensor %y : out f32[M]
  axis i : grid M by 4
  axis j : whole N[0 .. 30]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = mean %2 over i, j : f32
  store %y[%0] = %3
}`, []string{"j"}, 1},
	"shared loop": {`kernel @k {
  dim M = ?
  dim N = 61
  tensor %x : in f32[M, N]
  tensor %y : out f32[M]
  tensor %z : out f32[M, N]
  axis i : grid M by 3
  axis j : whole N[0 .. 61]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = sum %2 over j : f32{i}
  %4 = mul %2, %2 : f32{i, j}
  %5 = sum %4 over j : f32{i}
  %6 = add %3, %5 : f32{i}
  store %y[%0] = %6
  store %z[%0, %1] = %4
}`, []string{"j"}, 1},
	"mma with an accumulator": {`kernel @k {
  dim M = ?
  dim K = 30
  tensor %a : in f32[M, K]
  tensor %b : in f32[K, M]
  tensor %c : in f32[M, M]
  tensor %d : out f32[M, M]
  axis i : grid M by 3
  axis j : grid M by 4
  axis k : whole K[0 .. 30]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %a[%0, %2] : f32{i, k}
  %4 = load %b[%2, %1] : f32{k, j}
  %5 = load %c[%0, %1] : f32{i, j}
  %6 = mma %3, %4, %5 over k : f32{i, j}
  store %d[%0, %1] = %6
}`, []string{"k"}, 1},
	"two axes, one order": {`kernel @k {
  dim M = ?
  dim K = 30
  dim N = 20
  tensor %a : in f32[M, K]
  tensor %b : in f32[K, N]
  tensor %d : out f32[M, N]
  tensor %e : out f32[M]
  axis i : grid M by 3
  axis k : whole K[0 .. 30]
  axis j : whole N[0 .. 20]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %a[%0, %2] : f32{i, k}
  %4 = load %b[%2, %1] : f32{k, j}
  %5 = mul %3, %4 : f32{i, k, j}
  %6 = sum %5 over k : f32{i, j}
  store %d[%0, %1] = %6
  %7 = reduce_max %6 over j : f32{i}
  store %e[%0] = %7
}`, []string{"k", "j"}, 0},
	"inside a loop": {`kernel @k {
  dim M = ?
  dim N = 30
  tensor %x : in f32[M, N]
  tensor %y : out f32[]
  axis i : loop M by 3
  axis j : whole N[0 .. 30]
body:
  %0 = const 0 : i32
  %1 = size M : i32
  %2 = const 0 : f32
  %3 = index j : i32{j}
  %4 = for i from %0 to %1 with (%5 = %2) pos %6 : (f32) {
    %7 = index i : i32{i}
    %8 = load %x[%7, %3] : f32{i, j}
    %9 = reduce_max %8 over j : f32{i}
    %10 = sum %9 over i : f32
    %11 = add %5, %10 : f32
    yield %11
  }
  store %y[] = %4
}`, []string{"j"}, 2},
}

func TestStreamedKernels(t *testing.T) {
	for name, k := range streamKernels {
		t.Run(name, func(t *testing.T) {
			sizes := map[string]int64{"M": 11}
			check(t, k.text, sizes, k.chunked, data{seed: 4}, 1e-7)
			if k.loops == 0 {
				return
			}
			f := parse(t, k.text)
			chunks := map[string]int64{}
			for _, a := range k.chunked {
				chunks[a] = 8
			}
			require.NoError(t, Run(f, Options{Verify: true, Chunks: chunks}))
			loops := 0
			f.Walk(func(op *ir.Op) bool {
				if op.Code == lang.OpFor {
					loops++
				}
				return true
			})
			assert.Equal(t, k.loops, loops, f.String())
		})
	}
}

func TestStreamRefuses(t *testing.T) {
	head := `kernel @k {
  dim N = 100
  tensor %x : in f32[N]
  tensor %z : inout f32[N]
  tensor %y : out f32[]
  axis j : whole N[0 .. 100]
  axis e : whole N[0 .. 100]
body:
  %0 = index j : i32{j}
`
	for want, body := range map[string]string{
		"pass stream: streaming axis j by 10: `%2 = sum %1 over j : f32` would read z again, which the kernel writes": `
  %1 = load %z[%0] : f32{j}
  %2 = sum %1 over j : f32
  store %y[] = %2
  store %z[%0] = %2`,
		"needs %4, which a loop or a choice carries over the axis": `
  %1 = load %x[%0] : f32{j}
  %2 = const 0 : i32
  %3 = const 3 : i32
  %4 = for from %2 to %3 with (%5 = %1) pos %6 : (f32{j}) {
    %7 = mul %5, %5 : f32{j}
    yield %7
  }
  %8 = sum %4 over j : f32
  store %y[] = %8`,
		"which ties the axis to another": `
  %1 = load %x[%0] : f32{j}
  %2 = index e : i32{e}
  %3 = load %x[%2] : f32{e}
  %4 = rename %3 from e to j : f32{j}
  %5 = add %1, %4 : f32{j}
  %6 = sum %5 over j : f32
  store %y[] = %6`,
		"which reads anywhere along the axis": `
  %1 = load %x[%0] : f32{j}
  %2 = exp %1 : f32{j}
  %3 = take %2[j = %0] : f32{j}
  %4 = load %x[%0] : f32{j}
  %5 = cast %4 : i32{j}
  %6 = take %2[j = %5] : f32{j}
  %7 = add %6, %2 : f32{j}
  %8 = sum %7 over j : f32
  store %y[] = %8`,
		"`%3 = take %6[j = %2] : f32{e}` cannot be computed in chunks": `
  %1 = load %x[%0] : f32{j}
  %2 = index e : i32{e}
  %6 = exp %1 : f32{j}
  %3 = take %6[j = %2] : f32{e}
  %4 = add %3, %6 : f32{e, j}
  %5 = sum %4 over e, j : f32
  store %y[] = %5`,
		"`%2 = rename %1 from j to e : f32{e}` cannot be computed in chunks": `
  %1 = load %x[%0] : f32{j}
  %2 = rename %1 from j to e : f32{e}
  %3 = sum %2 over e : f32
  store %y[] = %3`,
	} {
		f := parse(t, head+body+"\n}")
		err := Run(f, Options{Verify: true, Chunks: map[string]int64{"j": 10}})
		if assert.Error(t, err, body) {
			assert.Contains(t, err.Error(), want)
		}
	}
}
