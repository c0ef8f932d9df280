package gpt

import (
	"slices"

	"tilec/gpt/safetensors"
	"tilec/lang"
)

// Matrices are turned round whose fields are @transposed: products of few rows on a GPU read weights along the depth, [out, in]: a block then reads
// whole lines of memory, however few columns it has, and checkpoints of GPT-2 have them as [in, out].

// widenedTransposed is a matrix with its rows as columns, in f32. Elements that are no numbers are an error, which names their place in t.
func widenedTransposed(t safetensors.Tensor) (safetensors.Tensor, error) {
	wide, err := convert(t, lang.F32)
	if err != nil {
		return t, err
	}
	t.DType, t.Data = lang.F32, safetensors.Transposed(wide, t.Shape[0], t.Shape[1], 4)
	t.Shape = slices.Clone(t.Shape)
	slices.Reverse(t.Shape)
	return t, nil
}
