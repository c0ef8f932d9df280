package gpt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// beside runs a text in batches, beside other texts.
type beside struct {
	m *Model
	r *rand.Rand
	// text is run as a prompt of so many tokens and steps of the others. The other texts have up to so many tokens.
	text            []int32
	prompt, longest int
}

// logits gives those after the text's prompt, which runs in pieces of at most so many tokens, and after each of its steps, in a row
// of a batch of so many, beside random tokens at random positions.
func (b *beside) logits(t *testing.T, piece, row, count int) [][]float32 {
	t.Helper()
	ctx, m, d, r, text, prompt := context.Background(), b.m, b.m.compiler.Device, b.r, b.text, b.prompt
	var all [][]float32
	read := func(out jit.Value, row int) {
		v := out.Tensor.Shape[1]
		logits := make([]float32, v)
		one := *out.Tensor
		one.Shape, one.Offset = []int64{1, v}, one.Offset+int64(row)*v
		require.NoError(t, jit.ReadTensor(d, &one, jit.Bytes(logits)))
		all = append(all, logits)
	}
	run := func(row int, tokens []int32, piece int) jit.Value {
		inputs, err := m.prompt.place(d, tokens, 0, row, pieces(len(tokens), piece, false))
		require.NoError(t, err)
		var out jit.Value
		for _, in := range inputs {
			out, err = m.launch(ctx, m.graph, in)
			require.NoError(t, err)
		}
		return out
	}
	ids, starts := make([]int32, count), make([]int32, count)
	random := func(n int) []int32 {
		tokens := make([]int32, n)
		for i := range tokens {
			tokens[i] = r.Int32N(1000)
		}
		return tokens
	}
	for i := range starts {
		starts[i] = r.Int32N(int32(b.longest))
	}
	for i := range min(count, 4) { // some neighbours have a past, the others what was there before
		run(i, random(int(starts[i])+1), m.longest())
	}
	read(run(row, text[:prompt], piece), 0)
	for n := prompt; n < len(text); n++ {
		copy(ids, random(count))
		ids[row], starts[row] = text[n], int32(n)
		require.NoError(t, d.Write(m.chooser.ids, 0, jit.Bytes(ids)))
		require.NoError(t, d.Write(m.chooser.starts, 0, jit.Bytes(starts)))
		out, err := m.launch(ctx, m.graph, m.chooser.input(count))
		require.NoError(t, err)
		read(out, row)
		for i := range starts {
			starts[i]++
		}
	}
	return all
}

// The logits of a text have the same bits alone and in any batch, and however its prompt is cut.
func TestSameBitsInAnyBatch(t *testing.T) {
	alone, counts, cuts := 1, []int{1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 64}, []int{1, 4, 8}
	if jittest.OnGPU(t) {
		alone, counts, cuts = 1, nil, []int{1, 4, 8}
		for count := 1; count <= jit.SameRows; count++ {
			counts = append(counts, count)
		}
	}
	dtypes, prompt, steps, longest := []lang.DType{lang.F32, lang.BF16}, 11, 5, 200
	if jittest.OnEmulator(t) {
		counts, cuts, dtypes, prompt, steps, longest = []int{5}, []int{1}, []lang.DType{lang.BF16}, 3, 1, 20
	}
	program, problems := jit.Load("gpt.tile", Source, nil)
	require.Empty(t, problems)
	for _, dtype := range dtypes {
		ckpt, err := OpenFS(Mini())
		require.NoError(t, err)
		m, err := New(program, ckpt, jit.NewCompiler(jittest.Device(t), nil), dtype, "")
		require.NoError(t, err)
		defer m.Close()
		m.SetDeterministic(true)
		most := slices.Max(counts)
		require.NoError(t, m.reserve(m.context, most))
		m.chooser, err = newChooser(m, most)
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(1, 2))
		text := make([]int32, prompt+steps)
		for i := range text {
			text[i] = r.Int32N(1000)
		}
		b := beside{m: m, r: r, text: text, prompt: prompt, longest: longest}
		want := b.logits(t, m.longest(), 0, alone)
		for _, count := range counts {
			t.Run(fmt.Sprintf("%s, %d rows", dtype, count), func(t *testing.T) {
				for n, logits := range b.logits(t, m.longest(), r.IntN(count), count) {
					require.True(t, slices.Equal(want[n], logits), "logits after token %d", prompt+n)
				}
			})
		}
		for _, piece := range cuts {
			t.Run(fmt.Sprintf("%s, pieces of %d", dtype, piece), func(t *testing.T) {
				for n, logits := range b.logits(t, piece, 0, alone) {
					require.True(t, slices.Equal(want[n], logits), "logits after token %d", prompt+n)
				}
			})
		}
	}
}
