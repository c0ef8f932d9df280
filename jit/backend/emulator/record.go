package emulator

import (
	"context"
	"slices"

	"tilec/jit/backend"
	"tilec/jit/emu"
	"tilec/jit/ir"
)

// This file replays recordings a launch at a time, and finds what a GPU, on which launches overlap, may do wrong: a kernel that reads as a
// constant what a launch before it in the recording writes.

// recording is tasks that are done in their order.
type recording struct {
	device *Device
	tasks  []backend.Task
}

// Record keeps tasks.
func (d *Device) Record(tasks []backend.Task) (backend.Recording, error) {
	return &recording{d, tasks}, backend.Usable(d, "Emulator.Record")
}

// Replay does the tasks. Launches that are each dependent on the one before it may all be at work at once; whatever is not dependent, as
// memory that is filled, waits for all of them, and what is behind it waits for it.
func (r *recording) Replay(ctx context.Context) error {
	var written []emu.Range // by launches that may not have ended
	behindLaunch := false
	for i := range r.tasks {
		t := &r.tasks[i]
		k, ok := t.Exe.(*emulatedKernel)
		if !ok || !behindLaunch || !t.Dependent {
			written = nil
		}
		if behindLaunch = ok; !ok {
			if err := t.Do(ctx, r.device); err != nil {
				return err
			}
			continue
		}
		if err := k.launch(ctx, t.Args, written); err != nil {
			return err
		}
		written = append(written, k.writes(t.Args)...)
	}
	return nil
}

// Close has nothing to give back.
func (r *recording) Close() error { return nil }

// writes is the memory that a launch may write.
func (k *emulatedKernel) writes(args []backend.Arg) []emu.Range {
	size, address := backend.Fixed(k.params, args)
	var all []emu.Range
	for _, t := range k.tensors() {
		if shape, strides := extent(t, size); !t.ReadOnly() && !slices.Contains(shape, 0) {
			all = append(all, between(t, shape, strides, address(t)))
		}
	}
	return all
}

// mistaken is the part of a dependent kernel's constants that launches before it write.
func (k *emulatedKernel) mistaken(size func(*ir.Dim) int64, address func(*ir.Tensor) uint64, written []emu.Range) []emu.Range {
	var all []emu.Range
	for _, t := range k.tensors() {
		shape, strides := extent(t, size)
		if !k.dependent || !t.Constant || slices.Contains(shape, 0) {
			continue
		}
		c := between(t, shape, strides, address(t))
		for _, w := range written {
			from, to := max(c.Address, w.Address), min(c.Address+c.Bytes, w.Address+w.Bytes)
			if from < to {
				all = append(all, emu.Range{Address: from, Bytes: to - from})
			}
		}
	}
	return all
}
