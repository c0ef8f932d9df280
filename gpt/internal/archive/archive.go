// Package archive reads zip archives whose entries are stored as they are, as torch.save and numpy.savez write them; it must not know what the
// entries are. It reads no compressed ones: package archive/zip, with the decompression that comes with it, would add 170 KB to a command
// that has to stay small.
package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// Archive is an opened zip archive.
type Archive struct {
	// Entries are its files by name.
	Entries map[string]*Entry

	r      io.ReaderAt
	length int64
}

// Entry is a file of an archive.
type Entry struct {
	// Size is in bytes.
	Size int64

	archive *Archive
	name    string
	method  uint16
	sum     uint32
	// header is where the entry begins in the archive.
	header int64
}

// The records of a zip archive by the numbers that they begin with, and how long they are without their texts.
const (
	endRecord, endSize             = 0x06054b50, 22
	wideEndRecord, wideEndSize     = 0x06064b50, 56
	locatorRecord, locatorSize     = 0x07064b50, 20
	directoryRecord, directorySize = 0x02014b50, 46
	localRecord, localSize         = 0x04034b50, 30
	// What a field of 16 or 32 bits has whose value is in a wider one elsewhere.
	elsewhere16, elsewhere32 = 0xffff, 0xffffffff
	// The number of the extra field that has the wider ones.
	wideField = 1
	// stored is the method of entries that are not compressed.
	stored = 0
	// maxDirectory bounds the list of entries, of which a state dict has one for each tensor.
	maxDirectory = 64 << 20
)

// ErrCompressed says that an entry is compressed.
var ErrCompressed = errors.New("is compressed")

var (
	errNoArchive = errors.New("it is no zip archive, or is cut short")
	errDirectory = errors.New("the list of its entries is damaged")
)

// word, half and wide read numbers of 4, 2 and 8 bytes at an offset, which is within the data.
func word(data []byte, at int) uint32 { return binary.LittleEndian.Uint32(data[at:]) }
func half(data []byte, at int) int    { return int(binary.LittleEndian.Uint16(data[at:])) }
func wide(data []byte, at int) int64  { return int64(binary.LittleEndian.Uint64(data[at:])) }

// Open reads the list of the entries of an archive of so many bytes. What is no zip archive, or a damaged one, is an error.
func Open(r io.ReaderAt, length int64) (*Archive, error) {
	a := &Archive{r: r, length: length, Entries: map[string]*Entry{}}
	at, size, err := a.directory()
	if err != nil {
		return nil, err
	}
	list, err := a.bytes(at, size)
	if err != nil {
		return nil, errNoArchive
	}
	for len(list) > 0 {
		if list, err = a.add(list); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// bytes reads n bytes from an offset on.
func (a *Archive) bytes(at, n int64) ([]byte, error) {
	if at < 0 || n < 0 || at > a.length || n > a.length-at {
		return nil, io.ErrUnexpectedEOF
	}
	data := make([]byte, n)
	_, err := io.ReadFull(io.NewSectionReader(a.r, at, n), data)
	return data, err
}

// directory finds the list of entries, by the record at the archive's end.
func (a *Archive) directory() (at, size int64, err error) {
	tail := min(a.length, endSize+elsewhere16) // the record, and the longest comment behind it
	data, err := a.bytes(a.length-tail, tail)
	if err != nil {
		return 0, 0, err
	}
	i := bytes.LastIndex(data, binary.LittleEndian.AppendUint32(nil, endRecord))
	if i < 0 || len(data)-i < endSize {
		return 0, 0, errNoArchive
	}
	end := data[i:]
	size, at = int64(word(end, 12)), int64(word(end, 16))
	if size == elsewhere32 || at == elsewhere32 || half(end, 10) == elsewhere16 {
		locator, err := a.bytes(a.length-tail+int64(i)-locatorSize, locatorSize)
		if err != nil || word(locator, 0) != locatorRecord {
			return 0, 0, errNoArchive
		}
		record, err := a.bytes(wide(locator, 8), wideEndSize)
		if err != nil || word(record, 0) != wideEndRecord {
			return 0, 0, errNoArchive
		}
		size, at = wide(record, 40), wide(record, 48)
	}
	if size > maxDirectory {
		return 0, 0, fmt.Errorf("the list of its entries has %d bytes, the most that are read are %d", size, maxDirectory)
	}
	return at, size, nil
}

// add takes the first entry of a list and gives the rest.
func (a *Archive) add(list []byte) (rest []byte, err error) {
	if len(list) < directorySize || word(list, 0) != directoryRecord {
		return nil, errDirectory
	}
	name, extra, comment := half(list, 28), half(list, 30), half(list, 32)
	if directorySize+name+extra+comment > len(list) {
		return nil, errDirectory
	}
	e := &Entry{archive: a, name: string(list[directorySize:][:name]), method: uint16(half(list, 10)), sum: word(list, 16), header: int64(word(list, 42)), Size: int64(word(list, 24))}
	packed := int64(word(list, 20))
	if !e.widen(list[directorySize+name:][:extra], &packed) {
		return nil, errDirectory
	}
	if a.Entries[e.name] != nil {
		return nil, fmt.Errorf("the archive has %s twice", e.name)
	}
	const encrypted = 1
	if half(list, 8)&encrypted != 0 {
		return nil, fmt.Errorf("the archive's %s is encrypted", e.name)
	}
	if !strings.HasSuffix(e.name, "/") && e.method == stored && packed != e.Size {
		return nil, errDirectory
	}
	a.Entries[e.name] = e
	return list[directorySize+name+extra+comment:], nil
}

// widen takes the sizes and the place of an entry of 4 GB and more from its extra fields.
func (e *Entry) widen(extra []byte, packed *int64) bool {
	for len(extra) >= 4 {
		kind, n := half(extra, 0), half(extra, 2)
		if extra = extra[4:]; n > len(extra) {
			return false
		}
		field := extra[:n]
		for _, value := range []*int64{&e.Size, packed, &e.header} {
			if kind == wideField && *value == elsewhere32 {
				if len(field) < 8 {
					return false
				}
				*value, field = wide(field, 0), field[8:]
			}
		}
		extra = extra[n:]
	}
	return true
}

// Read reads an entry of at most so many bytes, and compares the sum of its bytes. ErrCompressed is wrapped by the error of one that is not stored as it is.
func (e *Entry) Read(most int64) ([]byte, error) {
	if e.method != stored {
		return nil, fmt.Errorf("%s %w", e.name, ErrCompressed)
	}
	if e.Size > most {
		return nil, fmt.Errorf("%s has %d bytes, the most that are read are %d", e.name, e.Size, most)
	}
	local, err := e.archive.bytes(e.header, localSize)
	if err != nil || word(local, 0) != localRecord {
		return nil, fmt.Errorf("%s is not where the archive's list has it", e.name)
	}
	data, err := e.archive.bytes(e.header+localSize+int64(half(local, 26))+int64(half(local, 28)), e.Size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.name, err)
	}
	if sum := crc32.ChecksumIEEE(data); sum != e.sum {
		return nil, fmt.Errorf("%s is damaged: the sum of its bytes is %08x, required %08x", e.name, sum, e.sum)
	}
	return data, nil
}
