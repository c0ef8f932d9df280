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

// Measure runs work n times and gives how long the device took for each run, by
// the device's own clock on a GPU: what the host does meanwhile does not count.
// Before each run the memory flush, if any, is overwritten, so that the work
// finds none of its data in caches.
func Measure(d Device, n int, flush *Memory, work func() error) ([]time.Duration, error) {
	const call = "Measure"
	if err := Usable(d, call); err != nil {
		return nil, err
	}
	if work == nil {
		return nil, misuse.Unset(call, "there is no work")
	}
	if n < 0 {
		return nil, misuse.New(call, fmt.Sprintf("%d runs are asked for", n), misuse.ErrRange)
	}
	if flush != nil {
		if err := flush.Access(d, call, 0, flush.Size); err != nil {
			return nil, err
		}
	}
	if t, ok := d.(timer); ok {
		return t.Time(n, flush, work)
	}
	times := make([]time.Duration, n)
	for i := range times {
		if flush != nil {
			clear(flush.Bytes())
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
