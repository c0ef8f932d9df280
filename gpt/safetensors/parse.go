// Package safetensors reads and writes tensors in the safetensors format: an
// 8-byte little-endian header length, a JSON header of names, element types,
// shapes and offsets, and the data. A reader trusts nothing: what Open and
// Parse return has been checked whole, so that using it cannot go out of bounds.
package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"

	"tilec/gpt/internal/dense"
	"tilec/gpt/internal/strictjson"
	"tilec/lang"
)

const (
	lengthSize  = 8           // bytes of the header's length
	maxHeader   = 100_000_000 // bytes; the limit of the reference reader
	metadataKey = "__metadata__"
)

// entry is a tensor as the header tells it, before anything is checked against the data.
type entry struct {
	name       string
	dtype      lang.DType
	shape      []int
	begin, end int // offsets into the data section
	part       *part
}

// parse checks a whole file of size bytes and gives it without its tensors' data. Errors do not name the file.
func parse(r io.ReaderAt, size int64) (*File, error) {
	if size < lengthSize {
		return nil, fmt.Errorf("not a safetensors file: %d bytes, required at least %d for the header's length", size, lengthSize)
	}
	var prefix [lengthSize]byte
	if err := readAt(r, prefix[:], 0); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint64(prefix[:])
	if length > maxHeader {
		return nil, fmt.Errorf("not a safetensors file: header of %d bytes, required at most %d", length, maxHeader)
	}
	rest := size - lengthSize
	if length > uint64(rest) {
		return nil, fmt.Errorf("file is cut short: header of %d bytes, but %d bytes follow its length", length, rest)
	}
	header := make([]byte, length)
	if err := readAt(r, header, lengthSize); err != nil {
		return nil, err
	}
	entries, metadata, err := parseHeader(header)
	if err != nil {
		return nil, err
	}
	sort.Slice(entries, func(i, j int) bool { // a generic sort of another type is 18 KB more of the binary
		// An empty tensor shares its offset with the one that starts there and
		// goes before it; names make the order one of a kind.
		a, b := entries[i], entries[j]
		return cmp.Or(a.begin-b.begin, a.end-b.end, strings.Compare(a.name, b.name)) < 0
	})
	if err := checkCoverage(entries, int(rest)-int(length)); err != nil {
		return nil, err
	}
	p := &part{section: lengthSize + int64(length)}
	f := &File{metadata: metadata, entries: entries, byName: make(map[string]int, len(entries)), parts: []*part{p}}
	for i := range entries {
		entries[i].part = p
		f.byName[entries[i].name] = i
	}
	return f, nil
}

// readAt fills data from an offset on.
func readAt(r io.ReaderAt, data []byte, offset int64) error {
	n, err := r.ReadAt(data, offset)
	switch {
	case n == len(data):
		return nil
	case errors.Is(err, io.EOF):
		return fmt.Errorf("file is cut short: %d bytes at %d, required %d", n, offset, len(data))
	}
	return err
}

// checkCoverage makes sure that entries, sorted by offset, cover a data section
// of size bytes without overlap, hole or rest.
func checkCoverage(entries []entry, size int) error {
	covered, last := 0, "the data section's start"
	for _, e := range entries {
		switch {
		case e.end > size:
			return fmt.Errorf("tensor %q: data_offsets [%d, %d] end past the data section, which has %d bytes: file is cut short", e.name, e.begin, e.end, size)
		case e.begin < covered:
			return fmt.Errorf("tensor %q: data_offsets [%d, %d] overlap %s, which ends at %d", e.name, e.begin, e.end, last, covered)
		case e.begin > covered:
			return fmt.Errorf("tensor %q: data_offsets [%d, %d] leave a hole of %d bytes after %s, which ends at %d", e.name, e.begin, e.end, e.begin-covered, last, covered)
		}
		covered, last = e.end, fmt.Sprintf("tensor %q", e.name)
	}
	if covered < size {
		return fmt.Errorf("data section has %d bytes, required %d, where %s ends: %d bytes belong to no tensor", size, covered, last, size-covered)
	}
	return nil
}

