// Package jit compiles and runs the typed program: it specialises kernels,
// builds and optimises their tile IR, plans them, compiles them for a device,
// and binds graphs to shapes, buffers and launches.
//
// # Errors
//
// No call panics, whatever it is given; what is wrong is an error of one of these types, found by errors.As:
//
//   - lang.Diagnostics and *lang.Diagnostic: of a source, or of types and shapes that do not fit it
//   - *NameError: a name that nothing has, with the nearest that there is
//   - *ArgError: an argument of a kernel or a graph that cannot be
//   - *UseError: a call that cannot be, of a function or method of this package
//   - *EmulationError: what the emulator found wrong with a kernel
//   - *Bug: a failure of the compiler itself
//
// An *ArgError of a tensor and a *UseError are of a kind, found by errors.Is: ErrUnset, ErrClosed, ErrFreed,
// ErrOtherDevice, ErrRange, ErrMismatch or ErrOverlap.
//
// # Arguments that overlap
//
// A tensor that a function changes (an inout) shares no element with another argument, nor two of its own elements:
// inputs stay as they are while a kernel runs, and no two blocks write one element. What overlaps is refused, at Bind
// and at every Run, and so are a program's own results as its arguments. Tensors may lie between each other without
// meeting, as the left and the right columns of one matrix do. For layouts of which the dimensions nest this is decided
// exactly; where it would take long to decide, the tensors count as overlapping. Tensors that are only read may overlap.
// Package tensor has arrays in a device's memory, and the values that kernels and graphs take and give: their shapes,
// where their elements lie, and which share some. It must not know what computes with them.
package tensor

import (
	"fmt"
	"slices"
	"strings"

	"tilec/jit/backend"
	"tilec/jit/misuse"
	"tilec/lang"
)

// Tensor is an array in a device's memory.
type Tensor struct {
	DType lang.DType
	// Shape is outermost first.
	Shape []int64
	// Strides, in elements; nil when the elements are contiguous in row-major order.
	Strides []int64
	Memory  *backend.Memory
	// Offset of element 0, in elements.
	Offset int64
}

// Elements is the number of elements of a shape; 1<<58, which no memory holds, where there are more. A shape with a
// negative size has none.
func Elements(shape []int64) int64 {
	if slices.ContainsFunc(shape, func(n int64) bool { return n <= 0 }) {
		return 0
	}
	n := int64(1)
	for _, d := range shape {
		if d > backend.MaxElements/n {
			return backend.MaxElements
		}
		n *= d
	}
	return n
}

// Bytes is the size of the tensor's elements; 0 without an element type.
func (t *Tensor) Bytes() int64 {
	if t == nil || !t.DType.IsValid() {
		return 0
	}
	return t.DType.Bytes(Elements(t.Shape))
}

// Contiguous gives the row-major strides of a shape, in elements.
func Contiguous(shape []int64) []int64 {
	strides := make([]int64, len(shape))
	n := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= shape[i]
	}
	return strides
}

// FormatShape shows a shape: `[8, 768]`.
func FormatShape(shape []int64) string {
	words := make([]string, len(shape))
	for i, d := range shape {
		words[i] = fmt.Sprint(d)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// String is the tensor's type: `bf16[8, 768]`.
func (t *Tensor) String() string {
	if t == nil {
		return "no tensor"
	}
	return t.DType.String() + FormatShape(t.Shape)
}

// Value is an argument or a result: exactly one of its parts is set.
type Value struct {
	Tensor *Tensor
	Scalar *lang.Literal
	// Elems are the fields of a struct, or the elements of an array.
	Elems []Value
}

// TensorValue is a tensor as a Value.
func TensorValue(t *Tensor) Value { return Value{Tensor: t} }

// IntValue is an integer scalar.
func IntValue(d lang.DType, n int64) Value {
	return Value{Scalar: &lang.Literal{DType: d, Int: n}}
}

// FloatValue is a float scalar.
func FloatValue(d lang.DType, f float64) Value {
	return Value{Scalar: &lang.Literal{DType: d, Float: f}}
}

// Leaves appends the tensors and scalars inside v, in order.
func (v Value) Leaves(tensors []*Tensor, scalars []lang.Literal) ([]*Tensor, []lang.Literal) {
	switch {
	case v.Tensor != nil:
		tensors = append(tensors, v.Tensor)
	case v.Scalar != nil:
		scalars = append(scalars, *v.Scalar)
	default:
		for _, e := range v.Elems {
			tensors, scalars = e.Leaves(tensors, scalars)
		}
	}
	return tensors, scalars
}

// Upload puts data on a device. The CPU uses it where it lies when its address
// is a multiple of align bytes, which is 1 or more; the data must then stay as it is.
func Upload(d backend.Device, data []byte, align int) (*backend.Memory, error) {
	const call = "Upload"
	if err := backend.Usable(d, call); err != nil {
		return nil, err
	}
	if align < 1 {
		return nil, misuse.New(call, fmt.Sprintf("data is to be aligned to %d bytes: it must be 1 or more", align), misuse.ErrRange)
	}
	if w, ok := d.(backend.Wrapper); ok {
		if m := w.Wrap(data, align); m != nil {
			return m, nil
		}
	}
	m, err := d.Alloc(int64(len(data)))
	if err != nil {
		return nil, err
	}
	if err := d.Write(m, 0, data); err != nil {
		d.Free(m)
		return nil, err
	}
	return m, nil
}

// ReadTensor copies a tensor's elements, row-major without gaps, to data, which has room for just these.
func ReadTensor(d backend.Device, t *Tensor, data []byte) error {
	const call = "ReadTensor"
	if err := backend.Usable(d, call); err != nil {
		return err
	}
	end, reason, kind := t.Misuse(d)
	if kind != nil {
		return misuse.New(call, reason, kind)
	}
	if int64(len(data)) != t.Bytes() {
		return misuse.New(call, fmt.Sprintf("%s has %d bytes, and there is room for %d", t, t.Bytes(), len(data)), misuse.ErrMismatch)
	}
	from := t.DType.Bytes(t.Offset)
	if t.Strides == nil || end == 0 {
		return d.Read(data, t.Memory, from)
	}
	// A strided tensor is read as the range that it spans, and gathered here.
	raw := make([]byte, end)
	if err := d.Read(raw, t.Memory, from); err != nil {
		return err
	}
	index := make([]int64, len(t.Shape))
	for at := range Elements(t.Shape) {
		offset := int64(0)
		for i, n := range index {
			offset += n * t.Strides[i]
		}
		t.DType.PutRawBitsAt(data, at, t.DType.RawBitsAt(raw, offset))
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < t.Shape[i] {
				break
			}
			index[i] = 0
		}
	}
	return nil
}
