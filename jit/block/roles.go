package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file decides which operand of a product plays the rows where wgmma multiplies. It takes elements of 8 or 32 bits from shared memory only where they lie along the depth: an operand
// that lies across it, as weights stored [in, out] do, plays the rows, which wgmma takes from registers too. An operand of several axes, as an image is, plays the rows, of whatever elements,
// and so does one that fills the 64 rows of instructions where the other does not.

// Roles says how wgmma takes the operands of a product.
type Roles struct {
	// Columns is the argument that plays the columns.
	Columns int
	// Across: the other one, the rows, is loaded from where it lies across the depth.
	Across bool
}

// WgmmaRoles gives the roles of a product's operands. Where ok is false, wgmma does not take elements of 8 or 32 bits, whatever the
// extents are; those of 16 bits it takes as they stand, the first argument as the rows, unless the second has several axes. Of several axes of the depth, as a window has them beside its channels, it takes one, and steps go through the others one by one; the
// rows may have several axes, as an image has, the columns one, or one of which blocks have parts.
func WgmmaRoles(op *ir.Op) (roles Roles, ok bool) {
	if op.Precision != "" || len(op.Over) == 0 {
		return roles, false
	}
	var loaded, deep, single [2]bool
	for arg, v := range op.Args[:2] {
		d := v.Type.DType
		loaded[arg] = v.Def != nil && v.Def.Code == lang.OpLoad
		made := op.Fn != nil && arg == 1 // whatever it is made of
		if !made && d != lang.F32 && d.Bits() != 8 && d.Bits() != 16 || !made && d == lang.F32 && !(loaded[arg] && copiesAsBoxes(v.Def, op.Over)) {
			return roles, false
		}
		deep[arg] = loaded[arg] && slices.Contains(op.Over, Contiguous(operandAccess(op, arg)))
		single[arg] = ir.Divided(ir.Without(v.Type.Axes, op.Args[1-arg].Type.Axes)) == 1
	}
	if op.Mixed() { // threads widen the rows on their way from shared memory
		return Roles{0, loaded[1] && !deep[1]}, loaded[0] && loaded[1] && single[0] && single[1]
	}
	x, y := op.Args[0].Type, op.Args[1].Type
	if len(x.Axes)+len(y.Axes) != len(op.Result().Type.Axes)+2*len(op.Over) { // some axes are of both, beside the depth
		return roles, false
	}
	if op.Args[0].Type.DType.Bits() == 16 {
		return Roles{}, single[0] && !single[1] && deep[1]
	}
	for _, arg := range []int{1, 0} {
		if deep[arg] && single[arg] {
			return Roles{arg, loaded[1-arg] && !deep[1-arg]}, true
		}
	}
	return roles, false
}

// copiesAsBoxes reports a load that boxes may bring, as far as its tensor and its index say: see newBox. Steps go one by one through
// the axes of the depth along which its elements do not lie, so that these do not move within a box.
func copiesAsBoxes(load *ir.Op, depth []*ir.Axis) bool {
	t, dims := load.Tensor, AccessOf(load)
	along := Contiguous(dims)
	if !t.ReadOnly() || !ZeroElse(load) || along == nil {
		return false
	}
	if len(depth) > 1 {
		for i := range dims {
			dims[i].Affine.Terms = slices.DeleteFunc(slices.Clone(dims[i].Affine.Terms), func(x AxisTerm) bool {
				return x.Axis != along && slices.Contains(depth, x.Axis)
			})
		}
	}
	_, ok := boxUnits(t, dims, true)
	return ok
}

// AnyColumns reports a product of 16 bits that wgmma may take with an operand, given by its argument, as the columns, of which there may be any multiple of 8: the operand lies along the
// depth, and the other one may be the rows.
func AnyColumns(op *ir.Op, arg int) bool {
	columns, rows := op.Args[arg], op.Args[1-arg]
	along := func(v *ir.Value) bool { return Contiguous(AccessOf(v.Def)) == op.Over[0] }
	for _, v := range op.Args[:2] {
		if v.Def == nil || v.Def.Code != lang.OpLoad || v.Type.DType.Bits() != 16 {
			return false
		}
	}
	return len(op.Over) == 1 && len(columns.Type.Axes) == 2 && along(columns) && (len(rows.Type.Axes) == 2 || along(rows))
}

// FirstAsColumns reports a product of which wgmma takes the first operand as the columns (AnyColumns): that operand has more than the 64 rows of an instruction in a block, but no multiple of
// them, as the second has. (Turned matrices are stored by pairs of 8 columns.)
func FirstAsColumns(op *ir.Op, first, second int64) bool {
	return first > WgmmaRows && first%WgmmaRows != 0 && first%16 == 0 && first <= mostBox && second%WgmmaRows == 0 && AnyColumns(op, 0)
}

// orient makes the operand of a product that lies along the depth its columns, where wgmma then takes the product.
func (p *Program) orient(c *Product) {
	roles, ok := WgmmaRoles(c.Op)
	if !ok && FirstAsColumns(c.Op, int64(Volume(c.M)), int64(Volume(c.N))) {
		roles, ok = Roles{Columns: 0}, true
	}
	if w := p.window(c); w != nil && w.AsColumns(extentOf, p.Warps) {
		roles, ok = Roles{Columns: w.Arg}, true
	}
	if !ok || roles.Columns == c.B || c.MMA.Elements[0] != c.Op.Args[c.A].Type.DType {
		return
	}
	turned, mma := *c, *c.MMA
	turned.A, turned.B, turned.M, turned.N = c.B, c.A, c.N, c.M
	mma.Elements[0], mma.Elements[1] = mma.Elements[1], mma.Elements[0]
	turned.MMA = &mma
	if p.fitsWgmma(&turned) {
		*c = turned
	}
}
