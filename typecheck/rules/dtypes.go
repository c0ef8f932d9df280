package rules

import (
	"strings"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/typed"
)

// This file applies the operation table's type rules to operands.

// typeNames lists every element type.
func typeNames() []string {
	var all []string
	for _, d := range lang.DTypes() {
		all = append(all, d.String())
	}
	return all
}

// DTypeNamed resolves the name of an element type or of a type parameter.
func (c *Checker) DTypeNamed(s *Scope, name string, at lang.Span) (typed.DType, bool) {
	if e := s.Lookup(name); e != nil {
		switch e.Kind {
		case EntTypeParam:
			return e.DType, true
		case EntInvalid:
			return typed.DType{}, false
		}
		if _, ok := lang.ParseDType(name); !ok {
			c.Errorf(lang.ErrUnknownType, at, "%s is %s, not an element type", name, e.Describe()).LabelAt(e.At, "declared here")
			return typed.DType{}, false
		}
	}
	if d, ok := lang.ParseDType(name); ok {
		return typed.Concrete(d), true
	}
	candidates := typeNames()
	for _, n := range c.Proposed(s) {
		if e := s.Lookup(n); e.Kind == EntTypeParam {
			candidates = append(candidates, n)
		}
	}
	c.Errorf(lang.ErrUnknownType, at, "unknown type %s", name).SuggestType(at, name, candidates)
	return typed.DType{}, false
}

// CommonType finds the one element type of operands that must agree, and gives the
// untyped ones that type. need is the type that untyped ones get when all are.
func (c *Checker) CommonType(what string, at lang.Span, args []Operand, exprs []lang.Expr, floats bool) (typed.DType, []Operand, bool) {
	var d typed.DType
	from := -1
	for i, a := range args {
		if a.Mode != TypedValue {
			continue
		}
		t := a.Type().DType
		if from < 0 {
			d, from = t, i
		} else if t != d {
			c.mixed(what, at, args[from], a, exprAt(exprs, from), exprAt(exprs, i))
			return typed.DType{}, nil, false
		}
	}
	if from < 0 {
		d = typed.Concrete(lang.I32)
		for _, a := range args {
			switch {
			case a.Mode != UntypedFloat:
			case a.IsU64():
				d = typed.Concrete(lang.U64)
			default:
				floats = true
			}
		}
		if floats {
			d = typed.Concrete(lang.F32)
		}
	}
	out := make([]Operand, len(args))
	for i, a := range args {
		out[i] = c.Convert(a, d)
		if out[i].Mode == Invalid {
			return typed.DType{}, nil, false
		}
	}
	return d, out, true
}

func exprAt(exprs []lang.Expr, i int) lang.Expr {
	if i < len(exprs) {
		return exprs[i]
	}
	return nil
}

// mixed reports operands of different types; the fix widens the narrower.
func (c *Checker) mixed(what string, at lang.Span, a, b Operand, ea, eb lang.Expr) {
	ta, tb := a.Type(), b.Type()
	r := c.Errorf(lang.ErrMixedTypes, at, "%s of %s and %s: element types differ", what, ta, tb).
		LabelAt(a.At, "%s", ta.DType).LabelAt(b.At, "%s", tb.DType)
	convert, to := ea, tb.DType
	if rank(ta.DType) > rank(tb.DType) {
		convert, to = eb, ta.DType
	}
	wide, hasWide := narrowestHolding(ta.DType, tb.DType)
	switch {
	case hasWide && wide == ta.DType:
		convert, to = eb, wide
	case hasWide && wide == tb.DType:
		convert, to = ea, wide
	}
	switch {
	case hasWide && wide != ta.DType && wide != tb.DType:
		r.CastBoth(ea, eb, wide)
	case to.Param != nil && len(c.calls) > 0: // the fn does not know the name that its caller has for the type
		r.Help("convert the argument where %s is called", c.calls[len(c.calls)-1].Fn.Name.Name)
	case convert != nil:
		r.CastFix(convert, to)
	default:
		r.Help("convert one with `as`")
	}
}

// rank orders types by how much they hold, to choose which one a fix converts.
func rank(d typed.DType) int {
	switch {
	case d.Param != nil:
		return 40
	case d.Of.IsFloat():
		return 100 + d.Of.Bits()
	}
	return d.Of.Bits()
}

