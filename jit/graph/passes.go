package graph

import (
	"slices"

	"tilec/jit/bug"
	"tilec/jit/compile"
	"tilec/jit/log"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// Pass is one row of the table of what is rewritten of a graph that is bound: its launches become fewer.
type Pass struct {
	Name string
	// Doc says in a line what the pass does.
	Doc string
	run func(*rewriter)
	// keepsCalls: each call is as many launches as before, so that the pass runs where all are to stay separate too.
	keepsCalls bool
	// Before and After are an example, which a test runs: a program whose graph g is bound to the sizes of its parameters, and
	// its launches.
	Source, Before, After string
}

// Passes are those of graphs, in the order in which they run.
func Passes() []Pass { return []Pass{round, dce, cse, once, narrow, fuse, concat, beside} }

// rewriter rewrites the launches of a graph. Those that are gone stay in the list, without a specialisation, until the end.
type rewriter struct {
	*Bound
	env    *compile.Compiler
	target target.Machine
	logs   *log.Logs
	opts   Options
	keeps  bool
	// changed: the pass that runs has changed something.
	changed bool
	// writes and reads are, for each memory, the launches that write and read it, in order, a launch once for each of its tensors.
	writes, reads map[Slot][]int
	results       map[Slot]bool
	verdicts      verdicts
	talks         map[*typed.Kernel]bool
	refused       []refused
}

// rewrite runs the passes, checks the graph after each, and shows it after each that changed it.
// Keeps says that it is worth its while to keep what no argument changes, since the graph runs again.
func (b *Bound) rewrite(env *compile.Compiler, opts Options, keeps bool) error {
	dump := opts.Dump
	r := &rewriter{Bound: b, env: env, target: env.Device.Target(), logs: env.Logs, opts: opts, keeps: keeps, results: map[Slot]bool{}, verdicts: newVerdicts(), talks: map[*typed.Kernel]bool{}}
	for i := range b.Outputs {
		r.results[b.Outputs[i].Slot] = true
	}
	if dump != nil {
		dump("", b.Listing())
	}
	for _, p := range Passes() {
		if opts.Separate && !p.keepsCalls {
			continue
		}
		if err := r.apply(p, dump); err != nil {
			return err
		}
	}
	if opts.Separate {
		return nil
	}
	r.stayApart()
	b.live()
	if b.Once != nil {
		return b.Once.finish(env, opts)
	}
	return nil
}

// apply runs one pass.
func (r *rewriter) apply(p Pass, dump func(pass string, launches lang.Listing)) error {
	r.changed = false
	r.note()
	p.run(r)
	if !r.changed {
		return nil
	}
	r.Calls = slices.DeleteFunc(r.Calls, func(c Call) bool { return c.Spec == nil })
	if err := r.verify(); err != nil {
		return bug.New("pass "+p.Name, "%s: %w", r.Name, err)
	}
	if dump != nil {
		dump(p.Name, r.Listing())
	}
	return nil
}

// note finds out which launches read and write what.
func (r *rewriter) note() {
	r.writes, r.reads = map[Slot][]int{}, map[Slot][]int{}
	for i := range r.Calls {
		r.Calls[i].each(func(_ int, v *View, mode lang.ParamMode) {
			if mode != lang.In {
				r.writes[v.Slot] = append(r.writes[v.Slot], i)
			}
			if mode != lang.Out {
				r.reads[v.Slot] = append(r.reads[v.Slot], i)
			}
		})
	}
}

// each visits the tensors of a launch, by their places among its operands.
func (c *Call) each(visit func(place int, v *View, mode lang.ParamMode)) {
	if c.paramsOf != c.Spec {
		c.params, c.paramsOf = c.Spec.Params(), c.Spec
	}
	tensors := c.Tensors // visit may change the launch
	for i, p := range c.params {
		if p.IsTensor {
			visit(i, &tensors[i], p.Mode)
		}
	}
}

// live notes from which launch to which each temporary is needed; those that none needs are gone.
func (b *Bound) live() {
	var kept []Temp
	at := map[int]int{}
	use := func(v *View, step int) {
		if !v.Slot.Temp {
			return
		}
		n, ok := at[v.Slot.Index]
		if !ok {
			n = len(kept)
			at[v.Slot.Index] = n
			t := b.Temps[v.Slot.Index]
			t.First = min(step, max(len(b.Calls)-1, 0))
			kept = append(kept, t)
		}
		v.Slot.Index, kept[n].last = n, step
	}
	for i := range b.Calls {
		b.Calls[i].each(func(_ int, v *View, _ lang.ParamMode) { use(v, i) })
	}
	for i := range b.Outputs {
		use(&b.Outputs[i], len(b.Calls))
	}
	b.Temps = kept
}
