//go:build unix

package file

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path, link, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	require.NoError(t, os.WriteFile(path, []byte("four"), 0o644))
	require.NoError(t, os.Symlink(path, link))
	require.NoError(t, syscall.Mkfifo(pipe, 0o666))
	for _, name := range []string{path, link} {
		data, err := Read(name, 4)
		require.NoError(t, err)
		require.Equal(t, "four", string(data))
	}
	for name, want := range map[string]string{
		path:                         "has 4 bytes, the most that are read are 3",
		dir:                          "is a directory, must be a regular file",
		pipe:                         "is a pipe, must be a regular file",
		os.DevNull:                   "is a device, must be a regular file",
		filepath.Join(dir, "absent"): "no such file",
	} {
		_, err := Read(name, 3)
		var at *fs.PathError
		require.ErrorAs(t, err, &at, name)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, name)
	}
	// A file that tells no size, and more comes.
	_, err := ReadAll(strings.NewReader("four"), 3)
	require.ErrorContains(t, err, "has more than 3 bytes")
}
