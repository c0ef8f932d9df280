package rules

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// constInfo is a module constant being evaluated, or evaluated.
type constInfo struct {
	busy  bool
	done  bool
	value Operand
}

// ConstValue evaluates `const NAME = value`, once.
func (c *Checker) ConstValue(m *Module, d *lang.ConstDecl) Operand {
	info := c.consts[d]
	if info == nil {
		info = &constInfo{}
		c.consts[d] = info
	}
	if info.done {
		return info.value
	}
	if info.busy {
		c.Errorf(lang.ErrNotConstant, d.Name.Place, "the constant %s is defined by itself", d.Name.Name)
		return Bad(d.Name.Place)
	}
	info.busy = true
	o := c.Evaluate(m.Scope, d.Value)
	if o.Mode == TypedValue {
		switch x := o.Expr.(type) {
		case *typed.Const:
		default:
			if v, ok := foldTyped(x); ok {
				o.Expr = v
				break
			}
			c.Errorf(lang.ErrNotConstant, d.Value.Span(), "the value of %s is not constant", d.Name.Name).
				Help("write it with numbers, true, false and other constants")
			o = Bad(d.Value.Span())
		}
	}
	info.busy, info.done, info.value = false, true, o
	return o
}

// foldTyped evaluates logic on literals.
func foldTyped(e typed.Expr) (*typed.Const, bool) {
	a, ok := e.(*typed.Apply)
	if !ok {
		c, isConst := e.(*typed.Const)
		return c, isConst
	}
	var args []int64
	for _, x := range a.Args {
		c, ok := foldTyped(x)
		if !ok || c.Type.DType != typed.Concrete(lang.Bool) {
			return nil, false
		}
		args = append(args, c.Int)
	}
	out := &typed.Const{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(lang.Bool)}, At: a.At}}
	switch a.Op {
	case lang.OpLogicAnd:
		out.Int = args[0] & args[1]
	case lang.OpLogicOr:
		out.Int = args[0] | args[1]
	case lang.OpLogicNot:
		out.Int = 1 - args[0]
	default:
		return nil, false
	}
	return out, true
}

// LiteralOf evaluates a default value or a constant argument of type d.
func (c *Checker) LiteralOf(s *Scope, e lang.Expr, d lang.DType, what string) (*lang.Literal, bool) {
	if text, isText := e.(*lang.StringLit); isText && d != lang.Bool {
		c.Errorf(lang.ErrConstantType, text.Place, "%s is a number of type %s, not a text", what, d)
		return nil, false
	}
	o := c.Evaluate(s, e)
	if o.Mode == Invalid {
		return nil, false
	}
	o = c.Convert(o, typed.Concrete(d))
	if o.Mode == Invalid {
		return nil, false
	}
	v, ok := foldTyped(o.Expr)
	if !ok {
		c.Errorf(lang.ErrNotConstant, e.Span(), "%s is not constant", what)
		return nil, false
	}
	if v.Type.DType != typed.Concrete(d) {
		c.Errorf(lang.ErrConstParam, e.Span(), "%s is %s, not %s", what, v.Type.DType, d).Help("give a value of that type, or declare it as %s", v.Type.DType)
		return nil, false
	}
	return &lang.Literal{DType: d, Int: v.Int, Float: v.Float}, true
}
