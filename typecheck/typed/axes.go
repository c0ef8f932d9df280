package typed

// This file treats the axes of tiles as sets.

// HasAxis reports an axis among others.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func HasAxis(axes []*Axis, a *Axis) bool {
	for _, b := range axes {
		if a == b {
			return true
		}
	}
	return false
}

// UnionAxes is the axes of all, in order of first appearance.
func UnionAxes(types ...Type) []*Axis {
	var u []*Axis
	for _, t := range types {
		for _, a := range t.Axes {
			if !HasAxis(u, a) {
				u = append(u, a)
			}
		}
	}
	return u
}

// WithoutAxes is the axes that are not in drop.
func WithoutAxes(axes, drop []*Axis) []*Axis {
	var rest []*Axis
	for _, a := range axes {
		if !HasAxis(drop, a) {
			rest = append(rest, a)
		}
	}
	return rest
}

// SameAxes reports the same axes, in any order.
func SameAxes(a, b []*Axis) bool {
	return len(a) == len(b) && len(WithoutAxes(a, b)) == 0
}
