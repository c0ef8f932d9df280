package jit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/compile"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/jit/tensor"
	"tilec/lang"
)

// shapeProgram is a kernel f with sizes of its dimensions: random ones that fit nothing.
type shapeProgram struct {
	source string
	dims   map[string]int64
}

// oddExtents are those at which tiles, instructions and chunks end somewhere in the middle.
var oddExtents = []int64{1, 2, 3, 5, 9, 16, 17, 33}

// shapeKinds write programs, by what they are about. Whatever most says, a program touches no more elements than
// that in all, so that the emulator is done in time.
var shapeKinds = []struct {
	name string
	// most bounds the multiplications of a program that is run; one that is only planned may have as many as it likes.
	write func(r *rand.Rand, most int64) shapeProgram
}{
	{"contraction", randomContraction},
	{"convolution", randomConvolution},
	{"many values", manyValues},
	{"many sums", manySums},
	{"chain", longChain},
	{"many axes", manyAxes},
	{"whole axes", wholeAxes},
	{"many products", manyProducts},
}

// pickShape draws sizes for dimensions until their product is at most so much.
func pickShape(r *rand.Rand, extents []int64, most int64, dims ...string) map[string]int64 {
	for {
		sizes, all := map[string]int64{}, int64(1)
		for _, d := range dims {
			sizes[d] = extents[r.IntN(len(extents))]
			all *= sizes[d]
		}
		if all <= most {
			return sizes
		}
	}
}

// names gives n names of dimensions that begin with a letter, and those of axes over them.
func names(letter string, n int) (dims, axes []string) {
	for i := range n {
		dims = append(dims, fmt.Sprintf("%s%d", letter, i))
		axes = append(axes, strings.ToLower(dims[i]))
	}
	return dims, axes
}

func list(parts ...[]string) string { return strings.Join(slices.Concat(parts...), ", ") }

