package gpt

import (
	"context"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/jit/jittest"
	"tilec/lang"
)

// nano puts a small model with random weights on a device, with the log of its launches.
func nano(t *testing.T, d jit.Device) (*Model, *strings.Builder) {
	t.Helper()
	program, problems := jit.Load("gpt.tile", Source, nil)
	require.Empty(t, problems)
	ckpt, err := Random("nano", 3)
	require.NoError(t, err)
	var log strings.Builder
	logs, err := jit.ParseLogs("launch", &log)
	require.NoError(t, err)
	precision := ""
	if d.Target().IsGPU() { // batches of other sizes are computed by other code, which rounds alike then
		precision = "ieee"
	}
	m, err := New(program, ckpt, jit.NewCompiler(d, logs), lang.F32, precision)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m, &log
}

// samplings choose in every way.
var samplings = []Sampling{{TopP: 1}, {Temperature: 0.8, TopP: 1}, {Temperature: 1, TopK: 40, TopP: 0.9, RepetitionPenalty: 1.2}}

// Each token of a text but the first is one replay of one recording, of which the log says so.
func TestATokenIsOneReplay(t *testing.T) {
	for _, s := range samplings {
		d := &jittest.Recorder{Device: jittest.Device(t)}
		m, log := nano(t, d)
		const tokens = 6
		n := 0
		require.NoError(t, m.Tokens(context.Background(), []int32{5, 900, 33}, tokens, s, func(int32) (bool, error) {
			n++
			return true, nil
		}))
		assert.Equal(t, tokens, n)
		require.Len(t, d.Recorded, 1, "the second step is recorded")
		assert.Equal(t, tokens-2, d.Replayed, "the second step and those behind it")
		name := "forward and choose"
		if s.Temperature == 0 {
			name = "forward and choose_likeliest"
		}
		assert.Len(t, regexp.MustCompile(name+`: \d+ launches replayed`).FindAllString(log.String(), -1), tokens-2)
	}
}

// The steps of a batch are one recording too, as long as it has as many rows.
func TestABatchIsOneRecording(t *testing.T) {
	d := &jittest.Recorder{Device: jittest.Device(t)}
	m, _ := nano(t, d)
	var texts [][]int32
	run := func(rows int) [][]int32 {
		texts = make([][]int32, 2)
		var sequences []*Sequence
		for i := range texts {
			sequences = append(sequences, &Sequence{Prompt: []int32{5, int32(i), 33}, MaxNewTokens: 5, Each: func(id int32) (bool, error) {
				texts[i] = append(texts[i], id)
				return true, nil
			}})
		}
		require.NoError(t, m.Continue(context.Background(), Batch{Sampling: samplings[1], Rows: rows}, sequences))
		return texts
	}
	together := run(2)
	assert.Len(t, d.Recorded, 1)
	assert.Equal(t, 3, d.Replayed)
	assert.Equal(t, together, run(1))
}

// A step with its choice in one program is that of the network and then the choice, each by itself.
func TestOneStepIsTheStepAndTheChoice(t *testing.T) {
	ctx := context.Background()
	for _, s := range samplings {
		chosen := func(step func(m *Model) error) (all [][]byte) {
			m, _ := nano(t, jittest.Device(t))
			require.NoError(t, m.prepare(20, 3))
			for row, tokens := range [][]int32{{5, 900, 33}, {7}, {1, 2}} {
				require.NoError(t, m.begin(ctx, row, tokens, 0, []int{len(tokens)}, uint64(row), s))
			}
			c := m.chooser
			for range 4 {
				for _, memory := range []*jit.Memory{c.ids, c.starts, c.mail.Memory()} {
					data := make([]byte, memory.Size)
					require.NoError(t, m.compiler.Device.Read(data, memory, 0))
					all = append(all, data)
				}
				require.NoError(t, step(m))
			}
			return all
		}
		apart := chosen(func(m *Model) error {
			out, err := m.launch(ctx, m.graph, m.chooser.input(3))
			if err != nil {
				return err
			}
			return m.chooser.choose(ctx, m.compiler, out.Tensor, rows{0, 3}, s)
		})
		assert.Equal(t, apart, chosen(func(m *Model) error { return m.step(ctx, 3, s) }))
	}
}

