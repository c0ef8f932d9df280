package nvidia

import (
	"errors"
	"unsafe"

	"tilec/jit/backend"
	"tilec/jit/cuda"
)

// mailbox is pinned host memory, which kernels write at the address that the host reads it at, and an event for each post: a
// copy would keep the launches behind it waiting, which the next step is.
type mailbox struct {
	device *Device
	data   []byte
	memory *backend.Memory
	events []*cuda.Event
	// posted and taken count since the beginning.
	posted, taken int
}

// NewMailbox makes a mailbox of so many bytes, for so many posts that nobody has taken.
func (d *Device) NewMailbox(size, room int) (backend.Mailbox, error) {
	const call = "GPU.NewMailbox"
	if err := backend.Usable(d, call); err != nil {
		return nil, err
	}
	b := &mailbox{device: d}
	var err error
	if b.data, err = d.ctx.AllocHost(size); err != nil {
		return nil, d.meanwhile(call, err)
	}
	clear(b.data)
	b.memory = backend.OnDevice(d, int64(size), uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b.data)))))
	for range room {
		e, err := d.ctx.NewOrderEvent()
		if err != nil {
			return nil, errors.Join(d.meanwhile(call, err), b.Close())
		}
		b.events = append(b.events, e)
	}
	return b, nil
}

// Memory is the host's, as backend.Mailbox says.
func (b *mailbox) Memory() *backend.Memory { return b.memory }

// Post queues an event, as backend.Mailbox says.
func (b *mailbox) Post() error {
	const call = "Mailbox.Post"
	if err := backend.Usable(b.device, call); err != nil {
		return err
	}
	if b.posted-b.taken == len(b.events) {
		return backend.FullMailbox(len(b.events))
	}
	if err := b.device.queue().Record(b.events[b.posted%len(b.events)]); err != nil {
		return b.device.meanwhile(call, err)
	}
	b.posted++
	return nil
}

// Take waits for the event of the first post, as backend.Mailbox says.
func (b *mailbox) Take() ([]byte, error) {
	if b.posted == b.taken {
		return nil, backend.EmptyMailbox()
	}
	if err := b.events[b.taken%len(b.events)].Synchronize(); err != nil {
		return nil, b.device.meanwhile("Mailbox.Take", err)
	}
	b.taken++
	return b.data, nil
}

// Close waits for the work that may write the memory, and gives that and the events back.
func (b *mailbox) Close() error {
	if b.device.State() != backend.StateOpen || !b.memory.Free(b.device) {
		return nil
	}
	err := b.device.Sync()
	for _, e := range b.events {
		err = errors.Join(err, e.Close())
	}
	return errors.Join(err, b.device.ctx.FreeHost(b.data))
}
