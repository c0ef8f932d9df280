package block

import (
	"tilec/jit/ir"
	"tilec/jit/layout"
)

// This file makes loops of the steps of products by wgmma. The time in which the assembler makes a kernel grows faster than the instructions of wgmma that it sees, so those that
// differ in the place of their operands alone are there once.

// mostWritten is how many instructions of a step are written one behind the other in any case: so few are assembled soon, and small products take up to 1.06 of their time
// in passes (an H200, 1024 cubed by 64 rows a warpgroup; others as long as without).
const mostWritten = 4

// rollSteps decides which products run the same code for several parts of a step, in as many passes as there can be.
func (p *Program) rollSteps() {
	for _, c := range p.Products {
		c.Passes = 1
		for n := layout.Product(c.KReps); n > 1 && c.instructions() > mostWritten; n-- {
			if c.rolls(n) {
				c.Passes = n
				break
			}
		}
	}
}

// rolls reports a product whose steps can be so many passes. The next step waits for it, so that nothing in the loop around reads the sums, and both operands are in shared
// memory, where those of a pass lie as far behind those of the one before as everywhere.
func (c *Product) rolls(passes int) bool {
	steps := layout.Product(c.KReps)
	if c.Overlapped == nil || c.RowsInRegisters || passes < 1 || steps%passes != 0 {
		return false
	}
	each := steps / passes
	for _, t := range c.Tiles {
		for step := each; step < steps; step++ {
			if c.AlongDepth(t, step) != c.AlongDepth(t, step-each)+c.AlongDepth(t, each) {
				return false
			}
		}
	}
	return true
}

// AlongDepth is how many bytes behind the first one's the elements of an instruction of a step lie that wgmma reads of a tile of an operand in shared memory.
func (c *Product) AlongDepth(t *Tile, step int) int {
	if t.Contiguous() != c.K[0] {
		return c.MMA.Depth * step * t.Width()
	}
	const instruction = 32 // bytes of a row or column
	at := map[*ir.Axis]int{}
	for _, d := range c.KReps {
		at[d.Axis] += step % d.Size * d.Stride
		step /= d.Size
	}
	bytes := at[c.K[0]] / c.MMA.Depth * instruction
	row, _ := t.Place(func(a *ir.Axis) int {
		if a == c.K[0] {
			return 0
		}
		return at[a]
	})
	return bytes/t.Width()*t.BytesOfPanel() + row*t.Width() + bytes%t.Width()
}

// BytesOfPanel is what a panel takes of a tile.
func (t *Tile) BytesOfPanel() int { return t.Bytes() / t.RowBytes() * t.Width() }
