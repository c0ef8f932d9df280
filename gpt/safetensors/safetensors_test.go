package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tilec/lang"
)

const models = "../../testdata/models"

// raw builds a file from a header's text and n bytes of data.
func raw(header string, n int) []byte {
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	file = append(file, header...)
	for i := range n {
		file = append(file, byte(i))
	}
	return file
}

func TestParse(t *testing.T) {
	f, err := Parse("f", raw(`{"b":{"dtype":"U8","shape":[2,1],"data_offsets":[4,6],"later":{"x":[1]}},
		"__metadata__":{"format":"pt"},
		"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},
		"none":{"dtype":"F64","shape":[3,0],"data_offsets":[4,4]},
		"scalar":{"dtype":"BOOL","shape":[],"data_offsets":[6,7]}}   `, 7))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"format": "pt"}, f.Metadata())
	require.Equal(t, []Tensor{
		{"a", lang.BF16, []int{2}, []byte{0, 1, 2, 3}},
		{"none", lang.F64, []int{3, 0}, []byte{}},
		{"b", lang.U8, []int{2, 1}, []byte{4, 5}},
		{"scalar", lang.Bool, []int{}, []byte{6}},
	}, all(t, f))
	b, err := f.Tensor("b")
	require.NoError(t, err)
	require.Equal(t, "b: u8[2, 1]", b.String())
	_, ok := f.Lookup("c")
	require.False(t, ok)
}

func TestParseEmpty(t *testing.T) {
	f, err := Parse("f", raw(`{}`, 0))
	require.NoError(t, err)
	require.Empty(t, f.Tensors())
	require.Nil(t, f.Metadata())
}

func TestParseIsZeroCopy(t *testing.T) {
	file := raw(`{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}`, 3)
	f, err := Parse("f", file)
	require.NoError(t, err)
	a, err := f.Tensor("a")
	require.NoError(t, err)
	require.Same(t, unsafe.SliceData(file[len(file)-3:]), unsafe.SliceData(a.Data))
	require.Equal(t, 3, cap(a.Data), "an append must not reach the neighbour")
}

// all reads the tensors of a file, in the order of their data.
func all(t testing.TB, f *File) []Tensor {
	t.Helper()
	tensors := f.Tensors()
	for i := range tensors {
		var err error
		tensors[i], err = f.Tensor(tensors[i].Name)
		require.NoError(t, err)
	}
	return tensors
}

// one is a header of a single tensor "a" with the given fields.
func one(fields string) string { return `{"a":{` + fields + `}}` }

