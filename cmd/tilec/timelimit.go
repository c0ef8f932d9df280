package main

import (
	"context"
	"fmt"
	"time"

	"tilec/jit"
	"tilec/typecheck/typed"
)

// timeLimit runs tests that may not end.
type timeLimit struct {
	// each is how long one test may take; 0 for any time.
	each time.Duration
	// stuck are the devices that could not be made to end a test, with what the tests after it get to hear.
	stuck map[jit.Device]error
}

// timeLimitError says that a test took too long.
type timeLimitError struct{ limit time.Duration }

// Error says how long the test ran, and what to do.
func (e timeLimitError) Error() string {
	return fmt.Sprintf("still running after %v: does a loop never end? if the test needs longer, give --timeout a longer time, or 0", e.limit)
}

// grace is how long a test has to end after its time. The CPU and the emulator look at the clock
// all the time; the compiler does not, and no kernel on a GPU can be ended but with its process.
var grace = 5 * time.Second

// run runs a test on the compiler's device.
func (l *timeLimit) run(c *jit.Compiler, t *typed.Test) ([]*jit.CheckFailure, error) {
	if l.each == 0 {
		return c.RunTest(t, jit.Options{})
	}
	if err := l.stuck[c.Device]; err != nil {
		return nil, err
	}
	late := timeLimitError{l.each}
	ctx, cancel := context.WithTimeoutCause(context.Background(), l.each, late)
	defer cancel()
	type outcome struct {
		failures []*jit.CheckFailure
		err      error
	}
	done := make(chan outcome, 1)
	go func() {
		failures, err := c.RunTestContext(ctx, t, jit.Options{})
		done <- outcome{failures, err}
	}()
	last := time.NewTimer(l.each + grace)
	defer last.Stop()
	select {
	case o := <-done:
		return o.failures, o.err
	case <-last.C:
		if l.stuck == nil {
			l.stuck = map[jit.Device]error{}
		}
		l.stuck[c.Device] = fmt.Errorf("did not run: %s is still at work on the test %q", c.Device.ID(), t.Name)
		return nil, late
	}
}
