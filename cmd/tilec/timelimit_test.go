package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tilec/jit"
)

// busyDevice waits for ever once it is asked for memory.
type busyDevice struct{ jit.Device }

func (busyDevice) Alloc(int64) (*jit.Memory, error) { select {} }

// A test that cannot be ended is given up, and its device with it; other devices go on.
func TestStuckDevice(t *testing.T) {
	defer func(d time.Duration) { grace = d }(grace)
	grace = 10 * time.Millisecond
	program, problems := jit.Load("t.tile", []byte("test \"first\" {\n    check zeros(f32, [4]) == 0\n}\n\ntest \"second\" {\n    check 1 == 1\n}\n"), nil)
	require.Empty(t, problems)
	limit := &timeLimit{each: 10 * time.Millisecond}
	busy := jit.NewCompiler(busyDevice{jit.OpenCPU()}, nil)
	_, err := limit.run(busy, program.Tests[0])
	require.Equal(t, timeLimitError{limit.each}, err)
	_, err = limit.run(busy, program.Tests[1])
	require.EqualError(t, err, `did not run: cpu is still at work on the test "first"`)
	limit.each = time.Minute
	for _, test := range program.Tests {
		failures, err := limit.run(jit.NewCompiler(jit.OpenCPU(), nil), test)
		require.NoError(t, err)
		require.Empty(t, failures)
	}
}
