package build

import (
	"fmt"
	"slices"

	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
	"tilec/typecheck/size"
)

// Collapse makes one axis of two of the grid of a kernel that are neighbours wherever they are, of a kernel of products, as the rows and columns of an image are to a
// product over its channels alone, a pointwise convolution, and where rows begin anywhere. There is one axis then, whose positions lie one behind the other in memory,
// and a block may have any run of them, which begins at a multiple of 16 bytes if its length is one. May says which axes may be one: not those of which the source or the launch says how many positions a block has, nor those of more
// positions together than 32 bits count. It gives the dimension that the one axis walks, and those of the two; nil where it made none.
func Collapse(f *ir.Func, dims *spec.LaunchDims, may func(slow, fast *ir.Axis) bool) *Collapsed {
	products := false
	f.Walk(func(op *ir.Op) bool {
		products = products || op.Code.Row().Group == lang.GroupContract
		return true
	})
	if !products && !slices.ContainsFunc(f.Tensors, misaligned) || f.HasDebug() {
		return nil
	}
	grid := f.Grid()
	for n := len(grid) - 1; n > 0; n-- {
		if may(grid[n-1], grid[n]) {
			if d := collapse(f, dims, grid[n-1], grid[n], !products); d != nil {
				return &Collapsed{d, grid[n-1].Dim, grid[n].Dim, products}
			}
		}
	}
	return nil
}

// misaligned reports a tensor of rows of which nobody knows that they begin at multiples of 16 bytes.
func misaligned(t *ir.Tensor) bool {
	inner := len(t.Shape) - 1
	return inner > 0 && t.Strides == nil && t.Shape[inner].Multiple()%128*int64(t.DType.Bits())%128 != 0
}

// Collapsed is a dimension in the place of two, of a kernel of products or of rows that begin anywhere.
type Collapsed struct {
	Dim, Slow, Fast *ir.Dim
	Products        bool
}

// CollapseSums makes one axis of two over which products are summed that are neighbours wherever they are, as the sequences and positions of a batch are to the gradient of a
// layer's weights: there is one loop then, whose steps are cut anywhere. May is that of Collapse.
func CollapseSums(f *ir.Func, dims *spec.LaunchDims, may func(slow, fast *ir.Axis) bool) {
	if f.HasDebug() {
		return
	}
	for collapseSum(f, dims, may) {
	}
}

// CollapseRows is CollapseSums for a kernel that is cut before there is a plan.
func CollapseRows(f *ir.Func, dims *spec.LaunchDims) {
	CollapseSums(f, dims, func(slow, fast *ir.Axis) bool { return slow.Len*fast.Len <= ir.NarrowSize })
}

// collapseSum does that for one pair, and reports whether there was one.
func collapseSum(f *ir.Func, dims *spec.LaunchDims, may func(slow, fast *ir.Axis) bool) bool {
	var sums []*ir.Op
	f.Walk(func(op *ir.Op) bool {
		if addsAll(op) {
			sums = append(sums, op)
		}
		return true
	})
	for _, op := range sums {
		for _, slow := range op.Over {
			for _, fast := range op.Over {
				if slow != fast && slow.Dim != nil && fast.Dim != nil && may(slow, fast) && collapse(f, dims, slow, fast, false) != nil {
					return true
				}
			}
		}
	}
	return false
}

// addsAll reports a product or a reduction that does not tell positions apart.
func addsAll(op *ir.Op) bool {
	switch op.Code {
	case lang.OpSum, lang.OpMean, lang.OpReduceMax, lang.OpReduceMin, lang.OpProd, lang.OpAny, lang.OpAll:
		return true
	}
	return op.Code.Row().Group == lang.GroupContract
}

