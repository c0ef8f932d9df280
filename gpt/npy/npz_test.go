package npy

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// npz writes an .npz file: members by name, in pairs.
func npz(t *testing.T, method uint16, members ...string) string {
	path := filepath.Join(t.TempDir(), "f.npz")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	z := zip.NewWriter(f)
	for i := 0; i < len(members); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: members[i], Method: method})
		require.NoError(t, err)
		_, err = w.Write([]byte(members[i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return path
}

func TestReadFromNpz(t *testing.T) {
	want := Array{lang.I16, []int{2, 3}, []byte(numpyFile[128:])}
	path := npz(t, zip.Store, "a.npy", numpyFile, "b.npy", columns, "notes.txt", "no array")
	for _, name := range []string{"a", "b"} {
		got, err := ReadFrom(path, name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestReadFromRefuses(t *testing.T) {
	path := npz(t, zip.Store, "w.npy", numpyFile, "b.npy", numpyFile, "bad.npy", "nothing")
	_, err := ReadFrom(path, "x")
	require.ErrorContains(t, err, "there is no array x in the file: it has b, bad, w")
	_, err = ReadFrom(path, "bad")
	require.ErrorContains(t, err, "f.npz: bad.npy: not an .npy file")
	_, err = ReadFrom(npz(t, zip.Store, "notes.txt", "no array"), "x")
	require.ErrorContains(t, err, "there are no arrays in the file")

	_, err = ReadFrom(npz(t, zip.Deflate, "w.npy", numpyFile), "w")
	require.ErrorContains(t, err, "f.npz: w.npy is compressed: save the arrays with numpy.savez, which does not compress")

	data, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(data, []byte(numpyFile[128:]))
	data[at]++
	damaged := filepath.Join(t.TempDir(), "damaged.npz")
	require.NoError(t, os.WriteFile(damaged, data, 0o666))
	_, err = ReadFrom(damaged, "w")
	require.ErrorContains(t, err, "damaged.npz: w.npy is damaged: the sum of its bytes is")

	require.NoError(t, os.WriteFile(damaged, data[:len(data)-30], 0o666))
	_, err = ReadFrom(damaged, "w")
	require.ErrorContains(t, err, "not an .npz file")
	_, err = ReadFrom(filepath.Join(t.TempDir(), "absent.npz"), "w")
	require.ErrorIs(t, err, os.ErrNotExist)
}
