package cpu

import (
	"sync/atomic"
	"unsafe"

	"tilec/lang"
)

// This file moves elements that share a byte with others. Blocks that store neighbours may share a byte, and a word; so such
// a tensor is read and changed by atomic operations on aligned words alone.

// packedWord is the word that element i of a tensor lies in, and how far up in it.
func packedWord(d lang.DType, base unsafe.Pointer, i int) (word *uint32, up int) {
	bit := i * d.Bits()
	p := unsafe.Add(base, bit/8)
	in := int(uintptr(p) % 4)
	return (*uint32)(unsafe.Add(p, -in)), 8*in + bit%8
}

// f4Pairs are the two floats of four bits that a byte has.
var f4Pairs = func() (pairs [256][2]float32) {
	for b := range pairs {
		pairs[b] = [2]float32{float32(lang.F4E2M1.FloatValue(uint64(b & 15))), float32(lang.F4E2M1.FloatValue(uint64(b >> 4)))}
	}
	return pairs
}()

// unpack fills the box in a tile's buffer with elements of a tensor from the element first on.
func (b *box) unpack(d lang.DType, tile, base unsafe.Pointer, first int) {
	var values [16]float32 // by code: a packed type has at most 4 bits
	for code := range 1 << d.Bits() {
		values[code] = float32(d.FloatValue(uint64(code)))
	}
	field := uint32(1)<<d.Bits() - 1
	b.eachRun(func(dst, src, ds, ss, n int) {
		for i := 0; i < n; {
			word, up := packedWord(d, base, first+src+i*ss)
			if d == lang.F4E2M1 && ss == 1 && ds == 1 && up == 0 && n-i >= 8 { // a whole word of neighbours
				w, to := atomic.LoadUint32(word), (*[4][2]float32)(unsafe.Add(tile, 4*(dst+i)))
				to[0], to[1], to[2], to[3] = f4Pairs[w&255], f4Pairs[w>>8&255], f4Pairs[w>>16&255], f4Pairs[w>>24]
				i += 8
				continue
			}
			for w := atomic.LoadUint32(word) >> up; ; w >>= d.Bits() { // until the next element is in another word
				*(*float32)(unsafe.Add(tile, 4*(dst+i*ds))) = values[w&field]
				i++
				if up += d.Bits(); ss != 1 || i == n || up == 32 {
					break
				}
			}
		}
	})
}

// pack stores the box in a tile's buffer in a tensor, from the element first on: of neighbours, all that lie in one word at once.
func (b *box) pack(d lang.DType, base unsafe.Pointer, first int, tile unsafe.Pointer) {
	field := uint32(1)<<d.Bits() - 1
	b.eachRun(func(dst, src, ds, ss, n int) {
		for i := 0; i < n; {
			word, up := packedWord(d, base, first+dst+i*ds)
			var bits, mask uint32
			for { // until the next element is in another word
				code := uint32(d.FloatBits(float64(*(*float32)(unsafe.Add(tile, 4*(src+i*ss))))))
				bits, mask = bits&^(field<<up)|code<<up, mask|field<<up
				i++
				if up += d.Bits(); ds != 1 || i == n || up == 32 {
					break
				}
			}
			for old := atomic.LoadUint32(word); !atomic.CompareAndSwapUint32(word, old, old&^mask|bits); old = atomic.LoadUint32(word) {
			}
		}
	})
}

// eachRun calls run for the runs of the box along its last axis: where it begins on both sides, the strides there, and how many
// elements it has.
func (b *box) eachRun(run func(dst, src, ds, ss, n int)) {
	if b.empty() {
		return
	}
	b.collapse()
	last := b.rank - 1
	var at [boxRank]int
	for {
		dst, src := 0, 0
		for i := range last {
			dst += at[i] * b.dst[i]
			src += at[i] * b.src[i]
		}
		run(dst, src, b.dst[last], b.src[last], b.n[last])
		i := last - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < b.n[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}
