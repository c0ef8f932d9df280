package block

import (
	"fmt"
	"slices"
)

// This file goes through the schedule of a loop without data, for a few rounds of the ring. One warp stands for all that compute, for they
// do the same, and one team for two.

// verifying is where the warp and the producer are.
type verifying struct {
	p *Program
	x *Pipeline
	// eager: the producer copies as soon as it may, not when somebody waits.
	eager bool
	// at is how many steps the warp has behind it, epoch how often it has met the others; made is how many acts the producer has behind
	// it, of as many as last.
	at, epoch, made, last int
	// stages are the stages, by set.
	stages [][]verifiedStage
	// groups are the steps of the copies that threads have started and not waited for, waited what of them was waited for since the warps met.
	groups, waited []int
	kept           map[int]int
	// products are those under way, the oldest first.
	products []underWay
	ready    map[*Product]bool
	// loaded: what the producer loads outside of the loop has been waited for.
	loaded bool
}

// verifiedStage is what is known of a stage: the step whose copies were started last, the last one whose copies may be read, how often the stage was
// given back, and how often the warps had met when it was read last.
type verifiedStage struct{ filled, there, given, read int }

// underWay is a product that has been started, of the step whose stages it reads: of all sets where set is allSets.
type underWay struct {
	product  *Product
	set, seq int
}

const allSets = -1

// verifySchedule goes through a loop, a few times where its ring goes on from tile to tile.
func (p *Program) verifySchedule(x *Pipeline, eager bool) error {
	s, tiles, steps := x.Schedule, 1, 2*x.Stages+2
	if x.Steps > 0 {
		steps = x.Steps
	}
	if p.Tiles != nil {
		tiles, steps = 3, x.Stages+1
	}
	v := &verifying{p: p, x: x, eager: eager, kept: map[int]int{}, ready: map[*Product]bool{}, last: tiles * steps * len(s.Producer)}
	for range x.Sets() {
		v.stages = append(v.stages, slices.Repeat([]verifiedStage{{filled: -1, there: -1, read: -1}}, x.Stages))
	}
	for range tiles {
		lists := [][]Act{s.Begin, s.First}
		for n := range steps {
			end := s.Next
			if n == steps-1 {
				end = s.Last
			}
			lists = append(lists, append(append(slices.Clone(s.Step), end...), Act{Do: endStep}))
		}
		for _, acts := range append(lists, s.End) {
			for _, a := range acts {
				if err := v.act(a); err != nil {
					return fmt.Errorf("in step %d, %s: %w", v.at, a, err)
				}
			}
		}
		if len(v.products) > 0 {
			return fmt.Errorf("%s is not waited for behind the loop", ValueName(v.products[0].product.Op.Result()))
		}
	}
	return nil
}

// act goes through one act.
func (v *verifying) act(a Act) error {
	if v.eager {
		if err := v.produce(func() bool { return false }); err != nil {
			return err
		}
	}
	seq := v.at + a.Step
	stage := max(seq, 0) % v.x.Stages
	if err := v.meant(a, seq); err != nil {
		return err
	}
	switch a.Do {
	case endStep:
		v.at++
	case Barrier:
		v.epoch++
		for _, seq := range v.waited {
			v.stages[0][seq%v.x.Stages].there = seq
		}
		v.waited = nil
	case HandOver:
		for set := range v.stages {
			for i := range v.stages[set] {
				v.stages[set][i].given++
			}
		}
	case StartCopies:
		v.groups = append(v.groups, seq)
		return v.begin(0, seq)
	case AwaitCopies:
		return v.awaitCopies(a, seq)
	case Compute:
		return v.compute()
	case AwaitLoads:
		v.loaded = true
	case Ready:
		v.ready[a.Product] = true
	case StartProduct:
		if !v.ready[a.Product] {
			return fmt.Errorf("its operands are not ready")
		}
		delete(v.ready, a.Product)
		if load := a.Product.Op.Args[a.Product.A]; !v.loaded && v.p.Loads[load.Def] != nil {
			return fmt.Errorf("the load of %s was not waited for", ValueName(load))
		}
		set := FirstSet
		if a.Product == v.x.Overlap.Last {
			set = LastSet
		}
		v.products = append(v.products, underWay{a.Product, set, seq})
		return v.read(set, seq)
	case AwaitProducts:
		v.await(a.UnderWay)
	case Rescale, Carry:
		return v.over(v.x.Overlap.Last)
	case Return:
		v.stages[a.Set][stage].given++
	case Keep:
		v.kept[a.Set] = stage
	case ReturnKept:
		if stage, ok := v.kept[a.Set]; ok {
			delete(v.kept, a.Set)
			v.stages[a.Set][stage].given++
		}
	}
	return nil
}

