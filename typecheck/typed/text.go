package typed

import (
	"strings"
	"tilec/typecheck/size"
)

// This file writes types, axes and shapes as messages show them.

// String is the type as messages show it: `f32{i, j}`.
func (t Type) String() string {
	if len(t.Axes) == 0 {
		return t.DType.String()
	}
	return t.DType.String() + "{" + AxisNames(t.Axes) + "}"
}

// AxisNames lists axes by name: `i, j`.
func AxisNames(axes []*Axis) string {
	text := ""
	for i, a := range axes {
		if i > 0 {
			text += ", "
		}
		text += a.Name
	}
	return text
}

// AxisText is what an axis walks, and that it does so in parts where it does.
func AxisText(x *Axis) string {
	if x.Kind != WholeAxis {
		return x.Over() + ", in parts"
	}
	return x.Over()
}

// ShapeText is the type of a tensor: `f32[M, N]`.
func ShapeText(d DType, shape []size.Size) string {
	words := make([]string, len(shape))
	for i, s := range shape {
		words[i] = s.String()
	}
	return d.String() + "[" + strings.Join(words, ", ") + "]"
}

// SizesText is a shape: `[M, N]`.
func SizesText(sizes []size.Size) string {
	words := make([]string, len(sizes))
	for i, s := range sizes {
		words[i] = s.String()
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// Failure says that the condition of a static_assert does not hold.
func (s *StaticAssert) Failure() string {
	if s.Text == "" {
		return "static_assert: " + s.At.Text() + " does not hold"
	}
	return "static_assert: " + s.Text
}
