package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// argument is what the caller says of a tensor, or of a scalar.
type argument struct {
	name   string
	dtype  lang.DType
	scalar bool
	// shape and strides are of a tensor, outermost first, in elements; nil strides are row-major without gaps.
	shape, strides []int64
	// data may be nil before a launch.
	data unsafe.Pointer
}

// bytes is from the first element to behind the last.
func (a *argument) bytes() (int64, error) {
	strides := a.strides
	if strides == nil {
		strides = tensor.Contiguous(a.shape)
	}
	last := int64(0)
	for i, n := range a.shape {
		switch {
		case n < 0 || strides[i] < 0:
			return 0, fmt.Errorf("%s has a negative size or stride: its shape is %v, its strides %v", a.name, a.shape, strides)
		case n == 0:
			return 0, nil
		case n > 1 && strides[i] > (1<<50)/(n-1):
			return 0, fmt.Errorf("%s with the shape %v and the strides %v reaches further than any memory", a.name, a.shape, strides)
		}
		last += (n - 1) * strides[i]
	}
	return a.dtype.Bytes(last + 1), nil
}

// bound is a function bound to types and shapes.
type bound struct {
	device jit.Device
	launch *jit.Launch
	// arguments are the caller's; of gives for each leaf of the launch its place among them, or -1.
	arguments []argument
	of        []int
	leaves    []jit.Leaf
	outputs   []argument
	// extents are the bytes of each argument, and then of each output.
	extents []int64
	// lent are the tensors of the last launch, arguments and then outputs: many launches are on the same memory.
	mu   sync.Mutex
	lent []loan
	// captured: a recording of the caller's has its launches, and uses its memory at each replay.
	captured atomic.Bool
	// disarm takes away what C launches by itself, once no launch of that is under way; nil where C does not.
	disarm func()
	turns  turns
	// c is what C sees of the outputs; free releases it.
	c    unsafe.Pointer
	free func()
}

// loan is a tensor where the caller has it.
type loan struct {
	at     unsafe.Pointer
	tensor *jit.Tensor
}

// bind binds a function by name.
func bind(p *program, name string, arguments []argument, settings string) (*bound, error) {
	f, err := p.module.Function(name)
	if err != nil {
		return nil, err
	}
	b := &bound{device: p.device, arguments: arguments}
	values := map[string]any{}
	for i := range arguments {
		a := &arguments[i]
		if _, twice := values[a.name]; twice {
			return nil, fmt.Errorf("%s is given twice", a.name)
		}
		if a.scalar {
			b.extents = append(b.extents, int64(a.dtype.Size()))
			l := lang.Literal{DType: a.dtype}
			if a.data != nil {
				l = literal(a.dtype, a.data)
			}
			values[a.name] = l
			continue
		}
		n, err := a.bytes()
		if err != nil {
			return nil, err
		}
		b.extents = append(b.extents, n)
		values[a.name] = &jit.Tensor{DType: a.dtype, Shape: a.shape, Strides: a.strides, Memory: jit.Promise(p.device, uint64(uintptr(a.data)), n)}
	}
	args, err := f.Nest(values)
	if err != nil {
		return nil, err
	}
	if err := set(f, args, settings); err != nil {
		return nil, err
	}
	if b.launch, err = f.Bind(args); err != nil {
		return nil, err
	}
	b.leaves = b.launch.Leaves()
	for _, leaf := range b.leaves {
		at := -1
		for i := range arguments {
			if arguments[i].name == leaf.Name {
				at = i
			}
		}
		b.of = append(b.of, at)
	}
	for i, t := range b.launch.Program.Outputs() {
		o := argument{name: f.Outputs[i], dtype: t.DType, shape: t.Shape}
		n, err := o.bytes()
		if err != nil {
			return nil, err
		}
		b.outputs, b.extents = append(b.outputs, o), append(b.extents, n)
	}
	b.lent = make([]loan, len(b.arguments)+len(b.outputs))
	return b, nil
}

// set adds settings, words as NAME=VALUE, to arguments: dimensions, constants, element types, extents and @precision.
func set(f *jit.Function, args jit.Args, settings string) error {
	for _, word := range strings.Fields(settings) {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" || value == "" {
			return fmt.Errorf("setting %q: must be NAME=VALUE, as in BM=64 or T=bf16", word)
		}
		if _, taken := f.Leaf(name); taken {
			return fmt.Errorf("setting %s: %s is a parameter of %s: give it as an argument", word, name, f.Name)
		}
		args[name] = valueOf(f, name, value)
	}
	return nil
}

