package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file cuts a kernel that computes with sums, largest elements, means and the squares of what is off these of rows that are too long, or too few: norms of images, and of
// the samples of a channel. One launch would read a row for its mean, for what is off it, and for its results, by as many blocks as there are rows. In the first launch blocks
// have parts of the rows, and reduce each once; the second puts the parts together, as block/moments.go does what threads have, and has blocks for all results.

const (
	// partOfRow is how many positions a part has, of rows of neighbours in memory, and partOfColumn of columns, of which a block has several.
	partOfRow, partOfColumn = 16384, 256
	// fewestParts is how many parts a row has at least, and mostPartsOfRow at most: each block of the second launch goes through those of its rows.
	fewestParts, mostPartsOfRow = 4, 512
)

// rowPart is a reduction of rows: of parts they are put together by how. Of squares of what is off a mean, mean is the number of that one, else -1.
type rowPart struct {
	op   *ir.Op
	mean int
}

// HalveRows finds how a kernel is cut that goes through its rows more than once; nil where it is not.
func HalveRows(f *ir.Func) *Halves {
	if !cuts(f) || f.HasRanges() {
		return nil
	}
	h := &Halves{}
	var over []*ir.Axis
	for _, op := range f.Body.Ops {
		if op.Combines() || op.Code.Row().Group == lang.GroupSort || op.Code.Row().Group == lang.GroupContract {
			return nil
		}
		if len(op.Over) == 0 {
			continue
		}
		if over == nil {
			over = op.Over
		}
		one := h.rowPartOf(op)
		if one == nil || len(ir.Without(over, op.Over))+len(ir.Without(op.Over, over)) > 0 {
			return nil
		}
		h.rows = append(h.rows, *one)
	}
	if len(h.rows) == 0 || len(h.rows) == 1 && !h.wide(f, over) || slices.ContainsFunc(over, func(a *ir.Axis) bool { return !entire(a) }) {
		return nil
	}
	h.Value = h.rows[0].op
	for _, a := range f.Axes { // in the order in which they lie, where they lie in order
		if slices.Contains(over, a) {
			h.rowAxes = append(h.rowAxes, a)
		}
	}
	last := h.rowAxes[len(h.rowAxes)-1]
	for _, a := range f.Axes { // each position of the grid has a row of its own, of each reduction, and nothing else
		switch {
		case a.Kind != ir.Grid && !slices.Contains(over, a), a.Kind == ir.Grid && !a.Scalar && slices.ContainsFunc(h.rows, func(r rowPart) bool { return !r.op.Result().Type.Has(a) }):
			return nil
		}
	}
	for _, op := range f.Body.Ops { // results of rows and of all elements are no matter of the same blocks
		if op.Code == lang.OpStore && len(ir.Without(over, ir.Union(valueTypes(op.Indices())...))) > 0 && h.wide(f, over) {
			return nil
		}
	}
	target := int64(partOfColumn)
	if h.contiguous(f, last) {
		target = partOfRow
	}
	each := last.Len
	for each > target && each%2 == 0 {
		each /= 2
	}
	h.depth, h.parts = last, last.Len/each
	all := h.parts
	for _, a := range h.rowAxes[:len(h.rowAxes)-1] {
		all *= a.Len
	}
	if each > 2*target || all < fewestParts || all > mostPartsOfRow || h.parts > 1 && !h.divides(f, nil) {
		return nil
	}
	for _, a := range f.Grid() {
		h.Shape = append(h.Shape, a.Dim)
	}
	for _, a := range h.rowAxes[:len(h.rowAxes)-1] {
		h.Shape = append(h.Shape, a.Dim)
	}
	h.Shape = append(h.Shape, f.ConstDim(h.parts), f.ConstDim(int64(len(h.rows))))
	return h
}

func valueTypes(vs []*ir.Value) (types []ir.Type) {
	for _, v := range vs {
		types = append(types, v.Type)
	}
	return types
}

// wide reports a kernel that stores elements along the axes of the rows.
func (h *Halves) wide(f *ir.Func, over []*ir.Axis) bool {
	return slices.ContainsFunc(f.Body.Ops, func(op *ir.Op) bool {
		return op.Code == lang.OpStore && slices.ContainsFunc(op.Indices(), func(v *ir.Value) bool { return slices.ContainsFunc(over, v.Type.Has) })
	})
}

// contiguous reports rows whose neighbours along an axis are neighbours in memory.
func (h *Halves) contiguous(f *ir.Func, a *ir.Axis) bool {
	for op := range neededFor(h.Value) {
		if op.Code == lang.OpLoad && len(op.Indices()) > 0 && op.Indices()[len(op.Indices())-1].Type.Has(a) {
			return true
		}
	}
	return false
}

// rowPartOf is a reduction of what no other reduction has a part in, or of the squares of what is off a mean; nil for others.
func (h *Halves) rowPartOf(op *ir.Op) *rowPart {
	if op.Result().Type.DType != lang.F32 || len(ir.Without(op.Over, op.Args[0].Type.Axes)) > 0 || op.Precision != "" && op.Precision != "ieee" {
		return nil
	}
	needed := neededFor(op)
	reads := func(r rowPart) bool { return needed[r.op] }
	if !slices.ContainsFunc(h.rows, reads) {
		switch op.Code {
		case lang.OpSum, lang.OpMean, lang.OpReduceMax, lang.OpReduceMin:
			return &rowPart{op, -1}
		}
		return nil
	}
	square := op.Args[0].Def
	if op.Code != lang.OpSum && op.Code != lang.OpMean || square == nil || square.Code != lang.OpMul || square.Args[0] != square.Args[1] {
		return nil
	}
	off := square.Args[0].Def
	if off == nil || off.Code != lang.OpSub {
		return nil
	}
	i := slices.IndexFunc(h.rows, func(r rowPart) bool { return r.op.Result() == off.Args[1] })
	if i < 0 || h.rows[i].op.Code != lang.OpMean || h.rows[i].mean >= 0 || h.rows[i].op.Args[0] != off.Args[0] {
		return nil
	}
	return &rowPart{op, i}
}

