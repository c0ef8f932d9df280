package typecheck

import (
	"strings"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

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
	b := s.newBody(&typed.Kernel{}, s.scope)
	ok := true
	sizes := make([]size.Size, len(exprs))
	for i, x := range exprs {
		s.sizing++
		o := b.value(x)
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

// param types a parameter or an output of a kernel.
func (s *signature) param(p *lang.Param, mode lang.ParamMode) *typed.Param {
	out := &typed.Param{Name: p.Name.Name, Mode: mode, At: p.Name.Place}
	t := p.Type
	switch {
	case p.IsAxis:
		s.Errorf(lang.ErrDeclType, p.Place, "only a fn takes an axis")
		return nil
	case t == nil:
		s.Errorf(lang.ErrDeclType, p.Name.Place, "the parameter %s has no type", p.Name.Name).
			help("write `%s: f32[N]` for a tensor or `%s: f32` for a scalar", p.Name.Name, p.Name.Name)
		return nil
	case t.Count != nil || len(t.Args) > 0:
		s.Errorf(lang.ErrDeclType, t.Place, "a kernel takes tensors and scalars, not %s", t.Place.Text()).help("a graph takes structs; pass their fields to the kernel")
		return nil
	}
	if e := s.scope.lookup(t.Name.Name); e != nil && e.kind == entStruct {
		s.Errorf(lang.ErrDeclType, t.Place, "a kernel takes tensors and scalars, not the struct %s", t.Name.Name).
			label(e.at, "declared here").help("a graph takes structs; pass their fields to the kernel")
		return nil
	}
	d, ok := s.dtypeNamed(s.scope, t.Name.Name, t.Name.Place)
	if !ok {
		s.fail()
		return nil
	}
	out.DType, out.IsTensor = d, t.HasShape
	if t.HasShape {
		if out.Shape, ok = s.shape(t.Shape); !ok {
			return nil
		}
	} else if mode != lang.In {
		s.Errorf(lang.ErrDeclType, t.Place, "the %s %s is a scalar: only tensors are written", map[lang.ParamMode]string{lang.Out: "output", lang.InOut: "inout parameter"}[mode], p.Name.Name).
			help("give it a shape, as in `%s[1]`", d)
		return nil
	}
	if p.Default != nil {
		out.Default = s.defaultOf(p, d, t.HasShape || mode != lang.In)
	}
	return out
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

// kernelOf types the signature of a kernel, once.
func (c *checker) kernelOf(m *module, d *lang.KernelDecl) *typed.Kernel {
	if k := c.kernels[d]; k != nil {
		return k
	}
	k := &typed.Kernel{Name: d.Name.Name, Decl: d, Body: &typed.Body{}, Hints: map[string]int64{}, HintAt: map[string]lang.Span{},
		SizeHints: map[*size.Symbol]int64{}, TypeHints: map[*typed.TypeParam]lang.DType{}}
	c.kernels[d] = k
	s := &signature{checker: c, what: "kernel", decl: d, scope: newScope(m.scope), ok: true}
	c.sigs[d] = s
	s.generics(d.Generics)
	alone := map[*size.Symbol]bool{}
	for _, p := range d.Params {
		if p.Mode != lang.Out {
			s.typeDims(p.Type)
		}
	}
	for _, p := range append(append([]*lang.Param{}, d.Params...), d.Outputs...) {
		s.typeDims(p.Type) // what only outputs have is reported by requireBound
	}
	add := func(p *lang.Param, mode lang.ParamMode) {
		q := s.param(p, mode)
		e := &entity{kind: entInvalid, name: p.Name.Name, at: p.Name.Place}
		if q != nil {
			e.kind, e.param = entTensor, q
			if !q.IsTensor {
				e.kind = entValue
				e.value = typedOperand(&typed.ScalarRef{Typed: typed.Typed{Type: typed.Type{DType: q.DType}, At: q.At}, Param: q})
			}
			if mode == lang.Out {
				k.Outputs = append(k.Outputs, q)
			} else {
				k.Params = append(k.Params, q)
				for _, size := range q.Shape {
					if sym := size.Symbol(); sym != nil {
						alone[sym] = true
					}
				}
			}
		}
		s.declareParam(e)
	}
	for _, p := range d.Params {
		add(p, p.Mode)
	}
	for _, p := range d.Outputs {
		add(p, lang.Out)
	}
	k.TypeParams, k.Consts, k.Dims = s.types, s.consts, s.dims
	if s.ok {
		s.requireBound(alone)
	}
	s.used(k)
	if len(k.Outputs) == 0 && s.ok && !storesTo(d) {
		writes := false
		for _, p := range k.Params {
			writes = writes || p.Mode == lang.InOut
		}
		if !writes {
			s.Errorf(lang.ErrNeverStored, d.Name.Place, "the kernel %s has no output", k.Name).help("name one after the parameters: `-> y: f32[N]`")
		}
	}
	c.kernelAttrs(k, d, s)
	if !s.ok {
		c.broken[d] = true
	}
	c.prog.Kernels = append(c.prog.Kernels, k)
	return k
}

// storesTo reports a kernel that assigns to one of its parameters: where that is an input, it is the error.
func storesTo(d *lang.KernelDecl) (found bool) {
	if d.Body == nil {
		return false
	}
	lang.Walk(d.Body, func(n lang.Node) bool {
		if a, ok := n.(*lang.AssignStmt); ok {
			if x, isAccess := a.Target.(*lang.IndexExpr); isAccess {
				name, _ := x.X.(*lang.NameExpr)
				for _, p := range d.Params {
					found = found || name != nil && p.Name.Name == name.Name && p.Type != nil && p.Type.HasShape
				}
			}
		}
		return !found
	})
	return found
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

// used reports type parameters that no input's and no output's type mentions. Those
// that only outputs mention are given by name, as in `k(x, T = bf16)`.
func (s *signature) used(k *typed.Kernel) {
	used := map[*typed.TypeParam]bool{}
	for _, p := range append(append([]*typed.Param{}, k.Params...), k.Outputs...) {
		used[p.DType.Param] = true
	}
	for _, t := range k.TypeParams {
		if !used[t] && s.ok {
			s.unusedTypeParam(t)
		}
	}
}

func (c *checker) unusedTypeParam(t *typed.TypeParam) {
	c.Errorf(lang.ErrTypeParam, t.At, "nothing tells what %s stands for: no input and no output has elements of that type", t.Name).
		help("give an input or an output the type %s, or leave %s out", t.Name, t.Name)
}

func exampleOutput(k *typed.Kernel) string {
	if len(k.Outputs) > 0 {
		return exampleAccess(k.Outputs[0])
	}
	return "y[i]"
}

func (b *bodyChecker) neverStored(p *typed.Param) {
	if p.Mode == lang.InOut {
		b.Errorf(lang.ErrNeverStored, p.At, "the inout tensor %s is never stored to", p.Name).removeBefore(p.At, "inout", "declare it without `inout`")
		return
	}
	b.Errorf(lang.ErrNeverStored, p.At, "the output %s is never stored to", p.Name).help("store it: `%s = ...`", exampleAccess(p))
}

// assumeShapes lets proofs use that every dimension of a parameter has an element.
func (b *bodyChecker) assumeShapes(k *typed.Kernel) {
	for _, p := range append(append([]*typed.Param{}, k.Params...), k.Outputs...) {
		for _, s := range p.Shape {
			b.prover.Bound(s)
			if sym := s.Symbol(); sym == nil || sym.Kind != size.DimSymbol {
				b.prover.UnlessEmpty(s.Sub(size.Const(1)))
			}
		}
	}
}

// gridAxis declares one axis of the grid.
func (b *bodyChecker) gridAxis(a *lang.AxisClause) {
	refuse := func() {
		b.declare(b.scope, &entity{kind: entInvalid, name: a.Name.Name, at: a.Name.Place}, false)
	}
	dim, ok := b.dimension(a.Over)
	if !ok {
		refuse()
		return
	}
	if n, isConst := dim.Const(); isConst && n < 1 {
		b.Errorf(lang.ErrTune, a.Over.Span(), "a grid over %d positions has no blocks; the least is 1", n)
		refuse()
		return
	}
	if old := b.scope.names[a.Name.Name]; old != nil && old.kind != entAxis {
		b.Errorf(lang.ErrDuplicate, a.Name.Place, "%s is declared twice", a.Name.Name).label(old.at, "first declared here, as %s", old.describe()).
			help("give the axis another name")
		b.scope.names[a.Name.Name] = &entity{kind: entInvalid, name: a.Name.Name, at: a.Name.Place}
		return
	}
	x := &typed.Axis{Name: a.Name.Name, Kind: typed.GridAxis, Dim: dim, Len: dim, Scalar: a.By == nil, At: a.Name.Place}
	var part func()
	if a.Range != nil {
		part, ok = b.gridPart(x, a)
	}
	if !ok || a.By != nil && !b.extent(x, a.By) {
		refuse()
		return
	}
	b.declareAxis(x)
	if part != nil {
		part()
	}
}

// tunes limits extents by the tune clause.
func (b *bodyChecker) tunes(d *lang.KernelDecl) {
	seen := map[string]lang.Span{}
	for _, t := range d.Tunes {
		name := t.Name.Name
		if old, dup := seen[name]; dup {
			b.Errorf(lang.ErrDuplicate, t.Name.Place, "%s is tuned twice", name).label(old, "first here")
			continue
		}
		seen[name] = t.Name.Place
		if _, known := b.tiles[name]; !known {
			r := b.Errorf(lang.ErrTune, t.Name.Place, "%s is the extent of no axis", name)
			if len(b.tiles) > 0 {
				r.help("the extents are %s", strings.Join(sortedKeys(b.tiles), ", "))
			}
			r.suggest(t.Name.Place, name, sortedKeys(b.tiles))
			continue
		}
		var choices []int64
		ok := true
		for _, x := range t.Choices {
			lit, litOK := b.literalOf(b.scope.file().scope, x, lang.I32, "a choice of "+name)
			switch {
			case !litOK:
				ok = false
			case lit.Int < 1:
				b.Errorf(lang.ErrTune, x.Span(), "the extent %d of %s; the least is 1", lit.Int, name)
				ok = false
			default:
				choices = append(choices, lit.Int)
			}
		}
		if !ok {
			continue
		}
		for _, a := range b.kernel.Axes {
			if a.Tile == name {
				a.Choices = choices
			}
		}
	}
}
