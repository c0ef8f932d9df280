package npy

import (
	"archive/zip"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tilec/jit/file"
)

// ReadFrom reads one array of the .npz file at path, a zip archive of .npy files as numpy.savez and numpy.savez_compressed write
// it; the array has the name that it has there. A name that the file does not have is an error that lists those that it has.
func ReadFrom(path, name string) (Array, error) {
	f, info, err := file.Open(path)
	if err != nil {
		return Array{}, err
	}
	defer f.Close()
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return Array{}, fmt.Errorf("%s: not an .npz file: %w", path, err)
	}
	var names []string
	for _, entry := range z.File {
		known, ok := strings.CutSuffix(entry.Name, ".npy")
		if !ok {
			continue
		}
		if names = append(names, known); known != name {
			continue
		}
		data, err := unpack(entry)
		if err != nil {
			return Array{}, fmt.Errorf("%s: %s: %w", path, entry.Name, err)
		}
		return Parse(path+": "+entry.Name, data)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return Array{}, fmt.Errorf("%s: there are no arrays in the file", path)
	}
	return Array{}, fmt.Errorf("%s: there is no array %s in the file: it has %s", path, name, strings.Join(names, ", "))
}

// unpack reads a file of an archive, whose checksum archive/zip compares.
func unpack(entry *zip.File) ([]byte, error) {
	r, err := entry.Open()
	if err != nil {
		return nil, err
	}
	data, err := file.ReadAll(r, file.MaxData())
	return data, errors.Join(err, r.Close())
}
