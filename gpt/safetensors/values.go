package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"

	"tilec/lang"
)

// Float32s converts the elements of a float tensor to f32, which is exact for
// every type but f64. Another type is an error.
func (t Tensor) Float32s() ([]float32, error) {
	value, ok := floatValue[t.DType]
	if !ok {
		return nil, fmt.Errorf("tensor %q: element type %s, required a float type", t.Name, t.DType)
	}
	return convert(t, value), nil
}

// Int64s converts the elements of an integer tensor to i64; u64 values of 2^63
// and more wrap. Another type is an error.
func (t Tensor) Int64s() ([]int64, error) {
	value, ok := intValue[t.DType]
	if !ok {
		return nil, fmt.Errorf("tensor %q: element type %s, required an integer type", t.Name, t.DType)
	}
	return convert(t, value), nil
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

var le = binary.LittleEndian

var floatValue = map[lang.DType]func([]byte) float32{
	lang.F8E4M3: func(b []byte) float32 { return lang.F8E4M3Value(b[0]) },
	lang.F8E5M2: func(b []byte) float32 { return lang.F8E5M2Value(b[0]) },
	lang.F16:    func(b []byte) float32 { return lang.F16Value(le.Uint16(b)) },
	lang.BF16:   func(b []byte) float32 { return lang.BF16Value(le.Uint16(b)) },
	lang.F32:    func(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) },
	lang.F64:    func(b []byte) float32 { return float32(math.Float64frombits(le.Uint64(b))) },
}

var intValue = map[lang.DType]func([]byte) int64{
	lang.I8:  func(b []byte) int64 { return int64(int8(b[0])) },
	lang.U8:  func(b []byte) int64 { return int64(b[0]) },
	lang.I16: func(b []byte) int64 { return int64(int16(le.Uint16(b))) },
	lang.U16: func(b []byte) int64 { return int64(le.Uint16(b)) },
	lang.I32: func(b []byte) int64 { return int64(int32(le.Uint32(b))) },
	lang.U32: func(b []byte) int64 { return int64(le.Uint32(b)) },
	lang.I64: func(b []byte) int64 { return int64(le.Uint64(b)) },
	lang.U64: func(b []byte) int64 { return int64(le.Uint64(b)) },
}
