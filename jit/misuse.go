package jit

import "errors"

// What makes a value unusable; errors.Is finds each in the *UseError or the *ArgError that a call gives.
var (
	// ErrUnset: the value is nil, or a zero value that nothing filled.
	ErrUnset = errors.New("the value is not set")
	// ErrClosed: the device, the program or the launch is closed.
	ErrClosed = errors.New("the value is closed")
	// ErrFreed: the memory was given back.
	ErrFreed = errors.New("the memory is freed")
	// ErrOtherDevice: the memory is of another device.
	ErrOtherDevice = errors.New("the memory is of another device")
	// ErrRange: a size, an offset or an extent is negative, or reaches beyond the memory.
	ErrRange = errors.New("out of range")
	// ErrMismatch: an element type, a shape or strides are others than what they are used for needs.
	ErrMismatch = errors.New("types or shapes differ")
	// ErrOverlap: a tensor that is written shares elements with another, or with itself.
	ErrOverlap = errors.New("tensors overlap")
)

// UseError is a call that cannot be: on a value that is not set or closed, with memory of
// another device or outside its bounds. Arguments of kernels and graphs have errors of
// their own, *ArgError.
type UseError struct {
	// Call is the function or method, "CPU.Write".
	Call   string
	Reason string
	// Err is the kind, one of the errors above.
	Err error
}

// Error names the call.
func (e *UseError) Error() string { return "jit." + e.Call + ": " + e.Reason }

// Unwrap is the kind of the misuse.
func (e *UseError) Unwrap() error { return e.Err }

func unset(call, reason string) error { return &UseError{call, reason, ErrUnset} }
