package rules

import (
	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types what kernels, graphs and structs have in common before their bodies: generic parameters and shapes.

// Signature is what the declaration of a kernel or a graph needs to be typed.
type Signature struct {
	*Checker
	What   string // "kernel" or "graph"
	Decl   lang.Decl
	Scope  *Scope
	Types  []*typed.TypeParam
	Consts []*size.Symbol
	Dims   []*size.Symbol
	OK     bool
}

// Fail notes an error that makes the signature unusable.
func (s *Signature) Fail() { s.OK = false }

// Errorf reports an error that makes the signature unusable.
func (s *Signature) Errorf(code lang.Code, at lang.Span, format string, args ...any) report.Draft {
	s.Fail()
	return s.Checker.Errorf(code, at, format, args...)
}

// constTypeName is the element type of a constant parameter of a type as written.
func constTypeName(name string) string {
	switch name {
	case "int":
		return "i32"
	case "float":
		return "f32"
	}
	return name
}

// boundOf checks what stands after the colon of a generic parameter.
func (c *Checker) boundOf(g *lang.Generic) bool {
	if g.IsConst {
		d, ok := lang.ParseDType(constTypeName(g.Bound.Name))
		if ok && (d == lang.Bool || d == lang.I32 || d == lang.F32) {
			return true
		}
		c.Errorf(lang.ErrUnknownType, g.Bound.Place, "a constant parameter is int, bool or f32, not %s", g.Bound.Name).
			Suggest(g.Bound.Place, g.Bound.Name, []string{"int", "bool", "f32"})
		return false
	}
	switch g.Bound.Name {
	case "float", "int", "any":
		return true
	}
	c.Errorf(lang.ErrUnknownType, g.Bound.Place, "a type parameter is float, int or any, not %s", g.Bound.Name).
		Suggest(g.Bound.Place, g.Bound.Name, []string{"float", "int", "any"})
	return false
}

// Generics declares the parameters between `<` and `>`.
func (s *Signature) Generics(gs []*lang.Generic) {
	for _, g := range gs {
		e := &Entity{Kind: EntInvalid, Name: g.Name.Name, At: g.Name.Place}
		if !s.boundOf(g) {
			s.Fail()
		} else if g.IsConst {
			d, _ := lang.ParseDType(constTypeName(g.Bound.Name))
			sym := &size.Symbol{Name: g.Name.Name, Kind: size.ConstSymbol, DType: d, At: g.Name.Place}
			if g.Default != nil {
				lit, ok := s.LiteralOf(s.Scope, g.Default, d, "the default of "+g.Name.Name)
				if !ok {
					s.Fail()
				}
				sym.Default = lit
			}
			s.Consts = append(s.Consts, sym)
			e.Kind, e.Symbol = EntSymbol, sym
		} else {
			p := &typed.TypeParam{Name: g.Name.Name, Bound: g.Bound.Name, At: g.Name.Place}
			s.Types = append(s.Types, p)
			e.Kind, e.DType = EntTypeParam, typed.DType{Param: p}
		}
		s.Declare(s.Scope, e, false)
	}
}

// newDims declares a dimension for every unknown name in a shape.
func (s *Signature) newDims(shape []lang.Expr) {
	for _, x := range shape {
		lang.Walk(x, func(n lang.Node) bool {
			if call, ok := n.(*lang.CallExpr); ok {
				for _, a := range call.Args {
					s.newDims([]lang.Expr{a.Value})
				}
				return false
			}
			name, ok := n.(*lang.NameExpr)
			if !ok {
				return true
			}
			if !s.Scope.Lookup(name.Name).Counts() && !IsBuiltin(name.Name) {
				sym := &size.Symbol{Name: name.Name, Kind: size.DimSymbol, DType: lang.I32, At: name.Place}
				s.Dims = append(s.Dims, sym)
				s.Declare(s.Scope, &Entity{Kind: EntSymbol, Name: name.Name, At: name.Place, Symbol: sym}, false)
			}
			return true
		})
	}
}

// Shape evaluates the sizes of a shape.
func (s *Signature) Shape(exprs []lang.Expr) ([]size.Size, bool) {
	ok := true
	sizes := make([]size.Size, len(exprs))
	for i, x := range exprs {
		s.Sizing++
		o := s.Evaluate(s.Scope, x)
		s.Sizing--
		switch {
		case o.Mode == Invalid:
			ok = false
		case o.Mode != UntypedInt:
			WholeHelp(s.Errorf(lang.ErrNotConstant, x.Span(), "a dimension is an integer expression over dimensions and constants, not %s", s.DescribeOperand(o)), o)
			ok = false
		default:
			if n, isConst := o.Size.Const(); isConst && n < 1 {
				s.Errorf(lang.ErrConstantValue, x.Span(), "a dimension of size %d; the least is 1", n)
				ok = false
			}
			sizes[i] = o.Size
		}
	}
	if !ok {
		s.Fail()
	}
	return sizes, ok
}

// RequireBound reports dimensions that no argument's shape tells: arguments have the sizes, and given are the dimensions that a checkpoint tells.
func (s *Signature) RequireBound(sizes []size.Size, given map[*size.Symbol]bool) {
	told := size.Told(sizes, given)
	var known []string
	for _, d := range s.Dims {
		if told[d] {
			known = append(known, d.Name)
		}
	}
	for _, d := range s.Dims {
		if !told[d] {
			r := s.Errorf(lang.ErrUnboundDim, d.At, "nothing tells the size of %s: no dimension of an input is that, or a multiple of it and more, of what is known", d.Name)
			r.Help("give an input a dimension of %s, or of `2 * %s` or `%s + 1`, or make it a constant parameter, `const %s: int`", d.Name, d.Name, d.Name, d.Name)
			r.Suggest(d.At, d.Name, known)
		}
	}
}

// DefaultOf evaluates the default of a scalar parameter.
func (s *Signature) DefaultOf(p *lang.Param, d typed.DType, refuse bool) *lang.Literal {
	if refuse {
		s.Errorf(lang.ErrDeclType, p.Default.Span(), "only a scalar parameter has a default")
		return nil
	}
	of := d.Of
	if d.Param != nil {
		of = lang.F32
		if d.Param.Bound == "int" {
			of = lang.I32
		}
	}
	lit, ok := s.LiteralOf(s.Scope, p.Default, of, "the default of "+p.Name.Name)
	if !ok {
		s.Fail()
	}
	return lit
}

// DeclareParam enters a parameter; a name that a dimension has already is an error.
func (s *Signature) DeclareParam(e *Entity) {
	if old := s.Scope.Names[e.Name]; old != nil && e.Name != "_" {
		r := s.Errorf(lang.ErrDuplicate, e.At, "%s is declared twice", e.Name).LabelAt(old.At, "first declared here, as %s", old.Describe())
		if old.Kind == EntSymbol && old.Symbol.Kind == size.DimSymbol && e.Kind == EntValue {
			r.Labels[len(r.Labels)-1].Text = "a dimension of this name stands here"
			r.Help("a shape tells a size, so it is no parameter: leave out %s, or make it a constant, `<const %s: int>`", e.Name, e.Name)
		} else {
			r.Help("give one of them another name")
		}
		s.Scope.Names[e.Name] = &Entity{Kind: EntInvalid, Name: e.Name, At: e.At}
		return
	}
	s.Scope.Names[e.Name] = e
}

// UnusedTypeParam reports a type parameter that no parameter tells.
func (c *Checker) UnusedTypeParam(t *typed.TypeParam) {
	c.Errorf(lang.ErrTypeParam, t.At, "nothing tells what %s stands for: no input and no output has elements of that type", t.Name).
		Help("give an input or an output the type %s, or leave %s out", t.Name, t.Name)
}
