package compile

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/pass"
	"tilec/jit/plan"
	"tilec/jit/spec"
	"tilec/lang"
)

// This file has the forms beside that of a loop over the depth which a contraction of few rows may have on a GPU, as those of a step
// of decoding: without a matrix unit, and with all of the depth at once, which the warps of a block share.

// vectorRows is of how many rows a contraction may be better off without a matrix unit.
const vectorRows = 4

// vectorMargin is by how much the planner has to expect less time of contractions without a matrix unit to have them so, where they take what others give,
// such as those of attention, or their launch begins before those before it have ended. Where it expected less, a launch of attention of one query and 128
// positions took some 2 us longer so on an H200, one of 32 queries and 1,000 positions 4 us, and one of one query and 1,000 positions as long; a step of
// GPT-2 of 124M, whose weights are there before what they are multiplied with, 157 us with a matrix unit in all products and 174 without where the planner saw no difference.
const vectorMargin = 1.2

// wideMargin is the same of single rows by more weights each than all multiprocessors have under way, so that most of them come behind the wait in either form. The planner
// expects as much of both, where products and sums read faster (an H200, L2 overwritten, bf16, by a matrix unit and without: 2,048 x 8,192 14.6 and 13.6 us, 4,096 x 14,336
// 37.5 and 32.7, 8,192 x 8,192 41.6 and 38.6, 2,048 x 128,256 197 and 127; a step of Llama's 1B 1,282, and 1,157 with all of its single products so). In a graph half as
// many are enough, for the launch before still holds its own (steps of GPT-2, with that and without: 1.5B, of whose products three have 15 and 20 MB, 1,326 and 1,672 us, 774M with 13 MB 657 and 670; a quarter takes 774M 746, and 355M 347 where 322). Four rows of 2,048 x 8,192 took 14.9 and 17.6.
const wideMargin = 0.9

// deepMargin is by how much more time the planner may expect of a product with all of its depth at once, in a launch that begins before those before it have
// ended: its weights are there by then, where a loop has those of its first steps. On an H200 the product of 32 rows and 3,072 by 768 that ends a layer of
// GPT-2 took 6.4 us of a step by a loop, for which the planner expected less than for the other form; a step took 319 us with loops there, and 294 without (of
// 24 rows 293 and 272; of 355M 810 and 769).
const deepMargin = 1.2

// orForFewRows gives the code that computes contractions of few rows in another form, where there are such and the planner
// expects it to take less time than l.
func (p *planning) orForFewRows(s *spec.Spec, pins map[string]int64, l *Lowered) (*Lowered, error) {
	if !p.target.IsGPU() {
		return l, nil
	}
	o, err := p.deep(s, pins)
	if isBug(err) {
		return nil, err
	}
	all := p.contracts(func(*ir.Op) bool { return true })
	margin := 1.0
	if p.f.Dependent && all == 1 {
		margin = deepMargin
	}
	if err == nil && o != nil && o.Plan.Time <= l.Plan.Time*margin {
		l = o
	}
	margin = 1.0
	switch {
	case all > 0 && p.contracts(p.wideRow) == all:
		margin = wideMargin
	case p.f.Dependent || all > 1:
		margin = vectorMargin
	}
	o, err = p.byVectors(s, pins)
	if isBug(err) {
		return nil, err
	}
	if err == nil && o != nil && o.Plan.Time*margin < l.Plan.Time {
		l = o
	}
	return l, nil
}

// wideRow reports a contraction of one row by more than all multiprocessors have in shared memory, or half of that in a graph.
func (p *planning) wideRow(op *ir.Op) bool {
	if op.Code.Row().Group != lang.GroupContract || !pass.FewRows(op, p.few(1)) {
		return false
	}
	most := 0.0
	for _, v := range op.Args[:2] {
		bytes := float64(v.Type.DType.Bits()) / 8
		if v.Def != nil && v.Def.Tensor != nil {
			bytes = float64(v.Def.Tensor.DType.Bits()) / 8
		}
		for _, a := range v.Type.Axes {
			bytes *= float64(p.positions(a))
		}
		most = max(most, bytes)
	}
	room := float64(p.target.SMs) * float64(p.target.SharedPerSM())
	if p.f.Dependent {
		room /= 2
	}
	return most > room
}

// byVectors is the code that computes contractions of few rows by products and sums; nil where there are no such contractions.
func (p *planning) byVectors(s *spec.Spec, pins map[string]int64) (*Lowered, error) {
	few := p.few(vectorRows)
	if p.contracts(func(op *ir.Op) bool { return pass.FewRows(op, few) }) == 0 {
		return nil, nil
	}
	if p.contracts(func(op *ir.Op) bool { return op.Args[0].Type.DType == lang.F32 }) > 1 { // attention of f32 and 1,000 positions took longer: a step of 124M 374 us, and 270 by a matrix unit (an H200)
		return nil, nil
	}
	other := *p
	other.f = ir.Clone(p.f)
	if err := pass.Run(other.f, pass.Options{Verify: true, Few: few}); err != nil {
		return nil, asBug("passes", err)
	}
	return other.fitWith(s, pins)
}

// deep is the code that has all the depth of contractions of few rows at once; nil where there are no such contractions, or
// something is pinned of a loop over the depth: its stages, or how many blocks share it.
func (p *planning) deep(_ *spec.Spec, pins map[string]int64) (*Lowered, error) {
	few := p.few(plan.DeepRows)
	split := slices.ContainsFunc(p.f.Axes, func(a *ir.Axis) bool { return a.Split > 1 })
	if split || max(pins["stages"], p.f.Hints["stages"]) > 1 || p.contracts(func(op *ir.Op) bool { return pass.Narrow(op, few) }) == 0 {
		return nil, nil
	}
	other := *p
	other.effort = plan.Deep
	return other.fitAs(pins)
}

// few reports the axes of at most so many positions.
func (p *planning) few(rows int64) func(*ir.Axis) bool {
	return func(a *ir.Axis) bool { return p.positions(a) <= rows }
}

// positions is how many positions an axis has.
func (p *planning) positions(a *ir.Axis) int64 {
	switch {
	case a.Kind == ir.Whole:
		return a.Len
	case a.Dim.Known():
		return a.Dim.Value
	}
	return p.sizes(a.Dim)
}

// contracts is how many contractions of a kind the kernel has.
func (p *planning) contracts(kind func(*ir.Op) bool) (n int) {
	p.f.Walk(func(op *ir.Op) bool {
		if op.Code.Row().Group == lang.GroupContract && kind(op) {
			n++
		}
		return true
	})
	return n
}
