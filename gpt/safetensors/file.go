package safetensors

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"tilec/gpt/internal/dense"
	"tilec/jit/file"
	"tilec/lang"
)

// Tensor is one named tensor of a file.
type Tensor struct {
	Name  string
	DType lang.DType
	// Shape has one entry a dimension, each 0 or more; a scalar has none.
	Shape []int
	// Data is the elements in row-major order, little endian, without gaps. In
	// a file that was in memory already it is the file's own memory: it must not be
	// written, and its start is aligned to the element only if the file's writer saw
	// to that (Write does).
	Data []byte
}

// String is the tensor's name, type and shape, as in "wte: bf16[1024, 192]".
func (t Tensor) String() string {
	return fmt.Sprintf("%s: %s%s", t.Name, t.DType, bracket(t.Shape))
}

// File is an opened, fully validated safetensors file, or several that an index
// makes one. It may be used by several goroutines at once.
type File struct {
	name     string
	entries  []entry // in the order of their data, file after file
	byName   map[string]int
	metadata map[string]string
	parts    []*part
}

// part is one file on disk or in memory.
type part struct {
	name    string
	section int64 // where the data begins
	// memory is the whole of a file that is in memory already; disk is an opened one, and opened what it was then.
	memory []byte
	disk   *os.File
	opened fs.FileInfo
	// compute makes the data of tensors that are in no file.
	compute func(Tensor) ([]byte, error)
}

// Open opens the file at path and checks it. Tensor reads the data of one tensor:
// what it gives is a copy, and what happens to the file afterwards changes nothing.
func Open(path string) (*File, error) {
	disk, info, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := parse(disk, info.Size())
	if err != nil {
		disk.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.name = path
	f.parts[0].name, f.parts[0].disk, f.parts[0].opened = path, disk, info
	return f, nil
}

// Parse reads a file that is in memory already, an embedded one for example.
// The name stands for the file in errors. The tensors share data.
func Parse(name string, data []byte) (*File, error) {
	f, err := parse(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.name = name
	f.parts[0].name, f.parts[0].memory = name, data
	return f, nil
}

// Computed is a file that is nowhere: tensors without their data, which compute makes of each that is asked for,
// whenever it is. The name stands for the file in errors.
func Computed(name string, tensors []Tensor, compute func(Tensor) ([]byte, error)) (*File, error) {
	if err := check(tensors, nil); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := &part{name: name, compute: compute}
	f := &File{name: name, byName: map[string]int{}, parts: []*part{p}}
	for i, t := range tensors {
		size, err := dense.Bytes(t.DType, t.Shape)
		if err != nil {
			return nil, fmt.Errorf("%s: tensor %q: %w", name, t.Name, err)
		}
		f.byName[t.Name] = i
		f.entries = append(f.entries, entry{name: t.Name, dtype: t.DType, shape: t.Shape, end: size, part: p})
	}
	return f, nil
}

// Close closes an opened file: there are no tensors in it any more. Those that
// were read stay. Closing twice does no harm.
func (f *File) Close() error {
	parts := f.parts
	f.parts, f.entries, f.byName = nil, nil, nil
	var problems []error
	for _, p := range parts {
		if p.disk != nil {
			problems = append(problems, p.disk.Close())
		}
	}
	return errors.Join(problems...)
}

// data reads the elements of a tensor.
func (e entry) data() ([]byte, error) {
	f := e.part
	if f.compute != nil {
		t := e.tensor(nil)
		var err error
		if t.Data, err = f.compute(t); err == nil {
			err = checkData([]Tensor{t})
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		return t.Data, nil
	}
	begin, n := f.section+int64(e.begin), int64(e.end-e.begin)
	if f.disk == nil {
		return f.memory[begin : begin+n : begin+n], nil
	}
	if most := file.MaxData(); n > most {
		return nil, fmt.Errorf("%s: tensor %q has %d bytes, and this machine's memory %d", f.name, e.name, n, most)
	}
	data := make([]byte, n)
	if err := readAt(f.disk, data, begin); err != nil {
		return nil, fmt.Errorf("%s: tensor %q: %w", f.name, e.name, err)
	}
	// The header that was checked is that of the file as it was opened.
	now, err := f.disk.Stat()
	if err != nil {
		return nil, err
	}
	if now.Size() != f.opened.Size() || !now.ModTime().Equal(f.opened.ModTime()) {
		return nil, fmt.Errorf("%s: tensor %q: the file was changed while it was read: wait until its writer is done", f.name, e.name)
	}
	return data, nil
}

// Name is the path or the name that the file was opened by.
func (f *File) Name() string { return f.name }

// Tensors lists the tensors in the order of their data, without the data itself, which Tensor reads.
func (f *File) Tensors() []Tensor {
	all := make([]Tensor, len(f.entries))
	for i, e := range f.entries {
		all[i] = e.tensor(nil)
	}
	return all
}

func (e entry) tensor(data []byte) Tensor {
	return Tensor{Name: e.name, DType: e.dtype, Shape: e.shape, Data: data}
}

// Lookup finds a tensor by name and gives it without its data.
func (f *File) Lookup(name string) (Tensor, bool) {
	i, ok := f.byName[name]
	if !ok {
		return Tensor{}, false
	}
	return f.entries[i].tensor(nil), true
}

// Tensor reads a tensor; a missing one is an error that names the file
// and the tensors whose names come near.
func (f *File) Tensor(name string) (Tensor, error) {
	if i, ok := f.byName[name]; ok {
		data, err := f.entries[i].data()
		return f.entries[i].tensor(data), err
	}
	err := fmt.Errorf("%s: tensor %q is missing among the %d there", f.name, name, len(f.entries))
	if near := f.sharingSuffix(name); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean %s", err, strings.Join(near, ", "))
	}
	return Tensor{}, err
}

// sharingSuffix lists up to three names that name ends with or that end with
// name: the common mistake is a prefix such as "transformer." too many or too few.
func (f *File) sharingSuffix(name string) []string {
	var near []string
	for _, t := range f.entries {
		long, short := name, t.name
		if len(short) > len(long) {
			long, short = short, long
		}
		if short != "" && strings.HasSuffix(long, "."+short) && len(near) < 3 {
			near = append(near, fmt.Sprintf("%q", t.name))
		}
	}
	return near
}

// Metadata is the text that the writer left under "__metadata__", nil if none.
func (f *File) Metadata() map[string]string { return f.metadata }

func bracket(shape []int) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}
