package typecheck

import "strings"

// This file writes types, axes and shapes as messages show them.

// String is the type as messages show it: `f32{i, j}`.
func (t Type) String() string {
	if len(t.Axes) == 0 {
		return t.DType.String()
	}
	return t.DType.String() + "{" + axisNames(t.Axes) + "}"
}

func axisNames(axes []*Axis) string {
	text := ""
	for i, a := range axes {
		if i > 0 {
			text += ", "
		}
		text += a.Name
	}
	return text
}

func axisText(x *Axis) string {
	if x.Kind != WholeAxis {
		return x.Over() + ", in parts"
	}
	return x.Over()
}

func shapeText(d DType, shape []Size) string {
	parts := make([]string, len(shape))
	for i, s := range shape {
		parts[i] = s.String()
	}
	return d.String() + "[" + strings.Join(parts, ", ") + "]"
}

func sizesText(sizes []Size) string {
	parts := make([]string, len(sizes))
	for i, s := range sizes {
		parts[i] = s.String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
