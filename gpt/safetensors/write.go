package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"tilec/gpt/internal/dense"
	"tilec/jit/file"
)

// Write writes tensors to a file at path, which appears whole or not at all.
// The order of the tensors given does not matter: the same tensors and
// metadata give the same bytes. Metadata may be nil.
func Write(path string, tensors []Tensor, metadata map[string]string) error {
	if err := checkData(tensors); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return WriteFrom(path, tensors, metadata, func(t Tensor) ([]byte, error) { return t.Data, nil })
}

// WriteFrom is Write of tensors without their data, which read gives one after the other: a file may be larger than the memory.
func WriteFrom(path string, tensors []Tensor, metadata map[string]string, read func(Tensor) ([]byte, error)) error {
	header, ordered, err := layOut(tensors, metadata)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	err = file.Write(path, func(w io.Writer) error { return emit(w, header, ordered, read) })
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Encode writes tensors to w in the format; see Write.
func Encode(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	if err := checkData(tensors); err != nil {
		return err
	}
	header, ordered, err := layOut(tensors, metadata)
	if err != nil {
		return err
	}
	return emit(w, header, ordered, func(t Tensor) ([]byte, error) { return t.Data, nil })
}

func emit(w io.Writer, header []byte, tensors []Tensor, read func(Tensor) ([]byte, error)) error {
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, t := range tensors {
		data, err := read(t)
		if err == nil {
			t.Data = data
			err = checkData([]Tensor{t})
		}
		if err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
	}
	return nil
}

// checkData makes sure that tensors have as much data as their shapes and types say.
func checkData(tensors []Tensor) error {
	for _, t := range tensors {
		size, err := dense.Bytes(t.DType, t.Shape)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		if size != len(t.Data) {
			return fmt.Errorf("tensor %q: %d bytes of data, required %d for shape %s of %s", t.Name, len(t.Data), size, bracket(t.Shape), t.DType)
		}
	}
	return nil
}

// layOut checks the tensors, puts them in the order of the data section and
// gives the header with its length. Wide elements go first and the header's
// size is a multiple of 8, so that every tensor is aligned to its element.
func layOut(tensors []Tensor, metadata map[string]string) ([]byte, []Tensor, error) {
	ordered := slices.Clone(tensors)
	sort.Slice(ordered, func(i, j int) bool { // a generic sort of another type is 18 KB more of the binary
		a, b := ordered[i], ordered[j]
		// Types of one width stay together, in the order of the language.
		return cmp.Or(b.DType.Bits()-a.DType.Bits(), int(b.DType)-int(a.DType), strings.Compare(a.Name, b.Name)) < 0
	})
	if err := check(ordered, metadata); err != nil {
		return nil, nil, err
	}
	buf := bytes.NewBuffer(make([]byte, lengthSize))
	buf.WriteByte('{')
	if metadata != nil {
		fmt.Fprintf(buf, "%s:%s", quote(metadataKey), quote(metadata))
	}
	begin := 0
	for _, t := range ordered {
		if buf.Len() > lengthSize+1 {
			buf.WriteByte(',')
		}
		size, _ := dense.Bytes(t.DType, t.Shape) // which check has found right
		end := begin + size
		fmt.Fprintf(buf, `%s:{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}`,
			quote(t.Name), t.DType.Safetensors(), strings.ReplaceAll(fmt.Sprint(t.Shape), " ", ","), begin, end)
		begin = end
	}
	buf.WriteByte('}')
	for buf.Len()%8 != 0 {
		buf.WriteByte(' ')
	}
	header := buf.Bytes()
	if n := len(header) - lengthSize; n > maxHeader {
		return nil, nil, fmt.Errorf("header of %d bytes, required at most %d: names and metadata are too long", n, maxHeader)
	}
	binary.LittleEndian.PutUint64(header, uint64(len(header)-lengthSize))
	return header, ordered, nil
}

// quote is the JSON text of a string or of a map of strings, sorted by key.
func quote(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil { // no string and no map of strings can fail
		panic(err)
	}
	return text
}

// check refuses what a reader would refuse.
func check(tensors []Tensor, metadata map[string]string) error {
	for key, value := range metadata {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return fmt.Errorf("%s: %q: %q is not valid UTF-8", metadataKey, key, value)
		}
	}
	names := make(map[string]bool, len(tensors))
	for _, t := range tensors {
		_, err := dense.Bytes(t.DType, t.Shape)
		switch {
		case err != nil:
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		case t.Name == metadataKey:
			return fmt.Errorf("tensor %q: the name is reserved for metadata", t.Name)
		case !utf8.ValidString(t.Name):
			return fmt.Errorf("tensor %q: the name is not valid UTF-8", t.Name)
		case names[t.Name]:
			return fmt.Errorf("tensor %q: the name occurs twice", t.Name)
		}
		names[t.Name] = true
	}
	return nil
}
