// Package pass rewrites tile IR: one file a pass, one row a pass in the table.
// A pass leaves a kernel that verifies and that computes the same, up to the
// documented freedom in the order of float sums.
package pass

import (
	"errors"
	"fmt"
	"strings"

	"tilec/jit/bug"
	"tilec/jit/ir"
)

// Pass is one row of the table.
type Pass struct {
	// Name is the pass's name in logs and in options.
	Name string
	// Run rewrites the kernel and reports whether it changed anything. On an
	// error the kernel must not be used.
	Run func(f *ir.Func, o *Options) (changed bool, err error)
	// Doc says in a line what the pass does.
	Doc string
	// Cheap passes run again, in a round, as long as one of them changes something.
	Cheap bool
	// Planned passes run when a plan has given the axes their extents, and not before: see Planned.
	Planned bool
	// Before and After are an example in IR text, which a test runs. Chunks is its option.
	Before, After string
	Chunks        map[string]int64
	// Shared and Threads are options of the example too.
	Shared, Threads int64
	// Few and Ranges are options of the example too.
	Few    func(*ir.Axis) bool
	Ranges bool
	Matrix bool
	Online bool
}

// Options says how Run works.
type Options struct {
	// Verify checks the kernel after every pass and names the pass that broke it.
	Verify bool
	// Dump, if set, sees the kernel after every pass that changed it.
	Dump func(pass string, f *ir.Func)
	// Chunks gives, by name, the elements at once of the Whole axes that `stream` makes loops of.
	Chunks map[string]int64
	// Extents gives, by name, the elements that a block or a step has of the other axes; those of `spill`'s tensors follow from it.
	Extents map[string]int64
	// Recompute makes `sink` compute tiles again rather than take from them, however
	// much that is: what is not taken from can be streamed.
	Recompute bool
	// Shared is how many bytes of shared memory `keep` may take.
	Shared int64
	// Few, where it is set, says which axes are so short that `matvec` rewrites contractions with such rows.
	Few func(*ir.Axis) bool
	// Ranges has `ranges` give a block several ranges.
	Ranges bool
	// Online has `online` make one loop of the passes of a softmax.
	Online bool
	// Threads is how many threads a block has that compute; 0 where that is not said, as of the CPU.
	Threads int64
	// Matrix: the machine has a matrix unit, whose operands come ahead through shared memory and from registers; `mix` and `counted` are for such.
	Matrix bool
	// Skip names passes to leave out.
	Skip map[string]bool
}

// Extra are passes behind those of the table: tests put wrong ones here, to see what is said of them.
var Extra []Pass

// Passes lists every pass in the order in which Run applies them.
func Passes() []Pass {
	return append([]Pass{fold, topk, sink, cse, licm, empty, factors, contract, taps, abreast, mix, counted, matvec, orient, ranges, online, dce, share, spill, stream, single, alike, keep, bounds, flatten, uniform, shifts, unroll}, Extra...)
}

// Find gives a pass by name.
func Find(name string) (Pass, error) {
	var known []string
	for _, p := range Passes() {
		if p.Name == name {
			return p, nil
		}
		known = append(known, p.Name)
	}
	return Pass{}, fmt.Errorf("unknown pass %q: known are %s", name, strings.Join(known, ", "))
}

// maxRounds bounds the rounds of cheap passes. Each round makes the kernel
// smaller or moves something outward, so it is a guard, not a tuning value.
const maxRounds = 20

// Run applies the passes that run before there is a plan: the cheap ones in rounds until none changes
// anything, then the others, each followed by rounds of the cheap ones. A pass
// that panics or leaves a kernel that does not verify is a *bug.Error with the
// kernel's text before that pass.
func Run(f *ir.Func, o Options) error {
	f.Settle()
	if o.Verify {
		if err := verify(f); err != nil {
			b := bug.New("build", "before any pass: %w", err)
			b.Kernel, b.IR = f.Name, f.String()
			return b
		}
	}
	before := ir.Clone(f)
	r := &run{f: f, o: &o}
	err := r.all()
	return bug.In(err, func(e *bug.Error) {
		if e.Kernel = f.Name; r.applied == 0 || e.IR != "" {
			return
		}
		// The passes always do the same: as many of them but the last give the kernel that the last one had.
		quiet := o
		quiet.Dump = nil
		again := &run{f: before, o: &quiet, limit: r.applied}
		if errors.Is(again.all(), errLimit) {
			e.IR = before.String()
		}
	})
}

// Planned applies the passes that run when the axes have the extents of a plan, each once and in order.
func Planned(f *ir.Func, o Options) error {
	for _, p := range Passes() {
		if !p.Planned {
			continue
		}
		if _, err := apply(f, p, &o); err != nil {
			return err
		}
	}
	return nil
}

// run is one application of the passes to a kernel.
type run struct {
	f *ir.Func
	o *Options
	// applied counts the passes so far, limit is the number of the one before which to stop; 0 for none.
	applied, limit int
}

var errLimit = errors.New("the limit is reached")

func (r *run) all() error {
	if err := r.rounds(); err != nil {
		return err
	}
	for _, p := range Passes() {
		if p.Cheap || p.Planned {
			continue
		}
		changed, err := r.apply(p)
		if err != nil {
			return err
		}
		if changed {
			if err := r.rounds(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) rounds() error {
	last := ""
	for range maxRounds {
		any := false
		for _, p := range Passes() {
			if !p.Cheap {
				continue
			}
			changed, err := r.apply(p)
			if err != nil {
				return err
			}
			if changed {
				any, last = true, p.Name
			}
		}
		if !any {
			return nil
		}
	}
	return bug.New("pass "+last, "passes still change the kernel after %d rounds", maxRounds)
}

func (r *run) apply(p Pass) (bool, error) {
	if r.applied++; r.applied == r.limit {
		return false, errLimit
	}
	return apply(r.f, p, r.o)
}

// verify is ir.Verify; a kernel in which it panics does not verify.
func verify(f *ir.Func) (err error) {
	defer bug.Catch(&err, "verify")
	return ir.Verify(f)
}

func apply(f *ir.Func, p Pass, o *Options) (changed bool, err error) {
	if o.Skip[p.Name] {
		return false, nil
	}
	stage := "pass " + p.Name
	defer bug.Catch(&err, stage)
	changed, err = p.Run(f, o)
	if err != nil {
		return false, fmt.Errorf("pass %s: %w", p.Name, err)
	}
	if changed {
		f.Settle()
	}
	if o.Verify {
		if err := verify(f); err != nil {
			return false, bug.New(stage, "it broke the kernel: %w", err)
		}
	}
	if changed && o.Dump != nil {
		o.Dump(p.Name, f)
	}
	return changed, nil
}
