package ptx

import (
	"fmt"
	"slices"
	"strings"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// This file emits loads by words that cover what a thread has (block.Cover), each of which is loaded once, and stores of records by words.

// spot is where an element or a word lies: along the dimensions before those that words go through, and how many elements or words behind where those of register 0 would
// begin if nothing were added to their positions.
type spot struct {
	row string
	at  int64
}

// word is the word of so many elements in which an element lies, and how far behind its beginning.
func (s spot) word(elements int64) (word spot, behind int64) {
	behind = (s.at%elements + elements) % elements
	return spot{s.row, (s.at - behind) / elements}, behind
}

// wordAt is where a word lies and under which condition it is loaded: where a thread has it already, it is not loaded again.
type wordAt struct {
	tensor   *ir.Tensor
	at       address
	elements int64
	p        asm.Reg
	// before and behind report words that may lie before and behind the row (block.BeyondRow).
	before, behind bool
}

// loadedWord is what a thread has of a word, and what its elements are where it is not loaded: 0 without a register.
type loadedWord struct {
	elements []asm.Reg
	fill     asm.Reg
}

// covered loads by words where those are fewer than the loads of neighbours along one axis.
func (k *kernel) covered(op *ir.Op, l layout.Layout, mnemonic string, fill asm.Reg, other func(r int) asm.Reg) ([]asm.Reg, bool) {
	c, ok := k.Cover(op, l, k.whole)
	if !ok {
		return nil, false
	}
	walks, begins := c.Unclamped(k.Access(op))
	x := k.indexingBy(op, walks, l)
	along := block.Contiguous(k.Access(op))
	masked := x.clamp(op, op.Result().Type.Axes, along)
	_, neighbours := l.Groups(along, l.Aligned(along, k.neighbours(op.Tensor, k.Access(op), along)))
	if x.clamped != nil || int(c.Elements) <= neighbours {
		return nil, false
	}
	words, behind := make([]spot, l.Regs()), make([]int64, l.Regs())
	first, apart := map[spot]int{}, map[spot]bool{} // a register with an element in the word; the elements one by one
	for r := range words {
		at := x.spot(c, r)
		apart[at] = true
		words[r], behind[r] = at.word(c.Elements)
		if _, known := first[words[r]]; !known {
			first[words[r]] = r
		}
	}
	if len(first) >= len(apart)/neighbours*k.fieldLoads(op) {
		return nil, false
	}
	from := k.addressingBy(op, begins, l)
	regs, inside := make([]asm.Reg, len(words)), map[spot]asm.Reg{}
	for r, w := range words {
		if r == first[w] {
			inside[w] = x.inside(r)
		}
		got := k.loadWord(op, x, from, c, first[w], w.at, mnemonic, k.both(k.mask(l, masked, r), inside[w]), fill)
		regs[r] = got.elements[behind[r]]
		switch {
		case other != nil:
			regs[r] = k.selected(inside[w], regs[r], other(r))
		case got.fill != fill && fill.Valid(): // another load has the word, with other elements where there are none
			regs[r] = k.selected(inside[w], regs[r], fill)
		case got.fill != fill:
			regs[r] = k.selected(inside[w], regs[r], elem.Zero(k.a, op.Result().Type.DType))
		}
	}
	return regs, true
}

// whole reports an axis of which all positions exist that the block has, in the code that is being emitted.
func (k *kernel) whole(a *ir.Axis) bool { return !k.partial(a) }

// storeFields stores the fields of records, by words where threads have whole ones.
func (k *kernel) storeFields(fields []*ir.Op, l layout.Layout) {
	values := make([]func(r int) asm.Reg, len(fields))
	for i, op := range fields {
		v := op.Stored()
		regs := k.unrounded(v, l.Slice(v.Type.Axes))
		values[i] = func(r int) asm.Reg { return regs[l.Project(r, v.Type.Axes)] }
	}
	if !k.storeWholeRecords(fields, l, values) {
		for i, op := range fields {
			k.storeEach(op, l, "", values[i])
		}
	}
}

// storeWholeRecords stores by words; false where a thread has not all elements of each.
func (k *kernel) storeWholeRecords(fields []*ir.Op, l layout.Layout, values []func(r int) asm.Reg) bool {
	first := fields[0]
	c, ok := k.Cover(first, l, k.whole)
	x := k.indexing(first, l)
	along := block.Contiguous(x.dims)
	if _, n := l.Groups(along, l.Aligned(along, k.neighbours(first.Tensor, x.dims, along))); !ok || int(c.Elements) <= n || slices.ContainsFunc(x.dims, func(d block.DimAccess) bool { return d.Checked }) {
		return false
	}
	// element is one of a thread: of which store, in which register.
	type element struct{ field, register int }
	words, order := map[spot][]*element{}, []spot(nil)
	for i, op := range fields {
		x := k.indexing(op, l)
		own, _ := k.Cover(op, l, k.whole) // as the first, but for what is added to the positions
		for r := range l.Regs() {
			w, behind := x.spot(own, r).word(c.Elements)
			if words[w] == nil {
				words[w], order = make([]*element, c.Elements), append(order, w)
			}
			words[w][behind] = &element{i, r}
		}
	}
	if slices.ContainsFunc(order, func(w spot) bool { return slices.Contains(words[w], nil) }) {
		return false
	}
	t := first.Tensor
	k.orderWrite(t)
	_, begins := c.Unclamped(x.dims)
	from := k.addressingBy(first, begins, l)
	owner, mnemonic := k.owner(l), "st.global"+k.eviction(first, "st.global")
	for _, w := range order {
		xs := make([]asm.Reg, c.Elements)
		for i, e := range words[w] {
			xs[i] = values[e.field](e.register)
		}
		r := words[w][0].register
		at := from.at(r)
		at.offset += (w.at*c.Elements - (from.spot(c, r).at - c.Added)) * from.size
		k.putAt(t.Held(), xs, mnemonic, k.both(owner, k.mask(l, block.IndexAxes(first), r)), at)
	}
	return true
}

// loadWord gives the elements of a word, which is loaded where the thread has not got it.
func (k *kernel) loadWord(op *ir.Op, x, from *addressing, c block.Cover, r int, at int64, mnemonic string, p, fill asm.Reg) loadedWord {
	t := op.Tensor
	w := wordAt{tensor: t, at: from.at(r), elements: c.Elements, p: p}
	lies := from.spot(c, r).at
	w.at.offset += (at*c.Elements - (lies - c.Added)) * from.size
	w.before, w.behind = block.BeyondRow(op, at*c.Elements)
	for s := k.scope; s != nil; s = s.parent {
		if got, ok := s.words[w]; ok {
			return got
		}
		if !t.ReadOnly() { // a loop around may have written it since
			break
		}
	}
	n := int(c.Elements)
	if !w.before && !w.behind {
		got := loadedWord{k.fetchAtOr(t.Held(), n, mnemonic, p, w.at, fill), fill}
		k.scope.words[w] = got
		return got
	}
	// A word beyond the row is that at its end, of which all have the outermost element.
	last := len(x.dims) - 1
	row, end := slices.Clone(from.dims), asm.Int(t.Shape[last].Value-c.Elements)
	row[last].Affine = block.DimAccess{}.Affine
	begin := k.a.Register(k.a.Add(x.index(last, r), asm.Int(at*c.Elements-lies)))
	inRow := begin
	if w.before {
		inRow = k.a.Calc(asm.B32, "max.s32", inRow, asm.Int(0))
	}
	if w.behind {
		inRow = k.a.Calc(asm.B32, "min.s32", inRow, end)
	}
	lying := k.addressingBy(op, row, x.l).at(r)
	lying.base = from.step(lying.base, last, inRow, 1)
	got := k.fetchAt(t.Held(), n, mnemonic, p, lying)
	outermost := func(instruction string, than asm.Int, element asm.Reg) {
		beyond := k.a.Calc(asm.Pred, instruction, begin, than)
		for i, e := range got {
			if e != element {
				got[i] = k.selected(beyond, element, e)
			}
		}
	}
	got = slices.Clone(got)
	first, final := got[0], got[n-1]
	if w.before {
		outermost("setp.lt.s32", 0, first)
	}
	if w.behind {
		outermost("setp.gt.s32", end, final)
	}
	k.scope.words[w] = loadedWord{elements: got}
	return k.scope.words[w]
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

// spot is where register r's element lies.
func (x *addressing) spot(c block.Cover, r int) spot {
	var row strings.Builder
	at := c.Added
	for i, d := range x.dims {
		switch {
		case i >= c.From:
			at += x.along(d.Terms(), r) * d.Stride
		case d.Clamped != nil:
			fmt.Fprintf(&row, "%d ", x.along(d.Terms(), r))
		case d.Gather:
			fmt.Fprintf(&row, "%v ", x.gathered[i][x.l.Project(r, d.Index.Type.Axes)])
		default:
			fmt.Fprintf(&row, "%d ", x.coord(i, r))
		}
	}
	return spot{row.String(), at}
}
