package fuzz

import (
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"

	"tilec/jit"
	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/jit/spec"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file judges what a launch left by what it was given: every element by an interval of its own. Where that
// is too much work, blocks are drawn at random: blocks know nothing of each other, so that the elements that a block stores
// can be judged without the others.

// Evidence is what is known of one launch of a kernel.
type Evidence struct {
	Spec *spec.Spec
	// Operands follow the kernel's parameters: inputs and inouts, then outputs.
	Operands []Operand
	// Extents are those of the plan, by the names of axes: where a loop scales what it rounds by the largest so far, as an online
	// softmax does, its steps decide what is rounded. So do Splits, over how many blocks such a loop is divided.
	Extents, Splits map[string]int64
}

// Operand is what a launch was given for a parameter, and what it left there.
type Operand struct {
	Param *typed.Param
	// Scalar is the argument of a parameter that is no tensor.
	Scalar lang.Literal
	DType  lang.DType
	Shape  []int64
	// Before are the elements that a tensor held, row-major; nil for zeros. After are those of an output or inout after the launch.
	Before, After []byte
	// Empty: an output that held nothing, and that nothing filled: the kernel stores all of it.
	Empty bool
	// Shared: other launches may store what this one does not.
	Shared bool
}

// Judgement is what is found of one result of a kernel.
type Judgement struct {
	// Kernel and Result are names.
	Kernel string `json:"kernel"`
	Result string `json:"result"`
	// Launches is how many launches of the kernel are judged together.
	Launches int `json:"launches"`
	// Elements is how many the result has, Judged how many of them were judged, and Unknown of how many of those the reference can say nothing.
	Elements int64 `json:"elements"`
	Judged   int64 `json:"judged"`
	Unknown  int64 `json:"unknown,omitempty"`
	// Worst is the largest distance of a right element from the middle of its interval, as a part of half its width.
	Worst float64 `json:"worst"`
	// Wrong is how many elements are outside their intervals, First the first of them in words.
	Wrong int64  `json:"wrong,omitempty"`
	First string `json:"first,omitempty"`
	// Skipped is why nothing, or not every launch, could be judged; Left is how many launches.
	Skipped string `json:"skipped,omitempty"`
	Left    int    `json:"left,omitempty"`
}

// OK reports that nothing wrong was found.
func (j *Judgement) OK() bool { return j.Wrong == 0 }

// String is the judgement in words.
func (j *Judgement) String() string {
	text := fmt.Sprintf("%d of %d elements", j.Judged, j.Elements)
	switch {
	case j.Left == j.Launches:
		return "not judged: " + j.Skipped
	case j.Wrong > 0 && j.Judged == 0: // the reference itself met what cannot be
		return j.First
	case j.Wrong > 0:
		return fmt.Sprintf("%d of %d elements judged are beyond their bounds, the first of them %s", j.Wrong, j.Judged, j.First)
	case j.Judged < j.Elements && j.Left == 0:
		text += " (blocks drawn at random)"
	}
	text += fmt.Sprintf(" within their bounds, the worst at %.2g of its bound", j.Worst)
	if j.Unknown > 0 {
		text += fmt.Sprintf("; of %d nothing is known", j.Unknown)
	}
	if j.Left > 0 {
		text += fmt.Sprintf("; %d of %d launches not judged: %s", j.Left, j.Launches, j.Skipped)
	}
	return text
}

const (
	// opWork is the work of an operation besides that of its elements.
	opWork = 50
	// maxBlockWork bounds the elements that one block computes, where it cannot be made smaller.
	maxBlockWork = 100e6
)

// firstExtents are how many elements of a grid axis of open extent a block of the reference handles, by how many such axes there are.
var firstExtents = [...]int64{1, 256, 16, 8, 4}

// Judge judges the results of a launch, outputs and inouts in the order of the operands. Where all blocks are more work than a budget, it draws blocks by a seed.
func (a Arithmetic) Judge(e *Evidence, seed uint64, budget int64) []Judgement {
	r := newReview(a, e, seed, budget)
	skipped := r.review()
	var found []Judgement
	for i := range e.Operands {
		o := &e.Operands[i]
		if !o.Param.IsTensor || o.Param.Mode == lang.In {
			continue
		}
		j := Judgement{Kernel: e.Spec.Kernel.Name, Result: o.Param.Name, Launches: 1, Elements: jit.Elements(o.Shape)}
		switch {
		case r.fault != "":
			j.Wrong, j.First = 1, r.fault
		case skipped != "":
			j.Skipped, j.Left = skipped, 1
		default:
			r.arrays[o.Param.Name].judge(&j, o, r.all)
		}
		found = append(found, j)
	}
	return found
}

// review is the reference's run of a launch, all of it or some blocks.
type review struct {
	evidence *Evidence
	arith    Arithmetic
	budget   int64
	random   *rand.Rand

	m      *machine
	arrays map[string]*array
	// extent is how many elements of a grid axis of open extent a block handles.
	extent int64
	// all: every block was run.
	all bool
	// fault is what the reference found wrong without looking at the results.
	fault string
}

func newReview(a Arithmetic, e *Evidence, seed uint64, budget int64) *review {
	return &review{evidence: e, arith: a, budget: budget, random: rand.New(rand.NewPCG(seed, 1))}
}

// begin makes a run ready.
func (r *review) begin() (p *Problem) {
	r.arrays = map[string]*array{}
	scalars, given := map[string]*tile{}, map[*typed.Param]lang.Literal{}
	for _, o := range r.evidence.Operands {
		if !o.Param.IsTensor {
			given[o.Param] = o.Scalar
			v := ir.Const{Int: o.Scalar.Int, Float: o.Scalar.Float}
			if d := o.Scalar.DType; d.IsFloat() {
				v.Float = eval.Round(v.Float, d)
			} else if d != lang.Bool {
				v.Int = eval.Wrap(v.Int, d)
			}
			scalars[o.Param.Name] = scalarTile(o.Scalar.DType, v)
			continue
		}
		x := newArray(o.DType, o.Shape, o.Before)
		x.held = !o.Empty
		r.arrays[o.Param.Name] = x
	}
	r.m, p = r.arith.machine(r.evidence.Spec, given, r.arrays, scalars, func(a *ir.Axis) int64 {
		if a.Kind == ir.Grid {
			return r.extent
		}
		return r.evidence.Extents[a.Name]
	})
	if p == nil {
		r.m.splits = r.evidence.Splits
	}
	return p
}

// review runs the reference; skipped says why it cannot.
func (r *review) review() (skipped string) {
	p := r.begin()
	if p != nil {
		return p.Text
	}
	if r.m.fn.Approx && r.arith.sums.aligned {
		return "@approx lets functions err by more than their bounds"
	}
	open := 0
	for _, a := range r.m.fn.Grid() {
		if !a.Scalar && !r.m.fixed(a) {
			open++
		}
	}
	r.extent = firstExtents[min(open, len(firstExtents)-1)]
	for {
		switch p = r.blocks(); {
		case p == nil:
			return ""
		case p.Kind == Unproven:
			r.fault = p.Text
			return ""
		case p.Kind != TooLarge || r.extent == 1:
			return p.Text
		}
		r.extent /= 2
		if p = r.begin(); p != nil {
			return p.Text
		}
	}
}

// spent is the work so far.
func (r *review) spent() int64 { return r.m.work + opWork*r.m.ops }

// blocks runs every block, or as many as the budget allows; at least one.
func (r *review) blocks() *Problem {
	m := r.m
	var g *grid
	if err := m.guarded(func() { g = m.grid() }); err != nil {
		return problemOf(err)
	}
	most := int64(maxBlockWork)
	if r.extent > 1 { // it may be smaller
		most = min(most, r.budget)
	}
	limit, ran := r.budget, int64(0)
	connected := r.connected()
	if connected {
		limit *= 2 // some of them are of no use
	}
	for k := range r.order(g.blocks) {
		if ran > 0 && r.spent() > limit {
			break
		}
		m.limit = m.work + most
		if p := problemOf(m.guarded(func() { m.enter(g, k) })); p != nil {
			return p
		}
		if ran++; connected && r.spent()/ran > limit/g.blocks {
			break
		}
	}
	if r.all = ran == g.blocks; !r.all && connected {
		return problem(Refused, "blocks share elements by atomics, and all %d of them are too much work for the reference", g.blocks)
	}
	m.settle()
	return nil
}

// order gives the blocks, each once: the last first, which may have ragged ends, then the others at random.
func (r *review) order(blocks int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		if blocks == 0 || !yield(blocks-1) {
			return
		}
		if blocks <= r.budget/opWork {
			for _, k := range r.random.Perm(int(blocks - 1)) {
				if !yield(int64(k)) {
					return
				}
			}
			return
		}
		drawn := map[int64]bool{blocks - 1: true}
		for int64(len(drawn)) < blocks {
			if k := r.random.Int64N(blocks); !drawn[k] {
				drawn[k] = true
				if !yield(k) {
					return
				}
			}
		}
	}
}

