package backend

import (
	"errors"
	"fmt"

	"tilec/jit/misuse"
)

// This file gets small results from a device late, while it goes on: what each step of a program chose, of which several
// are given to the device before the first one's result is looked at.

// Mailbox is memory, zeros at first, in which a device's launches leave what the host looks at while the device goes on: of a GPU it is the
// host's, so that nothing copies between two launches. Each step leaves its result in a place of its own, until somebody has taken
// it. One goroutine uses a mailbox.
type Mailbox interface {
	// Memory is what launches write. Nothing else gives it back than Close.
	Memory() *Memory
	// Post says that there is something to take when the work given so far is done. It does not wait for that. In a full mailbox it is an
	// error.
	Post() error
	// Take waits for the work before the first Post that is not taken, and gives all of the memory; where later work writes, it may change. In an
	// empty mailbox it is an error.
	Take() ([]byte, error)
	// Close waits for the work that may write the memory, and gives that back.
	Close() error
}

// mailer is a device that has mailboxes of its own.
type mailer interface {
	NewMailbox(size, room int) (Mailbox, error)
}

// NewMailbox makes a mailbox of a device, of so many bytes, for so many posts that nobody has taken.
func NewMailbox(d Device, size, room int) (Mailbox, error) {
	if err := Usable(d, "NewMailbox"); err != nil {
		return nil, err
	}
	if size < 1 || room < 1 {
		return nil, misuse.New("NewMailbox", fmt.Sprintf("%d posts in %d bytes are asked for, required 1 in 1 at least", room, size), misuse.ErrRange)
	}
	if m, ok := d.(mailer); ok {
		return m.NewMailbox(size, room)
	}
	m, err := d.Alloc(int64(size))
	if err != nil {
		return nil, err
	}
	b := &mailbox{device: d, memory: m, data: make([]byte, size), room: room}
	if err := d.Write(m, 0, b.data); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// mailbox is that of a device whose memory the host copies.
type mailbox struct {
	device Device
	memory *Memory
	data   []byte
	// posted are those that nobody has taken, of at most room.
	posted, room int
}

// Memory is the device's, as Mailbox.Memory says.
func (b *mailbox) Memory() *Memory { return b.memory }

// Post counts, as Mailbox.Post says.
func (b *mailbox) Post() error {
	if b.posted == b.room {
		return FullMailbox(b.room)
	}
	b.posted++
	return nil
}

// Take copies the memory, when all work is done, as Mailbox.Take says.
func (b *mailbox) Take() ([]byte, error) {
	if b.posted == 0 {
		return nil, EmptyMailbox()
	}
	b.posted--
	return b.data, b.device.Read(b.data, b.memory, 0)
}

// Close gives the memory back.
func (b *mailbox) Close() error {
	b.device.Free(b.memory)
	return nil
}

// FullMailbox is the error of a mailbox that has room for no more posts.
func FullMailbox(room int) error {
	return fmt.Errorf("the mailbox has room for %d posts, and none of them was taken", room)
}

// EmptyMailbox is the error of a mailbox from which all was taken.
func EmptyMailbox() error { return errors.New("there is nothing in the mailbox") }
