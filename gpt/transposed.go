package gpt

import (
	"encoding/binary"
	"slices"

	"tilec/gpt/safetensors"
	"tilec/lang"
)

// This file turns matrices round whose fields are @transposed. Products of few rows on a GPU read weights along the depth, [out, in]: a block then reads
// whole lines of memory, however few columns it has, and checkpoints of GPT-2 have them as [in, out].

// transposedBlock is how many rows and columns are turned round at once: so many lines of both matrices stay in the nearest cache.
const transposedBlock = 32

// transposed is a matrix of elements of so many bytes, 1, 2, 4 or 8, with its rows as columns.
func transposed(data []byte, rows, columns, size int) []byte {
	out := make([]byte, len(data))
	for i0 := 0; i0 < rows; i0 += transposedBlock {
		for j0 := 0; j0 < columns; j0 += transposedBlock {
			for j := j0; j < min(j0+transposedBlock, columns); j++ {
				for i := i0; i < min(i0+transposedBlock, rows); i++ {
					from, to := data[(i*columns+j)*size:], out[(j*rows+i)*size:]
					switch size {
					case 1:
						to[0] = from[0]
					case 2:
						binary.LittleEndian.PutUint16(to, binary.LittleEndian.Uint16(from))
					case 4:
						binary.LittleEndian.PutUint32(to, binary.LittleEndian.Uint32(from))
					case 8:
						binary.LittleEndian.PutUint64(to, binary.LittleEndian.Uint64(from))
					}
				}
			}
		}
	}
	return out
}

// widenedTransposed is a matrix with its rows as columns, in f32. Elements that are no numbers are an error, which names their place in t.
func widenedTransposed(t safetensors.Tensor) (safetensors.Tensor, error) {
	wide, err := convert(t, lang.F32)
	if err != nil {
		return t, err
	}
	t.DType, t.Data = lang.F32, transposed(wide, t.Shape[0], t.Shape[1], 4)
	t.Shape = slices.Clone(t.Shape)
	slices.Reverse(t.Shape)
	return t, nil
}
