//go:build unix

package cache

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checksOwners: files here have owners and modes that say who can write to them.
const checksOwners = true

// owned reports a file that does not belong to the user.
func owned(info fs.FileInfo) error {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return ownedBy(s.Uid, os.Geteuid())
}

func ownedBy(owner uint32, user int) error {
	if int64(owner) != int64(user) {
		return fmt.Errorf("it belongs to user %d, and this is user %d", owner, user)
	}
	return nil
}

// openEntry opens a file without following a link, and without waiting for the other end of a pipe.
func openEntry(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
