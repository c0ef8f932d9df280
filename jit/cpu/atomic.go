package cpu

import (
	"sync/atomic"
	"unsafe"

	"tilec/lang"
)

// atomicAdder adds the elements of a run to a tensor's, each by compare and
// swap of the word that holds it: blocks run in parallel and in any order.
func atomicAdder(d lang.DType) mover {
	add := rows[kindOfDType[d]][lang.OpAdd]
	if narrowFloat(d) {
		add = elementwise(lang.OpAdd, d)
	}
	load, store := loader(d), storer(d)
	size := d.Size()
	held := kindOfDType[d].size()
	return func(dst unsafe.Pointer, ds int, src unsafe.Pointer, ss int, n int) {
		var old64, sum64 uint64
		var next, sum uint32
		for i := range n {
			p := unsafe.Add(dst, i*ds*size)
			v := unsafe.Add(src, i*ss*held)
			if size == 8 {
				word := (*uint64)(p)
				for {
					old64 = atomic.LoadUint64(word)
					add(unsafe.Pointer(&sum64), unsafe.Pointer(&old64), v, nil, 1)
					if atomic.CompareAndSwapUint64(word, old64, sum64) {
						break
					}
				}
				continue
			}
			// Elements narrower than a word share it with their neighbours.
			in := uintptr(p) % 4
			word := (*uint32)(unsafe.Add(p, -int(in)))
			for {
				old := atomic.LoadUint32(word)
				next = old
				at := unsafe.Add(unsafe.Pointer(&next), in)
				load(unsafe.Pointer(&sum), 1, at, 1, 1)
				add(unsafe.Pointer(&sum), unsafe.Pointer(&sum), v, nil, 1)
				store(at, 1, unsafe.Pointer(&sum), 1, 1)
				if atomic.CompareAndSwapUint32(word, old, next) {
					break
				}
			}
		}
	}
}
