package cpu

import (
	"cmp"
	le "encoding/binary"
	"math"
	"sync/atomic"
	"unsafe"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file runs print and assert: what they say goes to the launch's memory
// for it, in the form that package ir describes.

// word is an element of a tile's buffer as a record holds it.
func word(d lang.DType) func(p unsafe.Pointer) uint64 {
	switch kindOfDType[d] {
	case kBool, kU8:
		return func(p unsafe.Pointer) uint64 { return uint64(*(*uint8)(p)) }
	case kI8:
		return func(p unsafe.Pointer) uint64 { return uint64(*(*int8)(p)) }
	case kI16:
		return func(p unsafe.Pointer) uint64 { return uint64(*(*int16)(p)) }
	case kU16:
		return func(p unsafe.Pointer) uint64 { return uint64(*(*uint16)(p)) }
	case kI32:
		return func(p unsafe.Pointer) uint64 { return uint64(*(*int32)(p)) }
	case kU32, kF32:
		return func(p unsafe.Pointer) uint64 { return uint64(*(*uint32)(p)) }
	}
	return func(p unsafe.Pointer) uint64 { return *(*uint64)(p) }
}

// site is the number of a print or an assert.
func (c *compiler) site(op *ir.Op) uint64 {
	for i, s := range c.f.Sites() {
		if s == op {
			return uint64(i + 1)
		}
	}
	panic(bug("a print or an assert is not in the kernel"))
}

// print compiles a print: one record of the block.
func (c *compiler) print(op *ir.Op) func(*frame) {
	type part struct {
		off, size int
		axes      []int // in the order of declaration
		strides   func(*frame) [maxRank]int
		word      func(unsafe.Pointer) uint64
	}
	site := c.site(op)
	var parts []part
	for _, v := range op.Args {
		d := v.Type.DType
		axes := c.f.InOrder(v.Type.Axes)
		parts = append(parts, part{c.off(v), kindOfDType[d].size(), c.axisNumbers(axes), c.stridesAlong(axes, v.Type.Axes), word(d)})
	}
	return func(fr *frame) {
		words := append(fr.words[:0], site)
		for _, p := range parts {
			for _, a := range p.axes {
				words = append(words, uint64(fr.positions(a)))
			}
			fr.shown(p.axes, p.strides(fr), func(i int) { words = append(words, p.word(fr.at(p.off+i*p.size))) })
		}
		fr.words = words
		fr.say(words)
	}
}

// shown visits the elements of a tile that a print shows, by their place in its buffer.
func (fr *frame) shown(axes []int, strides [maxRank]int, visit func(i int)) {
	all := 1
	for _, a := range axes {
		all *= fr.positions(a)
	}
	var walk func(d, at int)
	walk = func(d, at int) {
		if d == len(axes) {
			visit(at)
			return
		}
		n := fr.axes[axes[d]].n
		shown := ir.Shown(n, all)
		for i := range shown {
			if i >= ir.ShownEdge {
				i += n - shown
			}
			walk(d+1, at+i*strides[d])
		}
	}
	walk(0, 0)
}

// positions is how many positions an axis of a print stands for.
func (fr *frame) positions(a int) int {
	if n := fr.launch.edges[a]; n > 0 {
		return n
	}
	return fr.axes[a].n
}

// say puts a record into the area of the block, or counts it among the dropped.
func (fr *frame) say(words []uint64) {
	l := fr.launch
	share := int(le.LittleEndian.Uint32(l.debug[ir.DebugShare:]))
	areas := int(le.LittleEndian.Uint32(l.debug[ir.DebugAreas:]))
	first := int(le.LittleEndian.Uint64(l.debug[ir.DebugFirst:]))
	size := len(words) * ir.DebugWord
	if fr.block >= areas || fr.said+size > share {
		fr.said = share // what follows would be misleading without it
		atomic.AddUint64((*uint64)(unsafe.Pointer(&l.debug[ir.DebugDropped])), 1)
		return
	}
	at := l.debug[first+fr.block*share+fr.said:]
	for i, w := range words {
		le.LittleEndian.PutUint64(at[i*ir.DebugWord:], w)
	}
	fr.said += size
	le.LittleEndian.PutUint64(l.debug[l.table+fr.block*ir.DebugWord:], uint64(fr.said))
}

// assert compiles an assert: of the failures, the first is kept, as package ir orders them.
func (c *compiler) assert(op *ir.Op) func(*frame) {
	site := c.site(op)
	failed := c.off(op.Args[0])
	var offs []int
	var words []func(unsafe.Pointer) uint64
	for _, v := range op.Args[1:] {
		offs = append(offs, c.off(v))
		words = append(words, word(v.Type.DType))
	}
	return func(fr *frame) {
		if *(*uint8)(fr.at(failed)) == 0 {
			return
		}
		l := fr.launch
		l.failing.Lock()
		defer l.failing.Unlock()
		kept := func(offset int) uint64 { return le.LittleEndian.Uint64(l.debug[offset:]) }
		value := func(i int) uint64 { return words[i](fr.at(offs[i])) }
		if l.debug[ir.DebugFailed] != 0 {
			order := cmp.Compare(site, kept(ir.DebugSite))
			for i := 0; i < len(op.Names) && order == 0; i++ {
				order = cmp.Compare(int64(value(i)), int64(kept(ir.DebugValues+i*ir.DebugWord)))
			}
			if order >= 0 {
				return
			}
		}
		l.debug[ir.DebugFailed] = 1
		le.LittleEndian.PutUint64(l.debug[ir.DebugSite:], site)
		for i := range offs {
			le.LittleEndian.PutUint64(l.debug[ir.DebugValues+i*ir.DebugWord:], value(i))
		}
	}
}

// bindDebug checks the memory for what the kernel says.
func (p *Program) bindDebug(l *launch, memory []byte) error {
	l.debug, l.table = memory, p.debugTable
	if p.debugTable == 0 {
		return nil
	}
	if len(memory) < p.debugTable {
		return errDebugOutput
	}
	share := int(le.LittleEndian.Uint32(memory[ir.DebugShare:]))
	areas := int(le.LittleEndian.Uint32(memory[ir.DebugAreas:]))
	first := le.LittleEndian.Uint64(memory[ir.DebugFirst:])
	if first > math.MaxInt32 || p.debugTable+areas*ir.DebugWord > int(first) || int(first)+share*areas > len(memory) {
		return errDebugOutput
	}
	return nil
}
