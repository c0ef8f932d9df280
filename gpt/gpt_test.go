package gpt_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/gpt"
	"tilec/gpt/safetensors"
	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// prompts are those of the oracles.
var prompts = []string{"ROMEO:\nWhat light", "First Citizen:\nBefore we proceed any further, hear me speak."}

// checkpoints are the demo models: one embedded, one in a folder.
var checkpoints = []string{"nano", "mini"}

func open(t *testing.T, name string) *gpt.Checkpoint {
	t.Helper()
	var ckpt *gpt.Checkpoint
	var err error
	if name == "mini" {
		ckpt, err = gpt.OpenFS(gpt.Mini())
	} else {
		ckpt, err = gpt.Open(jittest.Path(t, "testdata/models/"+name))
	}
	require.NoError(t, err)
	t.Cleanup(func() { _ = ckpt.Close() })
	return ckpt
}

// model puts a checkpoint on the device under test.
func model(t *testing.T, name string, d lang.DType, precision string) *gpt.Model {
	t.Helper()
	program, problems := jit.Load("gpt.tile", gpt.Source, nil)
	require.Empty(t, problems)
	m, err := gpt.New(program, open(t, name), jit.NewCompiler(jittest.Device(t), nil), d, precision)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// oracle is what a float64 implementation computed of one prompt, from the bf16 weights.
type oracle struct {
	tokens []int32
	// greedy is the prompt and its continuation.
	greedy []int32
	// logits is [position, vocabulary].
	logits []float32
}

func oracles(t *testing.T, name string) []oracle {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(jittest.Path(t, "testdata/models/"+name), "oracle.safetensors"))
	require.NoError(t, err)
	file, err := safetensors.Parse("oracle", data)
	require.NoError(t, err)
	var all []oracle
	for i := range prompts {
		var o oracle
		ints := func(field string) []int32 {
			tensor, err := file.Tensor(fmt.Sprintf("p%d.%s", i, field))
			require.NoError(t, err)
			wide, err := tensor.Int64s()
			require.NoError(t, err)
			out := make([]int32, len(wide))
			for j, v := range wide {
				out[j] = int32(v)
			}
			return out
		}
		o.tokens, o.greedy = ints("tokens"), ints("greedy")
		tensor, err := file.Tensor(fmt.Sprintf("p%d.logits", i))
		require.NoError(t, err)
		o.logits, err = tensor.Float32s()
		require.NoError(t, err)
		all = append(all, o)
	}
	return all
}

// tensorsOf reads the tensors of a checkpoint.
func tensorsOf(t *testing.T, ckpt *gpt.Checkpoint) []safetensors.Tensor {
	t.Helper()
	tensors := ckpt.Tensors.Tensors()
	for i := range tensors {
		var err error
		tensors[i], err = ckpt.Tensors.Tensor(tensors[i].Name)
		require.NoError(t, err)
	}
	return tensors
}

var greedy = gpt.Sampling{Temperature: 0, TopP: 1}

// exactPrecisions are those that keep f32's accuracy on the device under test.
func exactPrecisions(t *testing.T) []string {
	if jittest.OnGPU(t) {
		return []string{"tf32x3", "ieee"}
	}
	return []string{""}
}

// TestGreedyIsTheOracles expects the very tokens, prompt and 96 more.
func TestGreedyIsTheOracles(t *testing.T) {
	for _, name := range checkpoints {
		for _, precision := range exactPrecisions(t) {
			m := model(t, name, lang.F32, precision)
			for i, o := range oracles(t, name) {
				t.Run(strings.TrimSpace(fmt.Sprintf("%s prompt %d %s", name, i, precision)), func(t *testing.T) {
					res, err := m.Generate(context.Background(), gpt.Request{Prompt: prompts[i], MaxNewTokens: len(o.greedy) - len(o.tokens), Sampling: greedy}, func(string) error { return nil })
					require.NoError(t, err)
					assert.Equal(t, o.tokens, res.Prompt)
					assert.Equal(t, o.greedy[len(o.tokens):], res.Tokens)
					assert.Equal(t, "length", res.Stopped)
				})
			}
		}
	}
}

// logitBound is how far a logit may be from the oracle's: 1e-4 in f32. Of an f32
// product tf32x3 drops what the two low parts round away, 2^-22 each, and their
// product, 2^-22 again: 3 * 2^-22 is 12 unit roundoffs of f32 beside the one that
// f32 itself has.
func logitBound(precision string) float64 {
	if precision == "tf32x3" {
		return 13 * 1e-4
	}
	return 1e-4
}

