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
	"tilec/jit/file"
	"tilec/lang"
)

// array is a tensor in the host's memory, with the name that it has for the user.
type array struct {
	name string
	*jit.Array
}

// String is the name and the elements, as `run` prints a result.
func (a *array) String() string { return fmt.Sprintf("%s: %s", a.name, a.Array) }

// readArray reads the file of an argument.
func readArray(arg *argument) (*array, error) {
	a := &array{name: arg.name, Array: &jit.Array{}}
	var shape []int
	if filepath.Ext(arg.file) != ".safetensors" {
		f, err := readNumpy(arg)
		if err != nil {
			return nil, err
		}
		a.DType, a.Data, shape = f.DType, f.Data, f.Shape
	} else {
		f, err := safetensors.Open(arg.file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		var names []string
		for _, t := range f.Tensors() {
			names = append(names, t.Name)
		}
		name, err := arg.tensorAmong(names)
		if err != nil {
			return nil, err
		}
		t, err := f.Tensor(name)
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

// readNumpy reads a file of NumPy: an .npy file, or an array of an .npz file.
func readNumpy(arg *argument) (npy.Array, error) {
	if filepath.Ext(arg.file) == ".npy" {
		return npy.Read(arg.file)
	}
	name := arg.tensor
	if name == "" {
		names, err := npy.Names(arg.file)
		if err == nil {
			name, err = arg.tensorAmong(names)
		}
		if err != nil {
			return npy.Array{}, err
		}
	}
	return npy.ReadFrom(arg.file, name)
}

// mostNamed is how many of a file's tensors a message names.
const mostNamed = 8

// tensorAmong is the tensor that the argument names or, where it names none, the only one of its file.
func (a *argument) tensorAmong(names []string) (string, error) {
	switch {
	case a.tensor != "":
		return a.tensor, nil
	case len(names) == 1:
		return names[0], nil
	case len(names) == 0:
		return "", errors.New("there are no tensors in the file")
	}
	first := strings.Join(names[:min(len(names), mostNamed)], ", ")
	if more := len(names) - mostNamed; more > 0 {
		first += fmt.Sprintf(" and %d more", more)
	}
	return "", fmt.Errorf("which tensor of the file? It has %s: write %s=@%s:%s, for example", first, a.name, a.file, names[0])
}

// outFile is a file for arrays, in the format that the ending of its name says.
type outFile struct {
	path string
	npy  bool
}

// openOut looks whether arrays could be written to a file, before anything is computed. A nil
// outFile, of no path, takes everything.
func openOut(path string) (*outFile, error) {
	if path == "" {
		return nil, nil
	}
	o := &outFile{path: path}
	switch filepath.Ext(path) {
	case ".npy":
		o.npy = true
	case ".safetensors":
	default:
		return nil, usageError{errors.New("--out must end in .npy or .safetensors")}
	}
	return o, file.Check(path)
}

// takes tells why arrays of these types could not be written.
func (o *outFile) takes(types []lang.DType) error {
	switch {
	case o == nil || !o.npy:
		return nil
	case len(types) != 1:
		return fmt.Errorf("%s: an .npy file holds one array, there are %d outputs: use .safetensors", o.path, len(types))
	case types[0].Npy() == "":
		return fmt.Errorf("%s: .npy has no %s: use .safetensors, or another element type", o.path, types[0])
	}
	return nil
}

// save writes the arrays.
func (o *outFile) save(arrays []*array) error {
	if o == nil {
		return nil
	}
	if o.npy {
		return npy.Write(o.path, npy.Array{DType: arrays[0].DType, Shape: arrays[0].ints(), Data: arrays[0].Data})
	}
	var tensors []safetensors.Tensor
	for _, a := range arrays {
		tensors = append(tensors, safetensors.Tensor{Name: a.name, DType: a.DType, Shape: a.ints(), Data: a.Data})
	}
	return safetensors.Write(o.path, tensors, nil)
}

func (a *array) ints() []int {
	shape := make([]int, len(a.Shape))
	for i, n := range a.Shape {
		shape[i] = int(n)
	}
	return shape
}

// figured is an array in numbers, as --json prints it. What no element has is left out.
type figured struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
	// Min, Max and Mean are of the elements that are numbers, as text: they may be infinite.
	Min  string `json:"min,omitempty"`
	Max  string `json:"max,omitempty"`
	Mean string `json:"mean,omitempty"`
	NaN  int64  `json:"nan"`
	// First are the first values.
	First []string `json:"first"`
}

func (a *array) figures() figured {
	const shown = 8
	f := figured{Name: a.name, DType: a.DType.String(), Shape: a.Shape, First: []string{}}
	low, high, sum := math.Inf(1), math.Inf(-1), 0.0
	n := a.Len()
	for i := range n {
		v := a.Float(i)
		if i < shown {
			f.First = append(f.First, a.DType.FormatElement(v))
		}
		if math.IsNaN(v) {
			f.NaN++
			continue
		}
		low, high, sum = min(low, v), max(high, v), sum+v
	}
	if valid := int64(n) - f.NaN; valid > 0 {
		f.Min, f.Max, f.Mean = a.DType.FormatElement(low), a.DType.FormatElement(high), fmt.Sprintf("%.6g", sum/float64(valid))
	}
	return f
}

// summary is the range, the mean and the first values, on two lines.
func (a *array) summary() string {
	f := a.figures()
	if a.Len() == 0 {
		return "  no elements\n"
	}
	line := "no value is a number"
	if f.Min != "" {
		line = fmt.Sprintf("min %s  max %s  mean %s", f.Min, f.Max, f.Mean)
	}
	if int(a.Len()) > len(f.First) {
		f.First = append(f.First, "...")
	}
	return fmt.Sprintf("  %s  nan %d\n  %s\n", line, f.NaN, strings.Join(f.First, " "))
}
