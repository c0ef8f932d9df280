package build

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file is about dimensions of more than 2^31 elements. The language counts
// positions in i32. Where the code must count further, the IR has them as i64
// (ir.Dim.Wide), and so are indices and the ends of ranges; a conversion and a
// comparison take the position itself. As a value of the type that the language
// gives it, i32, a position is an error of the launch, if it may not fit.

// wide decides whether positions of a dimension are i64, by what the key of the
// specialisation says of the sizes.
func (b *builder) wide(s size.Size) bool {
	if b.spec.Wide {
		return true
	}
	if n, ok := b.known(s); ok {
		return n > ir.NarrowSize
	}
	if sym := s.Symbol(); sym != nil {
		return b.spec.Dims[sym] > ir.NarrowSize
	}
	most := s.Most(func(sym *size.Symbol) int64 {
		n, _ := b.spec.Value(sym)
		if _, isConst := b.spec.Consts[sym]; !isConst && !b.fixed[sym] {
			n = spec.Class(n)
		}
		return n
	})
	return most > ir.NarrowSize
}

// counts is the axis whose positions an operation gives; nil for any other operation.
func counts(x *typed.Apply) *typed.Axis {
	switch x.Op {
	case lang.OpIndex, lang.OpStart, lang.OpEnd:
		return x.Axis
	case lang.OpArgMax, lang.OpArgMin:
		return x.Over[0]
	}
	return nil
}

// ends is one past the last position of an axis.
func ends(a *typed.Axis) size.Size {
	if a.Kind == typed.WholeAxis {
		return a.Lo.Add(a.Len)
	}
	return a.Dim
}

// isCount reports an expression that is a position or a size, with nothing computed of it.
func isCount(x typed.Expr) bool {
	switch x := x.(type) {
	case *typed.SizeExpr:
		return true
	case *typed.Apply:
		return counts(x) != nil
	}
	return false
}

// neverWraps reports what is computed of positions, sizes and constants such that i32 holds it wherever it holds the
// sizes. Where it does not hold them, the exact value is the only one that there is.
func (b *builder) neverWraps(x typed.Expr) bool {
	if isCount(x) {
		return true
	}
	_, _, exact := b.span(x, math.MaxInt32)
	return computed(x) && exact
}

// narrow gives a position as a value of its type. Where that is i32, the launch checks that it fits.
func (b *builder) narrow(v *ir.Value, t typed.Type, size size.Size, at lang.Span) *ir.Value {
	d := b.dtype(t)
	if v.Type.DType == d {
		return v
	}
	text := at.Text()
	operand := text
	if sum := len(size.Symbols()) > 0 && size.Symbol() == nil && !strings.HasSuffix(text, ")"); sum {
		operand = "(" + text + ")"
	}
	b.launch.Counted = append(b.launch.Counted, spec.CountedSize{Size: size, Most: math.MaxInt32, At: at,
		What: fmt.Sprintf("%s is an i32, which", text), Fix: fmt.Sprintf("convert it, as in `%s as i64`", operand)})
	return b.Cast(v, d)
}

// exact builds an integer expression of an index or of the end of a range: a
// position of a wide dimension in it is i64, and so is what is computed of that.
func (b *builder) exact(x typed.Expr) *ir.Value {
	b.At = x.Span()
	switch x := x.(type) {
	case *typed.SizeExpr:
		return b.size(x)
	case *typed.Apply:
		switch x.Op {
		case lang.OpAdd, lang.OpSub, lang.OpMul, lang.OpDiv, lang.OpMod, lang.OpMin, lang.OpMax, lang.OpNeg:
			args := make([]*ir.Value, len(x.Args))
			for i, a := range x.Args {
				args[i] = b.exact(a)
			}
			b.At = x.At
			if _, _, exact := b.span(x, math.MaxInt64); !exact {
				args = b.wide64(args)
			}
			return b.Op(x.Op, b.same(args)...)
		}
		if isCount(x) {
			return b.apply(x)
		}
	}
	return b.value(x)
}

// span bounds what is computed of positions and constants, where sizes are at most so many;
// exact is whether i32 holds it, and all that it is computed of. Nothing is said of other values, whose i32 wraps as everywhere.
func (b *builder) span(x typed.Expr, most int64) (lo, hi int64, exact bool) {
	unknown := func() (int64, int64, bool) { return math.MinInt32, math.MaxInt32, true }
	size := func(s size.Size) int64 {
		if n, ok := b.known(s); ok {
			return min(n, most)
		}
		return math.MaxInt32
	}
	switch x := x.(type) {
	case *typed.Const:
		return x.Int, x.Int, true
	case *typed.SizeExpr:
		n := size(x.Size)
		if _, ok := b.known(x.Size); ok {
			return n, n, true
		}
		return 0, n, true
	case *typed.Apply:
		if a := counts(x); a != nil {
			n := size(ends(a))
			if x.Op != lang.OpEnd {
				n = max(n-1, 0)
			}
			return 0, n, true
		}
		if len(x.Args) != 2 || !computed(x) {
			return unknown()
		}
		a, c, okX := b.span(x.Args[0], most)
		d, e, okY := b.span(x.Args[1], most)
		switch x.Op {
		case lang.OpAdd:
			lo, hi = a+d, c+e
		case lang.OpSub:
			lo, hi = a-e, c-d
		case lang.OpMul:
			lo, hi = min(a*d, a*e, c*d, c*e), max(a*d, a*e, c*d, c*e)
		default:
			return unknown()
		}
		if lo < math.MinInt32 || hi > math.MaxInt32 {
			return math.MinInt32, math.MaxInt32, false
		}
		return lo, hi, okX && okY
	}
	return unknown()
}

