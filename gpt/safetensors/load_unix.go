//go:build unix

package safetensors

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// load maps the file at path into memory, read-only, and gives what undoes it.
func load(path string) ([]byte, func() error, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close() // the mapping outlives the descriptor
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() || info.Size() == 0 { // a pipe or an empty file cannot be mapped
		return readWhole(path)
	}
	if info.Size() > math.MaxInt {
		return nil, nil, fmt.Errorf("%s: %d bytes, required at most %d, what this machine can address", path, info.Size(), math.MaxInt)
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: mapping %d bytes into memory: %w", path, info.Size(), err)
	}
	return data, func() error { return unix.Munmap(data) }, nil
}
