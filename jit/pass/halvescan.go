package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file cuts a kernel that scans one row of very many elements, or few such rows: the positions of what a filter keeps, cumulative sums. In the first launch
// many blocks add up a part of the row each. In the second each block adds up the parts before its own, in their order, and scans its part from there.

const (
	// fewestOfPart and mostOfPart are how many elements a block has of such a row at least and at most, and mostPartsOfScan how many
	// parts there are at most where these elements allow it: each block adds up those before its own.
	fewestOfPart, mostOfPart = 1 << 12, 1 << 14
	mostPartsOfScan          = 1 << 10
)

// sums reports a cumulative sum from the first element on.
func sums(op *ir.Op) bool {
	if op.Code != lang.OpScan || op.Reverse || len(op.Over) != 1 || len(op.Fn.Yield) != 1 || len(op.Fn.Ops) != 1 || len(op.Captured()) > 0 {
		return false
	}
	add := op.Fn.Ops[0]
	zero, ok := op.Identity()[0].IsConst()
	return ok && zero.Int == 0 && zero.Float == 0 && add.Code == lang.OpAdd && op.Fn.Yield[0] == add.Result() &&
		slices.Equal(add.Args, op.Fn.Params)
}

// halveScan finds the only scan of a kernel whose rows are so long and so few that the blocks of a cluster for each leave most of the machine
// idle. The kernel may add up what it scans too.
func halveScan(f *ir.Func, multiprocessors int) *Halves {
	var scan *ir.Op
	for _, op := range f.Body.Ops {
		if op.Code == lang.OpScan {
			if scan != nil || !sums(op) {
				return nil
			}
			scan = op
		}
	}
	if scan == nil || f.HasRanges() {
		return nil
	}
	along := scan.Over[0]
	for _, op := range f.Body.Ops {
		if op != scan && (op.Combines() || len(op.Over) > 0 && !addsUp(op, scan) || op.Code.Row().Group == lang.GroupSort) {
			return nil
		}
	}
	if !entire(along) || along.Dim.Wide || slices.ContainsFunc(f.Axes, func(a *ir.Axis) bool { return a.Kind != ir.Grid && a != along }) {
		return nil
	}
	rows := int64(1)
	h := &Halves{Value: scan, part: along, extent: fewestOfPart}
	for _, a := range f.Grid() {
		if !a.Dim.Known() || a.Dim.Value < 1 || rows > int64(multiprocessors) {
			return nil
		}
		rows *= a.Dim.Value
		h.along = append(h.along, a)
		h.Shape = append(h.Shape, a.Dim)
	}
	if rows*largestCluster*2 > int64(multiprocessors) || along.Len*rows < manyElements {
		return nil
	}
	for h.extent < mostOfPart && along.Len > h.extent*mostPartsOfScan {
		h.extent *= 2
	}
	h.Shape = append(h.Shape, f.ConstDim((along.Len+h.extent-1)/h.extent))
	return h
}

// addsUp reports the sum of all that is scanned.
func addsUp(op, scan *ir.Op) bool {
	return op.Code == lang.OpSum && op.Args[0] == scan.Args[0] && slices.Equal(op.Over, scan.Over)
}

// scanBehind makes the second launch of a kernel that scans.
func (h *Halves) scanBehind(f *ir.Func) {
	scan, of := h.Value, h.part
	d := h.Shape[len(h.Shape)-1]
	parts := f.AddAxis(ir.Axis{Name: of.Name + "_part", Kind: ir.Whole, Dim: d, Len: d.Value, Extent: d.Value})
	of.Kind, of.Len, of.Extent, of.Choices = ir.Grid, 0, 0, []int64{h.extent}
	b := &ir.Builder{Func: f, Block: &ir.Block{}, At: scan.At}
	part := b.Emit(&ir.Op{Code: lang.OpIndex, Axis: parts})[0]
	at := append(h.places(f, b), part)
	all := b.Emit(&ir.Op{Code: lang.OpLoad, Tensor: h.tensor(f, lang.In), Args: at, Checked: make([]bool, len(at))})[0]
	over := []*ir.Axis{parts}
	number := b.Op(lang.OpDiv, b.Emit(&ir.Op{Code: lang.OpStart, Axis: of})[0], b.Position(of, h.extent))
	zero := b.Const(all.Type.DType, ir.Const{})
	earlier := b.Op(lang.OpWhere, b.Op(lang.OpLt, part, number), all, zero)
	before := b.Emit(&ir.Op{Code: lang.OpSum, Args: []*ir.Value{earlier}, Over: over})[0]
	first := b.Op(lang.OpEq, number, b.Position(of, 0))

	m := map[*ir.Value]*ir.Value{}
	for _, op := range f.Body.Ops {
		switch {
		case op == scan:
			again := *scan
			again.Results = nil
			m[scan.Result()] = b.Op(lang.OpAdd, b.Emit(&again)[0], before)
		case addsUp(op, scan):
			m[op.Result()] = b.Emit(&ir.Op{Code: lang.OpSum, Args: []*ir.Value{all}, Over: over, Precision: op.Precision})[0]
		case op.Code == lang.OpStore && !slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return v.Type.Has(of) }): // once, not by each block
			b.Emit(&ir.Op{Code: lang.OpIf, Args: []*ir.Value{first}, Blocks: []*ir.Block{{Ops: []*ir.Op{op}}, {}}})
		default:
			b.Block.Ops = append(b.Block.Ops, op)
		}
	}
	f.Body.Ops = b.Block.Ops
	f.Body.Replace(m)
	gridFirst(f)
	liveness(f).sweep(f.Body)
	dropAxes(f)
}
