package cuda

import "time"

// A Stream is a queue of work: what is in one stream runs in order.
type Stream struct {
	ctx    *Context
	handle handle
}

// streamDefault makes a stream that keeps order with the context's synchronous
// calls. A non-blocking stream would not: a copy from ordinary memory may return
// before its transfer ends, and a kernel on such a stream would read old data.
const streamDefault = 0

// NewStream makes a stream. It keeps order with the synchronous calls of
// [Context], and runs beside other streams.
func (c *Context) NewStream() (*Stream, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	h, err := c.driver.bind.newStream()
	if err != nil {
		return nil, err
	}
	return &Stream{ctx: c, handle: h}, nil
}

// DefaultStream is the context's own stream, which waits for every other and is
// waited for by them. It cannot be captured and is not to be closed.
func (c *Context) DefaultStream() *Stream { return &Stream{ctx: c} }

// Close destroys the stream once its work is done, without waiting for it.
func (s *Stream) Close() error {
	if err := s.ctx.enter(); err != nil {
		return err
	}
	defer s.ctx.leave()
	return s.ctx.driver.bind.destroyStream(s.handle)
}

// Context is the context that the stream belongs to.
func (s *Stream) Context() *Context { return s.ctx }

// Synchronize waits for all work in the stream. A fault of an earlier kernel is
// reported here.
func (s *Stream) Synchronize() error {
	if err := s.ctx.enter(); err != nil {
		return err
	}
	defer s.ctx.leave()
	return s.ctx.driver.bind.syncStream(s.handle)
}

// Wait makes what is queued from now on wait for an event.
func (s *Stream) Wait(e *Event) error {
	if err := s.ctx.enter(); err != nil {
		return err
	}
	defer s.ctx.leave()
	return s.ctx.driver.bind.waitEvent(s.handle, e.handle)
}

// Record puts an event in the stream: it happens once the work before it is done.
func (s *Stream) Record(e *Event) error {
	if err := s.ctx.enter(); err != nil {
		return err
	}
	defer s.ctx.leave()
	return s.ctx.driver.bind.record(e.handle, s.handle)
}

// recordExternal has an event in a stream that is being captured happen in the graph's runs.
const recordExternal = 1

// RecordInGraph puts an event in a stream that is being captured: it happens in each run of the graph, and [Event.Since] gives the time
// between two of the last run.
func (s *Stream) RecordInGraph(e *Event) error {
	if err := s.ctx.enter(); err != nil {
		return err
	}
	defer s.ctx.leave()
	return s.ctx.driver.lib.do(cuEventRecordWithFlags, uintptr(e.handle), uintptr(s.handle), recordExternal)
}

// An Event is a point in a stream.
type Event struct {
	ctx    *Context
	handle handle
}

// eventDisableTiming makes an event cheaper that only orders work.
const eventDisableTiming = 2

func eventFlags(timing bool) uint32 {
	if timing {
		return 0
	}
	return eventDisableTiming
}

// NewEvent makes an event that takes the time when it happens.
func (c *Context) NewEvent() (*Event, error) { return c.newEvent(true) }

// NewOrderEvent makes an event that only orders streams: cheaper, without time.
func (c *Context) NewOrderEvent() (*Event, error) { return c.newEvent(false) }

func (c *Context) newEvent(timing bool) (*Event, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	h, err := c.driver.bind.newEvent(timing)
	if err != nil {
		return nil, err
	}
	return &Event{ctx: c, handle: h}, nil
}

// Close destroys the event.
func (e *Event) Close() error {
	if err := e.ctx.enter(); err != nil {
		return err
	}
	defer e.ctx.leave()
	return e.ctx.driver.bind.destroyEvent(e.handle)
}

// Synchronize waits until the event has happened.
func (e *Event) Synchronize() error {
	if err := e.ctx.enter(); err != nil {
		return err
	}
	defer e.ctx.leave()
	return e.ctx.driver.bind.syncEvent(e.handle)
}

// Since is the time on the device from an earlier event to this one, at a
// resolution of about half a microsecond. Both must have happened; [NotReady]
// otherwise.
func (e *Event) Since(start *Event) (time.Duration, error) {
	if err := e.ctx.enter(); err != nil {
		return 0, err
	}
	defer e.ctx.leave()
	return e.ctx.driver.bind.elapsed(start.handle, e.handle)
}
