package backend

import (
	"fmt"

	"tilec/jit/misuse"
)

// This file gets small results from a device late, while it goes on: what each step of a program chose, of which several
// are given to the device before the first one's result is looked at.

// Mailbox holds copies of a device's memory until somebody takes them, in the order in which they were posted. One goroutine uses it.
type Mailbox interface {
	// Post queues a copy of what m holds, from a byte offset on, when the work given so far is done. It does not wait for that.
	// A full mailbox is an error.
	Post(m *Memory, offset int64) error
	// Take waits for the first copy that is not taken and gives it, until the next Post. An empty mailbox is an error.
	Take() ([]byte, error)
	// Close gives back what the mailbox holds.
	Close() error
}

// mailer is a device that has mailboxes of its own.
type mailer interface {
	NewMailbox(size, room int) (Mailbox, error)
}

// NewMailbox makes a mailbox of a device: for copies of so many bytes, and room for so many that nobody has taken.
func NewMailbox(d Device, size, room int) (Mailbox, error) {
	if err := Usable(d, "NewMailbox"); err != nil {
		return nil, err
	}
	if size < 1 || room < 1 {
		return nil, misuse.New("NewMailbox", fmt.Sprintf("%d copies of %d bytes are asked for, required 1 of 1 at least", room, size), misuse.ErrRange)
	}
	if m, ok := d.(mailer); ok {
		return m.NewMailbox(size, room)
	}
	return &mailbox{device: d, size: size, room: room}, nil
}

// mailbox is that of a device whose work is done when it was given.
type mailbox struct {
	device     Device
	size, room int
	held       [][]byte
}

// Post copies at once what Mailbox.Post queues, for the work given so far is done.
func (b *mailbox) Post(m *Memory, offset int64) error {
	if len(b.held) == b.room {
		return FullMailbox(b.room)
	}
	data := make([]byte, b.size)
	if err := b.device.Read(data, m, offset); err != nil {
		return err
	}
	b.held = append(b.held, data)
	return nil
}

// Take gives the oldest copy, as Mailbox.Take says.
func (b *mailbox) Take() ([]byte, error) {
	if len(b.held) == 0 {
		return nil, EmptyMailbox()
	}
	data := b.held[0]
	b.held = b.held[1:]
	return data, nil
}

// Close has nothing to give back: copies are the host's memory.
func (b *mailbox) Close() error { return nil }

// FullMailbox is the error of a mailbox that has no room for more than it holds.
func FullMailbox(room int) error {
	return fmt.Errorf("the mailbox has room for %d copies, and none of them was taken", room)
}

// EmptyMailbox is the error of a mailbox from which all was taken.
func EmptyMailbox() error { return fmt.Errorf("there is nothing in the mailbox") }
