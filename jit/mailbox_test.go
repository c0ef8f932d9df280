package jit_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// A kernel that runs again and again leaves each result in a place of its own in a mailbox, which the host looks at later. What nothing has
// written is 0.
func TestMailbox(t *testing.T) {
	const room = 3
	device := jittest.Device(t)
	program, problems := jit.Load("mail.tile", []byte(`
kernel count(inout n: i32[B], inout latest: i32[B, R])
    grid b in B
{
    let next = n[b] + 1
    n[b] = next
    latest[b, next % R] = next * next
}
`), nil)
	require.Empty(t, problems)
	n, err := jit.Upload(device, jit.Bytes([]int32{0, 100}), 4)
	require.NoError(t, err)
	defer device.Free(n)
	box, err := jit.NewMailbox(device, 4*2*room, room)
	require.NoError(t, err)
	defer func() { assert.NoError(t, box.Close()) }()
	require.NoError(t, box.Post())
	data, err := box.Take()
	require.NoError(t, err)
	require.Equal(t, make([]byte, 4*2*room), data)
	args := []jit.Value{
		jit.TensorValue(&jit.Tensor{DType: lang.I32, Shape: []int64{2}, Memory: n}),
		jit.TensorValue(&jit.Tensor{DType: lang.I32, Shape: []int64{2, room}, Memory: box.Memory()}),
	}
	p, err := jit.NewCompiler(device, nil).BindKernel(program.Kernels[0], args, jit.Options{})
	require.NoError(t, err)
	defer p.Close()
	posted, taken := 0, 0
	post := func() {
		_, err := p.Run(args)
		require.NoError(t, err)
		require.NoError(t, box.Post())
		posted++
	}
	take := func() {
		data, err := box.Take()
		require.NoError(t, err)
		taken++
		for row, first := range []int{0, 100} {
			want := first + taken
			require.EqualValues(t, want*want, binary.LittleEndian.Uint32(data[4*(row*room+want%room):]))
		}
	}
	for range 4 {
		for range room {
			post()
		}
		require.ErrorContains(t, box.Post(), "room for 3 posts")
		take()
		post()
		for taken < posted {
			take()
		}
		_, err = box.Take()
		require.ErrorContains(t, err, "nothing in the mailbox")
	}
}
