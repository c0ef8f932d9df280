package compile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tilec/jit/backend"
	"tilec/jit/bug"
	"tilec/jit/build"
	"tilec/jit/cache"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/pass"
	"tilec/jit/plan"
	"tilec/jit/spec"
	"tilec/jit/target"
)

// This file finds a plan whose code fits a block, as fast as there is one.

// planning is a kernel that is to be planned, for one target.
type planning struct {
	f      *ir.Func
	target target.Machine
	sizes  func(*ir.Dim) int64
	store  *cache.Cache
	// effort is how far the plan may go from what is fast.
	effort plan.Effort
	// deterministic: an element's bits show neither in which row it lies nor how many rows there are. Loops by words add up a row in an order that
	// follows where in a word the row begins, and chains are of products of few rows.
	deterministic bool
}

// plan chooses a plan for the kernel. The planner reckons with t.
func (p *planning) plan(t target.Machine, pins map[string]int64) (*plan.Plan, error) {
	chosen, err := p.chosen(t, pins)
	if err == nil && t.IsGPU() && p.deterministic {
		for _, form := range []string{"words", "chains"} {
			if chosen.Forms[form] == 0 {
				chosen.Forms[form] = 1
			}
		}
	}
	return chosen, err
}

// chosen is what the planner chooses, or has chosen for the same kernel, sizes and machine when another process asked: that is in the cache.
func (p *planning) chosen(t target.Machine, pins map[string]int64) (*plan.Plan, error) {
	if p.store == nil {
		return plan.ChooseAt(p.effort, p.f, t, p.sizes, pins)
	}
	var sizes strings.Builder
	for _, d := range p.f.Dims {
		fmt.Fprintf(&sizes, "%s=%d ", d.Name, p.sizes(d))
	}
	key := cache.NewKey("plan").Add("target", fmt.Sprintf("%+v", t)).AddInt("effort", int64(p.effort)).Add("pins", fmt.Sprint(pins)).
		Add("sizes", sizes.String()).Add("ir", p.f.String()).Sum()
	if data, ok := p.store.Get(key); ok {
		if kept, err := plan.Kept(data); err == nil {
			return kept, nil
		}
	}
	chosen, err := plan.ChooseAt(p.effort, p.f, t, p.sizes, pins)
	if err == nil {
		if data, err := chosen.Keep(); err == nil {
			p.store.Put(key, data)
		}
	}
	return chosen, err
}

// fitWith finds a plan with the extents that the specialisation asks for beside the pins, or without these where nothing fits.
func (p *planning) fitWith(s *spec.Spec, pins map[string]int64) (*Lowered, error) {
	if s.Vary != nil {
		if open, err := plan.Open(p.f, p.target, p.sizes, pins); err == nil {
			asked := s.Vary(p.f.Name, open)
			maps.Copy(asked, pins)
			if l, err := p.fit(asked); err == nil {
				return l, nil
			}
		}
	}
	return p.fit(pins)
}

// maxAttempts bounds how often a plan is chosen anew because the code for it does not fit.
const maxAttempts = 6

// fit finds a plan whose code fits: a fast one, or else one of smaller tiles.
func (p *planning) fit(pins map[string]int64) (*Lowered, error) {
	l, err := p.fitAt(plan.Fast, pins)
	if err == nil || isBug(err) {
		return l, err
	}
	if small, err := p.fitAt(plan.Small, pins); err == nil || isBug(err) {
		return small, err
	}
	return nil, err
}

// beyond finds a plan for a kernel of which the smallest tiles that it has take more registers than a thread has:
// the assembler then keeps some of the values in memory. The error is what the kernel
// was refused for, and is refused for where that does not help.
func (p *planning) beyond(pins map[string]int64, refused error) (*Lowered, error) {
	if !p.target.IsGPU() {
		return nil, refused
	}
	if l, err := p.fitAt(plan.Beyond, pins); err == nil || isBug(err) {
		return l, err
	}
	return nil, refused
}

// blameless reports that no plan fits without pins either.
func (p *planning) blameless(ps *pins) bool {
	names := ps.suspects()
	if len(names) == 0 {
		return true
	}
	_, err := p.freed(names...).fit(nil)
	return err != nil
}

