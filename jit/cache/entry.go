package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// An entry is
//
//	magic     8 bytes, with the version of this format
//	length    8 bytes, little endian, of the artifact
//	checksum  32 bytes, SHA-256 of the key and the artifact
//	artifact
//
// The key is part of the checksum so that a file under a wrong name is noticed.
const (
	magic      = "tilec\x00\x00\x01"
	headerSize = len(magic) + 8 + sha256.Size
)

func checksum(key Key, data []byte) []byte {
	h := sha256.New()
	h.Write(key[:])
	h.Write(data)
	return h.Sum(nil)
}

func header(key Key, data []byte) []byte {
	b := make([]byte, 0, headerSize)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(data)))
	return append(b, checksum(key, data)...)
}

// decode takes the artifact out of an entry, or says how the entry is damaged.
func decode(key Key, file []byte) ([]byte, error) {
	if len(file) < headerSize {
		return nil, fmt.Errorf("it has %d bytes, its header alone takes %d", len(file), headerSize)
	}
	if string(file[:len(magic)]) != magic {
		return nil, errors.New("it does not start as a cache entry of this version")
	}
	data := file[headerSize:]
	length := binary.LittleEndian.Uint64(file[len(magic):])
	if length != uint64(len(data)) {
		return nil, fmt.Errorf("it holds %d bytes of %d", len(data), length)
	}
	if !bytes.Equal(file[len(magic)+8:headerSize], checksum(key, data)) {
		return nil, errors.New("its checksum does not match its content")
	}
	return data, nil
}
