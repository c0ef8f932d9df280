package ir

import (
	"math"
	"slices"

	"tilec/lang"
)

// This file recognises the softmax that a formula, or a kernel of whole axes, writes: the largest of the scores along an axis, weights relative to it, and sums of
// multiples of these.
//
//	m = max(s, over j)
//	w = exp(s - m)
//	l = sum(w, over j)
//	y = dot((w / l) as T, v[j], over j)
//
// The sums are relative to m, and so can be made relative to another number of the row and multiplied with a power of the difference: see the pass `online`, and softmax.go for the loop
// that it makes.

// Softmax is a largest score along an axis, and the sums over that axis of weights relative to it.
type Softmax struct {
	Func *Func
	Axis *Axis
	// Largest is the reduction, whose operand are the scores. Guarded is what stands for the largest where that is -inf and the kernel says so itself; nil where it does not.
	Largest *Op
	Guarded *Value
	// Weight is exp(score - largest), or another such, and Links the operations that make it of the difference, which is the first.
	Weight *Value
	Links  []*Op
	// Sums are the sums and products over the axis that one loop can make.
	Sums []*Op
	// follows are the values that depend on the largest score.
	follows map[*Value]bool
	// loose: casts are not marked yet (see Op.Relative).
	loose bool
}

// FindSoftmax finds the first softmax of a kernel's body of which there are sums; nil where there is none.
func FindSoftmax(f *Func) *Softmax { return findSoftmax(f, false) }

func findSoftmax(f *Func, loose bool) *Softmax {
	for _, op := range f.Body.Ops {
		if s := newSoftmax(f, op, loose); s != nil {
			return s
		}
	}
	return nil
}

// MarkWeights marks the casts of a softmax's weights to 16 bits whose rounding the numbers of docs/language.md leave open (see Op.Relative).
func MarkWeights(f *Func) {
	for _, op := range f.Body.Ops {
		s := newSoftmax(f, op, true)
		if s == nil {
			continue
		}
		for _, sum := range s.Sums {
			for _, v := range sum.Args {
				s.mark(v)
			}
		}
	}
}

func (s *Softmax) mark(v *Value) {
	if !s.Follows(v) || !s.Wide(v) || v == s.Weight {
		return
	}
	v.Def.Relative = v.Def.Code == lang.OpCast && narrows(v.Def)
	for _, a := range v.Def.Args {
		s.mark(a)
	}
}

// newSoftmax is the softmax of a largest score; nil where the operation is none, or there are no sums.
func newSoftmax(f *Func, op *Op, loose bool) *Softmax {
	if op.Code != lang.OpReduceMax || len(op.Over) != 1 || op.Result().Type.DType != lang.F32 {
		return nil
	}
	a := op.Over[0]
	if a.Kind != Whole || a.Dim == nil || a.Lo != 0 || !a.Dim.Known() || a.Len != a.Dim.Value || len(a.Choices) > 0 {
		return nil
	}
	s := &Softmax{Func: f, Axis: a, Largest: op, follows: map[*Value]bool{op.Result(): true}, loose: loose}
	for _, op := range f.Body.Ops {
		if slices.ContainsFunc(op.Args, s.Follows) {
			if len(op.Blocks) > 0 {
				return nil
			}
			for _, r := range op.Results {
				s.follows[r] = true
			}
		}
	}
	if !s.findWeight() || !s.again(op.Args[0]) {
		return nil
	}
	for _, op := range f.Body.Ops {
		if s.adds(op) {
			s.Sums = append(s.Sums, op)
		}
	}
	if len(s.Sums) == 0 {
		return nil
	}
	return s
}

// Wide reports a value along the axis of the scores.
func (s *Softmax) Wide(v *Value) bool { return v.Type.Has(s.Axis) }

// Follows reports a value that depends on the largest score.
func (s *Softmax) Follows(v *Value) bool { return s.follows[v] }

// again reports a value that a loop over the axis can compute by itself.
func (s *Softmax) again(v *Value) bool {
	seen := map[*Value]bool{}
	var again func(v *Value) bool
	again = func(v *Value) bool {
		if !s.Wide(v) || seen[v] {
			return true
		}
		seen[v] = true
		op := v.Def
		if op == nil || len(op.Blocks) > 0 || op.Combines() || slices.Contains(op.Over, s.Axis) || !op.Pure() && !(op.Code == lang.OpLoad && op.Tensor.ReadOnly()) {
			return false
		}
		switch op.Code {
		case lang.OpRename, lang.OpTake, lang.OpSort, lang.OpTopK:
			return false
		}
		return !slices.ContainsFunc(op.Args, func(a *Value) bool { return !again(a) })
	}
	return again(v)
}

// findWeight finds the one chain from the largest score to a weight: the difference of scores and it, which a number above 0 may multiply, and its power.
func (s *Softmax) findWeight() bool {
	score, most := s.Largest.Args[0], s.Largest.Result()
	for _, op := range s.Func.Body.Ops {
		if op.Code == lang.OpWhere && op.Args[2] == most && isMinusInf(op.Args[0], most) && isNumber(op.Args[1], 0) {
			s.Guarded = op.Result()
		}
	}
	var v *Value
	for _, op := range s.Func.Body.Ops {
		switch {
		case op.Code != lang.OpSub || op.Args[1] != most && (s.Guarded == nil || op.Args[1] != s.Guarded) || !sameValue(op.Args[0], score):
		case v != nil || s.Guarded != nil && op.Args[1] == most:
			return false
		default:
			v = op.Result()
			s.Links = append(s.Links, op)
		}
	}
	for v != nil && s.Weight == nil {
		var next *Op // what else has the difference is no weight, as the logarithm of one
		for _, op := range s.Func.Body.Ops {
			power := op.Code == lang.OpExp || op.Code == lang.OpExp2
			if !slices.Contains(op.Args, v) || !power && !(op.Code == lang.OpMul && (isAbove0(op.Args[0]) || isAbove0(op.Args[1]))) {
				continue
			}
			if next != nil {
				return false
			}
			if next = op; power {
				s.Weight = op.Result()
			}
		}
		if next == nil {
			return false
		}
		s.Links = append(s.Links, next)
		v = next.Result()
	}
	return s.Weight != nil
}

