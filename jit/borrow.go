package jit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unsafe"

	"tilec/jit/backend"
	"tilec/jit/misuse"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file is for callers that have memory of their own: other languages, other libraries.

// Borrow is n bytes of memory that the caller owns, and keeps while a run may use it: the host's for the CPU, and aligned to align bytes
// there; a GPU's for that GPU. The emulator has memory that nobody else can have. Free gives nothing back.
func Borrow(d Device, at unsafe.Pointer, n, align int64) (*Memory, error) {
	const call = "Borrow"
	if err := backend.Usable(d, call); err != nil {
		return nil, err
	}
	if n < 0 || n > backend.MaxElements || align < 1 {
		return nil, misuse.New(call, fmt.Sprintf("%d bytes aligned to %d are no memory", n, align), misuse.ErrRange)
	}
	if _, ok := d.(*Emulator); ok {
		return nil, misuse.New(call, "the emulator runs on memory of its own: Upload to it", misuse.ErrOtherDevice)
	}
	if n > 0 && at == nil {
		return nil, misuse.Unset(call, fmt.Sprintf("the address is null, and %d bytes are needed", n))
	}
	w, ok := d.(backend.Wrapper)
	switch {
	case !ok:
		return backend.Borrowed(d, uint64(uintptr(at)), n), nil
	case n == 0:
		return d.Alloc(0)
	}
	m := w.Wrap(unsafe.Slice((*byte)(at), n), int(align))
	if m == nil {
		return nil, misuse.New(call, fmt.Sprintf("the address %p is no multiple of the %d bytes of an element", at, align), misuse.ErrMismatch)
	}
	return m, nil
}

// Promise stands for memory of a tensor that comes with a run (Launch.RunOn): n bytes that begin at such a multiple of 16 bytes, or of fewer, as
// the address does.
func Promise(d Device, address uint64, n int64) *Memory { return backend.Promised(d, address, n) }

// RunOn runs the function on memory of the caller: args has a tensor or a scalar for each that Bind was given, parameter by parameter and
// fields in order, of the same types, shapes and strides; results has a contiguous tensor for each output, in order. On a GPU the
// call returns while the GPU is at work.
func (l *Launch) RunOn(ctx context.Context, args []Value, results []*Tensor) error {
	defer l.lock()()
	if err := l.usable("RunOn"); err != nil {
		return err
	}
	return l.Program.RunInto(ctx, args, results)
}

// BareRun is the function as launches of a GPU's, as data, for C code that makes them without the Launch; nil where a run does more than that. The
// Launch must stay open while it is used.
func (l *Launch) BareRun() *BareRun {
	defer l.lock()()
	if l.usable("BareRun") != nil {
		return nil
	}
	return l.Program.BareRun()
}

// Recorded is Program.Recorded.
func (l *Launch) Recorded() (graph uintptr, possible bool) {
	defer l.lock()()
	if l.usable("Recorded") != nil {
		return 0, false
	}
	return l.Program.Recorded()
}

// Leaf is a tensor or a scalar that a launch takes: a parameter, or a part of one.
type Leaf struct {
	// Name is the parameter's, or as "w.blocks[0].bias".
	Name string
	// Value is what Bind was given for it.
	Value Value
	Inout bool
}

// Leaves lists the tensors and scalars of the arguments, in the order of RunOn.
func (l *Launch) Leaves() []Leaf {
	defer l.lock()()
	var leaves []Leaf
	l.eachLeaf(func(path string, p *typed.GParam, v Value) {
		leaves = append(leaves, Leaf{path, v, p.Mode == lang.InOut})
	})
	return leaves
}

// Nest makes the arguments of Bind of their parts by name, as "w.blocks[0].bias". A name that no part of a parameter has is a *NameError.
func (f *Function) Nest(leaves map[string]any) (Args, error) {
	if f == nil {
		return nil, misuse.Unset("Function.Nest", "the function is nothing that Module.Function gave")
	}
	args, used := Args{}, map[string]bool{}
	var nest func(path string, t typed.GType) any
	nest = func(path string, t typed.GType) any {
		switch t.Kind {
		case typed.GStruct:
			fields := Args{}
			for _, field := range t.Fields {
				if v := nest(path+"."+field.Name, field.Type); v != nil {
					fields[field.Name] = v
				}
			}
			return fields
		case typed.GArray:
			elements := []Args{}
			for i := 0; ; i++ {
				at := fmt.Sprintf("%s[%d]", path, i)
				if !hasPart(leaves, at) {
					return elements
				}
				e, _ := nest(at, *t.Elem).(Args)
				elements = append(elements, e)
			}
		}
		used[path] = true
		return leaves[path]
	}
	for _, p := range f.Params {
		if v := nest(p.Name, p.Type); v != nil {
			args[p.Name] = v
		}
	}
	for name := range leaves {
		if !used[name] {
			return nil, &misuse.NameError{What: "parameter of " + f.Name, Name: name, Known: slices.Sorted(maps.Keys(used))}
		}
	}
	return args, nil
}

// hasPart reports a leaf below a path.
func hasPart(leaves map[string]any, path string) bool {
	for name := range leaves {
		if rest, ok := strings.CutPrefix(name, path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}
