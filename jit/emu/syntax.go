package emu

// A textModule is a PTX module as written.
type textModule struct {
	Version string // "8.0"
	Target  string // "sm_90a"
	// Entries are the kernels, in the order of the text.
	Entries []*Entry

	files   map[int]string // of .file, by the number that .loc gives
	globals []*variable    // of .global and .const
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

	statements []statement
	labels     map[string]int      // the statement that a label stands before
	targets    map[string][]string // of brx.idx: the labels, by the list's name
	dynamic    int                 // where dynamic shared memory starts, in bytes
	// registerNames and predicateNames are the declared registers by their index.
	registerNames, predicateNames []string
}

// A Param is a kernel parameter.
type Param struct {
	Name   string
	Offset int // bytes from the start of the parameter space
	Size   int
}

// A space is a PTX state space.
type space uint8

const (
	spaceGeneric space = iota
	spaceGlobal
	spaceShared  // of the own block
	spaceCluster // shared memory of any block of the cluster
	spaceLocal
	spaceParam
	spaceConst
	spaceReg
)

var spaceNames = [...]string{"generic", "global", "shared", "shared::cluster", "local", "param", "const", "reg"}

func (s space) String() string { return spaceNames[s] }

// A variable is a declared symbol with an address in its space.
type variable struct {
	name    string
	space   space
	align   int
	size    int
	address uint64
	data    []byte // initial contents; nil for none
	extern  bool
	call    bool // a .param variable in a body, for calls
}

// A statement is an instruction as written.
type statement struct {
	line    int
	file    int // of .loc; 0 for none
	srcLine int
	guard   string // predicate register; "" for none
	not     bool
	opcode  string   // with its modifiers, as written
	name    string   // the opcode alone
	mods    []string // the modifiers, without dots
	ops     []operand
	scope   *scope // names that the operands may use
	prefix  string // of labels
}

type operandKind uint8

const (
	opName operandKind = iota // a register, special register, variable or label
	opInt
	opFloat
	opAddress
	opVector
	opSink
	opPair // d|p
)

// An operand is an operand as written.
type operand struct {
	kind   operandKind
	name   string // of opName; the base of opAddress
	not    bool   // !p
	bits   uint64 // of opInt and opFloat; the base of an absolute opAddress
	width  int    // of opFloat: 32 or 64
	offset int64  // name+offset
	elems  []operand
}

// A scope holds the names of a { } block.
type scope struct {
	outer     *scope
	registers map[string]register
	variables map[string]*variable
}

// A register is a declared register. Predicates are counted apart from the others.
type register struct {
	index int
	t     dtype
}

// newScope makes a scope within another; nil for the module.
func newScope(outer *scope) *scope {
	return &scope{outer, map[string]register{}, map[string]*variable{}}
}

// register finds a register that the scope or one around it declares.
func (s *scope) register(name string) (register, bool) {
	for ; s != nil; s = s.outer {
		if r, ok := s.registers[name]; ok {
			return r, true
		}
	}
	return register{}, false
}

// variable finds a variable that the scope or one around it declares; nil for none.
func (s *scope) variable(name string) *variable {
	for ; s != nil; s = s.outer {
		if v, ok := s.variables[name]; ok {
			return v
		}
	}
	return nil
}
