package config

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestGeneration(t *testing.T) {
	g, err := ParseGeneration("g.json", []byte(`{"_from_model_config": true, "num_beams": 4, "do_sample": true, "temperature": 0.6, "top_p": 0.9, "top_k": 0,
		"repetition_penalty": 1.1, "eos_token_id": [7, 8, 9], "bos_token_id": 0, "stop_strings": "END"}`), 10)
	require.NoError(t, err)
	require.Equal(t, Generation{EOSTokenIDs: []int{7, 8, 9}, BOSTokenID: new(0), DoSample: new(true), Temperature: new(0.6), TopP: new(0.9), TopK: new(0),
		RepetitionPenalty: new(1.1), Stop: []string{"END"}}, g)

	g, err = ParseGeneration("g.json", []byte(`{"eos_token_id": 3, "temperature": null, "stop_strings": ["a", "b"]}`), 10)
	require.NoError(t, err)
	require.Equal(t, Generation{EOSTokenIDs: []int{3}, Stop: []string{"a", "b"}}, g)
}

func TestGenerationMayBeMissing(t *testing.T) {
	g, err := GenerationFromDir(t.TempDir(), 10)
	require.NoError(t, err)
	require.Equal(t, Generation{}, g)
	g, err = GenerationFromFS(fstest.MapFS{}, 10)
	require.NoError(t, err)
	require.Equal(t, Generation{}, g)
}

func TestWrongGeneration(t *testing.T) {
	_, err := ParseGeneration("g.json", []byte(`{"eos_token_id": [1, 10], "do_sample": "yes", "temperature": -1, "top_p": 0, "top_k": 1.5,
		"repetition_penalty": 0, "stop_strings": ["a", ""], "bos_token_id": -1}`), 10)
	require.EqualError(t, err, `g.json: eos_token_id is 10, required integers of 0 to 9
g.json: bos_token_id is -1, required an integer of 0 to 9
g.json: do_sample is "yes", required true or false
g.json: temperature is -1, required a number of 0 or more
g.json: top_p is 0, required a number above 0 and at most 1
g.json: top_k is 1.5, required an integer of 0 to 2147483647
g.json: repetition_penalty is 0, required a number above 0
g.json: stop_strings is ["a", ""], required a text or a list of texts that are not empty`)
	_, err = ParseGeneration("g.json", []byte(`[]`), 10)
	require.ErrorContains(t, err, "g.json: JSON [ where an object is required")
}
