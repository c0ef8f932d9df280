package rules

// The limits of a program, which keep the time and the memory that checking takes near to its length.
// docs/language.md lists them, and the page of E0802.
const (
	// MaxTensors bounds the tensors of a struct, those of its fields included: structs of two that
	// hold two of the next double with every link.
	MaxTensors = 10000
	// MaxStructs bounds how deep structs are in one another.
	MaxStructs = 100
	// maxInlined bounds the calls that one body unfolds to: a chain of functions that
	// each call the next one twice doubles with every link.
	maxInlined = 10000
	// MaxInlining bounds how deep inlined calls are in one another.
	MaxInlining = 200
)
