package pass

import (
	"maps"
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file cuts a kernel in two launches, with a tensor between them. Two kinds of kernels gain by it, beside those that scan (halvescan.go), products of much depth (halvedepth.go) and rows that are
// gone through again (halverows.go). One that reduces very much to one number, or to few, has
// a block for each, or those of a cluster: cut, many blocks reduce a part each, in an order that the part has, and the second launch reduces what they give,
// in order too. One whose rows are a product that is reduced again, as a linear layer with a softmax behind, makes the product anew for each
// loop over a row that does not fit a block: cut, the product is made once, by blocks that need not have whole rows.

// Halves is a kernel, after the passes that run before there is a plan, and where it is cut.
type Halves struct {
	// Value is the product or the reduction whose result lies between the launches, or, of a reduction, its parts; or the scan whose parts' sums do.
	Value *ir.Op
	// Shape is that of the tensor between them.
	Shape []*ir.Dim
	// part is, of a reduction, the axis of which each block has so many positions; nil of a product. along are the axes of the grid that
	// what is reduced depends on.
	part   *ir.Axis
	extent int64
	along  []*ir.Axis
	// depth is, of a product whose depth is divided, its axis, and parts how many parts there are.
	depth *ir.Axis
	parts int64
	// rows are, of a kernel of rows, its reductions, and rowAxes the axes that these are over, of which the last is divided.
	rows    []rowPart
	rowAxes []*ir.Axis
}

const (
	// manyElements is how many elements one number is made of at least where many blocks are to do it.
	manyElements = 1 << 20
	// partsOfSM is how many blocks each multiprocessor has of such a reduction, partElements how many elements a block has at least.
	partsOfSM, partElements = 8, 1 << 13
	// rowsOfProduct is how many positions a block has at least where each has products.
	rowsOfProduct = 128
	// largestCluster is how many blocks a cluster has at most.
	largestCluster = 8
)

// Halve finds where a kernel is to be cut for a machine of so many multiprocessors, with dimensions of these sizes; nil where it stays one launch.
func Halve(f *ir.Func, multiprocessors int, sizes func(*ir.Dim) int64) *Halves {
	if !cuts(f) {
		return nil
	}
	if h := halveReduction(f, multiprocessors); h != nil {
		return h
	}
	if h := halveScan(f, multiprocessors); h != nil {
		return h
	}
	if h := halveDepth(f, multiprocessors, sizes); h != nil {
		return h
	}
	return halveProduct(f)
}

// cuts reports a kernel that can be cut at all.
func cuts(f *ir.Func) bool {
	return !f.HasDebug() && !slices.ContainsFunc(f.Body.Ops, func(op *ir.Op) bool { return len(op.Blocks) > 0 || !op.Pure() && op.Code != lang.OpStore }) &&
		!slices.ContainsFunc(f.Tensors, func(t *ir.Tensor) bool { return t.Scratch || t.Mode == lang.InOut })
}

// OfProduct reports a cut behind a product, or in its depth; else it is one of a reduction.
func (h *Halves) OfProduct() bool { return h.part == nil }

// OfRows reports a cut of a kernel of rows, whose second launch reads them again.
func (h *Halves) OfRows() bool { return h.rows != nil }

// Type is that of the elements between the launches.
func (h *Halves) Type() lang.DType { return h.Value.Result().Type.DType }

// entire reports a Whole axis over all of its dimension.
func entire(a *ir.Axis) bool {
	return a.Kind == ir.Whole && a.Dim != nil && a.Lo == 0 && a.Dim.Known() && a.Len == a.Dim.Value && a.Split <= 1 && len(a.Choices) == 0
}

// halveReduction finds the only reduction of very many elements to one number, or to so few that a block for each, or a cluster, leaves
// most of the machine idle.
func halveReduction(f *ir.Func, multiprocessors int) *Halves {
	var found *ir.Op
	var inner []*ir.Op // what it is made of: reductions of each of its positions
	for _, op := range f.Body.Ops {
		if op.Combines() || op.Code.Row().Group == lang.GroupSort {
			return nil
		}
		if len(op.Over) == 0 {
			continue
		}
		if found != nil {
			inner = append(inner, found)
		}
		found = op
	}
	if found == nil || slices.ContainsFunc(found.Result().Type.Axes, func(a *ir.Axis) bool { return a.Kind != ir.Grid }) || slices.ContainsFunc(found.Over, func(a *ir.Axis) bool { return !entire(a) }) {
		return nil
	}
	switch found.Code {
	case lang.OpSum, lang.OpMean, lang.OpReduceMax, lang.OpReduceMin:
	default:
		return nil
	}
	if f.HasRanges() {
		return nil
	}
	results := int64(1)
	for _, a := range f.Grid() {
		if !a.Dim.Known() || a.Dim.Value < 1 || results > int64(multiprocessors) {
			return nil
		}
		results *= a.Dim.Value
	}
	if results*largestCluster*2 > int64(multiprocessors) {
		return nil
	}
	var longest *ir.Axis // the first of those of enough parts
	elements := int64(1)
	needed := neededFor(found)
	for _, a := range f.Axes {
		reduced := slices.ContainsFunc(inner, func(op *ir.Op) bool { return slices.Contains(op.Over, a) })
		if !slices.Contains(found.Over, a) && !reduced {
			continue
		}
		elements *= max(a.Len, 1)
		if reduced || slices.ContainsFunc(inner, func(op *ir.Op) bool { return !needed[op] || !op.Result().Type.Has(a) }) {
			continue
		}
		if longest == nil || longest.Len < int64(partsOfSM*multiprocessors) && a.Len > longest.Len {
			longest = a
		}
	}
	if longest == nil || elements*results < manyElements {
		return nil
	}
	h := &Halves{Value: found, part: longest, extent: 1}
	if slices.ContainsFunc(inner, func(op *ir.Op) bool { return op.Code.Row().Group == lang.GroupContract }) {
		h.extent = min(rowsOfProduct, longest.Len)
	}
	for _, a := range f.Grid() {
		if slices.ContainsFunc(slices.Collect(maps.Keys(needed)), func(op *ir.Op) bool { return op.Axis == a }) {
			h.along = append(h.along, a)
			h.Shape = append(h.Shape, a.Dim)
		}
	}
	others := elements / longest.Len
	for 2*h.extent*int64(partsOfSM*multiprocessors) <= longest.Len*results || h.extent*others < partElements && 2*h.extent < longest.Len {
		if h.extent >= partElements {
			break
		}
		h.extent *= 2
	}
	h.Shape = append(h.Shape, f.ConstDim((longest.Len+h.extent-1)/h.extent))
	return h
}

// halveProduct finds the only product of a kernel, where something reduces it along columns that it has itself.
func halveProduct(f *ir.Func) *Halves {
	var product *ir.Op
	for _, op := range f.Body.Ops {
		if op.Code.Row().Group == lang.GroupContract {
			if product != nil || op.Code != lang.OpDot {
				return nil
			}
			product = op
		}
	}
	if product == nil {
		return nil
	}
	made := map[*ir.Value]bool{product.Result(): true}
	again := false
	for _, op := range f.Body.Ops {
		if slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return made[v] }) {
			for _, r := range op.Results {
				made[r] = true
			}
			again = again || slices.ContainsFunc(op.Over, product.Result().Type.Has)
		}
	}
	h := &Halves{Value: product}
	for _, a := range f.Axes {
		has := product.Result().Type.Has(a)
		switch {
		case a.Kind == ir.Grid && (has || a.Scalar), has && entire(a):
			h.Shape = append(h.Shape, a.Dim)
		case a.Kind == ir.Grid || has:
			return nil
		}
	}
	if !again {
		return nil
	}
	return h
}

