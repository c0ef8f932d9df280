package ptx

import (
	"fmt"
	"slices"
	"strings"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/jit/target"
	"tilec/lang"
)

// contract emits a dot or an mma.
func (k *kernel) contract(op *ir.Op) {
	c := k.Products[op]
	result := op.Result()
	d := op.Args[0].Type.DType.Accumulator()
	acc := make([]asm.Reg, c.Result.Regs())
	if op.Code == lang.OpMma {
		copy(acc, k.get(op.Args[2], c.Result))
		if from := result.Type.DType; from != d {
			for i, r := range acc {
				acc[i] = elem.Cast(k.a, from, d, r)
			}
		}
	} else {
		zero := elem.Zero(k.a, d)
		for i := range acc {
			acc[i] = zero
		}
	}
	mark := k.arena.Top
	if c.Wgmma {
		acc = k.multiplyWgmma(c, acc)
	} else if c.MMA != nil {
		acc = k.multiply(c, acc)
	} else {
		acc = k.multiplySimt(c, acc)
	}
	if c.Parts > 1 {
		acc = k.joinDepth(c, d, acc)
	}
	k.dropOperands(op, mark)
	if to := result.Type.DType; to != d {
		for i, r := range acc {
			acc[i] = elem.Cast(k.a, d, to, r)
		}
	}
	k.hold(result, c.Home(), acc)
	if _, same := c.Home().Permutation(k.Homes[result], result.Type.Axes); !same {
		k.get(result, k.Homes[result])
	}
}

// forgetAbove forgets what lies in shared memory above a mark.
func (k *kernel) forgetAbove(mark int) {
	for v, tiles := range k.scope.tiles {
		k.scope.tiles[v] = slices.DeleteFunc(slices.Clone(tiles), func(t *sharedTile) bool { return t.at >= mark })
	}
}

// dropOperands gives back the shared memory of operands staged since mark, unless another contraction reads them.
func (k *kernel) dropOperands(op *ir.Op, mark int) {
	for _, v := range op.Args[:2] {
		for _, u := range k.Uses[v] {
			if u.Op != op && k.Products[u.Op] != nil && u.Arg < 2 {
				return
			}
		}
	}
	for _, v := range op.Args[:2] {
		var left []*sharedTile
		for _, t := range k.scope.tiles[v] {
			if t.at < mark {
				left = append(left, t)
			}
		}
		k.scope.tiles[v] = left
	}
	k.release(buffer{at: mark, size: k.arena.Top - mark})
}

// multiply emits the tensor-core instructions of a contraction.
func (k *kernel) multiply(c *block.Product, acc []asm.Reg) []asm.Reg {
	aTile, bTile := k.stage(c, c.A), k.stage(c, c.B)
	a, b := k.fragments(c, c.A, aTile), k.fragments(c, c.B, bTile)
	mReps, nReps, kReps, batches := layout.Product(c.MReps), layout.Product(c.NReps), layout.Product(c.KReps), c.Batches()
	out := append([]asm.Reg(nil), acc...)
	// out is the sums of each chain.
	chains := c.Chains
	zero := elem.Zero(k.a, c.MMA.Sum)
	for range (chains - 1) * len(acc) {
		out = append(out, zero)
	}
	// Where the rows or columns have no axis (or too few elements for a bit),
	// registers that would hold copies are not in the layout: see spot. What the instruction adds up there is nobody's, and goes on from step to
	// step: a zero in its place would have to be put there behind each instruction, before the next.
	type place struct{ chain, batch, i, j, spot int }
	nobodys := map[place]asm.Reg{}
	for batch := range batches {
		for step := range kReps {
			out := out[step%chains*len(acc):][:len(acc)]
			rows := make([][][]asm.Reg, mReps)
			for i := range mReps {
				if rows[i] = partsOf(c, a.at(step, i, batch)); len(rows[i]) == 1 {
					rows[i] = k.terms(c, rows[i][0])
				}
			}
			for j := range nReps {
				column := k.terms(c, b.at(step, j, batch))
				for i := range mReps {
					spots := c.Spots(i, j, batch)
					in := make([]asm.Reg, 4)
					for s, r := range spots {
						in[s] = zero
						if r >= 0 {
							in[s] = out[r]
						} else if x := nobodys[place{step % chains, batch, i, j, s}]; x.Valid() {
							in[s] = x
						}
					}
					for _, pair := range termOrder(len(rows[i]), len(column)) {
						in = k.multiplyTile(c.MMA, rows[i][pair[0]], column[pair[1]], in)
					}
					for s, r := range spots {
						if r >= 0 {
							out[r] = in[s]
						} else {
							nobodys[place{step % chains, batch, i, j, s}] = in[s]
						}
					}
				}
			}
		}
	}
	for i := range acc {
		sums := make([]asm.Reg, chains)
		for n := range sums {
			sums[n] = out[n*len(acc)+i]
		}
		out[i] = k.sum(c.MMA.Sum, sums)
	}
	out = out[:len(acc)]
	for _, s := range []staged{aTile, bTile} {
		if s.tile != nil {
			k.readUntilNow(s.tile.buffer)
		}
	}
	return out
}

