// Package bug has the one type of a failure of the compiler itself, and saves what it takes to see one again.
package bug

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Error is a failure of the compiler itself: a panic, or something that the
// compiler made and that cannot be. It is never what a program or a call did wrong.
type Error struct {
	// Stage is where it happened: "check", "build", "pass fold", "plan", "ptx", "cpu", "emulator" or "run";
	// "" where nobody knows.
	Stage string
	// Kernel is the kernel that was worked on; "" for none.
	Kernel string
	// Value is what the code panicked with, or what is wrong.
	Value any
	// Stack is where that was.
	Stack []byte
	// IR is the kernel's text before the stage; "" where there is none.
	IR string
	// Settings are the target, the sizes, the pins and what else the stage depended on, in order.
	Settings []Setting
	// Sources are the texts that were read.
	Sources []Source
}

// Setting is one thing that a stage depended on: the line `// target: sm_90a` of a bundle's IR.
type Setting struct{ Name, Value string }

// Source is a text by its name.
type Source struct{ Path, Text string }

// New makes an Error of something that cannot be.
func New(stage, format string, args ...any) *Error {
	return &Error{Stage: stage, Value: fmt.Errorf(format, args...), Stack: debug.Stack()}
}

// Recovered makes an Error of what recover gave; the deferred function that recovered must call it. What was
// recovered before, and went on as a panic, stays as it is.
func Recovered(stage string, value any) *Error {
	if e, ok := value.(*Error); ok {
		return e
	}
	return &Error{Stage: stage, Value: value, Stack: debug.Stack()}
}

// Catch makes an error of a panic. It is deferred at the top of every goroutine
// that works for the compiler, where nobody else could recover, and of every call from outside.
func Catch(err *error, stage string) {
	if r := recover(); r != nil {
		*err = Recovered(stage, r)
	}
}

// In finds the Error in err and lets a function add what it knows; err itself is unchanged otherwise.
func In(err error, add func(e *Error)) error {
	var e *Error
	if errors.As(err, &e) {
		add(e)
	}
	return err
}

// Set adds a setting, unless it is empty or one of that name is known.
func (e *Error) Set(name, format string, args ...any) {
	value := fmt.Sprintf(format, args...)
	if value == "" {
		return
	}
	for _, s := range e.Settings {
		if s.Name == name {
			return
		}
	}
	e.Settings = append(e.Settings, Setting{name, value})
}

// Error says where it happened and what.
func (e *Error) Error() string {
	s := "compiler bug: "
	if e.Kernel != "" {
		s += e.Kernel + ": "
	}
	if e.Stage != "" {
		s += e.Stage + ": "
	}
	return s + fmt.Sprint(e.Value)
}

// Unwrap is the error that the code panicked with, if it was one.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
