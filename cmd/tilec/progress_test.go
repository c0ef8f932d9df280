package main

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
)

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	at := time.Unix(1000, 0)
	p := &progress{to: &out, terminal: true, what: "loading", amount: func(n int64) string { return fmt.Sprint(n) }, now: func() time.Time { return at }, begin: at}
	p.update(1, 8)
	at = at.Add(999 * time.Millisecond)
	p.update(2, 8)
	p.clear()
	require.Empty(t, out.String(), "quick work says nothing")
	at = at.Add(time.Millisecond)
	p.update(3, 8)
	require.Equal(t, "\r\x1b[Kloading: 3 of 8, 37 %", out.String())
	at = at.Add(99 * time.Millisecond)
	p.update(4, 8)
	require.Equal(t, "\r\x1b[Kloading: 3 of 8, 37 %", out.String(), "not more often than a person can read")
	at = at.Add(time.Millisecond)
	p.update(5, 8)
	p.clear()
	p.clear()
	require.Equal(t, "\r\x1b[Kloading: 3 of 8, 37 %\r\x1b[Kloading: 5 of 8, 62 %\r\x1b[K", out.String())

	out.Reset()
	p.terminal = false
	at = at.Add(time.Hour)
	p.update(6, 8)
	p.update(0, 0)
	p.clear()
	require.Empty(t, out.String(), "a file gets nothing")
}

func TestProgressOfWorkThatTellsNothing(t *testing.T) {
	var out bytes.Buffer
	at := time.Unix(1000, 0)
	p := &progress{to: &out, terminal: true, now: func() time.Time { return at.Add(time.Hour) }, begin: at}
	asked := make(chan struct{}, 1)
	stop := p.follow(func() string {
		select {
		case asked <- struct{}{}:
		default:
		}
		return "at work"
	})
	<-asked
	stop()
	require.Empty(t, out.String(), "the second counts from when the work began")

	p.begin = at
	p.show(strings.Repeat("x", 100))
	require.Equal(t, "\r\x1b[K"+strings.Repeat("x", 76)+"...", out.String(), "one line of a terminal")
	out.Reset()
	fmt.Fprintln(p, "a kernel prints")
	fmt.Fprintln(p, "and prints")
	require.Equal(t, "\r\x1b[Ka kernel prints\nand prints\n", out.String(), "in place of the line")

	p.terminal = false
	out.Reset()
	p.follow(func() string { panic("a file gets nothing") })()
	p.show("nothing")
	require.Empty(t, out.String())
}

func TestEmulatorTellsItsProgress(t *testing.T) {
	e, err := jit.OpenEmulator(jit.DefaultEmulatorTarget)
	require.NoError(t, err)
	var mu sync.Mutex
	told := map[int64]bool{}
	e.Progress = func(kernel string, blocks, of int64) {
		mu.Lock()
		defer mu.Unlock()
		told[blocks] = true
		assert.Equal(t, "copy", kernel)
		assert.Equal(t, int64(5), of)
	}
	m, err := jit.NewCompiler(e, nil).Load("copy.tile", []byte("kernel copy(x: f32[N]) -> y: f32[N] tune B = 32 grid i in N by B { y[i] = x[i] }"))
	require.NoError(t, err)
	_, err = m.Call("copy", jit.Args{"x": jit.ArrayOf(make([]float32, 160), 160)})
	require.NoError(t, err)
	require.Equal(t, map[int64]bool{1: true, 2: true, 3: true, 4: true, 5: true}, told)
}
