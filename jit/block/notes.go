package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file is the table of what a program says of its kernel: a row a kind of note, by which programs are printed and read. The text of a
// program is that of its kernel, with the notes about an operation below the operation (ir.Noted). What follows from the kernel and from other
// notes is in none.

// note is a kind of note.
type note struct {
	word  string
	about subject
	// has reports that there is one about an operation, or about the kernel, of which op is nil.
	has func(p *Program, op *ir.Op) bool
	// text is what stands behind the word.
	text func(t *text, op *ir.Op)
}

// subject is what notes of a kind are about.
type subject struct {
	name string
	is   func(op *ir.Op) bool
}

// The subjects.
var (
	theKernel  = subject{"the kernel", func(op *ir.Op) bool { return op == nil }}
	anyOp      = subject{"an operation", func(op *ir.Op) bool { return op != nil }}
	aResult    = subject{"an operation with one result", func(op *ir.Op) bool { return op != nil && len(op.Results) == 1 }}
	aLoop      = subject{"a loop", func(op *ir.Op) bool { return op != nil && op.Code == lang.OpFor }}
	anAxisLoop = subject{"a loop over an axis", func(op *ir.Op) bool { return aLoop.is(op) && op.Axis != nil }}
	aLoad      = subject{"a load", func(op *ir.Op) bool { return op != nil && op.Code == lang.OpLoad }}
	aStore     = subject{"a store", func(op *ir.Op) bool { return op != nil && op.Code == lang.OpStore }}
	anAccess   = subject{"a load or a store", func(op *ir.Op) bool { return aLoad.is(op) || aStore.is(op) }}
	aDivision  = subject{"a division of tiles", func(op *ir.Op) bool { return op != nil && op.Code == lang.OpDiv && !op.Result().Type.IsScalar() }}
	aProduct   = subject{"a product", func(op *ir.Op) bool { return op != nil && op.Code.Row().Group == lang.GroupContract }}
	aReduction = subject{"a reduction", func(op *ir.Op) bool { return op != nil && op.Code.Row().Group == lang.GroupReduce }}
)

// notes are the kinds of notes, in the order in which those about one thing stand; filled by init, since texts refer back to it. README.md says
// of each what it says.
var notes []note

func init() {
	notes = []note{
		{"plan", theKernel, func(*Program, *ir.Op) bool { return true }, func(t *text, _ *ir.Op) { t.settings() }},
		part("registers", func(p *Program) **Donation { return &p.Donation }, (*text).donation),
		part("tiles", func(p *Program) **Tiles { return &p.Tiles }, (*text).goingThrough),
		part("longest", func(p *Program) **LongestFirst { return &p.LongestFirst }, (*text).longest),
		{"grouped", theKernel, func(p *Program, _ *ir.Op) bool { return p.Grouped }, (*text).grouped},
		{"along", theKernel, func(p *Program, _ *ir.Op) bool { return p.Along != nil }, func(t *text, _ *ir.Op) { t.axis(&t.Along) }},
		{"ragged", theKernel, func(p *Program, _ *ir.Op) bool { return len(p.RaggedGrid) > 0 }, func(t *text, _ *ir.Op) { t.axes(&t.RaggedGrid) }},
		{"staggered", theKernel, func(p *Program, _ *ir.Op) bool { return p.Staggered > 0 }, func(t *text, _ *ir.Op) { number(t, &t.Staggered) }},
		{"private", theKernel, func(p *Program, _ *ir.Op) bool { return len(p.Privates) > 0 }, func(t *text, _ *ir.Op) { t.privates() }},
		{"once", theKernel, func(p *Program, _ *ir.Op) bool { return len(p.Once) > 0 }, func(t *text, _ *ir.Op) { list(t, &t.Once, t.tensorName) }},

		{"home", anyOp, func(p *Program, op *ir.Op) bool { return len(p.housed(op)) > 0 }, (*text).homes},
		byOp("ring", anAxisLoop, func(p *Program) map[*ir.Op]*Pipeline { return p.Pipelines }, (*text).loop),
		{"copy", aLoad, func(p *Program, op *ir.Op) bool { x, _ := p.copyOf(op); return x != nil }, (*text).copyOf},
		{"first", aLoad, (*Program).LoadedFirst, (*text).first},
		byOp("boxload", aLoad, func(p *Program) map[*ir.Op]*BoxLoad { return p.Loads }, (*text).boxLoad),
		byOp("product", aProduct, func(p *Program) map[*ir.Op]*Product { return p.Products }, (*text).product),
		among("constant", func(p *Program) *[]*Constant { return &p.Constants }, func(c *Constant) **ir.Op { return &c.Load }, (*text).constant),
		listed("ahead", aResult, func(p *Program) *[]*ir.Op { return &p.Ahead }),
		{"prefetch", aLoad, func(p *Program, op *ir.Op) bool {
			return slices.ContainsFunc(p.Prefetches, func(x Prefetch) bool { return x.Load == op })
		}, (*text).prefetch},
		listed("early", aLoad, func(p *Program) *[]*ir.Op { return &p.Early }),
		listed("soon", aLoad, func(p *Program) *[]*ir.Op { return &p.Soon }),
		{"late", aResult, func(p *Program, op *ir.Op) bool { return p.Late[op] != nil }, (*text).late},
		among("beside", func(p *Program) *[]*Beside { return &p.Beside }, func(b *Beside) **ir.Op { return &b.Load }, (*text).besideProduct),
		among("brought", func(p *Program) *[]*Beside { return &p.Brought }, func(b *Beside) **ir.Op { return &b.Load }, (*text).besideProduct),
		among("copied", func(p *Program) *[]*Beside { return &p.Copied }, func(b *Beside) **ir.Op { return &b.Load }, (*text).besideProduct),
		listed("fetched", aLoad, func(p *Program) *[]*ir.Op { return &p.Fetched }),
		byOp("boxstore", aStore, func(p *Program) map[*ir.Op]*BoxStore { return p.Stores }, (*text).boxStore),
		{"reciprocal", aDivision, func(p *Program, op *ir.Op) bool { return p.Quotients[op] > 0 }, (*text).reciprocal},
		{"phase", aResult, func(p *Program, op *ir.Op) bool { return p.beginsPhase(op) }, (*text).phase},
		{"deferred", aReduction, (*Program).isDeferred, (*text).deferred},
		{"moments", aReduction, func(p *Program, op *ir.Op) bool { return p.Moments[op] != nil }, (*text).moments},
		{"row", aStore, func(p *Program, op *ir.Op) bool { return p.rowOf(op) != nil }, (*text).rowCopy},
		{"words", anAccess, func(p *Program, op *ir.Op) bool { return p.Words != nil && p.Words.Row == op }, (*text).words},
	}
}

