package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// This file decides how rows come to be in shared memory that the pass `keep` has there: stored by the threads that load them, or
// copied as a whole, by one thread, before the loop that would load them.

// The forms of rows that several loops load: read by each of them, kept by the threads of the first, copied before that one, or copied ahead, by
// blocks that stay, while they go through the row before.
const (
	readAgain = 1 + iota
	keptByThreads
	copied
	copiedAhead
)

// bulkUnit is what addresses and sizes of copies of contiguous bytes are multiples of.
const bulkUnit = 16

// RowCopy is a row that is copied to shared memory before the loop that loads it first.
type RowCopy struct {
	// Load is the load in the loop, and Kept what takes its place: a load of the tensor in shared memory. Store is what is left out.
	Load, Kept, Store *ir.Op
	Bytes             int64
	// Loop is the loop that loads the row first. The row comes in Parts of Step positions, which are those of the loop's steps; 0 for as a whole.
	// Of a block that stays, Last is the loop that loads it last, in the same steps.
	Loop, Last  *ir.Op
	Step, Parts int64
}

// copyRows finds the rows that are copied.
func (p *Program) copyRows() {
	if p.asks("kept", copiedAhead) < copied || !p.Target.Has(target.TMA) {
		return
	}
	for _, loop := range p.Func.Body.Ops {
		if loop.Code != lang.OpFor {
			continue
		}
		for _, op := range loop.Blocks[0].Ops {
			if op.Code == lang.OpStore && op.Tensor.Shared {
				if c := p.newRowCopy(loop, op); c != nil {
					p.RowCopies[loop] = append(p.RowCopies[loop], c)
				}
			}
		}
	}
}

// newRowCopy is how a row is copied that a loop stores in shared memory; nil where it is not contiguous, as long as the tensor's
// rows, and at addresses of copies.
func (p *Program) newRowCopy(loop, store *ir.Op) *RowCopy {
	load := store.Stored().Def
	if load == nil || load.Code != lang.OpLoad {
		return nil
	}
	t := load.Tensor
	if !slices.Contains(loop.Blocks[0].Ops, load) || t.Strides != nil || t.Align%bulkUnit != 0 {
		return nil
	}
	bytes := store.Tensor.Bytes()
	last := len(t.Shape) - 1
	if !t.Shape[last].Known() || bytes != t.Held().Bytes(t.Shape[last].Value) || bytes%bulkUnit != 0 && !p.LoopsByWords(loop.Axis) {
		return nil
	}
	if p.LoopsByWords(loop.Axis) && !isRow(t, p.Access(load)) { // which need not begin at a word where the others do
		return nil
	}
	for i, d := range p.Access(load) {
		if d.Gather || d.Checked {
			return nil
		}
		for _, term := range d.Affine.Terms {
			if row := i == last && term.Axis == loop.Axis && term.Coef == 1; !row && (term.Axis == loop.Axis || term.Axis.Extent != 1) {
				return nil
			}
		}
		if i == last && (len(d.Affine.Terms) != 1 || len(d.Affine.Scalars) > 0 || d.Affine.Offset != 0) {
			return nil
		}
	}
	v := *load.Result()
	kept := &ir.Op{Code: lang.OpLoad, Tensor: store.Tensor, Checked: make([]bool, len(store.Indices())), Args: store.Indices(), At: load.At}
	v.Def, kept.Results = kept, []*ir.Value{&v}
	p.Homes[&v] = p.Homes[load.Result()]
	return &RowCopy{Load: load, Kept: kept, Store: store, Bytes: bytes, Loop: loop}
}