// Apply types an elementwise operation of the table.
func (c *Checker) Apply(op lang.Op, at, opAt lang.Span, args []Operand, exprs []lang.Expr) Operand {
	row := op.Row()
	for _, a := range args {
		if a.Mode == Invalid {
			return Bad(at)
		}
	}
	if row.Rule == lang.RuleBool {
		for _, a := range args {
			if a.Mode == TypedValue && a.Type().DType != typed.Concrete(lang.Bool) {
				c.ResultType(row, opAt, a.Type().DType, a)
				return Bad(at)
			}
		}
	}
	if len(args) != len(row.Operands) {
		c.Errorf(lang.ErrArgCount, at, "%s takes %s, not %d", row.Spelling, report.Plural(len(row.Operands), "argument"), len(args))
		return Bad(at)
	}
	if row.Rule == lang.RuleCompare {
		c.comparedToNaN(op, at, args, exprs)
	}
	if o, ok := c.fold(op, at, opAt, args); ok {
		if op == lang.OpDiv && o.ratio && len(exprs) == 2 {
			o.division = exprs
		}
		return o
	}
	same := args
	sameExprs := exprs
	if row.Rule == lang.RuleSelect {
		cond := args[0]
		if cond.Mode != TypedValue || cond.Type().DType != typed.Concrete(lang.Bool) {
			c.Errorf(lang.ErrCondition, cond.At, "%s chooses by a bool, not by %s", row.Spelling, c.DescribeOperand(cond)).
				Help("compare it, as in `x > 0`")
			return Bad(at)
		}
		same, sameExprs = args[1:], tail(exprs)
	}
	d, conv, ok := c.CommonType("`"+row.Spelling+"`", opAt, same, sameExprs, row.Rule == lang.RuleFloat || row.Rule == lang.RuleTest)
	if !ok {
		return Bad(at)
	}
	if row.Rule == lang.RuleSelect {
		conv = append([]Operand{args[0]}, conv...)
	}
	result, ok := c.ResultType(row, opAt, d, firstTyped(same))
	if !ok {
		return Bad(at)
	}
	e := &typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: result}, At: at}, Op: op}
	types := make([]typed.Type, len(conv))
	for i, a := range conv {
		e.Args = append(e.Args, a.Expr)
		types[i] = a.Type()
	}
	e.Type.Axes = typed.UnionAxes(types...)
	return TypedOperand(e)
}

func tail(xs []lang.Expr) []lang.Expr {
	if len(xs) == 0 {
		return nil
	}
	return xs[1:]
}

func firstTyped(args []Operand) Operand {
	for _, a := range args {
		if a.Mode == TypedValue {
			return a
		}
	}
	return args[0]
}

// ResultType checks the element type that operands share and gives that of the result.
func (c *Checker) ResultType(row *lang.OpRow, at lang.Span, d typed.DType, of Operand) (typed.DType, bool) {
	refuse := func(need, help string) (typed.DType, bool) {
		r := c.Errorf(lang.ErrOperandType, at, "`%s` needs %s, not %s", row.Spelling, need, c.DescribeDType(d)).LabelAt(of.At, "%s", d)
		switch to, cast := castIn(help); {
		case help == compareHelp:
			r.Rewrite(of.At, " != 0", "%s", help)
		case cast && of.Mode == TypedValue:
			r.CastAt(of.At, to, "%s", help)
		case help != "":
			r.Help("%s", help)
		}
		return typed.DType{}, false
	}
	number := typed.IsFloat(d) || typed.IsInt(d)
	switch row.Rule {
	case lang.RuleNumeric, lang.RuleSame, lang.RuleArg:
		if !number {
			return refuse("numbers", NumberHelp(d))
		}
		if row.Rule == lang.RuleArg {
			return typed.Concrete(lang.I32), true
		}
	case lang.RuleFloat:
		if !typed.IsFloat(d) {
			return refuse("floats", floatHelp(d))
		}
	case lang.RuleInt:
		if !typed.IsInt(d) {
			help := ""
			if n := lang.FindNeighbour(row.Spelling, lang.AsSign); n != nil && typed.IsFloat(d) { // `^` is a power elsewhere
				help = n.Help()
			}
			return refuse("integers", help)
		}
	case lang.RuleBool:
		if d != typed.Concrete(lang.Bool) {
			return refuse("bool operands", compareHelp)
		}
	case lang.RuleCompare:
		return typed.Concrete(lang.Bool), true
	case lang.RuleTest:
		if !typed.IsFloat(d) {
			return refuse("floats", floatHelp(d))
		}
		return typed.Concrete(lang.Bool), true
	case lang.RuleSum, lang.RuleMean:
		if row.Rule == lang.RuleMean && !typed.IsFloat(d) {
			return refuse("floats", floatHelp(d))
		}
		if !number {
			return refuse("numbers", NumberHelp(d))
		}
		return c.Accumulator("`"+row.Spelling+"`", at, d, of)
	}
	return d, true
}

