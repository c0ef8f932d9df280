package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file reads how accesses walk their tensors, and decides in which layouts operations that are not elementwise take
// their operands.

// IndexAxes is the axes of an access: those of its indices and, for a load, of its else value.
func IndexAxes(op *ir.Op) []*ir.Axis {
	if op.Code == lang.OpLoad {
		return op.Result().Type.Axes
	}
	return op.AccessAxes()
}

// DimAccess is how an access walks one dimension of its tensor.
type DimAccess struct {
	Index   *ir.Value
	Affine  affine
	Gather  bool // not affine: the index is a tile of its own
	Checked bool
	// Span is how many positions of the index have one element, a power of two, where copies bring them so; 0 where each has its own.
	Span int64
	// stride is in elements: known, or -1 with a number that divides it.
	Stride, multiple int64
	// Clamped is what a gather clamps, nil where it takes its elements at other places.
	Clamped *Clamped
}

// Clamped is an affine index that is clamped before an access goes there.
type Clamped struct {
	Affine affine
	// Low and High report clamping to the first and the last position of the dimension; Ends that the index is clamped to those alone.
	Low, High, Ends bool
}

// along is how the places of an access follow from positions along axes, before they are clamped.
func (d DimAccess) along() affine {
	if d.Clamped != nil {
		return d.Clamped.Affine
	}
	return d.Affine
}

// Terms are the axes along which an access goes, each with what is between its positions.
func (d DimAccess) Terms() []AxisTerm { return d.along().Terms }

// clampedOf reads an index that clamps an affine one.
func clampedOf(v *ir.Value, d *ir.Dim) *Clamped {
	op := v.Def
	if op == nil || op.Code != lang.OpClamp && op.Code != lang.OpMin && op.Code != lang.OpMax || v.Type.DType != lang.I32 {
		return nil
	}
	f, ok := affineOf(op.Args[0])
	if !ok || len(f.Terms) == 0 || !f.exact() || slices.ContainsFunc(op.Args[1:], func(x *ir.Value) bool { return !x.Type.IsScalar() }) {
		return nil
	}
	first := func(x *ir.Value) bool { n, ok := x.IsConst(); return ok && n.Int == 0 }
	last := func(x *ir.Value) bool { n, ok := x.IsConst(); return ok && d.Known() && n.Int == d.Value-1 }
	switch c := (&Clamped{Affine: f}); op.Code {
	case lang.OpClamp:
		c.Low, c.High = first(op.Args[1]), last(op.Args[2])
		c.Ends = c.Low && c.High
		return c
	case lang.OpMax:
		c.Low, c.Ends = first(op.Args[1]), first(op.Args[1])
		return c
	default:
		c.High, c.Ends = last(op.Args[1]), last(op.Args[1])
		return c
	}
}

// Access reads the structure of a load or a store.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (p *Program) Access(op *ir.Op) []DimAccess { return AccessOf(op) }

// AccessOf reads the structure of a load or a store.
func AccessOf(op *ir.Op) []DimAccess {
	dims := make([]DimAccess, len(op.Tensor.Shape))
	for i, v := range op.Indices() {
		f, ok := affineOf(v)
		if ok && op.Checked[i] && !f.fits(op.Tensor.Shape[i]) {
			// Computed as the program says: what wraps around in 32 bits is compared and used as it comes out.
			f, ok = affine{}, false
		}
		stride, multiple := strideOf(op.Tensor, i)
		dims[i] = DimAccess{Index: v, Affine: f, Gather: !ok, Checked: op.Checked[i], Stride: stride, multiple: multiple}
		if !ok {
			dims[i].Clamped = clampedOf(v, op.Tensor.Shape[i])
		}
	}
	return dims
}

