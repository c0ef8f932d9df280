package lang

// This file is what the atomics have in common: how they are named, what they
// make of an element, and how they may be ordered.

// atomic is the row of an atomic. Its operands are an access, which is no value, and values.
func atomic(name, doc, cutile string) OpRow {
	return OpRow{Name: "atomic_" + name, Spelling: "atomic_" + name, Group: GroupAtomic, Form: FormCall,
		Rule: RuleSpecial, Effect: Writes, Doc: doc, CuTile: cutile}
}

// IsAtomic reports an operation that changes an element of a tensor as one step among all blocks.
func (op Op) IsAtomic() bool { return opTable[op].Group == GroupAtomic }

// IsDebug reports an operation that says something while a kernel runs.
func (op Op) IsDebug() bool { return opTable[op].Group == GroupUtility }

// Combines is the elementwise operation that an atomic applies to an element
// and its operand; OpInvalid for those that only put a new value there.
func (op Op) Combines() Op {
	return map[Op]Op{OpAtomicAdd: OpAdd, OpAtomicMax: OpMax, OpAtomicMin: OpMin,
		OpAtomicAnd: OpAnd, OpAtomicOr: OpOr, OpAtomicXor: OpXor}[op]
}

// AtomicValues is how many values an atomic takes beside the elements: the
// operand, and of a compare-and-swap what the elements become.
func (op Op) AtomicValues() int {
	if op == OpAtomicCas {
		return 2
	}
	return 1
}

// AtomicAccepts reports whether an atomic works on elements of a type: numbers
// add and compare, integers have bits, and anything can be swapped.
func (op Op) AtomicAccepts(d DType) bool {
	switch op {
	case OpAtomicAdd, OpAtomicMax, OpAtomicMin:
		return d.IsInt() || d.IsFloat()
	case OpAtomicAnd, OpAtomicOr, OpAtomicXor:
		return d.IsInt()
	}
	return op.IsAtomic() && d != Invalid
}

// AtomicUsage is how an atomic is written.
func (op Op) AtomicUsage() string {
	if op == OpAtomicCas {
		return "atomic_cas(y[i, j], expected, new)"
	}
	return op.Row().Spelling + "(y[i, j], a)"
}

// AtomicOrders and AtomicScopes are the words that `order` and `scope` of an
// atomic take. Without them an atomic is OrderRelaxed and ScopeDevice.
var (
	AtomicOrders = []string{OrderRelaxed, OrderAcquire, OrderRelease, OrderAcqRel}
	AtomicScopes = []string{ScopeBlock, ScopeDevice, ScopeSystem}
)

// The orders and scopes of atomics.
const (
	OrderRelaxed = "relaxed"
	OrderAcquire = "acquire"
	OrderRelease = "release"
	OrderAcqRel  = "acq_rel"

	ScopeBlock  = "block"
	ScopeDevice = "device"
	ScopeSystem = "system"
)
