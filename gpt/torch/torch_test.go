package torch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// fixture was written by Python's own pickle: see testdata/make.py.
const fixture = "testdata/nanogpt.pt"

// at follows keys through dictionaries.
func at(t *testing.T, v any, keys ...any) any {
	t.Helper()
	for _, key := range keys {
		d, ok := v.(*Dict)
		require.True(t, ok, "%v of a %T", key, v)
		v, ok = d.Get(key)
		require.True(t, ok, "%v is missing", key)
	}
	return v
}

func floats(t *testing.T, v any) []float32 {
	t.Helper()
	data, err := v.(*Tensor).Read()
	require.NoError(t, err)
	out := make([]float32, len(data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out
}

func TestFileOfTorchSave(t *testing.T) {
	f, err := Open(fixture)
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, []any{"model", "optimizer", "model_args", "iter_num", "best_val_loss", "config"}, f.Root.(*Dict).Keys)
	require.Equal(t, int64(70000), at(t, f.Root, "iter_num"))
	require.Equal(t, int64(-1337), at(t, f.Root, "config", "seed"))
	require.Equal(t, int64(1<<40), at(t, f.Root, "config", "big"))
	require.Nil(t, at(t, f.Root, "config", "none"))
	require.Equal(t, false, at(t, f.Root, "model_args", "bias"))
	require.Equal(t, 0.0, at(t, f.Root, "model_args", "dropout"))
	group := at(t, f.Root, "optimizer", "param_groups").(*List).Items[0]
	require.Equal(t, []any{0.9, 0.95}, at(t, group, "betas"))
	require.Equal(t, []any{int64(0)}, at(t, group, "params").(*List).Items)

	wte := at(t, f.Root, "model", "_orig_mod.transformer.wte.weight").(*Tensor)
	require.Equal(t, lang.F32, wte.DType)
	require.Equal(t, []int{8, 4}, wte.Shape)
	require.Equal(t, 128, wte.Bytes())
	values := floats(t, wte)
	require.Len(t, values, 32)
	require.Equal(t, float32(31)/4, values[31])
	require.True(t, wte.Same(at(t, f.Root, "model", "_orig_mod.lm_head.weight").(*Tensor)))
	require.False(t, wte.Same(at(t, f.Root, "model", "_orig_mod.transformer.wpe.weight").(*Tensor)))
	require.Equal(t, []float32{3.5}, floats(t, at(t, f.Root, "best_val_loss")))
	// A part of a storage, with its axes the other way round.
	require.Equal(t, []float32{1, 5, 9, 2, 6, 10}, floats(t, at(t, f.Root, "optimizer", "state", int64(0), "transposed")))
}

// zipped writes a zip archive of entries, stored, of which "data.pkl" is the pickle.
func zipped(t testing.TB, pickle string, entries map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	add := func(name, content string, method uint16) {
		e, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		require.NoError(t, err)
		_, err = e.Write([]byte(content))
		require.NoError(t, err)
	}
	add("x/data.pkl", pickle, zip.Store)
	for name, content := range entries {
		method := zip.Store
		if strings.HasPrefix(name, "packed ") {
			name, method = strings.TrimPrefix(name, "packed "), zip.Deflate
		}
		add("x/"+name, content, method)
	}
	require.NoError(t, w.Close())
	path := filepath.Join(t.TempDir(), "x.pt")
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o666))
	return path
}

// text is a text in a pickle.
func text(s string) string { return "X" + string([]byte{byte(len(s)), 0, 0, 0}) + s }

// tensor is the pickle of a tensor of two floats with other arguments in its place.
func tensor(storage, args string) string {
	return "\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + "Q" + args + "tR."
}

const storageOf2 = "(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x02t"