func TestParseRefuses(t *testing.T) {
	const ok = `"dtype":"U8","shape":[4],"data_offsets":[0,4]`
	for _, c := range []struct {
		name, header string
		data         int
		want         string
	}{
		{"not an object", `[]`, 0, "header starts with"},
		{"leading space", ` {}`, 0, "header starts with"},
		{"cut JSON", one(ok)[:20], 4, "the JSON text ends early"},
		{"not JSON", `{"a":}`, 0, "not JSON"},
		{"two objects", `{}{}`, 0, "something follows the JSON object"},
		{"not UTF-8", "{\"\xff\":{" + ok + "}}", 4, "not valid UTF-8"},
		{"names twice", `{"a":{` + ok + `},"a":{` + ok + `}}`, 4, `"a" occurs twice`},
		{"field twice", one(ok + `,"dtype":"U8"`), 4, `tensor "a": "dtype" occurs twice`},
		{"tensor is a list", `{"a":[]}`, 0, `tensor "a": JSON [ where an object is required`},
		{"no fields", one(``), 4, `tensor "a": dtype, shape, data_offsets missing`},
		{"no dtype", one(`"shape":[4],"data_offsets":[0,4]`), 4, `tensor "a": dtype missing`},
		{"dtype unknown", one(`"dtype":"C64","shape":[4],"data_offsets":[0,4]`), 4, `tensor "a": dtype: "C64" is unknown, required one of BOOL I8`},
		{"dtype empty", one(`"dtype":"","shape":[4],"data_offsets":[0,4]`), 4, `dtype: "" is unknown`},
		{"dtype a number", one(`"dtype":1,"shape":[4],"data_offsets":[0,4]`), 4, "dtype: 1, required a string"},
		{"shape a number", one(`"dtype":"U8","shape":4,"data_offsets":[0,4]`), 4, "shape: JSON 4 where an array is required"},
		{"negative dimension", one(`"dtype":"U8","shape":[2,-2],"data_offsets":[0,4]`), 4, `tensor "a": shape: -2, required an integer of 0 or more`},
		{"fraction", one(`"dtype":"U8","shape":[4.5],"data_offsets":[0,4]`), 4, "shape: 4.5, required an integer"},
		{"text", one(`"dtype":"U8","shape":["4"],"data_offsets":[0,4]`), 4, "shape: 4, required an integer"},
		{"dimension overflows", one(`"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,4]`), 4, "9223372036854775808 does not fit"},
		{"size overflows", one(`"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]`), 0, "can be addressed"},
		{"size wraps to the right one", one(`"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]`), 4, "can be addressed"},
		{"offset overflows", one(`"dtype":"U8","shape":[4],"data_offsets":[0,18446744073709551620]`), 4, "does not fit"},
		{"one offset", one(`"dtype":"U8","shape":[4],"data_offsets":[4]`), 4, "data_offsets has 1 values, required 2"},
		{"negative offset", one(`"dtype":"U8","shape":[4],"data_offsets":[-4,0]`), 4, "data_offsets: -4, required an integer of 0 or more"},
		{"ends before it begins", one(`"dtype":"U8","shape":[4],"data_offsets":[4,0]`), 4, "data_offsets [4, 0] end before they begin"},
		{"size disagrees", one(`"dtype":"F32","shape":[2,1],"data_offsets":[0,4]`), 4, `tensor "a": data_offsets [0, 4] hold 4 bytes, required 8 for shape [2, 1] of f32`},
		{"past the data", one(ok), 3, "[0, 4] end past the data section, which has 3 bytes: file is cut short"},
		{"data left over", one(ok), 6, `data section has 6 bytes, required 4, where tensor "a" ends: 2 bytes belong to no tensor`},
		{"no tensors but data", `{}`, 1, "1 bytes belong to no tensor"},
		{"hole first", one(`"dtype":"U8","shape":[4],"data_offsets":[1,5]`), 5, "leave a hole of 1 bytes after the data section's start"},
		{"hole between", `{"a":{` + ok + `},"b":{"dtype":"U8","shape":[2],"data_offsets":[6,8]}}`, 8, `tensor "b": data_offsets [6, 8] leave a hole of 2 bytes after tensor "a", which ends at 4`},
		{"overlap", `{"a":{` + ok + `},"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}}`, 5, `tensor "b": data_offsets [3, 5] overlap tensor "a", which ends at 4`},
		{"same place", `{"a":{` + ok + `},"b":{` + ok + `}}`, 4, "overlap"},
		{"empty tensor inside another", `{"a":{` + ok + `},"b":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}}`, 4, "overlap"},
		{"metadata not text", `{"__metadata__":{"n":1}}`, 0, `__metadata__: value of "n" is 1, required a string`},
		{"metadata twice", `{"__metadata__":{"n":"a","n":"b"}}`, 0, `__metadata__: "n" occurs twice`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("model.safetensors", raw(c.header, c.data))
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "model.safetensors: ")
		})
	}
}

func TestParseRefusesLength(t *testing.T) {
	for _, c := range []struct {
		file []byte
		want string
	}{
		{nil, "0 bytes, required at least 8"},
		{[]byte{2, 0, 0, 0, 0, 0, 0}, "7 bytes, required at least 8"},
		{raw(`{}`, 0)[:9], "header of 2 bytes, but 1 bytes follow its length"},
		{raw(``, 0), "header starts with"},
		{binary.LittleEndian.AppendUint64(nil, 100_000_001), "header of 100000001 bytes, required at most 100000000"},
		{bytes.Repeat([]byte{255}, 16), "header of 18446744073709551615 bytes, required at most 100000000"},
	} {
		_, err := Parse("f", c.file)
		require.ErrorContains(t, err, c.want)
	}
}

func TestMissingTensorNamesNearOnes(t *testing.T) {
	f, err := Open(filepath.Join(models, "nano/model.safetensors"))
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Tensor("wte.weight")
	require.EqualError(t, err, f.Name()+`: tensor "wte.weight" is missing among the 40 there; did you mean "transformer.wte.weight"`)
	_, err = f.Tensor("nothing.like.it")
	require.EqualError(t, err, f.Name()+`: tensor "nothing.like.it" is missing among the 40 there`)
}