// parseHeader reads the JSON header and checks each tensor by itself.
func parseHeader(header []byte) (entries []entry, metadata map[string]string, err error) {
	if !bytes.HasPrefix(header, []byte("{")) {
		return nil, nil, fmt.Errorf("not a safetensors file: header starts with %.8q, required '{'", header)
	}
	err = strictjson.Document(header, func(dec *json.Decoder, name string) error {
		if name == metadataKey {
			var err error
			if metadata, err = parseMetadata(dec); err != nil {
				return fmt.Errorf("%s: %w", metadataKey, err)
			}
			return nil
		}
		e, err := parseEntry(dec, name)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("header: %w", err)
	}
	return entries, metadata, nil
}

func parseMetadata(dec *json.Decoder) (map[string]string, error) {
	metadata := map[string]string{}
	err := strictjson.Object(dec, func(key string) error {
		token, err := dec.Token()
		if err != nil {
			return strictjson.Explain(dec, err)
		}
		text, ok := token.(string)
		if !ok {
			return fmt.Errorf("value of %q is %v, required a string", key, token)
		}
		metadata[key] = text
		return nil
	})
	return metadata, err
}

func parseEntry(dec *json.Decoder, name string) (entry, error) {
	e := entry{name: name}
	var offsets []int
	var hasShape, hasOffsets bool
	err := strictjson.Object(dec, func(key string) (err error) {
		switch key {
		case "dtype":
			e.dtype, err = parseDType(dec)
		case "shape":
			hasShape = true
			e.shape, err = parseInts(dec)
		case "data_offsets":
			hasOffsets = true
			offsets, err = parseInts(dec)
		default: // left to later versions of the format
			err = strictjson.Explain(dec, dec.Decode(new(json.RawMessage)))
			key = strconv.Quote(key)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
	if err != nil {
		return e, err
	}
	var missing []string
	if e.dtype == lang.Invalid {
		missing = append(missing, "dtype")
	}
	if !hasShape {
		missing = append(missing, "shape")
	}
	if !hasOffsets {
		missing = append(missing, "data_offsets")
	}
	if len(missing) > 0 {
		return e, fmt.Errorf("%s missing, required dtype, shape and data_offsets", strings.Join(missing, ", "))
	}
	if len(offsets) != 2 {
		return e, fmt.Errorf("data_offsets has %d values, required 2: begin and end", len(offsets))
	}
	e.begin, e.end = offsets[0], offsets[1]
	if e.begin > e.end {
		return e, fmt.Errorf("data_offsets [%d, %d] end before they begin", e.begin, e.end)
	}
	size, err := dense.Bytes(e.dtype, e.shape)
	if err != nil {
		return e, err
	}
	if e.end-e.begin != size {
		return e, fmt.Errorf("data_offsets [%d, %d] hold %d bytes, required %d for shape %s of %s", e.begin, e.end, e.end-e.begin, size, bracket(e.shape), e.dtype)
	}
	return e, nil
}

func parseDType(dec *json.Decoder) (lang.DType, error) {
	token, err := dec.Token()
	if err != nil {
		return lang.Invalid, strictjson.Explain(dec, err)
	}
	name, ok := token.(string)
	if !ok {
		return lang.Invalid, fmt.Errorf("%v, required a string", token)
	}
	dtype, ok := lang.DTypeFromSafetensors(name)
	if !ok {
		return lang.Invalid, fmt.Errorf("%q is unknown, required one of %s", name, strings.Join(dtypeNames(), " "))
	}
	return dtype, nil
}

func dtypeNames() []string {
	var names []string
	for _, d := range lang.DTypes() {
		if name := d.Safetensors(); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// parseInts reads an array of integers that are 0 or more and fit an int.
func parseInts(dec *json.Decoder) ([]int, error) {
	ints := []int{}
	err := strictjson.Array(dec, func() error {
		token, err := dec.Token()
		if err != nil {
			return strictjson.Explain(dec, err)
		}
		number, ok := token.(json.Number)
		if !ok {
			return fmt.Errorf("%v, required an integer of 0 or more", token)
		}
		n, err := strconv.Atoi(number.String())
		switch {
		case errors.Is(err, strconv.ErrRange):
			return fmt.Errorf("%s does not fit %d bits", number, strconv.IntSize)
		case err != nil || n < 0:
			return fmt.Errorf("%s, required an integer of 0 or more", number)
		}
		ints = append(ints, n)
		return nil
	})
	return ints, err
}
