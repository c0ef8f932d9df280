package backend

import (
	"fmt"
	"sync/atomic"
	"tilec/jit/misuse"
	"unsafe"
)

// Memory is a piece of a device's memory: what Alloc and Upload give, and parts of that.
type Memory struct {
	// Size is in bytes.
	Size int64

	block *allocation
	// offset is where in the block the piece begins, in bytes.
	offset int64
	// sliced says that Slice made it.
	sliced bool
}

// allocation is what a device allocated at once.
type allocation struct {
	device Device
	size   int64
	// host is the memory itself on the CPU, nil once it is freed; address is where it lies on a GPU.
	host    atomic.Pointer[[]byte]
	address uint64
	freed   atomic.Bool
	// promised memory is nowhere yet.
	promised bool
}

// OnHost is memory of the CPU.
func OnHost(d Device, data []byte) *Memory {
	b := &allocation{device: d, size: int64(len(data))}
	b.host.Store(&data)
	return &Memory{Size: b.size, block: b}
}

// OnDevice is memory of a GPU, real or emulated.
func OnDevice(d Device, n int64, address uint64) *Memory {
	return &Memory{Size: n, block: &allocation{device: d, size: n, address: address}}
}

// blockAlign is what the devices' Alloc aligns to, which alignments are reckoned from.
const blockAlign = 256

// Borrowed is n bytes of a GPU's memory from an address on that the caller owns and keeps while it is used. Free gives nothing back.
func Borrowed(d Device, address uint64, n int64) *Memory {
	offset := int64(address % blockAlign)
	return &Memory{Size: n, block: &allocation{device: d, size: offset + n, address: address - uint64(offset)}, offset: offset, sliced: true}
}

// promised counts the addresses of memory that is promised.
var promised atomic.Uint64

// Promised stands for n bytes of a device's memory that come with a run, at an address of which the rest by 256 is given: a program can be bound
// to it, but not run on it.
func Promised(d Device, rest uint64, n int64) *Memory {
	offset := int64(rest % blockAlign)
	n = min(max(n, 0), MaxElements)
	size := (offset + n + 2*blockAlign - 1) / blockAlign * blockAlign
	end := promised.Add(uint64(size))
	return &Memory{Size: n, block: &allocation{device: d, size: size, address: end - uint64(size), promised: true}, offset: offset, sliced: true}
}

// Free marks the memory as given back, and reports whether it was the device's to give: all of a block, for the first time.
func (m *Memory) Free(d Device) bool {
	if m == nil || m.block == nil || m.sliced || Usable(d, "") != nil || m.block.device.Space() != d.Space() {
		return false
	}
	return m.block.freed.CompareAndSwap(false, true)
}

// Release lets memory of the CPU go, after free.
func (m *Memory) Release() { m.block.host.Store(nil) }

// Shares reports pieces of one allocation.
func (m *Memory) Shares(o *Memory) bool { return m.block == o.block }

// Start is where in its allocation the piece begins, in bytes.
func (m *Memory) Start() int64 { return m.offset }

// Bytes is the memory on the CPU; none when it has been freed.
func (m *Memory) Bytes() []byte {
	data := m.block.host.Load()
	if data == nil {
		return nil
	}
	return (*data)[m.offset : m.offset+m.Size : m.offset+m.Size]
}

// Address is where the memory begins: on the host for the CPU, else on the device.
func (m *Memory) Address() uint64 {
	if data := m.block.host.Load(); data != nil {
		return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(*data)))) + uint64(m.offset)
	}
	return m.block.address + uint64(m.offset)
}

// Slice is n bytes of m from offset on. Freeing a part frees nothing; a part of memory that
// is freed is freed. What m does not have is a *UseError of ErrRange.
func (m *Memory) Slice(offset, n int64) (*Memory, error) {
	const call = "Memory.Slice"
	if m == nil || m.block == nil {
		return nil, misuse.Unset(call, "the memory is nothing that Alloc or Upload gave")
	}
	if err := m.Within(offset, n); err != nil {
		return nil, misuse.New(call, err.Error(), misuse.ErrRange)
	}
	return &Memory{Size: n, block: m.block, offset: m.offset + offset, sliced: true}, nil
}

// Within reports n bytes from an offset on that are not in the memory.
func (m *Memory) Within(offset, n int64) error {
	if m.Size < 0 || m.Size > m.block.size-m.offset {
		return fmt.Errorf("its Size was set to %d, and it has %d bytes", m.Size, m.block.size-m.offset)
	}
	if offset < 0 || n < 0 || offset > m.Size || n > m.Size-offset {
		return fmt.Errorf("%d bytes from %d on are not within the %d bytes of the memory", n, offset, m.Size)
	}
	return nil
}

// Misuse says why a device cannot use the memory, and of what kind that is; "" when it can.
func (m *Memory) Misuse(d Device) (reason string, kind error) {
	switch {
	case m == nil:
		return "the memory is nil: Alloc and Upload give memory", misuse.ErrUnset
	case m.block == nil:
		return "the memory is a zero Memory: Alloc and Upload give memory", misuse.ErrUnset
	case m.block.device.Space() != d.Space():
		return fmt.Sprintf("the memory is of the device %s, and is used on %s", m.block.device.ID(), d.ID()), misuse.ErrOtherDevice
	case m.block.freed.Load():
		return "the memory is freed", misuse.ErrFreed
	}
	if err := Usable(m.block.device, ""); err != nil {
		return "the device of the memory is closed", misuse.ErrClosed
	}
	return "", nil
}

// Promised reports memory that comes with a run.
func (m *Memory) Promised() bool { return m != nil && m.block != nil && m.block.promised }

// Access checks a copy of n bytes to or from memory of a device.
func (m *Memory) Access(d Device, call string, offset, n int64) error {
	if err := Usable(d, call); err != nil {
		return err
	}
	if reason, kind := m.Misuse(d); kind != nil {
		return misuse.New(call, reason, kind)
	}
	if err := m.Within(offset, n); err != nil {
		return misuse.New(call, err.Error(), misuse.ErrRange)
	}
	return nil
}

// State is whether a device can be used.
type State int

const (
	// StateUnset is that of nil and of a zero value.
	StateUnset State = iota
	// StateOpen devices can be used, StateClosed ones no more.
	StateOpen
	StateClosed
)

// Usable reports a device that cannot be used.
func Usable(d Device, call string) error {
	switch {
	case d == nil:
		return misuse.Unset(call, "there is no device: OpenDevice gives one")
	case d.State() == StateUnset:
		return misuse.Unset(call, "the device is nothing that OpenDevice gave")
	case d.State() == StateClosed:
		return misuse.New(call, "the device "+d.ID()+" is closed", misuse.ErrClosed)
	}
	return nil
}

// MaxElements is more than any memory holds, and so many of any type are bytes that an int64 counts.
const MaxElements = 1 << 58

// CheckAlloc checks how many bytes are asked of a device.
func CheckAlloc(d Device, call string, n int64) error {
	if err := Usable(d, call); err != nil {
		return err
	}
	if n < 0 || n > MaxElements {
		return misuse.New(call, fmt.Sprintf("%d bytes are asked for: no memory has so many", n), misuse.ErrRange)
	}
	return nil
}
