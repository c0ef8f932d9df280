package jit

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/jit/ir/eval/exact"
	"tilec/jit/plan"
	"tilec/lang"
)

// This file measures the largest error of every function of the table on the
// device that TILEC_TEST_DEVICE names. With -ulp.full it tries 2^24 arguments of
// f32 spread evenly over the patterns of bits, every argument of f16 and bf16,
// and 2^15 of f64; without, a few thousand of each, as a test of the bounds.
//
//	go test ./jit -run Ulp -ulp.full -ulp.out $PWD/docs/ulp/cpu.txt
//
// docs/operations.md shows what docs/ulp holds.

var (
	ulpFull = flag.Bool("ulp.full", false, "measure densely")
	ulpOut  = flag.String("ulp.out", "", "write the largest errors to a file")
)

// format is what an error is measured in: bits of fraction, least positive power, first power beyond.
type format struct{ fraction, least, most int }

var formats = map[lang.DType]format{
	lang.F16: {10, -24, 16}, lang.BF16: {7, -133, 128}, lang.F32: {23, -149, 128}, lang.F64: {52, -1074, 1024},
}

// ulpBound is the largest error that a function may have in a type. The row's
// bound is for f32. A narrower result is that value rounded: half a unit, and a
// little more where the f32 value lies beside the middle of two.
func ulpBound(op lang.Op, d lang.DType) float64 {
	bound := max(op.Row().Ulp, 0.5)
	switch {
	case op.Row().Ulp == 0 && d == lang.F32, op.Row().Ulp == 0 && d == lang.F64:
		return 0.5
	case d == lang.F64:
		return bound + 4
	case d == lang.F32:
		return bound
	}
	return 0.5 + bound/256
}

// ulpSamples is how many arguments are tried.
func ulpSamples(op lang.Op, d lang.DType) int {
	narrow := d.Bits() == 16 && len(op.Row().Operands) == 1
	switch {
	case !*ulpFull && d == lang.F64:
		return 256
	case !*ulpFull:
		return 1 << 12
	case d == lang.F64:
		return 1 << 15
	case narrow:
		return 1 << 16
	case len(op.Row().Operands) > 1:
		return 1 << 22
	}
	return 1 << 24
}

func TestUlp(t *testing.T) {
	c := testCompiler(t)
	var report strings.Builder
	fmt.Fprintf(&report, "# %s\n# type function largest error in ulp, at\n", c.Device.Name())
	for _, d := range []lang.DType{lang.F32, lang.F16, lang.BF16, lang.F64} {
		for _, op := range exact.Functions() {
			worst, at := measureUlp(t, c, op, d, ulpSamples(op, d))
			line := fmt.Sprintf("%s %s %.4f %v", d, op, worst, at)
			t.Log(line)
			fmt.Fprintln(&report, line)
			if bound := ulpBound(op, d); worst > bound {
				t.Errorf("%s of %s is %.4f ulp off at %v, bound %g", op, d, worst, at, bound)
			}
		}
	}
	if *ulpOut != "" {
		require.NoError(t, os.WriteFile(*ulpOut, []byte(report.String()), 0o666))
	}
}

// measureUlp gives the largest error over n arguments, and where it is.
func measureUlp(t *testing.T, c *Compiler, op lang.Op, d lang.DType, n int) (worst float64, at []float64) {
	operands := make([]lang.DType, len(op.Row().Operands))
	for k := range operands {
		operands[k] = d
	}
	f := elementwiseKernel(op, operands, d)
	p := &plan.Plan{Target: c.Device.Target().Name, Extents: map[string]int64{"i": 1024}}
	if c.Device.Target().IsGPU() {
		p.Warps, p.Stages = 4, 1
	}
	require.NoError(t, p.Apply(f))
	exe, err := compilePlanned(c, f, p)
	require.NoError(t, err)
	piece := min(n, 1<<20)
	tensors := make([]*Memory, len(operands)+1)
	var args []launchArg
	for k := range tensors {
		tensors[k], err = c.Device.Alloc(int64(piece * d.Size()))
		require.NoError(t, err)
		defer c.Device.Free(tensors[k])
		args = append(args, launchArg{memory: tensors[k]})
	}
	args = append(args, launchArg{bits: uint64(piece)})
	r := rand.New(rand.NewPCG(11, uint64(op)<<8|uint64(d)))
	data := make([][]byte, len(tensors))
	for k := range data {
		data[k] = make([]byte, piece*d.Size())
	}
	for first := 0; first < n; first += piece {
		ulpArguments(op, d, first, n, data[:len(operands)], r)
		for k := range operands {
			require.NoError(t, c.Device.Write(tensors[k], 0, data[k]))
		}
		require.NoError(t, exe.launch(t.Context(), args))
		require.NoError(t, c.Device.Read(data[len(operands)], tensors[len(operands)], 0))
		u, where := worstOf(op, d, data, piece)
		if u > worst || at == nil {
			worst, at = u, where
		}
	}
	return worst, at
}

