package gpt

import (
	"fmt"
	"math"

	"tilec/gpt/safetensors"
	"tilec/lang"
)

// This file makes weights of 8 bits from others, with a scale for each index of the first dimension: of a matrix that is stored
// [out, in], one for each output.

// quantise gives a tensor's elements in an 8-bit type and their scales: the largest magnitude behind an index becomes the largest number of the type,
// 127 of i8, and the others are rounded to the nearest, ties to even. Where all are 0 the scale is 1.
func quantise(t safetensors.Tensor, to lang.DType) (data []byte, scales []float32, err error) {
	if len(t.Shape) == 0 {
		return nil, nil, fmt.Errorf("tensor %q: a scalar has no scales", t.Name)
	}
	wide, err := convert(t, lang.F32) // which refuses what is no number
	if err != nil {
		return nil, nil, err
	}
	values, err := safetensors.Tensor{Name: t.Name, DType: lang.F32, Shape: t.Shape, Data: wide}.Float32s()
	if err != nil {
		return nil, nil, err
	}
	largest := 127.0
	if to.IsFloat() {
		largest = to.Largest()
	}
	code := codeOf(to)
	data = make([]byte, len(values))
	rows := t.Shape[0]
	for r := range rows {
		n := len(values) / rows
		row := values[r*n : (r+1)*n]
		most := 0.0
		for _, v := range row {
			most = max(most, math.Abs(float64(v)))
		}
		scale := float32(most / largest)
		if scale == 0 { // also of numbers too small for a scale
			scale = 1
		}
		for i, v := range row {
			data[r*n+i] = code(float64(v) / float64(scale))
		}
		scales = append(scales, scale)
	}
	return data, scales, nil
}

// codeOf gives the bits of a number in an 8-bit type, the nearest that it has.
func codeOf(to lang.DType) func(float64) byte {
	if !to.IsFloat() {
		return func(v float64) byte { return byte(int8(min(127, max(-127, math.RoundToEven(v))))) }
	}
	return func(v float64) byte { return byte(to.FloatBits(min(to.Largest(), max(-to.Largest(), v)))) }
}
