package jit

import (
	"fmt"
	"time"

	"tilec/jit/cuda"
	"tilec/jit/misuse"
)

// Measure runs work n times and gives how long the device took for each run, by
// the device's own clock on a GPU: what the host does meanwhile does not count.
// Before each run the memory flush, if any, is overwritten, so that the work
// finds none of its data in caches.
func Measure(d Device, n int, flush *Memory, work func() error) ([]time.Duration, error) {
	const call = "Measure"
	if err := usable(d, call); err != nil {
		return nil, err
	}
	if work == nil {
		return nil, misuse.Unset(call, "there is no work")
	}
	if n < 0 {
		return nil, misuse.New(call, fmt.Sprintf("%d runs are asked for", n), misuse.ErrRange)
	}
	if flush != nil {
		if err := flush.access(d, call, 0, flush.Size); err != nil {
			return nil, err
		}
	}
	if g, ok := d.(*GPU); ok {
		return g.measure(n, flush, work)
	}
	times := make([]time.Duration, n)
	for i := range times {
		if flush != nil {
			clear(flush.bytes())
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

func (d *GPU) measure(n int, flush *Memory, work func() error) ([]time.Duration, error) {
	type span struct{ begin, end *cuda.Event }
	spans := make([]span, 0, n)
	defer func() {
		for _, s := range spans {
			_ = s.begin.Close()
			_ = s.end.Close()
		}
	}()
	for range n {
		begin, err := d.ctx.NewEvent()
		if err != nil {
			return nil, err
		}
		end, err := d.ctx.NewEvent()
		if err != nil {
			return nil, err
		}
		spans = append(spans, span{begin, end})
		if flush != nil {
			if err := d.stream.Fill(cuda.Ptr(flush.address()), 0, int(flush.Size)); err != nil {
				return nil, err
			}
		}
		if err := d.stream.Record(begin); err != nil {
			return nil, err
		}
		if err := work(); err != nil {
			return nil, err
		}
		if err := d.stream.Record(end); err != nil {
			return nil, err
		}
	}
	if err := d.Sync(); err != nil {
		return nil, err
	}
	times := make([]time.Duration, n)
	for i, s := range spans {
		var err error
		if times[i], err = s.end.Since(s.begin); err != nil {
			return nil, err
		}
	}
	return times, nil
}
