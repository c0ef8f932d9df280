package safetensors

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"tilec/lang"
)

// Tensor is one named tensor of a file.
type Tensor struct {
	Name  string
	DType lang.DType
	// Shape has one entry a dimension, each 0 or more; a scalar has none.
	Shape []int
	// Data is the elements in row-major order, little endian, without gaps. In
	// an opened file it is the file's own memory: it must not be written, and
	// its start is aligned to the element only if the file's writer saw to that
	// (Write does).
	Data []byte
}

// String is the tensor's name, type and shape, as in "wte: bf16[1024, 192]".
func (t Tensor) String() string {
	return fmt.Sprintf("%s: %s%s", t.Name, t.DType, bracket(t.Shape))
}

// File is an opened, fully validated safetensors file. It may be used by
// several goroutines at once.
type File struct {
	name     string
	tensors  []Tensor
	byName   map[string]int
	metadata map[string]string
	release  func() error // nil when there is nothing to give back
}

// Open opens the file at path without copying its tensors: where the system
// can, the file is mapped into memory and its pages are read when first
// touched. The file must not be shortened while it is open.
func Open(path string) (*File, error) {
	data, release, err := load(path)
	if err != nil {
		return nil, err
	}
	f, err := Parse(path, data)
	if err != nil {
		release()
		return nil, err
	}
	f.release = release
	return f, nil
}

// Parse reads a file that is in memory already, an embedded one for example.
// The name stands for the file in errors. The tensors share data.
func Parse(name string, data []byte) (*File, error) {
	f, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.name = name
	return f, nil
}

// Close gives back the memory of an opened file. No tensor of it may be used
// afterwards. Closing twice does no harm.
func (f *File) Close() error {
	release := f.release
	f.release, f.tensors, f.byName = nil, nil, nil
	if release == nil {
		return nil
	}
	return release()
}

// Name is the path or the name that the file was opened by.
func (f *File) Name() string { return f.name }

// Tensors lists the tensors in the order of their data. The slice is the caller's.
func (f *File) Tensors() []Tensor { return slices.Clone(f.tensors) }

// Lookup finds a tensor by name.
func (f *File) Lookup(name string) (Tensor, bool) {
	i, ok := f.byName[name]
	if !ok {
		return Tensor{}, false
	}
	return f.tensors[i], true
}

// Tensor finds a tensor by name; a missing one is an error that names the file
// and the tensors whose names come near.
func (f *File) Tensor(name string) (Tensor, error) {
	if t, ok := f.Lookup(name); ok {
		return t, nil
	}
	err := fmt.Errorf("%s: tensor %q is missing among the %d there", f.name, name, len(f.tensors))
	if near := f.sharingSuffix(name); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean %s", err, strings.Join(near, ", "))
	}
	return Tensor{}, err
}

// sharingSuffix lists up to three names that name ends with or that end with
// name: the common mistake is a prefix such as "transformer." too many or too few.
func (f *File) sharingSuffix(name string) []string {
	var near []string
	for _, t := range f.tensors {
		long, short := name, t.Name
		if len(short) > len(long) {
			long, short = short, long
		}
		if short != "" && strings.HasSuffix(long, "."+short) && len(near) < 3 {
			near = append(near, fmt.Sprintf("%q", t.Name))
		}
	}
	return near
}

// Metadata is the text that the writer left under "__metadata__", nil if none.
func (f *File) Metadata() map[string]string { return f.metadata }

// readWhole reads a whole file into ordinary memory.
func readWhole(path string) ([]byte, func() error, error) {
	data, err := os.ReadFile(path)
	return data, func() error { return nil }, err
}

func bracket(shape []int) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}