// operandAccess reads a load of what a contraction multiplies, as copies bring it. What a function makes factors of may have an element for several positions: of an index that is a
// quotient it gives what is divided.
func operandAccess(of *ir.Op, arg int) []DimAccess {
	load := of.Args[arg].Def
	dims := AccessOf(load)
	if of.Fn == nil || arg != 1 {
		return dims
	}
	for i := range dims {
		d := &dims[i]
		if !d.Gather || d.Checked || d.Index.Def == nil {
			continue
		}
		if a, n := QuotientOf(d.Index.Def); a != nil && n > 1 && n&(n-1) == 0 {
			d.Affine, d.Gather, d.Span = affine{Terms: []AxisTerm{{a, 1}}}, false, n
		}
	}
	return dims
}

// spansOf is how many positions along each axis have one element of what a contraction multiplies as it lies in shared memory; nil where each has its own, as where a step may begin in the middle of
// a word.
func (p *Program) spansOf(of *ir.Op, arg int, axes []*ir.Axis) []int {
	v := of.Args[arg]
	if of.Fn == nil || arg != 1 || v.Def == nil || v.Def.Code != lang.OpLoad {
		return nil
	}
	dims := operandAccess(of, arg)
	spans, any := make([]int, len(axes)), false
	for i, a := range axes {
		spans[i] = 1
		for _, d := range dims {
			if d.Span > 1 && d.Affine.coef(a) == 1 && p.StartMultiple(a)%d.Span == 0 {
				spans[i] = int(d.Span)
			}
		}
		if v.Type.DType.Packed() && a == Contiguous(dims) {
			spans[i] *= 8 / v.Type.DType.Bits()
		}
		any = any || spans[i] > 1
	}
	if !any {
		return nil
	}
	return spans
}

