package jit

import (
	"fmt"
	"runtime/debug"
)

// Bug is a failure of the compiler itself: a panic, with the stack where it happened.
type Bug struct {
	Value any
	Stack []byte
}

// NewBug makes a Bug of what recover gave; it must be called by the deferred function that recovered.
func NewBug(value any) *Bug { return &Bug{Value: value, Stack: debug.Stack()} }

// Error is the panic's message.
func (b *Bug) Error() string { return fmt.Sprintf("internal error: %v", b.Value) }

// Unwrap is the error that the code panicked with, if it was one.
func (b *Bug) Unwrap() error {
	err, _ := b.Value.(error)
	return err
}

// catch makes an error of a panic. Deferred at the top of every goroutine that
// compiles: there nobody else could recover.
func catch(err *error) {
	if r := recover(); r != nil {
		*err = NewBug(r)
	}
}
