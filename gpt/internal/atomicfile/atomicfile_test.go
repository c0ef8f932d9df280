package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriteReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, content := range []string{"first", "second"} {
		require.NoError(t, Write(path, func(w io.Writer) error {
			_, err := io.WriteString(w, content)
			return err
		}))
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, content, string(got))
	}
}

func TestFailedWriteLeavesOldContentAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
	broken := errors.New("broken")
	err := Write(path, func(w io.Writer) error {
		_, err := w.Write(make([]byte, 3<<20)) // more than the buffer, so that it reaches the disk
		require.NoError(t, err)
		return broken
	})
	require.ErrorIs(t, err, broken)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(got))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestWriteToMissingFolder(t *testing.T) {
	err := Write(filepath.Join(t.TempDir(), "absent", "file"), func(io.Writer) error { return nil })
	require.ErrorIs(t, err, os.ErrNotExist)
}
