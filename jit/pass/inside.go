package pass

import (
	"math"
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file finds what positions can become, through numbers of floats too, as where a picture of another size takes its elements from:
// an index that is always inside is not checked as the program runs.

// deepIndex is how deep the arithmetic of an index may be that is looked at: of a picture's neighbour that is interpolated, nine operations.
const deepIndex = 12

// foldChecks drops the checks of a load's indices that always lie in the tensor, and what it gives outside where none is left.
func foldChecks(b *ir.Builder, op *ir.Op) *ir.Value {
	if op.Code != lang.OpLoad || !slices.Contains(op.Checked, true) {
		return nil
	}
	checked := slices.Clone(op.Checked)
	for i, x := range op.Indices() {
		d := op.Tensor.Shape[i]
		if lo, hi, ok := span(x, deepIndex); ok && d.Known() && lo >= 0 && hi < d.Value {
			checked[i] = false
		}
	}
	if slices.Equal(checked, op.Checked) {
		return nil
	}
	load := *op
	load.Checked, load.Results = checked, nil
	if load.Args = slices.Clone(op.Args); !slices.Contains(checked, true) {
		load.Args = slices.Clone(op.Indices())
		if types, err := ir.Infer(&load); err != nil || !types[0].Same(op.Result().Type) { // what it gives outside has axes of its own
			return nil
		}
	}
	return b.Emit(&load)[0]
}

// castSpan bounds an integer that is converted from another type.
func castSpan(cast *ir.Op, depth int) (lo, hi int64, ok bool) {
	x, to := cast.Args[0], cast.Result().Type.DType
	if x.Type.DType.IsInt() && to.Holds(x.Type.DType) {
		return span(x, depth)
	}
	if to != lang.I32 && to != lang.I64 {
		return 0, 0, false
	}
	a, b, ok := floatSpan(x, depth)
	if !ok || a < math.MinInt32 || b > math.MaxInt32 {
		return 0, 0, false
	}
	return int64(math.Trunc(a)), int64(math.Trunc(b)), true
}

// roundedBy is more than what an operation on f32 adds to its result by rounding, as a part of it, and smallest more than what it adds to a result near 0.
const roundedBy, smallest = 0x1p-22, 0x1p-100

// floatSpan bounds an f32 or f64 that is computed of positions, and is never NaN.
func floatSpan(v *ir.Value, depth int) (lo, hi float64, ok bool) {
	if d := v.Type.DType; d != lang.F32 && d != lang.F64 || depth <= 0 {
		return 0, 0, false
	}
	if c, isConst := v.IsConst(); isConst {
		return c.Float, c.Float, math.Abs(c.Float) <= math.MaxInt32
	}
	def := v.Def
	if def == nil {
		return 0, 0, false
	}
	rounded := func(lo, hi float64) (float64, float64, bool) {
		lo, hi = lo-float64(math.Abs(lo)*roundedBy)-smallest, hi+float64(math.Abs(hi)*roundedBy)+smallest
		return lo, hi, math.Max(-lo, hi) <= math.MaxInt32
	}
	switch def.Code {
	case lang.OpCast:
		x := def.Args[0]
		if x.Type.DType.IsInt() {
			a, b, ok := span(x, depth-1)
			if !ok {
				return 0, 0, false
			}
			if max(-a, b) < 1<<24 { // exact
				return float64(a), float64(b), true
			}
			return rounded(float64(a), float64(b))
		}
		a, b, ok := floatSpan(x, depth-1)
		if !ok {
			return 0, 0, false
		}
		return rounded(a, b)
	case lang.OpFloor:
		a, b, ok := floatSpan(def.Args[0], depth-1)
		return math.Floor(a), math.Floor(b), ok
	case lang.OpAdd, lang.OpSub, lang.OpMul, lang.OpMin, lang.OpMax:
	default:
		return 0, 0, false
	}
	a, b, okX := floatSpan(def.Args[0], depth-1)
	c, d, okY := floatSpan(def.Args[1], depth-1)
	if !okX || !okY {
		return 0, 0, false
	}
	switch def.Code {
	case lang.OpAdd:
		return rounded(a+c, b+d)
	case lang.OpSub:
		return rounded(a-d, b-c)
	case lang.OpMul:
		return rounded(min(a*c, a*d, b*c, b*d), max(a*c, a*d, b*c, b*d))
	case lang.OpMin:
		return min(a, c), min(b, d), true
	}
	return max(a, c), max(b, d), true
}
