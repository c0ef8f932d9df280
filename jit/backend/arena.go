package backend

import (
	"fmt"
	"tilec/jit/misuse"
)

// Arena is a device's memory for the intermediate results of programs that never
// run at the same time: each finds there what the largest of them needs. What
// a program leaves there, its results too, is lost when another one of the arena
// is bound or runs.
type Arena struct {
	device Device
	// Temps are for temporaries and results, scratch for tiles that are too long for a block; nil where nothing is needed.
	Temps, Scratch *Memory
}

// NewArena makes an arena that has no memory yet. Options.Arena gives it to programs.
func NewArena(d Device) *Arena { return &Arena{device: d} }

// Bytes is the size of the memory that the arena holds.
func (a *Arena) Bytes() int64 {
	n := int64(0)
	if a == nil {
		return 0
	}
	for _, m := range []*Memory{a.Temps, a.Scratch} {
		if m != nil {
			n += m.Size
		}
	}
	return n
}

// Close gives the memory back. A program that runs afterwards takes it again.
func (a *Arena) Close() {
	if a == nil {
		return
	}
	for _, m := range []**Memory{&a.Temps, &a.Scratch} {
		if *m != nil {
			a.device.Free(*m)
			*m = nil
		}
	}
}

// Reserve makes the arena large enough for a program of a device: bytes of scratch memory and for temporaries, or nothing.
func (a *Arena) Reserve(d Device, program string, scratch, temps int64) error {
	if a.device == nil || a.device.Space() != d.Space() {
		return misuse.New("Options.Arena", "the arena is of another device than the program, or of none: NewArena makes one", misuse.ErrOtherDevice)
	}
	if err := a.grow(&a.Scratch, scratch); err != nil {
		return fmt.Errorf("%s: %d bytes for tiles that are too long for a block: %w", program, scratch, err)
	}
	if err := a.grow(&a.Temps, temps); err != nil {
		return fmt.Errorf("%s: %d bytes for intermediate results: %w", program, temps, err)
	}
	return nil
}

// Nothing is the size of memory that is not needed, where 0 is that of results without elements, which still lie somewhere.
const Nothing = -1

// grow replaces memory that is too small. The old goes first: nothing in it is needed, and both may not fit.
func (a *Arena) grow(m **Memory, n int64) (err error) {
	if n == Nothing || *m != nil && (*m).Size >= n {
		return nil
	}
	if *m != nil {
		a.device.Free(*m)
		*m = nil
	}
	*m, err = a.device.Alloc(n)
	return err
}
