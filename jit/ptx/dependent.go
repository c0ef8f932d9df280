package ptx

import (
	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/target"
	"tilec/lang"
)

// This file lets a launch begin before the one before it in its program has ended (programmatic dependent launch). What
// it then does meanwhile is to load constants: weights, which in a step of decoding are nearly all that it reads. They come
// by cp.async, into shared memory where each thread finds again what it asked for itself, so that nobody waits for anybody
// else. (Loads to registers would not do: the assembler moves them to where they are used, behind the wait.)

// dependent reports a kernel that may begin before what it reads is there.
func (k *kernel) dependent() bool { return k.Func.Dependent && k.Target.Has(target.DependentLaunch) }

// waitForLaunchBefore lets the launch that follows begin, loads what does not depend on the launches before, and waits until
// these have ended and what they wrote can be read. The launch that follows waits likewise, so it may begin at once: its
// blocks take the place that those of this one leave.
func (k *kernel) waitForLaunchBefore() {
	if !k.dependent() {
		return
	}
	k.a.Do("griddepcontrol.launch_dependents")
	k.loadAhead()
	k.a.Do("griddepcontrol.wait")
}

// ahead is a load whose elements were asked for before the wait: where each thread finds its own.
type ahead struct {
	buffer buffer
	groups [][]int
	// n is how many neighbours make a group.
	n int
}

// mostAhead is the shared memory of a block for what is loaded ahead, in bytes: two such blocks share a multiprocessor.
const mostAhead = 100 << 10

// loadAhead asks for the constants that the kernel loads outside of loops and branches, by addresses that it knows.
func (k *kernel) loadAhead() {
	if !k.Target.Has(target.CpAsync) {
		return
	}
	total := 0
	for _, op := range k.Func.Body.Ops {
		if op.Code != lang.OpLoad || !op.Tensor.Constant || op.Else() != nil || op.Result().Type.IsScalar() || k.OnDemand(op) {
			continue
		}
		l := k.Homes[op.Result()]
		groups, n, ok := k.known(op, l)
		bytes := n * op.Tensor.DType.Size()
		size := len(groups) * bytes * k.Warps * layout.Lanes
		if !ok || bytes < 4 || total+size > mostAhead {
			continue
		}
		total += size
		k.a.Loc(op.At)
		k.a.Comment("ahead: %s", describe(op))
		e := &ahead{buffer: k.allocate(size, "loading ahead "+block.ValueName(op.Result())), groups: groups, n: n}
		from := k.addressing(op, l)
		name := "cp.async.ca.shared.global"
		if bytes == 16 {
			name = "cp.async.cg.shared.global"
		}
		for i, g := range groups {
			var exist []asm.Operand // bytes that exist; the rest becomes 0
			if m := k.mask(l, op.Result().Type.Axes, g[0]); m.Valid() {
				exist = append(exist, k.a.Calc(asm.B32, "selp.b32", asm.Int(bytes), asm.Int(0), m))
			}
			k.a.Do(name, append([]asm.Operand{k.own(e, bytes, i), from.at(g[0]).addr(), asm.Int(bytes)}, exist...)...)
		}
		k.ahead[op] = e
	}
	if total > 0 {
		k.a.Do("cp.async.commit_group")
	}
}

// known gives how a load's neighbours go together, and whether its addresses follow from what every thread knows at the start.
func (k *kernel) known(op *ir.Op, l layout.Layout) (groups [][]int, n int, ok bool) {
	dims := k.Access(op)
	for _, d := range dims {
		if d.Gather {
			return nil, 0, false
		}
		for _, s := range d.Affine.Scalars {
			if !k.early(s.Value) {
				return nil, 0, false
			}
			k.provide(s.Value)
		}
	}
	c := block.Contiguous(dims)
	groups, n = l.Groups(c, k.laneAligned(l, c, k.Vector(op.Tensor, dims, c)))
	return groups, n, true
}

// own is where a thread's group number i lies: threads beside each other, so that their accesses share no banks.
func (k *kernel) own(e *ahead, bytes, i int) asm.Addr {
	base := k.a.Calc(asm.B32, "mad.lo.s32", k.tid, asm.Int(bytes), k.sharedBase())
	return asm.At(base).Plus(e.buffer.at + i*bytes*k.Warps*layout.Lanes)
}

// loadedAhead gives the registers of a load that was asked for before the wait.
func (k *kernel) loadedAhead(op *ir.Op, e *ahead) []asm.Reg {
	k.a.Do("cp.async.wait_group", asm.Int(0))
	t := op.Tensor
	regs := make([]asm.Reg, k.Homes[op.Result()].Regs())
	for i, g := range e.groups {
		got := k.fetch(t.DType, e.n, "ld.shared", asm.Reg{}, k.own(e, e.n*t.DType.Size(), i))
		for j, r := range g {
			regs[r] = got[j]
		}
	}
	return regs
}
