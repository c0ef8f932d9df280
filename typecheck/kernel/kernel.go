package kernel

import (
	"slices"

	"tilec/lang"
	"tilec/typecheck/blocks"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types the body of a kernel: all of it with one grid, or a formula part by part.

// CheckBody types what a kernel does.
func CheckBody(c *rules.Checker, m *rules.Module, d *lang.KernelDecl) {
	k := c.Kernels[d]
	before := c.Found
	if len(d.Grid) > 0 {
		b := newKernelBody(c, m, k, k)
		for _, a := range d.Grid {
			b.gridAxis(a)
		}
		b.kernelStmts(d.Body)
		b.pinned(d)
		b.wholeOver()
		b.Judge()
		if c.Found == before && !c.Broken[d] {
			blocks.Filled(k, []*blocks.Facts{b.Facts})
		}
		return
	}
	parts := cutFormula(c, d)
	if parts == nil {
		return
	}
	bodies := make([]*bodyChecker, len(parts))
	whole := newKernelBody(c, m, k, k)
	for i, part := range parts {
		b := whole
		if len(parts) > 1 {
			b = newKernelBody(c, m, k, partKernel(k, part, i))
			if !part.unused {
				k.Parts = append(k.Parts, b.Kernel)
			}
		}
		b.isFormula = true
		if part.body != nil {
			b.formula(part.body, d.Body)
		}
		bodies[i] = b
	}
	if !slices.ContainsFunc(bodies, func(b *bodyChecker) bool { return len(b.Kernel.Axes) > 0 }) && (d.Body == nil || len(declaredAxes(d.Body)) == 0) {
		if d.Body != nil && !c.Broken[d] { // without a type, an output has no names of axes
			c.Errorf(lang.ErrFormula, d.Name.Place, "nothing tells what the blocks of %s are: it has no grid, and no store by names of axes", d.Name.Name).
				Help("write a formula, as in `y[i, j] = ...`, or say what one block computes: `grid i in M by BM`")
		}
		return
	}
	for i, b := range bodies {
		b.kernelStmts(parts[i].body)
		if b != whole {
			whole.include(b)
		}
	}
	whole.pinned(d)
	for _, b := range bodies {
		if b != whole {
			pinAs(b.Kernel, k)
		}
		b.Judge()
	}
	var launched []*blocks.Facts
	for _, b := range bodies {
		if b == whole || slices.Contains(k.Parts, b.Kernel) {
			launched = append(launched, b.Facts)
		}
	}
	if c.Found == before && !c.Broken[d] && len(launched) > 0 {
		blocks.Filled(k, launched)
	}
}

// newKernelBody makes the state for typing a kernel, or a part of one.
func newKernelBody(c *rules.Checker, m *rules.Module, whole, k *typed.Kernel) *bodyChecker {
	b := newBody(c, k, m.Scope)
	b.scope = c.Signatures[k.Decl].Scope
	if k != whole {
		b.scope = rules.NewScope(b.scope)
	}
	b.assumeShapes(whole)
	for _, p := range k.Params {
		if e := b.scope.Lookup(p.Name); k != whole && e != nil && e.Kind == rules.EntTensor && e.Param != p {
			b.scope.Names[p.Name] = &rules.Entity{Kind: rules.EntTensor, Name: p.Name, At: p.At, Param: p}
		}
		if !p.IsTensor && rules.IsIndexType(p.DType) {
			sym := b.NewHidden(p.Name)
			b.scalars[p] = sym
			if e := b.scope.Lookup(p.Name); e != nil && e.Kind == rules.EntValue {
				lin := size.Of(sym)
				e.Value.Linear = &lin
			}
		}
	}
	return b
}

// kernelStmts types the statements of a kernel whose axes are declared.
func (b *bodyChecker) kernelStmts(body *lang.Block) {
	var stmts []typed.Stmt
	b.stmts, b.top = &stmts, &stmts
	if body != nil {
		b.scope = rules.NewScope(b.scope)
		if o := b.stmtsOf(body); o.Mode != rules.NoValue && o.Mode != rules.Invalid {
			last := body.Stmts[len(body.Stmts)-1].(*lang.ExprStmt).X
			b.UnusedValue(last, b.DescribeOperand(o), o).OrHelp("store it in an output, as in `%s = ...`", exampleOutput(b.Kernel))
			b.storeFailed = true
		}
	}
	b.Kernel.Body = &typed.Body{Stmts: stmts}
}

// pinned reads what the source takes from the planner, and reports what is never stored.
func (b *bodyChecker) pinned(d *lang.KernelDecl) {
	b.tunes(d)
	b.splits(d)
	b.targetExtents()
	for _, p := range append(append([]*typed.Param{}, b.Kernel.Params...), b.Kernel.Outputs...) {
		named := b.Signatures[d].Scope.Names[p.Name]
		if p.Mode != lang.In && !b.stored[p] && !b.storeFailed && named != nil && named.Param == p { // two of one name are one error
			b.neverStored(p)
		}
	}
}