// shuffled is the names in a random order: where an axis stands in a tensor decides how the tensor is read.
func shuffled(r *rand.Rand, parts ...[]string) []string {
	all := slices.Concat(parts...)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func upper(axes []string) []string {
	return strings.Split(strings.ToUpper(strings.Join(axes, ",")), ",")
}

// floatTypes are those of operands of contractions.
var floatTypes = []string{"f32", "bf16", "f16", "f64", "f8e4m3"}

// randomContraction sums products over one to four axes, with up to two axes of a batch and one or two of rows and of columns.
func randomContraction(r *rand.Rand, most int64) shapeProgram {
	over, k := names("K", 1+r.IntN(4))
	rows, i := names("M", 1+r.IntN(2))
	columns, j := names("N", 1+r.IntN(2))
	batch, b := names("B", r.IntN(3))
	x, y, z := shuffled(r, k, i, b), shuffled(r, k, j, b), shuffled(r, i, j, b)
	d := floatTypes[r.IntN(len(floatTypes))]
	source := fmt.Sprintf("kernel f(x: %s[%s], y: %s[%s]) -> z: %s[%s] {\n    z[%s] = sum(x[%s] * y[%s], over (%s))\n}\n",
		d, list(upper(x)), d, list(upper(y)), map[bool]string{true: "f64", false: "f32"}[d == "f64"], list(upper(z)), list(z), list(x), list(y), list(shuffled(r, k)))
	return shapeProgram{source, pickShape(r, oddExtents, most, slices.Concat(over, rows, columns, batch)...)}
}

// randomConvolution is a convolution by a formula, or one of its gradients.
func randomConvolution(r *rand.Rand, most int64) shapeProgram {
	window := [][2]int{{1, 1}, {3, 3}, {5, 9}, {1, 7}, {2, 2}}[r.IntN(5)]
	d := []string{"f32", "bf16"}[r.IntN(2)]
	x, y, w := fmt.Sprintf("%s[B, C, H, W]", d), fmt.Sprintf("%s[B, O, H, W]", d), fmt.Sprintf("%s[O, C, %d, %d]", d, window[0], window[1])
	at := fmt.Sprintf("h + r - %d, v + s - %d", window[0]/2, window[1]/2)
	back := fmt.Sprintf("h - r + %d, v - s + %d", window[0]/2, window[1]/2)
	f32 := func(t string) string { return "f32" + t[strings.Index(t, "["):] }
	source := []string{
		fmt.Sprintf("kernel f(x: %s, w: %s) -> y: %s {\n    y[b, o, h, v] = sum((x[b, c, %s] else 0) * w[o, c, r, s], over (c, r, s))\n}\n", x, w, f32(y), at),
		fmt.Sprintf("kernel f(x: %s, y: %s) -> w: %s {\n    w[o, c, r, s] = sum((x[b, c, %s] else 0) * y[b, o, h, v], over (b, h, v))\n}\n", x, y, f32(w), at),
		fmt.Sprintf("kernel f(y: %s, w: %s) -> x: %s {\n    x[b, c, h, v] = sum((y[b, o, %s] else 0) * w[o, c, r, s], over (o, r, s))\n}\n", y, w, f32(x), back),
	}[r.IntN(3)]
	return shapeProgram{source, pickShape(r, oddExtents, max(most/int64(window[0]*window[1]), 1), "B", "C", "O", "H", "W")}
}

// manyValues has up to 300 values that are all needed at the end.
func manyValues(r *rand.Rand, most int64) shapeProgram {
	n := 1 + r.IntN(300)
	var b strings.Builder
	fmt.Fprintf(&b, "kernel f(x: f32[N, %d]) -> y: f32[N]\n    grid i in N by B\n{\n", n)
	for k := range n {
		fmt.Fprintf(&b, "    let a%d = x[i, %d]\n", k, k)
	}
	b.WriteString("    let t = a0")
	for k := 1; k < n; k++ {
		fmt.Fprintf(&b, " + a%d", k)
	}
	b.WriteString("\n    y[i] = t")
	for k := range n {
		fmt.Fprintf(&b, " + max(a%d, t)", k)
	}
	b.WriteString("\n}\n")
	return shapeProgram{b.String(), map[string]int64{"N": min(oddExtents[r.IntN(len(oddExtents))], most)}}
}

// manySums has up to 200 sums over an axis that are needed when the axis is gone through again.
func manySums(r *rand.Rand, most int64) shapeProgram {
	n := 1 + r.IntN(200)
	var b strings.Builder
	b.WriteString("kernel f(x: f32[M, N]) -> y: f32[M]\n    grid i in M by B\n{\n    axis j in N\n")
	for k := range n {
		fmt.Fprintf(&b, "    let a%d = sum(max(x[i, j], %d), over j)\n", k, k%7-3)
	}
	b.WriteString("    let t = max(x[i, j], over j)\n    y[i] = t")
	for k := range n {
		fmt.Fprintf(&b, " + max(a%d, t)", k)
	}
	b.WriteString("\n}\n")
	return shapeProgram{b.String(), pickShape(r, append([]int64{100}, oddExtents...), most, "M", "N")}
}

// longChain computes a value from the one before up to 400 times, and takes some of them from the end back again.
func longChain(r *rand.Rand, most int64) shapeProgram {
	n := 2 + r.IntN(400)
	var b strings.Builder
	b.WriteString("kernel f(x: f32[M, N]) -> y: f32[M, N]\n    grid i in M by BM, j in N by BN\n{\n    let a0 = x[i, j]\n")
	for k := 1; k < n; k++ {
		fmt.Fprintf(&b, "    let a%d = min(max(a%d + %d, -9), %d)\n", k, k-1, k%5-2, k%11)
	}
	b.WriteString("    y[i, j] = a0")
	for k := n - 1; k > 0; k -= 1 + r.IntN(3) {
		fmt.Fprintf(&b, " + a%d", k)
	}
	b.WriteString("\n}\n")
	return shapeProgram{b.String(), pickShape(r, oddExtents, most, "M", "N")}
}

// manyAxes moves and reduces tensors of up to 16 dimensions.
func manyAxes(r *rand.Rand, most int64) shapeProgram {
	dims, axes := names("D", 1+r.IntN(16))
	sizes := pickShape(r, []int64{1, 1, 2, 2, 3}, min(most, 1<<14), dims...)
	x := shuffled(r, axes)
	y := shuffled(r, axes)
	over := r.IntN(len(axes))
	value := fmt.Sprintf("x[%s] * 2", list(x))
	if kept := y[over:]; over > 0 {
		value = fmt.Sprintf("sum(x[%s], over (%s))", list(x), list(y[:over]))
		y = kept
	}
	return shapeProgram{fmt.Sprintf("kernel f(x: f32[%s]) -> y: f32[%s] {\n    y[%s] = %s\n}\n", list(upper(x)), list(upper(y)), list(y), value), sizes}
}

// wholeAxes holds two or three whole axes in one block, and reduces one after the other.
func wholeAxes(r *rand.Rand, most int64) shapeProgram {
	dims, axes := names("D", 2+r.IntN(2))
	var b strings.Builder
	fmt.Fprintf(&b, "kernel f(x: f32[%s]) -> (y: f32[%s], z: f32[%s])\n    grid g in 1\n{\n", list(dims), list(dims), dims[0])
	for i, a := range axes {
		fmt.Fprintf(&b, "    axis %s in %s\n", a, dims[i])
	}
	order := shuffled(r, axes)
	fmt.Fprintf(&b, "    let v = x[%s] - max(x[%s], over %s)\n", list(axes), list(axes), order[0])
	fmt.Fprintf(&b, "    let w = v + sum(v, over %s)\n", order[1])
	fmt.Fprintf(&b, "    y[%s] = w\n    z[%s] = sum(w, over (%s))\n}\n", list(axes), axes[0], list(axes[1:]))
	return shapeProgram{b.String(), pickShape(r, append([]int64{65, 100}, oddExtents...), most, dims...)}
}

// manyProducts adds up to 40 products of matrices, some of them of earlier ones.
func manyProducts(r *rand.Rand, most int64) shapeProgram {
	n := 1 + r.IntN(40)
	d := []string{"f32", "bf16"}[r.IntN(2)]
	var b strings.Builder
	fmt.Fprintf(&b, "kernel f(x: %s[M, K], y: %s[P, K, N]) -> z: f32[M, N]\n    grid i in M by BM, j in N by BN\n{\n    axis k in K\n", d, d)
	for k := range n {
		fmt.Fprintf(&b, "    let a%d = dot(x[i, k], y[%d, k, j] else 0)\n", k, k%3)
	}
	b.WriteString("    z[i, j] = a0")
	for k := 1; k < n; k++ {
		fmt.Fprintf(&b, " + max(a%d, a0)", k)
	}
	b.WriteString("\n}\n")
	sizes := pickShape(r, append([]int64{65, 100}, oddExtents...), max(most/int64(n), 1), "M", "K", "N")
	sizes["P"] = 2
	return shapeProgram{b.String(), sizes}
}

// wholeNumbers are arguments for a program: every sum of them is exact in every accumulator.
func (p shapeProgram) wholeNumbers(t *testing.T, m *Module, r *rand.Rand) Args {
	args := Args{}
	k := m.Program.Kernels[0]
	for _, param := range k.Params {
		if param.Mode == lang.Out {
			continue
		}
		var shape []int64
		for _, s := range param.Shape {
			if n, ok := s.Const(); ok {
				shape = append(shape, n)
				continue
			}
			shape = append(shape, p.dims[s.String()])
		}
		values := make([]float64, tensor.Elements(shape))
		for i := range values {
			values[i] = float64(r.IntN(5) - 2)
		}
		args[param.Name] = Converted(param.DType.Resolve(nil), values, shape...)
	}
	return args
}

// Whatever its shapes, a program that runs on the CPU runs on every GPU, with the same result.
func TestAnyShapeRunsEverywhere(t *testing.T) {
	sweep.Once(t)
	for _, kind := range shapeKinds {
		for seed := range uint64(12 / sweep.OneIn(3)) {
			t.Run(fmt.Sprintf("%s %d", kind.name, seed), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(seed, 9))
				p := kind.write(r, 20_000)
				run := func(device string) map[string]*Array {
					d, err := OpenDevice(device)
					require.NoError(t, err)
					defer d.Close()
					m, err := NewCompiler(d, nil).Load("f.tile", []byte(p.source))
					require.NoError(t, err, p.source)
					out, err := m.Call("f", p.wholeNumbers(t, m, rand.New(rand.NewPCG(seed, 10))))
					require.NoError(t, err, "%s\n%v\n%s", device, p.dims, p.source)
					return out
				}
				want := run("cpu")
				for _, device := range []string{"emu", "emu:sm_80"} {
					for name, got := range run(device) {
						require.Equal(t, want[name].Floats(), got.Floats(), "%s on %s, %v\n%s", name, device, p.dims, p.source)
					}
				}
			})
		}
	}
}

// Nothing is refused for its size either: what is too large to be run here has a plan, and code, for every target.
func TestAnyShapeHasAPlan(t *testing.T) {
	sweep.Once(t)
	for _, kind := range shapeKinds {
		for seed := range uint64(12 / sweep.OneIn(3)) {
			t.Run(fmt.Sprintf("%s %d", kind.name, seed), func(t *testing.T) {
				t.Parallel()
				p := kind.write(rand.New(rand.NewPCG(seed, 11)), 1<<40)
				module, problems := Load("f.tile", []byte(p.source), nil)
				require.Empty(t, problems, p.source)
				s, err := Specialise(module.Kernels[0], Options{Dims: p.dims})
				require.NoError(t, err)
				for _, name := range target.Names() {
					target, err := target.Find(name)
					require.NoError(t, err)
					for _, launch := range s.Launches() {
						_, err := compile.Lower(launch, target, nil)
						require.NoError(t, err, "%s\n%v\n%s", name, p.dims, p.source)
					}
				}
			})
		}
	}
}
