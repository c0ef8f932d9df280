package fuzz

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/backend/cpu"
	"tilec/jit/ir"
	"tilec/lang"
)

// keeper is a witness that keeps the evidence of every launch.
type keeper struct {
	*Witness
	kept []*Evidence
}

func (k *keeper) Before(o *jit.Observation) error {
	err := k.Witness.Before(o)
	k.kept = append(k.kept, k.evidence)
	return err
}

// witnessed runs a kernel on the CPU, on drawn arguments, and gives what is known of its launches, which must be right.
func witnessed(t *testing.T, source string, trial Trial) []*Evidence {
	t.Helper()
	k, p := load(source)
	require.Nil(t, p)
	opts := jit.Options{Dims: trial.Dims, Pins: trial.Pins, Precision: trial.Precision}
	spec, err := jit.Specialise(k, opts)
	require.NoError(t, err)
	args, err := arguments(k, spec, trial)
	require.NoError(t, err)
	device := cpu.Open()
	var values []jit.Value
	for _, a := range args {
		if !a.param.IsTensor {
			values = append(values, jit.Value{Scalar: &lang.Literal{DType: a.dtype, Int: a.value.Int, Float: a.value.Float}})
			continue
		}
		m, err := jit.Upload(device, slices.Clone(a.data), a.dtype.Size())
		require.NoError(t, err)
		values = append(values, jit.TensorValue(&jit.Tensor{DType: a.dtype, Shape: a.shape, Memory: m}))
	}
	program, err := jit.NewCompiler(device, nil).BindKernel(k, values, opts)
	require.NoError(t, err)
	defer program.Close()
	w := &keeper{Witness: NewWitness(device, 1)}
	program.Observe(w)
	_, err = program.Run(values)
	require.NoError(t, err)
	require.Nil(t, w.First, "%v", w.First)
	require.NotEmpty(t, w.kept)
	return w.kept
}

// last is the last result of a launch.
func (e *Evidence) last() *Operand {
	for i := len(e.Operands) - 1; ; i-- {
		if o := &e.Operands[i]; o.After != nil {
			return o
		}
	}
}

// What --check took for right before every element had a bound of its own.
func TestJudgeRefusesWhatIsALittleWrong(t *testing.T) {
	one := func(from, op string) string {
		return fmt.Sprintf("kernel k(x: %s[N]) -> y: %s[N]\n    grid i in N by B\n{\n    y[i] = x[i] %s\n}\n", from, from, op)
	}
	product := `kernel k(a: bf16[M, K], b: bf16[K, N]) -> c: bf16[M, N] {
    c[i, j] = sum(a[i, k] * b[k, j], over k) as bf16
}
`
	for _, c := range []struct {
		name, source string
		off          float64
		gpu          bool
		precision    string
	}{
		{"f32 by 0.409", one("f32", "+ 10"), 0.409, false, ""},
		{"f32 by 0.409 where tensor cores round to tf32", one("f32", "+ 10"), 0.409, true, ""},
		{"f32 by a last place", one("f32", "+ 10"), 0x1p-20, true, ""},
		{"f64 by 2^-40", one("f64", "+ 10"), 0x1p-40, true, ""},
		{"bf16 product by 1", product, 1, true, ""},
		{"i32 by 1", one("i32", "+ 10"), 1, true, ""},
		{"f32 product by tf32's error at ieee", `kernel k(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(a[i, k] * b[k, j], over k)
}
`, 0x1p-8, true, "ieee"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := witnessed(t, c.source, Trial{Dims: map[string]int64{"M": 5, "N": 37, "K": 19}, Style: Normal, Seed: 1, Precision: c.precision})[0]
			arith := ArithmeticOf(c.gpu)
			right := arith.Judge(e, 1, runWork)
			require.Len(t, right, 1)
			assert.True(t, right[0].OK(), &right[0])
			y := e.last()
			n := jit.Elements(y.Shape)
			assert.Equal(t, n, right[0].Judged)
			assert.Zero(t, right[0].Unknown)
			assert.LessOrEqual(t, right[0].Worst, 1.0)
			for _, i := range []int64{0, n / 2, n - 1} {
				after := slices.Clone(y.After)
				was := decode(y.DType, after, int(i))
				now := ir.Const{Int: was.Int + int64(c.off), Float: was.Float + c.off}
				encode(y.DType, now, after, int(i))
				wrong := *e
				wrong.Operands = slices.Clone(e.Operands)
				wrong.last().After = after
				found := arith.Judge(&wrong, 1, runWork)[0]
				assert.Equal(t, int64(1), found.Wrong, &found)
				assert.Contains(t, found.First, y.Param.Name+jit.FormatShape(position(i, y.Shape))+" = ")
			}
		})
	}
}