// tensor declares the tensor between the launches.
func (h *Halves) tensor(f *ir.Func, mode lang.ParamMode) *ir.Tensor {
	inputs := slices.DeleteFunc(slices.Clone(f.Tensors), func(t *ir.Tensor) bool { return t.Mode != lang.In })
	t := &ir.Tensor{Name: Between, DType: h.Type(), Mode: mode, Shape: h.Shape, Align: 16}
	outputs := slices.DeleteFunc(slices.Clone(f.Tensors), func(t *ir.Tensor) bool { return t.Mode == lang.In })
	if f.Tensors = append(inputs, t); mode == lang.In {
		f.Tensors = append(f.Tensors, outputs...)
	}
	return t
}

// Between is the name of the tensor between the launches of a kernel that is cut.
const Between = "between"

// places emits the indices of the product's element, or of the reduction's without that of the part.
func (h *Halves) places(f *ir.Func, b *ir.Builder) []*ir.Value {
	var at []*ir.Value
	for _, a := range f.Axes {
		switch {
		case !h.OfProduct() && !slices.Contains(h.along, a):
		case h.Value.Result().Type.Has(a), a.Kind == ir.Grid && a.Scalar:
			at = append(at, h.place(b, a))
		}
	}
	return at
}

// neededFor is an operation and all that its operands are computed by.
func neededFor(op *ir.Op) map[*ir.Op]bool {
	needed := map[*ir.Op]bool{}
	var need func(op *ir.Op)
	need = func(op *ir.Op) {
		if op == nil || needed[op] {
			return
		}
		needed[op] = true
		for _, v := range op.Args {
			need(v.Def)
		}
	}
	need(op)
	return needed
}

