package gpt

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// The logits of all positions have the type that is asked for, and are those of f32, rounded.
func TestLogitsOfAnotherType(t *testing.T) {
	program, problems := jit.Load("gpt.tile", Source, nil)
	require.Empty(t, problems)
	ckpt, err := Random("nano", 3)
	require.NoError(t, err)
	m, err := New(program, ckpt, jit.NewCompiler(jittest.Device(t), nil), lang.F32, "ieee")
	require.NoError(t, err)
	defer m.Close()
	tokens := []int32{5, 900, 33, 7, 7, 41, 1000}
	want, err := m.Scores(tokens)
	require.NoError(t, err)

	cut, err := m.prompt.place(m.compiler.Device, tokens, 0, 0, []int{len(tokens)})
	require.NoError(t, err)
	out, err := m.launchIn(context.Background(), m.scores, cut[0], lang.BF16)
	require.NoError(t, err)
	require.Equal(t, lang.BF16, out.Tensor.DType)
	got := make([]uint16, len(want))
	require.NoError(t, jit.ReadTensor(m.compiler.Device, out.Tensor, jit.Bytes(got)))
	for i, w := range want {
		// A sum in another order differs by far less than half a unit of bf16, which may round it to the next one.
		require.InDelta(t, w, lang.BF16Value(got[i]), 0x1p-8*max(1e-3, float64(max(w, -w))), "logit %d", i)
	}

	_, err = m.launchIn(context.Background(), m.graph, cut[0], lang.BF16)
	assert.ErrorContains(t, err, "gives logits of f32, must be bf16")
}
