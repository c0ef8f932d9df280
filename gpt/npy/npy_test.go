package npy

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// raw builds a file of version 1.0 from a header's text and n bytes of data.
func raw(text string, n int) []byte {
	file := append([]byte(magic), 1, 0)
	file = binary.LittleEndian.AppendUint16(file, uint16(len(text)))
	file = append(file, text...)
	return append(file, make([]byte, n)...)
}

// numpyFile is what numpy.save writes for numpy.arange(6, dtype="<i2").reshape(2, 3):
// the header padded with spaces to 128 bytes, then the data.
var numpyFile = "\x93NUMPY\x01\x00\x76\x00" +
	"{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }" + strings.Repeat(" ", 58) + "\n" +
	"\x00\x00\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00"

func TestParseNumpyFile(t *testing.T) {
	got, err := Parse("f.npy", []byte(numpyFile))
	require.NoError(t, err)
	require.Equal(t, Array{lang.I16, []int{2, 3}, []byte(numpyFile[128:])}, got)
}

func TestEncodeAsNumpyDoes(t *testing.T) {
	var got bytes.Buffer
	require.NoError(t, Encode(&got, Array{lang.I16, []int{2, 3}, []byte(numpyFile[128:])}))
	require.Equal(t, numpyFile, got.String())
}

func TestParseOtherSpellings(t *testing.T) {
	for _, text := range []string{
		`{"shape":(2,2),"fortran_order":False,"descr":"|u1"}`,
		"{'descr': '|u1', 'fortran_order': False, 'shape': (2L, 2L,), }\n",
		" {\t'fortran_order' : False , 'descr' : '|u1' , 'shape' : ( 2 , 2 ) } \n\n",
	} {
		got, err := Parse("f.npy", raw(text, 4))
		require.NoError(t, err, "%s", text)
		require.Equal(t, Array{lang.U8, []int{2, 2}, make([]byte, 4)}, got)
	}
}

func TestRoundTrip(t *testing.T) {
	for _, dtype := range lang.DTypes() {
		if dtype.Npy() == "" {
			continue
		}
		for _, shape := range [][]int{{}, {0}, {3}, {2, 0, 3}, {1, 2, 3, 4}} {
			n := dtype.Size()
			for _, d := range shape {
				n *= d
			}
			want := Array{dtype, shape, bytes.Repeat([]byte{0x5a}, n)}
			path := filepath.Join(t.TempDir(), "f.npy")
			require.NoError(t, Write(path, want))
			got, err := Read(path)
			require.NoError(t, err)
			require.Equal(t, want, got)
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Zero(t, (int(info.Size())-n)%alignment, "the data is not aligned")
		}
	}
}

func TestLongHeaderIsVersion2(t *testing.T) {
	want := Array{lang.U8, slices.Repeat([]int{1}, 30_000), []byte{7}}
	var file bytes.Buffer
	require.NoError(t, Encode(&file, want))
	require.Equal(t, byte(2), file.Bytes()[len(magic)])
	require.Zero(t, (file.Len()-1)%alignment)
	got, err := Parse("f.npy", file.Bytes())
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestParseRefuses(t *testing.T) {
	const good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
	replace := func(old, new string) []byte { return raw(strings.Replace(good, old, new, 1), 8) }
	version := raw(good, 8)
	version[6] = 3
	v2 := raw(good, 8)
	v2[6] = 2
	for _, c := range []struct {
		file []byte
		want string
	}{
		{nil, `not an .npy file: starts with ""`},
		{[]byte("PK\x03\x04 an .npz is a zip"), `not an .npy file: starts with "PK`},
		{[]byte(magic), "not an .npy file"},
		{version, "version 3.0, required 1.0 or 2.0"},
		{v2, "file is cut short: header of"},
		{raw(good, 8)[:9], "1 bytes for the header's length, required 2"},
		{raw(good, 8)[:30], "but 20 bytes follow its length"},
		{raw(good, 7), "7 bytes of data, required 8 for shape [2] of f32"},
		{raw(good, 9), "9 bytes of data, required 8"},
		{replace("<f4", ">f4"), `descr ">f4", required one of |b1 |i1`},
		{replace("<f4", "<c8"), `descr "<c8"`},
		{replace("'<f4'", "[('x', '<f4')]"), `descr: "[('x', '<f4')], " at byte 10, required a string`},
		{replace("False", "0"), "required True or False"},
		{replace("(2,)", "(2)"), "shape: (2) is a number, required the tuple (2,)"},
		{replace("(2,)", "[2]"), "shape: "},
		{replace("(2,)", "(1 2)"), `required "," or ")"`},
		{replace("(2,)", "(2, x)"), "required an integer"},
		{replace("(2,)", "(-2,)"), "dimension 0 of shape [-2] is -2, required 0 or more"},
		{replace("(2,)", "(99999999999999999999,)"), "required an integer of 64 bits"},
		{replace("(2,)", "(4294967296, 4294967296)"), "can be addressed"},
		{replace("'shape': (2,), ", ""), `key "shape" is missing`},
		{replace("'shape'", "'descr'"), `key "descr" occurs twice`},
		{replace("'shape'", "'size'"), `key "size" is unknown`},
		{replace("'<f4'", "'<f4"), `"fortran_order': " at byte 17, required "}"`}, // the quote closes before the next key
		{replace("'<f4'", `'\x3cf4'`), "a string without escapes"},
		{replace("}", ""), "the end at byte"},
		{replace("}", "} x"), "required the end"},
		{raw("", 0), `the end at byte 0, required "{"`},
	} {
		_, err := Parse("f.npy", c.file)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "f.npy: ")
	}
}

func TestReadMissingFile(t *testing.T) {
	_, err := Read(filepath.Join(t.TempDir(), "absent.npy"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestWriteRefuses(t *testing.T) {
	for _, c := range []struct {
		array Array
		want  string
	}{
		{Array{lang.BF16, []int{1}, make([]byte, 2)}, ".npy has no bf16: write a .safetensors file instead"},
		{Array{lang.F8E4M3, []int{1}, make([]byte, 1)}, ".npy has no f8e4m3"},
		{Array{}, "no element type is given"},
		{Array{lang.F32, []int{2}, make([]byte, 4)}, "4 bytes of data, required 8 for shape [2] of f32"},
	} {
		path := filepath.Join(t.TempDir(), "f.npy")
		require.ErrorContains(t, Write(path, c.array), c.want)
		require.ErrorContains(t, Encode(&bytes.Buffer{}, c.array), c.want)
		require.NoFileExists(t, path)
	}
}

// FuzzParse looks for a file that makes the reader panic, or that it reads as
// something else than what it writes.
func FuzzParse(f *testing.F) {
	f.Add([]byte(numpyFile))
	f.Add([]byte(columns))
	f.Add(raw(`{"shape":(),"fortran_order":False,"descr":"|u1"}`, 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		want, err := Parse("f.npy", data)
		if err != nil {
			return
		}
		var file bytes.Buffer
		require.NoError(t, Encode(&file, want))
		got, err := Parse("again.npy", file.Bytes())
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}
