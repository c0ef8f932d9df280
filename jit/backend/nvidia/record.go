package nvidia

import (
	"context"
	"fmt"
	"time"

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
	graph, err := stream.Capture(func() error { return d.queueAll(stream, tasks) })
	if err != nil {
		return nil, d.meanwhile("GPU.Record", err)
	}
	return &recording{d, graph}, nil
}

// queueAll puts tasks in a stream that is being captured. A launch right behind another one may begin before that has ended.
func (d *Device) queueAll(stream *cuda.Stream, tasks []backend.Task) error {
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
}

// TimeTasks times the tasks as a CUDA graph, which has what overwrites flush, an event, the tasks and another event in it, and runs
// n times.
func (d *Device) TimeTasks(n int, flush *backend.Memory, tasks []backend.Task) (times []time.Duration, err error) {
	const call = "GPU.TimeTasks"
	if err := backend.Usable(d, call); err != nil {
		return nil, err
	}
	stream, err := d.ctx.NewStream()
	if err != nil {
		return nil, d.meanwhile(call, err)
	}
	defer stream.Close()
	var events [2]*cuda.Event
	for i := range events {
		if events[i], err = d.ctx.NewEvent(); err != nil {
			return nil, d.meanwhile(call, err)
		}
		defer events[i].Close()
	}
	begin, end := events[0], events[1]
	graph, err := stream.Capture(func() error {
		if flush != nil {
			if err := stream.Fill(cuda.Ptr(flush.Address()), 0, int(flush.Size)); err != nil {
				return err
			}
		}
		if err := stream.RecordInGraph(begin); err != nil {
			return err
		}
		if err := d.queueAll(stream, tasks); err != nil {
			return err
		}
		return stream.RecordInGraph(end)
	})
	if err != nil {
		return nil, d.meanwhile(call, err)
	}
	defer graph.Close()
	for range n {
		if err := graph.Launch(d.stream); err != nil {
			return nil, d.meanwhile(call, err)
		}
		if err := d.Sync(); err != nil {
			return nil, err
		}
		each, err := end.Since(begin)
		if err != nil {
			return nil, d.meanwhile(call, err)
		}
		times = append(times, each)
	}
	return times, nil
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
