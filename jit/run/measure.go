package run

import (
	"time"

	"tilec/jit/backend"
	"tilec/jit/bug"
	"tilec/jit/tensor"
)

// Measure gives how long the device took for each of n runs of the program on arguments, as backend.Measure does. A GPU that can record the
// launches gets them in a CUDA graph, among whose nodes are the events that take the time and what overwrites flush, as peers are timed: one
// launch after the other in a stream that has many more waiting takes an H200 0.8 us longer (the median of 48 kernels). The program runs once more, before.
func (p *Program) Measure(args []tensor.Value, n int, flush *backend.Memory) (times []time.Duration, err error) {
	defer bug.Catch(&err, "run")
	run := func() error {
		_, err := p.Run(args)
		return err
	}
	if err := run(); err != nil { // compiled, its arguments accepted, and what it says said
		return nil, err
	}
	if times, possible, err := p.measureTasks(args, n, flush); possible || err != nil {
		return times, err
	}
	return backend.Measure(p.device, n, flush, run)
}

// measureTasks measures the launches as data; possible is false where the device does not take them so, or somebody observes what each writes.
func (p *Program) measureTasks(args []tensor.Value, n int, flush *backend.Memory) (times []time.Duration, possible bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.observer != nil {
		return nil, false, nil
	}
	tensors, scalars, err := p.leaves(args)
	if err != nil {
		return nil, false, err
	}
	tasks, refusal, err := p.tasks(tensors, scalars)
	if err != nil || refusal != "" {
		return nil, false, err
	}
	return backend.MeasureTasks(p.device, n, flush, tasks)
}
