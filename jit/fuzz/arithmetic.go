package fuzz

import (
	"math"

	"tilec/jit/ir"
	"tilec/jit/pass"
	"tilec/lang"
)

// Arithmetic is how a device computes contractions. Other sums are of the
// language: rounded to nearest, in any order.
type Arithmetic struct {
	// operands says, for each precision of f32, how operands are rounded; without a row they are not.
	operands map[string]operandRounding
	// sums is how products are added up.
	sums summing
}

// operandRounding is how the operands of a contraction of f32 become tf32.
type operandRounding struct {
	// relative is the error of an operand that tf32 cannot hold, relative to it; dropped that of a product that is left out.
	relative, dropped float64
	// steps is how many products stand for one.
	steps float64
}

// summing is how numbers are added up.
type summing struct {
	// unit is the error of one addition, relative to the sum of magnitudes.
	unit float64
	// additions is through how many additions a product may go, for each product of the sum.
	additions float64
	// aligned: a product is cut off relative to the exponents of the factors, not to products.
	aligned bool
}

// ArithmeticOf is the arithmetic of the CPU, or of a GPU with tensor cores.
//
// A tensor core adds n products and the accumulator at once: it shifts each to
// the largest exponent among them, cuts off what lies F bits below that, adds
// the rest exactly, and cuts off what f32 cannot hold. F is 24 for sm_80 and
// sm_89, 25 for sm_90 (Fasi, Higham, Mikaitis and Pranesh 2021; Xie, Wang, Yang
// and Yang 2025). With T above every magnitude, the n+1 cuts cost less than
// (n+1) 2^-24 T, the last one 2^-23 T: together at most 2n 2^-23 T, whatever the
// n ≥ 1. So K products, in groups of whatever sizes, cost 2K additions of unit
// 2^-23 relative to T.
//
// T is the sum of magnitudes where factors are normal numbers. The exponent of a
// product is the sum of its factors' exponents, and that of a subnormal factor is
// the least one: there T is at least what the product would be with the least
// normal number in its place.
//
// The products themselves are exact. Factors of f8 are converted to f16, which
// holds them, and multiplied as f16: the sums of wgmma on f8, which keep 13 bits
// on sm_90, are those of kernels that are @approx, which are not judged.
//
// tf32 has 11 bits: rounding puts an operand off by 2^-11. tf32x3 splits each
// operand in two and adds three products; what the second part leaves is 2^-22
// of the operand, and the product of the second parts, left out, 2^-22 of the
// product.
func ArithmeticOf(gpu bool) Arithmetic {
	if !gpu {
		return Arithmetic{sums: summing{unit: 0x1p-24, additions: 1}}
	}
	return Arithmetic{sums: summing{unit: 0x1p-23, additions: 2, aligned: true}, operands: map[string]operandRounding{
		"":       {relative: 0x1p-11, steps: 1},
		"tf32x3": {relative: 0x1p-22, dropped: 0x1p-22, steps: 3},
	}}
}

// operand is what an operand of a contraction of d may be when it is multiplied.
func (a Arithmetic) operand(d lang.DType, precision string, x interval) interval {
	o, ok := a.operands[precision]
	switch {
	case d != lang.F32 || !ok || x.nan == always || isTF32(x.lo) && isTF32(x.hi):
		return x
	case x.most() >= 0x1.ffp127:
		return unknown // rounding to nearest may make it infinite, and to bf16 sooner
	}
	// Below the normal numbers the error is absolute.
	return x.grow(max(o.relative*x.most(), 0x1p-126))
}

// isTF32 reports a number that tf32 holds, and normal.
func isTF32(v float64) bool {
	b := math.Float32bits(float32(v))
	return b&(1<<13-1) == 0 && (v == 0 || math.Abs(v) >= 0x1p-126)
}

// weight is through how many roundings each of n products of elements of type d
// goes when a contraction adds them up at a precision, times their unit.
//
// Where one operand is of bf16, the other may be multiplied in two parts of that.
func (a Arithmetic) weight(op *ir.Op, d lang.DType, precision string, n float64) float64 {
	acc := accumulator(d)
	if acc == lang.F64 || d == lang.F32 && precision == "ieee" {
		return (n + 1) * rounding(acc)
	}
	steps := 1.0
	if d == lang.F32 && a.operands != nil {
		if steps = a.operands[precision].steps; inParts(op) {
			steps = max(steps, 2)
		}
	}
	return (a.sums.additions*steps*n + 1) * a.sums.unit
}

// inParts reports a contraction of f32, or a product that one adds up, of which a factor may be multiplied in two parts.
func inParts(op *ir.Op) bool { return len(op.Args) > 1 && pass.InParts(op.Args[0], op.Args[1]) }

// unit is the error of one addition on arithmetic of d, in a contraction or beside one.
func (a Arithmetic) unit(d lang.DType) float64 {
	if d == lang.F64 {
		return rounding(d)
	}
	return max(a.sums.unit, rounding(d))
}

