package safetensors

import "encoding/binary"

// transposedBlock is how many rows and columns are turned round at once: so many lines of both matrices stay in the nearest cache.
const transposedBlock = 32

// Transposed is a matrix of so many rows and columns, whose elements have so many bytes, 1, 2, 4 or 8, with its rows as columns.
func Transposed(data []byte, rows, columns, size int) []byte {
	out := make([]byte, len(data))
	for i0 := 0; i0 < rows; i0 += transposedBlock {
		for j0 := 0; j0 < columns; j0 += transposedBlock {
			i1, j1 := min(i0+transposedBlock, rows), min(j0+transposedBlock, columns)
			if size == 2 && (i1-i0)%4 == 0 && (j1-j0)%4 == 0 {
				transposePairs(out, data, rows, columns, i0, i1, j0, j1)
				continue
			}
			for i := i0; i < i1; i++ {
				for j := j0; j < j1; j++ {
					copy(out[(j*rows+i)*size:][:size], data[(i*columns+j)*size:])
				}
			}
		}
	}
	return out
}

// transposePairs turns a block of elements of 2 bytes round, four rows and four columns at a time: so many are in a word.
func transposePairs(out, data []byte, rows, columns, i0, i1, j0, j1 int) {
	const (
		first = 0x0000_ffff_0000_ffff // and third element of a word
		lower = 0x0000_0000_ffff_ffff // half of a word
	)
	for i := i0; i < i1; i += 4 {
		for j := j0; j < j1; j += 4 {
			word := func(n int) uint64 { return binary.LittleEndian.Uint64(data[2*((i+n)*columns+j):]) }
			a, b, c, d := word(0), word(1), word(2), word(3)
			// Of two rows, then of two pairs of rows, each gets what belongs to the other.
			a, b = a&first|b&first<<16, a>>16&first|b&^uint64(first)
			c, d = c&first|d&first<<16, c>>16&first|d&^uint64(first)
			a, c = a&lower|c<<32, a>>32|c&^uint64(lower)
			b, d = b&lower|d<<32, b>>32|d&^uint64(lower)
			for n, x := range [...]uint64{a, b, c, d} {
				binary.LittleEndian.PutUint64(out[2*((j+n)*rows+i):], x)
			}
		}
	}
}
