package block

import (
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// Matrices says how an operand's fragments are read from shared memory by an instruction that loads up to four matrices of
// 8x8 pairs of bytes: each lane names a row of 16 bytes of one of them.
type Matrices struct {
	// Layout is the rows that lanes name: a register is an instruction.
	Layout layout.Layout
	// Count is the matrices of an instruction, 2 or 4.
	Count int
	// Transposed: the rows lie along the operand's rows (or columns), not along the depth.
	Transposed bool
	// Paired: an instruction loads two neighbouring tiles of columns. Reps is how many repetitions of rows (or columns) that leaves.
	Paired bool
	Reps   int
	// Twice: an instruction loads two steps of the depth. Steps is how many loads along the depth that leaves.
	Twice bool
	Steps int
}

// Matrices decides how an operand is read from a tile by matrices; nil when the tile's chunks do not lie along a role as that
// needs, and for doubles, of which a lane would get halves.
func (c *Product) Matrices(arg int, t *Tile) *Matrices {
	if c.MMA.Sum == lang.F64 {
		return nil
	}
	in := c.MMA.InRegister
	chunk := in + 2 // bits of a row of 16 bytes
	rows, reps, warp := c.MBits, c.MReps, c.AWarp
	if arg == c.B {
		rows, reps, warp = c.NBits, c.NReps, c.BWarp
	}
	along := func(bits []layout.Digit) bool {
		if len(bits) < chunk || t.Extents[0]%(1<<chunk) != 0 {
			return false
		}
		for i, b := range bits[:chunk] {
			if b.Axis != t.Contiguous() || b.Stride != 1<<i {
				return false
			}
		}
		return true
	}
	m := &Matrices{Count: 4}
	var lane []layout.Digit
	high := c.KBits[in+2] // the depth's bit that tells the matrices of a fragment apart
	switch {
	case along(c.KBits):
		lane = append(append([]layout.Digit(nil), rows[:3]...), high)
		if arg == c.A {
			lane = append(append([]layout.Digit(nil), rows[:4]...), high)
		}
	case in == 1 && along(rows):
		m.Transposed = true
		lane = append(append([]layout.Digit(nil), c.KBits[:3]...), high)
		if arg == c.A {
			lane = append(append([]layout.Digit(nil), c.KBits[:3]...), rows[3], high)
		}
	default:
		return nil
	}
	depth := c.KReps
	if arg == c.B {
		m.Count = 2
		// Two neighbouring columns of tiles in one instruction, where there are as many.
		if len(reps) > 0 && reps[0].Size%2 == 0 {
			d := reps[0]
			lane = append(lane, layout.Digit{Axis: d.Axis, Stride: d.Stride, Size: 2})
			rest := append([]layout.Digit(nil), reps[1:]...)
			if d.Size > 2 {
				rest = append([]layout.Digit{{Axis: d.Axis, Stride: d.Stride * 2, Size: d.Size / 2}}, rest...)
			}
			reps = rest
			m.Count, m.Paired = 4, true
		} else if step, rest := halved(depth); c.Parts > 1 && rest != nil {
			lane = append(lane, step)
			depth, m.Count, m.Twice = rest, 4, true
		} else {
			lane = append(lane, layout.Digit{Size: 2})
		}
	}
	m.Reps, m.Steps = layout.Product(reps), layout.Product(depth)
	m.Layout = layout.Layout{Lane: lane, Warp: warp}
	m.Layout.Reg = append(append(append(m.Layout.Reg, depth...), reps...), c.BatchReps...)
	return m
}

// halved takes the first two of repetitions of which there is an even number, and gives what is left; nil where there is no such
// number.
func halved(reps []layout.Digit) (two layout.Digit, left []layout.Digit) {
	if len(reps) == 0 || reps[0].Size%2 != 0 {
		return two, nil
	}
	d := reps[0]
	return layout.Digit{Axis: d.Axis, Stride: d.Stride, Size: 2},
		append([]layout.Digit{{Axis: d.Axis, Stride: d.Stride * 2, Size: d.Size / 2}}, reps[1:]...)
}

// storedMatrices is the rows of 16 bytes that lanes name where the results of a product, of elements of two bytes, go to a tile by
// an instruction that stores four matrices of 8x8: a register of the layout is an instruction, whose first pair is at the same
// place of the tile. Columns change last, so that what they alone need is at hand once. Matrices are turned on their way where the
// tile lies along the product's rows. ok is false where the home is not such a product's, or does not fill the tile.
func storedMatrices(home layout.Layout, t *Tile) (rows layout.Layout, turned, ok bool) {
	if t.DType.Size() != 2 || len(t.Axes) < 2 || len(home.Reg) < 3 || len(home.Lane) != 5 {
		return rows, false, false
	}
	pair, other, next := home.Reg[0], home.Reg[1], home.Reg[2]
	column := pair.Axis
	along := func(a *ir.Axis, digits ...layout.Digit) bool {
		for i, d := range digits {
			if d != (layout.Digit{Axis: a, Stride: 1 << i, Size: 2}) {
				return false
			}
		}
		return true
	}
	turned = column != t.Contiguous()
	if !along(column, pair, home.Lane[0], home.Lane[1]) || next.Axis == nil || next.Axis == column && next.Stride%8 != 0 || next.Axis != column && next.Axis == t.Contiguous() || next.Size%2 != 0 ||
		turned && !along(t.Contiguous(), home.Lane[2:]...) {
		return rows, false, false
	}
	for _, d := range append([]layout.Digit{other}, home.Lane[2:]...) {
		if d.Axis == nil || d.Axis == column || d.Size != 2 {
			return rows, false, false
		}
	}
	for i, a := range t.Axes {
		if home.Physical(a) != t.Extents[i] {
			return rows, false, false
		}
	}
	named := home.Lane[2:]
	if turned {
		named = []layout.Digit{pair, home.Lane[0], home.Lane[1]}
	}
	rows.Lane = append(append(rows.Lane, named...), other, layout.Digit{Axis: next.Axis, Stride: next.Stride, Size: 2})
	rows.Reg = append(rows.Reg, home.Reg[3:]...)
	if next.Size > 2 {
		rows.Reg = append(rows.Reg, layout.Digit{Axis: next.Axis, Stride: 2 * next.Stride, Size: next.Size / 2})
	}
	rows.Warp = home.Warp
	return rows, turned, t.Linear(rows)
}
