package safetensors

import "fmt"

// Float32s converts the elements of a float tensor to f32, which is exact for
// every type but f64. Another type is an error.
func (t Tensor) Float32s() ([]float32, error) {
	d := t.DType
	if !d.IsFloat() {
		return nil, fmt.Errorf("tensor %q: element type %s, required a float type", t.Name, t.DType)
	}
	return convert(t, func(b []byte) float32 { return float32(d.FloatValue(d.RawBits(b))) }), nil
}

// Int64s converts the elements of an integer tensor to i64; u64 values of 2^63
// and more wrap. Another type is an error.
func (t Tensor) Int64s() ([]int64, error) {
	d := t.DType
	if !d.IsInt() {
		return nil, fmt.Errorf("tensor %q: element type %s, required an integer type", t.Name, t.DType)
	}
	return convert(t, func(b []byte) int64 { return d.IntValue(d.RawBits(b)) }), nil
}

// convert reads each element with value, which gets the bytes from its start on.
func convert[V any](t Tensor, value func([]byte) V) []V {
	size := t.DType.Size()
	values := make([]V, len(t.Data)/size)
	for i := range values {
		values[i] = value(t.Data[i*size:])
	}
	return values
}
