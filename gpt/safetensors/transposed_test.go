package safetensors_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/gpt/safetensors"
)

// Each element of a matrix is found again where row and column are exchanged, of all sizes of elements, and of blocks that are cut.
func TestTransposed(t *testing.T) {
	for _, size := range []int{1, 2, 4, 8} {
		for _, shape := range [][2]int{{1, 1}, {4, 8}, {5, 7}, {32, 32}, {33, 64}, {68, 100}, {96, 36}} {
			rows, columns := shape[0], shape[1]
			data := make([]byte, rows*columns*size)
			for i := range data {
				data[i] = byte(i*31 + i/256*17)
			}
			want := make([]byte, len(data))
			for i := range rows {
				for j := range columns {
					copy(want[(j*rows+i)*size:][:size], data[(i*columns+j)*size:][:size])
				}
			}
			assert.Equal(t, want, safetensors.Transposed(data, rows, columns, size), fmt.Sprintf("%d x %d of %d bytes", rows, columns, size))
		}
	}
}

func BenchmarkTransposed(b *testing.B) {
	const rows, columns = 3072, 768
	data := make([]byte, 2*rows*columns)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		safetensors.Transposed(data, rows, columns, 2)
	}
}
