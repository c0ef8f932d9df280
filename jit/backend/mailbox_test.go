package backend_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/backend"
	"tilec/jit/jittest"
)

// A mailbox gives what memory held when it was posted, in that order, whatever it holds later.
func TestMailbox(t *testing.T) {
	d := jittest.Device(t)
	m, err := d.Alloc(16)
	require.NoError(t, err)
	defer d.Free(m)
	box, err := backend.NewMailbox(d, 4, 3)
	require.NoError(t, err)
	defer func() { assert.NoError(t, box.Close()) }()
	_, err = box.Take()
	require.ErrorContains(t, err, "nothing in the mailbox")
	post := func(n byte) {
		require.NoError(t, d.Write(m, 8, []byte{n, n, n, n}))
		require.NoError(t, box.Post(m, 8))
	}
	take := func(n byte) {
		data, err := box.Take()
		require.NoError(t, err)
		require.Equal(t, []byte{n, n, n, n}, data)
	}
	for round := range byte(3) {
		post(3*round + 1)
		post(3*round + 2)
		take(3*round + 1)
		post(3*round + 3)
		take(3*round + 2)
		take(3*round + 3)
	}
	for n := range byte(3) {
		post(n)
	}
	require.ErrorContains(t, box.Post(m, 8), "room for 3 copies")
	take(0)
	require.Error(t, box.Post(m, 13), "beyond the memory")
}
