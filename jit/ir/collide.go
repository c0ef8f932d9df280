package ir

import (
	"slices"

	"tilec/lang"
)

// Collides reports a store of which several positions may name one element of
// the tensor. The last of these positions wins, the axes in the order of their
// declaration, the first slowest. A store does not collide when each of its axes
// has a dimension of the tensor for itself.
func (op *Op) Collides() bool { return len(op.untold()) > 0 }

// Overwrites reports an exchange of which nothing else is asked, neither the old elements nor an order of other accesses: a store, of
// which any may win where several name one element.
func (op *Op) Overwrites() bool {
	return op.Code == lang.OpAtomicXchg && !op.Old && (op.Order == "" || op.Order == lang.OrderRelaxed)
}

// Ordered are the axes of a store that have to be gone through in the order of their declaration, for positions
// along several of them may name one element; none where there are not several.
func (op *Op) Ordered() []*Axis {
	if op.Code != lang.OpStore {
		return nil
	}
	if axes := op.untold(); len(axes) > 1 {
		return axes
	}
	return nil
}

// untold are the axes of an access that have no dimension of the tensor for themselves.
func (op *Op) untold() []*Axis {
	told := map[*Axis]bool{}
	for _, v := range op.Indices() {
		if a := follows(v); a != nil {
			told[a] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(op.AccessAxes()), func(a *Axis) bool { return told[a] })
}

// follows is the axis whose positions, moved by a scalar, an index is; nil when it is none.
func follows(v *Value) *Axis {
	if v.Def == nil || len(v.Type.Axes) != 1 {
		return nil
	}
	args := v.Def.Args
	switch v.Def.Code {
	case lang.OpIndex:
		return v.Def.Axis
	case lang.OpRename:
		if follows(args[0]) == v.Def.From {
			return v.Def.Axis
		}
	case lang.OpCast:
		if args[0].Type.DType == lang.I32 && v.Type.DType == lang.I64 {
			return follows(args[0])
		}
	case lang.OpAdd, lang.OpSub:
		switch {
		case args[1].Type.IsScalar():
			return follows(args[0])
		case args[0].Type.IsScalar():
			return follows(args[1])
		}
	}
	return nil
}
