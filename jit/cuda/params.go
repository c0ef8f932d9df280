package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"
)

// Params are the arguments of a launch, packed as a kernel's parameter space is:
// in order, each at a multiple of its alignment. A Params may be reset and used
// again once the launch has returned, for the driver copies it; then it allocates
// nothing. The methods return the receiver for chaining.
//
//	p := new(cuda.Params).Ptr(x).Ptr(y).Uint32(n)
type Params struct {
	data    []byte
	layout  []paramInfo
	address []unsafe.Pointer // of each parameter in data, as the driver takes them
}

// A paramInfo is where a parameter lies in the parameter space, in bytes.
type paramInfo struct{ offset, size int }

// tensorMapAlign is the alignment of a tensor map in parameter space.
const tensorMapAlign = 64

// wordSize is the size of a parameter that every binding can pass: one of them
// copies whole 64-bit words.
const wordSize = 8

// Reset forgets all parameters and keeps the memory.
func (p *Params) Reset() *Params {
	p.data, p.layout = p.data[:0], p.layout[:0]
	return p
}

// room makes place for a parameter and returns its bytes.
func (p *Params) room(size, align int) []byte {
	offset := (len(p.data) + align - 1) &^ (align - 1)
	end := offset + size
	p.data = slices.Grow(p.data, end-len(p.data))
	clear(p.data[len(p.data):end]) // the padding, and what an earlier use left
	p.data = p.data[:end]
	p.layout = append(p.layout, paramInfo{offset, size})
	return p.data[offset:]
}

// Ptr adds a device address (.u64).
func (p *Params) Ptr(v Ptr) *Params { return p.Uint64(uint64(v)) }

// Word adds the lowest 1, 2, 4 or 8 bytes of a word.
func (p *Params) Word(v uint64, bytes int) *Params {
	switch bytes {
	case 1:
		return p.Uint8(uint8(v))
	case 2:
		return p.Uint16(uint16(v))
	case 4:
		return p.Uint32(uint32(v))
	}
	return p.Uint64(v)
}

// Uint64 adds a 64-bit integer.
func (p *Params) Uint64(v uint64) *Params {
	binary.NativeEndian.PutUint64(p.room(8, 8), v)
	return p
}

// Int64 adds a 64-bit integer.
func (p *Params) Int64(v int64) *Params { return p.Uint64(uint64(v)) }

// Uint32 adds a 32-bit integer.
func (p *Params) Uint32(v uint32) *Params {
	binary.NativeEndian.PutUint32(p.room(4, 4), v)
	return p
}

// Int32 adds a 32-bit integer.
func (p *Params) Int32(v int32) *Params { return p.Uint32(uint32(v)) }

// Uint16 adds 16 bits: an integer, or a 16-bit float by its bits.
func (p *Params) Uint16(v uint16) *Params {
	binary.NativeEndian.PutUint16(p.room(2, 2), v)
	return p
}

// Uint8 adds 8 bits.
func (p *Params) Uint8(v uint8) *Params {
	p.room(1, 1)[0] = v
	return p
}

// Float32 adds a 32-bit float.
func (p *Params) Float32(v float32) *Params { return p.Uint32(math.Float32bits(v)) }

// Float64 adds a 64-bit float.
func (p *Params) Float64(v float64) *Params { return p.Uint64(math.Float64bits(v)) }

// TensorMap adds a tensor map (.align 64 .b8 [128]).
func (p *Params) TensorMap(m *TensorMap) *Params { return p.Bytes(m[:], tensorMapAlign) }

// Bytes adds a structure by its bytes; align is a power of two.
func (p *Params) Bytes(b []byte, align int) *Params {
	copy(p.room(len(b), align), b)
	return p
}

// Len is the number of parameters.
func (p *Params) Len() int {
	if p == nil {
		return 0
	}
	return len(p.layout)
}

// addresses points at each parameter, for the duration of a launch. They are made
// anew each time, since adding a parameter may have moved the data.
func (p *Params) addresses() []unsafe.Pointer {
	if p.Len() == 0 {
		return nil
	}
	p.data = slices.Grow(p.data, wordSize) // the last parameter may be read as a word
	p.address = p.address[:0]
	for _, a := range p.layout {
		p.address = append(p.address, unsafe.Pointer(unsafe.SliceData(p.data[a.offset:])))
	}
	return p.address
}

// pointers is the driver's kernelParams: the address of addresses, or nil.
func (p *Params) pointers() unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(p.addresses()))
}

// words says whether no parameter is larger than a 64-bit word.
func (p *Params) words() bool {
	return p.Len() == 0 || !slices.ContainsFunc(p.layout, func(a paramInfo) bool { return a.size > wordSize })
}

// match compares the parameters with a kernel's signature: the driver would read
// beyond too few, and misread others. Sizes decide: the offsets that the driver
// tells (seen: 48 for what the PTX has at 64) count from a base of its own.
func (p *Params) match(want []paramInfo) error {
	if p.Len() != len(want) {
		return fmt.Errorf("it takes %d parameters, %d were given", len(want), p.Len())
	}
	for i, w := range want {
		if got := p.layout[i]; got.size != w.size {
			return fmt.Errorf("parameter %d has %d bytes, %d were given", i, w.size, got.size)
		}
	}
	return nil
}
