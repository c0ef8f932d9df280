// Package file reads files that are what they claim to be, and writes files
// that are either whole or absent. Reading a pipe, a device or an endless file
// by mistake would wait or fill the memory; here each is an error at once.
package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"tilec/jit/host"
)

// The most bytes that a text may have. Both are many times what people write,
// and little for a machine: what is larger is no such text.
const (
	// MaxSource is for a source of the language.
	MaxSource = 16 << 20
	// MaxText is for the texts of a checkpoint: its configuration and its tokenizer.
	MaxText = 64 << 20
)

// MaxData is the most bytes that a file of numbers may have: what this machine's memory holds.
func MaxData() int64 {
	if n := host.Memory(); n > 0 {
		return n
	}
	return math.MaxInt
}

// kinds are the files that are not regular, as people call them.
var kinds = []struct {
	mode fs.FileMode
	name string
}{
	{fs.ModeDir, "a directory"}, {fs.ModeNamedPipe, "a pipe"}, {fs.ModeSocket, "a socket"}, {fs.ModeDevice, "a device"},
}

// ErrNotRegular is the error of a directory, a pipe or a device in a file's place.
var ErrNotRegular = errors.New("must be a regular file")

// regular refuses what is no regular file.
func regular(info fs.FileInfo) error {
	for _, k := range kinds {
		if info.Mode()&k.mode != 0 {
			return fmt.Errorf("is %s, %w", k.name, ErrNotRegular)
		}
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("is a special file, %w", ErrNotRegular)
	}
	return nil
}

// Open opens a regular file, or a symbolic link to one, for reading, and gives what the
// system knows of it. Errors are *fs.PathError.
func Open(path string) (*os.File, fs.FileInfo, error) {
	// A look before the opening: to open a pipe waits for its writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if err := regular(info); err != nil {
		return nil, nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	// Another file may have taken the place since the look.
	info, err = f.Stat()
	if err == nil {
		if e := regular(info); e != nil {
			err = &fs.PathError{Op: "open", Path: path, Err: e}
		}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Read reads a regular file of at most so many bytes. Errors are *fs.PathError.
func Read(path string, most int64) ([]byte, error) {
	f, info, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if n := info.Size(); n > most {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("has %d bytes, the most that are read are %d", n, most)}
	}
	data, err := ReadAll(f, most)
	if err != nil {
		var at *fs.PathError
		if !errors.As(err, &at) {
			err = &fs.PathError{Op: "read", Path: path, Err: err}
		}
		return nil, err
	}
	return data, nil
}

// ReadAll reads a stream to its end, which must come after at most so many bytes.
func ReadAll(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, fmt.Errorf("has more than %d bytes, the most that are read", most)
	}
	return data, err
}
