package nvidia

import (
	"sync"
	"sync/atomic"

	"tilec/jit/backend"
	"tilec/jit/cuda"
)

// between is what puts work between that of a stream of somebody else's.
type between struct {
	mu            sync.Mutex
	before, after *cuda.Event
	capturing     atomic.Bool
	// shared is the default stream while OnStream works in that; nil for the device's own.
	shared atomic.Pointer[cuda.Stream]
	// elsewhere: streams beside the device's own have got work, which Sync waits for too.
	elsewhere atomic.Bool
}

// queue is the stream that gets launches and fills: the device's own, or the default one, which keeps order with that.
func (d *Device) queue() *cuda.Stream {
	if s := d.between.shared.Load(); s != nil {
		return s
	}
	return d.stream
}

// Capturing reports that OnStream is at work for a stream that is being captured, as backend.Capturer says.
func (d *Device) Capturing() bool { return d.between.capturing.Load() }

// OnStream does work, which gives the device launches, behind what is in a stream of another library, a CUstream of the device's primary
// context; what that stream gets later waits for the work. It does not wait itself. The stream 0 is the default one, which gets the work itself:
// it keeps order with every stream like the device's own, but going from one stream to the other takes a GPU time. Of a stream that is being
// captured the events bring the device's own into the capture, and out of it.
func (d *Device) OnStream(stream uintptr, work func() error) error {
	const call = "GPU.OnStream"
	if err := backend.Usable(d, call); err != nil {
		return err
	}
	b := &d.between
	b.mu.Lock()
	defer b.mu.Unlock()
	b.elsewhere.Store(true)
	if stream == 0 {
		b.shared.Store(d.ctx.DefaultStream())
		defer b.shared.Store(nil)
		return work()
	}
	for _, e := range []**cuda.Event{&b.before, &b.after} {
		if *e == nil {
			made, err := d.ctx.NewOrderEvent()
			if err != nil {
				return d.meanwhile(call, err)
			}
			*e = made
		}
	}
	other := d.ctx.ExternalStream(stream)
	capturing, err := other.Capturing()
	if err != nil {
		return d.meanwhile(call, err)
	}
	b.capturing.Store(capturing)
	defer b.capturing.Store(false)
	if err := other.Record(b.before); err != nil {
		return d.meanwhile(call, err)
	}
	if err := d.stream.Wait(b.before); err != nil {
		return d.meanwhile(call, err)
	}
	failed := work()
	// What was launched before it failed is waited for too.
	if err := d.stream.Record(b.after); err != nil {
		return d.meanwhile(call, err)
	}
	if err := other.Wait(b.after); err != nil {
		return d.meanwhile(call, err)
	}
	return failed
}