// Front makes the first launch of the kernel.
func (h *Halves) Front(f *ir.Func) {
	if h.rows != nil {
		h.frontOfRows(f)
		return
	}
	if h.depth != nil {
		h.frontOfDepth(f)
		return
	}
	needed := neededFor(h.Value)
	b := &ir.Builder{Func: f, Block: f.Body, At: h.Value.At}
	f.Body.Ops = slices.DeleteFunc(f.Body.Ops, func(op *ir.Op) bool { return !needed[op] })
	t := h.tensor(f, lang.Out)
	var at []*ir.Value
	if h.OfProduct() {
		at = h.places(f, b)
		for _, a := range h.Value.Result().Type.Axes {
			if a.Kind == ir.Whole {
				a.Kind, a.Len, a.Extent = ir.Grid, 0, 0
			}
		}
	} else {
		if h.Value.Code == lang.OpMean {
			h.Value.Code = lang.OpSum
		}
		h.part.Kind, h.part.Len, h.part.Extent, h.part.Choices = ir.Grid, 0, 0, []int64{h.extent}
		start := b.Emit(&ir.Op{Code: lang.OpStart, Axis: h.part})[0]
		at = append(h.places(f, b), b.Op(lang.OpDiv, start, b.Position(h.part, h.extent)))
	}
	v := h.Value.Result()
	if h.Value.Code == lang.OpScan {
		f.Body.Ops = slices.DeleteFunc(f.Body.Ops, func(op *ir.Op) bool { return op == h.Value })
		v = b.Emit(&ir.Op{Code: lang.OpSum, Args: h.Value.Operands(), Over: h.Value.Over})[0]
	}
	b.Emit(&ir.Op{Code: lang.OpStore, Tensor: t, Args: append(at, v), Checked: make([]bool, len(t.Shape))})
	gridFirst(f)
	dropAxes(f)
}

// gridFirst puts the axes of the grid before others.
func gridFirst(f *ir.Func) {
	slices.SortStableFunc(f.Axes, func(x, y *ir.Axis) int { return min(int(x.Kind), 1) - min(int(y.Kind), 1) })
}

// Behind makes the second launch of the kernel.
func (h *Halves) Behind(f *ir.Func) {
	if h.Value.Code == lang.OpScan {
		h.scanBehind(f)
		return
	}
	if h.rows != nil {
		h.behindRows(f)
		return
	}
	if h.depth != nil {
		h.behindDepth(f)
		return
	}
	n := slices.Index(f.Body.Ops, h.Value)
	rest := f.Body.Ops[n+1:]
	b := &ir.Builder{Func: f, Block: &ir.Block{Ops: slices.Clone(f.Body.Ops[:n])}, At: h.Value.At}
	var at []*ir.Value
	total := int64(1)
	var parts *ir.Axis
	if h.OfProduct() {
		at = h.places(f, b)
	} else {
		for _, a := range h.Value.Over {
			total *= a.Len
		}
		d := h.Shape[len(h.Shape)-1]
		parts = f.AddAxis(ir.Axis{Name: h.part.Name + "_part", Kind: ir.Whole, Dim: d, Len: d.Value, Extent: d.Value})
		at = append(h.places(f, b), b.Emit(&ir.Op{Code: lang.OpIndex, Axis: parts})[0])
	}
	t := h.tensor(f, lang.In)
	v := b.Emit(&ir.Op{Code: lang.OpLoad, Tensor: t, Args: at, Checked: make([]bool, len(at))})[0]
	if parts != nil {
		code := h.Value.Code
		if code == lang.OpMean {
			code = lang.OpSum
		}
		v = b.Emit(&ir.Op{Code: code, Args: []*ir.Value{v}, Over: []*ir.Axis{parts}, Precision: h.Value.Precision})[0]
		if h.Value.Code == lang.OpMean {
			v = b.Op(lang.OpDiv, v, b.Const(v.Type.DType, ir.Const{Float: float64(total)}))
		}
	}
	f.Body.Ops = append(b.Block.Ops, rest...)
	f.Body.Replace(map[*ir.Value]*ir.Value{h.Value.Result(): v})
	liveness(f).sweep(f.Body)
	dropAxes(f)
}
