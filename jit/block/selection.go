package block

import (
	"math"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file decides how the largest elements of a row are found: one after the other, or all above a threshold at once.

// OneByOne and ByThreshold are the values of the setting `selection`.
const OneByOne, ByThreshold = 1, 2

// fewResults is from how many results on a threshold pays: each found by itself takes a reduction of the row.
const fewResults = 8

// Ranked reports a topk whose elements have ranks, numbers of 64 bits that order them as topk does with their positions: elements have up to 32 bits.
func Ranked(op *ir.Op) bool {
	d, over := op.Args[0].Type.DType, op.Over[0]
	return (d.IsFloat() || d.IsInt()) && d.Bits() <= 32 && over.Lo+over.Len < math.MaxInt32
}

// FindsThreshold reports a topk of ranks, of so many rows in a block, that finds a threshold: all threads count the elements of one row.
func FindsThreshold(op *ir.Op, rows, asked int64) bool {
	return Ranked(op) && rows == 1 && asked != OneByOne && (asked == ByThreshold || op.Axis.Len >= fewResults)
}

// rowsOf is how many rows a topk has in a block.
func rowsOf(op *ir.Op) int64 { return int64(Volume(ir.Without(op.Args[0].Type.Axes, op.Over))) }

// Selection is FindsThreshold of an operation whose extents are decided.
func Selection(op *ir.Op, asked int64) bool { return FindsThreshold(op, rowsOf(op), asked) }

// findsThreshold reports a block that has such a topk.
func (p *Program) findsThreshold() bool {
	found := false
	p.Func.Walk(func(op *ir.Op) bool {
		found = found || op.Code == lang.OpTopK
		return !found
	})
	return found
}
