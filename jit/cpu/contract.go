package cpu

import (
	"fmt"
	"unsafe"

	"tilec/jit/ir"
	"tilec/lang"
)

// matrix is a strided matrix of one batch entry. Strides are in elements.
type matrix struct {
	p        unsafe.Pointer
	row, col int
	// load widens elements that are held narrower than they count with (bf16
	// read from a tensor in place); nil when they are as they are held.
	load mover
	bf16 bool // these are of bf16
	size int  // bytes of an element
}

func (m matrix) at(row, col int) unsafe.Pointer {
	return unsafe.Add(m.p, (row*m.row+col*m.col)*m.size)
}

func (m matrix) transpose() matrix {
	m.row, m.col = m.col, m.row
	return m
}

// product adds the matrix product of a (m × k) and b (k × n) to c (m × n).
type product func(fr *frame, m, n, k int, a, b, c matrix)

// contract compiles dot and mma: operands are brought to batches of matrices,
// [batch, m, k] and [batch, k, n], by axis name; tf32, which the language
// permits for f32, is a matter of tensor cores: here f32 is always f32.
func (c *compiler) contract(op *ir.Op) func(*frame) {
	a, b, r := op.Args[0], op.Args[1], op.Result()
	over := ir.Type{Axes: op.Over}
	var batch, rows, cols []*ir.Axis
	for _, x := range r.Type.Axes {
		switch {
		case a.Type.Has(x) && b.Type.Has(x):
			batch = append(batch, x)
		case a.Type.Has(x):
			rows = append(rows, x)
		default:
			cols = append(cols, x)
		}
	}
	for _, t := range []ir.Type{a.Type, b.Type} {
		for _, x := range t.Axes {
			if !r.Type.Has(x) && !over.Has(x) {
				panic(bug(fmt.Sprintf("axis %s of a contraction is neither contracted nor in the result", x.Name)))
			}
		}
	}
	left := c.view(a, batch, rows, op.Over)
	right := c.view(b, batch, op.Over, cols)
	sum := a.Type.DType.Accumulator()
	run, swapped := productOf(a.Type.DType, b.Type.DType), productOf(b.Type.DType, a.Type.DType)
	if run == nil {
		panic(bug(fmt.Sprintf("no contraction of %s and %s", a.Type.DType, b.Type.DType)))
	}
	// The result is accumulated where it belongs when its axes are in order
	// [batch, rows, cols] or [batch, cols, rows], and else in scratch.
	direct := kindOfDType[sum] == kindOfDType[r.Type.DType]
	ordered := append(append(append([]*ir.Axis(nil), batch...), rows...), cols...)
	flipped := append(append(append([]*ir.Axis(nil), batch...), cols...), rows...)
	swap := false
	switch {
	case !direct:
	case sameOrder(r.Type.Axes, ordered):
	case sameOrder(r.Type.Axes, flipped):
		swap = true
	default:
		direct = false
	}
	csize := kindOfDType[sum].size()
	dst := c.off(r)
	nb, nr, nc, nk := c.axisNumbers(batch), c.axisNumbers(rows), c.axisNumbers(cols), c.axisNumbers(op.Over)
	all := c.axisNumbers(r.Type.Axes)
	accOff := -1
	var spreadAcc func(fr *frame, dst, src unsafe.Pointer)
	if op.Code == lang.OpMma {
		accOff = c.off(op.Args[2])
		spreadAcc = c.spread(r.Type, op.Args[2].Type)
	}
	inner := ir.Type{DType: sum, Axes: ordered}
	fromScratch := c.spread(r.Type.With(sum), inner)
	var finish func(fr *frame, product unsafe.Pointer)
	if !direct {
		finish = c.addProduct(op, sum, accOff)
	}
	round := rounder(r.Type.DType)
	return func(fr *frame) {
		nbatch, m, n, k := fr.count(nb), fr.count(nr), fr.count(nc), fr.count(nk)
		total := nbatch * m * n
		out := fr.at(dst)
		if direct {
			if accOff < 0 {
				clear(slice[byte](out, total*csize))
			} else if accOff != dst {
				spreadAcc(fr, out, fr.at(accOff))
			}
		} else {
			out = fr.temp(tempTile, total*csize)
			clear(slice[byte](out, total*csize))
		}
		var va, vb resolved
		left.resolve(fr, &va, 0)
		right.resolve(fr, &vb, 1)
		cm := matrix{p: out, row: n, col: 1, size: csize}
		if swap {
			cm.row, cm.col = 1, m
		}
		// Batches are counted like an odometer, the last axis fastest.
		var at [maxRank]int
		offA, offB := 0, 0
		for i := range nbatch {
			ma, mb, mc := va.m, vb.m, cm
			ma.p = unsafe.Add(ma.p, offA*ma.size)
			mb.p = unsafe.Add(mb.p, offB*mb.size)
			mc.p = unsafe.Add(mc.p, i*m*n*csize)
			if swap {
				swapped(fr, n, m, k, mb.transpose(), ma.transpose(), mc.transpose())
			} else {
				run(fr, m, n, k, ma, mb, mc)
			}
			for x := len(nb) - 1; x >= 0; x-- {
				size := fr.axes[nb[x]].n
				at[x]++
				offA += va.batch[x]
				offB += vb.batch[x]
				if at[x] < size {
					break
				}
				at[x] = 0
				offA -= size * va.batch[x]
				offB -= size * vb.batch[x]
			}
		}
		if !direct {
			arranged := fr.temp(tempC, total*csize)
			fromScratch(fr, arranged, out)
			finish(fr, arranged)
		}
		if round != nil {
			round(slice[float32](fr.at(dst), fr.count(all)))
		}
	}
}

