package size

import "tilec/lang"

// SymbolKind says what a Symbol stands for.
type SymbolKind uint8

// The kinds of symbol.
const (
	// DimSymbol is a dimension, bound by the shapes of the arguments.
	DimSymbol SymbolKind = iota
	// ConstSymbol is a constant parameter.
	ConstSymbol
	// PositionSymbol is a position along an axis or a loop, or an integer
	// parameter: only the proofs of bounds and races use it.
	PositionSymbol
)

// Symbol is an integer that a specialisation or a launch binds: a dimension or
// a constant parameter. Constant parameters may also be bool or float.
type Symbol struct {
	Name string
	Kind SymbolKind
	// DType is i32 for dimensions and int constants.
	DType lang.DType
	// Default is the value of a constant parameter that a call leaves out; nil when it must be given.
	Default *lang.Literal
	At      lang.Span

	// Serial tells apart hidden symbols of one name.
	Serial int
}
