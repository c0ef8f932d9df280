package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// This file finds operands of products that should lie otherwise in memory. Some should have another order of their dimensions. A product reads rows along its depth, or along
// its rows where those are one axis. An operand of several axes, as images and the weights of a convolution are, has neither where its
// channels, which are the depth, do not lie innermost: neighbours in memory then are columns of an image, which the window moves by one element, so
// that no copy of whole lines fits. Others have the right order, but rows that do not begin at multiples of 16 bytes, which the TMA cannot copy.

// Relayout is a tensor that a launch is to lay out anew before the product.
type Relayout struct {
	Tensor *ir.Tensor
	// Order is that of the tensor's dimensions, the last innermost; nil where the order stays and rows are to begin at multiples of RowUnit bytes.
	Order []int
	// Product is the contraction that gains by it, and Repeated says that the products of all blocks along the grid do.
	Product  *ir.Op
	Repeated bool
	// As is the type that the elements are to have, where they are to have another.
	As lang.DType
	// Either says that one of the product's two operands is enough.
	Either bool
	// Unit is, of rows that do not begin at multiples of RowUnit bytes, how many bytes the places of all of them are multiples of: no copy has more.
	Unit int64
}

// leastDepth is from how many positions on an axis is the depth of a product, shallow from how many on where the product has fewer columns or rows than fewColumns (an H200, convolutions in three dimensions
// of 8 channels to 64, 32 and 16: 0.73, 0.88 and 2.0 of their time with the copies).
const leastDepth, shallow, fewColumns = 8, 16, 32

// RowUnit is how many bytes the places of a box's rows are multiples of, and the place of the first.
const RowUnit = 16

// Misaligned finds operands of products whose rows begin where no box can, in a kernel after its passes, before there is a plan: of products that would read
// both operands by the TMA if it were not for that.
func Misaligned(f *ir.Func) []Relayout {
	var found []Relayout
	f.Walk(func(op *ir.Op) bool {
		if op.Code.Row().Group != lang.GroupContract {
			return true
		}
		var of []Relayout
		for _, v := range op.Args[:2] {
			if v.Def == nil || v.Def.Code != lang.OpLoad || Contiguous(AccessOf(v.Def)) == nil {
				return true
			}
			t := v.Def.Tensor
			if _, fits := boxUnits(t, AccessOf(v.Def), true); fits {
				continue
			}
			anew := *v.Def
			anew.Tensor = aligned(t)
			if _, fits := boxUnits(anew.Tensor, AccessOf(&anew), true); !fits || !t.ReadOnly() {
				return true
			}
			if !slices.ContainsFunc(slices.Concat(found, of), func(r Relayout) bool { return r.Tensor == t }) {
				of = append(of, Relayout{Tensor: t, Product: op, Unit: RowsAt(t)})
			}
		}
		found = append(found, of...)
		return true
	})
	return found
}

// Piecewise finds the operands of products over several axes that threads copy to shared memory in pieces of less than RowUnit bytes: images along whose rows the taps of a window shift, or that end
// beside them, and tensors whose rows begin anywhere. It gives the axes along which the neighbours of an operand lie, of each dimension, the last first.
func Piecewise(f *ir.Func) map[*ir.Op][][]*ir.Axis {
	found := map[*ir.Op][][]*ir.Axis{}
	f.Walk(func(op *ir.Op) bool {
		if op.Code.Row().Group != lang.GroupContract || len(op.Over) < 2 {
			return true
		}
		for _, v := range op.Args[:2] {
			if v.Def == nil || v.Def.Code != lang.OpLoad || len(v.Def.Tensor.Shape) == 0 {
				continue
			}
			dims := AccessOf(v.Def)
			last := dims[len(dims)-1]
			if last.Gather || !last.Checked && len(last.Affine.Terms) == 1 && !RowsMisaligned(v.Def.Tensor) {
				continue
			}
			for _, d := range slices.Backward(dims) {
				var along []*ir.Axis
				for _, t := range d.Affine.Terms {
					along = append(along, t.Axis)
				}
				found[v.Def] = append(found[v.Def], along)
			}
		}
		return true
	})
	return found
}

// RowsMisaligned reports a tensor of which some row begins where no box can.
func RowsMisaligned(t *ir.Tensor) bool { return RowsAt(t) < RowUnit }

