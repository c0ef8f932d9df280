// Package torch reads the files that torch.save writes, as far as state dicts need it: dictionaries, lists, numbers, texts
// and tensors. A file of that format is a program; this package runs none of it, and refuses a file that needs more than data.
package torch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"tilec/gpt/internal/archive"
	"tilec/gpt/internal/dense"
	"tilec/jit/file"
	"tilec/lang"
)

// File is an opened file of torch.save.
type File struct {
	name   string
	disk   *os.File
	length int64
	within *archive.Archive
	folder string // of the archive, in which all is
	// Root is what was saved: nil, bool, int64, float64, string, []any for a tuple, *List, *Dict or *Tensor.
	Root any
}

// Tensor is a tensor whose data is still in the file.
type Tensor struct {
	DType   lang.DType
	Shape   []int
	strides []int
	offset  int // elements into the storage
	storage *storage
}

// storage is the memory that tensors share parts of.
type storage struct {
	file  *File
	dtype lang.DType
	key   string
	count int // elements
}

// dtypes are the element types of storages.
var dtypes = map[global]lang.DType{
	"torch.FloatStorage": lang.F32, "torch.DoubleStorage": lang.F64, "torch.HalfStorage": lang.F16, "torch.BFloat16Storage": lang.BF16,
	"torch.LongStorage": lang.I64, "torch.IntStorage": lang.I32, "torch.ShortStorage": lang.I16, "torch.CharStorage": lang.I8,
	"torch.ByteStorage": lang.U8, "torch.BoolStorage": lang.Bool,
}

// The globals that make data.
const (
	orderedDict      global = "collections.OrderedDict"
	size             global = "torch.Size"
	rebuildTensor    global = "torch._utils._rebuild_tensor_v2"
	rebuildParameter global = "torch._utils._rebuild_parameter"
)

// known reports a global that a file may name.
func known(g global) bool {
	_, isStorage := dtypes[g]
	return isStorage || g == orderedDict || g == size || g == rebuildTensor || g == rebuildParameter
}

