package strictjson

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// ints reads a document of the form {"name": [int, ...], ...}.
func ints(text string) (map[string][]int, error) {
	got := map[string][]int{}
	err := Document([]byte(text), func(dec *json.Decoder, name string) error {
		return Array(dec, func() error {
			var n int
			if err := dec.Decode(&n); err != nil {
				return Explain(dec, err)
			}
			got[name] = append(got[name], n)
			return nil
		})
	})
	return got, err
}

func TestDocument(t *testing.T) {
	got, err := ints(" {\"a\": [1, 2], \"b\": [], \"c\": [3]}\n ")
	require.NoError(t, err)
	require.Equal(t, map[string][]int{"a": {1, 2}, "c": {3}}, got)
}

func TestDocumentRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                     "the JSON text ends early, at byte 0",
		`{"a": [1]`:            "the JSON text ends early",
		`{"a": [1`:             "the JSON text ends early",
		`{"a`:                  "the JSON text ends early",
		`[1]`:                  "where an object is required",
		`{"a": 1}`:             "where an array is required",
		`{"a": [1], "a": [2]}`: `"a" occurs twice`,
		`{"a": ["x"]}`:         "cannot unmarshal string",
		`{1: []}`:              "not JSON",
		`{"a" []}`:             "not JSON",
		`{"a": [1 2]}`:         "not JSON",
		`{} {}`:                "something follows the JSON object",
		`{}}`:                  "something follows the JSON object",
		"{\"\xff\": []}":       "not valid UTF-8",
	} {
		_, err := ints(text)
		require.ErrorContains(t, err, want, "%s", text)
	}
}
