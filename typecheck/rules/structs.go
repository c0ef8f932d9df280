package rules

import (
	"strings"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// StructInfo is a struct being typed, or typed.
type StructInfo struct {
	typed *typed.Struct
	busy  bool
	OK    bool
	// order is every generic parameter, as declared: a *TypeParam or a *Symbol.
	order []any
	// tensors is how many it holds in all, where an array counts as one of its elements; deep is how many structs are in one another.
	tensors, deep int
}

// counts adds a field to a struct, and reports whether the struct may hold it.
func (s *Signature) counts(info *StructInfo, f *lang.Field, t typed.GType) bool {
	for t.Kind == typed.GArray {
		t = *t.Elem
	}
	if t.Kind == typed.GStruct {
		inner := s.structs[t.Struct.Decl]
		info.tensors, info.deep = info.tensors+inner.tensors, max(info.deep, inner.deep+1)
	} else {
		info.tensors++
	}
	switch {
	case info.tensors > MaxTensors:
		s.Errorf(lang.ErrLimit, f.Name.Place, "with this field %s holds %d tensors, the fields of its fields included; the most is %d", info.typed.Name, info.tensors, MaxTensors).
			Help("use arrays of structs, `[N]%s`, which count as one", f.Type.Name.Name)
	case info.deep > MaxStructs:
		s.Errorf(lang.ErrLimit, f.Name.Place, "with this field the structs in %s are %d deep in one another; the most is %d", info.typed.Name, info.deep, MaxStructs).
			Help("put fields of inner structs into outer ones")
	}
	return info.tensors <= MaxTensors && info.deep <= MaxStructs
}

// StructOf types a struct declaration, once.
func (c *Checker) StructOf(m *Module, d *lang.StructDecl) *StructInfo {
	if info := c.structs[d]; info != nil {
		return info
	}
	s := &typed.Struct{Name: d.Name.Name, Decl: d}
	info := &StructInfo{typed: s, busy: true, OK: true}
	c.structs[d] = info
	c.Attributes(d.Attrs, "a struct", lang.Nowhere, nil)
	sig := &Signature{Checker: c, What: "struct", Decl: d, Scope: NewScope(m.Scope), OK: true}
	sig.Generics(d.Generics)
	for _, g := range d.Generics {
		if e := sig.Scope.Names[g.Name.Name]; e != nil && e.Kind == EntTypeParam {
			info.order = append(info.order, e.DType.Param)
		} else if e != nil && e.Kind == EntSymbol {
			info.order = append(info.order, e.Symbol)
		}
	}
	for _, f := range d.Fields {
		sig.TypeDims(f.Type)
	}
	seen := map[string]lang.Span{}
	for _, f := range d.Fields {
		if old, dup := seen[f.Name.Name]; dup {
			sig.Errorf(lang.ErrDuplicate, f.Name.Place, "the field %s is declared twice", f.Name.Name).LabelAt(old, "first declared here")
			continue
		}
		seen[f.Name.Name] = f.Name.Place
		t, ok := sig.GType(f.Type)
		if ok && t.Kind == typed.GScalar {
			sig.Errorf(lang.ErrDeclType, f.Type.Place, "a field is a tensor, a struct or an array of structs, not the scalar %s", t.DType).
				Help("pass scalars as parameters, or give it a shape: `%s[1]`", t.DType)
			ok = false
		}
		if ok && !sig.counts(info, f, t) {
			break
		}
		field := typed.GField{Name: f.Name.Name, Type: t, At: f.Name.Place}
		c.fieldAttrs(f, &field)
		if ok {
			s.Fields = append(s.Fields, field)
		}
	}
	if sig.OK {
		c.scales(s)
	}
	s.TypeParams, s.Consts, s.Dims = sig.Types, sig.Consts, sig.Dims
	info.busy, info.OK = false, sig.OK
	c.Program.Structs = append(c.Program.Structs, s)
	return info
}

// fieldAttrs reads `@name("h.{i}.w")`, `@name("lm_head.weight" else "wte.weight")`, `@name("q", "k", "v")`, `@transposed` and `@scale(w)`.
func (c *Checker) fieldAttrs(f *lang.Field, field *typed.GField) {
	c.Attributes(f.Attrs, "a field", lang.OnField, map[string]AttrRule{"name": func(a *lang.Attr) {
		var all [][]string
		for _, arg := range a.Args {
			if names := tensorNames(arg.Value); arg.Name == nil && names != nil {
				all = append(all, names)
			}
		}
		if len(all) != len(a.Args) || len(all) == 0 {
			c.Errorf(lang.ErrAttribute, a.Place, "@name takes the name of a checkpoint's tensor, as in `@name(\"h.{i}.ln_1.weight\")`").
				Help("a tensor that may be tied to another: `@name(\"lm_head.weight\" else \"wte.weight\")`; several that stand one behind the other: `@name(\"q.weight\", \"k.weight\")`")
			return
		}
		field.Names = all
	}, "transposed": func(a *lang.Attr) {
		c.NoArgs(func() { field.Transposed = true })(a)
		if t := field.Type; t.Kind != typed.GTensor || len(t.Shape) != 2 {
			c.Errorf(lang.ErrAttribute, a.Place, "@transposed is for a matrix, and %s is %s", f.Name.Name, t)
		}
	}, "scale": func(a *lang.Attr) {
		if len(a.Args) == 1 && a.Args[0].Name == nil {
			if n, ok := a.Args[0].Value.(*lang.NameExpr); ok {
				field.ScaleOf = n.Name
				return
			}
		}
		c.Errorf(lang.ErrAttribute, a.Place, "@scale takes the name of the field that it scales, as in `@scale(w)`")
	}})
	if t := field.Type; len(field.Names) > 1 && (t.Kind != typed.GTensor || len(t.Shape) == 0 || field.Transposed) {
		c.Errorf(lang.ErrAttribute, f.Name.Place, "%s is several tensors of a checkpoint, which stand one behind the other along the first dimension: it must be a tensor with one, and not @transposed", f.Name.Name)
	}
}

// scales checks the fields that scale others: w[i, j] has the scale s[i].
func (c *Checker) scales(s *typed.Struct) {
	for _, f := range s.Fields {
		if f.ScaleOf == "" {
			continue
		}
		var names []string
		var of *typed.GField
		for i, other := range s.Fields {
			if names = append(names, other.Name); other.Name == f.ScaleOf {
				of = &s.Fields[i]
			}
		}
		if of == nil {
			c.Errorf(lang.ErrField, f.At, "%s has no field %s, which %s is to scale", s.Name, f.ScaleOf, f.Name).Help("it has %s", strings.Join(names, ", "))
			continue
		}
		fits := f.Type.Kind == typed.GTensor && of.Type.Kind == typed.GTensor && f.Type.DType == typed.Concrete(lang.F32) &&
			len(f.Type.Shape) == 1 && len(of.Type.Shape) > 1 && f.Type.Shape[0].Equal(of.Type.Shape[0])
		if !fits {
			c.Errorf(lang.ErrDeclType, f.At, "%s is %s, and scales of %s, which is %s, are f32 along its first dimension", f.Name, f.Type, of.Name, of.Type).
				LabelAt(of.At, "what it scales").Help("a matrix `w: W[N, K]` has the scales `s: f32[N] @scale(w)`")
		}
	}
}

// tensorNames are one text, or two with `else` between; nil for anything else.
func tensorNames(x lang.Expr) []string {
	switch x := x.(type) {
	case *lang.StringLit:
		return []string{x.Value}
	case *lang.BinaryExpr:
		own, ok := x.X.(*lang.StringLit)
		tied, ok2 := x.Y.(*lang.StringLit)
		if x.Op == "else" && ok && ok2 {
			return []string{own.Value, tied.Value}
		}
	}
	return nil
}

// TypeDims declares the new dimensions in a type as written.
func (s *Signature) TypeDims(t *lang.TypeExpr) {
	if t == nil {
		return
	}
	if t.Count != nil {
		s.newDims([]lang.Expr{t.Count})
	}
	if t.HasShape {
		s.newDims(t.Shape)
	}
}

// GType resolves a type of a struct's field or a graph's parameter.
func (s *Signature) GType(t *lang.TypeExpr) (typed.GType, bool) {
	if t == nil {
		s.Fail()
		return typed.GType{}, false
	}
	if t.Count != nil {
		n, okLen := s.Shape([]lang.Expr{t.Count})
		elem, ok := s.elemType(t)
		if !ok || !okLen {
			return typed.GType{}, false
		}
		if elem.Kind != typed.GStruct {
			s.Errorf(lang.ErrDeclType, t.Place, "an array is of structs, not of %s", elem).Help("give a tensor another dimension in place of an array")
			return typed.GType{}, false
		}
		return typed.GType{Kind: typed.GArray, Len: n[0], Elem: &elem}, true
	}
	return s.elemType(t)
}

// elemType is a type without its array count.
func (s *Signature) elemType(t *lang.TypeExpr) (typed.GType, bool) {
	e := s.Scope.Lookup(t.Name.Name)
	if e != nil && e.Kind == EntStruct {
		if t.HasShape {
			s.Errorf(lang.ErrDeclType, t.Place, "the struct %s has no shape", t.Name.Name).Help("an array of structs is `[N]%s`", t.Name.Name)
			return typed.GType{}, false
		}
		return s.structType(e, t)
	}
	if len(t.Args) > 0 && e == nil {
		names := []string{}
		for _, n := range s.Proposed(s.Scope) {
			if x := s.Scope.Lookup(n); x.Kind == EntStruct {
				names = append(names, n)
			}
		}
		if m := s.Scope.File(); m == nil || !m.Incomplete {
			s.Checker.Errorf(lang.ErrUnknownType, t.Name.Place, "unknown struct %s", t.Name.Name).Suggest(t.Name.Place, t.Name.Name, names)
		}
		s.Fail()
		return typed.GType{}, false
	}
	if e == nil {
		if _, ok := lang.ParseDType(t.Name.Name); !ok {
			names := typeNames()
			for _, n := range s.Proposed(s.Scope) {
				if x := s.Scope.Lookup(n); x.Kind == EntStruct || x.Kind == EntTypeParam {
					names = append(names, n)
				}
			}
			if m := s.Scope.File(); m == nil || !m.Incomplete {
				s.Checker.Errorf(lang.ErrUnknownType, t.Name.Place, "unknown type %s", t.Name.Name).SuggestType(t.Name.Place, t.Name.Name, names)
			}
			s.Fail()
			return typed.GType{}, false
		}
	}
	d, ok := s.DTypeNamed(s.Scope, t.Name.Name, t.Name.Place)
	if !ok {
		s.Fail()
		return typed.GType{}, false
	}
	if !t.HasShape {
		return typed.GType{Kind: typed.GScalar, DType: d}, true
	}
	shape, ok := s.Shape(t.Shape)
	return typed.GType{Kind: typed.GTensor, DType: d, Shape: shape}, ok
}

// structType is a struct as used: its parameters replaced by the arguments, its
// dimensions by those of the same names here.
func (s *Signature) structType(e *Entity, t *lang.TypeExpr) (typed.GType, bool) {
	d := e.Decl.(*lang.StructDecl)
	info := s.StructOf(e.Module, d)
	if info.busy {
		s.Errorf(lang.ErrRecursion, t.Place, "the struct %s contains itself", d.Name.Name).LabelAt(d.Name.Place, "declared here").
			Help("use an array of another struct")
		info.OK = false
		return typed.GType{}, false
	}
	if !info.OK {
		s.Fail()
		return typed.GType{}, false
	}
	sub := Substitution{map[*typed.TypeParam]typed.DType{}, map[*size.Symbol]size.Size{}}
	if !s.structArgs(sub, info, t) || !s.structDims(sub, info.typed, t) {
		return typed.GType{}, false
	}
	out := typed.GType{Kind: typed.GStruct, Struct: info.typed}
	for _, f := range info.typed.Fields {
		f.Type = sub.GType(f.Type)
		out.Fields = append(out.Fields, f)
	}
	return out, true
}

// structArgs binds the parameters of a struct that stand between `<` and `>`.
func (s *Signature) structArgs(sub Substitution, info *StructInfo, t *lang.TypeExpr) bool {
	st := info.typed
	if len(t.Args) != len(info.order) && len(t.Args) != len(st.TypeParams) {
		s.Errorf(lang.ErrArgCount, t.Place, "%s takes %s in < >, not %d", st.Name, report.Plural(len(st.TypeParams), "type"), len(t.Args)).
			LabelAt(st.Decl.Name.Place, "declared here").Help("write `%s`", structUsage(st))
		return false
	}
	order := info.order
	if len(t.Args) == len(st.TypeParams) {
		order = nil
		for _, p := range st.TypeParams {
			order = append(order, p)
		}
	}
	for i, p := range order {
		a := t.Args[i]
		switch p := p.(type) {
		case *typed.TypeParam:
			dt, ok := s.DTypeNamed(s.Scope, a.Name.Name, a.Place)
			if !ok {
				s.Fail()
				return false
			}
			if !boundAccepts(p, dt) {
				s.Errorf(lang.ErrTypeParam, a.Place, "%s of %s is %s, which does not accept %s", p.Name, st.Name, p.Bound, s.DescribeDType(dt)).LabelAt(p.At, "declared here")
				return false
			}
			sub.Types[p] = dt
		case *size.Symbol:
			arg := s.Scope.Lookup(a.Name.Name)
			if arg == nil || arg.Kind != EntSymbol {
				s.Errorf(lang.ErrConstParam, a.Place, "%s of %s is a constant: name a constant parameter or a dimension", p.Name, st.Name)
				return false
			}
			sub.Sizes[p] = size.Of(arg.Symbol)
		}
	}
	return true
}

// structDims binds the dimensions and constants of a struct that its arguments do not tell, to those of the same names here.
func (s *Signature) structDims(sub Substitution, st *typed.Struct, t *lang.TypeExpr) bool {
	for _, sym := range append(append([]*size.Symbol{}, st.Consts...), st.Dims...) {
		if _, done := sub.Sizes[sym]; done {
			continue
		}
		same := s.Scope.Lookup(sym.Name)
		switch {
		case same != nil && same.Kind == EntSymbol:
			sub.Sizes[sym] = size.Of(same.Symbol)
		case same != nil && same.Kind == EntConst:
			if o := s.ConstValue(same.Module, same.Decl.(*lang.ConstDecl)); o.Mode == UntypedInt {
				sub.Sizes[sym] = o.Size
				continue
			}
			fallthrough
		case same != nil:
			s.Errorf(lang.ErrDuplicate, t.Place, "%s has a dimension %s, and %s is %s here", st.Name, sym.Name, sym.Name, same.Describe()).
				LabelAt(sym.At, "the dimension").LabelAt(same.At, "declared here").Help("rename one of them: the dimensions of a struct are those of the same names where it is used")
			return false
		case sym.Kind == size.ConstSymbol:
			s.Errorf(lang.ErrConstParam, t.Place, "nothing tells the constant parameter %s of %s", sym.Name, st.Name).LabelAt(sym.At, "declared here").
				Help("declare `const %s: int` here too", sym.Name)
			return false
		default:
			own := &size.Symbol{Name: sym.Name, Kind: size.DimSymbol, DType: lang.I32, At: t.Place}
			s.Dims = append(s.Dims, own)
			s.Scope.Names[sym.Name] = &Entity{Kind: EntSymbol, Name: sym.Name, At: t.Place, Symbol: own}
			sub.Sizes[sym] = size.Of(own)
		}
	}
	return true
}

func structUsage(st *typed.Struct) string {
	names := make([]string, len(st.TypeParams))
	for i, p := range st.TypeParams {
		names[i] = p.Name
	}
	if len(names) == 0 {
		return st.Name
	}
	return st.Name + "<" + strings.Join(names, ", ") + ">"
}

// Substitution replaces type parameters and symbols.
type Substitution struct {
	Types map[*typed.TypeParam]typed.DType
	Sizes map[*size.Symbol]size.Size
}

// Size is a size with the symbols replaced.
func (s Substitution) Size(x size.Size) size.Size {
	return x.Subst(func(sym *size.Symbol) (size.Size, bool) {
		v, ok := s.Sizes[sym]
		return v, ok
	})
}

func (s Substitution) shape(xs []size.Size) []size.Size {
	out := make([]size.Size, len(xs))
	for i, x := range xs {
		out[i] = s.Size(x)
	}
	return out
}

// DType is an element type with type parameters replaced.
func (s Substitution) DType(d typed.DType) typed.DType {
	if d.Param != nil {
		if v, ok := s.Types[d.Param]; ok {
			return v
		}
	}
	return d
}

// GType is a type with both replaced, in all that it holds.
func (s Substitution) GType(t typed.GType) typed.GType {
	out := t
	out.DType, out.Shape, out.Len = s.DType(t.DType), s.shape(t.Shape), s.Size(t.Len)
	out.Fields = nil
	for _, f := range t.Fields {
		f.Type = s.GType(f.Type)
		out.Fields = append(out.Fields, f)
	}
	if t.Elem != nil {
		e := s.GType(*t.Elem)
		out.Elem = &e
	}
	out.Elems = nil
	for _, e := range t.Elems {
		out.Elems = append(out.Elems, s.GType(e))
	}
	return out
}