// isAbove0 reports a number above 0: by another, weights would be smallest where scores are largest.
func isAbove0(v *Value) bool {
	c, ok := v.IsConst()
	return ok && c.Float > 0
}

// isMinusInf reports the comparison of a value with -inf.
func isMinusInf(v, of *Value) bool {
	return v.Def != nil && v.Def.Code == lang.OpEq && (v.Def.Args[0] == of && isNumber(v.Def.Args[1], math.Inf(-1)) || v.Def.Args[1] == of && isNumber(v.Def.Args[0], math.Inf(-1)))
}

// sameValue reports values that are computed alike, as elements of one tensor that a kernel reads in two places.
func sameValue(a, b *Value) bool {
	if a == b {
		return true
	}
	x, y := a.Def, b.Def
	if x == nil || y == nil || x.Code != y.Code || len(x.Args) != len(y.Args) || len(x.Blocks)+len(y.Blocks) > 0 || x.Fn != nil || y.Fn != nil || len(x.Results) != 1 || !a.Type.Same(b.Type) {
		return false
	}
	if !x.Pure() && !(x.Code == lang.OpLoad && x.Tensor.ReadOnly()) || x.Tensor != y.Tensor || x.Axis != y.Axis || x.From != y.From || x.Dim != y.Dim || x.Const != y.Const || x.Span != y.Span ||
		!slices.Equal(x.Axes, y.Axes) || !slices.Equal(x.Over, y.Over) || !slices.Equal(x.Checked, y.Checked) {
		return false
	}
	for i := range x.Args {
		if !sameValue(x.Args[i], y.Args[i]) {
			return false
		}
	}
	return true
}

// adds reports a sum over the axis of multiples of the weights.
func (s *Softmax) adds(op *Op) bool {
	if len(op.Over) != 1 || op.Over[0] != s.Axis || op.Result().Type.DType != lang.F32 {
		return false
	}
	switch op.Code {
	case lang.OpSum:
		return s.multiple(op, op.Args[0])
	case lang.OpDot:
		a, b := op.Args[0], op.Args[1]
		if s.Follows(b) {
			a, b = b, a
		}
		return !s.Follows(b) && s.multiple(op, a) && s.again(b)
	}
	return false
}

// multiple reports a multiple of the weights: by factors that a loop has, and by such of the row alone as may wait until it has ended.
func (s *Softmax) multiple(sum *Op, v *Value) bool {
	if v == s.Weight {
		return true
	}
	op := v.Def
	if op == nil || !s.Follows(v) || !s.Wide(v) {
		return false
	}
	switch op.Code {
	case lang.OpCast:
		from := op.Args[0]
		switch {
		case !from.Type.DType.IsFloat() || v.Type.DType.Bits() < 16 || !v.Type.DType.IsFloat():
			return false
		case !narrows(op):
			return s.multiple(sum, from)
		}
		return (s.loose || op.Relative) && s.share(from)
	case lang.OpNeg:
		return s.multiple(sum, op.Args[0])
	case lang.OpMul:
		x, y := op.Args[0], op.Args[1]
		return s.multiple(sum, x) && s.factor(sum, y) || s.multiple(sum, y) && s.factor(sum, x)
	case lang.OpDiv:
		return s.multiple(sum, op.Args[0]) && s.factor(sum, op.Args[1])
	case lang.OpWhere:
		x := s.leftIn(op)
		return x != nil && s.multiple(sum, x)
	}
	return false
}

// leftIn is, of a choice between a value and 0 that does not depend on the largest score, the value; nil of others.
func (s *Softmax) leftIn(op *Op) *Value {
	x, y := op.Args[1], op.Args[2]
	if isNumber(x, 0) {
		x, y = y, x
	}
	if !isNumber(y, 0) || s.Follows(op.Args[0]) || !s.again(op.Args[0]) {
		return nil
	}
	return x
}

// factor reports one that the loop has, or one of the row alone.
func (s *Softmax) factor(sum *Op, v *Value) bool {
	if !s.Follows(v) {
		return s.again(v)
	}
	return !s.Wide(v) && len(Without(v.Type.Axes, sum.Result().Type.Axes)) == 0
}

// share reports weights, some of which may be left out, or these by their sum: no factor makes one larger than 1, whose rounding would be another.
func (s *Softmax) share(v *Value) bool {
	if v == s.Weight {
		return true
	}
	op := v.Def
	if op == nil || !s.Follows(v) || !s.Wide(v) {
		return false
	}
	switch op.Code {
	case lang.OpDiv:
		by := op.Args[1].Def
		return by != nil && by.Code == lang.OpSum && slices.Equal(by.Over, s.Largest.Over) && by.Args[0] == s.Weight && s.share(op.Args[0])
	case lang.OpWhere:
		x := s.leftIn(op)
		return x != nil && s.share(x)
	}
	return false
}

// narrows reports a cast of floats to fewer digits.
func narrows(op *Op) bool {
	to, from := op.Result().Type.DType, op.Args[0].Type.DType
	return op.Code == lang.OpCast && to.IsFloat() && from.IsFloat() && to.Precision() < from.Precision()
}