// TestLogitsAreTheOracles expects every logit of every position within logitBound.
func TestLogitsAreTheOracles(t *testing.T) {
	for _, name := range checkpoints {
		for _, precision := range exactPrecisions(t) {
			m := model(t, name, lang.F32, precision)
			for i, o := range oracles(t, name) {
				t.Run(strings.TrimSpace(fmt.Sprintf("%s prompt %d %s", name, i, precision)), func(t *testing.T) {
					got, err := m.Scores(o.tokens)
					require.NoError(t, err)
					require.Len(t, got, len(o.logits))
					largest, _ := difference(got, o.logits)
					t.Logf("largest difference of a logit: %.2g", largest)
					assert.LessOrEqual(t, largest, logitBound(precision))
				})
			}
		}
	}
}

// difference is the largest and the root mean square difference; NaN anywhere makes both NaN.
func difference[A, B float32 | float64](got []A, want []B) (largest, rms float64) {
	for i := range got {
		d := math.Abs(float64(got[i]) - float64(want[i]))
		largest = max(largest, d)
		rms += d * d
	}
	return largest, math.Sqrt(rms / float64(len(got)))
}

// TestReferenceIsTheOracles shows that the test's own float64 model is right:
// it differs from the oracle by the oracle's rounding to f32 at most.
func TestReferenceIsTheOracles(t *testing.T) {
	for _, name := range checkpoints {
		ckpt := open(t, name)
		for i, o := range oracles(t, name) {
			largest, _ := difference(newReference(t, ckpt, "exact").logits(o.tokens), o.logits)
			t.Logf("%s prompt %d: %.2g", name, i, largest)
			assert.LessOrEqual(t, largest, 32*0x1p-24, "logits below 32 are rounded by half of 2^-19 at most")
		}
	}
}

// TestLogitsInShortFormats bounds the error of bf16, f16 and tf32. Rounding
// errors act as independent random numbers whose size the format gives, and what
// the network makes of them is seen in a float64 model that rounds where the
// kernels round: over a text, the kernels' logits must err like its logits do.
// The kernels round other numbers, since they add in another order, so that only
// the sizes agree: the root mean square of some 7·10^4 errors may be at most one
// and a half times the model's, the largest at most twice its.
func TestLogitsInShortFormats(t *testing.T) {
	formats := []struct {
		name  string
		dtype lang.DType
	}{{"bf16", lang.BF16}, {"f16", lang.F16}}
	if jittest.OnGPU(t) {
		formats = append(formats, struct {
			name  string
			dtype lang.DType
		}{"tf32", lang.F32})
	}
	for _, name := range checkpoints {
		for _, format := range formats {
			t.Run(name+" "+format.name, func(t *testing.T) {
				m := model(t, name, format.dtype, "")
				exact, rounding := newReference(t, m.Checkpoint, "exact"), newReference(t, m.Checkpoint, format.name)
				for i, o := range oracles(t, name) {
					text := o.greedy[:72]
					want := exact.logits(text)
					got, err := m.Scores(text)
					require.NoError(t, err)
					largest, rms := difference(got, want)
					mayLargest, mayRMS := difference(rounding.logits(text), want)
					t.Logf("prompt %d: root mean square error %.2g, of rounding alone %.2g; largest %.2g, %.2g", i, rms, mayRMS, largest, mayLargest)
					assert.LessOrEqual(t, rms, 1.5*mayRMS)
					assert.LessOrEqual(t, largest, 2*mayLargest)
				}
			})
		}
	}
}

// TestForwardContinues expects the logits of a text token by token, and in
// pieces, to be those of the whole text up to rounding.
func TestForwardContinues(t *testing.T) {
	for _, name := range checkpoints {
		m := model(t, name, lang.F32, exactPrecisions(t)[0])
		tokens := oracles(t, name)[1].greedy[:48]
		whole, err := m.Scores(tokens)
		require.NoError(t, err)
		vocab := len(whole) / len(tokens)
		for _, piece := range []int{1, 5} {
			for at := 0; at < len(tokens); at += piece {
				end := min(at+piece, len(tokens))
				got, err := m.Forward(tokens[at:end], at)
				require.NoError(t, err)
				// Both are within 1e-4 of the exact logits.
				largest, _ := difference(got, whole[(end-1)*vocab:end*vocab])
				require.LessOrEqualf(t, largest, 2e-4, "%s, position %d in pieces of %d", name, end-1, piece)
			}
		}
	}
}

func generate(t *testing.T, m *gpt.Model, r gpt.Request) (*gpt.Result, string) {
	t.Helper()
	var text strings.Builder
	res, err := m.Generate(context.Background(), r, func(s string) error {
		text.WriteString(s)
		return nil
	})
	require.NoError(t, err)
	return res, text.String()
}