// part is a note about the kernel that is a part of the program, which may be missing.
func part[T any](word string, of func(*Program) **T, text func(*text, *T)) note {
	return note{word, theKernel, func(p *Program, _ *ir.Op) bool { return *of(p) != nil }, partText(of, text)}
}

func partText[T any](of func(*Program) **T, one func(*text, *T)) func(*text, *ir.Op) {
	return func(t *text, _ *ir.Op) {
		x := of(t.Program)
		if t.reading() {
			*x = new(T)
		}
		one(t, *x)
	}
}

// byOp is a note about an operation for which the program has a part.
func byOp[T any](word string, about subject, of func(*Program) map[*ir.Op]*T, one func(*text, *T, *ir.Op)) note {
	return note{word, about, func(p *Program, op *ir.Op) bool { return of(p)[op] != nil }, func(t *text, op *ir.Op) {
		if t.reading() {
			of(t.Program)[op] = new(T)
		}
		one(t, of(t.Program)[op], op)
	}}
}

// among is a note about a load that has an entry in one of the program's lists.
func among[T any](word string, of func(*Program) *[]*T, load func(*T) **ir.Op, one func(*text, *T)) note {
	find := func(p *Program, op *ir.Op) int {
		return slices.IndexFunc(*of(p), func(x *T) bool { return *load(x) == op })
	}
	return note{word, aLoad, func(p *Program, op *ir.Op) bool { return find(p, op) >= 0 }, func(t *text, op *ir.Op) {
		if all := of(t.Program); t.reading() {
			x := new(T)
			*load(x) = op
			*all = append(*all, x)
		}
		one(t, (*of(t.Program))[find(t.Program, op)])
	}}
}

// listed is a note that says no more than that an operation is in one of the program's lists.
func listed(word string, about subject, of func(*Program) *[]*ir.Op) note {
	return note{word, about, func(p *Program, op *ir.Op) bool { return slices.Contains(*of(p), op) }, func(t *text, op *ir.Op) {
		if t.reading() {
			*of(t.Program) = append(*of(t.Program), op)
		}
	}}
}

// made are the values that an operation makes: its results, and what its blocks begin with.
func made(op *ir.Op) []*ir.Value {
	if op == nil {
		return nil
	}
	all := slices.Clone(op.Results)
	for _, b := range op.Blocks {
		all = append(all, b.Params...)
	}
	return all
}

