// Package spec has what a launch fixes of a kernel: element types, sizes, layouts, pins, and the conditions that these must
// meet. It knows typed kernels; it must not know tile IR beyond its dimensions, nor devices.
package spec

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"tilec/jit/ir"
	"tilec/jit/misuse"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Spec is one specialisation of a kernel: what its generic parts stand for.
// Two launches with the same Key run the same compiled code.
type Spec struct {
	Kernel *typed.Kernel
	Types  map[*typed.TypeParam]lang.DType
	Consts map[*size.Symbol]lang.Literal
	// Dims is the size of every dimension.
	Dims map[*size.Symbol]int64
	// Layouts describes each tensor parameter, inputs then outputs, in order of declaration; scalars have the zero Layout.
	Layouts []Layout
	// Pins are extents by tile name, from the command line or the launch.
	Pins map[string]int64
	// Precision of f32 contractions when the kernel does not say: "" (tf32), "ieee" or "tf32x3".
	Precision string
	// Debug keeps what is checked in debug builds only.
	Debug bool
	// Deterministic: each element has the same bits however many others, up to SameRows in a dimension, are computed beside it.
	// See Reckoned.
	Deterministic bool
	// Dependent: the launch is one of several of a program, and may begin before the one before it has ended.
	Dependent bool
	// Timed: the launch leaves when it began and ended.
	Timed bool
	// Fused are the kernels that the launch computes too, in the order in which they were fused; see fused.go.
	Fused []Fusion
	// Cut says which half of its kernel the launch computes; nil for the whole.
	Cut *Cut
	// filled are the outputs that earlier launches of a formula have filled.
	filled map[string]bool
	// Wide treats every dimension as one of more than 2^31 elements: for tests of that code on small tensors.
	Wide bool
	// Vary, of a test, chooses among those that the planner may give the parameters of a kernel; nil leaves it to the planner.
	Vary func(kernel string, open map[string][]int64) map[string]int64
}

// Check reports a specialisation that lacks what its kernel needs.
func (s *Spec) Check(call string) error {
	if s == nil || s.Kernel == nil || s.Kernel.Decl == nil {
		return misuse.Unset(call, "the specialisation has no kernel: Specialise gives one")
	}
	for _, p := range s.Kernel.TypeParams {
		if d := s.Types[p]; !d.IsValid() {
			return misuse.New(call, fmt.Sprintf("element type %s of %s is not given", p.Name, s.Kernel.Name), misuse.ErrUnset)
		}
	}
	for _, c := range s.Kernel.Consts {
		if _, ok := s.Consts[c]; !ok {
			return misuse.New(call, fmt.Sprintf("constant %s of %s is not given", c.Name, s.Kernel.Name), misuse.ErrUnset)
		}
	}
	for _, d := range s.Kernel.Dims {
		if n, ok := s.Dims[d]; !ok || n < 0 {
			return misuse.New(call, fmt.Sprintf("dimension %s of %s is %d, or not given", d.Name, s.Kernel.Name, n), misuse.ErrRange)
		}
	}
	if want := len(Params(s.Kernel)); len(s.Layouts) != want {
		return misuse.New(call, fmt.Sprintf("%s has %d parameters, and %d layouts are given", s.Kernel.Name, want, len(s.Layouts)), misuse.ErrMismatch)
	}
	return nil
}

// Layout is what a specialisation knows of where a tensor's elements lie.
type Layout struct {
	// Contiguous tensors are row-major without gaps.
	Contiguous bool
	// Inner is the stride of the last dimension, when it is 1; 0 otherwise.
	Inner int64
	// Divisors divide the strides of a tensor that is not contiguous, in elements, outermost first; powers of two up to 16.
	Divisors []int64
	// Align divides the address of the first element, in bytes; a power of two up to 16.
	Align int64
	// Constant: no launch of the program up to this one writes the tensor.
	Constant bool
	// Grows is where the program writes a tensor that is no constant; nil where that is anywhere. Starts: this tensor holds where that begins.
	Grows  *ir.Grows
	Starts bool
	// Order is, of a contiguous tensor of which the dimensions lie in another order than they are declared in, that order: the
	// last of it is innermost. Nil for the order of declaration.
	Order []int
	// As is the type of the elements, where it is another than the declared one, which it holds exactly: of an input of products alone.
	As lang.DType
	// Rounded is, of an output of f32 that launches only read to round it, to which type they do: f16 or bf16. See the rule of exactness (jit/build).
	Rounded lang.DType
}

