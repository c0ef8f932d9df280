package nvidia

import (
	"fmt"
	"slices"

	"tilec/jit/backend"
	"tilec/jit/cuda"
	"tilec/jit/ir"
)

// BareLaunch is the launch as data, as backend.BareLauncher says.
func (k *gpuKernel) BareLaunch(args []backend.Arg) (*cuda.BareLaunch, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	blocks, atOnce, err := k.blocks(args)
	if err != nil {
		return nil, err
	}
	if atOnce > 0 && blocks > atOnce {
		return nil, fmt.Errorf("%d blocks of which %d are launched at once", blocks, atOnce)
	}
	var of []int
	for _, m := range k.module.Maps {
		of = append(of, slices.IndexFunc(k.params, func(p ir.Param) bool { return p.Kind == ir.ParamPointer && p.Tensor == m.Tensor }))
	}
	k.device.between.elsewhere.Store(true)
	return k.fn.Bare(k.config(blocks), k.pack(args, 0, nil), k.tensorMapDescs(args), of)
}

// BareCalls are the driver's functions, and the device's context.
func (d *Device) BareCalls() (*cuda.BareCalls, error) {
	if err := backend.Usable(d, "GPU.BareCalls"); err != nil {
		return nil, err
	}
	return d.ctx.BareCalls()
}

// NewTurn makes an event, as backend.BareDevice says.
func (d *Device) NewTurn() (*cuda.Event, error) {
	if err := backend.Usable(d, "GPU.NewTurn"); err != nil {
		return nil, err
	}
	return d.ctx.NewOrderEvent()
}

// InTurn does work in its turn, as backend.BareDevice says.
func (d *Device) InTurn(turn *cuda.Event, work func() error) error {
	const call = "GPU.InTurn"
	if err := backend.Usable(d, call); err != nil {
		return err
	}
	if err := d.queue().Wait(turn); err != nil {
		return d.meanwhile(call, err)
	}
	failed := work()
	if err := d.queue().Record(turn); err != nil { // what was launched before it failed is waited for too
		return d.meanwhile(call, err)
	}
	return failed
}

// Handle is that of the driver's graph.
func (r *recording) Handle() uintptr { return r.graph.Handle() }
