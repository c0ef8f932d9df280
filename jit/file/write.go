package file

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
)

// Write gives fill a buffered writer to a new file beside path and moves that
// file to path when all of it is on disk. A reader of path sees the old
// content or the new, never a part; on an error path is left as it was and the
// new file is removed, and so it is when the process is interrupted. A file that
// was there gives its permissions to the new one, and a symbolic link stays one:
// the file that it names is replaced.
func Write(path string, fill func(io.Writer) error) error {
	target, info, err := target(path)
	if err != nil {
		return err
	}
	return write(target, info, fill)
}

// WriteBytes is Write of a content that is there already.
func WriteBytes(path string, data []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Check tells why Write could not write to path, for a caller with long work
// before it: the folder is not there, or takes no new file; what is at path
// is no regular file, or may not be written.
func Check(path string) error {
	target, _, err := target(path)
	if err != nil {
		return err
	}
	return checkFolder(filepath.Dir(target))
}

// MakeFolder makes a folder, where it is not there yet, and tells why no file could be written in it.
func MakeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("cannot make the folder %s: %w", dir, reason(err))
	}
	return checkFolder(dir)
}

// checkFolder tells why no file could be written in a folder.
func checkFolder(dir string) error {
	// To ask the system is not enough: it may allow what a full or a read-only disk refuses.
	f, err := create(filepath.Join(dir, "tilec"))
	if err != nil {
		return fmt.Errorf("cannot write in the folder %s: %w", dir, reason(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// target follows symbolic links from path to where a file is, or will be, and
// gives what is known of the file that is there, nil for none.
func target(path string) (string, fs.FileInfo, error) {
	const mostLinks = 40 // as the system's own
	for range mostLinks {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil, nil
		}
		if err != nil {
			return "", nil, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if err := regular(info); err != nil {
				return "", nil, fmt.Errorf("cannot write %s: it %w", path, err)
			}
			if info.Mode()&0o222 == 0 {
				return "", nil, fmt.Errorf("cannot write %s: the file is read-only", path)
			}
			return path, info, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", nil, err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", nil, fmt.Errorf("cannot write %s: more than %d symbolic links follow each other", path, mostLinks)
}

// create makes a new file beside path, under a name of its own.
func create(path string) (*os.File, error) {
	// Not os.CreateTemp: its files are private to the user, and a checkpoint
	// should have the permissions that the umask gives to any other file.
	dir, name := filepath.Split(path)
	return os.OpenFile(filepath.Join(dir, fmt.Sprintf(".%.100s.%016x.tmp", name, rand.Uint64())), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// reason is an error without the name of the temporary file, which says nothing to a user.
func reason(err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return at.Err
	}
	return err
}

func write(path string, old fs.FileInfo, fill func(io.Writer) error) (err error) {
	f, err := create(path)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, reason(err))
	}
	defer removeOnInterrupt(f.Name())()
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if old != nil {
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
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
	return os.Rename(f.Name(), path)
}

// WriteFolder gives fill a new folder beside path and moves it to path when all
// that is in it is on disk: a reader of path finds no folder, or the whole one. On
// an error, and when the process is interrupted, the new folder is removed. A folder
// with something in it, or a file, at path is an error.
func WriteFolder(path string, fill func(dir string) error) (err error) {
	if entries, err := os.ReadDir(path); err == nil && len(entries) > 0 {
		return fmt.Errorf("cannot write the folder %s: it is there, with %s and more in it: remove it or name another", path, entries[0].Name())
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write the folder %s: %w", path, reason(err))
	}
	path = filepath.Clean(path) // without a slash at its end, behind which the new folder would be in it
	parent, name := filepath.Split(path)
	dir := filepath.Join(parent, fmt.Sprintf(".%.100s.%016x.tmp", name, rand.Uint64()))
	if err := os.Mkdir(dir, 0o777); err != nil {
		return fmt.Errorf("cannot write the folder %s: %w", path, reason(err))
	}
	defer removeOnInterrupt(dir)()
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	if err := fill(dir); err != nil {
		return err
	}
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		if err := os.Remove(path); err != nil { // which is empty
			return fmt.Errorf("cannot write the folder %s: %w", path, reason(err))
		}
	}
	return os.Rename(dir, path)
}

// removeOnInterrupt removes a file or a folder when a signal asks the process to end, until
// what it gives is called. The signal then does what it would have done.
func removeOnInterrupt(path string) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	for _, s := range endings {
		if !signal.Ignored(s) { // as under nohup: to ask for one that is ignored would let it through
			signal.Notify(signals, s)
		}
	}
	go func() {
		select {
		case s := <-signals:
			os.RemoveAll(path)
			signal.Stop(signals)
			if self, err := os.FindProcess(os.Getpid()); err != nil || self.Signal(s) != nil {
				os.Exit(1) // where a process cannot signal itself
			}
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}