const compareHelp = "compare the number, as in `x != 0`"

// castIn is the conversion that a help proposes.
func castIn(help string) (typed.DType, bool) {
	_, rest, ok := strings.Cut(help, "`as ")
	name, _, _ := strings.Cut(rest, "`")
	d, known := lang.ParseDType(name)
	return typed.Concrete(d), ok && known
}

func floatHelp(d typed.DType) string {
	if d.Param != nil {
		return "declare it as `" + d.Param.Name + ": float`, or convert with `as f32`"
	}
	return "convert with `as f32`"
}

// NumberHelp says what to do where a number is needed, and the element type is another.
func NumberHelp(d typed.DType) string {
	switch {
	case d.Param != nil:
		return "declare it as `" + d.Param.Name + ": float` or `" + d.Param.Name + ": int`"
	case d.Of == lang.Bool:
		return "convert with `as i32`: true is 1"
	}
	return ""
}

// Accumulator is the element type of a sum or a contraction of d.
func (c *Checker) Accumulator(what string, at lang.Span, d typed.DType, of Operand) (typed.DType, bool) {
	switch {
	case d.Param == nil:
		return typed.Concrete(d.Of.Accumulator()), true
	case d.Param.Bound == "float":
		return typed.Concrete(lang.F32), true
	}
	c.Errorf(lang.ErrSumType, at, "%s of %s has no one element type: it would be i32, u32, i64 or u64 by what %s stands for", what, c.DescribeDType(d), d).
		LabelAt(of.At, "%s", d).Help("convert the operand first, as in `x as i32` or `x as i64`")
	return typed.DType{}, false
}

// DescribeOperand names what an operand is, for messages.
func (c *Checker) DescribeOperand(o Operand) string {
	switch o.Mode {
	case TypedValue:
		return o.Type().String()
	case UntypedInt:
		return "the integer " + o.Size.String()
	case UntypedFloat:
		if o.ratio {
			return "the number " + fraction(o.exact)
		}
		return "a float constant"
	case Several:
		return report.Plural(len(o.ValueTypes()), "value")
	case AxisOperand:
		return "the axis " + o.Axis.Name
	case TensorOperand:
		return "the tensor " + o.Param.Name
	}
	return "nothing"
}

// ValueTypes are the types of the values that an operand gives; untyped ones as they would settle.
func (o Operand) ValueTypes() []typed.Type {
	switch o.Mode {
	case TypedValue:
		return []typed.Type{o.Type()}
	case UntypedInt, UntypedFloat:
		return []typed.Type{{DType: o.DefaultType()}}
	case Several:
		if o.Elems != nil {
			var ts []typed.Type
			for _, e := range o.Elems {
				ts = append(ts, e.ValueTypes()...)
			}
			return ts
		}
		return o.Types
	}
	return nil
}

// narrowestHolding is the narrowest type that holds all values of two types of one kind; false where there is none.
func narrowestHolding(a, b typed.DType) (typed.DType, bool) {
	if a.Param != nil || b.Param != nil {
		return typed.DType{}, false
	}
	x, y := a.Of, b.Of
	if x.Bits() > y.Bits() {
		x, y = y, x
	}
	switch {
	case x.IsFloat() && y.IsFloat():
		if x.Bits() == y.Bits() || y == lang.BF16 || y == lang.F16 && x.Bits() == 16 {
			return typed.Concrete(lang.F32), true
		}
		return typed.Concrete(y), true
	case !x.IsInt() || !y.IsInt():
		return typed.DType{}, false
	case x.IsSigned() == y.IsSigned(), y.IsSigned() && y.Bits() > x.Bits():
		return typed.Concrete(y), true
	}
	bits := x.Bits() // of the one without a sign
	if y.Bits() > bits || !y.IsSigned() {
		bits = y.Bits()
	}
	for _, d := range []lang.DType{lang.I16, lang.I32, lang.I64} {
		if d.Bits() > bits {
			return typed.Concrete(d), true
		}
	}
	return typed.DType{}, false
}
