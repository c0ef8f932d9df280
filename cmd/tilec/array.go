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
)

// array is a tensor in the host's memory, with the name that it has for the user.
type array struct {
	name string
	*jit.Array
}

func (a *array) String() string { return fmt.Sprintf("%s: %s", a.name, a.Array) }

// readArray reads the file of an argument.
func readArray(arg *argument) (*array, error) {
	a := &array{name: arg.name, Array: &jit.Array{}}
	var shape []int
	if arg.tensor == "" {
		f, err := npy.Read(arg.file)
		if err != nil {
			return nil, err
		}
		a.DType, a.Data, shape = f.DType, f.Data, f.Shape
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
		a.DType, a.Data, shape = t.DType, t.Data, t.Shape
	}
	for _, n := range shape {
		a.Shape = append(a.Shape, int64(n))
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
			return npy.Write(path, npy.Array{DType: arrays[0].DType, Shape: arrays[0].ints(), Data: arrays[0].Data})
		}, nil
	case ".safetensors":
		return func(arrays []*array) error {
			var tensors []safetensors.Tensor
			for _, a := range arrays {
				tensors = append(tensors, safetensors.Tensor{Name: a.name, DType: a.DType, Shape: a.ints(), Data: a.Data})
			}
			return safetensors.Write(path, tensors, nil)
		}, nil
	}
	return nil, errors.New("--out must end in .npy or .safetensors")
}

func (a *array) ints() []int {
	shape := make([]int, len(a.Shape))
	for i, n := range a.Shape {
		shape[i] = int(n)
	}
	return shape
}

// summary is the range, the mean and the first values, on two lines.
func (a *array) summary() string {
	n := a.Len()
	if n == 0 {
		return "  no elements\n"
	}
	const shown = 8
	low, high, sum, nans := math.Inf(1), math.Inf(-1), 0.0, 0
	var first []string
	for i := range n {
		v := a.Float(i)
		if i < shown {
			first = append(first, a.DType.FormatElement(v))
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
	if valid := n - nans; valid > 0 {
		figures = fmt.Sprintf("min %s  max %s  mean %.6g", a.DType.FormatElement(low), a.DType.FormatElement(high), sum/float64(valid))
	}
	return fmt.Sprintf("  %s  nan %d\n  %s\n", figures, nans, strings.Join(first, " "))
}