func TestOpenCheckpoints(t *testing.T) {
	for path, params := range map[string]int{
		filepath.Join(models, "nano/model.safetensors"): 146_352,
	} {
		f, err := Open(path)
		require.NoError(t, err)
		elements := 0
		for _, tensor := range all(t, f) {
			require.Equal(t, lang.BF16, tensor.DType)
			elements += len(tensor.Data) / tensor.DType.Size()
		}
		require.Equal(t, params, elements)
		wte, err := f.Tensor("transformer.wte.weight")
		require.NoError(t, err)
		require.Equal(t, 1024, wte.Shape[0])
		require.NoError(t, f.Close())
		require.NoError(t, f.Close())
		_, ok := f.Lookup("transformer.wte.weight")
		require.False(t, ok, "a closed file has no tensors")
	}
}

func TestOpenReadsTheSameAsParse(t *testing.T) {
	path := filepath.Join(models, "mini/oracle.safetensors")
	opened, err := Open(path)
	require.NoError(t, err)
	defer opened.Close()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	parsed, err := Parse(path, data)
	require.NoError(t, err)
	require.Equal(t, all(t, parsed), all(t, opened))
}

func TestOpenErrors(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(t.TempDir())
	require.ErrorContains(t, err, "is a directory")
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o644))
	_, err = Open(empty)
	require.ErrorContains(t, err, empty+": not a safetensors file: 0 bytes")
}

// What was read stays as it was, whatever happens to the file; what is read
// later is an error, and nothing that is not the file that was opened.
func TestFileChangesWhileItIsOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.safetensors")
	data := bytes.Repeat([]byte("abcd"), 1<<16) // many pages
	other := bytes.Repeat([]byte("dcba"), 1<<16)
	change := map[string]func() error{
		"file is cut short": func() error { return os.Truncate(path, 1000) },
		"the file was changed while it was read": func() error {
			file, err := os.ReadFile(path)
			if err == nil {
				copy(file[len(file)-len(other):], other)
				err = os.WriteFile(path, file, 0o644)
			}
			return errors.Join(err, os.Chtimes(path, time.Time{}, time.Now().Add(time.Second)))
		},
	}
	for want, change := range change {
		require.NoError(t, Write(path, []Tensor{{"a", lang.U8, []int{len(data)}, data}}, nil))
		f, err := Open(path)
		require.NoError(t, err)
		read, err := f.Tensor("a")
		require.NoError(t, err)
		require.NoError(t, change())
		require.True(t, bytes.Equal(data, read.Data))
		_, err = f.Tensor("a")
		require.ErrorContains(t, err, path+`: tensor "a": `+want)
		require.NoError(t, f.Close())
	}
}

func TestWriteThenOpen(t *testing.T) {
	want := []Tensor{
		{"z", lang.F64, []int{1}, []byte("12345678")},
		{"s", lang.F32, []int{}, []byte("abcd")},
		{"empty", lang.BF16, []int{0, 5}, []byte{}},
		{"half \"quoted\" é", lang.BF16, []int{1, 3}, []byte("abcdef")},
		{"byte", lang.Bool, []int{3}, []byte{0, 1, 1}},
	}
	metadata := map[string]string{"format": "pt", "<&>": "a\nb"}
	path := filepath.Join(t.TempDir(), "f.safetensors")
	require.NoError(t, Write(path, want, metadata))
	f, err := Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, metadata, f.Metadata())
	require.ElementsMatch(t, want, all(t, f))
	for _, tensor := range all(t, f) {
		if len(tensor.Data) > 0 {
			address := uintptr(unsafe.Pointer(unsafe.SliceData(tensor.Data)))
			require.Zero(t, address%uintptr(tensor.DType.Size()), "%s is not aligned", tensor.Name)
		}
	}
}

func TestEncodeDoesNotDependOnOrder(t *testing.T) {
	tensors := []Tensor{
		{"b", lang.I32, []int{1}, []byte("bbbb")},
		{"a", lang.I32, []int{1}, []byte("aaaa")},
		{"c", lang.U8, []int{}, []byte("c")},
	}
	var forward, backward bytes.Buffer
	require.NoError(t, Encode(&forward, tensors, nil))
	require.NoError(t, Encode(&backward, []Tensor{tensors[2], tensors[1], tensors[0]}, nil))
	require.Equal(t, forward.Bytes(), backward.Bytes())
	require.True(t, strings.HasSuffix(forward.String(), "aaaabbbbc"))
	require.Equal(t, "b", tensors[0].Name, "the caller's slice stays as it was")
}

