package jit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
)

// Copies come out in the order in which they went in, as the memory was then; a mailbox says when it is full, and when it is empty.
func TestMailbox(t *testing.T) {
	device := jittest.Device(t)
	m, err := jit.Upload(device, jit.Bytes([]int32{1, 2, 3, 4}), 4)
	require.NoError(t, err)
	defer device.Free(m)
	b, err := jit.NewMailbox(device, 4, 2)
	require.NoError(t, err)
	defer func() { assert.NoError(t, b.Close()) }()
	take := func(want byte) {
		t.Helper()
		data, err := b.Take()
		require.NoError(t, err)
		assert.Equal(t, []byte{want, 0, 0, 0}, data)
	}
	_, err = b.Take()
	require.ErrorContains(t, err, "nothing in the mailbox")
	for round := range 3 {
		require.NoError(t, device.Write(m, 8, jit.Bytes([]int32{3})))
		require.NoError(t, b.Post(m, 8))
		require.NoError(t, device.Write(m, 8, jit.Bytes([]int32{9})))
		require.NoError(t, b.Post(m, 4))
		require.ErrorContains(t, b.Post(m, 0), "room for 2 copies", "round %d", round)
		take(3)
		require.NoError(t, b.Post(m, 12))
		take(2)
		take(4)
		_, err = b.Take()
		require.ErrorContains(t, err, "nothing in the mailbox")
	}
}
