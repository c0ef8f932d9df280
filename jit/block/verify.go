package block

import (
	"fmt"
	"slices"
	"sort"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file verifies what has been decided, without data: that layouts hold each element, that boxes fill their tiles, that stages fit in
// shared memory, and that schedules wait for what is read, overwrite nothing that is still read, and let everybody go on.

// Verify checks a program; the error names the first thing that is wrong with it.
func (p *Program) Verify() error {
	if n := p.Threads() / layout.Lanes; n > p.Target.WarpsPerBlock {
		return fmt.Errorf("a block has %d warps, of at most %d", n, p.Target.WarpsPerBlock)
	}
	if err := p.verifyHomes(); err != nil {
		return err
	}
	if err := p.verifyProducts(); err != nil {
		return err
	}
	if err := p.verifyRegisters(); err != nil {
		return err
	}
	if x := p.Tiles; x != nil && (x.Blocks < 1 || x.Teams < 1 || x.Teams > mostTeams) {
		return fmt.Errorf("%d blocks of %d teams of warps go through the tiles of the grid", x.Blocks, x.Teams)
	}
	if p.Along != nil && p.Along != p.along() {
		return fmt.Errorf("blocks along %s do not share loops: they are no whole clusters, or do not do the same there", p.Along.Name)
	}
	if p.Words != nil {
		for _, loop := range p.topLoops() {
			if !p.wordsFit(loop) || !p.Words.fit(loop) {
				return fmt.Errorf("loops go through rows by words of %d elements, and one does not fit that", p.Words.Unit)
			}
		}
	}
	room := 0
	for _, x := range p.inOrder() {
		if err := p.verifyPipeline(x); err != nil {
			return fmt.Errorf("the loop over %s: %w", x.Op.Axis.Name, err)
		}
		room = max(room, x.Stages*x.Bytes())
	}
	if room > p.Target.SharedPerBlock {
		return fmt.Errorf("the stages of a loop take %d bytes of shared memory, of at most %d", room, p.Target.SharedPerBlock)
	}
	if err := p.verifyOperands(); err != nil {
		return err
	}
	for op, s := range p.Stores {
		if err := s.verify(); err != nil {
			return fmt.Errorf("the store to %s: %w", op.Tensor.Name, err)
		}
	}
	for op, x := range p.Loads {
		if err := x.Box.fills(x.Tile, 1); err != nil {
			return fmt.Errorf("the load of %s: %w", op.Tensor.Name, err)
		}
	}
	return nil
}

// verifyOperands checks that what is copied for a product outside of loops serves it, and that what hands its place over has been read by then, and is as large.
func (p *Program) verifyOperands() error {
	for _, b := range p.Copied {
		if into := p.onlyOperand(b.Load.Result()); into == nil || !b.Tile.Holds(into) {
			return fmt.Errorf("%s is copied to %s, which does not serve a product", ValueName(b.Load.Result()), b.Tile)
		}
	}
	for _, c := range p.Constants {
		if c.Handed && (p.onlyOperand(c.Load.Result()) == nil || !p.handsOver(c)) {
			return fmt.Errorf("%s hands its place over, and is not in registers by then, or has too little room", ValueName(c.Load.Result()))
		}
	}
	return nil
}

// verifyHomes checks that each tile is held somewhere, and each of its elements.
func (p *Program) verifyHomes() error {
	var err error
	p.Func.Walk(func(op *ir.Op) bool {
		for _, v := range made(op) {
			if _, ok := p.Homes[v]; !ok && err == nil {
				err = fmt.Errorf("%s has no home", ValueName(v))
			}
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	for v, l := range p.Homes {
		if err := p.holds(l, v.Type.Axes); err != nil {
			return fmt.Errorf("%s is held as %s, %w", ValueName(v), l, err)
		}
	}
	return nil
}

// verifyProducts checks that each contraction is computed somehow, and from operands that are there as a whole.
func (p *Program) verifyProducts() error {
	var err error
	p.Func.Walk(func(op *ir.Op) bool {
		if op.Code.Row().Group != lang.GroupContract || err != nil {
			return err == nil
		}
		if c := p.Products[op]; c == nil {
			err = fmt.Errorf("nothing says how %s is computed", ValueName(op.Result()))
		} else if why := p.verifyProduct(c); why != nil {
			err = fmt.Errorf("the product %s: %w", ValueName(op.Result()), why)
		} else if c.Passes != 1 && !c.rolls(c.Passes) {
			err = fmt.Errorf("the product %s: its steps are no %d passes through the same code", ValueName(op.Result()), c.Passes)
		}
		return err == nil
	})
	return err
}

// verifyProduct checks that the result and the operands of a product have places for all elements.
func (p *Program) verifyProduct(c *Product) error {
	if err := p.holds(c.Result, c.Op.Result().Type.Axes); err != nil {
		return fmt.Errorf("the result is made as %s, %w", c.Result, err)
	}
	for arg, tile := range c.Tiles {
		v := c.Op.Args[arg]
		if c.MMA != nil {
			if err := p.holds(c.FragmentLayout(arg), v.Type.Axes); err != nil {
				return fmt.Errorf("%s is taken as %s, %w", ValueName(v), c.FragmentLayout(arg), err)
			}
		}
		for _, a := range v.Type.Axes {
			room, needs := 1, int(a.Extent)
			if i := slices.Index(tile.Axes, a); i >= 0 {
				room = tile.Extents[i]
			} else if i := slices.Index(tile.Taps, a); i >= 0 {
				room = tile.Extents[i] - int(tile.Axes[i].Extent) + 1
			}
			if c.MMA != nil {
				needs = c.FragmentLayout(arg).Physical(a)
			}
			if room < needs && a.Extent > 1 {
				return fmt.Errorf("the tile %s of %s has room for %d of %d positions along %s", tile, ValueName(v), room, needs, a.Name)
			}
		}
	}
	return nil
}

// verifyRegisters checks what a producer gives away: multiples of what is given at once, of no more than there are.
func (p *Program) verifyRegisters() error {
	d := p.Donation
	if d == nil {
		return nil
	}
	groups := p.Warps * p.Teams() / groupWarps
	if total := (d.Producer + groups*d.Consumer) * groupWarps * warpThreads; d.Producer%registerStep != 0 || d.Consumer%registerStep != 0 ||
		d.Producer < leastKept || d.Consumer > mostTaken || total*max(p.Resident, 1) > p.Target.RegistersPerSM {
		return fmt.Errorf("a thread of the producer keeps %d registers, and one of %d warpgroups that compute has %d: from %d to %d in steps of %d, of %d in all",
			d.Producer, groups, d.Consumer, leastKept, mostTaken, registerStep, p.Target.RegistersPerSM)
	}
	return nil
}

// inOrder are the loops with stages, in the order of the kernel.
func (p *Program) inOrder() (all []*Pipeline) {
	p.Func.Walk(func(op *ir.Op) bool {
		if x := p.Pipelines[op]; x != nil {
			all = append(all, x)
		}
		return true
	})
	return all
}

// holds reports a layout that has a place for each element over axes: the digits of an axis count all its positions, each once.
func (p *Program) holds(l layout.Layout, axes []*ir.Axis) error {
	if n := layout.Product(l.Lane); n != layout.Lanes {
		return fmt.Errorf("which has %d lanes", n)
	}
	if n := l.Warps(); n != p.Warps {
		return fmt.Errorf("which has %d warps, and the plan %d", n, p.Warps)
	}
	for _, d := range slices.Concat(l.Reg, l.Lane, l.Warp) {
		if d.Axis != nil && !slices.Contains(axes, d.Axis) {
			return fmt.Errorf("which counts positions along %s, and there are none", d.Axis.Name)
		}
	}
	for _, a := range axes {
		var digits []layout.Digit
		for _, d := range slices.Concat(l.Reg, l.Lane, l.Warp) {
			if d.Axis == a && d.Size > 1 {
				digits = append(digits, d)
			}
		}
		sort.Slice(digits, func(i, j int) bool { return digits[i].Stride < digits[j].Stride })
		next := 1
		for _, d := range digits {
			if d.Stride != next {
				return fmt.Errorf("which has no digit that counts %d positions along %s at a time", next, a.Name)
			}
			next *= d.Size
		}
		if int64(next) < a.Extent {
			return fmt.Errorf("which has %d of %d positions along %s", next, a.Extent, a.Name)
		}
	}
	return nil
}

// verify checks that boxes, or lines, fill a stored tile.
func (s *BoxStore) verify() error {
	if s.Lines == nil {
		return s.Box.fills(s.Tile, 1)
	}
	for i, a := range s.Tile.Axes {
		if n := s.Lines.Physical(a); n != s.Tile.Extents[i] {
			return fmt.Errorf("the lines have %d positions along %s, and the tile %d", n, a.Name, s.Tile.Extents[i])
		}
	}
	if n := layout.Reach(s.Tile.Contiguous(), s.Lines.Lane, s.Lines.Warp) * s.Tile.DType.Size(); n > s.Tile.Width() {
		return fmt.Errorf("a warp's neighbours take %d bytes, of panels of %d", n, s.Tile.Width())
	}
	return nil
}

// fills reports boxes that have as many elements as a tile, of which so many blocks copy a part each, in rows of its width.
func (b *Box) fills(t *Tile, blocks int) error {
	n := blocks * t.RowBytes() / b.Map.Swizzle
	for _, side := range b.Map.Box {
		n *= side
	}
	if !t.boxed() {
		return fmt.Errorf("the tile %s does not lie as boxes do", t)
	}
	if bytes := n * t.DType.Size(); b.Map.Swizzle != t.Width() || bytes != t.Filled() {
		return fmt.Errorf("%s have %d bytes in rows of %d, and the tile %d in rows of %d", b.Map, bytes, b.Map.Swizzle, t.Filled(), t.Width())
	}
	return nil
}

// verifyPipeline checks the copies and the schedule of a loop.
func (p *Program) verifyPipeline(x *Pipeline) error {
	if p.servedBehindMeeting() == x {
		return fmt.Errorf("a producer serves the loop over %s behind a meeting that it cannot come past", x.Op.Axis.Name)
	}
	if n := x.mostSteps(); x.Steps != 0 && (n == 0 || n > x.Steps) {
		return fmt.Errorf("the loop may have more than %d steps", x.Steps)
	}
	if x.Stages < 1 || x.Ahead < 0 || x.Ahead > x.Stages || x.Ahead == x.Stages && x.Steps != x.Stages {
		return fmt.Errorf("loads run %d steps ahead in %d stages", x.Ahead, x.Stages)
	}
	for _, c := range x.Copies {
		if (c.Box != nil) != x.Produced {
			return fmt.Errorf("the load of %s: a producer copies boxes, and nobody else does", c.Load.Tensor.Name)
		}
		for _, u := range p.Uses[c.Load.Result()] {
			if of := p.Products[u.Op]; of != nil && u.Arg < 2 && !c.Tile.Holds(of.Tiles[u.Arg]) {
				return fmt.Errorf("the load of %s: the tile %s does not serve the product %s, which reads %s", c.Load.Tensor.Name, c.Tile, ValueName(u.Op.Result()), of.Tiles[u.Arg])
			}
		}
		if c.Box == nil {
			continue
		}
		blocks := 1
		if c.Shared {
			blocks = pair
		}
		if err := c.Box.fills(c.Tile, blocks); err != nil {
			return fmt.Errorf("the load of %s: %w", c.Load.Tensor.Name, err)
		}
	}
	if x.Overlap != nil && x.Overlap.Turns {
		if err := x.turns(); err != nil {
			return err
		}
	}
	if p.Teams() > 1 {
		if err := x.teamTurns(); err != nil {
			return err
		}
	}
	for _, eager := range []bool{true, false} {
		if err := p.verifySchedule(x, eager); err != nil {
			return err
		}
	}
	return nil
}

// teamTurns reports that a team takes the turn to multiply and passes it on once for each tile, takes that to store, which it passes on behind
// its stores, and leaves the stages of the other team alone.
func (x *Pipeline) teamTurns() error {
	count := func(v Verb, turn int) (n int) {
		for _, a := range append(slices.Clone(x.Schedule.Begin), x.Schedule.End...) {
			if a.Do == v && a.Turn == turn {
				n++
			}
		}
		return n
	}
	for _, want := range []Act{{Do: TakeTurn, Turn: ProductTurn}, {Do: PassTurn, Turn: ProductTurn}, {Do: TakeTurn, Turn: ResultTurn}, {Do: SkipStages}} {
		if n := count(want.Do, want.Turn); n != 1 {
			return fmt.Errorf("a team has %q %d times for a tile", want, n)
		}
	}
	return nil
}

// turns reports that of two warpgroups each takes as many turns as the other passes on, however many steps there are.
func (x *Pipeline) turns() error {
	s := x.Schedule
	for steps := 1; steps < 4; steps++ {
		acts := slices.Clone(s.First)
		for n := range steps {
			acts = append(acts, s.Step...)
			if n < steps-1 {
				acts = append(acts, s.Next...)
			} else {
				acts = append(acts, s.Last...)
			}
		}
		var taken, passed [2]int
		for _, a := range acts {
			for who := range 2 {
				switch {
				case a.By > 0 && a.By != who+1:
				case a.Do == TakeTurn:
					taken[who]++
				case a.Do == PassTurn:
					passed[1-who]++
				}
			}
		}
		if taken != passed {
			return fmt.Errorf("in %d steps the warpgroups take %d and %d turns, and %d and %d are passed to them", steps, taken[0], taken[1], passed[0], passed[1])
		}
	}
	return nil
}
