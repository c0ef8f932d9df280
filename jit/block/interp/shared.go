package interp

import (
	"encoding/binary"
	"fmt"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/lang"
)

// This file is the shared memory of a block: bytes, of which each chunk knows which room was written there last, whether it is on its
// way, and who has read it since the last barrier.

// chunkBytes is how many bytes have one owner: what a swizzle moves together.
const chunkBytes = 16

// memory is the shared memory of a block.
type memory struct {
	bytes  []byte
	chunks []chunk
	rooms  map[any]*room
}

// chunk is what is known of a few bytes.
type chunk struct {
	owner *room
	// onItsWay is what of the room is still to come; "" where it is there.
	onItsWay string
}

// room is a range of shared memory that has one use.
type room struct {
	memory   *memory
	name     string
	at, size int
	// reads are the products that are under way and read the room, by the slot that they read.
	slots []*slot
}

// slot is a stage of a ring: a part of a room.
type slot struct {
	room *room
	name string
	at   int
	// step is the position of the step whose copies are in the slot, or on their way there, seq how many steps of the ring were before
	// it, and fill how often the slot was filled.
	step      int64
	seq, fill int
	// awaited is the last fill that each warp has waited for; of copies that threads do, landed is how often each warp had met the others
	// when its part had come.
	awaited, landed map[*warp]int
	// read is how often each warp had met the others when it read the slot last.
	read map[*warp]int
	// readers are the products under way that read the slot.
	readers map[*pending]bool
}

// roomFor is the room with a key, made by whoever comes first.
func (m *memory) roomFor(key any, name string, at, size int) *room {
	r := m.rooms[key]
	if r == nil {
		r = &room{memory: m, name: name, at: at, size: size}
		m.rooms[key] = r
	}
	if r.at != at || r.size != size {
		failf("%s is %d bytes from %d on for one warp, and %d from %d on for another", name, r.size, r.at, size, at)
	}
	if n := at + size; n > len(m.bytes) {
		m.bytes = append(m.bytes, make([]byte, n-len(m.bytes))...)
		m.chunks = append(m.chunks, make([]chunk, (n+chunkBytes-1)/chunkBytes-len(m.chunks))...)
	}
	return r
}

// at is the place in shared memory of bytes of a room.
func (r *room) place(offset, n int) int {
	if offset < 0 || offset+n > r.size {
		failf("byte %d of %s, which has %d", offset+n-1, r.name, r.size)
	}
	return r.at + offset
}

// take says that bytes of a room are written, or are about to be: what was there is lost.
func (r *room) take(offset, n int, onItsWay string) {
	at := r.place(offset, n)
	for i := at / chunkBytes; i <= (at+n-1)/chunkBytes; i++ {
		c := &r.memory.chunks[i]
		if c.owner != nil && c.owner != r {
			for _, s := range c.owner.slots {
				for p := range s.readers {
					failf("%s is written where %s lies, which %s still reads", r.name, s.name, p.name)
				}
			}
		}
		c.owner, c.onItsWay = r, onItsWay
	}
}

// put writes an element.
func (r *room) put(offset int, d lang.DType, c ir.Const) {
	n := d.Size()
	r.take(offset, n, "")
	putBits(r.memory.bytes[r.at+offset:], n, bitsOf(d, c))
}

// putIn writes an element of a tile: of a packed type the part of a byte that a position has.
func (r *room) putIn(t *block.Tile, offset, part int, c ir.Const) {
	if t.Spans == nil || !t.DType.Packed() {
		r.put(offset, t.DType, c)
		return
	}
	r.take(offset, 1, "")
	b, up, bits := &r.memory.bytes[r.at+offset], part*t.DType.Bits(), byte(1<<t.DType.Bits()-1)
	*b = *b&^(bits<<up) | byte(bitsOf(t.DType, c))<<up
}

// getIn reads an element of a tile, as putIn writes it.
func (r *room) getIn(t *block.Tile, offset, part int) ir.Const {
	if t.Spans == nil || !t.DType.Packed() {
		return r.get(offset, t.DType)
	}
	byte := r.get(offset, lang.U8).Int
	return constOf(t.DType, uint64(byte>>(part*t.DType.Bits()))&(1<<t.DType.Bits()-1))
}

// get reads an element that has to be there.
func (r *room) get(offset int, d lang.DType) ir.Const {
	n := d.Size()
	at := r.place(offset, n)
	switch c := r.memory.chunks[at/chunkBytes]; {
	case c.owner == nil:
		failf("byte %d of %s is read, and nobody has written there", offset, r.name)
	case c.owner != r:
		failf("byte %d of %s is read, where %s was written since", offset, r.name, c.owner.name)
	case c.onItsWay != "":
		failf("byte %d of %s is read before %s was waited for", offset, r.name, c.onItsWay)
	}
	return constOf(d, getBits(r.memory.bytes[at:], n))
}

func putBits(b []byte, n int, bits uint64) {
	var w [8]byte
	binary.LittleEndian.PutUint64(w[:], bits)
	copy(b[:n], w[:n])
}

func getBits(b []byte, n int) uint64 {
	var w [8]byte
	copy(w[:n], b[:n])
	return binary.LittleEndian.Uint64(w[:])
}

// bitsOf is a value as an element by itself, constOf the value.
func bitsOf(d lang.DType, c ir.Const) uint64 {
	if d.IsFloat() {
		if c.Float != c.Float && d.HasNaN() {
			return d.NaNBits()
		}
		return d.FloatBits(c.Float)
	}
	return uint64(c.Int)
}

func constOf(d lang.DType, bits uint64) ir.Const {
	if d.IsFloat() {
		return ir.Const{Float: d.FloatValue(bits)}
	}
	return ir.Const{Int: d.IntValue(bits)}
}

// begin says that copies of a step to the slot begin, by a warp, or by a producer.
func (s *slot) begin(w *warp, step int64, seq int) {
	for p := range s.readers {
		failf("copies of the step at %d begin to %s, which %s still reads", step, s.name, p.name)
	}
	if w.team != nil {
		for other, epoch := range s.read {
			if other != w && epoch >= w.epoch {
				failf("copies of the step at %d begin to %s, which warp %d may still read", step, s.name, other.n)
			}
		}
	}
	if s.seq == seq {
		return // another part of the same
	}
	s.step, s.seq = step, seq
	s.fill++
	clear(s.landed)
}

// readable says that a warp may read the copies of a step from the slot.
func (s *slot) readable(w *warp, step int64, what string) {
	switch {
	case s.fill == 0:
		failf("%s reads %s, to which nothing was copied", what, s.name)
	case s.step != step:
		failf("%s of the step at %d reads %s, which has the copies of the step at %d", what, step, s.name, s.step)
	}
	if len(s.landed) == 0 {
		if s.awaited[w] != s.fill {
			failf("%s reads %s before it has waited for the copies of the step at %d", what, s.name, step)
		}
	}
	for _, other := range w.team.all {
		if epoch, ok := s.landed[other]; len(s.landed) > 0 && (!ok || other != w && epoch >= w.epoch) {
			failf("%s reads what warp %d copies to %s before that has come and the warps have met", what, other.n, s.name)
		}
	}
	s.read[w] = w.epoch
}

// stageName is how a stage is called.
func stageName(v string, n int) string { return fmt.Sprintf("stage %d of %s", n, v) }
