//go:build unix

package file

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain is also a process that is interrupted while it writes the file that the environment names.
func TestMain(m *testing.M) {
	path := os.Getenv("WRITE_AND_INTERRUPT")
	if path == "" {
		os.Exit(m.Run())
	}
	half := func(path string) error {
		return Write(path, func(w io.Writer) error {
			if _, err := w.Write(make([]byte, 3<<20)); err != nil { // more than the buffer, so that it reaches the disk
				return err
			}
			os.Stdout.WriteString("half\n")
			time.Sleep(time.Minute)
			return nil
		})
	}
	if dir, ok := strings.CutSuffix(path, "/"); ok {
		_ = WriteFolder(dir, func(dir string) error { return half(filepath.Join(dir, "in")) })
	} else {
		_ = half(path)
	}
	os.Exit(0)
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestWriteReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"first", "second"} {
		require.NoError(t, WriteBytes(path, []byte(text)))
		require.Equal(t, text, content(t, path))
	}
}

func TestFailedWriteLeavesOldContentAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
	broken := errors.New("broken")
	err := Write(path, func(w io.Writer) error {
		_, err := w.Write(make([]byte, 3<<20))
		require.NoError(t, err)
		return broken
	})
	require.ErrorIs(t, err, broken)
	require.Equal(t, "old", content(t, path))
	require.Equal(t, []string{"file"}, names(t, dir))
}

func TestWriteToMissingFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent", "file")
	require.ErrorIs(t, Write(path, func(io.Writer) error { return nil }), os.ErrNotExist)
	require.ErrorIs(t, Check(path), os.ErrNotExist)
}

func TestWriteKeepsTheMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chmod(path, 0o640))
	require.NoError(t, WriteBytes(path, []byte("new")))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode())
}

// A link stays a link, also one whose file is still to come and one that leads to a link.
func TestWriteFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	file, link, second := filepath.Join(dir, "data", "file"), filepath.Join(dir, "link"), filepath.Join(dir, "second")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o777))
	require.NoError(t, os.Symlink(filepath.Join("data", "file"), link))
	require.NoError(t, os.Symlink(link, second))
	for _, path := range []string{link, second} {
		require.NoError(t, Check(path))
		require.NoError(t, WriteBytes(path, []byte(path)))
		require.Equal(t, path, content(t, file))
	}
	require.Equal(t, []string{"data", "link", "second"}, names(t, dir))
	require.Equal(t, []string{"file"}, names(t, filepath.Join(dir, "data")))
	circle := filepath.Join(dir, "circle")
	require.NoError(t, os.Symlink(circle, circle))
	require.ErrorContains(t, WriteBytes(circle, nil), "more than 40 symbolic links")
}

func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	require.ErrorContains(t, Check(dir), "is a directory, must be a regular file")
	require.ErrorContains(t, WriteBytes(dir, nil), "is a directory")
	pipe, fixed := filepath.Join(dir, "pipe"), filepath.Join(dir, "fixed")
	require.NoError(t, syscall.Mkfifo(pipe, 0o666))
	require.ErrorContains(t, Check(pipe), "is a pipe")
	require.NoError(t, os.WriteFile(fixed, []byte("old"), 0o444))
	require.ErrorContains(t, Check(fixed), "the file is read-only")
	require.ErrorContains(t, WriteBytes(fixed, nil), "the file is read-only")
	require.Equal(t, "old", content(t, fixed))
	require.Equal(t, []string{"fixed", "pipe"}, names(t, dir))
	if runtime.GOOS == "linux" {
		require.ErrorContains(t, Check("/proc/file"), "cannot write in the folder /proc: ")
	}
}

func TestInterruptLeavesNothing(t *testing.T) {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		if signal.Ignored(s) {
			continue // as by a shell, of what runs in its background
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "file")
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "WRITE_AND_INTERRUPT="+path)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = io.ReadFull(out, make([]byte, len("half\n")))
		require.NoError(t, err)
		require.Len(t, names(t, dir), 2, "the new file is there while it is written")
		require.NoError(t, cmd.Process.Signal(s))
		var exit *exec.ExitError
		require.ErrorAs(t, cmd.Wait(), &exit)
		require.False(t, exit.Exited(), "the process ends by the signal")
		require.Equal(t, []string{"file"}, names(t, dir))
		require.Equal(t, "old", content(t, path))
	}
}

// A file within a new folder goes with it.
func TestInterruptLeavesNoFolder(t *testing.T) {
	if signal.Ignored(syscall.SIGTERM) {
		t.Skip("the signal is ignored")
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "WRITE_AND_INTERRUPT="+filepath.Join(dir, "folder")+"/")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.ReadFull(out, make([]byte, len("half\n")))
	require.NoError(t, err)
	require.Len(t, names(t, dir), 1, "the new folder is there while it is written")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.False(t, exit.Exited(), "the process ends by the signal")
	require.Empty(t, names(t, dir))
}

func TestWriteFolder(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "new")
	fill := func(dir string) error { return WriteBytes(filepath.Join(dir, "a"), []byte("x")) }
	require.NoError(t, WriteFolder(dir+"/", fill))
	require.Equal(t, "x", content(t, filepath.Join(dir, "a")))
	require.Equal(t, []string{"new"}, names(t, parent))

	err := WriteFolder(dir, fill)
	require.ErrorContains(t, err, "it is there, with a and more in it")
	require.ErrorContains(t, WriteFolder(filepath.Join(dir, "a"), fill), "cannot write the folder")
	require.ErrorContains(t, WriteFolder(filepath.Join(parent, "none", "x"), fill), "no such file or directory")

	// A folder that cannot be filled leaves nothing, and an empty one that was there stays.
	require.NoError(t, os.Mkdir(filepath.Join(parent, "empty"), 0o777))
	broken := errors.New("broken")
	require.ErrorIs(t, WriteFolder(filepath.Join(parent, "empty"), func(dir string) error {
		require.NoError(t, fill(dir))
		return broken
	}), broken)
	require.Equal(t, []string{"empty", "new"}, names(t, parent))
	require.NoError(t, WriteFolder(filepath.Join(parent, "empty"), fill))
	require.Equal(t, "x", content(t, filepath.Join(parent, "empty", "a")))
}
