package ptx

import (
	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
)

// This file emits loads outside of loops that the producer does (block.BoxLoad). Two mbarriers of each load say when all warps have
// done with what its memory was before, and when it has come.

// arriving is a tile that the producer loads.
type arriving struct{ empty, full int }

// initialiseLoads makes the mbarriers of the loads that the producer does.
func (k *kernel) initialiseLoads(initialise func(at, count int)) {
	for _, op := range k.Func.Body.Ops {
		if k.Loads[op] == nil {
			continue
		}
		b := k.allocate(2*mbarrierBytes, "mbarriers of "+block.ValueName(op.Result()))
		x := arriving{empty: b.at, full: b.at + mbarrierBytes}
		initialise(x.empty, k.Warps)
		initialise(x.full, 1)
		k.arriving[op] = x
	}
}

// askProducer has the producer load an operand to a tile, whatever the tile's memory was before; awaitLoads waits for it. False where
// that was not decided.
func (k *kernel) askProducer(v *ir.Value, t *sharedTile) bool {
	load := k.Loads[v.Def]
	if load == nil {
		return false
	}
	a, x := k.a, k.arriving[v.Def]
	t.buffer.guarded = true
	k.inProducer(func() {
		a.Comment("copy %s", describe(v.Def))
		k.provideFor(load.Box.Dims)
		k.waitFor(k.sharedAt(x.empty), asm.Int(0))
		full := k.sharedAt(x.full)
		a.Set(asm.Sink, "mbarrier.arrive.expect_tx.shared::cta.b64", asm.At(full), asm.Int(t.Bytes()))
		to := *t
		to.base = k.sharedAt(t.at)
		k.copyBoxes(load.Box, &to, full, false)
	})
	a.Do("fence.proxy.async.shared::cta")
	a.Do("bar.warp.sync", asm.AllLanes)
	k.arriveAt(k.sharedAt(x.empty))
	k.coming = append(k.coming, x)
	return true
}

// awaitLoads waits for what the producer was asked for. Where this stands decides what the assembler makes of the code behind it:
// between a loop that waits and the next branch, it takes the warp's threads for divided, and keeps all addresses in each of them.
func (k *kernel) awaitLoads() {
	for _, x := range k.coming {
		k.waitFor(k.sharedAt(x.full), asm.Int(0))
	}
}

// sharedAt is the address of what lies at a place in shared memory.
func (k *kernel) sharedAt(at int) asm.Reg { return k.a.Register(k.a.Add(k.sharedBase(), asm.Int(at))) }