func TestSeedDecidesTheText(t *testing.T) {
	m := model(t, "nano", lang.F32, "")
	texts := map[string]bool{}
	for _, seed := range []uint64{1, 2, 3} {
		r := gpt.Request{Prompt: prompts[0], MaxNewTokens: 40, Sampling: gpt.Sampling{Temperature: 1, TopK: 50, TopP: 0.95, Seed: seed}}
		_, first := generate(t, m, r)
		_, again := generate(t, m, r)
		assert.Equal(t, first, again, "seed %d", seed)
		texts[first] = true
	}
	assert.Len(t, texts, 3, "each seed has its own text")
}

// What is asked of one text is not what the next is made by: the likeliest token alone is what no chance gives.
func TestTextsOfOneModelHaveTheirOwnSampling(t *testing.T) {
	m := model(t, "nano", lang.F32, "")
	_, likeliest := generate(t, m, gpt.Request{Prompt: prompts[0], MaxNewTokens: 20, Sampling: greedy})
	for _, topK := range []int{0, 1, 0, 1} {
		_, text := generate(t, m, gpt.Request{Prompt: prompts[0], MaxNewTokens: 20, Sampling: gpt.Sampling{Temperature: 3, TopP: 1, TopK: topK, Seed: 1}})
		assert.Equal(t, topK == 1, text == likeliest, "top_k=%d", topK)
	}
}

// A token of the prompt has occurred, and so has one of the text.
func TestPenaltyIsForThePromptToo(t *testing.T) {
	m := model(t, "nano", lang.F32, "")
	for _, prompt := range prompts {
		res, _ := generate(t, m, gpt.Request{Prompt: prompt, MaxNewTokens: 20, Sampling: gpt.Sampling{Temperature: 1, TopP: 1, TopK: 1, RepetitionPenalty: 1e9}})
		all := append(slices.Clone(res.Prompt), res.Tokens...)
		for i, id := range all[len(res.Prompt):] {
			assert.NotContains(t, all[:len(res.Prompt)+i], id, "%q, token %d", prompt, i)
		}
	}
}

func TestPiecesAreTheText(t *testing.T) {
	m := model(t, "nano", lang.F32, "")
	res, text := generate(t, m, gpt.Request{Prompt: prompts[1], MaxNewTokens: 60, Sampling: gpt.Sampling{Temperature: 2, TopP: 1, Seed: 7}})
	want, err := m.Checkpoint.Tokenizer.Decode(res.Tokens)
	require.NoError(t, err)
	assert.Equal(t, prompts[1]+strings.ToValidUTF8(want, "\uFFFD"), text)
}

func TestPromptLongerThanTheContext(t *testing.T) {
	m := model(t, "nano", lang.F32, "")
	prompt := strings.Repeat("ROMEO:\n", 200)
	n := len(m.Checkpoint.Tokenizer.Encode(prompt))
	_, err := m.Generate(context.Background(), gpt.Request{Prompt: prompt, MaxNewTokens: 1, Sampling: greedy}, func(string) error { return nil })
	require.Error(t, err)
	assert.Contains(t, err.Error(), fmt.Sprintf("%d tokens", n))
	assert.Contains(t, err.Error(), fmt.Sprintf("context %d", m.Context()))
}

func TestTextEndsAtEndOfText(t *testing.T) {
	m := model(t, "nano", lang.F32, "")
	o := oracles(t, "nano")[0]
	continuation := o.greedy[len(o.tokens):]
	// A token that the model is known to say takes the part of end-of-text.
	last := continuation[20]
	m.Checkpoint.Config.EOSTokenIDs = []int{1, int(last)}
	end := slices.Index(continuation, last)
	res, text := generate(t, m, gpt.Request{Prompt: prompts[0], MaxNewTokens: 96, Sampling: greedy})
	assert.Equal(t, "end-of-text", res.Stopped)
	assert.Equal(t, continuation[:end], res.Tokens)
	want, err := m.Checkpoint.Tokenizer.Decode(continuation[:end])
	require.NoError(t, err)
	assert.Equal(t, prompts[0]+want, text)
}

// A text ends before a stop string, be it in the middle of a token, over several tokens, or a whole one.
func TestTextEndsBeforeAStopString(t *testing.T) {
	m := model(t, "nano", lang.F32, "")
	o := oracles(t, "nano")[0]
	text, err := m.Checkpoint.Tokenizer.Decode(o.greedy[len(o.tokens):])
	require.NoError(t, err)
	for at := range 40 {
		stop := text[at : at+3]
		res, got := generate(t, m, gpt.Request{Prompt: prompts[0], MaxNewTokens: 96, Sampling: greedy, Stop: []string{"never", stop}})
		assert.Equal(t, "stop", res.Stopped)
		assert.Equal(t, prompts[0]+text[:strings.Index(text, stop)], got)
		whole, err := m.Checkpoint.Tokenizer.Decode(res.Tokens)
		require.NoError(t, err)
		assert.Contains(t, whole, stop)
		before, err := m.Checkpoint.Tokenizer.Decode(res.Tokens[:len(res.Tokens)-1])
		require.NoError(t, err)
		assert.NotContains(t, before, stop, "the tokens end with the one that completes the stop string")
	}
	_, err = m.Generate(context.Background(), gpt.Request{Prompt: prompts[0], MaxNewTokens: 1, Sampling: greedy, Stop: []string{""}}, func(string) error { return nil })
	require.ErrorContains(t, err, "a stop string is empty")
}

