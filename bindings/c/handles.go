package main

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"tilec/jit"
	"tilec/jit/bug"
	"tilec/jit/cuda"
	"tilec/lang"
)

// handles are what the caller has numbers of: a C program cannot hold what Go's collector owns.
type handles struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]any
}

var table = handles{open: map[uint64]any{}}

// add gives what is new a number; 0 is none's.
func (h *handles) add(x any) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.open[h.last] = x
	return h.last
}

// remove takes a number back.
func (h *handles) remove(n uint64) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	x, ok := h.open[n]
	if !ok {
		return nil, fmt.Errorf("handle %d is not open", n)
	}
	delete(h.open, n)
	return x, nil
}

// get finds what a number is of.
func get[T any](n uint64, what string) (T, error) {
	table.mu.Lock()
	defer table.mu.Unlock()
	x, ok := table.open[n].(T)
	if !ok {
		return x, fmt.Errorf("handle %d is no open %s", n, what)
	}
	return x, nil
}

// isOpen reports a device that has a number; the caller holds the lock.
func (h *handles) isOpen(d jit.Device) bool {
	for _, x := range h.open {
		if x == any(d) {
			return true
		}
	}
	return false
}

// disarmOn takes the launches of C away from all bound functions on a device.
func (h *handles) disarmOn(d jit.Device) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, x := range h.open {
		if b, ok := x.(*bound); ok && b.device == d && b.disarm != nil {
			b.disarm()
		}
	}
}

// text is an error as a person reads it: diagnostics with their source lines.
func text(err error) string {
	var many lang.Diagnostics
	var one *lang.Diagnostic
	if !errors.As(err, &many) && errors.As(err, &one) {
		many = lang.Diagnostics{one}
	}
	if many == nil {
		return err.Error()
	}
	var b strings.Builder
	if lang.Render(&b, many, lang.RenderOptions{}) != nil {
		return err.Error()
	}
	return strings.TrimRight(b.String(), "\n")
}

// guarded does work; a panic is an error of the compiler: nothing may unwind into the caller, whose thread has the context current again that it had.
func guarded(work func() error) (err error) {
	defer bug.Catch(&err, "library")
	defer cuda.KeepCurrent()()
	return work()
}

// program is a source on a device.
type program struct {
	device jit.Device
	module *jit.Module
}
