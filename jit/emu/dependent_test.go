package emu

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What launches before may still write is touched behind griddepcontrol.wait only, by each thread behind its own.
func TestUnfinishedMemoryIsWaitedFor(t *testing.T) {
	launch := func(t *testing.T, body string) []Finding {
		m, err := Parse(kernel(body))
		require.NoError(t, err)
		memory := NewMemory()
		in, err := memory.Alloc(256)
		require.NoError(t, err)
		out, err := memory.Alloc(256)
		require.NoError(t, err)
		require.NoError(t, memory.Fill(in, 256, 0))
		params := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, in), out)
		r, err := Launch(m, "k", [3]int{1, 1, 1}, [3]int{32, 1, 1}, 0, params, memory, Options{Unfinished: []Range{{in + 4, 4}, {out, 256}}})
		require.NoError(t, err)
		return r.Findings
	}
	assert.Empty(t, launch(t, "ld.global.b32 %r2, [%rd0];"), "a constant beside it")
	assert.Empty(t, launch(t, "griddepcontrol.wait; ld.global.b32 %r2, [%rd0+4]; st.global.b32 [%rd1], 1;"))
	for _, early := range []string{
		"ld.global.b32 %r2, [%rd0+4];", "ld.global.b64 %rd2, [%rd0];", "st.global.b32 [%rd1], 1; griddepcontrol.wait;",
		"griddepcontrol.launch_dependents; ld.global.b32 %r2, [%rd0+4];",
		"setp.eq.u32 %p0, %r0, 0; @%p0 griddepcontrol.wait; ld.global.b32 %r2, [%rd0+4];",
	} {
		found := launch(t, early)
		if assert.NotEmpty(t, found, early) {
			assert.Equal(t, TooEarly, found[0].Kind)
			assert.Contains(t, found[0].Message, "griddepcontrol.wait comes first")
		}
	}
}