// The likeliest token is the one after the penalty.
func TestPenaltyWithoutChance(t *testing.T) {
	m := model(t, "nano", lang.F32, "")
	plain, _ := generate(t, m, gpt.Request{Prompt: prompts[0], MaxNewTokens: 30, Sampling: greedy})
	one, _ := generate(t, m, gpt.Request{Prompt: prompts[0], MaxNewTokens: 30, Sampling: gpt.Sampling{Temperature: 0, TopP: 1, RepetitionPenalty: 1.5, Seed: 1}})
	two, _ := generate(t, m, gpt.Request{Prompt: prompts[0], MaxNewTokens: 30, Sampling: gpt.Sampling{Temperature: 0, TopP: 1, RepetitionPenalty: 1.5, Seed: 2}})
	assert.NotEqual(t, plain.Tokens, one.Tokens)
	assert.Equal(t, one.Tokens, two.Tokens)
}

func TestTextEndsWhenTheContextIsFull(t *testing.T) {
	m := model(t, "nano", lang.F32, "")
	res, _ := generate(t, m, gpt.Request{Prompt: prompts[0], MaxNewTokens: 10 * m.Context(), Sampling: gpt.Sampling{Temperature: 1, TopP: 1, Seed: 1}})
	assert.Equal(t, "context", res.Stopped)
	// The last token is said from a full context, and has no place in it.
	assert.Equal(t, m.Context()+1, len(res.Prompt)+len(res.Tokens))
}

func TestGenerateStopsForItsCaller(t *testing.T) {
	m := model(t, "nano", lang.F32, "")
	r := gpt.Request{Prompt: prompts[0], MaxNewTokens: 20, Sampling: greedy}
	broken := fmt.Errorf("the reader is gone")
	pieces := 0
	_, err := m.Generate(context.Background(), r, func(string) error {
		if pieces++; pieces == 4 {
			return broken
		}
		return nil
	})
	assert.ErrorIs(t, err, broken)

	ctx, cancel := context.WithCancel(context.Background())
	_, err = m.Generate(ctx, r, func(string) error { cancel(); return nil })
	assert.ErrorIs(t, err, context.Canceled)
}

// TestTensorsMayHaveNoPrefix loads what other exports write: names without "transformer." before them.
func TestTensorsMayHaveNoPrefix(t *testing.T) {
	ckpt := open(t, "nano")
	tensors := tensorsOf(t, ckpt)
	for i := range tensors {
		name, ok := strings.CutPrefix(tensors[i].Name, "transformer.")
		require.Truef(t, ok, "tensor %s has the prefix", tensors[i].Name)
		tensors[i].Name = name
	}
	var file bytes.Buffer
	require.NoError(t, safetensors.Encode(&file, tensors, nil))
	renamed, err := safetensors.Parse("renamed", file.Bytes())
	require.NoError(t, err)
	program, problems := jit.Load("gpt.tile", gpt.Source, nil)
	require.Empty(t, problems)
	m, err := gpt.New(program, &gpt.Checkpoint{Config: ckpt.Config, Tokenizer: ckpt.Tokenizer, Tensors: renamed}, jit.NewCompiler(jittest.Device(t), nil), lang.F32, "")
	require.NoError(t, err)
	defer m.Close()
	want, err := model(t, "nano", lang.F32, "").Forward([]int32{1, 2, 3}, 0)
	require.NoError(t, err)
	got, err := m.Forward([]int32{1, 2, 3}, 0)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// TestNothingIsFilled: every kernel that the model launches is proven to store its outputs as a whole, so none is filled first.
func TestNothingIsFilled(t *testing.T) {
	var launches bytes.Buffer
	logs, err := jit.ParseLogs("launch", &launches)
	require.NoError(t, err)
	program, problems := jit.Load("gpt.tile", gpt.Source, nil)
	require.Empty(t, problems)
	m, err := gpt.New(program, open(t, "mini"), jit.NewCompiler(jittest.Device(t), logs), lang.F32, "")
	require.NoError(t, err)
	defer m.Close()
	_, err = m.Generate(context.Background(), gpt.Request{Prompt: prompts[0], MaxNewTokens: 3, Sampling: greedy}, func(string) error { return nil })
	require.NoError(t, err)
	require.Contains(t, launches.String(), "launch: ")
	require.NotContains(t, launches.String(), "with zeros")
}