// multiplyTile emits the instruction for one tile. What sm_90 multiplies at once of
// doubles, targets before it multiply in quarters of the rows and the depth.
func (k *kernel) multiplyTile(s *block.MMA, rows, columns, in []asm.Reg) []asm.Reg {
	multiply := func(name string, rows, columns, in []asm.Reg) []asm.Reg {
		out := k.a.Regs(elem.ClassOf(s.Sum), len(in))
		k.a.Set(asm.Vector(out), name, asm.Vector(rows), asm.Vector(columns), asm.Vector(in))
		return out
	}
	if s.Widened {
		for half := range 2 {
			in = multiply("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", rows[4*half:4*half+4], columns[2*half:2*half+2], in)
		}
		return in
	}
	if s.Sum != lang.F64 || k.Target.Has(target.LongMmaF64) {
		return multiply(mmaName(s), rows, columns, in)
	}
	var out []asm.Reg
	for half := range 2 {
		part := in[2*half : 2*half+2]
		for step := range 2 {
			part = multiply("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", rows[half+2*step:][:1], columns[step:][:1], part)
		}
		out = append(out, part...)
	}
	return out
}

// termOrder lists which terms of the operands are multiplied: the small ones
// first. A high part that is infinite or NaN meets the other's high part only:
// with a low part of 0 an infinity would give NaN. Of rows alone that are split it does.
func termOrder(rows, columns int) [][2]int {
	switch {
	case rows == 2:
		return [][2]int{{lowTerm, 0}, {highTerm, 0}}
	case columns == 3:
		return [][2]int{{lowTerm, finiteTerm}, {finiteTerm, lowTerm}, {highTerm, highTerm}}
	}
	return [][2]int{{0, 0}}
}

// The terms of a split operand: the value rounded to tf32, what that lost, and
// the rounded value with 0 for what is not finite.
const (
	highTerm = iota
	lowTerm
	finiteTerm
)

// widen makes f16 of fragments of floats of 8 bits: of each half of the fragment, which is 16 positions of the depth as bytes lie in registers, the lower two
// of each four in the registers of the instruction's first half, and the upper two in the others.
func (k *kernel) widen(d lang.DType, frag []asm.Reg) (wide []asm.Reg) {
	n := len(frag) / 2
	for half := range 2 {
		low, high := make([]asm.Reg, n), make([]asm.Reg, n)
		for i, r := range frag[half*n : (half+1)*n] {
			low[i], high[i] = elem.Widen(k.a, d, r)
		}
		wide = append(append(wide, low...), high...)
	}
	return wide
}

// terms rounds f32 fragments to tf32, and splits off what the rounding lost when
// the precision asks for it; those of floats of 8 bits are widened where the instruction asks for that, others stay.
func (k *kernel) terms(c *block.Product, frag []asm.Reg) [][]asm.Reg {
	if c.MMA.Widened {
		return [][]asm.Reg{k.widen(c.MMA.Elements[0], frag)}
	}
	if c.MMA.Elements[0] != lang.F32 {
		return [][]asm.Reg{frag}
	}
	hi, lo, finiteHi := make([]asm.Reg, len(frag)), make([]asm.Reg, len(frag)), make([]asm.Reg, len(frag))
	for i, x := range frag {
		hi[i] = k.a.Calc(asm.B32, "cvt.rna.tf32.f32", x)
		if c.MMA.Terms == 3 {
			high := k.a.Calc(asm.F32, "mov.b32", hi[i])
			rest := k.a.Calc(asm.F32, "sub.f32", x, high)
			finite := k.a.Calc(asm.Pred, "testp.finite.f32", high)
			rest = k.a.Calc(asm.F32, "selp.f32", rest, elem.Zero(k.a, lang.F32), finite)
			lo[i] = k.a.Calc(asm.B32, "cvt.rna.tf32.f32", rest)
			finiteHi[i] = k.a.Calc(asm.B32, "selp.b32", hi[i], asm.Int(0), finite)
		}
	}
	if c.MMA.Terms == 3 {
		return [][]asm.Reg{hi, lo, finiteHi}
	}
	return [][]asm.Reg{hi}
}

// mmaName is the instruction of a single warp.
func mmaName(s *block.MMA) string {
	types := operandTypes(s)
	result, _, _ := strings.Cut(types, ".")
	return fmt.Sprintf("mma.sync.aligned.m16n8k%d.row.col.%s.%s", s.Depth, types, result)
}

// operandTypes is the types of the result and the operands, as instructions name them.
func operandTypes(s *block.MMA) string {
	names := map[lang.DType]string{lang.I8: "s8", lang.U8: "u8", lang.F32: "tf32", lang.F8E4M3: "e4m3", lang.F8E5M2: "e5m2"}
	sum := s.Sum.String()
	if s.Sum == lang.I32 {
		sum = "s32"
	}
	for _, d := range s.Elements {
		name := names[d]
		if name == "" {
			name = d.String()
		}
		sum += "." + name
	}
	return sum
}