// collapse makes one axis of two, the second the faster, where they can be one; inner asks that they are the last of all tensors that have them.
func collapse(f *ir.Func, dims *spec.LaunchDims, slow, fast *ir.Axis, inner bool) *ir.Dim {
	for _, a := range []*ir.Axis{slow, fast} {
		if a.Dim == nil || a.Kind == ir.Whole && (a.Lo != 0 || a.Len != a.Dim.Value) || a.Kind == ir.Loop || a.Split > 1 {
			return nil
		}
		_, ranged := dims.Ranges[a.Dim.Name]
		if a.Scalar || len(a.Choices) > 0 || ranged || a.Ranges != nil || a.Dim.Wide {
			return nil
		}
	}
	summed := slow.Kind == ir.Whole
	sizeOfSlow, ok1 := sizeIn(dims, slow.Dim)
	sizeOfFast, ok2 := sizeIn(dims, fast.Dim)
	if !ok1 || !ok2 {
		return nil
	}
	is := func(v *ir.Value, a *ir.Axis) bool {
		return v.Def != nil && v.Def.Code == lang.OpIndex && v.Def.Axis == a
	}
	// places are where the pair of dimensions begins in the accesses of each tensor.
	places := map[*ir.Tensor]int{}
	pairs, fits := map[*ir.Tensor]bool{}, true
	f.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpIndex {
			return true
		}
		over := slices.Contains(op.Over, slow)
		if op.Axis == slow || op.Axis == fast || op.From == slow || op.From == fast || over != slices.Contains(op.Over, fast) || over && !(summed && addsAll(op)) {
			fits = false
		}
		if t := op.Tensor; t != nil {
			at := -1
			for d, v := range op.Indices() {
				if d < len(t.Shape)-1 && is(v, slow) && is(op.Indices()[d+1], fast) && !op.Checked[d] && !op.Checked[d+1] && sameDim(t.Shape[d], slow.Dim) && sameDim(t.Shape[d+1], fast.Dim) && t.Strides == nil && !t.Scratch && (!inner || d == len(t.Shape)-2) {
					at = d
				}
			}
			if old, seen := places[t]; seen && old != at {
				fits = false
			}
			places[t], pairs[t] = at, at >= 0
		}
		for i, v := range op.Args {
			at := -2
			if op.Tensor != nil && pairs[op.Tensor] {
				at = places[op.Tensor]
			}
			if (is(v, slow) || is(v, fast)) && i != at && i != at+1 {
				fits = false // a position that something else computes with
			}
		}
		for _, v := range op.Results {
			fits = fits && v.Type.Has(slow) == v.Type.Has(fast)
		}
		return fits
	})
	if !fits || len(pairs) == 0 {
		return nil
	}

	d := &ir.Dim{Name: fmt.Sprintf("%s * %s", slow.Dim.Name, fast.Dim.Name), Value: -1, Divisor: smallDivisor(slow.Dim.Multiple(), fast.Dim.Multiple())}
	if slow.Dim.Known() && fast.Dim.Known() {
		d.Value, d.Divisor = slow.Dim.Value*fast.Dim.Value, 1
	}
	if slices.ContainsFunc(f.Dims, func(o *ir.Dim) bool { return o.Name == d.Name }) || d.Value > ir.NarrowSize {
		return nil
	}
	if !d.Known() {
		dims.Sizes[d.Name] = sizeOfSlow.Mul(sizeOfFast)
	}
	f.Dims = append(f.Dims, d)
	both := &ir.Axis{Name: slow.Name + "_" + fast.Name, Kind: slow.Kind, Dim: d, At: slow.At}
	if summed {
		both.Len, both.Extent, both.Split = d.Value, d.Value, max(slow.Split, fast.Split)
	}
	for i, a := range f.Axes {
		if a == slow {
			f.Axes[i] = both
		}
	}
	f.Axes = slices.DeleteFunc(f.Axes, func(a *ir.Axis) bool { return a == fast })
	for t, has := range pairs {
		if has {
			at := places[t]
			t.Shape = slices.Concat(t.Shape[:at], []*ir.Dim{d}, t.Shape[at+2:])
		}
	}
	one := func(axes []*ir.Axis) []*ir.Axis {
		axes = slices.Clone(axes)
		for i, a := range axes {
			if a == slow {
				axes[i] = both
			}
		}
		return slices.DeleteFunc(axes, func(a *ir.Axis) bool { return a == fast })
	}
	seen := map[*ir.Value]bool{}
	retype := func(v *ir.Value) {
		if !seen[v] {
			seen[v], v.Type.Axes = true, one(v.Type.Axes)
		}
	}
	var block func(b *ir.Block)
	block = func(b *ir.Block) {
		for _, v := range b.Params {
			retype(v)
		}
		b.Ops = slices.DeleteFunc(b.Ops, func(op *ir.Op) bool { return op.Code == lang.OpIndex && op.Axis == fast })
		for _, op := range b.Ops {
			if op.Code == lang.OpIndex && op.Axis == slow {
				op.Axis = both
			}
			op.Axes, op.Over = one(op.Axes), one(op.Over)
			if t := op.Tensor; t != nil && pairs[t] {
				at := places[t]
				op.Args = slices.Concat(op.Args[:at+1], op.Args[at+2:])
				op.Checked = slices.Concat(op.Checked[:at+1], op.Checked[at+2:])
			}
			for _, v := range op.Results {
				retype(v)
			}
			for _, inner := range op.Blocks {
				block(inner)
			}
		}
	}
	block(f.Body)
	return d
}

// sameDim reports two dimensions of one size in all launches.
func sameDim(a, b *ir.Dim) bool {
	return a == b || a != nil && b != nil && a.Known() && a.Value == b.Value
}

// smallDivisor divides the product of two numbers. Where that is large, it is a power of two, so that products of divisors stay small.
func smallDivisor(x, y int64) int64 {
	const large = 1 << 20
	if x <= large && y <= large && x*y <= large {
		return x * y
	}
	return min((x&-x)*(y&-y), large)
}

// sizeIn is the size of a dimension as a launch computes it; false where it computes it otherwise.
func sizeIn(dims *spec.LaunchDims, d *ir.Dim) (size.Size, bool) {
	if d.Known() {
		return size.Const(d.Value), true
	}
	s, ok := dims.Sizes[d.Name]
	return s, ok
}
