package jit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tilec/jit/backend"
	"tilec/jit/misuse"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// Launch is a function compiled for the types and shapes of its arguments, with
// the arguments on the device, ready to run again and again.
//
// It may be used from several goroutines, which wait for each other: what one reads may be of a run that another began.
type Launch struct {
	Function *Function
	Program  *Program

	mu      sync.Mutex
	device  backend.Device
	args    []Value
	results []Value
	// owned is the memory that Bind allocated.
	owned  []*backend.Memory
	closed bool
}

// argument puts the value of a parameter, or of a part of one, on the device.
func (l *Launch) argument(path string, t typed.GType, p *typed.GParam, value any) (Value, error) {
	fail := func(format string, a ...any) (Value, error) {
		return Value{}, &misuse.ArgError{Function: l.Function.Name, Name: path, Reason: fmt.Sprintf(format, a...)}
	}
	if value == nil && t.Kind == typed.GScalar && p.Default != nil {
		return Value{Scalar: p.Default}, nil
	}
	if value == nil {
		return fail("is not given")
	}
	switch t.Kind {
	case typed.GTensor:
		if tensor, ok := value.(*Tensor); ok {
			if _, reason, kind := tensor.Misuse(l.device); kind != nil {
				return Value{}, &misuse.ArgError{Function: l.Function.Name, Name: path, Reason: reason, Err: kind}
			}
			return TensorValue(tensor), nil
		}
		if none, ok := value.(*Array); ok && none == nil {
			return fail("is a nil *Array")
		}
		a := array(value)
		if a == nil {
			return fail("is a tensor, and no %T can be one: give an *Array, a *Tensor or a slice of numbers", value)
		}
		if err := a.check(); err != nil {
			return fail("%v", err)
		}
		data := a.Data
		if p.Mode != lang.In {
			data = slices.Clone(data) // the CPU would write to the caller's memory
		}
		tensor, err := l.upload(a, data)
		if err != nil {
			return fail("%v", err)
		}
		return TensorValue(tensor), nil
	case typed.GScalar:
		d := t.DType.Of
		if t.DType.Param != nil {
			given, ok := value.(lang.Literal)
			if !ok {
				return fail("is of type %s: give a lang.Literal, which says which type that is", t.DType)
			}
			d = given.DType
		}
		s, err := scalarOf(d, value)
		if err != nil {
			return fail("%v", err)
		}
		return Value{Scalar: &s}, nil
	case typed.GStruct:
		fields, ok := value.(Args)
		if !ok {
			return fail("is a struct: give jit.Args of its fields, not %T", value)
		}
		v := Value{Elems: []Value{}}
		var names []string
		for _, f := range t.Fields {
			names = append(names, f.Name)
			e, err := l.argument(path+"."+f.Name, f.Type, p, fields[f.Name])
			if err != nil {
				return v, err
			}
			v.Elems = append(v.Elems, e)
		}
		for name := range fields {
			if !slices.Contains(names, name) {
				return v, &misuse.NameError{What: "field of " + path, Name: name, Known: names}
			}
		}
		return v, nil
	case typed.GArray:
		elems, ok := value.([]Args)
		if !ok {
			return fail("is an array of structs: give []jit.Args, not %T", value)
		}
		v := Value{Elems: []Value{}}
		for i, a := range elems {
			e, err := l.argument(fmt.Sprintf("%s[%d]", path, i), *t.Elem, p, a)
			if err != nil {
				return v, err
			}
			v.Elems = append(v.Elems, e)
		}
		return v, nil
	}
	return fail("no argument can have its type, %s", t)
}

// upload puts an array's data on the device.
func (l *Launch) upload(a *Array, data []byte) (*Tensor, error) {
	m, err := Upload(l.device, data, a.DType.Size())
	if err != nil {
		return nil, err
	}
	l.owned = append(l.owned, m)
	return &Tensor{DType: a.DType, Shape: a.Shape, Memory: m}, nil
}

// usable reports a launch that nothing bound, or that is closed.
func (l *Launch) usable(call string) error {
	switch {
	case l == nil || l.Function == nil || l.device == nil:
		return misuse.Unset("Launch."+call, "the launch is nothing that Bind gave")
	case l.closed:
		return misuse.New("Launch."+call, "the launch of "+l.Function.Name+" is closed", misuse.ErrClosed)
	}
	return nil
}

// lock holds the launch, which may be nil, until the function that it gives is called.
func (l *Launch) lock() (unlock func()) {
	if l == nil {
		return func() {}
	}
	l.mu.Lock()
	return l.mu.Unlock
}

// Run runs the function. The device may still be at work when it returns;
// reading a result waits.
func (l *Launch) Run() error { return l.run(context.Background(), "Run") }

// RunContext is Run until a context is done: then the error is the context's cause, as the CPU and the emulator see to it.
func (l *Launch) RunContext(ctx context.Context) error { return l.run(ctx, "RunContext") }

func (l *Launch) run(ctx context.Context, call string) (err error) {
	defer l.lock()()
	if err := l.usable(call); err != nil {
		return err
	}
	l.results, err = l.Program.RunContext(ctx, l.args)
	return err
}

// Measure gives how long the device took for each of n runs, by its own clock on a GPU; the memory flush, if any, is overwritten before
// each. The function runs once more, before.
func (l *Launch) Measure(n int, flush *Memory) (times []time.Duration, err error) {
	defer l.lock()()
	if err := l.usable("Measure"); err != nil {
		return nil, err
	}
	times, err = l.Program.Measure(l.args, n, flush)
	return times, err
}

