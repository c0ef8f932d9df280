package block

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/lang"
)

// A sort takes its words through registers as often as rounds of so many bits need it.
func TestSortPasses(t *testing.T) {
	for _, c := range []struct {
		key          lang.DType
		rows, length int64
		threads      int
		bits         int
		passes       int64
	}{
		{lang.F32, 1, 4096, 128, 4, 21},
		{lang.F32, 2, 1024, 128, 4, 15},
		{lang.F32, 32, 128, 128, 4, 7},
		{lang.F32, 1, 1024, 256, 3, 20}, // 64 pieces of 16 words would leave most threads without any
		{lang.F64, 1, 4096, 128, 3, 1 + 3*2 + 3*3 + 3*4},
		{lang.F32, 1, 4, 128, 2, 1},
	} {
		bits := SortBits(c.key, c.rows, c.length, c.threads)
		assert.Equal(t, c.bits, bits, "%v", c)
		assert.Equal(t, c.passes, SortPasses(int64(bits), c.length), "%v", c)
	}
}
