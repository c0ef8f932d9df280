package npy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tilec/gpt/internal/archive"
	"tilec/jit/file"
)

// ReadFrom reads one array of the .npz file at path, a zip archive of .npy files as numpy.savez writes it; the array has the name that
// it has there. A name that the file does not have is an error that lists those that it has; a compressed array, of numpy.savez_compressed,
// is an error.
func ReadFrom(path, name string) (Array, error) {
	f, info, err := file.Open(path)
	if err != nil {
		return Array{}, err
	}
	defer f.Close()
	z, err := archive.Open(f, info.Size())
	if err != nil {
		return Array{}, fmt.Errorf("%s: not an .npz file: %w", path, err)
	}
	if entry := z.Entries[name+".npy"]; entry != nil {
		data, err := entry.Read(file.MaxData())
		if errors.Is(err, archive.ErrCompressed) {
			err = fmt.Errorf("%w: save the arrays with numpy.savez, which does not compress", err)
		}
		if err != nil {
			return Array{}, fmt.Errorf("%s: %w", path, err)
		}
		return Parse(path+": "+name+".npy", data)
	}
	names := namesIn(z)
	if len(names) == 0 {
		return Array{}, fmt.Errorf("%s: there are no arrays in the file", path)
	}
	return Array{}, fmt.Errorf("%s: there is no array %s in the file: it has %s", path, name, strings.Join(names, ", "))
}

// Names lists the arrays of the .npz file at path.
func Names(path string) ([]string, error) {
	f, info, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := archive.Open(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: not an .npz file: %w", path, err)
	}
	return namesIn(z), nil
}

// namesIn lists the arrays of an archive, sorted.
func namesIn(z *archive.Archive) (names []string) {
	for entry := range z.Entries {
		if known, ok := strings.CutSuffix(entry, ".npy"); ok {
			names = append(names, known)
		}
	}
	slices.Sort(names)
	return names
}
