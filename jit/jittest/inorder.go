package jittest

import (
	"context"

	"tilec/jit/backend"
)

// InOrder is a recording that gives a device one task after the other, for tests that count or look at them.
type InOrder struct {
	Device backend.Device
	Tasks  []backend.Task
}

// Replay does the tasks.
func (r *InOrder) Replay(ctx context.Context) error {
	for i := range r.Tasks {
		if err := r.Tasks[i].Do(ctx, r.Device); err != nil {
			return err
		}
	}
	return nil
}

// Close has nothing to give back.
func (r *InOrder) Close() error { return nil }
