package block

import (
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/target"
	"tilec/lang"
)

// This file has products of f32 by wgmma: which tiles it takes, which rows a thread loads of an operand that lies across the depth, and that copies round. wgmma cuts off what tf32
// cannot hold: what it reads is rounded by the TMA on its way.

// fitsTF32 reports extents with which wgmma takes a product of f32, and that a ring may bring the operands.
func (p *Program) fitsTF32(c *Product) bool {
	roles, ok := WgmmaRoles(c.Op)
	if c.inWindow(c.B) {
		roles.Columns = c.B
	}
	if !ok || roles.Columns != c.B || p.refused[c.Op] || p.Stages < 2 || !p.Target.Has(target.TMA) {
		return false
	}
	return TF32Extents(int64(Volume(c.M)), int64(Volume(c.N)), c.K[0].Extent, p.Warps, roles.Across)
}

// TF32Extents reports a tile of a product of f32 that wgmma takes, by so many warps, where the rows lie across the depth or not.
func TF32Extents(rows, columns, depth int64, warps int, across bool) bool {
	if across && rows%int64(16*warps) != 0 { // a warpgroup's rows are 64 that lie side by side
		return false
	}
	const panel = PanelBytes / 4
	return columns <= mostBox && (depth%panel == 0 || depth == panel/2) && depth <= mostBox
}

// neighbouringRows lays out rows that threads load from tiles across which the depth lies. Which rows of 64 are the rows of the
// instruction is ours to name: a thread's two are neighbours, so that one access of 8 bytes loads both and one stores both, and
// the lanes and warps are such that neither shares banks, in rows of 128 bytes whose chunks are permuted, and that stores fill
// sectors. It gives the digits of the warps.
func (c *Product) neighbouringRows(warps int) []layout.Digit {
	a, groups := c.M[0], warps/4
	digit := func(stride, size int) layout.Digit { return layout.Digit{Axis: a, Stride: stride, Size: size} }
	c.MBits = []layout.Digit{digit(16, 2), digit(2, 2), digit(4, 2), digit(1, 2)}
	c.MReps = nil
	if n := int(a.Extent) / (64 * groups); n > 1 {
		c.MReps = []layout.Digit{digit(64*groups, n)}
	}
	warp := []layout.Digit{digit(8, 2), digit(32, 2)}
	if groups > 1 {
		warp = append(warp, digit(64, groups))
	}
	return warp
}

// roundBoxes lets the TMA round what products of f32 read by wgmma, and refuses wgmma to those whose operands, of f32 or in windows, the TMA does not
// bring after all. It reports whether it refused any.
func (p *Program) roundBoxes() bool {
	brought := map[*ir.Op]*Box{}
	for _, x := range p.Pipelines {
		for _, c := range x.Copies {
			if x.Produced {
				brought[c.Load] = c.Box
			}
		}
	}
	again := false
	for op, c := range p.Products {
		if !c.Wgmma || c.MMA.Elements[0] != lang.F32 && c.Window == nil {
			continue
		}
		for _, v := range op.Args[:2] {
			b := brought[v.Def]
			if b == nil {
				p.refused[op], again = true, true
				break
			}
			b.Map.TF32 = c.MMA.Elements[0] == lang.F32
		}
	}
	return again
}

// busyColumns is how many columns an instruction has, or several together have, that keep the tensor cores busy while a thread
// loads the fragments of the next (two loads of shared memory, about 30 clocks each, against half a clock a column).
const busyColumns = 128

// widenedColumns is that many for rows that threads widen (an H200: 8192 x 4096 x 4096 of bf16 and i8, by 128 columns, 484 us with those of busyColumns, 413 with these).
const widenedColumns = 256

// groupSteps decides in how many groups the instructions of a step are under way: the rows of the next group are loaded to
// registers while one is multiplied, so that a thread has rows of two groups at once, or three of those that it widens, and not of the whole step.
func (p *Program) groupSteps() {
	for _, c := range p.Products {
		c.Groups = 1
		if !c.RowsInRegisters {
			continue
		}
		busy, least := busyColumns, 2
		if c.Op.Mixed() {
			busy, least = widenedColumns, 3
		}
		n, each := c.instructions(), max(busy/(8*layout.Product(c.NReps)), 1)
		c.Groups = max(n/each, min(n, least))
	}
}

// instructions is how many instructions a step of a product by wgmma has.
func (c *Product) instructions() int { return layout.Product(c.KReps) * layout.Product(c.MReps) }