// contraction adds up products of elements of type d at a precision, which are cut off as if one were as large as top.
// Where a factor is not finite, the smaller of two parts may be no number, or be 0 beside an infinity.
func (a Arithmetic) contraction(op *ir.Op, d lang.DType, precision string, products []interval, top float64) sum {
	s := sumOf(products)
	if a.operands != nil && d == lang.F32 && inParts(op) && math.IsInf(s.value.most(), 0) {
		s.value = unknown
	}
	if d == lang.F32 && s.grain == 0 {
		s.value = s.value.grow(a.operands[precision].dropped * s.size)
	}
	if accumulator(d) != lang.F64 && !(d == lang.F32 && precision == "ieee") {
		s.size = max(s.size, top)
	}
	return s
}

// aligned is, of the factors in a tile, the magnitudes that decide where
// products with them are cut off; nil where those are the factors' own. from is
// the type that the factors have, or had before they were widened.
func (a Arithmetic) aligned(x *tile, from lang.DType) []float64 {
	least := leastNormal(from)
	if !a.sums.aligned || x.f == nil || least == 0 {
		return nil
	}
	subnormal := false
	for _, e := range x.f {
		subnormal = subnormal || e.nan != always && e.least() < least && e.most() > 0
	}
	if !subnormal {
		return nil
	}
	out := make([]float64, len(x.f))
	for i, e := range x.f {
		if out[i] = e.most(); out[i] > 0 {
			out[i] = max(out[i], least)
		}
	}
	return out
}

// leastNormal is the least normal number of the type as which tensor cores multiply elements of d; 0 where they do not.
func leastNormal(d lang.DType) float64 {
	switch {
	case !d.IsFloat() || d.Bits() > 32:
		return 0
	case d.Bits() < 16:
		d = lang.F16
	}
	return d.LeastNormal()
}

// narrow is the type of a factor before it was widened to its accumulator, else its own: contractions take either.
func narrow(v *ir.Value) lang.DType {
	d := v.Type.DType
	if v.Def != nil && v.Def.Code == lang.OpCast {
		if from := v.Def.Args[0].Type.DType; from.IsFloat() && from.Bits() < d.Bits() && from.Accumulator() == d {
			return from
		}
	}
	return d
}

// factors are two tiles whose elements are multiplied.
type factors struct {
	a, b []interval
	// alignA and alignB are what aligned gives for them.
	alignA, alignB []float64
}

// factors gives the factors of a contraction at a precision, as they are multiplied.
func (m *machine) factors(precision string, op *ir.Op, a, b *tile) factors {
	return factors{m.multiplied(precision, a), m.multiplied(precision, b), m.arith.aligned(a, narrow(op.Args[0])), m.arith.aligned(b, narrow(op.Args[1]))}
}

// multiplied is the elements of an operand as a contraction multiplies them.
func (m *machine) multiplied(precision string, x *tile) []interval {
	if _, rounds := m.arith.operands[precision]; x.dtype != lang.F32 || !rounds {
		return x.f
	}
	out := make([]interval, len(x.f))
	for i, v := range x.f {
		out[i] = m.arith.operand(x.dtype, precision, v)
	}
	return out
}

// top is the magnitude as of which the product of two elements is cut off; 0 where that is the product's own.
func (f *factors) top(i, j int) float64 {
	if f.alignA == nil && f.alignB == nil {
		return 0
	}
	x, y := f.a[i].most(), f.b[j].most()
	if f.alignA != nil {
		x = f.alignA[i]
	}
	if f.alignB != nil {
		y = f.alignB[j]
	}
	if t := x * y; !math.IsInf(t, 0) && t == t {
		return t
	}
	return 0
}

// origin is what a tile is the product of: what was multiplied, and the factors then. Where it is 0 in place of a product, mask does not hold; a mask of nil holds everywhere.
type origin struct {
	op         *ir.Op
	a, b, mask *tile
}

// summands are the products that a contraction adds up.
type summands struct {
	// dtype is what the factors may be multiplied as.
	dtype lang.DType
	f     []interval
	top   []float64
}

// summands of a sum over x that a GPU may compute as the contraction that the
// language says it is; nil where it is another sum, or would be computed alike.
func (m *machine) summands(x *tile) *summands {
	p := x.product
	if p == nil || !m.arith.sums.aligned {
		return nil
	}
	s := &summands{dtype: x.dtype, f: make([]interval, len(x.f)), top: make([]float64, len(x.f))}
	if d, e := narrow(p.op.Args[0]), narrow(p.op.Args[1]); d == e {
		s.dtype = d
	}
	f := m.factors(m.precision, p.op, p.a, p.b)
	dropped := 0.0
	if x.dtype == lang.F32 {
		dropped = m.arith.operands[m.precision].dropped
	}
	i, steps := 0, [][]int{p.a.steps(x.axes), p.b.steps(x.axes)}
	if p.mask != nil {
		steps = append(steps, p.mask.steps(x.axes))
	}
	walk(x.sizes, steps, func(at []int) {
		if p.mask != nil && p.mask.n[at[2]].v == 0 {
			i++
			return
		}
		exact := f.a[at[0]].mul(f.b[at[1]])
		if !exact.exact() {
			exact = exact.grow(dropped * exact.most())
		}
		s.f[i], s.top[i] = exact.union(x.f[i]), f.top(at[0], at[1])
		i++
	})
	return s
}
