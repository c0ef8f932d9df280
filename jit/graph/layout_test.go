package graph

import (
	"testing"
	"tilec/jit/backend"
	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"

	"github.com/stretchr/testify/assert"
)

// A view's layout says no more than what is so of every address that it has.
func TestLayoutOfViews(t *testing.T) {
	b := &Bound{Inputs: []Input{{Tensor: tensor.Tensor{DType: lang.F32, Memory: &backend.Memory{}, Offset: 6}}, {Tensor: tensor.Tensor{DType: lang.F32, Memory: &backend.Memory{}}, Inout: true}}}
	for _, c := range []struct {
		name string
		view View
		want spec.Layout
	}{
		{"whole", View{Slot: Slot{Temp: true}, DType: lang.F32, Shape: []int64{3, 8}, Strides: []int64{8, 1}}, spec.Layout{Contiguous: true, Align: 16}},
		{"from element 1", View{Slot: Slot{Temp: true}, DType: lang.F32, Shape: []int64{8}, Strides: []int64{1}, Offset: 1}, spec.Layout{Contiguous: true, Align: 4}},
		{"from element 6 of bf16", View{Slot: Slot{Temp: true}, DType: lang.BF16, Shape: []int64{8}, Strides: []int64{1}, Offset: 6}, spec.Layout{Contiguous: true, Align: 4}},
		{"an argument that begins at element 6", View{DType: lang.F32, Shape: []int64{8}, Strides: []int64{1}}, spec.Layout{Contiguous: true, Align: 8}},
		{"columns of 12", View{Slot: Slot{Temp: true}, DType: lang.F32, Shape: []int64{3, 5}, Strides: []int64{12, 1}, Offset: 4}, spec.Layout{Inner: 1, Divisors: []int64{4, 1}, Align: 16}},
		{"two rows of 12", View{Slot: Slot{Temp: true}, DType: lang.F32, Shape: []int64{2, 5}, Strides: []int64{12, 1}}, spec.Layout{Inner: 1, Divisors: []int64{4, 1}, Align: 16}},
		{"columns of 3 one behind the other", View{DType: lang.F32, Shape: []int64{3, 5}, Strides: []int64{1, 3}}, spec.Layout{Contiguous: true, Order: []int{1, 0}, Align: 8}},
		{"the same, which a launch may write", View{Slot: Slot{Index: 1}, DType: lang.F32, Shape: []int64{3, 5}, Strides: []int64{1, 3}}, spec.Layout{Divisors: []int64{1, 1}, Align: 16}},
		{"columns of 3 of rows of 4", View{DType: lang.F32, Shape: []int64{3, 5}, Strides: []int64{1, 4}}, spec.Layout{Divisors: []int64{1, 4}, Align: 8}},
		{"every second", View{Slot: Slot{Temp: true}, DType: lang.F32, Shape: []int64{5}, Strides: []int64{2}}, spec.Layout{Divisors: []int64{2}, Align: 16}},
		{"one row of many", View{Slot: Slot{Temp: true}, DType: lang.F32, Shape: []int64{1, 5}, Strides: []int64{99, 1}}, spec.Layout{Contiguous: true, Align: 16}},
	} {
		assert.Equal(t, c.want, b.layout(&c.view), c.name)
	}
}

// A dimension of one position, as of the only sequence of a batch, divides as what lies inside of it: it makes no access narrower.
func TestStridesOfOnePosition(t *testing.T) {
	for _, c := range []struct{ shape, want, strides []int64 }{
		{[]int64{64, 36}, []int64{1, 64, 3, 2, 6}, []int64{64 * 36, 36, 12, 6, 1}},
		{[]int64{2, 36}, []int64{1, 1, 2, 36}, []int64{72, 72, 36, 1}},
		{[]int64{1}, []int64{1, 1}, []int64{1, 1}},
		{[]int64{8}, []int64{8, 1}, []int64{1, 1}},
	} {
		got, ok := reshapeStrides(c.shape, tensor.Contiguous(c.shape), c.want)
		assert.True(t, ok)
		assert.Equal(t, c.strides, got, c.want)
	}
}