// connected reports blocks that change the same elements, by atomics. Stores of two blocks are never to one element.
func (r *review) connected() (is bool) {
	r.m.fn.Walk(func(op *ir.Op) bool {
		is = is || op.Code.IsAtomic()
		return true
	})
	return is
}

// judge holds the elements of a result against what they may be: all, or those that the blocks stored that were run.
func (a *array) judge(j *Judgement, o *Operand, all bool) {
	for page, p := range a.pages {
		if p == nil && !all {
			continue
		}
		first := int64(page) * pageSize
		for i := first; i < min(first+pageSize, a.size); i++ {
			switch {
			case !all && !a.stored(i):
				continue
			case o.Shared && !a.lost && !a.written(i):
				j.Elements--
				continue
			}
			j.Judged++
			n := 0.0
			switch {
			case a.lost || a.written(i) && a.unknown(i):
				j.Unknown++
				continue
			case !a.written(i):
				n = infinity
			default:
				n = a.measure(i, o.After)
			}
			if n <= 1 {
				j.Worst = math.Max(j.Worst, n)
				continue
			}
			if j.Wrong++; j.Wrong > 1 {
				continue
			}
			j.First = fmt.Sprintf("%s%s = %s, which ", j.Result, jit.FormatShape(position(i, a.shape)), a.got(i, o.After))
			if a.written(i) {
				j.First += "must be " + a.required(i)
			} else {
				j.First += "nothing stores"
			}
		}
	}
}

// seedOf is the seed of a launch's blocks.
func seedOf(seed uint64, kernel string, number int) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, seed, kernel, number)
	return h.Sum64()
}
