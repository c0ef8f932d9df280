package jit

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/backend/emulator"
	"tilec/jit/emu"
	"tilec/jit/jittest/sweep"
	"tilec/lang"
	"tilec/stdlib"
)

// reporting loads a program for an emulator, which notes in the report what each launch did.
func reporting(t *testing.T, report *emu.Report, source []byte) *Module {
	device, err := emulator.Open("sm_90a")
	require.NoError(t, err)
	t.Cleanup(func() { device.Close() })
	device.OnLaunch = func(_ string, r *emu.Report) { *report = *r }
	module, err := NewCompiler(device, nil).Load("rows.tile", source)
	require.NoError(t, err)
	return module
}

// normal are so many numbers with a mean of 0 and a deviation of 1.
func normal(r *rand.Rand, n int64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = r.NormFloat64()
	}
	return values
}

// Rows that are too long for registers and fit the block's shared memory are read once, though loops go through them several times, and no
// bank of shared memory is asked twice at once. Whether the threads of the first loop keep them or a copy brings them as a whole, the results have
// the bits of loops that read again. Of rows that begin at no multiples of 16 bytes whole words are read, which two of them share.
func TestLongRowsAreReadOnce(t *testing.T) {
	sweep.Once(t)
	const rows = 2
	for _, c := range []struct {
		kernel string
		d      lang.DType
		n      int64
		beside int64 // rows that are read beside
	}{
		{"softmax", lang.F32, 50304, 0}, {"softmax", lang.BF16, 50304, 0}, {"softmax", lang.BF16, 50257, 0}, {"layernorm", lang.F32, 50304, 2},
	} {
		t.Run(fmt.Sprintf("%s %s %d", c.kernel, c.d, c.n), func(t *testing.T) {
			text, err := stdlib.FS.ReadFile("nn.tile")
			require.NoError(t, err)
			var report emu.Report
			module := reporting(t, &report, text)
			r := rand.New(rand.NewPCG(1, 2))
			values := normal(r, rows*c.n)
			args := Args{"x": Converted(c.d, values, rows, c.n), "split": 1, "BM": 1, "warps": 8, "j": 4096} // a block a row, as where there are many
			if c.beside > 0 {
				args["g"], args["b"] = Converted(c.d, values[:c.n], c.n), Converted(c.d, values[1:c.n+1], c.n)
			}
			call := func(form int) []float64 {
				given := maps.Clone(args)
				if form > 0 {
					given["kept"] = form
				}
				out, err := module.Call(c.kernel, given)
				require.NoError(t, err)
				return out["y"].Floats()
			}
			want := call(1)
			row := c.n * int64(c.d.Size())
			most := float64(0) // of words beside the row's own elements
			if row%16 != 0 {
				most = 2 * 16 * rows
			}
			assert.Greater(t, report.GlobalRead, rows*row*(1+c.beside), "each loop reads the rows")
			for _, form := range []int{0, 2, 3, 4} {
				assert.Equal(t, want, call(form), "kept=%d", form)
				assert.InDelta(t, rows*row*(1+c.beside), report.GlobalRead, most, "kept=%d", form)
				assert.Equal(t, rows*row, report.GlobalWritten, "kept=%d", form)
				bulk := false
				for _, a := range report.Accesses {
					bulk = bulk || strings.HasPrefix(a.Instruction, "cp.async.bulk")
					if a.Space == "shared" {
						assert.LessOrEqual(t, a.Wavefronts, a.Ideal, "%s, kept=%d", a.Instruction, form)
					}
				}
				assert.Equal(t, form != 2, bulk, "kept=%d", form)
			}
		})
	}
}

