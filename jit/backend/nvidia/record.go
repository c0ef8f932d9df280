package nvidia

import (
	"context"
	"fmt"

	"tilec/jit/backend"
	"tilec/jit/cuda"
)

// recording is a CUDA graph of kernels and fills.
type recording struct {
	device *Device
	graph  *cuda.Graph
}

// Record captures tasks on a stream of its own, so that what other goroutines give the device meanwhile does not get among them.
func (d *Device) Record(tasks []backend.Task) (backend.Recording, error) {
	if err := backend.Usable(d, "GPU.Record"); err != nil {
		return nil, err
	}
	stream, err := d.ctx.NewStream()
	if err != nil {
		return nil, d.meanwhile("GPU.Record", err)
	}
	defer stream.Close()
	graph, err := stream.Capture(func() error {
		behindLaunch := false
		for i := range tasks {
			t := &tasks[i]
			if t.Exe == nil {
				value := t.Value
				if t.Undefined {
					value = backend.PoisonByte
				}
				if err := stream.Fill(cuda.Ptr(t.Memory.Address()+uint64(t.Offset)), value, int(t.Size)); err != nil {
					return err
				}
				behindLaunch = false
				continue
			}
			k, ok := t.Exe.(*gpuKernel)
			if !ok || k.device != d {
				return fmt.Errorf("a kernel that %s did not compile cannot be recorded", d.ID())
			}
			if err := k.queue(stream, t.Args, t.Dependent && behindLaunch); err != nil {
				return err
			}
			behindLaunch = true
		}
		return nil
	})
	if err != nil {
		return nil, d.meanwhile("GPU.Record", err)
	}
	return &recording{d, graph}, nil
}

// Replay launches the graph.
func (r *recording) Replay(context.Context) error {
	if err := backend.Usable(r.device, "GPU.Replay"); err != nil {
		return err
	}
	return r.device.meanwhile("GPU.Replay", r.graph.Launch(r.device.queue()))
}

// Close destroys the graph.
func (r *recording) Close() error {
	if r.device.State() != backend.StateOpen {
		return nil
	}
	return r.graph.Close()
}