// valueOf is a setting as Bind takes it; what it cannot be is a text, which Bind refuses with the reason.
func valueOf(f *jit.Function, name, value string) any {
	if has(f.Types, func(t *typed.TypeParam) bool { return t.Name == name }) {
		if d, ok := lang.ParseDType(value); ok {
			return d
		}
	}
	if n, err := strconv.ParseInt(value, 0, 64); err == nil {
		return n
	}
	if has(f.Consts, func(s *size.Symbol) bool { return s.Name == name }) {
		if x, err := strconv.ParseFloat(value, 64); err == nil {
			return x
		}
		if x, err := strconv.ParseBool(value); err == nil {
			return x
		}
	}
	return value
}

func has[T any](all []T, is func(T) bool) bool {
	for _, x := range all {
		if is(x) {
			return true
		}
	}
	return false
}

// literal reads a scalar where the caller has it.
func literal(d lang.DType, at unsafe.Pointer) lang.Literal {
	raw := unsafe.Slice((*byte)(at), d.Size())
	l := lang.Literal{DType: d}
	switch {
	case d.IsFloat():
		l.Float = d.Element(raw)
	case d.Size() == 1 && d.IsSigned():
		l.Int = int64(int8(raw[0]))
	case d.Size() == 1:
		l.Int = int64(raw[0])
	case d.Size() == 2 && d.IsSigned():
		l.Int = int64(int16(binary.LittleEndian.Uint16(raw)))
	case d.Size() == 2:
		l.Int = int64(binary.LittleEndian.Uint16(raw))
	case d.Size() == 4 && d.IsSigned():
		l.Int = int64(int32(binary.LittleEndian.Uint32(raw)))
	case d.Size() == 4:
		l.Int = int64(binary.LittleEndian.Uint32(raw))
	default:
		l.Int = int64(binary.LittleEndian.Uint64(raw))
	}
	return l
}

// streams is a device that works behind what is in a stream of somebody else's.
type streams interface {
	OnStream(stream uintptr, work func() error) error
}

// run launches the function: an address for each argument, in the caller's order, and for each output.
func (b *bound) run(arguments, outputs []unsafe.Pointer, stream uintptr) error {
	values, results, err := b.tensors(arguments, outputs)
	if err != nil {
		return err
	}
	work := func() error {
		if c, ok := b.device.(backend.Capturer); ok && c.Capturing() {
			b.captured.Store(true) // an event that is recorded in a capture is none outside of it: a capture takes no turn
		} else if b.turns.taken {
			return b.turns.run(b, arguments, outputs, func() error { return b.launch.RunOn(context.Background(), values, results) })
		}
		return b.launch.RunOn(context.Background(), values, results)
	}
	if s, ok := b.device.(streams); ok {
		return s.OnStream(stream, work)
	}
	if stream != 0 {
		return errors.New("a stream is given, and the device has none: give a null stream")
	}
	return work()
}

// tensors are the arguments of a launch, in the order of the leaves, and its results.
func (b *bound) tensors(arguments, outputs []unsafe.Pointer) ([]jit.Value, []*jit.Tensor, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	values := make([]jit.Value, len(b.leaves))
	for i, leaf := range b.leaves {
		at := b.of[i]
		if at < 0 { // a scalar that has a default
			values[i] = leaf.Value
			continue
		}
		a := &b.arguments[at]
		if a.scalar {
			if arguments[at] == nil {
				return nil, nil, fmt.Errorf("%s: the address of the scalar is null", a.name)
			}
			l := literal(a.dtype, arguments[at])
			values[i] = jit.Value{Scalar: &l}
			continue
		}
		t, err := b.borrow(a, at, arguments[at])
		if err != nil {
			return nil, nil, err
		}
		values[i] = jit.TensorValue(t)
	}
	results := make([]*jit.Tensor, len(b.outputs))
	for i := range b.outputs {
		t, err := b.borrow(&b.outputs[i], len(b.arguments)+i, outputs[i])
		if err != nil {
			return nil, nil, err
		}
		results[i] = t
	}
	return values, results, nil
}

// borrow is a tensor, of a number among arguments and outputs, where the caller has it.
func (b *bound) borrow(a *argument, number int, at unsafe.Pointer) (*jit.Tensor, error) {
	l := &b.lent[number]
	if l.tensor != nil && l.at == at {
		return l.tensor, nil
	}
	m, err := jit.Borrow(b.device, at, b.extents[number], int64(a.dtype.Size()))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.name, err)
	}
	*l = loan{at, &jit.Tensor{DType: a.dtype, Shape: a.shape, Strides: a.strides, Memory: m}}
	return l.tensor, nil
}
