package gpt

import (
	"errors"
	"fmt"
	"math"

	"tilec/gpt/config"
)

// Sampling says how tokens are chosen: see std/sample, which does it.
type Sampling struct {
	// Temperature divides the logits, 0 or more: small values prefer the
	// likely tokens, 1 keeps the model's own probabilities, and 0 always takes
	// the likeliest token (of equal ones the lowest id), whatever else is set; with a repetition
	// penalty, the likeliest after it (of equal ones any).
	Temperature float64
	// TopK keeps the k likeliest tokens and those as likely as the last of
	// them; 0 keeps all.
	TopK int
	// TopP, above 0 and up to 1, keeps the fewest likeliest tokens that
	// together have at least this probability, and those as likely as the last of them; 1 keeps all.
	TopP float64
	// RepetitionPenalty, above 0, makes tokens that occurred before less likely: logits above 0 are divided by it, others multiplied.
	// 1, and 0 as what nobody set, leave them.
	RepetitionPenalty float64
	// Seed selects the random numbers.
	Seed uint64
}

// Validate reports all parameters that are out of range, one a line.
func (s Sampling) Validate() error {
	var problems []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	// NaN makes every comparison false.
	require(s.Temperature >= 0 && s.Temperature <= math.MaxFloat32, "temperature is %v, required a finite number of 0 or more", s.Temperature)
	require(s.TopK >= 0 && s.TopK <= math.MaxInt32, "top_k is %d, required 0 or more (0 keeps all tokens)", s.TopK)
	require(s.TopP > 0 && s.TopP <= 1, "top_p is %v, required above 0 and at most 1 (1 keeps all tokens)", s.TopP)
	require(s.RepetitionPenalty >= 0 && s.RepetitionPenalty <= math.MaxFloat32, "repetition_penalty is %v, required a finite number above 0 (1 leaves the logits)", s.RepetitionPenalty)
	return errors.Join(problems...)
}

// penalty is the repetition penalty that is meant.
func (s Sampling) penalty() float64 {
	if s.RepetitionPenalty == 0 {
		return 1
	}
	return s.RepetitionPenalty
}

// few reports that only some of the tokens are told from the others as likely enough.
func (s Sampling) few() bool { return s.TopK > 0 || s.TopP < 1 }

// chance is the same choice as one by chance: of the likeliest token alone, where a penalty changes which one that is.
func (s Sampling) chance() Sampling {
	if s.Temperature == 0 && s.penalty() != 1 {
		s.Temperature, s.TopK, s.TopP = 1, 1, 1
	}
	return s
}

// Advised is a sampling with what generation_config.json says in place of what its caller did not set, which given reports by
// the names of that file. `do_sample: true` brings temperature, top_k and top_p, where the file leaves them out as its format
// has them: 1, 50 and 1. `do_sample: false` is the temperature 0. Without do_sample the file says nothing of them.
func (s Sampling) Advised(g config.Generation, given func(key string) bool) Sampling {
	advise := func(key string, to *float64, advice *float64, standard float64) {
		if given(key) {
			return
		}
		*to = standard
		if advice != nil {
			*to = *advice
		}
	}
	advise("repetition_penalty", &s.RepetitionPenalty, g.RepetitionPenalty, s.RepetitionPenalty)
	switch {
	case g.DoSample == nil:
	case *g.DoSample:
		advise("temperature", &s.Temperature, g.Temperature, 1)
		advise("top_p", &s.TopP, g.TopP, 1)
		if !given("top_k") {
			s.TopK = 50
			if g.TopK != nil {
				s.TopK = *g.TopK
			}
		}
	case !given("temperature"):
		s.Temperature = 0
	}
	return s
}
