package emu

import (
	"tilec/jit/emu/number"
	"tilec/jit/target"
)

const (
	sharedUnit   = 128 // bytes by which shared memory is given
	registerUnit = 8   // registers of a thread by which they are given
)

// An Occupancy is how much of a multiprocessor the blocks of a kernel fill at once.
type Occupancy struct {
	// Blocks run on a multiprocessor at once, of Warps warps each; MostWarps are those
	// that it has room for. Limit is what bounds the blocks: "threads", "blocks",
	// "shared memory" or "registers".
	Blocks, Warps, MostWarps int
	Limit                    string
	// Registers is what a thread has: what the assembler gave where Assembled is
	// set, else the most that the kernel's directives allow it. With fewer there
	// may be up to MostBlocks blocks.
	Registers, MostBlocks int
	Assembled             bool
}

// registerLimit is the most registers of a thread that a kernel's directives allow.
func (k *Kernel) registerLimit(threads int, on target.Machine) int {
	most := target.RegistersPerThread
	if k.MaxRegisters > 0 {
		most = min(most, k.MaxRegisters)
	}
	if bound := max(k.Threads[0]*k.Threads[1]*k.Threads[2], k.MaxThreads[0]*k.MaxThreads[1]*k.MaxThreads[2]); bound > 0 {
		threads = bound
	}
	return min(most, on.RegistersPerSM/(number.AlignUp(threads, warpSize)*max(k.MinBlocks, 1))/registerUnit*registerUnit)
}

// machine is what the module is for.
func (k *Kernel) machine() target.Machine { return target.ForPTX(k.module.Target) }

// occupancy finds how many blocks of a launch a multiprocessor of the module's
// target holds; assembled is the registers of a thread, 0 where nobody knows.
func (k *Kernel) occupancy(threads, shared, assembled int) Occupancy {
	on := k.machine()
	warps := (threads + warpSize - 1) / warpSize
	o := Occupancy{Blocks: on.BlocksPerSM, Warps: warps, MostWarps: on.ThreadsPerSM / warpSize, Limit: "blocks", Registers: assembled, Assembled: assembled > 0}
	if assembled == 0 {
		o.Registers = k.registerLimit(threads, on)
	}
	bound := func(limit string, blocks int) {
		if blocks < o.Blocks {
			o.Blocks, o.Limit = blocks, limit
		}
	}
	bound("threads", on.ThreadsPerSM/(warps*warpSize))
	bound("shared memory", on.SharedPerSM()/number.AlignUp(shared+target.SharedReserved, sharedUnit))
	o.MostBlocks = o.Blocks
	if o.Registers > 0 {
		bound("registers", on.RegistersPerSM/(number.AlignUp(o.Registers, registerUnit)*warpSize*warps))
	}
	if o.Assembled {
		o.MostBlocks = o.Blocks
	}
	return o
}
