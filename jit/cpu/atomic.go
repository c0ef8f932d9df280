package cpu

import (
	"sync/atomic"
	"unsafe"

	"tilec/jit/ir"
	"tilec/lang"
)

// updater changes element i of a tensor as one step among all blocks, by
// compare and swap of the word that holds it. x is the operand in its tile's
// form; of a compare-and-swap the value expected, and y the new one. What the
// element was goes to old, in the tile's form, where old is not nil. Go's
// atomics order everything, so every order and scope is kept.
type updater func(base unsafe.Pointer, i int, x, y, old unsafe.Pointer)

// atomicUpdater makes the updater of an atomic on elements of a type.
func atomicUpdater(op lang.Op, d lang.DType) updater {
	load, store := loader(d), storer(d)
	size := d.Size()
	combine := elementwise(op.Combines(), d)
	// next makes the element's new form in memory of its present one; false where it stays.
	next := func(to, from, x, y unsafe.Pointer) bool {
		switch op {
		case lang.OpAtomicXchg:
			store(to, 1, x, 1, 1)
		case lang.OpAtomicCas:
			var expected uint64
			store(unsafe.Pointer(&expected), 1, x, 1, 1)
			var have uint64
			copy(slice[byte](unsafe.Pointer(&have), size), slice[byte](from, size))
			if have != expected {
				return false
			}
			store(to, 1, y, 1, 1)
		default:
			var held uint64
			load(unsafe.Pointer(&held), 1, from, 1, 1)
			combine(unsafe.Pointer(&held), unsafe.Pointer(&held), x, nil, 1)
			store(to, 1, unsafe.Pointer(&held), 1, 1)
		}
		return true
	}
	give := func(old, from unsafe.Pointer) {
		if old != nil {
			load(old, 1, from, 1, 1)
		}
	}
	if d.Packed() {
		return func(base unsafe.Pointer, i int, x, y, old unsafe.Pointer) {
			word, up := packedWord(d, base, i)
			field := uint32(1)<<d.Bits() - 1
			for {
				all := atomic.LoadUint32(word)
				have := all >> up & field
				want := have
				if !next(unsafe.Pointer(&want), unsafe.Pointer(&have), x, y) || atomic.CompareAndSwapUint32(word, all, all&^(field<<up)|want<<up) {
					give(old, unsafe.Pointer(&have))
					return
				}
			}
		}
	}
	if size == 8 {
		return func(base unsafe.Pointer, i int, x, y, old unsafe.Pointer) {
			word := (*uint64)(unsafe.Add(base, 8*i))
			for {
				have := atomic.LoadUint64(word)
				want := have
				if !next(unsafe.Pointer(&want), unsafe.Pointer(&have), x, y) || atomic.CompareAndSwapUint64(word, have, want) {
					give(old, unsafe.Pointer(&have))
					return
				}
			}
		}
	}
	return func(base unsafe.Pointer, i int, x, y, old unsafe.Pointer) {
		// Elements narrower than a word share it with their neighbours.
		p := unsafe.Add(base, i*size)
		in := uintptr(p) % 4
		word := (*uint32)(unsafe.Add(p, -int(in)))
		for {
			have := atomic.LoadUint32(word)
			want := have
			from := unsafe.Add(unsafe.Pointer(&have), in)
			if !next(unsafe.Add(unsafe.Pointer(&want), in), from, x, y) || atomic.CompareAndSwapUint32(word, have, want) {
				give(old, from)
				return
			}
		}
	}
}

// atomicOp compiles an atomic. One that only changes elements moves runs of
// them, as a store does.
func (c *compiler) atomicOp(op *ir.Op) func(*frame) {
	d := op.Tensor.DType
	update := atomicUpdater(op.Code, d)
	if !op.Old && op.Code.AtomicValues() == 1 && !d.Packed() {
		held := kindOfDType[d].size()
		return c.write(op, func(dst unsafe.Pointer, ds int, src unsafe.Pointer, ss int, n int) {
			for i := range n {
				update(dst, i*ds, unsafe.Add(src, i*ss*held), nil, nil)
			}
		})
	}
	return c.atomicEach(op, update)
}

// atomicEach compiles an atomic with several values, or that gives the old ones: element by element.
func (c *compiler) atomicEach(op *ir.Op, update updater) func(*frame) {
	tile := op.AccessAxes()
	a := c.access(op, tile)
	a.outer = len(tile)
	held := kindOfDType[a.dtype].size()
	// part is where an element of a value is: its buffer, and its strides along the tile's axes.
	type part struct {
		off     int
		strides func(*frame) [maxRank]int
	}
	var parts []part
	for _, v := range op.Args[len(op.Tensor.Shape):] {
		parts = append(parts, part{c.off(v), c.stridesAlong(tile, v.Type.Axes)})
	}
	values := len(parts)
	if op.Old {
		v := op.Result()
		parts = append(parts, part{c.off(v), c.stridesAlong(tile, v.Type.Axes)})
	}
	return func(fr *frame) {
		if op.Old { // 0 for the elements outside
			at := parts[values].off
			clear(slice[byte](fr.at(at), fr.count(a.axes)*held))
		}
		var r region
		a.resolve(fr, &r)
		if !r.some {
			return
		}
		var steps [3][maxRank]int
		for i, p := range parts {
			steps[i] = p.strides(fr)
		}
		a.eachRun(fr, &r, func(offset int) {
			var at [3]unsafe.Pointer
			for i, p := range parts {
				n := 0
				for x := range a.outer {
					n += r.at[x] * steps[i][x]
				}
				at[i] = fr.at(p.off + n*held)
			}
			x, y, old := at[0], unsafe.Pointer(nil), unsafe.Pointer(nil)
			if values == 2 {
				y = at[1]
			}
			if op.Old {
				old = at[values]
			}
			update(r.base, offset, x, y, old)
		})
	}
}
