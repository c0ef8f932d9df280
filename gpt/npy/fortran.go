package npy

// rowMajor gives elements that lie in Fortran order, the first index the fastest, in row-major order. The elements have size bytes,
// and data holds exactly those of the shape.
func rowMajor(data []byte, shape []int, size int) []byte {
	if len(data) == 0 || len(shape) < 2 {
		return data
	}
	// strides are the distances of neighbours in data, a dimension each, in bytes.
	strides := make([]int, len(shape))
	for i, step := 0, size; i < len(shape); i++ {
		strides[i] = step
		step *= shape[i]
	}
	out := make([]byte, 0, len(data))
	last := len(shape) - 1
	index := make([]int, last) // of a row: all dimensions but the last
	for from := 0; ; {
		for j, at := 0, from; j < shape[last]; j, at = j+1, at+strides[last] {
			out = append(out, data[at:at+size]...)
		}
		d := last - 1
		for ; d >= 0 && index[d] == shape[d]-1; d-- {
			from -= index[d] * strides[d]
			index[d] = 0
		}
		if d < 0 {
			return out
		}
		index[d]++
		from += strides[d]
	}
}
