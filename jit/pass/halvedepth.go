package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file cuts a product of very much depth and few results, as the covariance of many samples is: the blocks of a cluster for each tile of results leave most of
// the machine idle. In the first launch there is a product for each of many parts of the depth, which is a batch of products, and the second adds up the parts in their order.

const (
	// tileSide is the side of a tile of results, of which there are too few, and deepParts the depth of a part at least; each is a multiple of deepUnit.
	tileSide, deepParts, deepUnit = 128, 512, 64
	// mostParts is how many parts there are at most: they are written and read again.
	mostParts = 128
)

// halveDepth finds the only product of a kernel whose depth is to be divided; sizes are those of the dimensions.
func halveDepth(f *ir.Func, multiprocessors int, sizes func(*ir.Dim) int64) *Halves {
	var product *ir.Op
	for _, op := range f.Body.Ops {
		if len(op.Over) > 0 || op.Combines() || op.Code.Row().Group == lang.GroupSort {
			if product != nil || op.Code != lang.OpDot || len(op.Over) != 1 {
				return nil
			}
			product = op
		}
	}
	if product == nil || f.HasRanges() || sizes == nil {
		return nil
	}
	k := product.Over[0]
	if !entire(k) {
		return nil
	}
	h := &Halves{Value: product, depth: k}
	tiles := int64(1)
	for _, a := range f.Grid() {
		if n := sizes(a.Dim); product.Result().Type.Has(a) {
			tiles *= (n + tileSide - 1) / tileSide
		} else {
			return nil
		}
	}
	if slices.ContainsFunc(product.Result().Type.Axes, func(a *ir.Axis) bool { return a.Kind != ir.Grid }) {
		return nil
	}
	if tiles < 1 || tiles*largestCluster >= int64(multiprocessors) {
		return nil
	}
	most := min(int64(multiprocessors)/tiles, k.Len/deepParts, mostParts)
	for n := most; n > largestCluster && n > most/2; n-- {
		if k.Len%(n*deepUnit) == 0 {
			h.parts = n
			break
		}
	}
	if h.parts == 0 || !h.divides(f, neededFor(h.Value)) {
		return nil
	}
	h.Shape = []*ir.Dim{f.ConstDim(h.parts)}
	for _, a := range f.Grid() {
		h.Shape = append(h.Shape, a.Dim)
	}
	return h
}

// divides reports that the depth is a dimension of its own of all that has it, which can be two: that of the parts and that of the positions of each. Only what is needed may have it;
// nil stands for all.
func (h *Halves) divides(f *ir.Func, needed map[*ir.Op]bool) bool {
	places := map[*ir.Tensor]int{}
	for _, op := range f.Body.Ops {
		switch {
		case op.Code == lang.OpIndex && op.Axis == h.depth:
			continue
		case op.Axis == h.depth || op.From == h.depth:
			return false
		}
		of := func(v *ir.Value) bool { return v.Def != nil && v.Def.Code == lang.OpIndex && v.Def.Axis == h.depth }
		t := op.Tensor
		if t == nil {
			if slices.ContainsFunc(op.Args, of) || slices.Contains(op.Axes, h.depth) {
				return false
			}
			continue
		}
		at := -1
		for d, v := range op.Indices() {
			switch {
			case of(v) && at < 0 && !op.Checked[d] && t.Shape[d] == h.depth.Dim && (t.Strides == nil || t.Strides[d].Known()):
				at = d
			case v.Type.Has(h.depth):
				return false
			}
		}
		if old, seen := places[t]; seen && old != at || at >= 0 && needed != nil && (op.Code != lang.OpLoad || !needed[op]) {
			return false
		}
		places[t] = at
	}
	return true
}

// frontOfDepth makes the first launch: the products of all parts.
func (h *Halves) frontOfDepth(f *ir.Func) {
	needed := neededFor(h.Value)
	f.Body.Ops = slices.DeleteFunc(f.Body.Ops, func(op *ir.Op) bool { return !needed[op] })
	part, number := h.divide(f)
	b := &ir.Builder{Func: f, Block: f.Body, At: h.Value.At}
	at := []*ir.Value{number}
	for _, a := range f.Grid() {
		if a != part {
			at = append(at, h.place(b, a))
		}
	}
	t := h.tensor(f, lang.Out)
	b.Emit(&ir.Op{Code: lang.OpStore, Tensor: t, Args: append(at, h.Value.Result()), Checked: make([]bool, len(t.Shape))})
	gridFirst(f)
	dropAxes(f)
}

