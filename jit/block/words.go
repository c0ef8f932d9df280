package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file decides how loops go through rows that begin at no multiples of 16 bytes, as those of 50257 elements do. By its columns each thread
// would load and store element by element. Instead a loop begins as many positions before the row as the row begins behind a multiple of 16
// bytes, its lead: then each thread has elements that are a whole word of 16 bytes in memory, of every row, and only the first and the last word
// of a row are partial. Tensors of one dimension along the row, the gains of a norm say, have no such lead: a thread loads the two words that
// its elements lie across, and takes them out of both.

// The forms of loops through rows that begin at no multiples of 16 bytes: by columns, or by the words of the rows.
const (
	byColumns = 1 + iota
	byWords
)

// Words is how a kernel's loops go through rows by words.
type Words struct {
	// Row is the access whose row says by how many positions the row lies behind the word in which it begins: one of the narrowest elements.
	Row *ir.Op
	// Unit is how many elements of that access a word has. Positions are aligned to so many, so that other elements are in whole words too.
	Unit int64
	// loops are the axes of the loops that begin earlier by the lead.
	loops map[*ir.Axis]bool
}

// WordForm is how an access in a loop by words reaches its elements.
type WordForm int

const (
	// ByElement is one element after the other, as its tensor has no words in common with the rows.
	ByElement WordForm = iota
	// InWords is by words of the tensor, of which the first and the last of a row are partial.
	InWords
	// AcrossWords is by pairs of neighbouring words, across which the elements of a thread lie.
	AcrossWords
)

// goByWords decides whether all loops of a kernel go through its rows by words.
func (p *Program) goByWords() {
	if p.asks("words", byWords) != byWords {
		return
	}
	w := &Words{}
	for _, op := range p.Func.Body.Ops {
		if op.Code != lang.OpFor && len(op.Blocks) > 0 {
			return
		}
	}
	loops := p.topLoops()
	for _, loop := range loops {
		if !p.wordsFit(loop) {
			return
		}
		for _, op := range loop.Blocks[0].Ops {
			if op.Tensor == nil || op.Tensor.Shared {
				continue
			}
			dims := p.Access(op)
			size := int64(op.Tensor.DType.Size())
			switch {
			case !isRow(op.Tensor, dims):
			case w.Row == nil:
				w = p.wordsOf(op)
			case !p.sameRow(op.Tensor, dims, w.Row):
				return
			case bulkUnit/size > w.Unit:
				w = p.wordsOf(op)
			}
		}
	}
	if w.Row == nil {
		return
	}
	for _, loop := range loops {
		if !w.fit(loop) {
			return
		}
	}
	if lastDim(w.Row.Tensor)%w.Unit != 0 {
		p.Words = w
	}
}

// fit reports that, whatever the lead, a loop has as many steps: the last is partial, the others are whole but for the first word of the first, and
// no pair of words of a whole step reaches beyond the row.
func (w *Words) fit(loop *ir.Op) bool {
	n, step := lastDim(w.Row.Tensor), loop.Axis.Extent
	rest := n % step
	return n >= step && step%w.Unit == 0 && rest >= w.Unit && rest <= step-w.Unit
}

// wordsOf is how all loops of a kernel go through its rows by the words of one access.
func (p *Program) wordsOf(row *ir.Op) *Words {
	w := &Words{Row: row, Unit: bulkUnit / int64(row.Tensor.DType.Size()), loops: map[*ir.Axis]bool{}}
	for _, loop := range p.topLoops() {
		w.loops[loop.Axis] = true
	}
	return w
}

// topLoops are the loops of the kernel's body, without those inside of others.
func (p *Program) topLoops() (loops []*ir.Op) {
	for _, op := range p.Func.Body.Ops {
		if op.Code == lang.OpFor {
			loops = append(loops, op)
		}
	}
	return loops
}

// wordsFit reports a loop through a whole row whose steps may begin before it: none of its operations says where a step begins, nor counts
// how many positions a step has.
func (p *Program) wordsFit(loop *ir.Op) bool {
	x := loop.Axis
	if x == nil || loop.Reverse || x.Dim == nil || !x.Dim.Known() || x.Dim.Wide || x.Ranges != nil || len(p.Uses[loop.Blocks[0].Params[0]]) > 0 {
		return false
	}
	if from, ok := loop.Args[0].IsConst(); !ok || from.Int != 0 {
		return false
	}
	if to, ok := loop.Args[1].IsConst(); !ok || to.Int != x.Dim.Value {
		return false
	}
	for _, op := range loop.Blocks[0].Ops {
		if !p.wordsTake(op, x) {
			return false
		}
	}
	return true
}