// Blocks that stay go through all rows, and have the parts of the next one copied to where they are done with this one's: rows of whole parts and not,
// one tensor that is kept and two, of a grid of several axes. The results have the bits of loops that read again; the emulator finds what is written
// where it is still read, and what is read before it has come.
func TestRowsAreCopiedAhead(t *testing.T) {
	sweep.Once(t)
	const source = `kernel softmax<T: float>(x: T[A, M, N]) -> y: T[A, M, N]
    grid a in A, i in M
{
    axis j in N
    let v = x[a, i, j] as f32
    let e = exp(v - max(v, over j))
    y[a, i, j] = (e / sum(e, over j)) as T
}

kernel both(x: f32[A, M, N], z: f32[A, M, N]) -> y: f32[A, M, N]
    grid a in A, i in M
{
    axis j in N
    let u = x[a, i, j] - max(x[a, i, j], over j)
    let v = z[a, i, j] - max(z[a, i, j], over j)
    y[a, i, j] = u * v / sum(u * v, over j)
}
`
	const a, m = 2, 70
	for _, c := range []struct {
		kernel string
		d      lang.DType
		n      int64
	}{{"softmax", lang.F32, 16896}, {"both", lang.F32, 16640}, {"softmax", lang.BF16, 16384}}[:3-sweep.OneIn(2)/2] {
		t.Run(fmt.Sprintf("%s %s %d", c.kernel, c.d, c.n), func(t *testing.T) {
			var report emu.Report
			module := reporting(t, &report, []byte(source))
			r := rand.New(rand.NewPCG(3, 4))
			values := normal(r, a*m*c.n)
			args := Args{"x": Converted(c.d, values, a, m, c.n), "split": 1, "warps": 16, "j": 4096, "online": 1} // a block a multiprocessor
			read := a * m * c.n * int64(c.d.Size())
			if c.kernel == "both" {
				args["z"] = Converted(c.d, values, a, m, c.n)
				read *= 2
			}
			call := func(form int) []float64 {
				given := maps.Clone(args)
				given["kept"] = form
				out, err := module.Call(c.kernel, given)
				require.NoError(t, err)
				return out["y"].Floats()
			}
			want := call(1)
			assert.Equal(t, want, call(4))
			assert.Equal(t, read, report.GlobalRead)
			assert.Equal(t, 132, report.Blocks, "some blocks have two rows")
			args["stagger"] = 2
			for _, form := range []int{3, 4}[sweep.OneIn(2)-1:] {
				assert.Equal(t, want, call(form), "kept=%d, some blocks begin later", form)
				assert.Equal(t, read, report.GlobalRead)
			}
		})
	}
}