// divide makes two axes of the depth of all operations: one of the grid for the parts, of which it gives the position too, and one of the positions of each, which has the depth's name.
func (h *Halves) divide(f *ir.Func) (part *ir.Axis, number *ir.Value) {
	k := h.depth
	length := k.Len / h.parts
	part = f.AddAxis(ir.Axis{Name: k.Name + "_part", Kind: ir.Grid, Scalar: true, Dim: f.ConstDim(h.parts), At: k.At})
	each := f.AddAxis(ir.Axis{Name: k.Name, Kind: ir.Whole, Dim: f.ConstDim(length), Len: length, Extent: length, At: k.At})
	one := func(axes []*ir.Axis) []*ir.Axis {
		axes = slices.Clone(axes)
		if i := slices.Index(axes, k); i >= 0 {
			axes[i] = each
		}
		return axes
	}
	places := map[*ir.Tensor]int{} // where their depth is, of those that have it
	for _, op := range f.Body.Ops {
		if op.Tensor != nil {
			if at := slices.IndexFunc(op.Indices(), func(v *ir.Value) bool { return v.Type.Has(k) }); at >= 0 {
				places[op.Tensor] = at
			}
		}
	}
	for t, at := range places {
		t.Shape = slices.Concat(t.Shape[:at], []*ir.Dim{part.Dim, each.Dim}, t.Shape[at+1:])
		if t.Strides != nil {
			t.Strides = slices.Insert(slices.Clone(t.Strides), at, &ir.Dim{Value: length * t.Strides[at].Value, Divisor: 1})
		}
	}
	b := &ir.Builder{Func: f, Block: &ir.Block{}}
	number = b.Emit(&ir.Op{Code: lang.OpStart, Axis: part})[0]
	for _, op := range f.Body.Ops {
		if op.Code == lang.OpIndex && op.Axis == k {
			op.Axis = each
		}
		if at, has := places[op.Tensor]; has {
			op.Args = slices.Insert(slices.Clone(op.Args), at, number)
			op.Checked = slices.Insert(slices.Clone(op.Checked), at, false)
		}
		op.Axes, op.Over = one(op.Axes), one(op.Over)
		for _, v := range op.Results {
			v.Type.Axes = one(v.Type.Axes)
		}
		b.Block.Ops = append(b.Block.Ops, op)
	}
	f.Body.Ops = b.Block.Ops
	f.Axes = slices.DeleteFunc(f.Axes, func(a *ir.Axis) bool { return a == k })
	each.Name = k.Name
	return part, number
}

// place emits the position along an axis of the grid.
func (h *Halves) place(b *ir.Builder, a *ir.Axis) *ir.Value {
	if a.Scalar {
		return b.Emit(&ir.Op{Code: lang.OpStart, Axis: a})[0]
	}
	return b.Emit(&ir.Op{Code: lang.OpIndex, Axis: a})[0]
}

// behindDepth makes the second launch: the sums of the parts, and what the kernel does with them.
func (h *Halves) behindDepth(f *ir.Func) {
	n := slices.Index(f.Body.Ops, h.Value)
	rest := f.Body.Ops[n+1:]
	b := &ir.Builder{Func: f, Block: &ir.Block{Ops: slices.Clone(f.Body.Ops[:n])}, At: h.Value.At}
	parts := f.AddAxis(ir.Axis{Name: h.depth.Name + "_part", Kind: ir.Whole, Dim: h.Shape[0], Len: h.parts, Extent: h.parts})
	at := []*ir.Value{b.Emit(&ir.Op{Code: lang.OpIndex, Axis: parts})[0]}
	for _, a := range f.Grid() {
		at = append(at, h.place(b, a))
	}
	t := h.tensor(f, lang.In)
	v := b.Emit(&ir.Op{Code: lang.OpLoad, Tensor: t, Args: at, Checked: make([]bool, len(at))})[0]
	v = b.Emit(&ir.Op{Code: lang.OpSum, Args: []*ir.Value{v}, Over: []*ir.Axis{parts}, Precision: h.Value.Precision})[0]
	f.Body.Ops = append(b.Block.Ops, rest...)
	f.Body.Replace(map[*ir.Value]*ir.Value{h.Value.Result(): v})
	liveness(f).sweep(f.Body)
	dropAxes(f)
}
