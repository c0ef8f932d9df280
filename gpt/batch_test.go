package gpt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/gpt"
	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// texts gives so many prompts of lengths 1 to longest, each of its own, with numbers of tokens to continue them by.
func texts(t *testing.T, name string, n, longest, most int) (prompts [][]int32, lengths []int) {
	t.Helper()
	words := append(slices.Clone(oracles(t, name)[0].greedy), oracles(t, name)[1].greedy...)
	for i := range n {
		at, length := 7*i%100, 1+(5*i+i*i)%longest
		prompts = append(prompts, words[at:at+length])
		lengths = append(lengths, 1+(3*i)%most)
	}
	return prompts, lengths
}

// alone continues prompts one after the other.
func alone(t *testing.T, m *gpt.Model, s gpt.Sampling, prompts [][]int32, lengths []int) [][]int32 {
	t.Helper()
	all := make([][]int32, len(prompts))
	for i, prompt := range prompts {
		s.Seed = uint64(i)
		require.NoError(t, m.Tokens(context.Background(), prompt, lengths[i], s, func(id int32) (bool, error) {
			all[i] = append(all[i], id)
			return true, nil
		}))
	}
	return all
}

// together continues prompts in a batch of so many rows. A sequence whose number is in stop says after its second token that
// there is to be no more.
func together(t *testing.T, m *gpt.Model, b gpt.Batch, prompts [][]int32, lengths []int, stop ...int) [][]int32 {
	t.Helper()
	all := make([][]int32, len(prompts))
	var sequences []*gpt.Sequence
	ended := 0
	for i, prompt := range prompts {
		sequences = append(sequences, &gpt.Sequence{Prompt: prompt, MaxNewTokens: lengths[i], Seed: uint64(i),
			Each: func(id int32) (bool, error) {
				all[i] = append(all[i], id)
				return len(all[i]) < 2 || !slices.Contains(stop, i), nil
			},
			Done: func() error { ended++; return nil },
		})
	}
	require.NoError(t, m.Continue(context.Background(), b, sequences))
	require.Equal(t, len(prompts), ended)
	return all
}

// A batch gives each of its texts the tokens that the text has alone, however many rows the batch has.
func TestBatchIsEachAlone(t *testing.T) {
	n, longest, most, sizes := 20, 40, 20, []int{1, 2, 3, 8, 32}
	if jittest.OnEmulator(t) {
		n, longest, most, sizes = 10, 9, 2, []int{3} // more lengths than have programs of their own
	}
	for _, s := range []gpt.Sampling{greedy, {Temperature: 0.8, TopP: 1}, {Temperature: 1, TopK: 40, TopP: 0.9, RepetitionPenalty: 1.2}} {
		prompts, lengths := texts(t, "nano", n, longest, most)
		precision := ""
		if jittest.OnGPU(t) {
			precision = "ieee"
		}
		want := alone(t, model(t, "nano", lang.F32, precision), s, prompts, lengths)
		m := model(t, "nano", lang.F32, precision)
		for _, rows := range sizes {
			t.Run(fmt.Sprintf("temperature %v, %d rows", s.Temperature, rows), func(t *testing.T) {
				assert.Equal(t, want, together(t, m, gpt.Batch{Sampling: s, Rows: rows}, prompts, lengths))
			})
		}
		if s.Temperature == 0 {
			got := together(t, m, gpt.Batch{Sampling: s, Rows: 3}, prompts, lengths, 0, 2)
			for i, ids := range want {
				if i == 0 || i == 2 {
					ids = ids[:min(2, len(ids))]
				}
				assert.Equal(t, ids, got[i], "text %d, when some end early", i)
			}
		}
		if jittest.OnEmulator(t) {
			return
		}
	}
}

// A text whose context is full ends there in a batch, as it does alone.
func TestBatchEndsWhereTheContextIsFull(t *testing.T) {
	m := model(t, "nano", lang.F32, exactPrecisions(t)[0])
	o := oracles(t, "nano")[0]
	var long []int32
	for len(long) < m.Context() {
		long = append(long, o.greedy...)
	}
	prompts := [][]int32{long[:m.Context()-3], o.tokens, long[:m.Context()]}
	got := together(t, m, gpt.Batch{Sampling: greedy, Rows: 2}, prompts, []int{50, 50, 50})
	assert.Len(t, got[0], 4)
	assert.Len(t, got[2], 1)
	assert.Equal(t, o.greedy[len(o.tokens):][:50], got[1])
}

