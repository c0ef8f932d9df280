package asm

import "strings"

// Line is one line of code: an *Instr, a Label, a Comment, a Pragma or a Loc.
type Line interface {
	line(b []byte) []byte
}

// Instr is one instruction.
type Instr struct {
	// Pred says whether the instruction is executed, Negated that it is where Pred does not hold; no register for always.
	Pred    Reg
	Negated bool
	// Name is the mnemonic with all its modifiers.
	Name string
	// Dst is what is written, a Reg, a Vector or Sink; nil where nothing is.
	Dst Operand
	// Src are the operands that are read, memory among them.
	Src []Operand
}

// Comment is a line for whoever reads the text.
type Comment string

// Pragma is a request to the assembler, about the loop that begins at the label before.
type Pragma string

// Loc names the place in the source of the instructions that follow.
type Loc struct{ File, Row, Column int }

// Effects are what an instruction does beside giving its result.
type Effects uint8

// The effects. An instruction without any is pure: it may be computed once for several uses, and earlier.
const (
	// Reads and Writes are accesses to memory.
	Reads Effects = 1 << iota
	Writes
	// Waits is for other threads, or for copies and products that are under way, or hands them over.
	Waits
	// Exchanges with the other lanes of the warp, which have to take part.
	Exchanges
	// Jumps changes what is executed next.
	Jumps
	// Unknown is an instruction that the table has not.
	Unknown
)

// effects has what the instructions do, by the first parts of their names; the longest that fits counts.
var effects = map[string]Effects{
	"abs": 0, "add": 0, "and": 0, "bfe": 0, "clz": 0, "copysign": 0, "cos": 0, "createpolicy": 0, "cvt": 0, "cvta": 0, "div": 0, "ex2": 0,
	"fma": 0, "lg2": 0, "lop3": 0, "mad": 0, "mapa": 0, "max": 0, "min": 0, "mov": 0, "mul": 0, "neg": 0, "not": 0, "or": 0, "popc": 0,
	"prmt": 0, "rcp": 0, "rem": 0, "rsqrt": 0, "selp": 0, "setp": 0, "shl": 0, "shr": 0, "sin": 0, "sqrt": 0, "sub": 0,
	"tanh": 0, "testp": 0, "xor": 0,

	"ld": Reads, "ld.param": 0, "ldmatrix": Reads | Exchanges, "stmatrix": Writes | Exchanges,
	"st": Writes, "red": Reads | Writes, "atom": Reads | Writes,
	"prefetch": Reads,
	"cp":       Reads | Writes, "cp.async.commit_group": Waits, "cp.async.wait_group": Waits,
	"cp.async.bulk.commit_group": Waits, "cp.async.bulk.wait_group": Waits,

	"bar": Waits | Reads | Writes, "barrier": Waits | Reads | Writes, "fence": Waits | Reads | Writes,
	"mbarrier": Waits | Reads | Writes, "griddepcontrol": Waits | Reads | Writes,

	"shfl": Exchanges, "redux": Exchanges, "match": Exchanges, "vote": Exchanges, "mma": Exchanges,
	"wgmma": Exchanges | Waits | Reads | Writes, "setmaxnreg": Waits | Exchanges,

	"bra": Jumps, "ret": Jumps,
}

// EffectsOf is the effects of the instructions of a name.
func EffectsOf(name string) Effects {
	for end := len(name); end > 0; end = strings.LastIndexByte(name[:end], '.') {
		if e, ok := effects[name[:end]]; ok {
			return e
		}
	}
	return Unknown
}

// Effects is what the instruction does beside giving its result.
func (i *Instr) Effects() Effects { return EffectsOf(i.Name) }
