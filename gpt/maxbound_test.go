package gpt

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/lang"
)

// A model keeps the programs that were run last, and no more than it says.
func TestBoundProgramsAreFew(t *testing.T) {
	program, problems := jit.Load("gpt.tile", Source, nil)
	require.Empty(t, problems)
	ckpt, err := OpenFS(Mini())
	require.NoError(t, err)
	m, err := New(program, ckpt, jit.NewCompiler(jit.OpenCPU(), nil), lang.F32, "")
	require.NoError(t, err)
	defer m.Close()
	bind := func(n int) *jit.Program {
		p, err := m.bindIn(m.graph, input{rows{0, 1}, ints(m.prompt.ids, 0, 1, int64(n)), ints(m.prompt.starts, 0, 1)}, lang.F32)
		require.NoError(t, err)
		return p
	}
	one := bind(1)
	for n := 2; n <= maxBound+5; n++ {
		two := bind(2)
		bind(n)
		require.Same(t, one, bind(1), "used all the time")
		require.Same(t, two, bind(2))
	}
	key := func(tokens int64) binding {
		return binding{graph: m.graph, logits: lang.F32, rows: 1, align: 16, tokens: tokens}
	}
	require.Len(t, m.bound, maxBound)
	require.Nil(t, m.bound.find(key(3)), "the one that was not used for the longest time")
	require.NotNil(t, m.bound.find(key(maxBound+5)))
}

// A prompt is cut into pieces that are it all, each at most so long; powers of two are few.
func TestPieces(t *testing.T) {
	seen := map[int]bool{}
	for n := 1; n <= 3*longest+5; n++ {
		sum := 0
		for _, piece := range pieces(n, longest, true) {
			sum += piece
			seen[piece] = true
			require.LessOrEqual(t, piece, longest)
		}
		require.Equal(t, n, sum)
	}
	require.Len(t, seen, 10, "1 to 512")
	require.Equal(t, []int{128, 8, 1}, pieces(137, longest, true))
	require.Equal(t, []int{137}, pieces(137, longest, false))
	require.Equal(t, []int{512, 512, 7}, pieces(1031, longest, false))
	require.Equal(t, []int{512, 512, 4, 2, 1}, pieces(1031, longest, true))
}