// housed are the tiles among them that have a home; that of scalars is every thread.
func (p *Program) housed(op *ir.Op) []*ir.Value {
	return slices.DeleteFunc(made(op), func(v *ir.Value) bool {
		_, ok := p.Homes[v]
		return !ok || v.Type.IsScalar()
	})
}

// homes are the layouts of an operation's tiles, those of one layout together.
func (t *text) homes(op *ir.Op) {
	if !t.reading() {
		for rest := t.housed(op); len(rest) > 0; {
			l := t.Homes[rest[0]]
			for i, v := range rest {
				if t.Homes[v].Equal(l) {
					if i > 0 {
						t.put(",")
					}
					t.value(&v)
				}
			}
			t.put(":")
			t.layout(&l)
			if rest = slices.DeleteFunc(rest, func(v *ir.Value) bool { return t.Homes[v].Equal(l) }); len(rest) > 0 {
				t.put(";")
			}
		}
		return
	}
	for more := true; more; more = t.r.Accept(";") {
		at := t.r.Here()
		values := []*ir.Value{t.r.Value()}
		for t.r.Accept(",") {
			values = append(values, t.r.Value())
		}
		t.r.Punct(":")
		var l layout.Layout
		t.held(&l, values[0].Type.Axes)
		for _, v := range values {
			if _, twice := t.Homes[v]; twice || !slices.Contains(made(op), v) || !v.Type.With(lang.I32).Same(values[0].Type.With(lang.I32)) || v.Type.IsScalar() {
				t.r.FailAt(at, "%s is no tile that is made here over the axes of %s, or has two homes", ValueName(v), ValueName(values[0]))
			}
			t.Homes[v] = l
		}
	}
}

func (t *text) grouped(*ir.Op) {
	if t.reading() {
		t.Grouped = true
	}
}

func (t *text) reciprocal(op *ir.Op) {
	if t.reading() {
		t.Quotients[op] = t.sameDivisor(op)
	}
}

// privates are the tensors that a block changes in shared memory first; what else is known of them follows from the kernel.
func (t *text) privates() {
	at := t.place()
	var tensors []*ir.Tensor
	for _, x := range t.Privates {
		tensors = append(tensors, x.Tensor)
	}
	list(t, &tensors, t.tensor)
	if !t.reading() {
		return
	}
	t.later = append(t.later, func() {
		for _, tensor := range tensors {
			x, ok := PrivateIn(t.Func, tensor, int64(t.MostPrivate))
			if !ok || t.PrivateOf(tensor) != nil {
				t.r.FailAt(at, "%s is no tensor that a block may change in shared memory first, or stands there twice", ir.TensorName(tensor))
			}
			t.Privates = append(t.Privates, &x)
		}
	})
}

// loop is a loop with stages.
func (t *text) loop(x *Pipeline, op *ir.Op) {
	at := t.place()
	if t.ring(x); !t.reading() {
		return
	}
	x.Op = op
	t.later = append(t.later, func() {
		if x.Overlapped {
			all := t.overlaps(op, x.Copies)
			if len(all) == 0 {
				t.r.FailAt(at, "the loop has no product that the next step may wait for")
			}
			for _, c := range all {
				c.Overlapped = all
			}
		}
		if x.Overlap != nil {
			o := t.newOverlap(x)
			if o == nil {
				t.r.FailAt(at, "the products of this loop cannot overlap")
			}
			o.Turns = x.Overlap.Turns
			x.Overlap = o
		}
		t.hint(x)
	})
}

// copyOf finds the loop that loads ahead by an operation, and the copy's number; nil where none does.
func (p *Program) copyOf(load *ir.Op) (*Pipeline, int) {
	for _, x := range p.Pipelines {
		if i := slices.IndexFunc(x.Copies, func(c Copy) bool { return c.Load == load }); i >= 0 {
			return x, i
		}
	}
	return nil, 0
}

func (t *text) copyOf(op *ir.Op) {
	if t.reading() {
		x := t.Pipelines[t.inLoop()]
		if x == nil {
			t.r.FailAt(t.r.Here(), "a copy is of a load in a loop that has a ring")
		}
		x.Copies = append(x.Copies, Copy{Load: op})
	}
	x, i := t.Program.copyOf(op)
	t.copy(&x.Copies[i])
	early := slices.Contains(x.Early, i)
	if t.flag("early", &early); early && t.reading() {
		x.Early = append(x.Early, i)
	}
}

// inLoop is the loop around the operation that a note is about.
func (t *text) inLoop() *ir.Op {
	loop := t.r.Around()
	if !aLoop.is(loop) {
		t.r.FailAt(t.r.Here(), "such a note is about what stands in a loop")
	}
	return loop
}

func (t *text) first(op *ir.Op) {
	if t.reading() {
		t.First[t.inLoop()] = append(t.First[t.inLoop()], op)
	}
}