// What is not data is refused before anything of it is done.
func TestPicklesThatAreRefused(t *testing.T) {
	for pickle, want := range map[string]string{
		"\x80\x02cos\nsystem\n" + text("true") + "\x85R.":  `at byte 2: it names "os.system", which is not of tensors and dictionaries and is not called`,
		"\x80\x02cbuiltins\neval\n" + text("1") + "\x85R.": `"builtins.eval"`,
		"\x80\x04" + text("os") + text("system") + "\x93.": `"os.system"`,
		"\x80\x02ctorch\nload\n.":                          `"torch.load"`,
		"\x80\x02i os\nsystem\n.":                          "the operation 'i' is not one that state dicts are made of",
		"\x80\x02o.":                                       "the operation 'o'",
		"\x80\x02\x81.":                                    "the operation '\\u0081'",
		"":                                                 "the pickle ends early",
		"\x80\x02K":                                        "the pickle ends early",
		"\x80\x02X\xff\xff\xff\xffab":                      "the pickle ends early",
		"\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xffab":   "the pickle ends early",
		"\x80\x02ccollections\nOrdered":                    "the pickle ends early",
		"\x80\x02.":                                        "leaves 0 values, required 1",
		"\x80\x02K\x01K\x02.":                              "leaves 2 values, required 1",
		"\x80\x02t.":                                       "and there is none",
		"\x80\x02\x85.":                                    "takes a value from an empty stack",
		"\x80\x02(\x85.":                                   "takes a mark as a value",
		"\x80\x02h\x07.":                                   "takes value 7 of the memo, which has none",
		"\x80\x02}(K\x01u.":                                "sets 1 items of a *torch.Dict",
		"\x80\x02](K\x01K\x02u.":                           "sets 2 items of a *torch.List",
		"\x80\x02}K\x01a.":                                 "appends to a *torch.Dict",
		"\x80\x02}]K\x01s.":                                "a dictionary has a key of the type *torch.List",
		"\x80\x02K\x01K\x02R.":                             "calls a int64 with a int64",
		"\x80\x02ccollections\nOrderedDict\nK\x01\x85R.":   "collections.OrderedDict has 1 arguments",
		"\x80\x02]}b.":                                     "sets attributes of a *torch.List",
		"\x80\x02K\x01Q.":                                  "a persistent id is not that of a tensor's storage",
		"\x80\x02\x8a\x09123456789.":                       "an integer has 9 bytes, at most 8 are read",
		tensor(storageOf2, "K\x00K\x03\x85K\x01\x85"):      "is not within its storage of 2",
		tensor(storageOf2, "K\x01K\x02\x85K\x01\x85"):      "is not within its storage of 2",
		tensor(storageOf2, "K\x03K\x00\x85K\x01\x85"):      "is not within its storage of 2",
		tensor(storageOf2, "K\x00K\x02\x85)"):              "is not within its storage of 2",
		tensor(storageOf2, "K\x00K\x02\x85\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85"):                  "is not within its storage of 2",
		tensor(storageOf2, "K\x00\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85K\x01\x85"):                  "takes more than",
		tensor(storageOf2, "J\xff\xff\xff\xffK\x02\x85K\x01\x85"):                                         "is not within its storage of 2",
		tensor(storageOf2, "K\x00J\xff\xff\xff\xff\x85K\x01\x85"):                                         "arguments that are not those of data",
		tensor(storageOf2, "K\x00K\x02\x85"):                                                              "_rebuild_tensor_v2 has 3 arguments",
		tensor(strings.Replace(storageOf2, "K\x02t", "J\xff\xff\xff\x7ft", 1), "K\x00K\x02\x85K\x01\x85"): "a persistent id is not that of a tensor's storage",
	} {
		_, err := Open(zipped(t, pickle, nil))
		require.ErrorContains(t, err, "x.pt: ", "%q", pickle)
		require.ErrorContains(t, err, want, "%q", pickle)
	}
}

// A list may have itself in it; nothing walks through all values.
func TestListInItself(t *testing.T) {
	f, err := Open(zipped(t, "\x80\x02]q\x00h\x00a.", nil))
	require.NoError(t, err)
	require.Same(t, f.Root, f.Root.(*List).Items[0])
	require.NoError(t, f.Close())
}

func TestTensorsThatCannotBeRead(t *testing.T) {
	pickle := tensor(storageOf2, "K\x00K\x02\x85K\x01\x85")
	for _, c := range []struct {
		entries map[string]string
		want    string
	}{
		{nil, "the archive has no x/data/0, in which a tensor is"},
		{map[string]string{"data/0": "1234567"}, "x/data/0 has 7 bytes, required 8 for 2 elements of f32"},
		{map[string]string{"packed data/0": "12345678"}, "x/data/0 is compressed"},
	} {
		f, err := Open(zipped(t, pickle, c.entries))
		require.NoError(t, err)
		_, err = f.Root.(*Tensor).Read()
		require.ErrorContains(t, err, c.want)
		require.NoError(t, f.Close())
	}
	path := zipped(t, pickle, map[string]string{"data/0": "12345678"})
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(data, []byte("12345678"))
	data[at] = 'x'
	require.NoError(t, os.WriteFile(path, data, 0o666))
	f, err := Open(path)
	require.NoError(t, err)
	_, err = f.Root.(*Tensor).Read()
	require.ErrorContains(t, err, "x/data/0 is damaged: the sum of its bytes is")
	require.NoError(t, f.Close())
}

func TestFilesThatAreRefused(t *testing.T) {
	_, err := Open("testdata/make.py")
	require.ErrorContains(t, err, "not a file of torch.save in its format since PyTorch 1.6")
	_, err = Open("testdata")
	require.ErrorContains(t, err, "is a directory")
	_, err = Open(zipped(t, "\x80\x02N.", map[string]string{"byteorder": "big"}))
	require.ErrorContains(t, err, `the byte order is "big", required little`)
	_, err = Open(zipped(t, "\x80\x02N.", map[string]string{"data.pkl": "x"}))
	require.ErrorContains(t, err, "the archive has x/data.pkl twice")
}

// No pickle makes the reader panic or take much memory.
func FuzzPickle(f *testing.F) {
	opened, err := Open(fixture)
	require.NoError(f, err)
	pickle, err := opened.within.Entries["ckpt/data.pkl"].Read(1 << 20)
	require.NoError(f, err)
	f.Add(pickle)
	f.Add([]byte("\x80\x02]q\x00h\x00a."))
	f.Add([]byte(tensor(storageOf2, "K\x00K\x02\x85K\x01\x85")))
	f.Fuzz(func(t *testing.T, pickle []byte) {
		u := &unpickler{in: bytes.NewReader(pickle), memo: map[uint32]any{}, persistent: opened.persistent, call: opened.call}
		v, err := u.run()
		if tensor, ok := v.(*Tensor); ok && err == nil {
			_, _ = tensor.Read()
		}
	})
}
