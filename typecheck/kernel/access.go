package kernel

import (
	"fmt"

	"tilec/lang"
	"tilec/typecheck/blocks"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types loads and stores.

// index types `x[a, b]`: a load, or `x.shape[n]`.
func (b *bodyChecker) index(e *lang.IndexExpr) rules.Operand {
	if f, ok := e.X.(*lang.FieldExpr); ok && f.Name.Name == "shape" {
		if p, ok := b.tensorNamed(f.X); ok {
			return b.shapeOf(p, e)
		} else if p == nil {
			return rules.Bad(e.Place)
		}
	}
	p, ok := b.tensorNamed(e.X)
	if !ok {
		if p == nil {
			return rules.Bad(e.Place)
		}
		return b.noTensor(e)
	}
	return b.load(p, e)
}

// noTensor reports brackets behind what is no tensor.
func (b *bodyChecker) noTensor(e *lang.IndexExpr) rules.Operand {
	if inner, twice := e.X.(*lang.IndexExpr); twice {
		if _, isTensor := b.tensorNamed(inner.X); isTensor {
			r := b.Errorf(lang.ErrIndexCount, e.Place, "the indices of an access stand in one pair of brackets").Help("write `%s[i, j]`", inner.X.Span().Text())
			if len(inner.Attrs) > 0 { // `x[i, k] @ w[k, j]`: the operator of others
				r.Help("there is no operator `@`: the product of two tiles is `dot(a, b)`")
			}
			return rules.Bad(e.Place)
		}
	}
	o := b.value(e.X)
	if o.Mode != rules.Invalid {
		b.Errorf(lang.ErrAxisAsValue, e.X.Span(), "%s cannot be indexed: only tensors can", b.DescribeOperand(o)).
			Help("a tile's axes have names: `pick(x, d, n)` gives its elements at positions along one")
	}
	return rules.Bad(e.Place)
}

// load types the load of elements of a tensor.
func (b *bodyChecker) load(p *typed.Param, e *lang.IndexExpr) rules.Operand {
	a, ok := b.indices(p, e)
	var els rules.Operand
	if e.Else != nil {
		els = b.value(e.Else)
	}
	if p.Mode == lang.Out {
		r := b.Errorf(lang.ErrOutputRead, e.Place, "the output %s cannot be read", p.Name).LabelAt(p.At, "an output")
		if r.Help("keep the value in a `let`, or declare it `inout %s`", p.Name); b.isFormula {
			r.Help("keep the value in a `let`, or read %s in a line behind those that store it", p.Name)
		}
		return rules.Bad(e.Place)
	}
	if !ok || e.Else != nil && els.Mode == rules.Invalid {
		return rules.Bad(e.Place)
	}
	load := &typed.Load{Typed: typed.Typed{At: e.Place}, Param: p, Indices: a.Indices, Checked: a.Checked, Needs: a.Needs, Hints: b.accessHints(e, lang.OpLoad)}
	types := make([]typed.Type, 0, len(a.Indices)+1)
	for _, x := range a.Indices {
		types = append(types, x.Types()[0])
	}
	if e.Else != nil {
		els = b.Convert(els, p.DType)
		if els.Mode == rules.Invalid {
			return rules.Bad(e.Place)
		}
		if t := els.Type(); t.DType != p.DType {
			b.Errorf(lang.ErrWrongType, e.Else.Span(), "the value after `else` is %s, and %s has elements of %s", t, p.Name, p.DType).
				CastFix(e.Else, p.DType)
			return rules.Bad(e.Place)
		}
		types = append(types, els.Type())
	}
	for i, checked := range a.Checked {
		if !checked {
			continue
		}
		if e.Else == nil {
			b.notProven(p, e, i, a.Positions[i])
			return rules.Bad(e.Place)
		}
		load.Else = els.Expr
	}
	load.Type = typed.Type{DType: p.DType, Axes: typed.UnionAxes(types...)}
	if n := len(a.Indices); load.Else == nil && n > 0 && !typed.SameAxes(load.Type.Axes, typed.UnionAxes(types[:n]...)) {
		// Nothing reads the value after `else`, but the result is over its axes all the same, whatever could be proven.
		load.Else, load.Checked[n-1] = els.Expr, true
	}
	if p.Mode == lang.InOut {
		b.Reads = append(b.Reads, a)
	}
	o := rules.TypedOperand(load)
	b.linear(&o, func() (size.Size, bool) { return b.loaded(load, a) })
	return o
}

// loaded is a hidden symbol for an integer that is loaded from an input: whoever reads there reads the same.
func (b *bodyChecker) loaded(l *typed.Load, a blocks.Access) (size.Size, bool) {
	if a.Param.Mode != lang.In || len(l.Type.Axes) > 0 || l.Else != nil {
		return size.Size{}, false
	}
	key := fmt.Sprintf("%p", a.Param)
	var varying []*size.Symbol
	for _, at := range a.Positions {
		if at == nil {
			return size.Size{}, false
		}
		key += " " + at.Key()
		for _, sym := range at.Symbols() {
			if b.Varying[sym] {
				varying = append(varying, sym)
			}
		}
	}
	m := b.loads[key]
	if m == nil {
		m = b.NewHidden(a.At.Text())
		b.loads[key] = m
		if len(varying) > 0 {
			b.Varying[m], b.Loaded[m] = true, varying
		}
	}
	return size.Of(m), true
}

// tensorNamed resolves the tensor in front of brackets. The result is nil and
// false after an error, and not nil and false when the expression is no tensor.
func (b *bodyChecker) tensorNamed(e lang.Expr) (*typed.Param, bool) {
	n, ok := e.(*lang.NameExpr)
	if !ok {
		return &typed.Param{}, false
	}
	ent := b.scope.Lookup(n.Name)
	switch {
	case ent == nil:
		b.UnknownName(b.scope, n.Name, n.Place, nil, false)
		return nil, false
	case ent.Kind == rules.EntInvalid:
		return nil, false
	case ent.Kind == rules.EntTensor:
		return ent.Param, true
	}
	return &typed.Param{}, false
}

func (b *bodyChecker) shapeOf(p *typed.Param, e *lang.IndexExpr) rules.Operand {
	for _, a := range e.Attrs {
		b.Errorf(lang.ErrAttribute, a.Name.Place, "a shape is no access, and has no attribute @%s", a.Name.Name)
	}
	if len(e.Indices) == 1 {
		if o := b.value(e.Indices[0]); o.Mode == rules.UntypedInt {
			if n, ok := o.Size.Const(); ok && n >= 0 && n < int64(len(p.Shape)) {
				return rules.SizeOperand(e.Place, p.Shape[n])
			}
		} else if o.Mode == rules.Invalid {
			return rules.Bad(e.Place)
		}
	}
	b.Errorf(lang.ErrIndexCount, e.Place, "a shape takes one constant from 0 to %d", len(p.Shape)-1).
		Help("write `%s.shape[0]` for the first dimension", p.Name)
	return rules.Bad(e.Place)
}

// indices types the indices of an access and decides which are proven in bounds.
func (b *bodyChecker) indices(p *typed.Param, e *lang.IndexExpr) (_ blocks.Access, done bool) {
	a := blocks.Access{Param: p, At: e.Place}
	ok := true
	found := b.Found
	defer func() {
		if len(e.Indices) == len(p.Shape) {
			return
		}
		if done = false; b.Found > found { // the indices are not what was meant
			return
		}
		b.Errorf(lang.ErrIndexCount, e.Place, "%s has %s and is accessed by %s", p.Name, report.Plural(len(p.Shape), "dimension"), report.Plural(len(e.Indices), "index")).
			LabelAt(p.At, "%s: %s", p.Name, typed.ShapeText(p.DType, p.Shape)).
			Help("give one index for each dimension, as in `%s`", exampleAccess(p))
	}()
	known := b.Prover
	if e.Else != nil { // says what is there where a dimension is 0
		known = known.WithZeros()
	}
	for i, x := range e.Indices {
		if r, isRange := x.(*lang.RangeExpr); isRange {
			b.Errorf(lang.ErrAxisAsValue, r.Place, "a range is no index of a kernel's tensor").
				Help("declare an axis for it, `axis r in D[lo .. hi]`, and index with that")
			ok = false
			continue
		}
		if b.asIndex = nil; i < len(p.Shape) {
			b.asIndex, b.walked = x, p.Shape[i]
		}
		b.inIndex++
		o := b.expr(x)
		b.inIndex--
		if o.Mode == rules.AxisOperand && i < len(p.Shape) && !b.walks(o.Axis, p, i, x.Span()) {
			ok = false
			continue
		}
		b.inIndex++
		o = b.single(o, "index")
		b.inIndex--
		if o.Mode == rules.Invalid {
			ok = false
			continue
		}
		isIndex := false
		if o, isIndex = b.positionOperand(o, x); !isIndex {
			ok = false
			continue
		}
		if i >= len(p.Shape) {
			continue
		}
		a.Indices = append(a.Indices, o.Expr)
		a.Positions = append(a.Positions, o.Linear)
		proven := inside(known, o.Linear, p.Shape[i])
		a.Checked = append(a.Checked, !proven)
		var needs []*size.Symbol
		if proven {
			needs = known.Needs(*o.Linear, p.Shape[i], p.Mode != lang.In)
		}
		a.Needs = append(a.Needs, needs)
	}
	return a, ok
}

// walks checks that an axis used as an index walks the tensor's dimension there.
func (b *bodyChecker) walks(x *typed.Axis, p *typed.Param, i int, at lang.Span) bool {
	if x.IsFree || x.Dim.Equal(p.Shape[i]) {
		return true
	}
	if x.Kind == typed.WholeAxis && x.Lo.Equal(size.Size{}) && x.Len.Equal(p.Shape[i]) {
		return true // the first D / 2 positions of D are those of a dimension D / 2
	}
	plain := "write `index(%s)`, in a load with an `else`"
	if pos := size.Of(b.Positions[x]); inside(b.Prover, &pos, p.Shape[i]) {
		plain = "write `index(%s)`"
	}
	b.Errorf(lang.ErrAxisDim, at, "axis %s walks %s, and dimension %d of %s is %s", x.Name, x.Dim, i, p.Name, p.Shape[i]).
		Here("walks %s", x.Dim).
		LabelAt(x.At, "axis %s is over %s", x.Name, x.Dim).
		LabelAt(p.At, "%s: %s", p.Name, typed.ShapeText(p.DType, p.Shape)).
		Help("index with an axis over %s; if %s positions are meant as mere numbers, "+plain, p.Shape[i], x.Name, x.Name)
	return false
}

// inside reports a proof that a position lies in [0, dim).
func inside(known *size.Prover, pos *size.Size, dim size.Size) bool {
	return pos != nil && known.Inside(*pos, dim)
}

// notProven reports a load that may lie outside and does not say what it reads there.
func (b *bodyChecker) notProven(p *typed.Param, e *lang.IndexExpr, i int, pos *size.Size) {
	at := e.Indices[i].Span()
	dim := p.Shape[i]
	var r report.Draft
	switch {
	case pos == nil:
		r = b.Errorf(lang.ErrBounds, at, "the index is not proven to lie in dimension %d of %s, which is %s: its value is only known when the kernel runs", i, p.Name, dim)
	case !b.Prover.NonNegative(*pos):
		r = b.Errorf(lang.ErrBounds, at, "the index %s is not proven to be at least 0 in dimension %d of %s", *pos, i, p.Name)
	default:
		r = b.Errorf(lang.ErrBounds, at, "the index %s is not proven to be less than %s, dimension %d of %s", *pos, dim, i, p.Name)
	}
	r.LabelAt(p.At, "%s: %s", p.Name, typed.ShapeText(p.DType, p.Shape))
	otherwise := ""
	if cond := b.wouldDivide(pos, dim); cond != "" {
		otherwise = fmt.Sprintf(", or `assume(%s)` to the beginning of the block, which every launch then has to meet", cond)
	}
	r.AddElse(e.Place, "add `else 0` to say what an element outside reads%s", otherwise)
}

// wouldDivide is the condition that the dimension divides without a rest, if with it the position is proven to lie inside.
func (b *bodyChecker) wouldDivide(pos *size.Size, dim size.Size) string {
	x, y, ok := dim.Division()
	if pos == nil || !ok {
		return ""
	}
	known := b.Prover.Clone()
	rest := x.Mod(y)
	known.Assume(rest.Neg())
	if !inside(known, pos, dim) {
		return ""
	}
	return rest.String() + " == 0"
}

// store types `y[i, j] = e`.
func (b *bodyChecker) store(s *lang.AssignStmt) {
	target, ok := s.Target.(*lang.IndexExpr)
	if !ok {
		b.value(s.Value)
		b.notAssignable(s.Target)
		return
	}
	if target.Else != nil {
		b.Errorf(lang.ErrBounds, target.Else.Span(), "a store has no `else`: elements outside the tensor are dropped").
			RemoveElse(target.Else.Span())
	}
	b.write(&typed.Store{Op: lang.OpStore, At: s.Place}, target, s.Value)
}

func (b *bodyChecker) notAssignable(target lang.Expr) {
	n, ok := target.(*lang.NameExpr)
	if !ok {
		b.Errorf(lang.ErrReadOnly, target.Span(), "only elements of an output are assigned, as in `y[i, j] = ...`")
		return
	}
	e := b.scope.Lookup(n.Name)
	switch {
	case e == nil:
		b.UnknownName(b.scope, n.Name, n.Place, nil, false)
	case e.Kind == rules.EntInvalid:
	case e.Kind == rules.EntTensor:
		b.stored[e.Param] = true
		b.Errorf(lang.ErrIndexCount, n.Place, "the elements of %s are stored by index", n.Name).LabelAt(e.At, "%s: %s", n.Name, typed.ShapeText(e.Param.DType, e.Param.Shape)).
			Help("write `%s = ...`", exampleAccess(e.Param))
	default:
		b.Errorf(lang.ErrReadOnly, n.Place, "%s is %s and never changes", n.Name, e.Describe()).LabelAt(e.At, "bound here").
			Help("bind a new value with `let %s = ...`", n.Name)
	}
}
