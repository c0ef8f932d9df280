package gpt

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/gpt/config"
)

// What generation_config.json says is taken for what the caller leaves open.
func TestAdvisedSampling(t *testing.T) {
	standard := Sampling{Temperature: 0.8, TopK: 0, TopP: 1, RepetitionPenalty: 1, Seed: 3}
	for _, c := range []struct {
		advice config.Generation
		given  string
		want   Sampling
	}{
		{config.Generation{}, "", standard},
		// Without do_sample, nothing is said of chance.
		{config.Generation{Temperature: new(0.1), RepetitionPenalty: new(2.0)}, "", Sampling{0.8, 0, 1, 2, 3}},
		{config.Generation{DoSample: new(false), Temperature: new(0.1)}, "", Sampling{0, 0, 1, 1, 3}},
		{config.Generation{DoSample: new(false)}, "temperature", standard},
		{config.Generation{DoSample: new(true)}, "", Sampling{1, 50, 1, 1, 3}},
		{config.Generation{DoSample: new(true), Temperature: new(0.6), TopK: new(5), TopP: new(0.9)}, "", Sampling{0.6, 5, 0.9, 1, 3}},
		{config.Generation{DoSample: new(true), Temperature: new(0.6), TopK: new(5), TopP: new(0.9)}, "top_k", Sampling{0.6, 0, 0.9, 1, 3}},
		{config.Generation{DoSample: new(true), TopP: new(0.9)}, "top_p", Sampling{1, 50, 1, 1, 3}},
		{config.Generation{RepetitionPenalty: new(2.0)}, "repetition_penalty", standard},
	} {
		require.Equal(t, c.want, standard.Advised(c.advice, func(key string) bool { return key == c.given }), "%+v, given %q", c.advice, c.given)
	}
}