// What goes wrong with one text ends the batch, which can be used again.
func TestBatchEndsWithAnError(t *testing.T) {
	m := model(t, "nano", lang.F32, exactPrecisions(t)[0])
	o := oracles(t, "nano")[0]
	broken := errors.New("the reader is gone")
	each := func(err error) func(int32) (bool, error) {
		n := 0
		return func(int32) (bool, error) {
			if n++; n == 3 {
				return true, err
			}
			return true, nil
		}
	}
	sequence := func(each func(int32) (bool, error)) *gpt.Sequence {
		return &gpt.Sequence{Prompt: o.tokens, MaxNewTokens: 20, Each: each}
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := gpt.Batch{Sampling: greedy}
	err := m.Continue(ctx, b, []*gpt.Sequence{sequence(each(nil)), sequence(each(broken))})
	assert.ErrorIs(t, err, broken)
	err = m.Continue(ctx, b, []*gpt.Sequence{sequence(each(nil)), sequence(func(int32) (bool, error) { cancel(); return true, nil })})
	assert.ErrorIs(t, err, context.Canceled)
	err = m.Continue(context.Background(), b, []*gpt.Sequence{sequence(each(nil)), {}})
	assert.ErrorContains(t, err, "the prompt has 0 tokens, required 1 to")
	err = m.Continue(context.Background(), b, []*gpt.Sequence{{Prompt: o.tokens}})
	assert.ErrorContains(t, err, "set Each")
	assert.NoError(t, m.Continue(context.Background(), b, nil))
	got := together(t, m, b, [][]int32{o.tokens, o.tokens}, []int{9, 5})
	assert.Equal(t, o.greedy[len(o.tokens):][:9], got[0])
	assert.Equal(t, o.greedy[len(o.tokens):][:5], got[1])
}

// Where a context is full, a text goes on as one that begins with the newest half of it.
func TestTextGoesOnBeyondTheContext(t *testing.T) {
	m := model(t, "nano", lang.F32, exactPrecisions(t)[0])
	o := oracles(t, "nano")[0]
	short := oracles(t, "nano")[1]
	length, half := m.Context(), m.Context()/2
	const most = 500
	want := slices.Clone(o.tokens)
	var shifts []int
	for text, kept := want, len(want); len(want) < len(o.tokens)+most; text, kept = want[len(want)-half:], half {
		if kept == half {
			shifts = append(shifts, len(want)-half)
		}
		n := min(length-kept+1, len(o.tokens)+most-len(want))
		ids := alone(t, m, greedy, [][]int32{text}, []int{n})[0]
		want = append(slices.Clip(want), ids...)
	}
	require.Len(t, shifts, 2)
	for _, rows := range []int{1, 2} {
		var got, beside []int32
		var dropped []int
		require.NoError(t, m.Continue(context.Background(), gpt.Batch{Sampling: greedy, Rows: rows}, []*gpt.Sequence{
			{Prompt: o.tokens, MaxNewTokens: most, Each: func(id int32) (bool, error) { got = append(got, id); return true, nil },
				Dropped: func(n int) { dropped = append(dropped, n) }},
			{Prompt: short.tokens, MaxNewTokens: 96, Each: func(id int32) (bool, error) { beside = append(beside, id); return true, nil }},
		}))
		assert.Equal(t, want[len(o.tokens):], got)
		assert.Equal(t, shifts, dropped)
		assert.Equal(t, short.greedy[len(short.tokens):][:96], beside)
	}
}

// What a free row began with is not there any more: a text that goes on with the same tokens runs them anew.
func TestFreeRowsKeepNoBeginning(t *testing.T) {
	m := model(t, "nano", lang.F32, exactPrecisions(t)[0])
	o := oracles(t, "nano")[0]
	const most = 300
	texts := func(others ...*gpt.Sequence) (got []int32) {
		long := &gpt.Sequence{Prompt: o.tokens, MaxNewTokens: most, Dropped: func(int) {},
			Each: func(id int32) (bool, error) { got = append(got, id); return true, nil }}
		require.NoError(t, m.Continue(context.Background(), gpt.Batch{Sampling: gpt.Sampling{Temperature: 1, TopP: 1}, Rows: 2}, append(others, long)))
		return got
	}
	want := texts()
	full := append(slices.Clip(o.tokens), want...)[:m.Context()+1]
	kept := full[len(full)-m.Context()/2:]
	short := &gpt.Sequence{Prompt: kept[:100], MaxNewTokens: 3, Each: func(int32) (bool, error) { return true, nil }}
	assert.Equal(t, want, texts(short))
}

// Random numbers do not come again where positions do.
func TestChanceDoesNotComeAgainBeyondTheContext(t *testing.T) {
	m := model(t, "nano", lang.F32, exactPrecisions(t)[0])
	o := oracles(t, "nano")[0]
	hot := gpt.Sampling{Temperature: 1000, TopP: 1} // logits that are all alike: chance alone chooses
	var got []int32
	require.NoError(t, m.Continue(context.Background(), gpt.Batch{Sampling: hot}, []*gpt.Sequence{{
		Prompt: o.tokens, MaxNewTokens: 500, Dropped: func(int) {},
		Each: func(id int32) (bool, error) { got = append(got, id); return true, nil },
	}}))
	half := m.Context() / 2
	full := m.Context() + 1 - len(o.tokens) // how many there are when the context is full
	alike := 0
	for position := half; position < m.Context(); position++ {
		if d := got[position-len(o.tokens)] - got[full+position-half]; d > -2 && d < 2 {
			alike++
		}
	}
	assert.Less(t, alike, half/4)
}

// littleDevice is a device with so many bytes.
type littleDevice struct {
	jit.Device
	left int64
	held map[*jit.Memory]int64
}

func (d *littleDevice) Alloc(n int64) (*jit.Memory, error) {
	if n > d.left {
		return nil, &jit.MemoryError{Need: n, Have: d.left}
	}
	m, err := d.Device.Alloc(n)
	if err == nil {
		d.left -= n
		d.held[m] = n
	}
	return m, err
}

func (d *littleDevice) Free(m *jit.Memory) {
	d.left += d.held[m]
	delete(d.held, m)
	d.Device.Free(m)
}

// A batch for which there is too little memory is smaller where nobody said how large it is, and an error that says what to do else.
func TestBatchThatDoesNotFit(t *testing.T) {
	prompts, lengths := texts(t, "nano", 20, 40, 20)
	want := alone(t, model(t, "nano", lang.F32, exactPrecisions(t)[0]), greedy, prompts, lengths)
	d := &littleDevice{jit.OpenCPU(), 1 << 40, map[*jit.Memory]int64{}}
	m, err := newModel(t, open(t, "nano"), d, lang.F32)
	require.NoError(t, err)
	defer m.Close()
	const row = 2 * 3 * 3 * 16 * 256 * 4 // keys and values, layers, heads, width of a head, positions, bytes
	d.left = 4 * row
	sequence := &gpt.Sequence{Prompt: prompts[0], MaxNewTokens: 5, Each: func(int32) (bool, error) { return true, nil }}
	err = m.Continue(context.Background(), gpt.Batch{Sampling: greedy, Rows: 20}, slices.Repeat([]*gpt.Sequence{sequence}, 20))
	var little *jit.MemoryError
	require.ErrorAs(t, err, &little)
	require.ErrorContains(t, err, "a batch of 20 texts of up to")
	require.ErrorContains(t, err, "fewer at once (--batch) take less memory")
	require.Equal(t, want, together(t, m, gpt.Batch{Sampling: greedy}, prompts, lengths), "8 do not fit")
	d.left = 0
	require.Equal(t, want, together(t, m, gpt.Batch{Sampling: greedy, Rows: 2}, prompts, lengths))
}

// A batch that this machine's memory cannot hold is an error before any of it is taken.
func TestBatchBeyondTheMachine(t *testing.T) {
	if jittest.OnGPU(t) || jit.HostMemory() == 0 {
		t.Skip("the state lies in this machine's memory on the CPU alone, where the system says how much there is")
	}
	m := model(t, "nano", lang.F32, "")
	rows := int(jit.HostMemory()/(2*3*3*16*256*4)) + 1
	sequence := &gpt.Sequence{Prompt: []int32{1}, MaxNewTokens: 5, Each: func(int32) (bool, error) { return true, nil }}
	err := m.Continue(context.Background(), gpt.Batch{Sampling: greedy, Rows: rows}, slices.Repeat([]*gpt.Sequence{sequence}, rows))
	var little *jit.MemoryError
	require.ErrorAs(t, err, &little)
}

// lostDevice is a device that is lost after so many writes.
type lostDevice struct {
	jit.Device
	writes int
}

var errLost = errors.New("the device is lost")

func (d *lostDevice) Write(m *jit.Memory, offset int64, data []byte) error {
	if d.writes--; d.writes < 0 {
		return errLost
	}
	return d.Device.Write(m, offset, data)
}

// A device that is lost while a batch runs ends it with what the device says, wherever it is at.
func TestBatchOnALostDevice(t *testing.T) {
	prompts, lengths := texts(t, "nano", 6, 10, 5)
	d := &lostDevice{jit.OpenCPU(), 1 << 30}
	m, err := newModel(t, open(t, "nano"), d, lang.F32)
	require.NoError(t, err)
	defer m.Close()
	for n := range 100 {
		d.writes = n
		var sequences []*gpt.Sequence
		for i, prompt := range prompts {
			sequences = append(sequences, &gpt.Sequence{Prompt: prompt, MaxNewTokens: lengths[i], Each: func(int32) (bool, error) { return true, nil }})
		}
		err := m.Continue(context.Background(), gpt.Batch{Sampling: gpt.Sampling{Temperature: 1, TopP: 1}, Rows: 2}, sequences)
		if err == nil {
			require.Greater(t, n, len(prompts), "each prompt is written")
			return
		}
		require.ErrorIs(t, err, errLost)
	}
	t.Fatal("a batch that needs ever more writes")
}

// Texts that begin alike are those that they are alone, though the common beginning runs once.
func TestTextsThatBeginAlike(t *testing.T) {
	o := oracles(t, "nano")
	preamble := o[0].greedy[:70]
	prompts := [][]int32{preamble, preamble, append(slices.Clip(preamble), 5, 6, 7), o[1].greedy[:50], append(slices.Clip(preamble[:40]), o[1].greedy[:20]...), preamble[:33], preamble}
	lengths := []int{4, 9, 5, 3, 6, 2, 8}
	for _, s := range []gpt.Sampling{greedy, {Temperature: 1, TopP: 1}} {
		want := alone(t, model(t, "nano", lang.F32, exactPrecisions(t)[0]), s, prompts, lengths)
		sizes := []int{1, 2, 7}
		if jittest.OnEmulator(t) {
			sizes = []int{7}
		}
		for _, rows := range sizes {
			var launches bytes.Buffer
			logs, err := jit.ParseLogs("launch", &launches)
			require.NoError(t, err)
			program, problems := jit.Load("gpt.tile", gpt.Source, nil)
			require.Empty(t, problems)
			m, err := gpt.New(program, open(t, "nano"), jit.NewCompiler(jittest.Device(t), logs), lang.F32, exactPrecisions(t)[0])
			require.NoError(t, err)
			assert.Equal(t, want, together(t, m, gpt.Batch{Sampling: s, Rows: rows}, prompts, lengths), "%d rows", rows)
			if rows == 7 {
				// Keys and values of five texts that begin as the first does, one of them with as few tokens as are copied.
				assert.Equal(t, 2*5, strings.Count(launches.String(), "copy_row"))
			}
			launches.Reset()
			m.SetDeterministic(true)
			together(t, m, gpt.Batch{Sampling: s, Rows: rows}, prompts, lengths)
			assert.NotContains(t, launches.String(), "copy_row")
			m.Close()
		}
		if jittest.OnEmulator(t) {
			return
		}
	}
}