// frontOfRows makes the first launch: what the parts of rows give.
func (h *Halves) frontOfRows(f *ir.Func) {
	needed := map[*ir.Op]bool{}
	for _, r := range h.rows {
		for op := range neededFor(r.op) {
			needed[op] = true
		}
	}
	f.Body.Ops = slices.DeleteFunc(f.Body.Ops, func(op *ir.Op) bool { return !needed[op] })
	grid := f.Grid()
	outer := h.rowAxes[:len(h.rowAxes)-1]
	b := &ir.Builder{Func: f, Block: f.Body, At: h.Value.At}
	number := (*ir.Value)(nil)
	if h.parts > 1 {
		_, number = h.divide(f)
		b.Block = f.Body
	}
	for _, a := range outer {
		a.Kind, a.Len, a.Extent = ir.Grid, 0, 0
	}
	var at []*ir.Value
	for _, a := range slices.Concat(grid, outer) {
		at = append(at, h.place(b, a))
	}
	if number == nil {
		number = b.Int(0)
	}
	at = append(at, number)
	t := h.tensor(f, lang.Out)
	for i, r := range h.rows {
		r.op.Over = slices.DeleteFunc(slices.Clone(r.op.Over), func(a *ir.Axis) bool { return slices.Contains(outer, a) })
		r.op.Result().Type.Axes = ir.Without(r.op.Args[0].Type.Axes, r.op.Over)
		if r.mean >= 0 {
			r.op.Code = lang.OpSum
		}
		b.Emit(&ir.Op{Code: lang.OpStore, Tensor: t, Args: append(slices.Clone(at), b.Int(int64(i)), r.op.Result()), Checked: make([]bool, len(t.Shape))})
	}
	gridFirst(f)
	dropAxes(f)
}

// behindRows makes the second launch: it puts the parts together, and computes what is left.
func (h *Halves) behindRows(f *ir.Func) {
	n := slices.IndexFunc(f.Body.Ops, func(op *ir.Op) bool { return op == h.Value })
	rest := f.Body.Ops[n:]
	b := &ir.Builder{Func: f, Block: &ir.Block{Ops: slices.Clone(f.Body.Ops[:n])}, At: h.Value.At}
	var at []*ir.Value
	for _, a := range f.Grid() {
		at = append(at, h.place(b, a))
	}
	total, parts := int64(1), []*ir.Axis{}
	for i, a := range h.rowAxes {
		total *= a.Len
		length := a.Len
		if i == len(h.rowAxes)-1 {
			length = h.parts
		}
		if length == 1 {
			at = append(at, b.Int(0))
			continue
		}
		p := f.AddAxis(ir.Axis{Name: a.Name + "_part", Kind: ir.Whole, Dim: f.ConstDim(length), Len: length, Extent: length})
		parts = append(parts, p)
		at = append(at, b.Emit(&ir.Op{Code: lang.OpIndex, Axis: p})[0])
	}
	t := h.tensor(f, lang.In)
	each := float64(h.depth.Len / h.parts)
	loads, stand := []*ir.Value{}, map[*ir.Value]*ir.Value{}
	number := func(x float64) *ir.Value { return b.Const(lang.F32, ir.Const{Float: x}) }
	for i, r := range h.rows {
		b.At = r.op.At
		load := b.Emit(&ir.Op{Code: lang.OpLoad, Tensor: t, Args: append(slices.Clone(at), b.Int(int64(i))), Checked: make([]bool, len(t.Shape))})[0]
		loads = append(loads, load)
		reduce := func(code lang.Op, v *ir.Value) *ir.Value {
			return b.Emit(&ir.Op{Code: code, Args: []*ir.Value{v}, Over: parts, Precision: r.op.Precision})[0]
		}
		v := (*ir.Value)(nil)
		if r.mean < 0 {
			v = reduce(r.op.Code, load)
		} else { // squares of what is off the parts' means, and of what these are off the mean
			off := b.Op(lang.OpSub, loads[r.mean], stand[h.rows[r.mean].op.Result()])
			v = b.Op(lang.OpAdd, reduce(lang.OpSum, load), b.Op(lang.OpMul, reduce(lang.OpSum, b.Op(lang.OpMul, off, off)), number(each)))
			if r.op.Code == lang.OpMean {
				v = b.Op(lang.OpDiv, v, number(float64(total)))
			}
		}
		v.Name = r.op.Result().Name
		stand[r.op.Result()] = v
	}
	f.Body.Ops = append(b.Block.Ops, rest...)
	f.Body.Replace(stand)
	liveness(f).sweep(f.Body)
	for _, a := range h.rowAxes {
		a.Kind, a.Len, a.Extent = ir.Grid, 0, 0
	}
	gridFirst(f)
	f.Axes = slices.DeleteFunc(f.Axes, func(a *ir.Axis) bool { return slices.Contains(h.rowAxes, a) && mention(f, a) == nil })
	dropAxes(f)
}
