package gpt_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/gpt"
	"tilec/gpt/safetensors"
	"tilec/jit/jittest"
	"tilec/lang"
)

// writeSharded writes nano with its tensors in several files, and with a head of its own whose name has no prefix.
func writeSharded(t *testing.T, files int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	from := jittest.Path(t, "testdata/models/nano")
	for _, name := range []string{"vocab.json", "merges.txt"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o666))
	}
	data, err := os.ReadFile(filepath.Join(from, "config.json"))
	require.NoError(t, err)
	fields := map[string]any{}
	require.NoError(t, json.Unmarshal(data, &fields))
	fields["tie_word_embeddings"] = false
	data, err = json.Marshal(fields)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), data, 0o666))
	tensors := tensorsOf(t, open(t, "nano"))
	tensors = append(tensors, reversed(*named(t, tensors, "transformer.wte.weight"), "lm_head.weight"))
	weights, total := map[string]string{}, 0
	parts := make([][]safetensors.Tensor, files)
	for i, tensor := range tensors {
		parts[i%files] = append(parts[i%files], tensor)
		weights[tensor.Name] = fmt.Sprintf("model-%05d-of-%05d.safetensors", i%files+1, files)
		total += len(tensor.Data)
	}
	for i, part := range parts {
		require.NoError(t, safetensors.Write(filepath.Join(dir, fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, files)), part, nil))
	}
	data, err = json.Marshal(map[string]any{"metadata": map[string]int{"total_size": total}, "weight_map": weights})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), data, 0o666))
	return dir
}

// A checkpoint in several files computes what the same in one file does.
func TestSharded(t *testing.T) {
	ckpt, err := gpt.Open(writeSharded(t, 3))
	require.NoError(t, err)
	defer ckpt.Close()
	m, err := newModel(t, ckpt, jittest.Device(t), lang.F32)
	require.NoError(t, err)
	one := changed(t, map[string]any{"tie_word_embeddings": false}, func(all []safetensors.Tensor) []safetensors.Tensor {
		return append(all, reversed(*named(t, all, "transformer.wte.weight"), "lm_head.weight"))
	})
	single, err := newModel(t, one, jittest.Device(t), lang.F32)
	require.NoError(t, err)
	tokens := oracles(t, "nano")[0].tokens
	want, err := single.Scores(tokens)
	require.NoError(t, err)
	got, err := m.Scores(tokens)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestShardedWithAFileMissing(t *testing.T) {
	dir := writeSharded(t, 3)
	require.NoError(t, os.Remove(filepath.Join(dir, "model-00002-of-00003.safetensors")))
	_, err := gpt.Open(dir)
	require.ErrorContains(t, err, "model.safetensors.index.json: the file model-00002-of-00003.safetensors, which has tensor")
	require.NoError(t, os.Remove(filepath.Join(dir, "model.safetensors.index.json")))
	_, err = gpt.Open(dir)
	require.ErrorContains(t, err, "model.safetensors: no such file or directory, and no model.safetensors.index.json either")
}
