package cache

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Code from the cache runs with the rights of the user. So only what this user, and nobody else, can have written is
// read: folders and files of the user that others cannot write to, and no links.

// trusted reports why a folder or a file is not one that only this user can write to.
func trusted(path string, info fs.FileInfo) error {
	if err := owned(info); err != nil {
		return fmt.Errorf("%s is not trusted: %w", path, err)
	}
	if mode := info.Mode().Perm(); checksOwners && mode&0o022 != 0 {
		return fmt.Errorf("%s is not trusted: others can write to it (its mode is %#o): chmod -R go-w makes it yours alone", path, mode)
	}
	return nil
}

// trustedFolder reports why a folder of the cache is not one to use. What does not exist is an error of fs.ErrNotExist.
func trustedFolder(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not trusted: it is no folder", path)
	}
	return trusted(path, info)
}

// readTrusted reads a file of at most so many bytes.
func readTrusted(path string, most int64) ([]byte, error) {
	f, err := openEntry(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat() // of what is open: the name may mean another file by now
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not trusted: it is no regular file", path)
	case info.Size() > most:
		return nil, fmt.Errorf("%s has %d bytes, more than the %d of a whole cache", path, info.Size(), most)
	}
	if err := trusted(path, info); err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}