// RowsAt is a power of two that divides the place of each row of a tensor, in bytes, up to RowUnit.
func RowsAt(t *ir.Tensor) int64 {
	unit := gcd(RowUnit, max(t.Align, 1))
	for i := range len(t.Shape) - 1 {
		stride, multiple := strideOf(t, i)
		if stride >= 0 {
			multiple = multipleOf(stride)
		}
		unit = gcd(unit, multiple*int64(t.DType.Size()))
	}
	return unit
}

// aligned is a tensor with rows that begin at multiples of RowUnit bytes.
func aligned(t *ir.Tensor) *ir.Tensor {
	u := *t
	u.Align, u.Strides = RowUnit, nil
	for range t.Shape {
		u.Strides = append(u.Strides, &ir.Dim{Value: -1, Divisor: RowUnit})
	}
	u.Strides[len(u.Strides)-1] = &ir.Dim{Value: 1, Divisor: 1}
	return &u
}

// Relayouts finds what should lie in another order in a kernel after its passes, before there is a plan.
func Relayouts(f *ir.Func) []Relayout {
	var found []Relayout
	taps := loopsOfTaps(f)
	f.Walk(func(op *ir.Op) bool {
		if op.Code.Row().Group != lang.GroupContract || len(op.Over) < 2 && taps[op] == nil {
			return true
		}
		depth := depthOf(op)
		if depth == nil || across(op) || depth.Len < shallow && fewBeside(op) {
			return true
		}
		all := int64(1)
		for _, a := range op.Over {
			all *= a.Len
		}
		if loop := taps[op]; loop != nil {
			all *= loop.Dim.Value
		}
		much := depth.Len*depth.Len*leastShare >= all
		inner := []*ir.Axis{depth, depth}
		if free := freeOf(op); free != nil && !much {
			inner, much = free, true
		}
		for i, v := range op.Args[:2] {
			t := v.Def.Tensor
			if slices.ContainsFunc(found, func(r Relayout) bool { return r.Tensor == t }) || Contiguous(AccessOf(v.Def)) == inner[i] || !t.ReadOnly() || t.Strides != nil || t.Held().Packed() {
				continue
			}
			found = append(found, Relayout{Tensor: t, Order: lastOf(len(t.Shape), alongAlone(v.Def, inner[i])), Product: op, Repeated: much})
		}
		return true
	})
	return found
}

// fewBeside reports a product of few columns, or few rows: one operand has so few positions beside what it is multiplied over.
func fewBeside(op *ir.Op) bool {
	return slices.ContainsFunc([]int{0, 1}, func(i int) bool {
		n := int64(1)
		for _, a := range ir.Without(op.Args[i].Type.Axes, op.Args[1-i].Type.Axes) {
			if a.Dim == nil || !a.Dim.Known() {
				return false
			}
			n *= a.Dim.Value
		}
		return n < fewColumns
	})
}

// loopsOfTaps finds products of which each step of a loop over numbers adds one, of other parts of both operands: the loop goes through the places of a window. It gives the axis of the loop.
func loopsOfTaps(f *ir.Func) map[*ir.Op]*ir.Axis {
	found := map[*ir.Op]*ir.Axis{}
	f.Walk(func(loop *ir.Op) bool {
		if loop.Code != lang.OpFor || loop.Axis == nil || !loop.Axis.Scalar || !loop.Axis.Dim.Known() {
			return true
		}
		known := map[*ir.Value]bool{}
		var follows func(v *ir.Value) bool
		follows = func(v *ir.Value) bool {
			if _, ok := known[v]; !ok {
				known[v] = v.Def != nil && v.Def.Code != lang.OpLoad && (v.Def.Code == lang.OpStart && v.Def.Axis == loop.Axis || slices.ContainsFunc(v.Def.Args, follows))
			}
			return known[v]
		}
		for _, op := range loop.Blocks[0].Ops {
			if op.Code == lang.OpMma && !slices.ContainsFunc(op.Args[:2], func(v *ir.Value) bool {
				return v.Def == nil || v.Def.Code != lang.OpLoad || !slices.ContainsFunc(v.Def.Indices(), follows)
			}) {
				found[op] = loop.Axis
			}
		}
		return true
	})
	return found
}

