package gpt

import (
	"fmt"

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
	if m.filler.dtype == lang.F32 {
		advice = "use --dtype bf16, which takes half, or " + advice
	}
	if m.compiler.Device.ID() != "cpu" {
		advice += "; nvidia-smi lists the processes that hold its memory"
	}
	return &tooLargeError{fmt.Sprintf("the model is too large: it takes %s for its weights in %s and %s for what it keeps of a text, and %s has %s free of %s: %s",
		jit.FormatBytes(weights), m.filler.dtype, jit.FormatBytes(state), m.compiler.Device.Name(), jit.FormatBytes(free), jit.FormatBytes(total), advice),
		&jit.MemoryError{Need: weights + state, Have: total, Free: free}}
}

// tooLargeError is a MemoryError of a whole model, in words for people.
type tooLargeError struct {
	text string
	err  *jit.MemoryError
}

func (e *tooLargeError) Error() string { return e.text }

func (e *tooLargeError) Unwrap() error { return e.err }

// weightBytes is how many bytes the tensors take that the graph asks for, each once.
func (f *filler) weightBytes() (n int64) {
	counted := map[wantedTensor]bool{}
	for _, w := range f.wanted {
		if counted[w] {
			continue
		}
		counted[w] = true
		t, _ := f.ckpt.Tensors.Lookup(w.name) // which check has found
		elements := int64(1)
		for _, d := range t.Shape {
			elements *= int64(d)
		}
		n += w.dtype.Bytes(elements)
	}
	return n
}

// bytes is how many bytes a state takes that has room for so many positions; 0 where its shapes are not known, which is an error when it is made.
func (s *state) bytes(f *filler, g *typed.Graph, room int) (n int64) {
	if s.dim != "" {
		f.dims[s.dim] = int64(room)
		defer delete(f.dims, s.dim)
	}
	for _, i := range s.params {
		p := g.Params[i]
		_, err := f.each(p.Name, p.Type, func(_ string, t typed.GType, _ string) (jit.Value, error) {
			elements := int64(1)
			for _, size := range t.Shape {
				d, err := f.eval(size)
				if err != nil {
					return jit.Value{}, err
				}
				elements *= d
			}
			n += f.resolve(t.DType).Bytes(elements)
			return jit.Value{}, nil
		})
		if err != nil {
			return 0
		}
	}
	return n
}
