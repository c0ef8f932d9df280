package graph

import (
	"slices"

	"tilec/jit/compile"
	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// Explanation says what became of the calls of a graph, and what that saves as the planner predicts it.
type Explanation struct {
	// Calls is how many launches there would be with one for each call, and Launches how many there are.
	Calls, Launches int
	// Separate and Time are how long both take, in seconds.
	Separate, Time float64
	// Bytes is how much less is written and read because it is no longer in memory.
	Bytes int64
	Kinds []Kind
	// Order is the launches one after the other.
	Order []Launched
	// Apart are kinds of launches that could be fewer, and Notes what became smaller.
	Apart []ApartKind
	Notes []Note
}

// Launched is a launch: the number of its kind, and the call that the source has.
type Launched struct {
	Kind int
	At   lang.Span
}

// Kind is launches that are alike.
type Kind struct {
	Name string
	// Spec is the first of them.
	Spec *spec.Spec
	// Launches is how many there are, each of so many kernels.
	Launches, Kernels int
	// Time and Separate are seconds of one, and of its kernels with a launch each.
	Time, Separate float64
	// Bytes is how much less one writes and reads than its kernels do with a launch each.
	Bytes int64
}

// ApartKind is pairs of launches that stay two for one reason.
type ApartKind struct {
	First, Second, Why string
	Pairs              int
}

// Explain binds a graph twice, as it is and with a launch for each call, for sizes as BindSizes takes them, and compares both.
func Explain(env *compile.Compiler, g *typed.Graph, opts Options) (*Explanation, error) {
	apart := opts
	apart.Separate = true
	whole, err := BindSizes(env, g, apart)
	if err != nil {
		return nil, err
	}
	defer whole.Free(env.Device)
	b, err := BindSizes(env, g, opts)
	if err != nil {
		return nil, err
	}
	defer b.Free(env.Device)
	e := &Explanation{Calls: len(whole.Calls), Launches: len(b.Calls), Notes: b.Notes}
	for i := range whole.Calls {
		seconds, err := inProgram(env, whole.Calls[i].Spec)
		if err != nil {
			return nil, err
		}
		e.Separate += seconds
	}
	at := map[spec.Key]int{}
	for i := range b.Calls {
		s := b.Calls[i].Spec
		n, ok := at[s.Key()]
		if !ok {
			kind, err := kindOf(env, s)
			if err != nil {
				return nil, err
			}
			n = len(e.Kinds)
			at[s.Key()] = n
			e.Kinds = append(e.Kinds, kind)
		}
		e.Order = append(e.Order, Launched{n, b.Calls[i].At})
		k := &e.Kinds[n]
		k.Launches++
		e.Time += k.Time
		e.Bytes += k.Bytes
	}
	for _, p := range b.Apart {
		e.stayApart(p.First, p.Second, p.Why)
	}
	return e, nil
}

// stayApart counts a pair of launches.
func (e *Explanation) stayApart(first, second, why string) {
	for i := range e.Apart {
		if a := &e.Apart[i]; a.First == first && a.Second == second && a.Why == why {
			a.Pairs++
			return
		}
	}
	e.Apart = append(e.Apart, ApartKind{first, second, why, 1})
}

// inProgram is how long a launch is predicted to take as one of a program, in seconds.
func inProgram(env *compile.Compiler, s *spec.Spec) (float64, error) {
	n, err := env.Predicted(s)
	if err != nil {
		return 0, err
	}
	t := env.Device.Target()
	return n.Seconds - t.Launch + t.LaunchInProgram(), nil
}

// kindOf says what a launch is and saves.
func kindOf(env *compile.Compiler, s *spec.Spec) (Kind, error) {
	k := Kind{Name: s.Name(), Spec: s, Kernels: s.Kernels(), Bytes: saved(s)}
	var err error
	if k.Time, err = inProgram(env, s); err != nil {
		return k, err
	}
	whole := s
	if s.Cut != nil { // the second half saves what the whole would
		if k.Separate = k.Time; !s.Cut.Behind || len(s.Cut.Of.Fused) == 0 {
			return k, nil
		}
		whole = s.Cut.Of
		seconds, err := inProgram(env, whole)
		if err != nil {
			return k, err
		}
		k.Separate -= seconds
	}
	for _, one := range kernels(whole) {
		seconds, err := inProgram(env, one)
		if err != nil {
			return k, err
		}
		k.Separate += seconds
	}
	return k, nil
}

// kernels are the kernels of a launch, each by itself, with tensors as it is declared that the launch sees in another shape.
func kernels(s *spec.Spec) []*spec.Spec {
	one := *s
	one.Fused, one.Layouts = nil, slices.Clone(s.Layouts)
	for i, p := range spec.Params(s.Kernel) {
		if l := &one.Layouts[i]; len(l.Order) != len(p.Shape) {
			l.Order = nil
		}
	}
	all := []*spec.Spec{&one}
	for i := range s.Fused {
		all = append(all, kernels(s.Fused[i].Spec)...)
	}
	return all
}

// saved is how many bytes the kernels of a launch do not write and read, of what they would with a launch each.
func saved(s *spec.Spec) int64 {
	switch {
	case s.Cut == nil:
	case s.Cut.Behind: // the first has the same kernels
		return saved(s.Cut.Of)
	default:
		return 0
	}
	n := int64(0)
	before := *s
	for i := range s.Fused {
		f := &s.Fused[i]
		before.Fused = s.Fused[:i]
		operands, others := before.Operands(), f.Spec.Operands()
		for _, place := range f.Known() {
			n += bytesOf(others[place])
		}
		for _, place := range f.Gone() {
			n += bytesOf(operands[place])
		}
		n += saved(f.Spec)
	}
	return n
}

// bytesOf is the size of an operand that is a tensor.
func bytesOf(o spec.Operand) int64 {
	shape := make([]int64, len(o.Shape))
	for i, d := range o.Shape {
		n, err := d.Eval(o.Of.Value)
		if err != nil {
			return 0
		}
		shape[i] = n
	}
	return o.Held().Bytes(tensor.Elements(shape))
}
