package jittest

import (
	"context"

	"tilec/jit/backend"
)

// Recorder is a device that keeps what it records and counts replays. Where the device in it cannot record, its recordings give it one task
// after the other.
type Recorder struct {
	backend.Device
	// Recorded are the tasks of each recording, and Replayed is how often one was replayed.
	Recorded [][]backend.Task
	Replayed int
}

// Record keeps tasks, as backend.Recorder says.
func (r *Recorder) Record(tasks []backend.Task) (backend.Recording, error) {
	r.Recorded = append(r.Recorded, tasks)
	d, ok := r.Device.(backend.Recorder)
	if !ok {
		return &counted{&inOrder{r.Device, tasks}, r}, nil
	}
	of, err := d.Record(tasks)
	return &counted{of, r}, err
}

// counted is a recording whose replays are counted.
type counted struct {
	backend.Recording
	of *Recorder
}

// Replay counts.
func (c *counted) Replay(ctx context.Context) error {
	c.of.Replayed++
	return c.Recording.Replay(ctx)
}

// inOrder is a recording that gives a device one task after the other.
type inOrder struct {
	device backend.Device
	tasks  []backend.Task
}

// Replay does the tasks.
func (o *inOrder) Replay(ctx context.Context) error {
	for i := range o.tasks {
		if err := o.tasks[i].Do(ctx, o.device); err != nil {
			return err
		}
	}
	return nil
}

// Close has nothing to give back.
func (o *inOrder) Close() error { return nil }
