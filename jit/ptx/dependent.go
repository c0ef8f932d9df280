package ptx

import (
	"fmt"
	"slices"

	"tilec/jit/block"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
)

// This file lets a launch begin before the one before it in its program has ended (programmatic dependent launch). What it
// does meanwhile is to load constants, by cp.async, into shared memory where each thread finds again what it asked for
// itself, so that nobody waits for anybody else. (Loads to registers would not do: the assembler moves them to where they are
// used, behind the wait.)

// letNextBegin lets the launch that follows begin, by the first instruction there is. It waits likewise, so it may begin at once: its blocks take
// the place that those of this one leave.
func (k *kernel) letNextBegin() {
	if k.Dependent() {
		k.a.Do("griddepcontrol.launch_dependents")
	}
}

// waitForLaunchBefore asks for constants, and waits until the launches before have ended and what they wrote can be read.
func (k *kernel) waitForLaunchBefore() {
	if !k.Dependent() {
		return
	}
	for _, c := range k.Constants {
		k.askFor(c)
	}
	if slices.ContainsFunc(k.Constants, func(c *block.Constant) bool { return !c.ThroughRegisters() }) {
		k.a.Do("cp.async.commit_group")
	}
	k.emitAhead(k.Ahead)
	k.beginEarly()
	k.findBrought()
	for _, x := range k.Prefetches {
		k.prefetch(x)
	}
	for _, c := range k.Constants {
		if asked := k.asked[c.Load]; asked != nil {
			for i, x := range asked.held {
				k.a.Do(fmt.Sprintf("st.shared.u%d", 8*c.GroupBytes), k.own(asked, i), x)
			}
		}
	}
	for _, c := range k.Constants {
		if c.Tile != nil {
			k.fragmentsAhead(c)
		}
	}
	k.awaitCluster()
	k.a.Do("griddepcontrol.wait")
	k.released = k.now()
}

// askedFor is a load of constants that is under way, and where its elements come to lie.
type askedFor struct {
	*block.Constant
	buffer buffer
	// held is each group that goes through a register, until it is stored.
	held []asm.Reg
}

// askFor begins a load of constants. Elements that do not exist become 0.
func (k *kernel) askFor(c *block.Constant) {
	op := c.Load
	k.a.Loc(op.At)
	k.a.Comment("ask for %s", describe(op))
	k.provideFor(k.Access(op))
	buffer := k.allocate(c.Bytes(k.Program), "constants "+block.ValueName(op.Result()))
	if c.Tile != nil {
		t := &sharedTile{Tile: *c.Tile, buffer: buffer}
		k.copyPart(op, t, c.Layout, c.Vector, whole, c.Rounds)
		k.scope.tiles[op.Result()] = append(k.scope.tiles[op.Result()], t)
		return
	}
	asked := &askedFor{Constant: c, buffer: buffer}
	l := k.Homes[op.Result()]
	from := k.addressing(op, l)
	name := "cp.async.ca.shared.global"
	if c.GroupBytes == 16 && !c.Shared {
		name = "cp.async.cg.shared.global"
	}
	if c.ThroughRegisters() {
		for _, g := range c.Groups {
			x, exists := k.a.Reg(asm.B32), k.mask(l, op.Result().Type.Axes, g[0])
			if exists.Valid() {
				k.a.Set(x, "mov.b32", asm.Int(0))
			}
			k.a.If(exists).Set(x, fmt.Sprintf("ld.global.nc.u%d", 8*c.GroupBytes), from.at(g[0]).addr())
			asked.held = append(asked.held, x)
		}
		k.asked[op] = asked
		return
	}
	for i, g := range c.Groups {
		var exist []asm.Operand
		if m := k.mask(l, op.Result().Type.Axes, g[0]); m.Valid() {
			exist = append(exist, k.a.Calc(asm.B32, "selp.b32", asm.Int(c.GroupBytes), asm.Int(0), m))
		}
		k.a.Do(name, append([]asm.Operand{k.own(asked, i), from.at(g[0]).addr(), asm.Int(c.GroupBytes)}, exist...)...)
	}
	k.asked[op] = asked
}

// own is where a thread's group number i lies: beside those of other threads, so that their accesses share no banks.
func (k *kernel) own(c *askedFor, i int) asm.Addr {
	base := k.a.Calc(asm.B32, "mad.lo.s32", k.tid, asm.Int(c.GroupBytes), k.sharedBase())
	return asm.At(base).Plus(c.buffer.at + i*c.GroupBytes*k.Warps*layout.Lanes)
}

// fragmentsAhead waits until the operand of a product is there, with what all threads copied, and reads it as the instructions take it:
// the launches before take longer than that, and what is left to do behind them is short.
func (k *kernel) fragmentsAhead(c *block.Constant) {
	v := c.Load.Result()
	u := k.Uses[v][0]
	p := k.Products[u.Op]
	k.a.Comment("read %s", block.ValueName(v))
	k.a.Do("cp.async.wait_group", asm.Int(0))
	k.barrier()
	t := k.copiesInShared(v)[0]
	f, read := k.fragments(p, u.Arg, staged{tile: t}), map[[3]int][]asm.Reg{}
	k.ahead[v] = fragments{at: func(step, rep, batch int) []asm.Reg {
		if regs, ok := read[[3]int{step, rep, batch}]; ok {
			return regs
		}
		return f.at(step, rep, batch)
	}}
	if c.Handed {
		defer k.handOver(t.buffer)
	}
	reps, each := layout.Product(p.MReps), 4
	if u.Arg == p.B {
		reps, each = layout.Product(p.NReps), 2
	}
	held := 0
	for batch := range p.Batches() {
		for step := range layout.Product(p.KReps) {
			for rep := range reps {
				if held += each; held > block.RegistersAhead {
					return // the rest is read when it is used
				}
				read[[3]int{step, rep, batch}] = f.at(step, rep, batch)
			}
		}
	}
}

// handOver leaves shared memory that all threads have read to the operand that comes next. The barrier is here, where there is time.
func (k *kernel) handOver(b buffer) {
	k.barrier()
	k.handed = append(k.handed, b)
}

// takeAsked waits for constants that were asked for, and gives their registers.
func (k *kernel) takeAsked(c *askedFor) []asm.Reg {
	if !c.ThroughRegisters() {
		k.a.Do("cp.async.wait_group", asm.Int(0))
	}
	v := c.Load.Result()
	regs := make([]asm.Reg, k.Homes[v].Regs())
	for i, g := range c.Groups {
		got := k.fetch(v.Type.DType, c.Vector, "ld.shared", asm.Reg{}, k.own(c, i))
		for j, r := range g {
			regs[r] = got[j]
		}
	}
	return regs
}
