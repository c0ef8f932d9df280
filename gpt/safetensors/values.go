package safetensors

import "fmt"

// Float32s converts the elements of a float tensor to f32, which is exact for
// every type but f64. Another type is an error.
func (t Tensor) Float32s() ([]float32, error) {
	d := t.DType
	if !d.IsFloat() {
		return nil, fmt.Errorf("tensor %q: element type %s, required a float type", t.Name, t.DType)
	}
	return convert(t, func(bits uint64) float32 { return float32(d.FloatValue(bits)) }), nil
}

// Int64s converts the elements of an integer tensor to i64; u64 values of 2^63
// and more wrap. Another type is an error.
func (t Tensor) Int64s() ([]int64, error) {
	d := t.DType
	if !d.IsInt() {
		return nil, fmt.Errorf("tensor %q: element type %s, required an integer type", t.Name, t.DType)
	}
	return convert(t, d.IntValue), nil
}

// convert reads each element by its bits.
func convert[V any](t Tensor, value func(bits uint64) V) []V {
	values := make([]V, t.DType.Elements(int64(len(t.Data))))
	for i := range values {
		values[i] = value(t.DType.RawBitsAt(t.Data, int64(i)))
	}
	return values
}
