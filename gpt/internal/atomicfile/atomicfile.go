// Package atomicfile writes files that are either whole or absent.
package atomicfile

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
)

// Write gives fill a buffered writer to a new file beside path and moves that
// file to path when all of it is on disk. A reader of path sees the old
// content or the new, never a part; on an error path is left as it was and the
// new file is removed.
func Write(path string, fill func(io.Writer) error) (err error) {
	// Not os.CreateTemp: its files are private to the user, and a checkpoint
	// should have the permissions that the umask gives to any other file.
	temp := fmt.Sprintf("%s.%016x.tmp", path, rand.Uint64())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(temp)
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := fill(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	// Without the sync, a crash after the rename could leave path empty.
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
