package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// This file decides where floats of 8 bits are multiplied as they are. The sums of those instructions keep about 13 bits, whatever
// their registers hold, so only a kernel that is @approx has them, and each step of a loop has a sum of its own, which is added to
// the others in f32. What is not @approx is multiplied in f16, which holds such numbers: by mma.sync, whose operands each warp converts in registers.

// F8 reports a product of floats of 8 bits, in a kernel that permits approximations, that wgmma may take as they are.
func F8(f *ir.Func, op *ir.Op, t target.Machine) bool {
	if !f.Approx || !t.Has(target.Wgmma) {
		return false
	}
	for _, v := range op.Args[:2] {
		if d := v.Type.DType; !slices.Contains([]lang.DType{lang.F8E4M3, lang.F8E5M2}, d) || v.Def == nil || v.Def.Code != lang.OpLoad {
			return false
		}
	}
	_, ok := WgmmaRoles(op)
	return ok
}

// inF8 lets wgmma multiply floats of 8 bits as they are, where it takes them.
func (p *Program) inF8(c *Product) {
	if !F8(p.Func, c.Op, p.Target) {
		return
	}
	as := *c
	if roles, _ := WgmmaRoles(c.Op); roles.Columns != c.B {
		as.A, as.B, as.M, as.N = c.B, c.A, c.N, c.M
	}
	element := func(arg int) lang.DType { return c.Op.Args[arg].Type.DType }
	as.MMA = newMMA(element(as.A), element(as.B))
	as.Stepwise = true
	if p.fitsWgmma(&as) {
		*c = as
	}
}

// stepwise reports a loop whose product has a sum of its own in each step, which is over when the step is.
func (p *Program) stepwise(loop *ir.Op) bool {
	return slices.ContainsFunc(loop.Blocks[0].Ops, func(op *ir.Op) bool { return p.Products[op] != nil && p.Products[op].Stepwise })
}

// Widens reports a product of floats of 8 bits that are loaded, of which warps read bytes from shared memory as they read integers, four neighbours of the depth in
// a register, and make two registers of f16 of these: one for each of two instructions. Which positions of the depth an instruction multiplies together does
// not matter as long as they are the same of both operands, so that no byte goes to another lane.
func Widens(op *ir.Op, t target.Machine) bool {
	for _, v := range op.Args[:2] {
		if d := v.Type.DType; d != lang.F8E4M3 && d != lang.F8E5M2 || v.Def == nil || v.Def.Code != lang.OpLoad {
			return false
		}
	}
	return op.Precision == "" && t.Has(target.MmaSync) && t.Has(target.ConvertPairsE4M3)
}

// inF16 lets warps widen floats of 8 bits in registers.
func (p *Program) inF16(c *Product) {
	if !Widens(c.Op, p.Target) {
		return
	}
	element := func(arg int) lang.DType { return c.Op.Args[arg].Type.DType }
	c.MMA = newMMA(element(c.A), element(c.B))
	c.MMA.Widened = true
}
