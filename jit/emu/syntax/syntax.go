package syntax

import "tilec/jit/emu/number"

// A textModule is a PTX module as written.
type Module struct {
	Version string // "8.0"
	Target  string // "sm_90a"
	// Entries are the kernels, in the order of the text.
	Entries []*Entry

	Files   map[int]string // of .file, by the number that .loc gives
	Globals []*Variable    // of .global and .const
}

// An Entry is a kernel as written, with the functions that it calls in place of the
// calls. Names have been resolved to scopes, and variables have addresses.
type Entry struct {
	Name   string
	Params []Param
	// ParamSize is the size of the parameter space in bytes.
	ParamSize int
	// MaxThreads is .maxntid and Threads .reqntid, zero where not given.
	MaxThreads, Threads [3]int
	// Cluster is .reqnctapercluster, zero where not given.
	Cluster [3]int
	// MinBlocks is .minnctapersm, and MaxRegisters .maxnreg, zero where not given.
	MinBlocks, MaxRegisters int
	// Shared is the size of the statically declared shared memory in bytes;
	// what a launch asks for comes after it.
	Shared int
	// Local is the size of the local memory of a thread in bytes.
	Local int
	// Registers is the number of 32-bit registers that the kernel declares. PTX is
	// in unlimited registers; the assembler will need fewer.
	Registers int

	Statements []Statement
	Labels     map[string]int      // the statement that a label stands before
	Targets    map[string][]string // of brx.idx: the labels, by the list's name
	Dynamic    int                 // where dynamic shared memory starts, in bytes
	// RegisterNames and predicateNames are the declared registers by their index.
	RegisterNames, PredicateNames []string
}

// A Param is a kernel parameter.
type Param struct {
	Name   string
	Offset int // bytes from the start of the parameter space
	Size   int
}

// A space is a PTX state space.
type Space uint8

const (
	SpaceGeneric Space = iota
	SpaceGlobal
	SpaceShared  // of the own block
	SpaceCluster // shared memory of any block of the cluster
	SpaceLocal
	SpaceParam
	SpaceConst
	spaceReg
)

var spaceNames = [...]string{"generic", "global", "shared", "shared::cluster", "local", "param", "const", "reg"}

func (s Space) String() string { return spaceNames[s] }

// A variable is a declared symbol with an address in its space.
type Variable struct {
	name    string
	Space   Space
	align   int
	Size    int
	Address uint64
	Data    []byte // initial contents; nil for none
	extern  bool
	Call    bool // a .param variable in a body, for calls
}

// A statement is an instruction as written.
type Statement struct {
	Line       int
	File       int // of .loc; 0 for none
	SourceLine int
	Guard      string // predicate register; "" for none
	Negated    bool
	Opcode     string   // with its modifiers, as written
	Name       string   // the opcode alone
	Modifiers  []string // the modifiers, without dots
	Operands   []Operand
	Scope      *scope // names that the operands may use
	Prefix     string // of labels
}

type OperandKind uint8

const (
	OpName OperandKind = iota // a register, special register, variable or label
	OpInt
	OpFloat
	OpAddress
	OpVector
	OpSink
	OpPair // d|p
)

// An operand is an operand as written.
type Operand struct {
	Kind     OperandKind
	Name     string // of opName; the base of opAddress
	Negated  bool   // !p
	Bits     uint64 // of opInt and opFloat; the base of an absolute opAddress
	width    int    // of opFloat: 32 or 64
	Offset   int64  // name+offset
	Elements []Operand
}

// A scope holds the names of a { } block.
type scope struct {
	outer     *scope
	registers map[string]register
	variables map[string]*Variable
}

// A register is a declared register. Predicates are counted apart from the others.
type register struct {
	Index int
	Type  number.Type
}

// newScope makes a scope within another; nil for the module.
func newScope(outer *scope) *scope {
	return &scope{outer, map[string]register{}, map[string]*Variable{}}
}

// Register finds a register that the scope or one around it declares.
func (s *scope) Register(name string) (register, bool) {
	for ; s != nil; s = s.outer {
		if r, ok := s.registers[name]; ok {
			return r, true
		}
	}
	return register{}, false
}

// Variable finds a variable that the scope or one around it declares; nil for none.
func (s *scope) Variable(name string) *Variable {
	for ; s != nil; s = s.outer {
		if v, ok := s.variables[name]; ok {
			return v
		}
	}
	return nil
}
