package gpt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"

	"tilec/lang/elementary"
)

// Score is how well a model foretells a text.
type Score struct {
	// Tokens is how many tokens were foretold, each once, and Nats the sum of the negative logarithms of their probabilities.
	Tokens int
	Nats   float64
	// Windows is how many runs of the network it took, of at most the model's context each.
	Windows int
	// Stride is how many tokens a window but the first foretells at least, unless the text ends.
	Stride int
}

// Perplexity is e to the mean of the negative logarithms: as many equally likely tokens would leave the model as unsure.
func (s *Score) Perplexity() float64 { return elementary.Exp(s.Nats / float64(s.Tokens)) }

// BitsPerByte is how many bits a byte of the text takes, which has so many: of models with other tokenizers too.
func (s *Score) BitsPerByte(bytes int) float64 { return s.Nats / math.Ln2 / float64(bytes) }

// EncodeText gives the ids of a text to score, behind the tokens that stand before every text. So the first token of the text
// is foretold as well; where the model has no such token, it is not, and begins is false.
func (m *Model) EncodeText(text string) (ids []int32, begins bool, err error) {
	if err := m.Checkpoint.Tokenizer.Check(text); err != nil {
		return nil, false, err
	}
	ids = append(ids, m.Checkpoint.Tokenizer.Begin()...)
	if len(ids) == 0 {
		ids = m.first()
	}
	return m.Checkpoint.Tokenizer.AppendEncode(ids, text), len(ids) > 0, nil
}

// Score foretells every token but the first from those before it. A text longer than the context is read in windows of its length, of
// which each begins stride tokens behind the one before, the last so that it ends with the text; of a window the tokens
// count that none before had. So each token but those of the first window has at least context - stride tokens before it. A stride of 0
// is half the context. Each window that is done is reported, with how many there are.
func (m *Model) Score(ctx context.Context, tokens []int32, stride int, done func(windows, of int)) (*Score, error) {
	if stride == 0 {
		stride = (m.context + 1) / 2
	}
	if stride < 1 || stride > m.context {
		return nil, fmt.Errorf("the stride is %d, required 1 to %d, the model's context", stride, m.context)
	}
	inputs := len(tokens) - 1 // the last token has nothing behind it
	if inputs < 1 {
		return nil, errors.New("the text has no token with another before it: there is nothing to foretell")
	}
	window := min(inputs, m.context)
	if err := m.reserve(window, 1); err != nil {
		return nil, err
	}
	s := &Score{Stride: stride}
	all := 1 + (inputs-window+stride-1)/stride
	for counted := 0; counted < inputs; s.Windows++ {
		begin := min(s.Windows*stride, inputs-window)
		logits, err := m.windowLogits(ctx, tokens[begin:begin+window])
		if err != nil {
			return nil, err
		}
		skip := counted - begin
		nats, err := negativeLogs(logits[skip*(len(logits)/window):], tokens[counted+1:begin+window+1])
		if err != nil {
			return nil, fmt.Errorf("token %d of the text: %w", counted+1, err)
		}
		for _, n := range nats {
			s.Nats += n
		}
		s.Tokens += len(nats)
		counted = begin + window
		if done != nil {
			done(s.Windows+1, all)
		}
	}
	return s, nil
}

// windowLogits are the logits after each token of a window.
func (m *Model) windowLogits(ctx context.Context, tokens []int32) ([]float32, error) {
	if m.scores != nil {
		return m.run(ctx, m.scores, tokens, 0)
	}
	var all []float32
	for i := range tokens {
		logits, err := m.run(ctx, m.graph, tokens[i:i+1], i)
		if err != nil {
			return nil, err
		}
		all = append(all, logits...)
	}
	return all, nil
}

// negativeLogs are the negative logarithms of the probabilities that rows of logits give to tokens, in float64.
func negativeLogs(logits []float32, tokens []int32) ([]float64, error) {
	width := len(logits) / len(tokens)
	out := make([]float64, len(tokens))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, id := range tokens {
		g.Go(func() error {
			row := logits[i*width:][:width]
			largest := math.Inf(-1)
			for _, v := range row {
				largest = max(largest, float64(v)) // which is NaN where one is
			}
			sum := 0.0
			for _, v := range row {
				sum += elementary.Exp(float64(v) - largest)
			}
			if out[i] = elementary.Log(sum) - (float64(row[id]) - largest); math.IsNaN(out[i]) || math.IsInf(out[i], 0) {
				return errors.New("its logits are no finite numbers: a model that works does not give such")
			}
			return nil
		})
	}
	return out, g.Wait()
}
