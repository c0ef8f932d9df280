package typecheck

import (
	"slices"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types the body of a kernel: all of it with one grid, or a formula part by part.

// kernelBody types what a kernel does.
func kernelBody(c *checker, m *module, d *lang.KernelDecl) {
	k := c.kernels[d]
	before := c.found
	if len(d.Grid) > 0 {
		b := newKernelBody(c, m, k, k)
		for _, a := range d.Grid {
			b.gridAxis(a)
		}
		b.kernelStmts(d.Body)
		b.pinned(d)
		b.judge()
		if c.found == before && !c.broken[d] {
			filled(k, []*facts{b.facts})
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
				k.Parts = append(k.Parts, b.kernel)
			}
		}
		b.isFormula = true
		if part.body != nil {
			b.formula(part.body, d.Body)
		}
		bodies[i] = b
	}
	if !slices.ContainsFunc(bodies, func(b *bodyChecker) bool { return len(b.kernel.Axes) > 0 }) && (d.Body == nil || len(declaredAxes(d.Body)) == 0) {
		if d.Body != nil && !c.broken[d] { // without a type, an output has no names of axes
			c.Errorf(lang.ErrFormula, d.Name.Place, "nothing tells what the blocks of %s are: it has no grid, and no store by names of axes", d.Name.Name).
				help("write a formula, as in `y[i, j] = ...`, or say what one block computes: `grid i in M by BM`")
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
			pinAs(b.kernel, k)
		}
		b.judge()
	}
	var launched []*facts
	for _, b := range bodies {
		if b == whole || slices.Contains(k.Parts, b.kernel) {
			launched = append(launched, b.facts)
		}
	}
	if c.found == before && !c.broken[d] && len(launched) > 0 {
		filled(k, launched)
	}
}

// newKernelBody makes the state for typing a kernel, or a part of one.
func newKernelBody(c *checker, m *module, whole, k *typed.Kernel) *bodyChecker {
	b := newBody(c, k, m.scope)
	b.scope = c.sigs[k.Decl].scope
	if k != whole {
		b.scope = newScope(b.scope)
	}
	b.assumeShapes(whole)
	for _, p := range k.Params {
		if e := b.scope.lookup(p.Name); k != whole && e != nil && e.kind == entTensor && e.param != p {
			b.scope.names[p.Name] = &entity{kind: entTensor, name: p.Name, at: p.At, param: p}
		}
		if !p.IsTensor && isIndexType(p.DType) {
			sym := b.newHidden(p.Name)
			b.scalars[p] = sym
			if e := b.scope.lookup(p.Name); e != nil && e.kind == entValue {
				lin := size.Of(sym)
				e.value.lin = &lin
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
		b.scope = newScope(b.scope)
		if o := b.stmtsOf(body); o.mode != noValue && o.mode != invalid {
			last := body.Stmts[len(body.Stmts)-1].(*lang.ExprStmt).X
			b.unusedValue(last, b.describeOperand(o), o).orHelp("store it in an output, as in `%s = ...`", exampleOutput(b.kernel))
			b.storeFailed = true
		}
	}
	b.kernel.Body = &typed.Body{Stmts: stmts}
}

// pinned reads what the source takes from the planner, and reports what is never stored.
func (b *bodyChecker) pinned(d *lang.KernelDecl) {
	b.tunes(d)
	b.splits(d)
	b.targetExtents()
	for _, p := range append(append([]*typed.Param{}, b.kernel.Params...), b.kernel.Outputs...) {
		named := b.sigs[d].scope.names[p.Name]
		if p.Mode != lang.In && !b.stored[p] && !b.storeFailed && named != nil && named.param == p { // two of one name are one error
			b.neverStored(p)
		}
	}
}
