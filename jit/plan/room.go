package plan

import (
	"fmt"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// This file says what room a block takes: registers of its threads, and shared memory.

// registerLimit is the most registers a thread that live tiles may take: many threads share those of one multiprocessor.
func (c at) registerLimit() int64 {
	if c.takesTurns() || c.sumsSteps() {
		return teamRegisters
	}
	together := int64(max(c.occupancy, 1))
	share := int64(c.target.RegistersPerSM) / (c.threads() * together)
	if n := c.packed(); n > 0 && c.allByWarpgroups() { // counted one by one
		return max(min(target.RegistersPerThread, share)-registerOverhead-n, 1)
	}
	return max(min(registerLimit, share-registerOverhead), 1)
}

// packed is the registers of a thread for the rows of a product that are computed, as pairs of 16-bit floats: beside them a thread has what they were made of.
func (c at) packed() int64 {
	most := int64(0)
	for _, o := range c.operands {
		if o.value.Def == nil || o.value.Def.Code != lang.OpLoad {
			most = max(most, c.count(o.tile, true)*o.bytes/4/c.threads())
		}
	}
	return most
}

// beyondRegisters is how many of the registers of a thread the assembler keeps in memory.
func (c at) beyondRegisters(e *estimate) int64 {
	if !c.beyond || !c.target.IsGPU() {
		return 0
	}
	return max(e.registers-c.registerLimit(), 0)
}

func (c at) threads() int64 { return int64(c.warps) * 32 }

// registersPerThread is the most that live tiles take at once.
func (c at) registersPerThread() int64 {
	if c.takesTurns() || c.sumsSteps() {
		return c.accumulators()
	}
	most, functions := int64(0), c.functionsOfWindows()
	least := int64(1) // bytes: what is added up of windows is in registers of its own, however narrow it is
	if c.busyWarps() == enoughWithWindows {
		least = registerBytes
	}
	for _, live := range c.live {
		n, windows := int64(0), int64(0)
		for _, t := range live {
			if held, windowed := c.windowElements(t); windowed && !functions {
				windows = max(windows, held)
				continue
			}
			n += max(c.count(t, true)*max(t.bytes, least)/registerBytes/c.threads(), 1)
		}
		most = max(most, n+windows)
	}
	return most + c.addresses()
}

// addresses is the registers of a thread for where elements lie that are loaded one by one, at computed places: an address has two, and the assembler
// has three of eight at a time (interpolations of 8, 16 and 32 elements a thread by four loads take 78, 128 and 187 registers, one load of 16 takes 80).
func (c at) addresses() int64 {
	most := int64(0)
	for op, loads := range c.neighbours {
		if v := innermost(op); v != nil && len(v.Type.Axes) > 0 && !sum(v) && c.runsOf[op] == nil { // neighbours have an address together
			most = max(most, 3*int64(loads)*c.count(c.tile(op.Result()), true)/(4*c.threads()))
		}
	}
	return most
}

// sharedBytes is the shared memory of a block: contraction operands, those that
// are loaded step by step once a stage, and a tile to arrange results in, which
// behind the loop takes the place of the stages.
func (c at) sharedBytes() int64 {
	whole, staged := int64(0), int64(0)
	stagesOf := map[*ir.Op]int64{} // of loops that follow one another, each takes the place of the one before
	for i, o := range c.operands {
		each, stages := c.operandBytes(o)
		if c.again(i) {
			continue
		}
		if stages > 1 {
			var around *ir.Op
			if len(o.loops) > 0 {
				around = o.loops[0]
			}
			stagesOf[around] += each * stages
			staged = max(staged, stagesOf[around])
		} else if !c.takesPlace(i) {
			whole += each
		}
	}
	if c.persist > 0 { // while results are stored, the stages are filled
		return whole + staged + c.scratchBytes() + c.partBytes()
	}
	return whole + c.privateBytes() + max(staged+c.scratchBytes(), c.resultBytes())
}

// again reports an operand that lies where an earlier one does: a load that two products take in one form.
func (c at) again(i int) bool {
	o := c.operands[i]
	d := o.value.Type.DType
	if o.value.Def == nil || o.value.Def.Code != lang.OpLoad || !d.IsFloat() || d.Size() != 2 && !(d == lang.F32 && c.byWarpgroups(o.op)) {
		return false
	}
	return slices.ContainsFunc(c.operands[:i], func(e operand) bool { return e.value == o.value && c.byWarpgroups(e.op) == c.byWarpgroups(o.op) })
}

// takesPlace reports an operand that takes the place of the product's other one, which threads have in registers by then (block.Constant).
func (c at) takesPlace(i int) bool {
	o, other := c.operands[i], c.operands[i^1] // a contraction has two
	if !c.deep || !c.f.Dependent || !c.target.Has(target.DependentLaunch) || o.looped || o.constant || !other.constant {
		return false
	}
	each, _ := c.operandBytes(o)
	bytes, _ := c.operandBytes(other)
	return block.HandsOver(int(bytes), int(bytes/4/c.threads()), int(each))
}

// resultBytes is for a tile to arrange results in when no loop is running.
func (c at) resultBytes() int64 {
	most := int64(0)
	for _, t := range c.stored {
		most = max(most, c.count(t.tile, false)*t.bytes)
	}
	return most
}

// operandBytes is what an operand takes, and how many times over.
func (c at) operandBytes(o operand) (each, stages int64) {
	staged := o.inLoop
	if o.value.Def != nil && o.value.Def.Code == lang.OpLoad {
		for _, i := range slices.Concat(o.over, o.axes) {
			staged = staged || c.streamed(i)
		}
	}
	stages = 1
	if staged {
		stages = int64(c.stages)
	}
	if n := len(o.loops); o.inLoop && n > 0 { // no more than the loop has steps
		if most, known := o.loops[n-1].MostPositions(); known && o.loops[n-1].Axis != nil {
			stages = min(stages, max(ceilDiv(most, c.extent[c.place[o.loops[n-1].Axis]]), 1))
		}
	}
	each = c.count(o.tile, false) * o.bytes
	if rows, arg := c.window(o.op); rows > 0 && o.value == o.op.Args[arg] {
		return roundUp(rows, block.RowsOfGroup) * int64(c.windowOf(o.op).RowBytes(c.extentOf)), stages
	}
	if len(o.over) > 1 {
		each = int64(float64(each) * c.depthPadding(o.op))
	}
	return each, stages
}

// sharedUses says what takes the shared memory, a line each.
func (c at) sharedUses() []string {
	var lines []string
	for i, o := range c.operands {
		if c.again(i) {
			continue
		}
		each, stages := c.operandBytes(o)
		line := fmt.Sprintf("%s takes %d bytes", o.name, each*stages)
		if stages > 1 {
			line += fmt.Sprintf(", %d stages of %d", stages, each)
		}
		lines = append(lines, line)
	}
	if n := c.scratchBytes(); n > 0 {
		lines = append(lines, fmt.Sprintf("results and reductions take %d bytes", n))
	}
	if n := c.resultBytes(); n > 0 {
		lines = append(lines, fmt.Sprintf("behind the loop, results take %d bytes of the same memory", n))
	}
	return lines
}

// scratchBytes is for a tile to arrange results in while a loop runs, and for reductions.
func (c at) scratchBytes() int64 {
	scratch := int64(0)
	for _, t := range c.stored {
		if t.inLoop {
			scratch = max(scratch, c.count(t.tile, false)*t.bytes)
		}
	}
	for _, t := range c.taken {
		scratch = max(scratch, c.count(t, true)*t.bytes)
	}
	for _, s := range c.ops {
		if c.turned[s.op] {
			scratch = max(scratch, c.count(c.tile(s.op.Result()), true)*int64(s.op.Tensor.DType.Size()))
		}
		if isReduction(s.op) {
			scratch = max(scratch, reductionScratch)
		}
		if s.op.Code == lang.OpSort {
			scratch = max(scratch, c.sorted(s.op))
		}
	}
	return scratch
}
