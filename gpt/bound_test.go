package gpt_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/gpt"
	"tilec/gpt/safetensors"
	"tilec/jit"
	"tilec/lang"
)

// countingDevice counts the bytes of a device's memory that are in use.
type countingDevice struct {
	jit.Device
	used, most int64
}

func (d *countingDevice) Alloc(n int64) (*jit.Memory, error) {
	m, err := d.Device.Alloc(n)
	if err == nil {
		d.used += n
		d.most = max(d.most, d.used)
	}
	return m, err
}

func (d *countingDevice) Free(m *jit.Memory) {
	d.used -= m.Size
	d.Device.Free(m)
}

// However many lengths a model has seen, it holds what the longest of them needs.
func TestLengthsShareMemory(t *testing.T) {
	const longest = 48
	tokens := oracles(t, "nano")[1].greedy[:longest]
	used := func(lengths ...int) int64 {
		d := &countingDevice{Device: jit.OpenCPU()}
		m, err := newModel(t, open(t, "nano"), d, lang.F32)
		require.NoError(t, err)
		for _, n := range lengths {
			_, err := m.Scores(tokens[:n])
			require.NoError(t, err)
		}
		used := d.used
		m.Close()
		require.Zero(t, d.used, "a closed model holds nothing")
		return used
	}
	var up, down []int
	for n := 1; n <= longest; n++ {
		up, down = append(up, n), append(down, longest+1-n)
	}
	want := used(longest)
	assert.Equal(t, want, used(up...))
	assert.Equal(t, want, used(down...))
}

// A length that comes back after many others gives the same logits.
func TestLengthsComeBack(t *testing.T) {
	m := model(t, "nano", lang.F32, exactPrecisions(t)[0])
	tokens := oracles(t, "nano")[1].greedy[:48]
	first := map[int][]float32{}
	for range 2 {
		for n := 1; n <= 36; n++ { // more than are kept
			logits, err := m.Scores(tokens[:n])
			require.NoError(t, err)
			if first[n] == nil {
				first[n] = logits
			}
			require.Equal(t, first[n], logits, "%d tokens", n)
		}
	}
	res, err := m.Generate(context.Background(), gpt.Request{Prompt: prompts[0], MaxNewTokens: 5, Sampling: greedy}, func(string) error { return nil })
	require.NoError(t, err)
	o := oracles(t, "nano")[0]
	require.Equal(t, o.greedy[len(o.tokens):][:5], res.Tokens)
}

// A long context takes no memory before a text needs it.
func TestStateHasTheRoomThatATextNeeds(t *testing.T) {
	const positions, elements = 5000, 2 * 3 * 3 * 16 // a position's: keys and values, layers, heads, width of a head
	ckpt := changed(t, map[string]any{"n_positions": positions, "n_ctx": positions}, func(all []safetensors.Tensor) []safetensors.Tensor {
		x := named(t, all, "transformer.wpe.weight")
		x.Shape = []int{positions, 48}
		for len(x.Data) < 2*positions*48 {
			x.Data = append(x.Data, x.Data[:min(len(x.Data), 2*positions*48-len(x.Data))]...)
		}
		return all
	})
	d := &countingDevice{Device: jit.OpenCPU()}
	m, err := newModel(t, ckpt, d, lang.F32)
	require.NoError(t, err)
	o := oracles(t, "nano")[0]
	empty := d.used - 4*1024*elements
	res, _ := generate(t, m, gpt.Request{Prompt: prompts[0], MaxNewTokens: 8, Sampling: greedy})
	require.Equal(t, o.greedy[len(o.tokens):][:8], res.Tokens)
	require.Less(t, d.used, empty+4*2048*elements)
	tokens := make([]int32, 1500)
	for i := range tokens {
		tokens[i] = o.greedy[i%len(o.greedy)]
	}
	all, err := m.Scores(tokens)
	require.NoError(t, err)
	_, err = m.Forward(tokens[:3], 2100)
	require.ErrorContains(t, err, "3 tokens from position 2100 on: the text before them had room for 2048, begin at position 0")
	for at := 0; at < len(tokens); at += 500 {
		last, err := m.Forward(tokens[at:at+500], at)
		require.NoError(t, err)
		largest, _ := difference(last, all[(at+499)*1024:(at+500)*1024])
		require.LessOrEqual(t, largest, 2e-4)
	}
	last, err := m.Forward(tokens, 0) // in pieces
	require.NoError(t, err)
	largest, _ := difference(last, all[1499*1024:])
	require.LessOrEqual(t, largest, 2e-4)
	_, err = m.Forward(tokens[:3], 4900)
	require.NoError(t, err)
	m.Close()
	require.Zero(t, d.used)
}
