package lang

import "cmp"

// Compare is what a comparison gives of two constants; ok is false where op is none. A NaN differs from all.
func Compare[T cmp.Ordered](op Op, x, y T) (holds, ok bool) {
	switch op {
	case OpEq:
		return x == y, true
	case OpNe:
		return x != y, true
	case OpLt:
		return x < y, true
	case OpLe:
		return x <= y, true
	case OpGt:
		return x > y, true
	case OpGe:
		return x >= y, true
	}
	return false, false
}