// Every element is right up to the ends of its interval, and wrong beyond: of all results of random programs.
func TestJudgeRefusesWhatIsBeyondTheInterval(t *testing.T) {
	programs := uint64(40)
	if testing.Short() {
		programs = 15
	}
	refused := 0
	for seed := range programs {
		c := Generate(seed)
		if c.isChain() {
			continue
		}
		for _, trial := range c.Trials[:min(1, len(c.Trials))] { // a graph has none
			if len(trial.Types) > 0 {
				continue
			}
			trial.Pins = nil
			for _, e := range witnessed(t, c.Source, trial) {
				for _, j := range ArithmeticOf(false).Judge(e, seed, 5000) { // of most, some blocks
					assert.True(t, j.OK(), "seed %d: %v", seed, &j)
				}
				y := e.last()
				n := jit.Elements(y.Shape)
				if n == 0 {
					continue
				}
				r := newReview(ArithmeticOf(false), e, 1, runWork)
				require.Empty(t, r.review())
				a := r.arrays[y.Param.Name]
				for _, i := range []int64{0, n / 2, n - 1} {
					if a.unknown(i) || !a.dtype.IsFloat() || a.float(i).nan != never {
						continue
					}
					beyond := ir.Const{Float: next(y.DType, a.float(i).hi)}
					if math.IsInf(beyond.Float, 0) || !(beyond.Float > a.float(i).hi) { // f8e4m3 ends there
						continue
					}
					wrong := *e
					wrong.Operands = slices.Clone(e.Operands)
					o := wrong.last()
					o.After = slices.Clone(y.After)
					encode(y.DType, beyond, o.After, int(i))
					found := ArithmeticOf(false).Judge(&wrong, 1, runWork)
					j := found[len(found)-1]
					assert.Equal(t, int64(1), j.Wrong, "seed %d, %v: %v", seed, &j, beyond.Float)
					refused++
				}
			}
		}
	}
	assert.Greater(t, refused, int(programs)/2, "few results have an interval whose end can be stepped over")
}

// next is a number of a type above a bound; the largest one where none is above.
func next(d lang.DType, v float64) float64 {
	for step := d.Spacing(v); ; step *= 2 {
		b := make([]byte, 8)
		encode(d, ir.Const{Float: v + step}, b, 0)
		if w := decode(d, b, 0).Float; w > v || math.IsInf(step, 0) {
			return w
		}
	}
}

// What nothing stores must be 0 where the launch fills the output, what it held before in an inout, and is wrong elsewhere.
func TestJudgeKnowsWhatNothingStores(t *testing.T) {
	change := func(source string) Judgement {
		e := witnessed(t, source, Trial{Dims: map[string]int64{"N": 9}, Style: Normal, Seed: 1})[0]
		y := e.last()
		encode(y.DType, ir.Const{Float: 7}, y.After, 3) // an element that the kernel does not store
		return ArithmeticOf(true).Judge(e, 1, runWork)[0]
	}
	filled := change("kernel k(x: f32[N]) -> y: f32[2 * N]\n    grid i in N by B\n{\n    y[2 * i] = x[i]\n}\n")
	assert.Equal(t, "y[3] = 7, which must be 0", filled.First)
	assert.Equal(t, int64(18), filled.Judged)
	kept := change("kernel k(x: f32[N], inout y: f32[2 * N])\n    grid i in N by B\n{\n    y[2 * i] = x[i]\n}\n")
	assert.Equal(t, int64(1), kept.Wrong)
	assert.Regexp(t, `^y\[3\] = 7, which must be `, kept.First)

	e := witnessed(t, "kernel k(x: f32[N]) -> y: f32[N]\n    grid i in N by B\n{\n    y[i] = x[i]\n}\n", Trial{Dims: map[string]int64{"N": 9}, Style: Normal, Seed: 1})[0]
	require.True(t, e.last().Empty)
	e.last().Shape = []int64{10} // the kernel stores 9 of them
	e.last().After = append(e.last().After, 0, 0, 0, 0)
	j := ArithmeticOf(false).Judge(e, 1, runWork)[0]
	assert.Equal(t, "y[9] = 0, which nothing stores", j.First)
}

// Of what is too much for the reference, blocks are drawn: their elements are judged and no others.
func TestJudgeDrawsBlocks(t *testing.T) {
	e := witnessed(t, `kernel k(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(a[i, k] * b[k, j], over k)
}
`, Trial{Dims: map[string]int64{"M": 100, "N": 130, "K": 40}, Style: Normal, Seed: 1})[0]
	const budget = 100_000
	j := ArithmeticOf(true).Judge(e, 1, budget)[0]
	assert.True(t, j.OK(), &j)
	assert.Less(t, j.Judged, j.Elements/2)
	assert.GreaterOrEqual(t, j.Judged, int64(256))
	assert.Contains(t, j.String(), " (blocks drawn at random) within their bounds")
	again := ArithmeticOf(true).Judge(e, 1, budget)[0]
	assert.Equal(t, j, again)

	c := e.last()
	after := slices.Clone(c.After)
	for i := range int(jit.Elements(c.Shape)) {
		v := decode(c.DType, after, i)
		encode(c.DType, ir.Const{Float: v.Float + 1}, after, i)
	}
	c.After = after
	wrong := ArithmeticOf(true).Judge(e, 1, budget)[0]
	assert.Equal(t, j.Judged, wrong.Wrong)
	other := ArithmeticOf(true).Judge(e, 2, budget)[0]
	assert.NotEqual(t, wrong.First, other.First, "another seed draws other blocks")
}

// Blocks that share elements are judged together or not at all.
func TestJudgeNeedsAllBlocksThatShareElements(t *testing.T) {
	e := witnessed(t, `kernel k<const V: int = 10>(ids: i32[N]) -> y: i32[V]
    grid i in N by B
{
    atomic_add(y[ids[i]], 1)
}
`, Trial{Dims: map[string]int64{"N": 5000}, Style: Small, Seed: 1})[0]
	all := ArithmeticOf(false).Judge(e, 1, runWork)[0]
	assert.True(t, all.OK(), &all)
	assert.Equal(t, int64(10), all.Judged)
	some := ArithmeticOf(false).Judge(e, 1, 1000)[0]
	assert.Zero(t, some.Judged)
	assert.Equal(t, 1, some.Left)
	assert.Equal(t, "not judged: blocks share elements by atomics, and all 20 of them are too much work for the reference", some.String())
}
