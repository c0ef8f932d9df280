package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"tilec/gpt/npy"
	"tilec/gpt/safetensors"
	"tilec/jit"
	"tilec/lang"
)

// array is a tensor in the host's memory, row-major.
type array struct {
	name  string
	dtype lang.DType
	shape []int64
	data  []byte
}

func (a *array) String() string {
	return fmt.Sprintf("%s: %s", a.name, &jit.Tensor{DType: a.dtype, Shape: a.shape})
}

// readArray reads the file of an argument.
func readArray(arg *argument) (*array, error) {
	a := &array{name: arg.name}
	var shape []int
	if arg.tensor == "" {
		f, err := npy.Read(arg.file)
		if err != nil {
			return nil, err
		}
		a.dtype, a.data, shape = f.DType, f.Data, f.Shape
	} else {
		// The file stays open: its memory is the array's.
		f, err := safetensors.Open(arg.file)
		if err != nil {
			return nil, err
		}
		t, err := f.Tensor(arg.tensor)
		if err != nil {
			return nil, err
		}
		a.dtype, a.data, shape = t.DType, t.Data, t.Shape
	}
	for _, n := range shape {
		a.shape = append(a.shape, int64(n))
	}
	return a, nil
}

// saver gives the function that writes arrays to a file, by the ending of its name.
func saver(path string) (func([]*array) error, error) {
	switch filepath.Ext(path) {
	case ".npy":
		return func(arrays []*array) error {
			if len(arrays) != 1 {
				return fmt.Errorf("%s: an .npy file holds one array, there are %d outputs: use .safetensors", path, len(arrays))
			}
			return npy.Write(path, npy.Array{DType: arrays[0].dtype, Shape: arrays[0].ints(), Data: arrays[0].data})
		}, nil
	case ".safetensors":
		return func(arrays []*array) error {
			var tensors []safetensors.Tensor
			for _, a := range arrays {
				tensors = append(tensors, safetensors.Tensor{Name: a.name, DType: a.dtype, Shape: a.ints(), Data: a.data})
			}
			return safetensors.Write(path, tensors, nil)
		}, nil
	}
	return nil, errors.New("--out must end in .npy or .safetensors")
}

func (a *array) ints() []int {
	shape := make([]int, len(a.shape))
	for i, n := range a.shape {
		shape[i] = int(n)
	}
	return shape
}

// summary is the range, the mean and the first values, on two lines.
func (a *array) summary() string {
	n := jit.Elements(a.shape)
	if n == 0 {
		return "  no elements\n"
	}
	const shown = 8
	get, size := elementOf(a.dtype).get, a.dtype.Size()
	low, high, sum, nans := math.Inf(1), math.Inf(-1), 0.0, 0
	var first []string
	for i := range n {
		v := get(a.data[int(i)*size:])
		if i < shown {
			first = append(first, format(a.dtype, v))
		}
		if math.IsNaN(v) {
			nans++
			continue
		}
		low, high, sum = min(low, v), max(high, v), sum+v
	}
	if n > shown {
		first = append(first, "...")
	}
	figures := "no value is a number"
	if valid := n - int64(nans); valid > 0 {
		figures = fmt.Sprintf("min %s  max %s  mean %.6g", format(a.dtype, low), format(a.dtype, high), sum/float64(valid))
	}
	return fmt.Sprintf("  %s  nan %d\n  %s\n", figures, nans, strings.Join(first, " "))
}