// Open opens a file of torch.save and reads all but the tensors' data.
func Open(name string) (*File, error) {
	disk, info, err := file.Open(name)
	if err != nil {
		return nil, err
	}
	f := &File{name: name, disk: disk, length: info.Size()}
	if err := f.read(); err != nil {
		disk.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() error { return f.disk.Close() }

func (f *File) read() error {
	within, err := archive.Open(f.disk, f.length)
	if err != nil {
		return fmt.Errorf("not a file of torch.save in its format since PyTorch 1.6, a zip archive (%w): save it again with a later version", err)
	}
	f.within = within
	const pickle = "data.pkl"
	for name := range within.Entries {
		if folder := path.Dir(name); path.Base(name) == pickle && strings.Count(name, "/") == 1 && (f.folder == "" || folder < f.folder) {
			f.folder = folder
		}
	}
	if f.folder == "" {
		return fmt.Errorf("the archive has no %s: not a file of torch.save", pickle)
	}
	if order := within.Entries[f.folder+"/byteorder"]; order != nil {
		const most = 16
		if text, err := order.Read(most); err != nil || string(text) != "little" {
			return errors.Join(err, fmt.Errorf("the byte order is %q, required little", text))
		}
	}
	text, err := within.Entries[f.folder+"/"+pickle].Read(file.MaxText)
	if err != nil {
		return err
	}
	u := &unpickler{in: bytes.NewReader(text), memo: map[uint32]any{}, persistent: f.persistent, call: f.call}
	f.Root, err = u.run()
	return err
}

// persistent gives the storage of an id: ("storage", type, key, device, count).
func (f *File) persistent(id any) (any, error) {
	parts, ok := id.([]any)
	if ok && len(parts) == 5 && parts[0] == "storage" {
		of, isGlobal := parts[1].(global)
		key, isText := parts[2].(string)
		count, isInt := parts[4].(int64)
		if d, isStorage := dtypes[of]; isGlobal && isStorage && isText && isInt && count >= 0 && count <= f.length {
			return &storage{f, d, key, int(count)}, nil
		}
	}
	return nil, errors.New("a persistent id is not that of a tensor's storage")
}

// call makes the data that a global stands for.
func (f *File) call(g global, args []any) (any, error) {
	switch {
	case g == orderedDict && len(args) == 0:
		return newDict(), nil
	case g == size && len(args) == 1:
		return args[0], nil
	case g == rebuildParameter && len(args) >= 1:
		return args[0], nil
	case g == rebuildTensor && len(args) >= 4:
		s, isStorage := args[0].(*storage)
		offset, isInt := args[1].(int64)
		shape, shapeErr := integers(args[2])
		strides, stridesErr := integers(args[3])
		if isStorage && isInt && errors.Join(shapeErr, stridesErr) == nil {
			return newTensor(s, int(offset), shape, strides)
		}
	}
	return nil, fmt.Errorf("%s has %d arguments that are not those of data", string(g), len(args))
}

func integers(v any) ([]int, error) {
	items, ok := v.([]any)
	ints := make([]int, len(items))
	for i, item := range items {
		n, isInt := item.(int64)
		ok = ok && isInt && n >= 0
		ints[i] = int(n)
	}
	if !ok {
		return nil, errors.New("not a tuple of integers of 0 or more")
	}
	return ints, nil
}

// newTensor makes sure that a tensor is within its storage.
func newTensor(s *storage, offset int, shape, strides []int) (*Tensor, error) {
	if _, err := dense.Bytes(s.dtype, shape); err != nil {
		return nil, err
	}
	inside := len(shape) == len(strides) && offset >= 0 && offset <= s.count
	last, empty := offset, false // last is where the last element is
	for i := 0; i < len(shape) && inside; i++ {
		empty = empty || shape[i] == 0
		if shape[i] > 1 && strides[i] > 0 {
			inside = shape[i]-1 <= (s.count-last)/strides[i]
			if inside {
				last += strides[i] * (shape[i] - 1)
			}
		}
	}
	if !inside || !empty && last >= s.count {
		return nil, fmt.Errorf("a tensor of the shape %v with the strides %v from element %d on is not within its storage of %d", shape, strides, offset, s.count)
	}
	return &Tensor{DType: s.dtype, Shape: shape, strides: strides, offset: offset, storage: s}, nil
}

// Bytes is how many bytes the tensor's elements take.
func (t *Tensor) Bytes() int {
	n := t.DType.Size()
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Same reports that two tensors are the same elements of one storage.
func (t *Tensor) Same(o *Tensor) bool {
	return t.storage.key == o.storage.key && t.DType == o.DType && t.offset == o.offset && fmt.Sprint(t.Shape, t.strides) == fmt.Sprint(o.Shape, o.strides)
}

// Read reads the elements in row-major order, little endian, without gaps.
func (t *Tensor) Read() ([]byte, error) {
	f, s := t.storage.file, t.storage
	name := f.folder + "/data/" + s.key
	e := f.within.Entries[name]
	if e == nil {
		return nil, fmt.Errorf("%s: the archive has no %s, in which a tensor is", f.name, name)
	}
	want := int64(s.count) * int64(s.dtype.Size())
	if e.Size != want {
		return nil, fmt.Errorf("%s: %s has %d bytes, required %d for %d elements of %s", f.name, name, e.Size, want, s.count, s.dtype)
	}
	most := file.MaxData()
	if n := t.Bytes(); int64(n) > most {
		return nil, fmt.Errorf("%s: a tensor in %s has %d bytes, and this machine's memory %d", f.name, name, n, most)
	}
	data, err := e.Read(most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	return t.gather(data), nil
}

// gather puts the tensor's elements of a storage side by side.
func (t *Tensor) gather(data []byte) []byte {
	size, n, contiguous := t.DType.Size(), 1, true
	for i := len(t.Shape) - 1; i >= 0; i-- {
		contiguous = contiguous && (t.Shape[i] == 1 || t.strides[i] == n)
		n *= t.Shape[i]
	}
	if contiguous || n == 0 {
		return data[t.offset*size:][: n*size : n*size]
	}
	out := make([]byte, 0, n*size)
	index := make([]int, len(t.Shape))
	for range n {
		at := t.offset
		for d, i := range index {
			at += i * t.strides[d]
		}
		out = append(out, data[at*size:][:size]...)
		for d := len(index) - 1; d >= 0; d-- {
			if index[d]++; index[d] < t.Shape[d] {
				break
			}
			index[d] = 0
		}
	}
	return out
}
