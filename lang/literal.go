package lang

// Literal is a constant of a concrete type: Int for integers and bool (0 or 1), Float for floats.
type Literal struct {
	DType DType
	Int   int64
	Float float64
}
