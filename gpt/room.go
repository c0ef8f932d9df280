package gpt

import (
	"fmt"
	"slices"

	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// checkRoom compares what a model takes with what is free on its device, before anything is taken: its weights, and its state with the room
// that a short text needs. What lies between launches, and longer texts, come on top.
func (m *Model) checkRoom() error {
	free, total, ok := jit.Room(m.compiler.Device)
	if !ok {
		return nil
	}
	weights, state := m.filler.weightBytes(), m.state.bytes(m.filler, m.graph, min(m.context, leastRoom))
	if weights+state <= free {
		return nil
	}
	advice := "take a smaller model or a device with more memory"
	if slices.ContainsFunc(m.filler.wanted, func(w wantedTensor) bool { return w.dtype == lang.F32 }) {
		advice = "use --dtype bf16, which takes half of f32, or " + advice
	}
	if m.compiler.Device.ID() != "cpu" {
		advice += "; nvidia-smi lists the processes that hold its memory"
	}
	return &tooLargeError{fmt.Sprintf("the model is too large: it takes %s for its weights and %s for what it keeps of a text, and %s has %s free of %s: %s",
		jit.FormatBytes(weights), jit.FormatBytes(state), m.compiler.Device.Name(), jit.FormatBytes(free), jit.FormatBytes(total), advice),
		&jit.MemoryError{Need: weights + state, Have: total, Free: free}}
}

// tooLargeError is a MemoryError of a whole model, in words for people.
type tooLargeError struct {
	text string
	err  *jit.MemoryError
}

// Error says what is too large, and for what.
func (e *tooLargeError) Error() string { return e.text }

// Unwrap is the same in bytes.
func (e *tooLargeError) Unwrap() error { return e.err }

// weightBytes is how many bytes the tensors take that the graph asks for, each once.
func (f *filler) weightBytes() (n int64) {
	counted := map[wantedTensor]bool{}
	for _, w := range f.wanted {
		if !counted[w] {
			counted[w] = true
			n += f.bytes(w)
		}
	}
	return n
}

// bytes is how many bytes a tensor takes on the device.
func (f *filler) bytes(w wantedTensor) int64 {
	t := f.lookup(w.name)
	elements := int64(1)
	for _, d := range t.Shape {
		elements *= int64(d)
	}
	if w.isScale {
		elements = int64(t.Shape[0])
	}
	return w.dtype.Bytes(elements)
}

// bytes is how many bytes a state takes that has room for so many positions; 0 where its shapes are not known, which is an error when it is made.
func (s *state) bytes(f *filler, g *typed.Graph, room int) (n int64) {
	if s.dim != "" {
		f.dims[s.dim] = int64(room)
		defer delete(f.dims, s.dim)
	}
	for _, i := range s.params {
		bytes, err := f.typeBytes(g.Params[i].Type)
		if err != nil {
			return 0
		}
		n += bytes
	}
	return n
}

// typeBytes is how many bytes the tensors of a type take.
func (f *filler) typeBytes(t typed.GType) (n int64, err error) {
	switch t.Kind {
	case typed.GTensor:
		elements := int64(1)
		for _, size := range t.Shape {
			d, err := f.eval(size)
			if err != nil {
				return 0, err
			}
			elements *= d
		}
		return f.resolve(t.DType).Bytes(elements), nil
	case typed.GStruct:
		for _, field := range t.Fields {
			bytes, err := f.typeBytes(field.Type)
			if err != nil {
				return 0, err
			}
			n += bytes
		}
	case typed.GArray:
		length, err := f.eval(t.Len)
		if err != nil {
			return 0, err
		}
		bytes, err := f.typeBytes(*t.Elem)
		return length * bytes, err
	}
	return n, nil
}
