package config

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestCheckpoints(t *testing.T) {
	nano, err := FromDir("../../testdata/models/nano")
	require.NoError(t, err)
	require.Equal(t, Config{NPositions: 256, VocabSize: 1024, EOSTokenIDs: []int{0}, BOSTokenID: 0, TieWordEmbeddings: true}, general(nano))
	require.Equal(t, "3 layers, 3 heads, width 48, context 256", nano.String())
	mini, err := FromFS(os.DirFS("../mini"))
	require.NoError(t, err)
	require.Equal(t, "6 layers, 6 heads, width 192, context 256", mini.String())
}

// general is a configuration without the values of its keys.
func general(c Config) Config {
	c.file, c.values = "", nil
	return c
}

// small is a correct file of only what is required, with changes: a JSON
// value a field, "" to leave it out.
func small(changes map[string]string) []byte {
	fields := map[string]json.RawMessage{}
	for field, value := range map[string]string{"n_positions": "8", "vocab_size": "10"} {
		fields[field] = json.RawMessage(value)
	}
	for field, value := range changes {
		fields[field] = json.RawMessage(value)
		if value == "" {
			delete(fields, field)
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return text
}

func TestDefaults(t *testing.T) {
	c, err := Parse("config.json", small(map[string]string{"eos_token_id": "null", "unknown": `{"a":1}`}))
	require.NoError(t, err)
	require.Equal(t, Config{NPositions: 8, VocabSize: 10, BOSTokenID: -1, TieWordEmbeddings: true}, general(c))
	c, err = Parse("config.json", []byte("{}"))
	require.NoError(t, err)
	require.Equal(t, Config{BOSTokenID: -1, TieWordEmbeddings: true}, general(c))
}

func TestGivenValues(t *testing.T) {
	c, err := Parse("config.json", small(map[string]string{
		"eos_token_id": "9", "tie_word_embeddings": "false", "n_positions": "", "max_position_embeddings": "5", "bos_token_id": "4",
	}))
	require.NoError(t, err)
	require.Equal(t, Config{NPositions: 5, VocabSize: 10, EOSTokenIDs: []int{9}, BOSTokenID: 4, TieWordEmbeddings: false}, general(c))
}

// A key's value, with points between keys of objects in objects; null is none.
func TestValues(t *testing.T) {
	c, err := Of(map[string]any{"a": 1, "b": map[string]any{"c": map[string]any{"d": "x"}, "n": nil}, "n": nil})
	require.NoError(t, err)
	for key, want := range map[string]string{"a": "1", "b.c.d": `"x"`, "b.c": `{"d":"x"}`} {
		value, ok := c.Value(key)
		require.True(t, ok, key)
		require.Equal(t, want, string(value))
	}
	for _, key := range []string{"n", "b.n", "b.x", "a.b", "b.c.d.e", "x", ""} {
		_, ok := c.Value(key)
		require.False(t, ok, key)
	}
}

func TestProblems(t *testing.T) {
	for _, c := range []struct{ field, value, want string }{
		{"n_positions", "0", "n_positions is 0, required an integer of 1"},
		{"vocab_size", "3000000000", "vocab_size is 3000000000, required an integer of 1 to 268435456"},
		{"vocab_size", "99999999999999999999", "vocab_size is 99999999999999999999, required"},
		{"vocab_size", "[1,\n2]", "vocab_size is [1,2], required an integer"},
		{"vocab_size", `["` + strings.Repeat("x", 100) + `"]`, `vocab_size is ["` + strings.Repeat("x", 38) + `..., required`},
		{"eos_token_id", "10", "eos_token_id is 10, required an integer of 0 to 9"},
		{"eos_token_id", "-1", "eos_token_id is -1"},
		{"tie_word_embeddings", "1", "tie_word_embeddings is 1, required true or false"},
		{"eos_token_id", "[1, 10]", "eos_token_id is 10, required integers of 0 to 9"},
		{"eos_token_id", `[1, "x"]`, `eos_token_id is [1,"x"], required integers`},
		{"bos_token_id", "10", "bos_token_id is 10, required an integer of 0 to 9"},
	} {
		_, err := Parse("dir/config.json", small(map[string]string{c.field: c.value}))
		require.ErrorContains(t, err, "dir/config.json: "+strings.Split(c.want, " ")[0])
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "\n", "one mistake gives one problem")
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	_, err := Parse("config.json", []byte(`{"n_positions": 0, "vocab_size": 0, "tie_word_embeddings": 0}`))
	require.Equal(t, `config.json: tie_word_embeddings is 0, required true or false
config.json: n_positions is 0, required an integer of 1 to 268435456
config.json: vocab_size is 0, required an integer of 1 to 268435456`, err.Error())
}

func TestBrokenFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "config.json: the JSON text ends early",
		"[]":                         "config.json: JSON [ where an object is required",
		`{"n_layer": 1,}`:            "config.json: not JSON",
		`{"n_head": 1, "n_head": 2}`: `config.json: "n_head" occurs twice`,
	} {
		_, err := Parse("config.json", []byte(text))
		require.ErrorContains(t, err, want)
	}
}

func TestMissingFile(t *testing.T) {
	dir := t.TempDir()
	_, err := FromDir(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, filepath.Join(dir, "config.json")+": ")
	_, err = FromFS(fstest.MapFS{})
	require.ErrorIs(t, err, fs.ErrNotExist)
}
