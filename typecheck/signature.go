package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types what kernels, graphs and structs have in common before their bodies: generic parameters and shapes.

// signature is what the declaration of a kernel or a graph needs to be typed.
type signature struct {
	*checker
	what   string // "kernel" or "graph"
	decl   lang.Decl
	scope  *scope
	types  []*typed.TypeParam
	consts []*size.Symbol
	dims   []*size.Symbol
	ok     bool
}

func (s *signature) fail() { s.ok = false }

// Errorf reports an error that makes the signature unusable.
func (s *signature) Errorf(code lang.Code, at lang.Span, format string, args ...any) report {
	s.fail()
	return s.checker.Errorf(code, at, format, args...)
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
func (c *checker) boundOf(g *lang.Generic) bool {
	if g.IsConst {
		d, ok := lang.ParseDType(constTypeName(g.Bound.Name))
		if ok && (d == lang.Bool || d == lang.I32 || d == lang.F32) {
			return true
		}
		c.Errorf(lang.ErrUnknownType, g.Bound.Place, "a constant parameter is int, bool or f32, not %s", g.Bound.Name).
			suggest(g.Bound.Place, g.Bound.Name, []string{"int", "bool", "f32"})
		return false
	}
	switch g.Bound.Name {
	case "float", "int", "any":
		return true
	}
	c.Errorf(lang.ErrUnknownType, g.Bound.Place, "a type parameter is float, int or any, not %s", g.Bound.Name).
		suggest(g.Bound.Place, g.Bound.Name, []string{"float", "int", "any"})
	return false
}

// generics declares the parameters between `<` and `>`.
func (s *signature) generics(gs []*lang.Generic) {
	for _, g := range gs {
		e := &entity{kind: entInvalid, name: g.Name.Name, at: g.Name.Place}
		if !s.boundOf(g) {
			s.fail()
		} else if g.IsConst {
			d, _ := lang.ParseDType(constTypeName(g.Bound.Name))
			sym := &size.Symbol{Name: g.Name.Name, Kind: size.ConstSymbol, DType: d, At: g.Name.Place}
			if g.Default != nil {
				lit, ok := s.literalOf(s.scope, g.Default, d, "the default of "+g.Name.Name)
				if !ok {
					s.fail()
				}
				sym.Default = lit
			}
			s.consts = append(s.consts, sym)
			e.kind, e.symbol = entSymbol, sym
		} else {
			p := &typed.TypeParam{Name: g.Name.Name, Bound: g.Bound.Name, At: g.Name.Place}
			s.types = append(s.types, p)
			e.kind, e.dtype = entTypeParam, typed.DType{Param: p}
		}
		s.declare(s.scope, e, false)
	}
}

// newDims declares a dimension for every unknown name in a shape.
func (s *signature) newDims(shape []lang.Expr) {
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
			if !s.scope.lookup(name.Name).counts() && !isBuiltin(name.Name) {
				sym := &size.Symbol{Name: name.Name, Kind: size.DimSymbol, DType: lang.I32, At: name.Place}
				s.dims = append(s.dims, sym)
				s.declare(s.scope, &entity{kind: entSymbol, name: name.Name, at: name.Place, symbol: sym}, false)
			}
			return true
		})
	}
}

// shape evaluates the sizes of a shape.
func (s *signature) shape(exprs []lang.Expr) ([]size.Size, bool) {
	ok := true
	sizes := make([]size.Size, len(exprs))
	for i, x := range exprs {
		s.sizing++
		o := s.evaluate(s.scope, x)
		s.sizing--
		switch {
		case o.mode == invalid:
			ok = false
		case o.mode != untypedInt:
			wholeHelp(s.Errorf(lang.ErrNotConstant, x.Span(), "a dimension is an integer expression over dimensions and constants, not %s", s.describeOperand(o)), o)
			ok = false
		default:
			if n, isConst := o.size.Const(); isConst && n < 1 {
				s.Errorf(lang.ErrConstantValue, x.Span(), "a dimension of size %d; the least is 1", n)
				ok = false
			}
			sizes[i] = o.size
		}
	}
	if !ok {
		s.fail()
	}
	return sizes, ok
}

// requireBound reports dimensions that no argument's shape gives by itself.
func (s *signature) requireBound(alone map[*size.Symbol]bool) {
	var known []string
	for _, d := range s.dims {
		if alone[d] {
			known = append(known, d.Name)
		}
	}
	for _, d := range s.dims {
		if !alone[d] {
			r := s.Errorf(lang.ErrUnboundDim, d.At, "nothing tells the size of %s: no input has it as a dimension by itself", d.Name)
			r.help("give an input a dimension that is %s alone, or make it a constant parameter, `const %s: int`", d.Name, d.Name)
			r.suggest(d.At, d.Name, known)
		}
	}
}

// defaultOf evaluates the default of a scalar parameter.
func (s *signature) defaultOf(p *lang.Param, d typed.DType, refuse bool) *lang.Literal {
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
	lit, ok := s.literalOf(s.scope, p.Default, of, "the default of "+p.Name.Name)
	if !ok {
		s.fail()
	}
	return lit
}

// declareParam enters a parameter; a name that a dimension has already is an error.
func (s *signature) declareParam(e *entity) {
	if old := s.scope.names[e.name]; old != nil && e.name != "_" {
		r := s.Errorf(lang.ErrDuplicate, e.at, "%s is declared twice", e.name).label(old.at, "first declared here, as %s", old.describe())
		if old.kind == entSymbol && old.symbol.Kind == size.DimSymbol && e.kind == entValue {
			r.Labels[len(r.Labels)-1].Text = "a dimension of this name stands here"
			r.help("a shape tells a size, so it is no parameter: leave out %s, or make it a constant, `<const %s: int>`", e.name, e.name)
		} else {
			r.help("give one of them another name")
		}
		s.scope.names[e.name] = &entity{kind: entInvalid, name: e.name, at: e.at}
		return
	}
	s.scope.names[e.name] = e
}

func (c *checker) unusedTypeParam(t *typed.TypeParam) {
	c.Errorf(lang.ErrTypeParam, t.At, "nothing tells what %s stands for: no input and no output has elements of that type", t.Name).
		help("give an input or an output the type %s, or leave %s out", t.Name, t.Name)
}