// Params is the kernel's parameters as a launch passes them: inputs and inouts, then outputs.
func Params(k *typed.Kernel) []*typed.Param {
	return append(append([]*typed.Param{}, k.Params...), k.Outputs...)
}

// Launches are the specialisations that are compiled and launched: of the parts of a formula, or the one itself.
func (s *Spec) Launches() []*Spec {
	if s == nil || s.Kernel == nil {
		return nil
	}
	if len(s.Kernel.Parts) == 0 {
		return []*Spec{s}
	}
	var launches []*Spec
	filled := map[string]bool{}
	for _, k := range s.Kernel.Parts {
		part := *s
		part.Kernel, part.Layouts = k, nil
		for _, i := range s.Places(k) {
			part.Layouts = append(part.Layouts, s.Layouts[i])
		}
		others := s.Kernel.PinsBeside(k)
		part.Pins = maps.Clone(s.Pins)
		maps.DeleteFunc(part.Pins, func(name string, _ int64) bool { return others[name] })
		part.filled = maps.Clone(filled)
		for _, name := range part.Fills() {
			filled[name] = true
		}
		launches = append(launches, &part)
	}
	return launches
}

// Places gives, for each parameter of a part, its place among those of the whole kernel.
func (s *Spec) Places(part *typed.Kernel) []int {
	all := Params(s.Kernel)
	var at []int
	for _, p := range Params(part) {
		at = append(at, slices.IndexFunc(all, func(q *typed.Param) bool { return q.Name == p.Name }))
	}
	return at
}

// FixedDims decides which dimensions a specialisation fixes: those whose size
// shapes the code (whole axes, and innermost dimensions, on which the width of
// memory accesses depends). The others are parameters of the launch, so that a
// new batch or sequence length needs no new code. The dimension of a tensor that has no other decides no row's place,
// and whether elements are masked alone: it may be that of rows, and deterministic code does not fix it. What is planned for
// one position is planned for no other number (Reckoned), so a dimension of one is fixed too, and nothing is computed of it.
func (s *Spec) FixedDims() map[*size.Symbol]bool {
	k, least := s.Kernel, 1
	if s.Deterministic {
		least = 2
	}
	fixed := map[*size.Symbol]bool{}
	mark := func(s size.Size) {
		for _, sym := range s.Symbols() {
			fixed[sym] = true
		}
	}
	for _, a := range k.Axes {
		if a.Kind == typed.WholeAxis {
			mark(a.Lo)
			mark(a.Len)
			if !a.IsFree {
				mark(a.Dim)
			}
			mark(a.Dim) // known even where the range is constant: a load's bounds follow from it
		}
	}
	for _, s := range k.Fixed {
		mark(s)
	}
	for _, p := range Params(k) {
		if n := len(p.Shape); n >= least {
			mark(p.Shape[n-1])
		}
	}
	for _, d := range k.Dims {
		if s.Dims[d] == 1 && !s.Deterministic {
			fixed[d] = true
		}
	}
	return fixed
}

// rowUnit is a number of elements of which rows are multiples where copies of any kind may take them: 16 bytes, whatever the type.
const rowUnit = 16

// Multiples are powers of two, up to rowUnit, that divide dimensions which are not fixed but decide where rows begin: those between the first and the last of a tensor, where what stands
// behind them leaves that open. The rows of images of 14 x 14 f32 begin at multiples of 16 bytes, which their width alone does not say, and can be copied as such. Deterministic code reckons with none.
func (s *Spec) Multiples(fixed map[*size.Symbol]bool) map[*size.Symbol]int64 {
	all := map[*size.Symbol]int64{}
	params := Params(s.Kernel)
	if s.Deterministic || len(s.Layouts) != len(params) { // the latter is what Check reports
		return all
	}
	for i, p := range params {
		l := s.Layouts[i]
		if !l.Contiguous && l.Order == nil || l.Order != nil && len(l.Order) != len(p.Shape) { // the latter is seen in another shape
			continue
		}
		behind := int64(1)
		for at := len(p.Shape) - 1; at > 0 && behind%rowUnit != 0; at-- {
			d := at
			if l.Order != nil {
				d = l.Order[at]
			}
			n, err := p.Shape[d].Eval(s.Value)
			if err != nil || n <= 0 {
				break
			}
			divides := min(n&-n, rowUnit)
			if slices.ContainsFunc(p.Shape[d].Symbols(), func(sym *size.Symbol) bool { return !fixed[sym] }) {
				sym := p.Shape[d].Symbol()
				if sym == nil {
					break
				}
				all[sym] = divides
			}
			behind *= divides
		}
	}
	return all
}

