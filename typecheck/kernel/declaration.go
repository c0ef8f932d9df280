package kernel

import (
	"maps"
	"slices"
	"strings"

	"tilec/lang"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// kernelParam types a parameter or an output of a kernel.
func kernelParam(s *rules.Signature, p *lang.Param, mode lang.ParamMode) *typed.Param {
	out := &typed.Param{Name: p.Name.Name, Mode: mode, At: p.Name.Place}
	t := p.Type
	switch {
	case p.IsAxis:
		s.Errorf(lang.ErrDeclType, p.Place, "only a fn takes an axis")
		return nil
	case t == nil:
		s.Errorf(lang.ErrDeclType, p.Name.Place, "the parameter %s has no type", p.Name.Name).
			Help("write `%s: f32[N]` for a tensor or `%s: f32` for a scalar", p.Name.Name, p.Name.Name)
		return nil
	case t.Count != nil || len(t.Args) > 0:
		s.Errorf(lang.ErrDeclType, t.Place, "a kernel takes tensors and scalars, not %s", t.Place.Text()).Help("a graph takes structs; pass their fields to the kernel")
		return nil
	}
	if e := s.Scope.Lookup(t.Name.Name); e != nil && e.Kind == rules.EntStruct {
		s.Errorf(lang.ErrDeclType, t.Place, "a kernel takes tensors and scalars, not the struct %s", t.Name.Name).
			LabelAt(e.At, "declared here").Help("a graph takes structs; pass their fields to the kernel")
		return nil
	}
	d, ok := s.DTypeNamed(s.Scope, t.Name.Name, t.Name.Place)
	if !ok {
		s.Fail()
		return nil
	}
	out.DType, out.IsTensor = d, t.HasShape
	if t.HasShape {
		if out.Shape, ok = s.Shape(t.Shape); !ok {
			return nil
		}
	} else if mode != lang.In {
		s.Errorf(lang.ErrDeclType, t.Place, "the %s %s is a scalar: only tensors are written", map[lang.ParamMode]string{lang.Out: "output", lang.InOut: "inout parameter"}[mode], p.Name.Name).
			Help("give it a shape, as in `%s[1]`", d)
		return nil
	}
	if p.Default != nil {
		out.Default = s.DefaultOf(p, d, t.HasShape || mode != lang.In)
	}
	return out
}

// Signature types the signature of a kernel, once.
func Signature(c *rules.Checker, m *rules.Module, d *lang.KernelDecl) *typed.Kernel {
	if k := c.Kernels[d]; k != nil {
		return k
	}
	k := &typed.Kernel{Name: d.Name.Name, Decl: d, Body: &typed.Body{}, Hints: map[string]int64{}, HintAt: map[string]lang.Span{},
		SizeHints: map[*size.Symbol]int64{}, TypeHints: map[*typed.TypeParam]lang.DType{}}
	c.Kernels[d] = k
	s := &rules.Signature{Checker: c, What: "kernel", Decl: d, Scope: rules.NewScope(m.Scope), OK: true}
	c.Signatures[d] = s
	s.Generics(d.Generics)
	var sizes []size.Size // of what is given
	for _, p := range d.Params {
		if p.Mode != lang.Out {
			s.TypeDims(p.Type)
		}
	}
	for _, p := range append(append([]*lang.Param{}, d.Params...), d.Outputs...) {
		s.TypeDims(p.Type) // what only outputs have is reported by requireBound
	}
	add := func(p *lang.Param, mode lang.ParamMode) {
		q := kernelParam(s, p, mode)
		e := &rules.Entity{Kind: rules.EntInvalid, Name: p.Name.Name, At: p.Name.Place}
		if q != nil {
			e.Kind, e.Param = rules.EntTensor, q
			if !q.IsTensor {
				e.Kind = rules.EntValue
				e.Value = rules.TypedOperand(&typed.ScalarRef{Typed: typed.Typed{Type: typed.Type{DType: q.DType}, At: q.At}, Param: q})
			}
			if mode == lang.Out {
				k.Outputs = append(k.Outputs, q)
			} else {
				k.Params = append(k.Params, q)
				sizes = append(sizes, q.Shape...)
			}
		}
		s.DeclareParam(e)
	}
	for _, p := range d.Params {
		add(p, p.Mode)
	}
	for _, p := range d.Outputs {
		add(p, lang.Out)
	}
	k.TypeParams, k.Consts, k.Dims = s.Types, s.Consts, s.Dims
	if s.OK {
		s.RequireBound(sizes, nil)
	}
	typesUsed(s, k)
	if len(k.Outputs) == 0 && s.OK && !storesTo(d) {
		writes := false
		for _, p := range k.Params {
			writes = writes || p.Mode == lang.InOut
		}
		if !writes {
			s.Errorf(lang.ErrNeverStored, d.Name.Place, "the kernel %s has no output", k.Name).Help("name one after the parameters: `-> y: f32[N]`")
		}
	}
	kernelAttrs(c, k, d, s)
	if !s.OK {
		c.Broken[d] = true
	}
	c.Program.Kernels = append(c.Program.Kernels, k)
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

// typesUsed reports type parameters that no input's and no output's type mentions. Those
// that only outputs mention are given by name, as in `k(x, T = bf16)`.
func typesUsed(s *rules.Signature, k *typed.Kernel) {
	used := map[*typed.TypeParam]bool{}
	for _, p := range append(append([]*typed.Param{}, k.Params...), k.Outputs...) {
		used[p.DType.Param] = true
	}
	for _, t := range k.TypeParams {
		if !used[t] && s.OK {
			s.UnusedTypeParam(t)
		}
	}
}

func exampleOutput(k *typed.Kernel) string {
	if len(k.Outputs) > 0 {
		return exampleAccess(k.Outputs[0])
	}
	return "y[i]"
}

func (b *bodyChecker) neverStored(p *typed.Param) {
	if p.Mode == lang.InOut {
		b.Errorf(lang.ErrNeverStored, p.At, "the inout tensor %s is never stored to", p.Name).RemoveBefore(p.At, "inout", "declare it without `inout`")
		return
	}
	b.Errorf(lang.ErrNeverStored, p.At, "the output %s is never stored to", p.Name).Help("store it: `%s = ...`", exampleAccess(p))
}

// assumeShapes lets proofs use that every dimension of a parameter has an element.
func (b *bodyChecker) assumeShapes(k *typed.Kernel) {
	for _, p := range append(append([]*typed.Param{}, k.Params...), k.Outputs...) {
		for _, s := range p.Shape {
			b.Prover.Bound(s)
			if sym := s.Symbol(); sym == nil || sym.Kind != size.DimSymbol {
				b.Prover.UnlessEmpty(s.Sub(size.Const(1)))
			}
		}
	}
}

// gridAxis declares one axis of the grid.
func (b *bodyChecker) gridAxis(a *lang.AxisClause) {
	refuse := func() {
		b.Declare(b.scope, &rules.Entity{Kind: rules.EntInvalid, Name: a.Name.Name, At: a.Name.Place}, false)
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
	if old := b.scope.Names[a.Name.Name]; old != nil && old.Kind != rules.EntAxis {
		b.Errorf(lang.ErrDuplicate, a.Name.Place, "%s is declared twice", a.Name.Name).LabelAt(old.At, "first declared here, as %s", old.Describe()).
			Help("give the axis another name")
		b.scope.Names[a.Name.Name] = &rules.Entity{Kind: rules.EntInvalid, Name: a.Name.Name, At: a.Name.Place}
		return
	}
	x := &typed.Axis{Name: a.Name.Name, Kind: typed.GridAxis, Dim: dim, Len: dim, Scalar: a.By == nil, At: a.Name.Place}
	var declared func()
	if a.Range != nil {
		declared, ok = b.gridRange(x, a)
	}
	if !ok || a.By != nil && !b.extent(x, a.By) {
		refuse()
		return
	}
	b.declareAxis(x)
	if declared != nil {
		declared()
	}
}

// tunes limits extents by the tune clause.
func (b *bodyChecker) tunes(d *lang.KernelDecl) {
	seen := map[string]lang.Span{}
	for _, t := range d.Tunes {
		name := t.Name.Name
		if old, dup := seen[name]; dup {
			b.Errorf(lang.ErrDuplicate, t.Name.Place, "%s is tuned twice", name).LabelAt(old, "first here")
			continue
		}
		seen[name] = t.Name.Place
		if _, known := b.tiles[name]; !known {
			r := b.Errorf(lang.ErrTune, t.Name.Place, "%s is the extent of no axis", name)
			if len(b.tiles) > 0 {
				r.Help("the extents are %s", strings.Join(slices.Sorted(maps.Keys(b.tiles)), ", "))
			}
			r.Suggest(t.Name.Place, name, slices.Sorted(maps.Keys(b.tiles)))
			continue
		}
		var choices []int64
		ok := true
		for _, x := range t.Choices {
			lit, litOK := b.LiteralOf(b.scope.File().Scope, x, lang.I32, "a choice of "+name)
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
		for _, a := range b.Kernel.Axes {
			if a.Tile == name {
				a.Choices = choices
			}
		}
	}
}
