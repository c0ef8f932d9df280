// Package misuse has the errors of callers: what a Go program asked for that cannot be. It must not know what was asked.
package misuse

import (
	"errors"
	"fmt"
	"strings"

	"tilec/lang"
)

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

// New is a misuse of a kind.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func New(call, reason string, kind error) error {
	return &UseError{Call: call, Reason: reason, Err: kind}
}

// Unset is the misuse of a value that nothing filled.
func Unset(call, reason string) error { return New(call, reason, ErrUnset) }

// ArgError is an argument of a Go type or value that its parameter cannot have.
type ArgError struct {
	// Function and Name say which argument.
	Function, Name string
	Reason         string
	// Err is the kind of a tensor that cannot be used, such as ErrFreed or ErrOverlap; nil for what is wrong otherwise.
	Err error
}

// Unwrap is the kind of the misuse.
func (e *ArgError) Unwrap() error { return e.Err }

// Error names the argument.
func (e *ArgError) Error() string { return fmt.Sprintf("%s of %s: %s", e.Name, e.Function, e.Reason) }

// NameError is a name that nothing has.
type NameError struct {
	// What the name should be of: "kernel or graph", "argument of softmax".
	What, Name string
	// Known are the names that there are.
	Known []string
	// Unlike names are so short that the nearest is not what was meant: gpu is not cpu.
	Unlike bool
}

// Error proposes the nearest name, or lists all.
func (e *NameError) Error() string {
	s := fmt.Sprintf("there is no %s %s: ", e.What, e.Name)
	if near := lang.Nearest(e.Name, e.Known); near != "" && !e.Unlike {
		return s + "did you mean " + near + "?"
	}
	switch len(e.Known) {
	case 0:
		return s + "there is none at all"
	case 1:
		return s + "there is " + e.Known[0]
	}
	return s + "there are " + strings.Join(e.Known, ", ")
}