// computed reports an expression of positions, sizes and constants alone.
func computed(x typed.Expr) bool {
	known := true
	typed.Walk(x, func(n typed.Node) bool {
		switch n := n.(type) {
		case *typed.Const, *typed.SizeExpr:
		case *typed.Apply:
			if counts(n) != nil {
				return false
			}
			known = known && len(n.Args) > 0 && n.Op.Row().Elementwise
		default:
			known = false
		}
		return known
	})
	return known
}

// same gives integers of i32 and i64 one type.
func (b *builder) same(args []*ir.Value) []*ir.Value {
	if slices.ContainsFunc(args, func(v *ir.Value) bool { return v.Type.DType == lang.I64 }) {
		return b.wide64(args)
	}
	return args
}

// wide64 gives integers of i32 and i64 as i64.
func (b *builder) wide64(args []*ir.Value) []*ir.Value {
	for i, v := range args {
		if v.Type.DType == lang.I32 {
			args[i] = b.Cast(v, lang.I64)
		}
	}
	return args
}

// operands builds what an operation takes: of a conversion and a comparison, positions as they are.
func (b *builder) operands(x *typed.Apply) []*ir.Value {
	if group := x.Op.Row().Group; x.Op != lang.OpCast && group != lang.GroupCompare {
		return b.indices(x.Args)
	}
	args := make([]*ir.Value, len(x.Args))
	for i, a := range x.Args {
		if b.neverWraps(a) {
			args[i] = b.exact(a)
		} else {
			args[i] = b.value(a)
		}
	}
	if x.Op == lang.OpCast {
		return args
	}
	return b.same(args)
}

// size is a size as the i32 or i64 that it is used as, or as i64 where that is what its positions are.
func (b *builder) size(x *typed.SizeExpr) *ir.Value {
	d := b.dtype(x.Type)
	if n, ok := b.known(x.Size); ok {
		if d == lang.I32 && n > math.MaxInt32 {
			d = lang.I64
		}
		return b.constant(d, n, float64(n))
	}
	v := b.Emit(&ir.Op{Code: lang.OpSize, Dim: b.dim(x.Size)})[0]
	if d == lang.I64 {
		return b.Cast(v, d)
	}
	return v
}

// bounds builds the range of a loop: of one without an axis, whose positions are i32, the launch checks that it fits.
func (b *builder) bounds(x *typed.For) (lo, hi *ir.Value) {
	if x.Axis != nil {
		return b.exact(x.Lo), b.exact(x.Hi)
	}
	before := len(b.launch.Counted)
	lo, hi = b.value(x.Lo), b.value(x.Hi)
	for i := range b.launch.Counted[before:] {
		c := &b.launch.Counted[before+i]
		c.What, c.Fix = "a loop without an axis", "walk it in parts, with an axis: `for k in N by B`"
	}
	return lo, hi
}

// cut is the range of a loop over an axis, cut to its dimension, so that an axis is in bounds by construction.
func (b *builder) cut(lo, hi *ir.Value, a *ir.Axis) (*ir.Value, *ir.Value) {
	size := func(d lang.DType) *ir.Value { return b.Cast(b.sizeOf(a.Dim), d) }
	zero := func(d lang.DType) *ir.Value { return b.Const(d, ir.Const{}) }
	if !isConst(lo) || lo.Def.Const.Int < 0 {
		lo = b.Op(lang.OpMax, lo, zero(lo.Type.DType))
	}
	switch c := a.Counts(); {
	case c == lang.I64:
		lo, hi = b.Cast(lo, c), b.Cast(hi, c)
	case lo.Type.DType == lang.I64: // of another dimension: what is behind the end is cut off before it is narrowed
		lo = b.Op(lang.OpMin, lo, size(lang.I64))
	}
	if !b.isSize(hi, a.Dim) {
		hi = b.Op(lang.OpMin, hi, size(hi.Type.DType))
		if hi.Type.DType != a.Counts() { // so far below 0 that it does not fit is empty too
			hi = b.Op(lang.OpMax, hi, zero(hi.Type.DType))
		}
	}
	return b.Cast(lo, a.Counts()), b.Cast(hi, a.Counts())
}

// randomPositions has launches check that random numbers do not repeat: a coordinate counts up to 2^32.
func (b *builder) randomPositions(args []*ir.Value, at lang.Span) {
	over := map[*ir.Axis]bool{}
	for _, v := range args {
		for _, a := range v.Type.Axes {
			over[a] = true
		}
	}
	for _, a := range b.spec.Kernel.Axes {
		if x := b.axes[a]; over[x] && x.Dim != nil && x.Dim.Wide {
			b.launch.Counted = append(b.launch.Counted, spec.CountedSize{Size: a.Dim, Most: 1 << 32, At: at,
				What: "a coordinate of random numbers", Fix: "write two coordinates for the axis: its position divided by a number, and the remainder"})
		}
	}
}
