// Package pass rewrites tile IR: one file a pass, one row a pass in the table.
// A pass leaves a kernel that verifies and that computes the same, up to the
// documented freedom in the order of float sums.
package pass

import (
	"fmt"
	"strings"

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
	// Before and After are an example in IR text, which a test runs. Chunks is its option.
	Before, After string
	Chunks        map[string]int64
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
	// Skip names passes to leave out.
	Skip map[string]bool
}

// Passes lists every pass in the order in which Run applies them.
func Passes() []Pass {
	return []Pass{fold, topk, sink, cse, licm, empty, contract, dce, share, spill, stream, bounds}
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

// Run applies the passes: the cheap ones in rounds until none changes
// anything, then the others, each followed by rounds of the cheap ones.
func Run(f *ir.Func, o Options) error {
	if o.Verify {
		if err := ir.Verify(f); err != nil {
			return fmt.Errorf("before any pass: %w", err)
		}
	}
	if err := rounds(f, &o); err != nil {
		return err
	}
	for _, p := range Passes() {
		if p.Cheap {
			continue
		}
		changed, err := apply(f, p, &o)
		if err != nil {
			return err
		}
		if changed {
			if err := rounds(f, &o); err != nil {
				return err
			}
		}
	}
	return nil
}

func rounds(f *ir.Func, o *Options) error {
	for range maxRounds {
		any := false
		for _, p := range Passes() {
			if !p.Cheap {
				continue
			}
			changed, err := apply(f, p, o)
			if err != nil {
				return err
			}
			any = any || changed
		}
		if !any {
			return nil
		}
	}
	return fmt.Errorf("kernel %s: passes still change it after %d rounds", f.Name, maxRounds)
}

func apply(f *ir.Func, p Pass, o *Options) (bool, error) {
	if o.Skip[p.Name] {
		return false, nil
	}
	changed, err := p.Run(f, o)
	if err != nil {
		return false, fmt.Errorf("pass %s: %w", p.Name, err)
	}
	if o.Verify {
		if err := ir.Verify(f); err != nil {
			return false, fmt.Errorf("pass %s broke the kernel: %w", p.Name, err)
		}
	}
	if changed && o.Dump != nil {
		o.Dump(p.Name, f)
	}
	return changed, nil
}
