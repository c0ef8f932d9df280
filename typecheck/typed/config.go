package typed

import (
	"tilec/lang"
	"tilec/typecheck/size"
)

// This file is what a graph says of the config.json of its checkpoints: what it takes from there (`@config`) and what must be
// so (`@require`). Keys of objects in objects have points between: `rope_scaling.factor`.

// ConfigRow is one binding of @config: where the value of a dimension, a constant or a scalar parameter comes from.
type ConfigRow struct {
	Name string
	// Symbol is the dimension or the constant; nil for a scalar parameter.
	Symbol *size.Symbol
	// DType is the element type of a constant or a scalar, i32 of a dimension.
	DType lang.DType
	// Keys are tried in their order: the first that the file has gives the value.
	Keys []string
	// Words are what the key may say, in the order of the source, where it has one of some words; nil where the value is the key's own.
	Words []ConfigWord
	// Else is the value where the file has none of the keys; nil where it must have one.
	Else *ConfigDefault
	// At is where the row stands.
	At lang.Span
}

// ConfigWord is a word that a key may have, and what it stands for.
type ConfigWord struct {
	Word  string
	Value lang.Literal
}

// ConfigDefault is the value of what the file does not have: an integer that the rows before tell, or a literal.
type ConfigDefault struct {
	Size    size.Size
	Literal *lang.Literal // nil for a size
}

// Condition is one argument of @require, or a part of it.
type Condition struct {
	// Op is `and`, `or`, `not`, a comparison, or "" for a key alone, which holds unless the file says nothing of the
	// kind: it lacks the key, or has null, false, "", {} or [] there.
	Op string
	// Args are the parts of and, or and not.
	Args []*Condition
	// X and Y are what a comparison is of; X alone is the key.
	X, Y ConfigOperand
	At   lang.Span
}

// ConfigOperand is one side of a comparison: a key, a literal, or an integer that @config tells.
type ConfigOperand struct {
	Key  string // "" for none
	Text *string
	// Bool and Number are literals.
	Bool   *bool
	Number *float64
	Size   *size.Size
}