// addProduct converts a product that was accumulated apart to the result's type, and adds the accumulator.
func (c *compiler) addProduct(op *ir.Op, sum lang.DType, accOff int) func(fr *frame, product unsafe.Pointer) {
	r := op.Result()
	dst, axes := c.off(r), c.axisNumbers(r.Type.Axes)
	convert := cast(sum, r.Type.DType)
	if accOff < 0 {
		return func(fr *frame, p unsafe.Pointer) { convert(fr.at(dst), p, nil, nil, fr.count(axes)) }
	}
	add := elementwise(lang.OpAdd, r.Type.DType)
	arrange := c.spread(r.Type, op.Args[2].Type)
	size := kindOfDType[r.Type.DType].size()
	return func(fr *frame, p unsafe.Pointer) {
		n := fr.count(axes)
		converted := fr.temp(tempA, n*size)
		convert(converted, p, nil, nil, n)
		if accOff != dst {
			arrange(fr, fr.at(dst), fr.at(accOff))
		}
		add(fr.at(dst), fr.at(dst), converted, nil, n)
	}
}

// resolved is an operand for one block: the matrix of the first batch entry
// and the strides of the batch axes.
type resolved struct {
	m     matrix
	batch [maxRank]int
}

// view prepares an operand as batches of matrices over the groups of axes rows and cols.
func (c *compiler) view(v *ir.Value, batch, rows, cols []*ir.Axis) *viewer {
	t := v.Type
	w := &viewer{dtype: t.DType, size: kindOfDType[t.DType].size()}
	if def := c.root(v).Def; def != nil && c.lazy[def] {
		// A rename changes the names of the axes, not their order.
		w.lazy = c.access(def, def.Result().Type.Axes)
		w.dtype = def.Tensor.DType
		w.size = w.dtype.Size()
		if kindOfDType[w.dtype] == kF32 && w.dtype != lang.F32 {
			w.load = loader(w.dtype)
		} else if w.dtype == lang.Bool {
			panic(bug("contraction of bool"))
		}
	} else {
		w.off = c.off(v)
	}
	w.held = kindOfDType[t.DType].size()
	w.axes = c.axisNumbers(t.Axes)
	at := func(axes []*ir.Axis) []int {
		var places []int
		for _, a := range axes {
			for i, b := range t.Axes {
				if a == b {
					places = append(places, i)
				}
			}
		}
		return places
	}
	w.batch, w.rows, w.cols = at(batch), at(rows), at(cols)
	w.arrange = loader(w.dtype)
	if w.lazy == nil {
		w.arrange = copier(w.size)
	}
	return w
}

