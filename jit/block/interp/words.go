package interp

import (
	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
)

// This file has what is different of loops that go through rows by words (block.Words).

// lead is how many positions the row of the tile at which the warp stands lies behind the word in which it begins; 0 of rows by columns.
func (w *warp) lead() int64 {
	x := w.p().Words
	if x == nil {
		return 0
	}
	return w.rowOf(x.Row) % x.Unit
}

// wholeWords checks what is moved at once in a loop by words: neighbours, some of which exist, that begin at a word of their tensor, or across two.
func (w *warp) wholeWords(op *ir.Op, groups [][]int, places []int64) {
	form, _ := w.p().WordForm(op.Tensor, w.p().Access(op))
	behind := int64(0)
	if op.Tensor.Shared {
		behind = w.lead()
	}
	for _, g := range groups {
		for lane := range layout.Lanes {
			for i, r := range g {
				at := places[r*layout.Lanes+lane]
				if at < 0 {
					continue
				}
				if begin := at - int64(i) + behind; form == block.InWords && begin%int64(len(g)) != 0 {
					failf("%s of %s moves %d neighbours at once, of which element %d is at %d, in no word of theirs", op.Code, op.Tensor.Name, len(g), i, at)
				}
			}
		}
	}
}