// ulpArguments fills the operands with the arguments from number first on, of n.
func ulpArguments(op lang.Op, d lang.DType, first, n int, data [][]byte, r *rand.Rand) {
	bits := d.Bits()
	special := special(d)
	for i := range len(data[0]) / d.Size() {
		var a [3]uint64
		for k := range data {
			a[k] = r.Uint64() >> (64 - bits)
		}
		// The first operand walks all patterns in n equal steps, at a random place in each.
		step := uint64(1) << bits / uint64(n)
		if bits == 64 {
			step = math.MaxUint64/uint64(n) + 1
		}
		if step > 0 {
			a[0] = uint64(first+i) * step
			if step > 1 {
				a[0] += r.Uint64N(step)
			}
		}
		if edge := first + i - n/2; len(data) == 1 && bits > 16 && edge >= 0 && edge < len(special) {
			a[0] = special[edge]
		}
		if op == lang.OpPow && i%2 == 0 {
			// Where the power is a number: y log x within the exponents.
			a[0] &^= 1 << (bits - 1)
			limit := float64(formats[d].most) * math.Ln2
			if x := ulpValue(d, a[0]); x > 0 && x != 1 && !math.IsInf(x, 0) {
				a[1] = scalarBits(literal(d, (2*r.Float64()-1)*limit/math.Log(x)))
			}
		}
		for k := range data {
			var raw [8]byte
			binary.LittleEndian.PutUint64(raw[:], a[k])
			copy(data[k][i*d.Size():], raw[:d.Size()])
		}
	}
}

func ulpValue(d lang.DType, bits uint64) float64 {
	var raw [8]byte
	binary.LittleEndian.PutUint64(raw[:], bits)
	return decode(d, raw[:], 0).Float
}

// worstOf compares results with the exact values, on all cores.
func worstOf(op lang.Op, d lang.DType, data [][]byte, n int) (worst float64, at []float64) {
	workers := runtime.GOMAXPROCS(0)
	var mu sync.Mutex
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			most, where := -1.0, []float64(nil)
			a := make([]float64, len(data)-1)
			consts := make([]ir.Const, len(a))
			for i := w * n / workers; i < (w+1)*n/workers; i++ {
				for k := range a {
					consts[k] = decode(d, data[k], i)
					a[k] = consts[k].Float
				}
				if u := ulpOf(op, d, a, consts, decode(d, data[len(a)], i).Float); u > most {
					most, where = u, append([]float64(nil), a...)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if most > worst || at == nil {
				worst, at = most, where
			}
		})
	}
	wait.Wait()
	return worst, at
}

// ulpOf is the error of one result. References in f64 are exact enough for
// narrower types; for f64 itself the value has 180 bits.
func ulpOf(op lang.Op, d lang.DType, a []float64, consts []ir.Const, got float64) float64 {
	want := eval.Apply(op, lang.F64, consts...).Float
	switch {
	case math.IsNaN(want) || math.IsNaN(got):
		if math.IsNaN(want) && math.IsNaN(got) {
			return 0
		}
		return math.Inf(1)
	case want == got:
		if d != lang.F64 || want == 0 || math.IsInf(want, 0) {
			return 0
		}
	}
	f := formats[d]
	finite := true
	for _, x := range a {
		finite = finite && !math.IsInf(x, 0)
	}
	if d == lang.F64 && finite && want != 0 && !(math.IsInf(want, 0) && math.IsInf(got, 0)) {
		return exact.Ulps(got, exact.Apply(op, a...), f.fraction, f.least, f.most)
	}
	edge := math.Ldexp(1, min(f.most, 1023))
	if d == lang.F64 {
		edge = math.Inf(1)
	}
	want = max(min(want, edge), -edge)
	got = max(min(got, edge), -edge)
	exponent := f.least
	if want != 0 {
		exponent = max(min(math.Ilogb(want), f.most-1)-f.fraction, f.least)
	}
	return math.Abs(math.Ldexp(got-want, -exponent))
}
