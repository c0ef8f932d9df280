package main

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
