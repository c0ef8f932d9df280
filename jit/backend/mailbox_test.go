package backend_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/backend"
	"tilec/jit/jittest"
)

// A mailbox gives its memory as the work before a post left it, as often as there were posts; it says when it is full, and when it is empty.
func TestMailbox(t *testing.T) {
	d := jittest.Device(t)
	box, err := backend.NewMailbox(d, 12, 3)
	require.NoError(t, err)
	m := box.Memory()
	require.EqualValues(t, 12, m.Size)
	empty := func() {
		_, err := box.Take()
		require.ErrorContains(t, err, "nothing in the mailbox")
	}
	empty()
	posted, taken := byte(0), byte(0)
	post := func() {
		posted++
		require.NoError(t, d.Fill(m, int64(4*(posted%3)), 4, posted))
		require.NoError(t, box.Post())
	}
	take := func() {
		taken++
		data, err := box.Take()
		require.NoError(t, err)
		require.Len(t, data, 12)
		at := 4 * (taken % 3)
		require.Equal(t, []byte{taken, taken, taken, taken}, data[at:at+4])
	}
	for range 3 {
		post()
		post()
		take()
		post()
		take()
		take()
		empty()
	}
	for range 3 {
		post()
	}
	require.ErrorContains(t, box.Post(), "room for 3 posts")
	take()
	post()
	for range 3 {
		take()
	}
	empty()
	require.NoError(t, box.Close())
	_, kind := m.Misuse(d)
	assert.Error(t, kind, "the memory is given back")
	assert.NoError(t, box.Close())
}
