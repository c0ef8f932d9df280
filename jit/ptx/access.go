package ptx

import (
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file reads how accesses walk their tensors, and decides in which layouts operations that are not elementwise take
// their operands.

// indexAxes is the axes of an access: those of its indices and, for a load, of its else value.
func indexAxes(op *ir.Op) []*ir.Axis {
	if op.Code == lang.OpLoad {
		return op.Result().Type.Axes
	}
	return op.AccessAxes()
}

// dimAccess is how an access walks one dimension of its tensor.
type dimAccess struct {
	index   *ir.Value
	affine  affine
	gather  bool // not affine: the index is a tile of its own
	checked bool
	// stride is in elements: known, or -1 with a number that divides it.
	stride, multiple int64
}

// access reads the structure of a load or a store.
func (p *Program) access(op *ir.Op) []dimAccess {
	dims := make([]dimAccess, len(op.Tensor.Shape))
	for i, v := range op.Indices() {
		f, ok := affineOf(v)
		if ok && op.Checked[i] && !f.fits(op.Tensor.Shape[i]) {
			// Computed as the program says: what wraps around in 32 bits is compared and used as it comes out.
			f, ok = affine{}, false
		}
		stride, multiple := strideOf(op.Tensor, i)
		dims[i] = dimAccess{index: v, affine: f, gather: !ok, checked: op.Checked[i], stride: stride, multiple: multiple}
	}
	return dims
}

// strideOf is the stride of a dimension in elements, -1 when it is only known at launch, and what divides it.
func strideOf(t *ir.Tensor, i int) (stride, multiple int64) {
	if t.Strides != nil {
		return t.Strides[i].Value, multipleOf(t.Strides[i].Multiple())
	}
	stride, multiple = 1, 1
	for _, d := range t.Shape[i+1:] {
		if d.Known() && stride >= 0 {
			stride *= d.Value
		} else {
			stride = -1
		}
		multiple *= max(d.Multiple(), 1)
	}
	return stride, multiple
}

// contiguous is the axis along which neighbours are neighbours in memory; nil when there is none.
func contiguous(dims []dimAccess) *ir.Axis {
	if len(dims) == 0 {
		return nil
	}
	last := dims[len(dims)-1]
	if last.gather || last.stride != 1 {
		return nil
	}
	for _, t := range last.affine.terms {
		if last.affine.coef(t.axis) != 1 {
			continue
		}
		elsewhere := false
		for _, d := range dims[:len(dims)-1] {
			if d.gather {
				elsewhere = elsewhere || d.index.Type.Has(t.axis)
			} else {
				elsewhere = elsewhere || d.affine.coef(t.axis) != 0
			}
		}
		if !elsewhere {
			return t.axis
		}
	}
	return nil
}

// vector is how many neighbours along c one access may move: a power of two,
// such that every such group is aligned, and exists as a whole or not at all.
func (p *Program) vector(t *ir.Tensor, dims []dimAccess, c *ir.Axis) int {
	if c == nil {
		return 1
	}
	size := int64(t.DType.Size())
	whole := gcd(p.startMultiple(c), p.endMultiple(c)) // elements
	if dims[len(dims)-1].checked {
		whole = 1
	}
	align := gcd(max(t.Align, size), 16)
	for i, d := range dims {
		unit := multipleOf(d.multiple)
		if d.stride >= 0 {
			unit = multipleOf(d.stride)
		}
		parts := int64(manyMultiples)
		switch {
		case d.gather:
			parts = 1
		default:
			parts = gcd(parts, multipleOf(d.affine.offset))
			for _, s := range d.affine.scalars {
				parts = gcd(parts, multipleOf(s.coef)*min(p.multiple(s.value), 1<<20))
			}
			for _, s := range d.affine.terms {
				if s.axis == c && i == len(dims)-1 {
					parts = gcd(parts, p.startMultiple(c))
				} else {
					parts = gcd(parts, multipleOf(s.coef))
				}
			}
		}
		align = gcd(align, min(unit, 1<<20)*min(parts, 1<<20)*size)
	}
	v := 1
	for int64(2*v)*size <= 16 && align%(int64(2*v)*size) == 0 && whole%int64(2*v) == 0 {
		v *= 2
	}
	return v
}

// accessLayout is the layout in which an access is widest, and how many bytes a thread then moves at once.
func (p *Program) accessLayout(op *ir.Op) (layout.Layout, int) {
	axes := indexAxes(op)
	if len(axes) == 0 {
		return layout.Uniform(p.Warps), op.Tensor.DType.Size()
	}
	dims := p.access(op)
	c := contiguous(dims)
	v := p.vector(op.Tensor, dims, c)
	var order []*ir.Axis
	put := func(a *ir.Axis) {
		if !(ir.Type{Axes: order}).Has(a) {
			order = append(order, a)
		}
	}
	if c != nil {
		put(c)
	}
	for i := len(dims) - 1; i >= 0; i-- {
		for _, t := range dims[i].affine.terms {
			put(t.axis)
		}
		if dims[i].gather {
			for _, a := range dims[i].index.Type.Axes {
				put(a)
			}
		}
	}
	for _, a := range axes {
		put(a)
	}
	n := volume(order)
	if c != nil {
		v = min(v, layout.PowerAbove(int(c.Extent)))
	}
	v = max(1, min(v, layout.PowerBelow(n/(p.Warps*layout.Lanes))))
	return layout.Blocked(order, extents(order), v, p.Warps), v * op.Tensor.DType.Size()
}

// storeLayout is the layout in which a store takes its value: the value's own where that writes
// whole sectors, else the access's.
func (p *Program) storeLayout(op *ir.Op) layout.Layout {
	if op.Code == lang.OpStore && op.Collides() {
		return p.scatterLayout(op)
	}
	axes := indexAxes(op)
	v := op.Stored()
	if len(v.Type.Axes) == len(axes) && !p.cheap(v) {
		home := p.home[v]
		c := contiguous(p.access(op))
		if op.Code.IsAtomic() || c == nil {
			return home
		}
		run := home.Run(c, true) * op.Tensor.DType.Size()
		if run >= 32 || run >= int(c.Extent)*op.Tensor.DType.Size() {
			return home
		}
	}
	l, _ := p.accessLayout(op)
	return l
}

// atomicLayout is the layout in which an atomic goes over its elements: that of
// the old values where something needs them, else as for a store.
func (p *Program) atomicLayout(op *ir.Op) layout.Layout {
	if op.Old {
		return p.home[op.Result()]
	}
	return p.storeLayout(op)
}

// scatterLayout is the layout in which a store that may collide takes its value.
func (p *Program) scatterLayout(op *ir.Op) layout.Layout {
	axes := reversed(p.f.InOrder(op.AccessAxes()))
	return layout.InOrder(axes, extents(axes), p.Warps)
}

// combineLayout is the layout in which a reduce or a scan takes its operands.
func (p *Program) combineLayout(op *ir.Op) layout.Layout {
	if op.Code == lang.OpScan {
		return p.home[op.Results[0]]
	}
	if v := p.reducedOperand(op); v != nil {
		return p.home[v]
	}
	axes := reversed(op.Combined())
	return layout.Blocked(axes, extents(axes), 1, p.Warps)
}

// debugLayout is the layout in which a print takes a tile.
func (p *Program) debugLayout(v *ir.Value) layout.Layout {
	if v.Type.IsScalar() {
		return layout.Uniform(p.Warps)
	}
	if l, ok := p.home[v]; ok && !p.cheap(v) {
		return l
	}
	axes := reversed(v.Type.Axes)
	return layout.Blocked(axes, extents(axes), 1, p.Warps)
}

// contended reports a tensor with a store and another access beside it, or one that meets itself.
func (p *Program) contended(t *ir.Tensor) bool {
	if t.ReadOnly() {
		return false
	}
	n := 0
	p.f.Walk(func(op *ir.Op) bool {
		if op.Tensor == t {
			n++
		}
		return true
	})
	return n > 1 || p.revisited[t]
}
