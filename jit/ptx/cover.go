package ptx

import (
	"fmt"
	"slices"
	"strings"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// This file emits loads by words that cover what a thread has (block.Cover), each of which is loaded once.

// wordAt is where a word lies and under which condition it is loaded: where a thread has it already, it is not loaded again.
type wordAt struct {
	tensor   *ir.Tensor
	at       address
	elements int64
	p        asm.Reg
}

// covered loads by words where those are fewer than the loads of neighbours along one axis.
func (k *kernel) covered(op *ir.Op, l layout.Layout, mnemonic string, fill func(r int) asm.Reg) ([]asm.Reg, bool) {
	c, ok := k.Cover(op, l)
	if !ok {
		return nil, false
	}
	x := k.indexing(op, l)
	along := block.Contiguous(x.dims)
	masked := x.clamp(op, op.Result().Type.Axes, along)
	_, neighbours := l.Groups(along, l.Aligned(along, k.neighbours(op.Tensor, x.dims, along)))
	if x.clamped != nil || int(c.Elements) <= neighbours {
		return nil, false
	}
	// word is the one that a register's element lies in: where, and by how many elements behind its beginning.
	type word struct {
		row string
		at  int64
	}
	words, behind := make([]word, l.Regs()), make([]int64, l.Regs())
	first, apart := map[word]int{}, map[word]bool{} // a register with an element in the word; the elements one by one
	for r := range words {
		row, at := x.inRow(c, r)
		behind[r] = (at%c.Elements + c.Elements) % c.Elements
		words[r] = word{row, (at - behind[r]) / c.Elements}
		apart[word{row, at}] = true
		if _, known := first[words[r]]; !known {
			first[words[r]] = r
		}
	}
	if len(first) >= len(apart)/neighbours*k.fieldLoads(op) {
		return nil, false
	}
	from := k.addressingBy(op, c.Begin(x.dims), l)
	regs, inside := make([]asm.Reg, len(words)), map[word]asm.Reg{}
	for r, w := range words {
		if r == first[w] {
			inside[w] = x.inside(r)
		}
		regs[r] = k.loadWord(op, from, c, first[w], w.at, mnemonic, k.both(k.mask(l, masked, r), inside[w]))[behind[r]]
		if fill != nil {
			regs[r] = k.selected(inside[w], regs[r], fill(r))
		}
	}
	return regs, true
}

// loadWord gives the elements of a word, which is loaded where the thread has not got it.
func (k *kernel) loadWord(op *ir.Op, from *addressing, c block.Cover, r int, at int64, mnemonic string, p asm.Reg) []asm.Reg {
	t := op.Tensor
	w := wordAt{t, from.at(r), c.Elements, p}
	_, lies := from.inRow(c, r)
	w.at.offset += (at*c.Elements - (lies - c.Added)) * from.size
	for s := k.scope; s != nil; s = s.parent {
		if got := s.words[w]; got != nil {
			return got
		}
		if !t.ReadOnly() { // a loop around may have written it since
			break
		}
	}
	got := k.fetchAt(t.Held(), int(c.Elements), mnemonic, p, w.at)
	k.scope.words[w] = got
	return got
}

// fieldLoads counts the loads of a tensor at the same places but for the innermost dimension, as those of the fields of a record.
func (k *kernel) fieldLoads(op *ir.Op) (n int) {
	last := len(op.Tensor.Shape) - 1
	k.Func.Walk(func(other *ir.Op) bool {
		if other.Code == lang.OpLoad && other.Tensor == op.Tensor && slices.Equal(other.Indices()[:last], op.Indices()[:last]) {
			n++
		}
		return true
	})
	return n
}

// inRow gives where register r's element lies: along the dimensions before those that words go through, and how many elements behind where those of register 0 would
// begin if nothing were added to their positions.
func (x *addressing) inRow(c block.Cover, r int) (row string, behind int64) {
	var b strings.Builder
	behind = c.Added
	for i, d := range x.dims {
		switch {
		case i >= c.From:
			behind += x.coord(i, r) * d.Stride
		case d.Gather:
			fmt.Fprintf(&b, "%v ", x.gathered[i][x.l.Project(r, d.Index.Type.Axes)])
		default:
			fmt.Fprintf(&b, "%d ", x.coord(i, r))
		}
	}
	return b.String(), behind
}
