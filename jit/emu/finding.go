package emu

import (
	"fmt"
	"math/bits"
	"strings"
	"sync"
)

// A Kind is a kind of finding.
type Kind string

// The findings.
const (
	OutOfBounds    Kind = "out of bounds"      // an access outside all allocations, or of a space that it is not in
	Misaligned     Kind = "misaligned"         // an address that is no multiple of the access's size
	Uninitialised  Kind = "uninitialised"      // a read of memory or a register that was never written
	SharedRace     Kind = "shared memory race" // two threads, no barrier between them
	GlobalRace     Kind = "global memory race" // two threads of a block, no barrier between them
	BlockRace      Kind = "block race"         // different blocks wrote one element
	PendingCopy    Kind = "pending copy"       // a touch of what an asynchronous copy may still write
	Divergence     Kind = "divergence"         // a warp-wide instruction without all of its lanes
	BarrierMisuse  Kind = "barrier misuse"     // wrong number, count or mix of barrier instructions
	Deadlock       Kind = "deadlock"           // nobody can run
	Runaway        Kind = "runaway"            // more instructions than the launch allows
	Trap           Kind = "trap"               // the kernel executed trap
	UndefinedValue Kind = "undefined value"    // an operand for which the ISA defines no result

	// Of the asynchronous half:

	MissingFence  Kind = "missing fence"          // an asynchronous access to what an ordinary one wrote, with no fence.proxy.async between; a wgmma without wgmma.fence
	PendingMatrix Kind = "pending matrix product" // a touch of registers that a wgmma in flight works on
	Registers     Kind = "registers"              // a budget of registers that does not add up
)

// A Finding is something wrong with a program that hardware may hide.
type Finding struct {
	Kind    Kind
	Message string
	// File and Line are the source of the instruction, by .loc; empty and 0 without one.
	File string
	Line int
	// Instruction is the opcode, and PTXLine its line in the module.
	Instruction string
	PTXLine     int
	// Block is where it was found first, Warp the warp in the block and Lanes the lanes in the warp.
	Block [3]int
	Warp  int
	Lanes uint32
	// Count is how often it was found.
	Count int
}

// String says what was found, where in the source, and by whom.
func (f Finding) String() string {
	at := ""
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d: ", f.File, f.Line)
	}
	s := fmt.Sprintf("%s%s: %s (block %d,%d,%d warp %d lanes %s, ptx line %d: %s)", at, f.Kind, f.Message,
		f.Block[0], f.Block[1], f.Block[2], f.Warp, laneList(f.Lanes), f.PTXLine, f.Instruction)
	if f.Count > 1 {
		s += fmt.Sprintf(", %d times", f.Count)
	}
	return s
}

// laneList writes a mask of lanes as ranges: 0-3,7.
func laneList(mask uint32) string {
	if mask == 0 {
		return "none"
	}
	var words []string
	for mask != 0 {
		from := bits.TrailingZeros32(mask)
		n := bits.TrailingZeros32(^(mask >> from))
		if n == 1 {
			words = append(words, fmt.Sprint(from))
		} else {
			words = append(words, fmt.Sprintf("%d-%d", from, from+n-1))
		}
		if from+n >= 32 {
			break
		}
		mask = mask >> (from + n) << (from + n)
	}
	return strings.Join(words, ",")
}

// findings collects what the blocks of a launch find, each kind once an instruction.
type findings struct {
	mu   sync.Mutex
	list []Finding
	seen map[findingKey]int
}

type findingKey struct {
	kind    Kind
	ptxLine int
}

// report notes a finding at the warp's current instruction.
func (w *warp) report(kind Kind, mask uint32, format string, args ...any) {
	all := &w.block.launch.findings
	all.mu.Lock()
	defer all.mu.Unlock()
	s := w.in.site
	key := findingKey{kind, s.ptxLine}
	if i, ok := all.seen[key]; ok {
		all.list[i].Count++
		return
	}
	all.seen[key] = len(all.list)
	all.list = append(all.list, Finding{
		Kind: kind, Message: fmt.Sprintf(format, args...),
		File: w.block.launch.kernel.module.Files[s.file], Line: s.line,
		Instruction: s.text, PTXLine: s.ptxLine,
		Block: w.block.place, Warp: w.index, Lanes: mask, Count: 1,
	})
}

// whereabouts says where lanes are.
func (w *warp) whereabouts(mask uint32) string {
	var words []string
	for _, f := range w.frags {
		if f.mask&mask != 0 {
			words = append(words, w.block.launch.kernel.code[f.pc].site.String())
		}
	}
	if words == nil {
		return "no instruction"
	}
	return strings.Join(words, ", ")
}

// String says where the instruction stands.
func (s *site) String() string {
	at := fmt.Sprintf("%s (ptx line %d", s.text, s.ptxLine)
	if s.line > 0 {
		at += fmt.Sprintf(", source line %d", s.line)
	}
	return at + ")"
}
