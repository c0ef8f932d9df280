package safetensors

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// u8 is a tensor of bytes.
func u8(name string, data ...byte) Tensor {
	return Tensor{Name: name, DType: lang.U8, Shape: []int{len(data)}, Data: data}
}

// sharded writes two files of tensors and an index.
func sharded(t *testing.T, index string) (path string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, Write(filepath.Join(dir, "one.safetensors"), []Tensor{u8("b", 2, 3), u8("d", 4)}, nil))
	require.NoError(t, Write(filepath.Join(dir, "two.safetensors"), []Tensor{u8("a", 1), u8("c", 5, 6, 7)}, nil))
	path = filepath.Join(dir, "index.json")
	require.NoError(t, os.WriteFile(path, []byte(index), 0o666))
	return path
}

const rightMap = `"weight_map": {"b": "one.safetensors", "a": "two.safetensors", "c": "two.safetensors", "d": "one.safetensors"}`

func TestIndex(t *testing.T) {
	for _, index := range []string{"{" + rightMap + "}", `{"metadata": {"total_size": 7}, ` + rightMap + "}", `{"metadata": {"total_size": 7.0, "x": 1}, "more": [], ` + rightMap + "}"} {
		path := sharded(t, index)
		f, err := OpenIndex(path)
		require.NoError(t, err)
		require.Equal(t, path, f.Name())
		names := ""
		for _, tensor := range f.Tensors() {
			names += tensor.Name
		}
		require.Len(t, names, 4)
		for name, want := range map[string][]byte{"a": {1}, "b": {2, 3}, "c": {5, 6, 7}, "d": {4}} {
			tensor, err := f.Tensor(name)
			require.NoError(t, err)
			require.Equal(t, want, tensor.Data)
			_, ok := f.Lookup(name)
			require.True(t, ok)
		}
		_, err = f.Tensor("e")
		require.ErrorContains(t, err, path+`: tensor "e" is missing among the 4 there`)
		require.NoError(t, f.Close())
		require.NoError(t, f.Close())
	}
}

func TestIndexRefuses(t *testing.T) {
	for index, want := range map[string]string{
		`[]`:                       "JSON [ where an object is required",
		`{}`:                       "weight_map is missing or empty",
		`{"weight_map": {"a": 1}}`: `weight_map: tensor "a": json: cannot unmarshal number`,
		`{"weight_map": []}`:       "JSON [ where an object is required",
		`{"metadata": {"total_size": 8}, ` + rightMap + "}":                  "metadata: total_size is 8, and the tensors have 7 bytes",
		`{"metadata": 3, ` + rightMap + "}":                                  "metadata: ",
		`{"weight_map": {"a": "two.safetensors", "a": "one.safetensors"}}`:   `"a" occurs twice`,
		`{"weight_map": {"a": "../two.safetensors"}}`:                        `tensor "a" is in "../two.safetensors", required the name of a file beside the index`,
		`{"weight_map": {"a": "/etc/passwd"}}`:                               "required the name of a file beside the index",
		`{"weight_map": {"a": "sub/two.safetensors"}}`:                       "required the name of a file beside the index",
		`{"weight_map": {"a": ".."}}`:                                        "required the name of a file beside the index",
		`{"weight_map": {"a": "two.safetensors", "x": "three.safetensors"}}`: `the file three.safetensors, which has tensor "x", is missing`,
		`{"weight_map": {"a": "one.safetensors"}}`:                           `weight_map has tensor "a" in one.safetensors, which lacks it`,
		`{"weight_map": {"a": "two.safetensors"}}`:                           `two.safetensors has tensor "c", which weight_map has not there`,
		`{"weight_map": {"a": "index.json"}}`:                                "not a safetensors file",
		fmt.Sprintf(`{"weight_map": {"a": %q}}`, "two.safetensors") + "x":    "something follows the JSON object",
	} {
		path := sharded(t, index)
		_, err := OpenIndex(path)
		require.ErrorContains(t, err, path+": ")
		require.ErrorContains(t, err, want)
	}
}

// A part that changes while it is read is an error that names the part.
func TestPartThatChanges(t *testing.T) {
	path := sharded(t, "{"+rightMap+"}")
	f, err := OpenIndex(path)
	require.NoError(t, err)
	defer f.Close()
	part := filepath.Join(filepath.Dir(path), "two.safetensors")
	require.NoError(t, os.Truncate(part, 20))
	_, err = f.Tensor("c")
	require.ErrorContains(t, err, part+`: tensor "c": file is cut short`)
	_, err = f.Tensor("b")
	require.NoError(t, err)
}