// CopiedAccess reads a load as copies bring what the products that read it multiply, and a store as it is.
func (p *Program) CopiedAccess(load *ir.Op) []DimAccess {
	if load.Code != lang.OpLoad {
		return AccessOf(load)
	}
	for _, u := range p.Uses[load.Result()] {
		if u.Arg == 1 && u.Op.Fn != nil && u.Op.Code.Row().Group == lang.GroupContract {
			return operandAccess(u.Op, 1)
		}
	}
	return AccessOf(load)
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

// Contiguous is the axis along which neighbours are neighbours in memory; nil when there is none.
func Contiguous(dims []DimAccess) *ir.Axis {
	if len(dims) == 0 {
		return nil
	}
	last := dims[len(dims)-1]
	if last.Gather || last.Stride != 1 {
		return nil
	}
	for _, t := range last.Affine.Terms {
		if last.Affine.coef(t.Axis) != 1 {
			continue
		}
		elsewhere := false
		for _, d := range dims[:len(dims)-1] {
			if d.Gather {
				elsewhere = elsewhere || d.Index.Type.Has(t.Axis)
			} else {
				elsewhere = elsewhere || d.Affine.coef(t.Axis) != 0
			}
		}
		if !elsewhere {
			return t.Axis
		}
	}
	return nil
}

// Vector is how many neighbours along c one access may move: a power of two,
// such that every such group is aligned, and exists as a whole or not at all.
func (p *Program) Vector(t *ir.Tensor, dims []DimAccess, c *ir.Axis) int {
	return p.vector(t, dims, c, false)
}

// WholeVector is Vector in a block along all of whose axes the whole extent exists, and which has code of its own where others have less: of a tensor
// of one dimension, all blocks but the last.
func (p *Program) WholeVector(t *ir.Tensor, dims []DimAccess, c *ir.Axis) int {
	return p.vector(t, dims, c, c != nil && c.Kind == ir.Grid && c.Ranges == nil && len(dims) == 1 && !p.multiplies)
}

func (p *Program) vector(t *ir.Tensor, dims []DimAccess, c *ir.Axis, exists bool) int {
	if c == nil {
		return 1
	}
	if p.LoopsByWords(c) {
		_, n := p.WordForm(t, dims)
		return n
	}
	bits := int64(t.Held().Bits()) // of a position, along c
	each := bits
	if n := max(dims[len(dims)-1].Span, 1); n > 1 {
		bits /= n
	}
	whole := p.StartMultiple(c) // elements
	if !exists {
		whole = gcd(whole, p.endMultiple(c))
	}
	if dims[len(dims)-1].Checked {
		whole = 1
	}
	align := 8 * gcd(max(t.Align, int64(t.Held().Size())), 16) // bits
	for i, d := range dims {
		unit := multipleOf(d.multiple)
		if d.Stride >= 0 {
			unit = multipleOf(d.Stride)
		}
		parts, span := int64(manyMultiples), max(d.Span, 1)
		switch {
		case d.Gather:
			parts = 1
		default:
			parts = gcd(parts, multipleOf(d.Affine.Offset))
			for _, s := range d.Affine.Scalars {
				parts = gcd(parts, multipleOf(s.Coef)*min(p.multiple(s.Value), 1<<20))
			}
			for _, s := range d.Affine.Terms {
				if s.Axis == c && i == len(dims)-1 {
					parts = gcd(parts, p.StartMultiple(c)/span)
				} else {
					parts = gcd(parts, multipleOf(s.Coef))
				}
			}
		}
		align = gcd(align, min(unit, 1<<20)*min(parts, 1<<20)*each)
	}
	v := 1
	for int64(2*v)*bits <= 128 && align%(int64(2*v)*bits) == 0 && whole%int64(2*v) == 0 {
		v *= 2
	}
	return v
}

// accessLayout is the layout in which an access is widest, and how many bytes a thread then moves at once.
func (p *Program) accessLayout(op *ir.Op) (layout.Layout, int) {
	return p.accessLayoutOf(op, IndexAxes(op))
}

// accessLayoutOf is accessLayout for a tile of the axes of the access and more.
func (p *Program) accessLayoutOf(op *ir.Op, axes []*ir.Axis) (layout.Layout, int) {
	if len(axes) == 0 {
		return layout.Uniform(p.Warps), op.Tensor.DType.Size()
	}
	dims := p.Access(op)
	c := Contiguous(dims)
	v := p.WholeVector(op.Tensor, dims, c)
	window := windowOf(dims)
	run, ok := p.runOf(op)
	if ok {
		c, v = run.Axis, int(run.Most)
		for _, a := range run.Inside {
			window[a] = true
		}
	}
	var order []*ir.Axis
	put := func(a *ir.Axis) {
		if !(ir.Type{Axes: order}).Has(a) {
			order = append(order, a)
		}
	}
	if c != nil {
		put(c)
	}
	if a := p.addedByThreads(op); a != nil && a != c {
		window[a] = true
	}
	for i := len(dims) - 1; i >= 0; i-- {
		for _, t := range dims[i].Affine.Terms {
			if !window[t.Axis] {
				put(t.Axis)
			}
		}
		if dims[i].Gather {
			for _, a := range dims[i].Index.Type.Axes {
				if !window[a] {
					put(a)
				}
			}
		}
	}
	for _, a := range axes {
		if !window[a] {
			put(a)
		}
	}
	inThread := ir.Without(axes, order)
	if Volume(order) < p.Warps*layout.Lanes {
		order, inThread = append(order, inThread...), nil
	}
	n := Volume(order)
	if c != nil {
		v = min(v, layout.PowerAbove(int(c.Extent)))
	}
	v = max(1, min(v, max(layout.PowerBelow(n/(p.Warps*layout.Lanes)), inByte(op.Tensor))))
	l := layout.Blocked(order, Extents(order), v, p.Warps)
	for _, a := range inThread { // a thread has all of a window, and reduces it by itself
		if a.Extent > 1 {
			l.Reg = append(l.Reg, layout.Digit{Axis: a, Stride: 1, Size: int(a.Extent)})
		}
	}
	width := int(op.Tensor.Held().Bytes(int64(v)))
	if ok && int64(v) == run.Most { // element by element, such an access takes several times what others lose that are not as wide as they could be
		width = bulkUnit + int(op.Tensor.Held().Bytes(run.Most*run.Each))
	}
	return l, width
}

// runOf is the run of an access of a kernel in which threads choose what they have: one without products.
func (p *Program) runOf(op *ir.Op) (Run, bool) {
	if p.multiplies || p.Words != nil {
		return Run{}, false
	}
	return RunOf(op)
}

// mostWindow is how many positions along one axis a window has at most.
const mostWindow = 16

// WindowOf are the axes of a window that an access moves.
func WindowOf(op *ir.Op) map[*ir.Axis]bool { return windowOf(AccessOf(op)) }

// windowOf are the short Whole axes that move along a dimension what another axis has of it: those of a window, as of a stencil or of pooling.
func windowOf(dims []DimAccess) map[*ir.Axis]bool {
	window := map[*ir.Axis]bool{}
	for _, d := range dims {
		if len(d.Terms()) < 2 {
			continue
		}
		moved := slices.ContainsFunc(d.Terms(), func(t AxisTerm) bool { return t.Axis.Kind != ir.Whole || t.Axis.Len > mostWindow })
		for _, t := range d.Terms() {
			if moved && t.Axis.Kind == ir.Whole && t.Axis.Len <= mostWindow {
				window[t.Axis] = true
			}
		}
	}
	return window
}

// addedByThreads is the short Whole axis that nothing but reductions over it alone takes of a load, as that of parts that are added up, or of numbers that
// are computed of the load element by element, as of rows that are weighted and added up: a thread has all of it, and no warps meet. nil where there is none.
func (p *Program) addedByThreads(op *ir.Op) *ir.Axis {
	if op.Code != lang.OpLoad || len(p.Uses[op.Result()]) == 0 {
		return nil
	}
	var short *ir.Axis
	var reduced func(v *ir.Value) bool
	reduced = func(v *ir.Value) bool {
		for _, u := range p.Uses[v] {
			switch row := u.Op.Code.Row(); {
			case row.Elementwise && len(u.Op.Result().Type.Axes) == len(v.Type.Axes):
				if len(p.Uses[u.Op.Result()]) == 0 || !reduced(u.Op.Result()) {
					return false
				}
			case len(u.Op.Over) != 1 || row.Group != lang.GroupReduce || short != nil && u.Op.Over[0] != short:
				return false
			default:
				short = u.Op.Over[0]
			}
		}
		return true
	}
	if !reduced(op.Result()) || short == nil || !short.Few() {
		return nil
	}
	return short
}

// inByte is how many elements of a tensor share a byte; 1 of types that have whole ones.
func inByte(t *ir.Tensor) int { return max(8/t.Held().Bits(), 1) }

// StoreLayout is the layout in which a store takes its value: the value's own where that writes
// whole sectors, else the access's.
func (p *Program) StoreLayout(op *ir.Op) layout.Layout {
	if op.Code == lang.OpStore && op.Collides() {
		return p.ScatterLayout(op)
	}
	axes := IndexAxes(op)
	v := op.Stored()
	if len(v.Type.Axes) == len(axes) && !p.Cheap(v) {
		home := p.Homes[v]
		dims := p.Access(op)
		c := Contiguous(dims)
		if op.Code.IsAtomic() && !op.Overwrites() || c == nil {
			return home
		}
		run := op.Tensor.Held().Bytes(int64(home.Run(c, true)))
		switch v, held := p.WholeVector(op.Tensor, dims, c), home.Run(c, false); {
		case held%inByte(op.Tensor) != 0 && v >= inByte(op.Tensor):
			run = 0 // threads store whole bytes
		case v < held: // what a thread holds of a sector takes it several accesses, and each of a warp's writes a part of every sector
			run = op.Tensor.Held().Bytes(int64(v))
		}
		if run >= sectorBytes || run >= op.Tensor.Held().Bytes(c.Extent) {
			return home
		}
	}
	l, _ := p.accessLayout(op)
	return l
}

// LoadLayout is the layout in which a load brings a tile that is wanted in another layout: the wanted one where a warp reads whole sectors in
// it, or several threads have the same elements, else the access's, from which the tile comes through shared memory. A transposition loads
// rows so, and stores columns. Products bring what they read to shared memory in their own way.
func (p *Program) LoadLayout(op *ir.Op, want layout.Layout) layout.Layout {
	c := Contiguous(p.Access(op))
	if c == nil || len(p.Products) > 0 || op.Tensor.Shared || p.LoopsByWords(c) || want.Copied() {
		return want
	}
	if bytes := op.Tensor.Held().Bytes; bytes(int64(want.Run(c, true))) >= sectorBytes || bytes(c.Extent) < sectorBytes {
		return want
	}
	l, _ := p.accessLayout(op)
	for _, a := range op.Result().Type.Axes {
		if want.Run(a, false) > 1 {
			return runsAlong(l, a, c) // which a thread writes to shared memory at once
		}
	}
	return l
}

// sectorBytes is how much of the memory a warp reads or writes at least.
const sectorBytes = 32

// AtomicLayout is the layout in which an atomic goes over its elements: that of
// the old values where something needs them, else as for a store.
func (p *Program) AtomicLayout(op *ir.Op) layout.Layout {
	if op.Old {
		return p.Homes[op.Result()]
	}
	return p.StoreLayout(op)
}

// ScatterLayout is the layout in which a store that may collide takes its value.
func (p *Program) ScatterLayout(op *ir.Op) layout.Layout {
	axes := reversed(p.Func.InOrder(op.AccessAxes()))
	return layout.InOrder(axes, Extents(axes), p.Warps)
}

// CombineLayout is the layout in which a reduce or a scan takes its operands.
func (p *Program) CombineLayout(op *ir.Op) layout.Layout {
	if op.Code == lang.OpScan {
		return p.Homes[op.Results[0]]
	}
	if v := p.reducedOperand(op); v != nil {
		return p.Homes[v]
	}
	axes := reversed(op.Combined())
	return layout.Blocked(axes, Extents(axes), 1, p.Warps)
}

// DebugLayout is the layout in which a print takes a tile.
func (p *Program) DebugLayout(v *ir.Value) layout.Layout {
	if v.Type.IsScalar() {
		return layout.Uniform(p.Warps)
	}
	if l, ok := p.Homes[v]; ok && !p.Cheap(v) {
		return l
	}
	axes := reversed(v.Type.Axes)
	return layout.Blocked(axes, Extents(axes), 1, p.Warps)
}

// Contended reports a tensor at an element of which several threads of a block may come, one of them to store it.
func (p *Program) Contended(t *ir.Tensor) bool { return p.comesBack(t) && !p.ownStores(t) }

// comesBack reports a tensor with a store and another access beside it, or a store that meets itself.
func (p *Program) comesBack(t *ir.Tensor) bool {
	if t.ReadOnly() || t.Shared && p.own(t) {
		return false
	}
	n := 0
	p.Func.Walk(func(op *ir.Op) bool {
		if op.Tensor == t {
			n++
		}
		return true
	})
	return n > 1 || p.revisited[t]
}

// ownStores reports a tensor that is stored alone, and each element by one thread wherever that is: all stores are in one layout along the same axes, whose
// positions are indices as they are, and their other indices are of all threads.
func (p *Program) ownStores(t *ir.Tensor) bool {
	if t.DType.Bits() < 8 || p.Words != nil { // neighbours share a byte, or a word
		return false
	}
	var stores []*ir.Op
	alone := true
	p.Func.Walk(func(op *ir.Op) bool {
		if op.Tensor == t {
			stores, alone = append(stores, op), alone && op.Code == lang.OpStore
		}
		return alone
	})
	if !alone || len(stores) == 0 {
		return false
	}
	first := stores[0]
	for _, op := range stores {
		for i, v := range op.Indices() {
			w := first.Indices()[i]
			if v.Type.IsScalar() && w.Type.IsScalar() {
				continue
			}
			a := positions(v)
			if a == nil || a != positions(w) || a.Kind == ir.Loop { // which thread has a position depends on where a step begins
				return false
			}
		}
		if !p.StoreLayout(op).Equal(p.StoreLayout(first)) {
			return false
		}
	}
	return true
}

// positions is the axis whose positions, as they are, a value is; nil where it is something else.
func positions(v *ir.Value) *ir.Axis {
	if v.Def == nil || v.Def.Code != lang.OpIndex {
		return nil
	}
	return v.Def.Axis
}
