//go:build unix

package cache

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whatever somebody else can have put there is not read, and nothing waits for it.
func TestOnlyWhatThisUserWroteIsTrusted(t *testing.T) {
	for name, c := range map[string]struct {
		// spoil changes an entry, or its folder.
		spoil func(t *testing.T, path string)
		says  string
	}{
		"an entry that others can write": {func(t *testing.T, path string) { require.NoError(t, os.Chmod(path, 0o622)) }, "others can write to it (its mode is 0622)"},
		"a folder that others can write": {func(t *testing.T, path string) { require.NoError(t, os.Chmod(filepath.Dir(path), 0o770)) }, "others can write to it (its mode is 0770)"},
		"a link to an entry": {func(t *testing.T, path string) {
			other := filepath.Join(t.TempDir(), "other")
			require.NoError(t, os.Rename(path, other))
			require.NoError(t, os.Symlink(other, path))
		}, syscall.ELOOP.Error()},
		"a link to a folder": {func(t *testing.T, path string) {
			other := filepath.Join(t.TempDir(), "other")
			require.NoError(t, os.Rename(filepath.Dir(path), other))
			require.NoError(t, os.Symlink(other, filepath.Dir(path)))
		}, "it is no folder"},
		"a folder where an entry belongs": {func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o700))
		}, "it is no regular file"},
		"a pipe": {func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, syscall.Mkfifo(path, 0o600))
		}, "it is no regular file"},
		"an entry of more than any cache": {func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, DefaultMaxBytes+1)) }, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := Open(t.TempDir())
			cache.Put(key(1), []byte("code"))
			require.NoError(t, cache.Warn())
			var said []error
			cache.Notify(func(err error) { said = append(said, err) })
			c.spoil(t, cache.path(key(1)))
			for range 2 {
				_, ok := cache.Get(key(1))
				require.False(t, ok)
			}
			require.Len(t, said, 1, "it is said once")
			assert.ErrorContains(t, said[0], c.says)
		})
	}
}

func TestFolderThatOthersCanWriteIsNoCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shared")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chmod(dir, 0o777))
	c := Open(dir)
	require.ErrorContains(t, c.Warn(), "others can write to it")
	require.ErrorContains(t, c.Warn(), DirVariable)
	c.Put(key(1), []byte("code"))
	_, ok := c.Get(key(1))
	require.False(t, ok)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)

	var said []error
	c.Notify(func(err error) { said = append(said, err) })
	require.Len(t, said, 1, "what was found before is said")
}

// The name that the user gives may be a link to where there is room.
func TestFolderMayBeALink(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(t.TempDir(), link))
	c := Open(link)
	c.Put(key(1), []byte("code"))
	got, ok := Open(link).Get(key(1))
	require.True(t, ok, c.Warn())
	require.Equal(t, "code", string(got))
}

func TestOwners(t *testing.T) {
	require.NoError(t, ownedBy(1000, 1000))
	require.ErrorContains(t, ownedBy(0, 1000), "it belongs to user 0, and this is user 1000")
	require.ErrorContains(t, ownedBy(1000, 0), "it belongs to user 1000")
	if os.Geteuid() == 0 { // only root can give a file away
		c := Open(t.TempDir())
		c.Put(key(1), []byte("code"))
		require.NoError(t, os.Chown(c.path(key(1)), 1, 1))
		_, ok := c.Get(key(1))
		require.False(t, ok)
		require.ErrorContains(t, c.Warn(), "belongs to user 1")
	}
}

// A disk without room keeps nothing, leaves nothing behind, and is said once. A process of its own has
// no room: a limit on the size of its files.
func TestFullDisk(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), noRoomVariable+"="+t.TempDir())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// withoutRoom is the process of TestFullDisk.
func withoutRoom(dir string) error {
	c := Open(dir)
	var said []error
	c.Notify(func(err error) { said = append(said, err) })
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = 1 << 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	for n := range 2 {
		c.Put(key(n), make([]byte, 1<<14))
		if _, ok := c.Get(key(n)); ok {
			return errors.New("what there is no room for is found")
		}
		left, err := filepath.Glob(filepath.Join(filepath.Dir(c.path(key(n))), "*"))
		if err != nil || len(left) > 0 {
			return fmt.Errorf("left behind: %v, %v", left, err)
		}
	}
	if len(said) != 1 || !strings.Contains(said[0].Error(), "cannot write to the cache") {
		return fmt.Errorf("said: %v", said)
	}
	return nil
}

func init() { workers[noRoomVariable] = withoutRoom }

const noRoomVariable = "TILEC_CACHE_TEST_NO_ROOM"