// Value looks a symbol up for Size.Eval.
func (s *Spec) Value(sym *size.Symbol) (int64, bool) {
	if c, ok := s.Consts[sym]; ok {
		return c.Int, true
	}
	n, ok := s.Dims[sym]
	return n, ok
}

// fewClasses is up to where a class of sizes ends at a power of two.
const fewClasses = 16

// Class is the largest of the sizes that share one plan and its code with n: up to fewClasses a power of two, and from there on a quarter, a half, three quarters
// of the way to the next one too. (By powers of two alone, images of 56 x 56 had plans for 64 x 64: on an H200 convolutions of 3 x 3 of 56 x 56 and 28 x 28 take 0.75 to 1.07 of
// their time by plans for what they are. With as many classes from 8 on, convolutions of 14 x 14 gained and lost, 0.87 to 1.11, and steps of GPT-2, which has 12 heads, took as long.)
func Class(n int64) int64 {
	most := Bucket(n)
	if most <= fewClasses {
		return most
	}
	quarter := most / 8
	return (n + quarter - 1) / quarter * quarter
}

// Bucket is the power of two at or above n.
func Bucket(n int64) int64 {
	b := int64(1)
	for b < n {
		b *= 2
	}
	return b
}

// SameRows is up to how many positions a dimension may have without a difference to any bit of a deterministic launch: the
// sequences of a batch, or tokens of a prompt.
const SameRows = 64

// Reckoned is how many positions everything that decides of code reckons with, where a dimension has n and the code does not
// fix them: plans, the choice of instructions, fusion. Of a deterministic launch that is one number up to SameRows, so that
// one code computes all of them: in which order the terms of a sum are added is the code's, and in which block, row and lane an element
// lies is nothing that it could show.
func (s *Spec) Reckoned(n int64) int64 {
	if s.Deterministic {
		n = max(n, SameRows)
	}
	return Class(n)
}

// Key names a specialisation: everything that its code depends on. It keeps the kernel, so that none that is
// loaded later has its address.
type Key struct {
	kernel *typed.Kernel
	rest   string
	fused  any
}

// Key names the specialisation.
func (s *Spec) Key() Key {
	if s == nil || s.Kernel == nil {
		return Key{}
	}
	var b strings.Builder
	for _, p := range s.Kernel.TypeParams {
		fmt.Fprintf(&b, " %s=%s", p.Name, s.Types[p])
	}
	for _, c := range s.Kernel.Consts {
		v := s.Consts[c]
		fmt.Fprintf(&b, " %s=%d/%g", c.Name, v.Int, v.Float)
	}
	fixed := s.FixedDims()
	multiples := s.Multiples(fixed)
	for _, d := range s.Kernel.Dims {
		if fixed[d] {
			fmt.Fprintf(&b, " %s=%d", d.Name, s.Dims[d])
		} else {
			fmt.Fprintf(&b, " %s<=%d%%%d", d.Name, s.Reckoned(s.Dims[d]), multiples[d])
			if s.Dims[d] > ir.NarrowSize {
				b.WriteString(" wide")
			}
		}
	}
	for _, l := range s.Layouts {
		fmt.Fprintf(&b, " %v/%d/%v/%d/%t/%v/%s/%s/%v/%t", l.Contiguous, l.Inner, l.Divisors, l.Align, l.Constant, l.Order, l.As, l.Rounded, l.Grows, l.Starts)
	}
	names := make([]string, 0, len(s.Pins))
	for n := range s.Pins {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintf(&b, " %s:=%d", n, s.Pins[n])
	}
	fmt.Fprintf(&b, " %s %t %t %t %t %t", s.Precision, s.Debug, s.Wide, s.Dependent, s.Timed, s.Deterministic)
	k := s.Kernel
	if s.Cut != nil {
		k = s.Cut.Of.Kernel
		fmt.Fprintf(&b, " cut %t", s.Cut.Behind)
	}
	return Key{k, b.String(), s.keyOfFused()}
}

// Fills are the outputs that a launch of the kernel fills first: of packed types all, since elements are stored beside others, and
// the last may have none beside it. Of the parts of a formula, the first that stores an output does.
func (s *Spec) Fills() []string {
	if s.Cut != nil && !s.Cut.Behind {
		return nil // the tensor between has all its elements stored
	}
	var names []string
	for _, p := range s.Kernel.Outputs {
		if (p.Fill || p.DType.Resolve(s.Types).Packed()) && !s.filled[p.Name] {
			names = append(names, p.Name)
		}
	}
	for i := range s.Fused {
		names = append(names, s.Fused[i].Spec.Fills()...)
	}
	return names
}
