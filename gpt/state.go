package gpt

import (
	"fmt"
	"math/bits"

	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// state is what a graph keeps between runs, in its `inout` parameters: the KV cache.
type state struct {
	// params are the places of its parameters among the graph's.
	params []int
	// dim is the dimension of the state that nothing gives: how many positions of a text it has room
	// for, which is room; "" and 0 for a state without one.
	dim  string
	room int
	// memory is where it lies.
	memory []*jit.Memory
}

// newState looks for the state of a graph, and takes no memory yet.
func newState(f *filler, g *typed.Graph) state {
	s := state{}
	known := map[string]bool{}
	for name := range f.dims {
		known[name] = true
	}
	unknown := func(n size.Size) (name string) {
		_, _ = n.Eval(func(sym *size.Symbol) (int64, bool) {
			if !known[sym.Name] && name == "" {
				name = sym.Name
			}
			return 1, true
		})
		return name
	}
	// A dimension that weights have is theirs, and @config must name it.
	for _, p := range g.Params {
		if p.Mode == lang.In {
			eachShape(p.Type, func(n size.Size) {
				for name := unknown(n); name != ""; name = unknown(n) {
					known[name] = true
				}
			})
		}
	}
	for i, p := range g.Params {
		if p.Mode == lang.InOut {
			s.params = append(s.params, i)
			eachShape(p.Type, func(size size.Size) {
				if s.dim == "" {
					s.dim = unknown(size)
				}
			})
		}
	}
	return s
}

// eachShape visits the sizes in the shapes of a type's tensors.
func eachShape(t typed.GType, visit func(size.Size)) {
	switch t.Kind {
	case typed.GTensor:
		for _, s := range t.Shape {
			visit(s)
		}
	case typed.GStruct:
		for _, field := range t.Fields {
			eachShape(field.Type, visit)
		}
	case typed.GArray:
		eachShape(*t.Elem, visit)
	}
}

// leastRoom is the room for positions that a state has at least, where the context is as long:
// texts of all lengths up to it run the same programs, and so give the same bits.
const leastRoom = 1024

// reserve makes a state with room for a text of so many tokens, where the present one has less.
// What the present one holds is lost.
func (m *Model) reserve(tokens int) error {
	s, f := &m.state, m.filler
	enough := s.memory != nil && (s.dim == "" || tokens <= s.room)
	if enough || len(s.params) == 0 || tokens < 1 || tokens > m.context { // what is no length is an error of the run
		return nil
	}
	// What is bound has the old state's shape.
	m.bound.close()
	f.free(&s.memory)
	if s.dim != "" {
		s.room = min(m.context, max(leastRoom, 1<<bits.Len(uint(tokens-1))))
		f.dims[s.dim] = int64(s.room)
	}
	for _, i := range s.params {
		p := m.graph.Params[i]
		v, err := f.each(p.Name, p.Type, func(at place) (jit.Value, error) {
			return s.tensor(f, at.path, at.t)
		})
		if err != nil {
			f.free(&s.memory)
			return fmt.Errorf("graph %s: %w", m.graph.Name, err)
		}
		m.args[i] = v
	}
	return nil
}

// tensor makes a zeroed tensor of a state.
func (s *state) tensor(f *filler, path string, t typed.GType) (jit.Value, error) {
	tensor := &jit.Tensor{DType: f.resolve(t.DType)}
	for _, size := range t.Shape {
		n, err := f.eval(size)
		if err != nil {
			return jit.Value{}, fmt.Errorf("the size %s in %s: %w: name it in @config", size, path, err)
		}
		tensor.Shape = append(tensor.Shape, n)
	}
	m, err := f.device.Alloc(tensor.Bytes())
	if err != nil {
		return jit.Value{}, fmt.Errorf("%s: %w", path, err)
	}
	s.memory = append(s.memory, m)
	tensor.Memory = m
	return jit.TensorValue(tensor), f.clear(m)
}

// clear writes zeros over memory. The CPU's comes as zeros, and is left
// untouched: the system gives pages only to the part that a text reaches.
func (f *filler) clear(m *jit.Memory) error {
	if _, ok := f.device.(*jit.CPU); ok {
		return nil
	}
	zeros := make([]byte, min(m.Size, 1<<20))
	for at := int64(0); at < m.Size; at += int64(len(zeros)) {
		if err := f.device.Write(m, at, zeros[:min(int64(len(zeros)), m.Size-at)]); err != nil {
			return err
		}
	}
	return nil
}