// Steps that nobody has looked at leave their tokens each in a place of its own, so that texts are the same however many there are: those that
// end, and those whose context is full.
func TestStepsAheadGiveTheSameTexts(t *testing.T) {
	most := 40
	if jittest.OnEmulator(t) {
		most = 6
	}
	for _, s := range samplings {
		run := func(steps int) [][]int32 {
			m, _ := nano(t, jittest.Device(t))
			texts := make([][]int32, 7)
			r := &runner{model: m, Batch: Batch{Sampling: s, Rows: 3}, ahead: steps, rows: make([]*running, 3), texts: make([][]int32, 3)}
			for i := range texts {
				prompt := make([]int32, 1+4*i)
				if i == 3 && !jittest.OnEmulator(t) {
					prompt = make([]int32, m.context-5) // it is full soon
				}
				for j := range prompt {
					prompt[j] = int32(7*i + 31*j%500)
				}
				r.waiting = append(r.waiting, &Sequence{Prompt: prompt, MaxNewTokens: most, Seed: uint64(i), Dropped: func(int) {},
					Each: func(id int32) (bool, error) {
						texts[i] = append(texts[i], id)
						return len(texts[i])+i < most, nil
					}})
			}
			require.NoError(t, r.prepare(m.context))
			require.NoError(t, r.run(context.Background()))
			return texts
		}
		one := run(1)
		for i, text := range one {
			assert.Len(t, text, max(1, most-i))
		}
		assert.Equal(t, one, run(ahead))
		if jittest.OnEmulator(t) {
			return
		}
	}
}

// What a launch reads before those before it in its recording have ended is found by the emulator where one of them writes it. A choice and a network that
// are compiled by themselves take the logits, and the tokens, for constants: recorded behind each other they would be wrong. The program of both is not.
func TestTheSeamIsNoConstant(t *testing.T) {
	ctx := context.Background()
	d, err := jit.OpenEmulator(jit.DefaultEmulatorTarget)
	require.NoError(t, err)
	s := samplings[1]
	record := func(step func(m *Model) error) [][]backend.Task {
		on := &jittest.Recorder{Device: d}
		m, _ := nano(t, on)
		require.NoError(t, m.prepare(20, 1))
		require.NoError(t, m.begin(ctx, 0, []int32{7}, 0, []int{1}, 0, s))
		for range 2 {
			require.NoError(t, step(m))
		}
		return on.Recorded
	}
	replay := func(tasks ...backend.Task) error {
		r, err := d.Record(tasks)
		require.NoError(t, err)
		return r.Replay(ctx)
	}
	one := record(func(m *Model) error { return m.step(ctx, 1, s) })
	require.Len(t, one, 1)
	assert.NoError(t, replay(one[0]...))
	two := record(func(m *Model) error {
		out, err := m.launch(ctx, m.graph, m.chooser.input(1))
		if err != nil {
			return err
		}
		return m.chooser.choose(ctx, m.compiler, out.Tensor, rows{0, 1}, s)
	})
	require.Len(t, two, 2)
	choice, network := two[0], two[1] // the prompt had a choice already, so that it was the first to run again
	require.Less(t, len(choice), len(network))
	assert.NoError(t, replay(network...))
	assert.NoError(t, replay(choice...))
	for kernel, tasks := range map[string][]backend.Task{"heat": slices.Concat(network, choice), "k_embedding___layernorm": slices.Concat(choice, network)} {
		err := replay(tasks...)
		assert.ErrorContains(t, err, "kernel "+kernel)
		assert.ErrorContains(t, err, "griddepcontrol.wait comes first")
	}
}

// latest finds a token by its row and its position.
func TestLatest(t *testing.T) {
	var mail []byte
	for n := range uint32(3 * ahead) {
		mail = binary.LittleEndian.AppendUint32(mail, n)
	}
	assert.EqualValues(t, 2*ahead+1, latest(mail, 2, 5*ahead+1))
	assert.EqualValues(t, ahead-1, latest(mail, 0, ahead-1))
}