func (t *text) prefetch(op *ir.Op) {
	if t.reading() {
		x := Prefetch{Load: op}
		switch around := t.r.Around(); {
		case around != nil && around.Code == lang.OpFor:
			x.Loop = around
		case around != nil && around.Code == lang.OpIf:
			x.Under = around.Args[0]
		default:
			t.r.FailAt(t.r.Here(), "what is asked for is loaded in a loop or under a condition")
		}
		t.Prefetches = append(t.Prefetches, x)
	}
	i := slices.IndexFunc(t.Prefetches, func(x Prefetch) bool { return x.Load == op })
	unless(t, "steps", &t.Prefetches[i].Steps, 0)
}

func (t *text) late(op *ir.Op) {
	if !t.reading() {
		return
	}
	at := t.r.Here()
	t.later = append(t.later, func() {
		if t.Late[op] = t.onlyStore(op.Result()); t.Late[op] == nil {
			t.r.FailAt(at, "%s goes to no store by boxes, or elsewhere too", ValueName(op.Result()))
		}
	})
}

// beginsPhase reports a comparison that holds throughout the first steps of a loop, or the last.
func (p *Program) beginsPhase(op *ir.Op) bool {
	for _, f := range p.Phases {
		if op != nil && f.Holds.Def == op {
			return true
		}
	}
	return false
}

func (t *text) phase(op *ir.Op) {
	if !t.reading() {
		return
	}
	at, loop := t.r.Here(), t.inLoop()
	t.later = append(t.later, func() {
		f := t.phaseOf(loop, op)
		if f == nil || t.Phases[loop] != nil {
			t.r.FailAt(at, "%s does not tell whether a step is one of the first of its loop, or of the last, or another comparison does", ValueName(op.Result()))
		}
		t.Phases[loop] = f
	})
}

// isDeferred reports a reduction that is joined behind its loop.
func (p *Program) isDeferred(op *ir.Op) bool {
	for _, all := range p.Deferred {
		if slices.ContainsFunc(all, func(d *Deferral) bool { return d.Reduce == op }) {
			return true
		}
	}
	return false
}

func (t *text) deferred(op *ir.Op) {
	if !t.reading() {
		return
	}
	at, loop := t.r.Here(), t.inLoop()
	t.later = append(t.later, func() {
		for i := range loop.Results {
			if d := t.newDeferral(loop, i); d != nil && d.Reduce == op {
				t.Deferred[loop] = append(t.Deferred[loop], d)
				slices.SortFunc(t.Deferred[loop], func(x, y *Deferral) int { return x.Carried - y.Carried })
				return
			}
		}
		t.r.FailAt(at, "%s cannot be joined behind its loop", ValueName(op.Result()))
	})
}

func (t *text) moments(op *ir.Op) {
	if !t.reading() {
		return
	}
	at := t.r.Here()
	t.later = append(t.later, func() {
		if t.Moments[op] = t.newMoments(op); t.Moments[op] == nil {
			t.r.FailAt(at, "%s is not found with the squares of what is off it", ValueName(op.Result()))
		}
	})
}

// rowOf is the row that is copied in place of what a store puts in shared memory; nil where none is.
func (p *Program) rowOf(store *ir.Op) *RowCopy {
	for _, all := range p.RowCopies {
		for _, c := range all {
			if c.Store == store {
				return c
			}
		}
	}
	return nil
}

func (t *text) rowCopy(op *ir.Op) {
	if !t.reading() {
		unless(t, "step", &t.rowOf(op).Step, 0)
		return
	}
	at, loop := t.r.Here(), t.inLoop()
	step := int64(0)
	unless(t, "step", &step, 0)
	t.later = append(t.later, func() {
		if !op.Tensor.Shared || !slices.Contains(t.topLoops(), loop) {
			t.r.FailAt(at, "a row is copied in place of a store in shared memory, in a loop of the kernel's body")
		}
		c := t.newRowCopy(loop, op)
		if c == nil {
			t.r.FailAt(at, "what is stored is no whole row of a tensor, or begins where no copy does")
		}
		if c.Step = step; step > 0 {
			c.Parts = (lastDim(c.Load.Tensor) + step - 1) / step
		}
		t.RowCopies[loop] = slices.Insert(t.RowCopies[loop], 0, c)
	})
}

func (t *text) words(op *ir.Op) {
	if !t.reading() {
		return
	}
	if t.Words != nil || !isRow(op.Tensor, t.Access(op)) {
		t.r.FailAt(t.r.Here(), "the words are those of one access of a row of a tensor")
	}
	t.Words = &Words{Row: op}
}
