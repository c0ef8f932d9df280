package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// A Key names an artifact by everything that it was made from.
type Key [sha256.Size]byte

// String is the key in hexadecimal.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// A KeyBuilder collects the parts of a key. Parts are told apart by their order,
// their labels and their lengths, so no two lists of parts run together.
//
//	key := cache.NewKey("cubin").Add("target", "sm_90a").AddBytes("ptx", ptx).Sum()
type KeyBuilder struct{ h hash.Hash }

// NewKey starts the key of a kind of artifact. The build of the compiler is part of every key.
func NewKey(kind string) *KeyBuilder { return newKey(Build(), kind) }

func newKey(build, kind string) *KeyBuilder {
	return (&KeyBuilder{sha256.New()}).Add("build", build).Add("kind", kind)
}

// Add adds a part.
func (b *KeyBuilder) Add(label, value string) *KeyBuilder {
	return b.AddBytes(label, []byte(value))
}

// AddBytes adds a part.
func (b *KeyBuilder) AddBytes(label string, value []byte) *KeyBuilder {
	b.field([]byte(label))
	b.field(value)
	return b
}

// AddInt adds a number.
func (b *KeyBuilder) AddInt(label string, value int64) *KeyBuilder {
	return b.AddBytes(label, binary.LittleEndian.AppendUint64(nil, uint64(value)))
}

func (b *KeyBuilder) field(p []byte) {
	b.h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(p))))
	b.h.Write(p)
}

// Sum is the key of the parts so far.
func (b *KeyBuilder) Sum() Key { return Key(b.h.Sum(nil)) }