// fitAt finds a plan of an effort whose code fits. Where there is none because tiles are too long for a block, what is
// taken from them is computed again, and where that does not do, they are kept in scratch memory.
func (p *planning) fitAt(effort plan.Effort, pins map[string]int64) (*Lowered, error) {
	other := *p
	other.effort = effort
	l, err := other.fitAs(pins)
	if err == nil || isBug(err) {
		return l, err
	}
	if build.Takes(p.f) {
		other.f = ir.Clone(p.f)
		if err := pass.Run(other.f, pass.Options{Verify: true, Recompute: true}); err != nil {
			return nil, asBug("passes", err)
		}
		if l, err := other.fitAs(pins); err == nil || isBug(err) {
			return l, err
		}
	}
	other.f = ir.Clone(p.f)
	other.f.Spill = true
	l, kept := other.fitAs(pins)
	if kept != nil && !isBug(kept) && !errors.Is(err, plan.ErrUncut) {
		return nil, err
	}
	return l, kept
}

// fitAs finds a plan for the kernel as it is. The planner estimates shared memory, and the
// backend lays it out: where the estimate was too low, the planner gets that much less to plan with.
func (p *planning) fitAs(pins map[string]int64) (*Lowered, error) {
	t := p.target
	var first error
	var over *plan.SharedError
	for range maxAttempts {
		l, chosen, err := p.attempt(t, pins)
		if err == nil || isBug(err) {
			return l, err
		}
		if first == nil {
			first = err
		}
		if !errors.As(err, &over) {
			break
		}
		t = chosen.Tighter(t, over.Need, over.Have)
		if t.SharedPerBlock <= 0 {
			break
		}
	}
	if over == nil {
		return nil, first
	}
	if l := p.cut(pins); l != nil {
		return l, nil
	}
	return nil, first
}

// longestCut is where cut begins: the elements of an axis that it asks for at once.
const longestCut = 8192

// cut finds a plan for a kernel of which the planner expects nothing to be in
// shared memory, so that giving it less changes nothing: whole axes that are
// open and long go through a block in parts.
func (p *planning) cut(pins map[string]int64) *Lowered {
	for chunk := int64(longestCut); chunk >= 128; chunk /= 2 {
		for _, a := range p.f.Axes {
			key := plan.Parameter(a)
			if _, pinned := pins[key]; pinned || a.Kind != ir.Whole || a.Len <= chunk || len(a.Choices) > 0 {
				continue
			}
			if l, _, err := p.attempt(p.target, with(pins, key, chunk)); err == nil {
				return l
			}
		}
	}
	return nil
}

// attempt makes one plan and the code for it, and gives the plan where the code does not fit. The planner reckons with t.
func (p *planning) attempt(t target.Machine, pins map[string]int64) (*Lowered, *plan.Plan, error) {
	chosen, f, err := p.choose(t, pins)
	if err != nil {
		return nil, nil, err
	}
	if err := chosen.Apply(f); err != nil {
		return nil, nil, asBug("plan", err)
	}
	room := int64(0)
	if p.target.IsGPU() && len(chosen.Chunks) > 0 && chosen.Forms["kept"] != 1 {
		room = chosen.RowRoom(p.target)
	}
	l, err := p.make(ir.Clone(f), chosen, room)
	var over *plan.SharedError
	if errors.As(err, &over) && room > 0 {
		l, err = p.make(f, chosen, 0)
	}
	if _, pinned := pins["persist"]; err == nil && !pinned && chosen.Persist > 0 && p.f.Hints["persist"] == 0 && l.Code.PTX != nil && l.Code.PTX.Most == 0 {
		if _, pinned := pins["cluster"]; !pinned && chosen.Cluster > 1 && p.f.Hints["cluster"] == 0 {
			return p.attempt(t, with(pins, "cluster", 1)) // it may be that only pairs cannot stay
		}
		return p.attempt(t, with(pins, "persist", 0)) // blocks do not stay, which the plan counts on
	}
	return l, chosen, err
}