// leastShare is what part of the positions along the other axes a depth has at least that operands are laid out by, as the channels of a transposed convolution are (an H200: 906 us and
// 151 with the copies). Images by which a gradient sums up are not (509 with, 449 without): its operands lie across.
const leastShare = 4

// Across finds products of f32 of which both operands lie across the depth, as those of the gradient of a layer's weights do, in a kernel after its passes, before there is a plan: wgmma
// takes one of them so, through registers, and the other where it lies along the depth.
func Across(f *ir.Func, t target.Machine) (found []Relayout) {
	if !t.Has(target.Wgmma) {
		return nil
	}
	f.Walk(func(op *ir.Op) bool {
		if op.Code.Row().Group != lang.GroupContract || op.Precision != "" || op.Args[0].Type.DType != lang.F32 || op.Args[1].Type.DType != lang.F32 {
			return true
		}
		var both []Relayout
		for _, v := range op.Args[:2] {
			if v.Def == nil || v.Def.Code != lang.OpLoad || !copiesAsBoxes(v.Def, op.Over) || slices.Contains(op.Over, Contiguous(AccessOf(v.Def))) || v.Def.Tensor.Strides != nil {
				return true
			}
			var outer, inner []int
			for d := range v.Def.Tensor.Shape {
				if slices.ContainsFunc(op.Over, func(a *ir.Axis) bool { return alongAlone(v.Def, a) == d }) {
					inner = append(inner, d)
				} else {
					outer = append(outer, d)
				}
			}
			if len(inner) != len(op.Over) {
				return true
			}
			both = append(both, Relayout{Tensor: v.Def.Tensor, Order: append(outer, inner...), Product: op, Repeated: true, Either: true})
		}
		if both[0].Tensor != both[1].Tensor {
			found = append(found, both...)
		}
		return true
	})
	return found
}

// freeOf gives the axes by which the operands of a product of 16 bits are to be laid out that lie across its depth: each the only one of its operand that is not summed up, with a dimension
// of its own. It is nil where an operand has none.
func freeOf(op *ir.Op) (free []*ir.Axis) {
	for i, v := range op.Args[:2] {
		axes := ir.Without(v.Type.Axes, op.Args[1-i].Type.Axes)
		if len(axes) != 1 || v.Type.DType.Size() != 2 {
			return nil
		}
		if alongAlone(v.Def, axes[0]) < 0 {
			return nil
		}
		free = append(free, axes[0])
	}
	return free
}

// across reports a product of 16 bits of which neither operand is contiguous along the depth: wgmma takes both as they lie, whatever axes the depth has.
func across(op *ir.Op) bool {
	return !slices.ContainsFunc(op.Args[:2], func(v *ir.Value) bool {
		a := Contiguous(AccessOf(v.Def))
		return a == nil || slices.Contains(op.Over, a) || v.Type.DType.Size() != 2
	})
}

// depthOf is the longest of the axes of a product over several that each operand, both of them loads, has a dimension of its own for, in which 16 bytes
// are neighbours wherever they begin; nil where there is none.
func depthOf(op *ir.Op) *ir.Axis {
	var longest *ir.Axis
	for _, a := range op.Over {
		fits := a.Kind == ir.Whole && a.Len >= leastDepth && (longest == nil || a.Len > longest.Len)
		for _, v := range op.Args[:2] {
			if !fits {
				break
			}
			fits = v.Def != nil && v.Def.Tensor != nil && len(v.Def.Tensor.Shape) > 2
			if fits {
				d := alongAlone(v.Def, a)
				fits = d >= 0 && v.Def.Tensor.Shape[d].Known() && v.Def.Tensor.Shape[d].Value*int64(v.Def.Tensor.DType.Size())%16 == 0
			}
		}
		if fits {
			longest = a
		}
	}
	return longest
}

// alongAlone is the dimension of an access that follows an axis, and nothing else, where no other dimension does; -1 where there is none.
func alongAlone(op *ir.Op, a *ir.Axis) int {
	at := -1
	for i, d := range AccessOf(op) {
		switch f := d.Affine; {
		case d.Gather && d.Index.Type.Has(a), f.coef(a) != 0 && at >= 0:
			return -1
		case f.coef(a) == 0:
		case f.coef(a) == 1 && len(f.Terms) == 1 && len(f.Scalars) == 0 && f.Offset == 0 && !d.Checked:
			at = i
		default:
			return -1
		}
	}
	return at
}
