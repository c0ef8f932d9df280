package eval

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The known answers that the authors of Philox publish (Random123, kat_vectors, philox4x32 10).
func TestPhiloxKnownAnswers(t *testing.T) {
	const ones = 0xffffffff
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{ones, ones, ones, ones}, [2]uint32{ones, ones}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0}, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		assert.Equal(t, c.want, Philox(c.counter, c.key))
	}
}

// A row of any alignment has the numbers of its elements.
func TestRandomRow(t *testing.T) {
	for first := range uint64(3) {
		for n := range 6 {
			d, key, lo, hi := make([]uint64, n), make([]uint64, n), make([]uint64, n), make([]uint64, n)
			for i := range n {
				key[i], lo[i], hi[i] = 7, 3<<32|first+uint64(i), 9
				if i == 4 {
					key[i] = 8
				}
			}
			RandomRow(d, key, lo, hi)
			for i := range n {
				assert.Equal(t, RandomBits(key[i], lo[i], hi[i]), d[i])
			}
		}
	}
	assert.Equal(t, uint64(0xe169c58d6627e8d5), RandomBits(0, 0, 0))
	assert.Equal(t, uint64(0x9b00dbd8bc57ac4c), RandomBits(0, 1, 0))
}
