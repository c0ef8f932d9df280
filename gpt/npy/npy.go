// Package npy reads and writes single arrays in NumPy's .npy format, versions
// 1.0 and 2.0, for the element types that the format and the language share; and reads the .npz files that hold several.
package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"tilec/gpt/internal/dense"
	"tilec/jit/file"
	"tilec/lang"
)

const (
	magic     = "\x93NUMPY"
	alignment = 64 // bytes; NumPy makes the data start at a multiple of it
)

// Array is one dense array.
type Array struct {
	DType lang.DType
	// Shape has one entry a dimension, each 0 or more; a scalar has none.
	Shape []int
	// Data is the elements in row-major order, little endian, without gaps.
	Data []byte
}

// Read reads the file at path.
func Read(path string) (Array, error) {
	data, err := file.Read(path, file.MaxData())
	if err != nil {
		return Array{}, err
	}
	return Parse(path, data)
}

// Parse reads a file that is in memory already; the array shares data, unless that is in Fortran order. The
// name stands for the file in errors.
func Parse(name string, data []byte) (Array, error) {
	a, err := parse(data)
	if err != nil {
		return Array{}, fmt.Errorf("%s: %w", name, err)
	}
	return a, nil
}

func parse(data []byte) (Array, error) {
	text, rest, err := splitHeader(data)
	if err != nil {
		return Array{}, err
	}
	h, err := parseHeader(text)
	if err != nil {
		return Array{}, fmt.Errorf("header: %w", err)
	}
	dtype, ok := lang.DTypeFromNpy(h.descr)
	if !ok {
		return Array{}, fmt.Errorf("descr %q, required one of %s", h.descr, strings.Join(descriptors(), " "))
	}
	size, err := dense.Bytes(dtype, h.shape)
	if err != nil {
		return Array{}, err
	}
	if len(rest) != size {
		return Array{}, fmt.Errorf("%d bytes of data, required %d for shape %v of %s", len(rest), size, h.shape, dtype)
	}
	if h.fortranOrder {
		rest = rowMajor(rest, h.shape, dtype.Size())
	}
	return Array{DType: dtype, Shape: h.shape, Data: rest}, nil
}

// splitHeader gives the header's text and the data after it.
func splitHeader(data []byte) (header string, rest []byte, err error) {
	const versionEnd = len(magic) + 2
	if len(data) < versionEnd || string(data[:len(magic)]) != magic {
		return "", nil, fmt.Errorf("not an .npy file: starts with %q, required %q and a version", data[:min(len(data), len(magic))], magic)
	}
	major, minor := data[len(magic)], data[len(magic)+1]
	rest = data[versionEnd:]
	lengthSize := map[byte]int{1: 2, 2: 4}[major]
	if lengthSize == 0 || minor != 0 {
		return "", nil, fmt.Errorf("version %d.%d, required 1.0 or 2.0", major, minor)
	}
	if len(rest) < lengthSize {
		return "", nil, fmt.Errorf("file is cut short: %d bytes for the header's length, required %d", len(rest), lengthSize)
	}
	length := uint64(binary.LittleEndian.Uint16(rest))
	if lengthSize == 4 {
		length = uint64(binary.LittleEndian.Uint32(rest))
	}
	rest = rest[lengthSize:]
	if length > uint64(len(rest)) {
		return "", nil, fmt.Errorf("file is cut short: header of %d bytes, but %d bytes follow its length", length, len(rest))
	}
	return string(rest[:length]), rest[length:], nil
}

func descriptors() []string {
	var all []string
	for _, d := range lang.DTypes() {
		if d.Npy() != "" {
			all = append(all, d.Npy())
		}
	}
	return all
}

// Write writes a to a file at path, which appears whole or not at all. A type
// that .npy does not have (bf16, f8) is an error.
func Write(path string, a Array) error {
	header, err := encodeHeader(a)
	if err == nil {
		err = file.Write(path, func(w io.Writer) error { return emit(w, header, a.Data) })
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Encode writes a to w in the format; see Write.
func Encode(w io.Writer, a Array) error {
	header, err := encodeHeader(a)
	if err != nil {
		return err
	}
	return emit(w, header, a.Data)
}

func emit(w io.Writer, header, data []byte) error {
	if _, err := w.Write(header); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// encodeHeader checks a and gives all that precedes its data.
func encodeHeader(a Array) ([]byte, error) {
	size, err := dense.Bytes(a.DType, a.Shape)
	switch {
	case err != nil:
		return nil, err
	case a.DType.Npy() == "":
		return nil, fmt.Errorf(".npy has no %s: write a .safetensors file instead", a.DType)
	case size != len(a.Data):
		return nil, fmt.Errorf("%d bytes of data, required %d for shape %v of %s", len(a.Data), size, a.Shape, a.DType)
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", a.DType.Npy(), tuple(a.Shape))
	version, lengthSize := byte(1), 2
	if len(dict)+alignment > 1<<16-1 { // only thousands of dimensions make it so long
		version, lengthSize = 2, 4
	}
	prefix := len(magic) + 2 + lengthSize
	pad := alignment - (prefix+len(dict)+1)%alignment
	text := dict + strings.Repeat(" ", pad%alignment) + "\n"
	header := append([]byte(magic), version, 0)
	if lengthSize == 2 {
		header = binary.LittleEndian.AppendUint16(header, uint16(len(text)))
	} else {
		header = binary.LittleEndian.AppendUint32(header, uint32(len(text)))
	}
	return append(header, text...), nil
}

// tuple is a shape as Python writes it: (), (3,), (2, 3).
func tuple(shape []int) string {
	if len(shape) == 1 {
		return fmt.Sprintf("(%d,)", shape[0])
	}
	text := strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
	return "(" + text[1:len(text)-1] + ")"
}
