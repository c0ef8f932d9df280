package jit

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
	b := &binder{prog: &bound{inputs: []input{{Tensor: tensor.Tensor{DType: lang.F32, Memory: &backend.Memory{}, Offset: 6}}}}}
	for _, c := range []struct {
		name string
		view view
		want spec.Layout
	}{
		{"whole", view{slot: slot{temp: true}, dtype: lang.F32, shape: []int64{3, 8}, strides: []int64{8, 1}}, spec.Layout{Contiguous: true, Align: 16}},
		{"from element 1", view{slot: slot{temp: true}, dtype: lang.F32, shape: []int64{8}, strides: []int64{1}, offset: 1}, spec.Layout{Contiguous: true, Align: 4}},
		{"from element 6 of bf16", view{slot: slot{temp: true}, dtype: lang.BF16, shape: []int64{8}, strides: []int64{1}, offset: 6}, spec.Layout{Contiguous: true, Align: 4}},
		{"an argument that begins at element 6", view{dtype: lang.F32, shape: []int64{8}, strides: []int64{1}}, spec.Layout{Contiguous: true, Align: 8}},
		{"columns of 12", view{slot: slot{temp: true}, dtype: lang.F32, shape: []int64{3, 5}, strides: []int64{12, 1}, offset: 4}, spec.Layout{Inner: 1, Divisors: []int64{4, 1}, Align: 16}},
		{"two rows of 12", view{slot: slot{temp: true}, dtype: lang.F32, shape: []int64{2, 5}, strides: []int64{12, 1}}, spec.Layout{Inner: 1, Divisors: []int64{4, 1}, Align: 16}},
		{"every second", view{slot: slot{temp: true}, dtype: lang.F32, shape: []int64{5}, strides: []int64{2}}, spec.Layout{Divisors: []int64{2}, Align: 16}},
		{"one row of many", view{slot: slot{temp: true}, dtype: lang.F32, shape: []int64{1, 5}, strides: []int64{99, 1}}, spec.Layout{Contiguous: true, Align: 16}},
	} {
		assert.Equal(t, c.want, b.layout(&c.view), c.name)
	}
}