// Tensor is an output or a tensor parameter, or a part of one
// (`w.blocks[0].bias`), where it lies on the device. An output's memory is the
// Launch's own, overwritten by the next Run and given back by Close.
func (l *Launch) Tensor(name string) (*Tensor, error) {
	defer l.lock()()
	return l.tensor("Tensor", name)
}

func (l *Launch) tensor(call, name string) (*Tensor, error) {
	if err := l.usable(call); err != nil {
		return nil, err
	}
	f := l.Function
	if i := slices.Index(f.Outputs, name); i >= 0 {
		if l.results == nil {
			return nil, misuse.Unset("Launch."+call, fmt.Sprintf("%s of %s: there are no results before Run", name, f.Name))
		}
		return l.results[i].Tensor, nil
	}
	found := (*Tensor)(nil)
	known := slices.Clone(f.Outputs)
	l.each(func(path string, _ *typed.GParam, t *Tensor) {
		known = append(known, path)
		if path == name {
			found = t
		}
	})
	if found == nil {
		return nil, &misuse.NameError{What: "tensor of " + f.Name, Name: name, Known: known}
	}
	return found, nil
}

// Read copies an output or a tensor parameter to the host's memory.
func (l *Launch) Read(name string) (*Array, error) {
	defer l.lock()()
	t, err := l.tensor("Read", name)
	if err != nil {
		return nil, err
	}
	a := NewArray(t.DType, t.Shape...)
	return a, ReadTensor(l.device, t, a.Data)
}

// Write copies an array of the same type and shape over a tensor parameter.
func (l *Launch) Write(name string, a *Array) error {
	defer l.lock()()
	t, err := l.tensor("Write", name)
	if err != nil {
		return err
	}
	if a == nil {
		return &misuse.ArgError{Function: l.Function.Name, Name: name, Reason: "is given no array", Err: misuse.ErrUnset}
	}
	if t.DType != a.DType || !slices.Equal(t.Shape, a.Shape) || t.Strides != nil || a.check() != nil {
		return &misuse.ArgError{Function: l.Function.Name, Name: name, Reason: fmt.Sprintf("was bound to %s, and %s is given", tensor.Describe(t), a), Err: misuse.ErrMismatch}
	}
	if _, reason, kind := t.Misuse(l.device); kind != nil {
		return &misuse.ArgError{Function: l.Function.Name, Name: name, Reason: reason, Err: kind}
	}
	if _, ok := l.device.(backend.Wrapper); ok && slices.Contains(l.owned, t.Memory) {
		// The memory may be the array's that was given before: it is left as it is.
		m, err := Upload(l.device, slices.Clone(a.Data), a.DType.Size())
		if err == nil {
			l.owned, t.Memory = append(l.owned, m), m
		}
		return err
	}
	return l.device.Write(t.Memory, t.DType.Bytes(t.Offset), a.Data)
}

// Inouts lists the tensors that the function may change, with their names.
func (l *Launch) Inouts() []string {
	defer l.lock()()
	var names []string
	l.each(func(path string, p *typed.GParam, _ *Tensor) {
		if p.Mode == lang.InOut {
			names = append(names, path)
		}
	})
	return names
}

// each visits the tensors among the arguments.
func (l *Launch) each(visit func(path string, p *typed.GParam, t *Tensor)) {
	l.eachLeaf(func(path string, p *typed.GParam, v Value) {
		if v.Tensor != nil {
			visit(path, p, v.Tensor)
		}
	})
}

// eachLeaf visits the tensors and scalars of the arguments.
func (l *Launch) eachLeaf(visit func(path string, p *typed.GParam, v Value)) {
	if l == nil || l.Function == nil || l.Program == nil {
		return
	}
	var walk func(path string, p *typed.GParam, t typed.GType, v Value)
	walk = func(path string, p *typed.GParam, t typed.GType, v Value) {
		switch t.Kind {
		case typed.GTensor, typed.GScalar:
			visit(path, p, v)
		case typed.GStruct:
			for i, f := range t.Fields {
				walk(path+"."+f.Name, p, f.Type, v.Elems[i])
			}
		case typed.GArray:
			for i := range v.Elems {
				walk(fmt.Sprintf("%s[%d]", path, i), p, *t.Elem, v.Elems[i])
			}
		}
	}
	for i, p := range l.Function.Params {
		if i < len(l.args) {
			walk(p.Name, p, p.Type, l.args[i])
		}
	}
}

// Bytes counts what one run reads and writes at least: every input and output
// once, every inout twice.
func (l *Launch) Bytes() int64 {
	defer l.lock()()
	n := int64(0)
	l.each(func(_ string, p *typed.GParam, t *Tensor) {
		n += t.Bytes()
		if p.Mode == lang.InOut {
			n += t.Bytes()
		}
	})
	if l != nil {
		for _, t := range l.Program.Outputs() {
			n += t.Bytes()
		}
	}
	return n
}

// Close gives back the memory of the results and of the arguments that Bind
// put on the device. A second Close does nothing.
func (l *Launch) Close() {
	defer l.lock()()
	if l == nil || l.closed {
		return
	}
	l.Program.Close()
	for _, m := range l.owned {
		l.device.Free(m)
	}
	l.owned, l.results, l.closed = nil, nil, true
}