// wordsTake reports an operation that a loop by words may have.
func (p *Program) wordsTake(op *ir.Op, x *ir.Axis) bool {
	if len(op.Blocks) > 0 || slices.Contains(op.Checked, true) {
		return false
	}
	switch op.Code {
	case lang.OpLoad:
		return op.Else() == nil && !op.Tensor.DType.Packed() && (op.Tensor.Shared || op.Tensor.ReadOnly()) // words hold what other blocks may write
	case lang.OpStore:
		return !op.Collides() && !op.Tensor.DType.Packed()
	case lang.OpSum, lang.OpProd, lang.OpReduceMax, lang.OpReduceMin, lang.OpAny, lang.OpAll, lang.OpArgMax, lang.OpArgMin:
		return true
	case lang.OpStart, lang.OpEnd:
		return op.Axis != x
	case lang.OpConst, lang.OpFull, lang.OpIndex, lang.OpSize:
		return true
	}
	return op.Code.Row().Elementwise
}

// isRow reports an access of a row of a tensor that a block has by itself, along the axis of a loop.
func isRow(t *ir.Tensor, dims []DimAccess) bool {
	last := len(dims) - 1
	if last < 1 || !inWholeWords(t, dims) || t.Strides != nil || !t.Shape[last].Known() {
		return false
	}
	return !slices.ContainsFunc(dims[:last], func(d DimAccess) bool {
		return d.Gather || slices.ContainsFunc(d.Affine.Terms, func(t AxisTerm) bool { return t.Axis.Extent != 1 || t.Axis.Kind != ir.Grid })
	})
}

// inWholeWords reports an access along its last dimension alone of a tensor that begins at a multiple of 16 bytes.
func inWholeWords(t *ir.Tensor, dims []DimAccess) bool {
	last, size := dims[len(dims)-1].Affine, t.DType.Size()
	return Contiguous(dims) != nil && len(last.Terms) == 1 && len(last.Scalars) == 0 && last.Offset == 0 &&
		(size == 2 || size == 4) && t.Align%bulkUnit == 0
}

// sameRow reports an access of the row with the number of another one, in a tensor of the same shape.
func (p *Program) sameRow(t *ir.Tensor, dims []DimAccess, row *ir.Op) bool {
	others := p.Access(row)
	if len(dims) != len(others) {
		return false
	}
	for i, d := range dims {
		x, y := t.Shape[i], row.Tensor.Shape[i]
		if i > 0 && x != y && !(x.Known() && y.Known() && x.Value == y.Value) {
			return false
		}
		f, g := d.Affine, others[i].Affine
		if i < len(dims)-1 && !(slices.Equal(f.Terms, g.Terms) && slices.Equal(f.Scalars, g.Scalars) && f.Offset == g.Offset) {
			return false
		}
	}
	return true
}

// lastDim is how many elements a row of a tensor has.
func lastDim(t *ir.Tensor) int64 { return t.Shape[len(t.Shape)-1].Value }

// LoopsByWords reports an axis whose loop goes through rows by words.
func (p *Program) LoopsByWords(a *ir.Axis) bool { return p.Words != nil && p.Words.loops[a] }

// KeptBytes is how much shared memory a tensor takes that is there: a row by words has its lead before it, which is up to as many elements as the
// narrowest have in a word, and the rest of its last word behind it.
func (p *Program) KeptBytes(t *ir.Tensor) int {
	if p.Words == nil {
		return int(t.Bytes())
	}
	return int(t.Bytes()+t.Held().Bytes(p.Words.Unit)) + bulkUnit
}

// WordForm is how an access along the axis of a loop by words reaches its elements, and how many a word has.
func (p *Program) WordForm(t *ir.Tensor, dims []DimAccess) (form WordForm, elements int) {
	switch {
	case !inWholeWords(t, dims):
	case t.Shared || isRow(t, dims) && p.sameRow(t, dims, p.Words.Row):
		return InWords, bulkUnit / t.DType.Size()
	case len(dims) == 1 && t.ReadOnly():
		return AcrossWords, bulkUnit / t.DType.Size()
	}
	return ByElement, 1
}
