package emu

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
)

// Memory is the global memory of an emulated device. Allocations lie apart, so
// that an access past the end of one does not meet the next. It is safe for
// concurrent use, launches included, as far as accesses do not touch the same bytes.
type Memory struct {
	mu   sync.RWMutex
	list []*allocation // by address
	next uint64
	// elapsed is the steps that launches took, one after the other, of each those of the blocks that ran one after the other.
	elapsed atomic.Uint64
	// atomics orders atomic operations and accesses that synchronise.
	atomics sync.Mutex
}

// junk fills memory that nobody has written, in allocations of up to maxJunk bytes.
const (
	junk    = 0xd5
	maxJunk = 1 << 28
)

const (
	globalBase      = 0x1000_0000_0000
	allocationAlign = 256     // as the driver's
	allocationGap   = 1 << 16 // between allocations
)

// Windows of the generic address space; what is in none is global.
const (
	sharedWindow = 0x7f00_0000_0000
	localWindow  = 0x7e00_0000_0000
	paramWindow  = 0x7d00_0000_0000
	windowSize   = 1 << 32
)

type allocation struct {
	base   uint64
	data   []byte
	filled []byte // 1 where written
}

// NewMemory gives memory without allocations.
func NewMemory() *Memory { return &Memory{next: globalBase} }

// Alloc gives the address of n bytes with undefined contents, a multiple of 256.
func (m *Memory) Alloc(n int64) (uint64, error) {
	if n < 0 || n > 1<<40 {
		return 0, fmt.Errorf("cannot allocate %d bytes", n)
	}
	a := &allocation{filled: make([]byte, n)}
	if n <= maxJunk {
		a.data = bytes.Repeat([]byte{junk}, int(n))
	} else { // the system keeps what is touched
		a.data = make([]byte, n)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a.base = m.next
	m.next += (uint64(n)+allocationGap)/allocationAlign*allocationAlign + allocationAlign
	m.list = append(m.list, a)
	return a.base, nil
}

// Free takes back what Alloc gave; later accesses are out of bounds.
func (m *Memory) Free(address uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = slices.DeleteFunc(slices.Clone(m.list), func(a *allocation) bool { return a.base == address })
}

// find gives the allocation that holds an address, nil when none does.
func (m *Memory) find(address uint64) *allocation {
	m.mu.RLock()
	defer m.mu.RUnlock()
	i := sort.Search(len(m.list), func(i int) bool { return m.list[i].base > address }) - 1
	if i < 0 || address-m.list[i].base >= uint64(len(m.list[i].data)) {
		return nil
	}
	return m.list[i]
}

// span gives n bytes from an address on.
func (m *Memory) span(address uint64, n int) (*allocation, int, error) {
	a := m.find(address)
	if a == nil {
		if n == 0 {
			return &allocation{}, 0, nil
		}
		return nil, 0, fmt.Errorf("address %#x is in no allocation", address)
	}
	at := int(address - a.base)
	if at+n > len(a.data) {
		return nil, 0, fmt.Errorf("%d bytes at %#x end %d bytes past their allocation of %d bytes", n, address, at+n-len(a.data), len(a.data))
	}
	return a, at, nil
}

// Write copies data to an address.
func (m *Memory) Write(address uint64, data []byte) error {
	a, at, err := m.span(address, len(data))
	if err != nil {
		return err
	}
	copy(a.data[at:], data)
	fill(a.filled[at : at+len(data)])
	return nil
}

// Fill sets n bytes from an address on to a value.
func (m *Memory) Fill(address uint64, n int, value byte) error {
	a, at, err := m.span(address, n)
	if err != nil {
		return err
	}
	for i := range n {
		a.data[at+i] = value
	}
	fill(a.filled[at : at+n])
	return nil
}

// Undefine makes n bytes from an address on such as nobody has written; Read gives them as a value.
func (m *Memory) Undefine(address uint64, n int, value byte) error {
	if err := m.Fill(address, n, value); err != nil {
		return err
	}
	a, at, err := m.span(address, n)
	if err == nil {
		clear(a.filled[at : at+n])
	}
	return err
}

// Read copies from an address; bytes that nobody has written come as junk.
func (m *Memory) Read(data []byte, address uint64) error {
	a, at, err := m.span(address, len(data))
	if err != nil {
		return err
	}
	copy(data, a.data[at:])
	return nil
}

// Written gives how many of the n bytes from an address on were written.
func (m *Memory) Written(address uint64, n int) (int, error) {
	a, at, err := m.span(address, n)
	if err != nil {
		return 0, err
	}
	sum := 0
	for _, f := range a.filled[at : at+n] {
		sum += int(f)
	}
	return sum, nil
}

func fill(b []byte) {
	for i := range b {
		b[i] = 1
	}
}

// describe says where an address lies, for a person.
func (m *Memory) describe(address uint64) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	i := sort.Search(len(m.list), func(i int) bool { return m.list[i].base > address }) - 1
	switch {
	case i >= 0 && address-m.list[i].base < 1<<30:
		a := m.list[i]
		return fmt.Sprintf("byte %d of allocation %d, which has %d", address-a.base, i, len(a.data))
	case i+1 < len(m.list) && m.list[i+1].base-address < 1<<30:
		return fmt.Sprintf("%d bytes before allocation %d", m.list[i+1].base-address, i+1)
	}
	return "in no allocation"
}
