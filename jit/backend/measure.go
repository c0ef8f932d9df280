package backend

import (
	"fmt"
	"time"

	"tilec/jit/misuse"
)

// timer is a device with a clock of its own.
type timer interface {
	Time(n int, flush *Memory, work func() error) ([]time.Duration, error)
}

// stopwatch is a device that times recorded tasks by a clock of its own.
type stopwatch interface {
	TimeTasks(n int, flush *Memory, tasks []Task) ([]time.Duration, error)
}

// Measure runs work n times and gives how long the device took for each run, by
// the device's own clock on a GPU: what the host does meanwhile does not count.
// Before each run the memory flush, if any, is overwritten, so that the work
// finds none of its data in caches.
func Measure(d Device, n int, flush *Memory, work func() error) ([]time.Duration, error) {
	const call = "Measure"
	if work == nil {
		return nil, misuse.Unset(call, "there is no work")
	}
	if err := measurable(d, call, n, flush); err != nil {
		return nil, err
	}
	if t, ok := d.(timer); ok {
		return t.Time(n, flush, work)
	}
	times := make([]time.Duration, n)
	for i := range times {
		if flush != nil {
			if err := d.Fill(flush, 0, flush.Size, 0); err != nil {
				return nil, err
			}
		}
		begin := time.Now()
		if err := work(); err != nil {
			return nil, err
		}
		if err := d.Sync(); err != nil {
			return nil, err
		}
		times[i] = time.Since(begin)
	}
	return times, nil
}

// MeasureTasks is Measure of tasks, which a GPU gets as it gets a recording: launches among whose events no host is. possible is false
// where the device has no clock for them.
func MeasureTasks(d Device, n int, flush *Memory, tasks []Task) (times []time.Duration, possible bool, err error) {
	w, ok := d.(stopwatch)
	if !ok {
		return nil, false, nil
	}
	if err := measurable(d, "Measure", n, flush); err != nil {
		return nil, true, err
	}
	times, err = w.TimeTasks(n, flush, tasks)
	return times, true, err
}

// measurable checks what is to be measured: a device that is open, and memory of it.
func measurable(d Device, call string, n int, flush *Memory) error {
	if err := Usable(d, call); err != nil {
		return err
	}
	if n < 0 {
		return misuse.New(call, fmt.Sprintf("%d runs are asked for", n), misuse.ErrRange)
	}
	if flush != nil {
		if err := flush.Access(d, call, 0, flush.Size); err != nil {
			return err
		}
	}
	return nil
}