// Rows that begin at no multiples of 16 bytes are gone through by the words in which they lie, wherever in one they begin, and whether they are read
// again, kept or copied. Beside them there may be rows of other types, and tensors along them, which have no lead. The results are those by columns,
// but for the order in which sums are added up; reading again and keeping has the same bits, and no element before or behind a row is written.
func TestRowsAreGoneThroughByWords(t *testing.T) {
	sweep.Once(t)
	const source = `kernel norm<T: float, U: float>(x: T[A, M, N], r: T[A, M, N], g: U[N], b: U[N]) -> (s: f32[A, M, N], y: T[A, M, N])
    grid a in A, i in M
{
    axis j in N
    let v = x[a, i, j] as f32 + r[a, i, j] as f32
    let c = v - max(v, over j)
    s[a, i, j] = v
    y[a, i, j] = (c * rsqrt(sum(c * c, over j)) * g[j] as f32 + b[j] as f32) as T
}

kernel first(x: i32[A, M, N]) -> (y: i32[A, M, N], small: bool[A, M], most: i32[A, M])
    grid a in A, i in M
{
    axis j in N
    y[a, i, j] = x[a, i, j] - min(x[a, i, j], over j) + index(j) + (rand(1, j) * 1000) as i32
    most[a, i] = argmax(x[a, i, j], over j)
    small[a, i] = all(x[a, i, j] < 100, over j)
}
`
	const a, m = 2, 14
	for i, c := range []struct {
		kernel string
		d, u   lang.DType
		n      int64
		on     string
	}{
		{"norm", lang.BF16, lang.BF16, 8209, "sm_90a"}, {"norm", lang.F32, lang.F32, 8299, "sm_90a"}, {"norm", lang.F16, lang.F32, 8298, "sm_120"},
		{"norm", lang.F32, lang.BF16, 8301, "sm_80"}, {"norm", lang.BF16, lang.F16, 8300, "sm_90a"}, {"first", lang.I32, lang.I32, 8303, "sm_90a"},
	} {
		if i%sweep.OneIn(2) == 1 {
			continue
		}
		t.Run(fmt.Sprintf("%s %s %s %d", c.kernel, c.d, c.u, c.n), func(t *testing.T) {
			device, err := emulator.Open(c.on)
			require.NoError(t, err)
			defer device.Close()
			module, err := NewCompiler(device, nil).Load("rows.tile", []byte(source))
			require.NoError(t, err)
			r := rand.New(rand.NewPCG(3, 4))
			random := func(n int64) []float64 {
				values := make([]float64, n)
				for i := range values {
					values[i] = math.Round(100 * r.NormFloat64())
				}
				return values
			}
			args := Args{"x": Converted(c.d, random(a*m*c.n), a, m, c.n), "split": 1, "warps": 16, "j": 4096} // a block a multiprocessor
			var biases []float64
			if c.kernel == "norm" {
				args["r"] = Converted(c.d, random(a*m*c.n), a, m, c.n)
				g, b := Converted(c.u, random(c.n), c.n), Converted(c.u, random(c.n), c.n)
				args["g"], args["b"], biases = g, b, b.Floats()
			}
			call := func(words, kept int) map[string]*Array {
				given := maps.Clone(args)
				given["words"], given["kept"] = words, kept
				out, err := module.Call(c.kernel, given)
				require.NoError(t, err, "words=%d kept=%d", words, kept)
				return out
			}
			columns, want := call(1, 1), call(2, 1)
			for name, x := range want {
				by := columns[name].Floats()
				for i, v := range x.Floats() {
					allowed := math.Abs(by[i]) / 64
					if c.kernel == "norm" && name == "y" { // of two terms, of which one has the sum: a thread adds up some 20 of its squares, and warps and threads another 10
						allowed += 2 * 32 * 0x1p-24 * (math.Abs(by[i]) + math.Abs(biases[int64(i)%c.n]))
					}
					require.InDelta(t, by[i], v, allowed, "%s[%d]", name, i)
				}
			}
			for kept := 2; kept <= 4; kept++ {
				for name, x := range call(2, kept) {
					assert.Equal(t, want[name].Floats(), x.Floats(), "%s, kept=%d", name, kept)
				}
			}
		})
	}
}

// Of two rows that do not fit shared memory together, what all loops compute of them is kept, and they are read once. The results have the bits
// of loops that read again.
func TestWhatLoopsComputeOfRowsIsKept(t *testing.T) {
	sweep.Once(t)
	const source = `kernel sums(x: f32[M, N], r: f32[M, N]) -> (s: f32[M, N], y: f32[M, N])
    grid i in M
{
    axis j in N
    let v = x[i, j] + 2 * r[i, j]
    let c = v - max(v, over j)
    s[i, j] = v
    y[i, j] = c / sum(c, over j)
}
`
	const rows = 2
	for _, n := range []int64{50304, 50257} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var report emu.Report
			module := reporting(t, &report, []byte(source))
			r := rand.New(rand.NewPCG(5, 6))
			values := normal(r, rows*n+1)
			args := Args{"x": Converted(lang.F32, values[1:], rows, n), "r": Converted(lang.F32, values[:rows*n], rows, n), "split": 1}
			call := func(kept int) map[string]*Array {
				given := maps.Clone(args)
				given["kept"], given["warps"], given["j"] = kept, 16, 8192
				out, err := module.Call("sums", given)
				require.NoError(t, err)
				return out
			}
			want := call(1)
			for kept := 2; kept <= 4; kept++ {
				for name, x := range call(kept) {
					assert.Equal(t, want[name].Floats(), x.Floats(), "%s, kept=%d", name, kept)
				}
				assert.InDelta(t, 2*rows*n*4, report.GlobalRead, 4*16*rows, "kept=%d", kept)
			}
		})
	}
}