// meant reports an act about what the loop has not: a set of copies, a product that overlaps another, a step before the first.
func (v *verifying) meant(a Act, seq int) error {
	with := verbs[a.Do].with
	switch {
	case a.Set >= len(v.stages):
		return fmt.Errorf("there are %d sets of copies", len(v.stages))
	case v.x.Overlap == nil && (with&withProduct != 0 || a.Do == Rescale || a.Do == Carry):
		return fmt.Errorf("the products of the loop do not overlap")
	case with&withProduct != 0 && a.Product != v.x.Overlap.First && a.Product != v.x.Overlap.Last:
		return fmt.Errorf("it is none of the products that overlap")
	case seq < 0 && with&withSet != 0 && a.Do != ReturnKept:
		return fmt.Errorf("there is no step %d", seq)
	}
	return nil
}

// await waits for all products but so many.
func (v *verifying) await(but int) {
	v.products = v.products[max(len(v.products)-but, 0):]
}

// over reports a product whose result is used while it is under way.
func (v *verifying) over(c *Product) error {
	if slices.ContainsFunc(v.products, func(u underWay) bool { return u.product == c }) {
		return fmt.Errorf("%s is under way", ValueName(c.Op.Result()))
	}
	return nil
}

// compute reads the copies of the step; what of its products overlaps is said by acts of their own, but of one that the next step waits for.
func (v *verifying) compute() error {
	if o := v.x.Overlap; o != nil {
		return v.over(o.First)
	}
	for set := range v.stages {
		if err := v.read(set, v.at); err != nil {
			return err
		}
	}
	if v.x.Overlapped {
		for _, op := range v.x.Op.Blocks[0].Ops {
			if c := v.p.Products[op]; c != nil && c.Overlapped != nil {
				v.products = append(v.products, underWay{c, allSets, v.at})
				v.await(len(c.Overlapped))
			}
		}
	}
	return nil
}

// read reads the copies of a step.
func (v *verifying) read(set, seq int) error {
	n := seq % v.x.Stages
	s := &v.stages[set][n]
	switch {
	case s.filled != seq:
		return fmt.Errorf("stage %d of set %d is read for step %d, and has the copies of step %d", n, set, seq, s.filled)
	case s.there != seq:
		return fmt.Errorf("stage %d of set %d is read for step %d, whose copies were not waited for", n, set, seq)
	}
	s.read = v.epoch
	return nil
}

// begin starts copies to the stage of a step.
func (v *verifying) begin(set, seq int) error {
	if v.x.Steps > 0 && seq >= v.x.Steps { // the loop has no such step
		return nil
	}
	n := seq % v.x.Stages
	for _, u := range v.products {
		if (u.set == allSets || u.set == set) && u.seq%v.x.Stages == n {
			return fmt.Errorf("copies of step %d begin to stage %d of set %d, which %s of step %d still reads", seq, n, set, ValueName(u.product.Op.Result()), u.seq)
		}
	}
	s := &v.stages[set][n]
	if !v.x.Produced && s.read >= v.epoch {
		return fmt.Errorf("copies of step %d begin to stage %d, which other warps may still read", seq, n)
	}
	s.filled = seq
	return nil
}

// awaitCopies waits for the copies of a step: those that threads have started may be read when the warps have met behind that.
func (v *verifying) awaitCopies(a Act, seq int) error {
	if !v.x.Produced {
		n := max(len(v.groups)-a.UnderWay, 0)
		v.waited, v.groups = append(v.waited, v.groups[:n]...), v.groups[n:]
		return nil
	}
	s := &v.stages[a.Set][seq%v.x.Stages]
	if err := v.produce(func() bool { return s.filled >= seq }); err != nil {
		return err
	}
	if s.filled < seq {
		return fmt.Errorf("the copies of step %d never begin, since the producer waits for a stage to be given back", seq)
	}
	s.there = s.filled
	return nil
}

// produce has the producer go on until enough is done, or it has to wait.
func (v *verifying) produce(enough func() bool) error {
	acts := v.x.Schedule.Producer
	for v.made < v.last && !enough() {
		a, seq := acts[v.made%len(acts)], v.made/len(acts)
		if err := v.meant(a, seq); err != nil {
			return fmt.Errorf("the producer's %s: %w", a, err)
		}
		switch a.Do {
		case AwaitRoom:
			rounds := seq/v.x.Stages + 1
			if v.p.Tiles != nil {
				rounds-- // all stages are empty at first
			}
			if v.stages[a.Set][seq%v.x.Stages].given < rounds {
				return nil
			}
		case StartCopies:
			if err := v.begin(a.Set, seq); err != nil {
				return err
			}
		}
		v.made++
	}
	return nil
}
