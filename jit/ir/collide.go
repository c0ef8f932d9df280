package ir

import (
	"cmp"
	"math"
	"slices"

	"tilec/lang"
)

// Collides reports a store of which several positions may name one element of
// the tensor. The last of these positions wins, the axes in the order of their
// declaration, the first slowest. A store does not collide when the indices tell the positions along each of its axes apart.
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

// untold are the axes of an access whose positions the indices do not tell apart.
func (op *Op) untold() []*Axis {
	told := map[*Axis]bool{}
	indices := op.Indices()
	for _, q := range op.Indices() {
		for _, r := range op.Indices() {
			if x := divided(q, r); x != nil { // both together tell it
				indices = append(indices[:len(indices):len(indices)], x)
			}
		}
	}
	for more := true; more; {
		more = false
		for _, v := range indices {
			for _, a := range tells(v, told) {
				told[a], more = true, true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(op.AccessAxes()), func(a *Axis) bool { return told[a] })
}

// tells gives the axes whose positions an index tells apart where those along the axes told are known: it is a sum of multiples of positions, each of which is larger than what all
// smaller ones come to, as digits are.
func tells(v *Value, told map[*Axis]bool) (axes []*Axis) {
	multiples, ok := multiplesOf(v, deepMultiples)
	if !ok {
		return nil
	}
	for a, n := range multiples {
		if !told[a] && n != 0 {
			axes = append(axes, a)
		}
	}
	size := func(a *Axis) int64 { return max(multiples[a], -multiples[a]) }
	slices.SortFunc(axes, func(a, b *Axis) int { return cmp.Or(cmp.Compare(size(a), size(b)), cmp.Compare(most(a), most(b))) })
	smaller := int64(0) // what those before come to
	for i, a := range axes {
		if size(a) <= smaller {
			return nil
		}
		if i == len(axes)-1 {
			break
		}
		if most(a) > largestMultiple/size(a) {
			return nil
		}
		smaller += size(a) * max(most(a)-1, 0)
	}
	return axes
}

// most is how many positions an axis has, more than any where nobody knows.
func most(a *Axis) int64 {
	switch {
	case a.Kind == Whole:
		return a.Len
	case a.Dim != nil && a.Dim.Known():
		return a.Dim.Value
	}
	return math.MaxInt64
}

// divided is the value of which two are quotient and remainder by one number, by division or by bits; nil where they are not.
func divided(q, r *Value) *Value {
	if q.Def == nil || r.Def == nil || len(q.Def.Args) != 2 || len(r.Def.Args) != 2 || q.Def.Args[0] != r.Def.Args[0] {
		return nil
	}
	c, known := q.Def.Args[1].IsConst()
	d, too := r.Def.Args[1].IsConst()
	byDivision := q.Def.Code == lang.OpDiv && r.Def.Code == lang.OpMod && c.Int == d.Int && c.Int > 0
	byBits := q.Def.Code == lang.OpShr && r.Def.Code == lang.OpAnd && 0 <= c.Int && c.Int < 31 && d.Int == 1<<c.Int-1
	if known && too && q.Type.DType.IsInt() && (byDivision || byBits) {
		return q.Def.Args[0]
	}
	return nil
}

// largestMultiple bounds the multiples that are looked at, and deepMultiples how deep their arithmetic is.
const largestMultiple, deepMultiples = 1 << 30, 8

// multiplesOf reads an index as a sum of multiples of positions, by axis, and of scalars.
func multiplesOf(v *Value, depth int) (map[*Axis]int64, bool) {
	switch {
	case v.Type.IsScalar():
		return nil, true
	case v.Def == nil || depth == 0:
		return nil, false
	}
	args := v.Def.Args
	switch v.Def.Code {
	case lang.OpIndex:
		return map[*Axis]int64{v.Def.Axis: 1}, true
	case lang.OpFull:
		return nil, true
	case lang.OpRename:
		m, ok := multiplesOf(args[0], depth-1)
		if n, has := m[v.Def.From]; ok && has {
			delete(m, v.Def.From)
			m[v.Def.Axis] = n
		}
		return m, ok
	case lang.OpCast:
		if args[0].Type.DType == lang.I32 && v.Type.DType == lang.I64 {
			return multiplesOf(args[0], depth-1)
		}
	case lang.OpAdd, lang.OpSub:
		x, ok := multiplesOf(args[0], depth-1)
		y, too := multiplesOf(args[1], depth-1)
		if !ok || !too {
			return nil, false
		}
		sum := map[*Axis]int64{}
		for a, n := range x {
			sum[a] += n
		}
		for a, n := range y {
			if v.Def.Code == lang.OpSub {
				n = -n
			}
			sum[a] += n
		}
		return sum, true
	case lang.OpMul:
		for i, x := range args {
			if c, known := x.IsConst(); known && x.Type.DType.IsInt() && -largestMultiple < c.Int && c.Int < largestMultiple {
				m, ok := multiplesOf(args[1-i], depth-1)
				for a := range m {
					if m[a] *= c.Int; m[a] > largestMultiple || m[a] < -largestMultiple {
						return nil, false
					}
				}
				return m, ok
			}
		}
	}
	return nil, false
}