// viewer finds an operand of a contraction in a block.
type viewer struct {
	lazy              *access
	off               int
	dtype             lang.DType
	size, held        int // bytes of an element as stored, and in a tile's buffer
	load, arrange     mover
	axes              []int
	batch, rows, cols []int // places among axes
}

func (w *viewer) resolve(fr *frame, v *resolved, which int) {
	var stride, n [maxRank]int
	for i, a := range w.axes {
		n[i] = fr.axes[a].n
	}
	v.m = matrix{load: w.load, bf16: w.load != nil && w.dtype == lang.BF16, size: w.size}
	if w.lazy != nil {
		var r region
		w.lazy.resolve(fr, &r)
		v.m.p = unsafe.Add(r.base, r.offset*w.size)
		stride = r.stride
		if !r.some { // an empty tile: nothing is read
			v.m.p = r.base
		}
	} else {
		v.m.p = fr.at(w.off)
		for i, s := len(w.axes)-1, 1; i >= 0; i-- {
			stride[i] = s
			s *= n[i]
		}
	}
	row, okRow := merge(w.rows, &stride, &n)
	col, okCol := merge(w.cols, &stride, &n)
	if okRow && okCol {
		v.m.row, v.m.col = row, col
		for i, x := range w.batch {
			v.batch[i] = stride[x]
		}
		return
	}
	// Axes that no one stride walks: put the operand in order.
	var b box
	total := 1
	for _, group := range [3][]int{w.batch, w.rows, w.cols} {
		for _, x := range group {
			b.add(n[x], 0, stride[x])
			total *= n[x]
		}
	}
	for i, s := b.rank-1, 1; i >= 0; i-- {
		b.dst[i] = s
		s *= b.n[i]
	}
	for i := range w.batch {
		v.batch[i] = b.dst[i]
	}
	t := fr.temp(tempA+which, total*w.held)
	cols := 1
	for _, x := range w.cols {
		cols *= n[x]
	}
	b.move(w.arrange, t, w.held, v.m.p, w.size)
	v.m = matrix{p: t, row: cols, col: 1, size: w.held}
}

// merge finds the one stride that walks a group of axes.
func merge(group []int, stride, n *[maxRank]int) (int, bool) {
	s, reach := 0, 0
	for i := len(group) - 1; i >= 0; i-- {
		x := group[i]
		if n[x] == 1 {
			continue
		}
		if reach == 0 {
			s = stride[x]
		} else if stride[x] != reach {
			return 0, false
		}
		reach = stride[x] * n[x]
	}
	return s, true
}

// productOf finds the product of operands of two types: of one type, or of bytes with and without a sign.
func productOf(a, b lang.DType) product {
	switch {
	case a == lang.I8 && b == lang.U8:
		return multiply[int8, uint8, int32]
	case a == lang.U8 && b == lang.I8:
		return multiply[uint8, int8, int32]
	case kindOfDType[a] != kindOfDType[b]:
		return nil
	}
	return products[kindOfDType[a]]
}

// products is the table of contractions, by the kind of both operands.
var products = [numKinds]product{
	kI8: multiply[int8, int8, int32], kU8: multiply[uint8, uint8, int32],
	kI16: multiply[int16, int16, int32], kU16: multiply[uint16, uint16, int32],
	kI32: multiply[int32, int32, int32], kU32: multiply[uint32, uint32, uint32],
	kI64: multiply[int64, int64, int64], kU64: multiply[uint64, uint64, uint64],
	kF32: multiply32, kF64: multiply[float64, float64, float64],
}

// multiply is the product of a in T and b in U, added up in A, for the types that have no kernel of their own.
func multiply[T, U, A number](_ *frame, m, n, k int, a, b, c matrix) {
	for i := range m {
		for p := range k {
			x := A(*(*T)(a.at(i, p)))
			if b.col == 1 && c.col == 1 {
				d, s := slice[A](c.at(i, 0), n), slice[U](b.at(p, 0), n)
				for j := range d {
					d[j] += A(x * A(s[j])) // not fused, on any machine
				}
				continue
			}
			for j := range n {
				*(*A)(c.at(i, j)) += A(x * A(*(*U)(b.at(p, j))))
			}
		}
	}
}
