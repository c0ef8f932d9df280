package ptx

import (
	"tilec/jit/block"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// This file reads the rows of a product of two types, which lie in shared memory as elements of 8 bits, or of 4, and are of 16 in the instruction: widened, or what the product's function makes of
// them. A fragment has four pairs of neighbours of the depth: of two rows, at two places of the depth.

// mixedFragment is how many elements a fragment has in a thread: the depth's lowest bit, the row's highest, the depth's highest.
const mixedFragment = 8

// loadMixed reads such fragments; nil when the tile does not lie as that needs.
func (k *kernel) loadMixed(c *block.Product, t *sharedTile) func(step, rep, batch int) []asm.Reg {
	x := &mixedRows{k: k, c: c, t: t, steps: layout.Product(c.KReps), reps: layout.Product(c.MReps), apart: map[asm.Reg][]asm.Reg{}}
	var read func(step, rep, batch int) []asm.Reg // nil: element by element
	switch packed := t.DType.Packed(); {
	case t.Spans == nil && t.DType.Bits() == 8 && c.Across(c.A):
		read = x.across()
	case t.Contiguous() != c.K[0] || c.MBits[3].Axis == nil: // copies have no registers
		return nil
	case c.Run() > 2 && x.bits(c.Run()) <= 32:
		read = x.runs()
	case c.Run() == 2 && (packed || t.Spans == nil && t.DType.Bits() == 8) && c.KBits[0].Axis == c.K[0] && c.KBits[3].Axis != nil:
		read = x.along()
	}
	if read != nil && c.Op.Fn != nil {
		x.made = k.factors(c)
	}
	return read
}

// made16 makes fragments of rows that lie as elements of 16 bits of those that load reads.
func (k *kernel) made16(c *block.Product, t *sharedTile, load func(step, rep, batch int) []asm.Reg) func(step, rep, batch int) []asm.Reg {
	if load == nil {
		return nil
	}
	x := &mixedRows{k: k, c: c, t: t, steps: layout.Product(c.KReps), reps: layout.Product(c.MReps), apart: map[asm.Reg][]asm.Reg{}, made: k.factors(c)}
	return func(step, rep, batch int) []asm.Reg {
		var elements []rawElement
		for _, w := range load(step, rep, batch) {
			elements = append(elements, x.part(w, 0), x.part(w, 1))
		}
		return x.pairs(x.first(step, rep, batch), elements)
	}
}

// mixedRows are the rows of such a product.
type mixedRows struct {
	k           *kernel
	c           *block.Product
	t           *sharedTile
	steps, reps int
	// apart is the elements of words that were taken apart.
	apart map[asm.Reg][]asm.Reg
	// made gives what the product's function makes of two elements.
	made func(r [2]int, raw [2]rawElement) []asm.Reg
}

// first is a fragment's first register.
func (x *mixedRows) first(step, rep, batch int) int {
	return mixedFragment * (step + x.steps*(rep+x.reps*batch))
}

// bits is how many bits so many neighbours along the depth have in shared memory.
func (x *mixedRows) bits(positions int) int {
	if x.t.DType.Packed() {
		return positions * x.t.DType.Bits()
	}
	return max(positions/x.t.Span(0), 1) * x.t.DType.Bits()
}

// fetch reads so many neighbours along the depth, from that of a register in the layout of the fragments on.
func (x *mixedRows) fetch(from *sharedAccess, r, positions int) asm.Reg {
	d := map[int]lang.DType{8: lang.U8, 16: lang.U16, 32: lang.U32}[x.bits(positions)]
	return x.k.fetch(d, 1, "ld.shared", asm.Reg{}, from.at(r))[0]
}

// part is the element that a word has as number i.
func (x *mixedRows) part(w asm.Reg, i int) rawElement {
	d := x.t.DType
	return rawElement{field: elem.Field{Word: w, Shift: i * d.Bits(), Bits: d.Bits()}, alone: func() asm.Reg {
		if x.apart[w] == nil {
			x.apart[w] = elem.Unpack(x.k.a, d, w, 32/d.Bits())
		}
		return x.apart[w][i]
	}}
}

// pairs are the registers of a fragment that the product's function makes of elements, in their order.
func (x *mixedRows) pairs(first int, elements []rawElement) []asm.Reg {
	out := make([][]asm.Reg, mixedFragment/2)
	for i := range out {
		out[i] = x.made([2]int{first + 2*i, first + 2*i + 1}, [2]rawElement(elements[2*i:]))
	}
	return inOrder(out)
}

// ofWords are the elements of a fragment that two words have: order says which of a fragment's each has.
func (x *mixedRows) ofWords(words []asm.Reg, order [2][4]int) []rawElement {
	elements := make([]rawElement, mixedFragment)
	for n, w := range words {
		for i, e := range order[n] {
			elements[e] = x.part(w, i)
		}
	}
	return elements
}

// runs reads several neighbours of the depth of each row, which several steps may share.
func (x *mixedRows) runs() func(step, rep, batch int) []asm.Reg {
	k, c := x.k, x.c
	from := k.accessing(x.t, c.FragmentLayout(c.A))
	const perStep = mixedFragment / 2
	run, loaded := c.Run(), map[int]asm.Reg{}
	return func(step, rep, batch int) []asm.Reg {
		part := step % (run / perStep)
		var words [2]asm.Reg
		for row := range words {
			at := x.first(step-part, rep, batch) + 2*row
			if !loaded[at].Valid() {
				loaded[at] = x.fetch(from, at, run)
			}
			words[row] = loaded[at]
		}
		out := make([]asm.Reg, mixedFragment/2)
		if c.Op.Fn == nil {
			for row, w := range words {
				out[row], out[2+row] = elem.WidenNeighbours(k.a, x.t.DType, c.Element(c.A), w)
			}
			return out
		}
		elements := make([]rawElement, mixedFragment)
		for row, w := range words {
			for i := range perStep {
				position := perStep*part + i
				if !x.t.DType.Packed() { // whose elements have a position each
					position /= x.t.Span(0)
				}
				elements[i&1|row<<1|i>>1<<2] = x.part(w, position)
			}
		}
		return x.pairs(x.first(step, rep, batch), elements)
	}
}

// along reads pairs that are neighbours in shared memory, one by one: no lane has four neighbours of the depth.
func (x *mixedRows) along() func(step, rep, batch int) []asm.Reg {
	k, c := x.k, x.c
	from := k.accessing(x.t, c.FragmentLayout(c.A))
	return func(step, rep, batch int) []asm.Reg {
		first := x.first(step, rep, batch)
		pair := func(n int) asm.Reg { return x.fetch(from, first+2*n, 2) }
		together := asm.Int(0x5410)
		if x.t.DType.Packed() { // a pair is a byte
			together = 0x0040
		}
		var words []asm.Reg
		for half := range 2 {
			words = append(words, k.a.Op(asm.B32, "prmt.b32", pair(2*half), pair(2*half+1), together))
		}
		if c.Op.Fn != nil {
			return x.pairs(first, x.ofWords(words, [2][4]int{{0, 1, 2, 3}, {4, 5, 6, 7}}))
		}
		var out []asm.Reg
		for _, w := range words {
			one, other := elem.WidenNeighbours(k.a, x.t.DType, c.Element(c.A), w)
			out = append(out, one, other)
		}
		return out
	}
}

// across reads rows along which the tile lies by ldmatrix, which transposes pairs of bytes: of two positions of the depth, a matrix gives two
// neighbouring rows, which are the two rows of a fragment.
func (x *mixedRows) across() func(step, rep, batch int) []asm.Reg {
	const chunk = 16
	k, c, t := x.k, x.c, x.t
	if t.Contiguous() != c.M[0] || t.Extents[0]%chunk != 0 {
		return nil
	}
	kk, depth, twice := c.KBits, c.KReps, layout.Digit{Size: 2}
	if len(depth) > 0 && depth[0].Size%2 == 0 { // two steps of the depth by one instruction
		d := depth[0]
		twice = layout.Digit{Axis: d.Axis, Stride: d.Stride, Size: 2}
		depth = append([]layout.Digit{{Axis: d.Axis, Stride: 2 * d.Stride, Size: d.Size / 2}}, depth[1:]...)
	}
	l := layout.Layout{Lane: []layout.Digit{kk[0], kk[1], kk[2], kk[3], twice}, Warp: c.AWarp}
	l.Reg = append(append(append(l.Reg, depth...), c.MReps...), c.BatchReps...)
	from := k.accessing(t, l)
	together := 1
	if twice.Axis != nil {
		together = 2
	}
	steps := layout.Product(depth)
	loaded := map[int][]asm.Reg{}
	return func(step, rep, batch int) []asm.Reg {
		r := step/together + steps*(rep+x.reps*batch)
		raw, ok := loaded[r]
		if !ok {
			raw = k.a.Regs(asm.B32, 2*together)
			name := map[int]string{1: "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", 2: "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"}[together]
			k.a.Set(asm.List(raw), name, from.at(r))
			loaded[r] = raw
		}
		words := raw[step%together*2:][:2]
		if c.Op.Fn != nil {
			return x.pairs(x.first(step, rep, batch), x.ofWords(words, [2][4]int{{0, 2, 1, 3}, {4, 6, 5, 7}}))
		}
		var out []asm.Reg
		for _, w := range words {
			even, odd := elem.WidenAlternate(k.a, t.DType, c.Element(c.A), w)
			out = append(out, even, odd)
		}
		return out
	}
}

// loadRuns reads several neighbours of the depth of each column, of 16 bits each, which several steps may share.
func (k *kernel) loadRuns(c *block.Product, t *sharedTile) func(step, rep, batch int) []asm.Reg {
	x := k.accessing(t, c.FragmentLayout(c.B))
	steps, reps := layout.Product(c.KReps), layout.Product(c.NReps)
	const perStep = 4
	run, loaded := c.Run(), map[int][]asm.Reg{}
	return func(step, rep, batch int) []asm.Reg {
		part := step % (run / perStep)
		at := perStep * (step - part + steps*(rep+reps*batch))
		if loaded[at] == nil {
			loaded[at] = k.fetch(lang.U32, run/2, "ld.shared", asm.Reg{}, x.at(at))
		}
		return loaded[at][2*part:][:2]
	}
}