func TestRewriteKeepsCheckpoint(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(models, "nano/model.safetensors"))
	require.NoError(t, err)
	f, err := Parse("nano", data)
	require.NoError(t, err)
	var again bytes.Buffer
	require.NoError(t, Encode(&again, all(t, f), f.Metadata()))
	require.Equal(t, data, again.Bytes(), "tensors of one type are laid out by name, as the usual writer does")
}

func TestWriteRefuses(t *testing.T) {
	ok := Tensor{"a", lang.U8, []int{2}, []byte{1, 2}}
	with := func(change func(*Tensor)) []Tensor {
		bad := ok
		change(&bad)
		return []Tensor{bad}
	}
	for _, c := range []struct {
		tensors  []Tensor
		metadata map[string]string
		want     string
	}{
		{with(func(t *Tensor) { t.DType = lang.Invalid }), nil, `tensor "a": no element type is given`},
		{with(func(t *Tensor) { t.Shape = []int{-2} }), nil, "is -2, required 0 or more"},
		{with(func(t *Tensor) { t.Shape = []int{3} }), nil, `tensor "a": 2 bytes of data, required 3 for shape [3] of u8`},
		{with(func(t *Tensor) { t.Name = "__metadata__" }), nil, "reserved for metadata"},
		{with(func(t *Tensor) { t.Name = "\xff" }), nil, "name is not valid UTF-8"},
		{[]Tensor{ok, ok}, nil, `tensor "a": the name occurs twice`},
		{[]Tensor{ok}, map[string]string{"k": "\xff"}, "not valid UTF-8"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "f.safetensors")
		require.ErrorContains(t, Write(path, c.tensors, c.metadata), path+": ")
		require.ErrorContains(t, Encode(&bytes.Buffer{}, c.tensors, c.metadata), c.want)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}

func TestValues(t *testing.T) {
	for dtype, data := range map[lang.DType][]byte{
		lang.F8E4M3: {0xbc}, lang.F8E5M2: {0xbe}, lang.F16: {0, 0xbe}, lang.BF16: {0xc0, 0xbf},
		lang.F32: {0, 0, 0xc0, 0xbf}, lang.F64: {0, 0, 0, 0, 0, 0, 0xf8, 0xbf},
	} {
		got, err := Tensor{Name: "a", DType: dtype, Data: data}.Float32s()
		require.NoError(t, err)
		require.Equal(t, []float32{-1.5}, got, "%s", dtype)
		_, err = Tensor{Name: "a", DType: dtype, Data: data}.Int64s()
		require.ErrorContains(t, err, "required an integer type")
	}
	for _, dtype := range lang.DTypes() {
		if !dtype.IsInt() {
			continue
		}
		ones := Tensor{Name: "a", DType: dtype, Data: bytes.Repeat([]byte{255}, dtype.Size())}
		want := int64(-1)
		if !dtype.IsSigned() && dtype.Bits() < 64 {
			want = 1<<dtype.Bits() - 1
		}
		got, err := ones.Int64s()
		require.NoError(t, err)
		require.Equal(t, []int64{want}, got, "%s", dtype)
		_, err = ones.Float32s()
		require.ErrorContains(t, err, "required a float type")
	}
}

// FuzzParse looks for a file that makes the reader panic or that it accepts
// though its tensors do not tile the data.
func FuzzParse(f *testing.F) {
	f.Add([]byte{})
	f.Add(raw(`{}`, 0))
	f.Add(raw(one(`"dtype":"U8","shape":[4],"data_offsets":[0,4]`), 4))
	f.Add(raw(`{"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4))
	if oracle, err := os.ReadFile(filepath.Join(models, "nano/oracle.safetensors")); err == nil {
		f.Add(oracle[:448]) // the header without its data
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("f", data)
		if err != nil {
			return
		}
		total := 0
		for _, tensor := range all(t, file) {
			total += len(tensor.Data)
		}
		length := int(binary.LittleEndian.Uint64(data))
		require.Equal(t, len(data)-lengthSize-length, total)
		var again bytes.Buffer
		require.NoError(t, Encode(&again, all(t, file), file.Metadata()))
		reread, err := Parse("again", again.Bytes())
		require.NoError(t, err)
		require.Equal(t, file.Metadata(), reread.Metadata())
		require.ElementsMatch(t, all(t, file), all(t, reread))
	})
}