// make makes the code for a plan. room is what the pass `keep` may take of shared memory, in bytes.
func (p *planning) make(f *ir.Func, chosen *plan.Plan, room int64) (*Lowered, error) {
	if err := pass.Planned(f, pass.Options{Verify: true, Shared: room, Threads: threads(chosen)}); err != nil {
		return nil, asBug("passes", err)
	}
	if err := splittable(f); err != nil {
		return nil, err
	}
	l := &Lowered{Func: f, Plan: chosen, target: p.target, uncut: p.f, room: room, effort: p.effort, sizes: p.sizes}
	var err error
	if l.Code, err = backend.Make(f, chosen, p.target, p.store); err != nil {
		return nil, bug.In(err, func(e *bug.Error) { l.about(e, nil) })
	}
	return l, nil
}

// choose plans, and streams a copy of the kernel as the plan says. Where axes
// cannot be streamed together, one of them stays whole, if that fits.
func (p *planning) choose(t target.Machine, pins map[string]int64) (*plan.Plan, *ir.Func, error) {
	chosen, err := p.plan(t, pins)
	if err != nil {
		return nil, nil, err
	}
	_, asked := pins["split"]
	if p.deterministic && !asked && splitsLoop(p.f, chosen) {
		return p.choose(t, with(pins, "split", 1)) // where a part begins depends on where the loop of the block ends
	}
	f, err := stream(p.f, chosen)
	if err == nil && len(chosen.Split) > 0 {
		err = splittable(f)
	}
	if err == nil || isBug(err) {
		return chosen, f, err
	}
	if len(chosen.Split) > 0 && !asked {
		return p.choose(t, with(pins, "split", 1)) // it cannot be shared after all
	}
	var split *pass.SplitError
	if errors.As(err, &split) {
		return nil, nil, err
	}
	var names []string
	for _, a := range p.f.Axes {
		if chosen.Chunks[a.Name] > 0 {
			names = append(names, a.Name)
		}
	}
	for _, name := range names {
		key := plan.Parameter(p.f.Axis(name))
		if _, pinned := pins[key]; pinned {
			continue
		}
		other, tooLong := p.plan(t, with(pins, key, p.f.Axis(name).Len))
		if tooLong != nil {
			continue
		}
		if f, again := stream(p.f, other); again == nil || isBug(again) {
			return other, f, again
		}
	}
	return nil, nil, &streamError{names, err}
}

// splitsLoop reports a plan that splits a loop of the source.
func splitsLoop(f *ir.Func, p *plan.Plan) bool {
	return slices.ContainsFunc(f.Axes, func(a *ir.Axis) bool { return a.Kind == ir.Loop && p.Split[a.Name] > 1 })
}

// with is pins and one more.
func with(pins map[string]int64, name string, value int64) map[string]int64 {
	more := map[string]int64{name: value}
	for n, v := range pins {
		if n != name {
			more[n] = v
		}
	}
	return more
}

// threads is how many threads compute in a block of a plan; 0 on the CPU.
func threads(p *plan.Plan) int64 { return int64(p.Warps * layout.Lanes) }

// spread gives a copy of the kernel with the axes split that the plan splits.
func spread(f *ir.Func, p *plan.Plan) *ir.Func {
	c := ir.Clone(f)
	for name, n := range p.Split {
		c.Axis(name).Split = n
	}
	return c
}

// stream gives a copy of the kernel with loops over the axes that the plan cuts, and with joins behind those that it splits.
func stream(f *ir.Func, p *plan.Plan) (*ir.Func, error) {
	c := spread(f, p)
	if len(p.Chunks) == 0 && len(p.Split) == 0 {
		return c, nil
	}
	return c, pass.Run(c, pass.Options{Verify: true, Chunks: p.Chunks, Extents: p.Extents})
}

// streamError says that axes are too long for a block, and cannot be cut together.
type streamError struct {
	axes  []string
	cause error
}

// Error is the cause's.
func (e *streamError) Error() string { return e.cause.Error() }

// Unwrap is the cause.
func (e *streamError) Unwrap() error { return e.cause }
