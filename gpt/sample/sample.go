// Package sample chooses the next token of a generated text from the logits
// that a language model gives. The steps and their order are those of Hugging
// Face: temperature, then top-k, then top-p. Everything is computed with
// operations that IEEE 754 defines exactly, so that a seed gives the same
// tokens on every machine.
package sample

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Params say how to choose.
type Params struct {
	// Temperature divides the logits, 0 or more: small values prefer the
	// likely tokens, 1 keeps the model's own probabilities, and 0 always takes
	// the likeliest token (of equal ones the lowest id), whatever else is set.
	Temperature float64
	// TopK keeps the k likeliest tokens and those as likely as the last of
	// them; 0 keeps all.
	TopK int
	// TopP, above 0 and up to 1, keeps the fewest likeliest tokens that
	// together have at least this probability, at least one; 1 keeps all.
	TopP float64
	// Seed selects the random numbers.
	Seed uint64
}

// Validate reports all parameters that are out of range, one a line.
func (p Params) Validate() error {
	var problems []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	// NaN makes every comparison false.
	require(p.Temperature >= 0 && p.Temperature <= math.MaxFloat64, "temperature is %v, required a finite number of 0 or more", p.Temperature)
	require(p.TopK >= 0, "top_k is %d, required 0 or more (0 keeps all tokens)", p.TopK)
	require(p.TopP > 0 && p.TopP <= 1, "top_p is %v, required above 0 and at most 1 (1 keeps all tokens)", p.TopP)
	return errors.Join(problems...)
}

// Sampler chooses tokens one after the other; each choice that is not greedy
// uses up one random number. It serves one sequence and one goroutine.
type Sampler struct {
	params     Params
	random     *rand.PCG
	candidates []candidate // working memory, as long as the vocabulary
	largest    []float32   // working memory, TopK long
}

// New makes a sampler; parameters out of range are an error.
func New(p Params) (*Sampler, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	const stream = 0x9e3779b97f4a7c15 // any fixed value; the seed is the other half of the state
	return &Sampler{params: p, random: rand.NewPCG(p.Seed, stream)}, nil
}

// Next chooses a token, an index into logits, one logit a token of the
// vocabulary. A logit of -Inf excludes its token. NaN, +Inf and logits that
// exclude all tokens are errors, as a model that works does not give them.
// Logits are not changed, and after the first call nothing is allocated.
func (s *Sampler) Next(logits []float32) (id int32, err error) {
	best, err := likeliest(logits)
	if err != nil || s.params.Temperature == 0 {
		return int32(best), err
	}
	return draw(s.keep(logits, logits[best]), s.uniform()), nil
}

// likeliest is the index of the largest logit, the first of equal ones.
func likeliest(logits []float32) (int, error) {
	best, most := -1, float32(math.Inf(-1))
	for i, logit := range logits {
		if logit > most {
			best, most = i, logit
		} else if logit != logit {
			return 0, fmt.Errorf("logit %d of %d is NaN, required a number", i, len(logits))
		}
	}
	switch {
	case len(logits) == 0:
		return 0, errors.New("no logits, required at least one")
	case best < 0:
		return 0, fmt.Errorf("all %d logits are -Inf, required at least one finite", len(logits))
	case most > math.MaxFloat32:
		return 0, fmt.Errorf("logit %d of %d is +Inf, required a finite number or -Inf", best, len(logits))
	}
	return best, nil
}

// uniform is a random number in [0, 1), a multiple of 2^-53.
func (s *Sampler) uniform() float64 { return float64(s.random.Uint64()>>11) * 0x1p-53 }

// draw chooses one of the candidates by their weights: the one within which
// the fraction at, in [0, 1), of the total weight falls.
func draw(kept []candidate, at float64) int32 {
	total := 0.0
	for _, c := range kept {
		total += c.weight
	}
	target, sum := at*total, 0.0
	for _, c := range kept {
		if sum += c.weight; target < sum {
			return c.id
		}
	}
	return kept[len(kept)-1].id // at*total was rounded up to total
}
