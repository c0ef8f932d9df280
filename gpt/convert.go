package gpt

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"tilec/gpt/safetensors"
	"tilec/jit"
	"tilec/lang"
)

// convert gives a tensor's elements, floats or i8, in another float type; in its own type the tensor's memory itself.
// A weight that is no number, or that the type cannot hold, is an error.
func convert(t safetensors.Tensor, to lang.DType) ([]byte, error) {
	if t.DType == to && finite(t) {
		return t.Data, nil
	}
	var values []float32
	if t.DType == lang.BF16 {
		// By far the most common, and a shift.
		values = make([]float32, len(t.Data)/2)
		for i := range values {
			values[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(t.Data[2*i:])) << 16)
		}
	} else if t.DType == lang.I8 { // of weights that have scales
		values = make([]float32, len(t.Data))
		for i, b := range t.Data {
			values[i] = float32(int8(b))
		}
	} else {
		var err error
		if values, err = t.Float32s(); err != nil {
			return nil, err
		}
	}
	refuse := func(i int) error {
		value := float64(values[i])
		if t.DType == lang.F64 {
			value = math.Float64frombits(binary.LittleEndian.Uint64(t.Data[8*i:]))
		}
		at := fmt.Sprintf("tensor %q: element %s is %g", t.Name, position(i, t.Shape), value)
		switch {
		case math.IsNaN(value) || math.IsInf(value, 0):
			return fmt.Errorf("%s, weights must be finite numbers: the checkpoint is damaged", at)
		case to.ExponentBits() < lang.F32.ExponentBits():
			return fmt.Errorf("%s, which %s cannot hold, at most %g: use --dtype bf16 or f32", at, to, to.Largest())
		}
		return fmt.Errorf("%s, which %s cannot hold", at, to)
	}
	for i, v := range values {
		if v-v != 0 { // neither an infinity nor a NaN is 0 without itself
			return nil, refuse(i)
		}
	}
	if to == lang.F32 {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values)), nil
	}
	var bits func(float32) uint16
	switch to {
	case lang.F16:
		bits = lang.F16Bits
	case lang.BF16:
		bits = lang.BF16Bits
	default:
		return nil, fmt.Errorf("tensor %q: cannot compute in %s: use f32, bf16 or f16", t.Name, to)
	}
	infinity := uint16(to.InfinityBits()) // without its sign
	out := make([]byte, 2*len(values))
	for i, v := range values {
		b := bits(v)
		if b&0x7fff >= infinity {
			return nil, refuse(i)
		}
		binary.LittleEndian.PutUint16(out[2*i:], b)
	}
	return out, nil
}

// position is where element i of a shape is, as in "[3, 17]".
func position(i int, shape []int) string {
	at := make([]int64, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		at[d] = int64(i % shape[d])
		i /= shape[d]
	}
	return jit.FormatShape(at)
}

// finite reports that no element of a tensor is an infinity or a NaN.
func finite(t safetensors.Tensor) bool {
	mask := t.DType.InfinityBits() // the exponent's bits are all ones in an infinity or a NaN
	if mask == 0 || t.DType.Bits() > 32 {
		return false // of other types the elements are looked at one by one
	}
	// A word has several elements. Adding the lowest bit of its exponent to an exponent
	// of ones carries into the sign's place, and no other sum does.
	bits := t.DType.Bits()
	each := ^uint64(0) / (1<<bits - 1) // a 1 in each element's lowest bit
	lowest, mask, signs := mask&-mask*each, mask*each, each<<(bits-1)
	data, found := t.Data, uint64(0)
	for ; len(data) >= 8; data = data[8:] {
		found |= binary.LittleEndian.Uint64(data)&mask + lowest
	}
	var rest [8]byte
	copy(rest[:], data)
	found |= binary.LittleEndian.Uint64(rest[:])&mask + lowest
	return found&signs == 0
}
