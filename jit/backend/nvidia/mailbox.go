package nvidia

import (
	"errors"

	"tilec/jit/backend"
	"tilec/jit/cuda"
)

// mailbox is a ring of pinned host memory, to which the device copies by itself, with an event for each place.
type mailbox struct {
	device *Device
	size   int
	ring   []byte
	events []*cuda.Event
	// posted and taken count copies since the beginning.
	posted, taken int
}

// NewMailbox makes a mailbox for copies of so many bytes, with room for so many.
func (d *Device) NewMailbox(size, room int) (backend.Mailbox, error) {
	if err := backend.Usable(d, "GPU.NewMailbox"); err != nil {
		return nil, err
	}
	b := &mailbox{device: d, size: size}
	var err error
	if b.ring, err = d.ctx.AllocHost(size * room); err != nil {
		return nil, d.meanwhile("GPU.NewMailbox", err)
	}
	for range room {
		e, err := d.ctx.NewOrderEvent()
		if err != nil {
			return nil, errors.Join(d.meanwhile("GPU.NewMailbox", err), b.Close())
		}
		b.events = append(b.events, e)
	}
	return b, nil
}

// Post queues a copy to the ring's next place and an event behind it, as backend.Mailbox says.
func (b *mailbox) Post(m *backend.Memory, offset int64) error {
	const call = "Mailbox.Post"
	if err := m.Access(b.device, call, offset, int64(b.size)); err != nil {
		return err
	}
	if b.posted-b.taken == len(b.events) {
		return backend.FullMailbox(len(b.events))
	}
	at := b.posted % len(b.events)
	if err := b.device.stream.CopyToHost(b.ring[at*b.size:(at+1)*b.size], cuda.Ptr(m.Address()+uint64(offset))); err != nil {
		return b.device.meanwhile(call, err)
	}
	b.posted++
	return b.device.meanwhile(call, b.device.stream.Record(b.events[at]))
}

// Take waits for the event of the oldest copy, as backend.Mailbox says.
func (b *mailbox) Take() ([]byte, error) {
	if b.posted == b.taken {
		return nil, backend.EmptyMailbox()
	}
	at := b.taken % len(b.events)
	if err := b.events[at].Synchronize(); err != nil {
		return nil, b.device.meanwhile("Mailbox.Take", err)
	}
	b.taken++
	return b.ring[at*b.size : (at+1)*b.size], nil
}

// Close waits for copies that are under way, and gives the memory back.
func (b *mailbox) Close() error {
	if b.device.State() != backend.StateOpen {
		return nil
	}
	err := b.device.Sync()
	for _, e := range b.events {
		err = errors.Join(err, e.Close())
	}
	return errors.Join(err, b.device.ctx.FreeHost(b.ring))
}
