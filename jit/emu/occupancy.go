package emu

import "strings"

// An sm is what one multiprocessor of an architecture has room for, from the table
// of compute capabilities in the CUDA programming guide.
type sm struct {
	threads, blocks int
	shared          int // bytes, for all blocks together
	registers       int
}

// sms are the multiprocessors by the target of a module.
var sms = map[string]sm{
	"sm_80":  {2048, 32, 167936, 65536},
	"sm_86":  {1536, 16, 102400, 65536},
	"sm_87":  {1536, 16, 167936, 65536},
	"sm_89":  {1536, 24, 102400, 65536},
	"sm_90":  {2048, 32, 233472, 65536},
	"sm_100": {2048, 32, 233472, 65536},
	"sm_120": {1536, 24, 102400, 65536},
}

const (
	sharedReserve = 1024 // of each block, for the system, from sm_80 on
	sharedUnit    = 128  // bytes by which shared memory is given
	registerUnit  = 8    // registers of a thread by which they are given
	mostPerThread = 255  // registers that an instruction can name
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
func (e *Entry) registerLimit(threads int, on sm) int {
	most := mostPerThread
	if e.MaxRegisters > 0 {
		most = min(most, e.MaxRegisters)
	}
	if bound := max(e.Threads[0]*e.Threads[1]*e.Threads[2], e.MaxThreads[0]*e.MaxThreads[1]*e.MaxThreads[2]); bound > 0 {
		threads = bound
	}
	return min(most, on.registers/(alignUp(threads, warpSize)*max(e.MinBlocks, 1))/registerUnit*registerUnit)
}

// sm gives the multiprocessor that the module is for.
func (e *Entry) sm() sm {
	if on, ok := sms[strings.TrimRight(e.module.Target, "af")]; ok {
		return on
	}
	return sms["sm_90"]
}

// occupancy finds how many blocks of a launch a multiprocessor of the module's
// target holds; assembled is the registers of a thread, 0 where nobody knows.
func (e *Entry) occupancy(threads, shared, assembled int) Occupancy {
	on := e.sm()
	warps := (threads + warpSize - 1) / warpSize
	o := Occupancy{Blocks: on.blocks, Warps: warps, MostWarps: on.threads / warpSize, Limit: "blocks", Registers: assembled, Assembled: assembled > 0}
	if assembled == 0 {
		o.Registers = e.registerLimit(threads, on)
	}
	bound := func(limit string, blocks int) {
		if blocks < o.Blocks {
			o.Blocks, o.Limit = blocks, limit
		}
	}
	bound("threads", on.threads/(warps*warpSize))
	bound("shared memory", on.shared/alignUp(shared+sharedReserve, sharedUnit))
	o.MostBlocks = o.Blocks
	if o.Registers > 0 {
		bound("registers", on.registers/(alignUp(o.Registers, registerUnit)*warpSize*warps))
	}
	if o.Assembled {
		o.MostBlocks = o.Blocks
	}
	return o
}
