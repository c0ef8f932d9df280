package syntax

import "tilec/jit/emu/number"

// A Module is a PTX module as written.
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
	// RegisterNames and PredicateNames are the declared registers by their index.
	RegisterNames, PredicateNames []string
}

// A Param is a kernel parameter.
type Param struct {
	Name   string
	Offset int // bytes from the start of the parameter space
	Size   int
}

// A Space is a PTX state space.
type Space uint8

// The state spaces. An address of the generic space says itself which of the others it is in.
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

// String is the name of the space in PTX, without the dot.
func (s Space) String() string { return spaceNames[s] }

// A Variable is a declared symbol with an address in its space.
type Variable struct {
	Name    string
	Space   Space
	Align   int // in bytes, as is Size
	Size    int
	Address uint64 // in its space; DynamicShared when only a launch tells
	Data    []byte // initial contents; nil for none
	Extern  bool
	Call    bool // a .param variable in a body, for calls
}

// A Statement is an instruction as written.
type Statement struct {
	Line       int      // of the PTX text
	File       int      // of .loc; 0 for none
	SourceLine int      // of .loc
	Guard      string   // predicate register; "" for none
	Negated    bool     // @!p
	Opcode     string   // with its modifiers, as written
	Name       string   // the opcode alone
	Modifiers  []string // the modifiers, without dots
	Operands   []Operand
	Scope      *Scope // the names that the operands may use
	Prefix     string // before the names of labels: where a function is expanded they are its own
}

// An OperandKind is the form of an operand.
type OperandKind uint8

// The forms of operands.
const (
	OpName OperandKind = iota // a register, special register, variable or label
	OpInt
	OpFloat
	OpAddress // [name+offset], with the coordinates of a tensor after it
	OpVector  // {a, b}
	OpSink    // _
	OpPair    // d|p
)

// An Operand is an operand as written.
type Operand struct {
	Kind     OperandKind
	Name     string    // of OpName; the base of OpAddress
	Negated  bool      // !p
	Bits     uint64    // of OpInt and OpFloat; the base of an absolute OpAddress
	Width    int       // of OpFloat: 32 or 64
	Offset   int64     // name+offset
	Elements []Operand // of OpVector and OpPair; the coordinates of OpAddress
}

// A Scope holds the names of a { } block.
type Scope struct {
	outer     *Scope
	registers map[string]Register
	variables map[string]*Variable
}

// A Register is a declared register. Predicates are counted apart from the others.
type Register struct {
	Index int // in the entry's RegisterNames or PredicateNames
	Type  number.Type
}

// newScope makes a scope within another; nil for the module.
func newScope(outer *Scope) *Scope {
	return &Scope{outer, map[string]Register{}, map[string]*Variable{}}
}

// Register finds a register that the scope or one around it declares.
func (s *Scope) Register(name string) (Register, bool) {
	for ; s != nil; s = s.outer {
		if r, ok := s.registers[name]; ok {
			return r, true
		}
	}
	return Register{}, false
}

// Variable finds a variable that the scope or one around it declares; nil for none.
func (s *Scope) Variable(name string) *Variable {
	for ; s != nil; s = s.outer {
		if v, ok := s.variables[name]; ok {
			return v
		}
	}
	return nil
}
