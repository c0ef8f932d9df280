package lang

import "sort"

// The codes of the type checker, by kind.
const (
	// name
	ErrUnknownName  Code = "E0201" // a name that nothing declares
	ErrDuplicate    Code = "E0202" // a name declared twice in one scope
	ErrShadowedAxis Code = "E0203" // a name that hides an axis in scope
	ErrNameKind     Code = "E0204" // a name of the wrong kind for its place
	ErrAttribute    Code = "E0205" // an unknown attribute, or wrong arguments of one
	ErrField        Code = "E0206" // a field that the value does not have
	ErrArgCount     Code = "E0207" // too few or too many arguments
	ErrArgName      Code = "E0208" // an unknown or repeated argument name
	ErrRecursion    Code = "E0209" // a fn, graph or struct that contains itself
	ErrFormat       Code = "E0211" // a text whose {} do not fit its values
	ErrUnknownType  Code = "E0210" // a type that nothing declares
	ErrFormula      Code = "E0299" // a kernel without a grid that is no formula

	// type
	ErrMixedTypes   Code = "E0301" // operands of different element types
	ErrOperandType  Code = "E0302" // an operation that the element type has not
	ErrConstantType Code = "E0303" // a constant that the element type cannot hold
	ErrCondition    Code = "E0304" // a condition that is no bool scalar
	ErrBranches     Code = "E0305" // branches of an if that differ in type
	ErrCarried      Code = "E0306" // a carried value that changes its type
	ErrValueCount   Code = "E0307" // no value, or another number of values than names
	ErrWrongType    Code = "E0308" // a value of another element type than its place
	ErrTypeParam    Code = "E0309" // an element type that a type parameter does not accept, or that nothing determines
	ErrSumType      Code = "E0310" // a sum whose type would depend on a type parameter
	ErrDeclType     Code = "E0311" // a type that a declaration may not have
	ErrIndexType    Code = "E0312" // an index that is no integer
	ErrNotScalar    Code = "E0313" // a tile where a scalar is needed
	ErrNotMutable   Code = "E0314" // an inout argument that may not be written
	ErrBitcast      Code = "E0315" // a bitcast between types whose widths do not fit

	// shape
	ErrAxisDim     Code = "E0401" // an axis that walks another dimension
	ErrIndexCount  Code = "E0402" // too few or too many indices
	ErrEscape      Code = "E0403" // a value over an axis whose scope has ended
	ErrNoAxis      Code = "E0404" // a reduction over an axis that the tile has not
	ErrContraction Code = "E0405" // operands that do not contract, or an accumulator of other axes
	ErrStoreAxes   Code = "E0406" // a stored tile with an axis that no index has
	ErrShape       Code = "E0407" // shapes that can never agree
	ErrView        Code = "E0408" // a view with another number of elements
	ErrUnboundDim  Code = "E0409" // a dimension that no argument determines
	ErrAxisAsValue Code = "E0410" // an axis where a value is needed, or the reverse
	ErrRename      Code = "E0411" // a rename to an axis of other positions
	ErrShapeOp     Code = "E0412" // a shape operation whose axes or sizes do not fit
	ErrCombiner    Code = "E0415" // a function that reduce or scan cannot combine by
	ErrPartial     Code = "E0416" // a result that depends on how large a part of a dimension one block has

	// bounds
	ErrBounds   Code = "E0501" // an index that is not proven in bounds
	ErrSubRange Code = "E0502" // a constant range that is not proven inside its dimension
	ErrSlice    Code = "E0503" // a slice outside the dimension, or one that begins within a byte

	// race
	ErrRace         Code = "E0601" // blocks that would write one element
	ErrInoutRead    Code = "E0602" // an inout tensor read where another block may write
	ErrReadOnly     Code = "E0603" // a store to an input
	ErrNeverStored  Code = "E0604" // an output without a value
	ErrOutputRead   Code = "E0605" // an output that is read
	ErrAssignedMore Code = "E0606" // an output assigned more than once

	ErrPure Code = "E0607" // a fn that would print, assert or assume

	// constant
	ErrNotConstant   Code = "E0701" // an expression that is not constant where one is needed
	ErrConstantValue Code = "E0702" // a constant expression without a value: overflow, division by zero
	ErrTune          Code = "E0703" // a tune clause or an extent that cannot be
	ErrStaticAssert  Code = "E0705" // a static_assert, or an assume, that constants make false
	ErrConstParam    Code = "E0704" // a constant parameter without a value, or of another type

	// import
	ErrImport       Code = "E1001" // a file that cannot be imported
	ErrImportCycle  Code = "E1002" // files that import each other
	ErrImportedName Code = "E1003" // one name from two files
)

// Codes lists every code that has a page, in order.
func Codes() []Code {
	all := make([]Code, 0, len(codeTable))
	for c := range codeTable {
		all = append(all, c)
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	return all
}
