package ptx

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// Tile is how a tile lies in shared memory: rows of one contiguous axis, in chunks
// of 16 bytes that are permuted within a row by an XOR with the row number, so
// that neither the rows of a column nor the chunks of a row share banks.
type Tile struct {
	d    lang.DType
	axes []*ir.Axis // the contiguous one first
	ext  []int      // how much is held along each
	// swizzle is how many chunks are permuted among each other: 1, 2, 4 or 8.
	swizzle int
	// panels is how many rows lie in a panel, where longer rows are cut in panels
	// of 128 bytes one behind the other, as wgmma reads them; 0 where they are not.
	panels int
	// async marks a tile that wgmma reads: writes to it are made visible to the asynchronous proxy.
	async bool
}

// newTile lays out a tile; ext may be padded. Contiguous comes first.
func newTile(d lang.DType, axes []*ir.Axis, ext []int, swizzled bool) *Tile {
	t := &Tile{d: d, axes: axes, ext: append([]int(nil), ext...), swizzle: 1}
	if len(axes) > 0 {
		chunk := max(16/d.Size(), 1)
		if t.ext[0] > chunk/2 || len(axes) > 1 && t.ext[0] > 1 {
			t.ext[0] = (t.ext[0] + chunk - 1) / chunk * chunk
		}
		for i := 1; i < len(t.ext)-1; i++ {
			if t.ext[i] < 8 {
				t.ext[i] = layout.PowerAbove(t.ext[i])
			} else {
				t.ext[i] = (t.ext[i] + 7) / 8 * 8
			}
		}
		if row := t.rowBytes(); swizzled && row%16 == 0 {
			for t.swizzle < 8 && row/16%(2*t.swizzle) == 0 {
				t.swizzle *= 2
			}
		}
	}
	return t
}

// rowBytes is the bytes of a row, bytes those of all rows.
func (t *Tile) rowBytes() int {
	if len(t.axes) == 0 {
		return t.d.Size()
	}
	return t.ext[0] * t.d.Size()
}

func (t *Tile) bytes() int {
	n := t.rowBytes()
	for _, e := range t.ext[min(1, len(t.ext)):] {
		n *= e
	}
	return n
}

// place gives the row and the byte in the row of a coordinate, given along each axis.
func (t *Tile) place(coord func(*ir.Axis) int) (row, column int) {
	scale := 1
	for i, a := range t.axes {
		if i == 0 {
			column = coord(a) * t.d.Size()
			continue
		}
		row += coord(a) * scale
		scale *= t.ext[i]
	}
	return row, column
}

// turn is the number that a row's chunks are XORed with.
func (t *Tile) turn(row int) int {
	return row / (8 / t.swizzle) % t.swizzle
}

// offset is the byte at which an element lies.
func (t *Tile) offset(row, column int) int {
	if t.panels > 0 {
		return column/panelBytes*t.panels*panelBytes + row*panelBytes + (column%panelBytes ^ t.turn(row)<<4)
	}
	return row*t.rowBytes() + (column ^ t.turn(row)<<4)
}

// panelBytes is the width of a panel.
const panelBytes = 128

// linear reports that an element's offset is the thread's, XORed with a constant
// in the swizzled bits, plus a constant: checked on every thread and register.
func (t *Tile) linear(l layout.Layout) bool {
	type spot struct{ row, column int }
	var threads, regs []spot
	for w := range l.Warps() {
		for n := range layout.Lanes {
			row, column := t.place(func(a *ir.Axis) int { return l.ThreadCoord(n, w, a) })
			threads = append(threads, spot{row, column})
		}
	}
	for r := range l.Regs() {
		row, column := t.place(func(a *ir.Axis) int { return l.RegCoord(r, a) })
		regs = append(regs, spot{row, column})
	}
	for _, r := range regs {
		xor, plus := t.split(r.row, r.column)
		for _, h := range threads {
			if (t.offset(h.row, h.column)^xor)+plus != t.offset(h.row+r.row, h.column+r.column) {
				return false
			}
		}
	}
	return true
}

// split gives the two constants of a register's part of the offset.
func (t *Tile) split(row, column int) (xor, plus int) {
	mask := (t.swizzle - 1) << 4
	xor = column&mask ^ t.turn(row)<<4
	if t.panels > 0 {
		return xor, column/panelBytes*t.panels*panelBytes + row*panelBytes + column%panelBytes&^mask
	}
	return xor, row*t.rowBytes() + column&^mask
}

// contiguous is the axis of the rows; nil for a scalar.
func (t *Tile) contiguous() *ir.Axis {
	if len(t.axes) == 0 {
		return nil
	}
	return t.axes[0]
}

// vector is how many neighbours one access to the tile may move.
func (t *Tile) vector() int {
	v := max(16/t.d.Size(), 1)
	for v > 1 && (len(t.ext) == 0 || t.ext[0]%v != 0) {
		v /= 2
	}
	return v
}

// boxed reports a tile that lies in shared memory as boxes do.
func (t *Tile) boxed() bool {
	if len(t.axes) < 2 || t.bytes()/t.rowBytes()%8 != 0 {
		return false // the pattern of a swizzle is eight rows, and begins anew with each panel
	}
	switch row := t.rowBytes(); row {
	case 32, 64, 128:
		return t.swizzle == row/16
	default:
		return t.panels > 0 && row%panelBytes == 0 && t.swizzle == 8
	}
}

// panel cuts rows longer than 128 bytes in panels, as boxes and wgmma want them.
func (t *Tile) panel() {
	if t.rowBytes() > panelBytes {
		t.panels, t.swizzle = t.bytes()/t.rowBytes(), 8
	}
}

// holds reports a tile that serves where want would.
func (t *Tile) holds(want *Tile) bool {
	if t.d != want.d || len(t.axes) != len(want.axes) || t.panels != want.panels || t.async != want.async {
		return false
	}
	for i, a := range t.axes {
		if want.axes[i] != a || want.ext[i] > t.ext[i] {
			return false
		}
	}
	return true
}

// operandTile is the shape of an operand of a product in shared memory, as the instruction reads it.
func (p *Program) operandTile(c *Product, arg int) *Tile {
	switch {
	case c.wide:
		return p.wideTile(c, arg)
	case c.mma != nil:
		return p.fragmentTile(c, arg)
	}
	return simtTile(c, arg)
}

// simtTile has the depth outermost, so that a step along the depth is one stride for every element.
func simtTile(c *Product, arg int) *Tile {
	v := c.op.Args[arg]
	free := c.m
	if arg == c.b {
		free = c.n
	}
	axes := append(append(append([]*ir.Axis(nil), free...), c.batch...), c.k...)
	return &Tile{d: v.Type.DType, axes: axes, ext: extents(axes), swizzle: 1}
}

// fragmentTile is contiguous as the operand is in global memory, padded to the instruction's sizes.
func (p *Program) fragmentTile(c *Product, arg int) *Tile {
	v := c.op.Args[arg]
	l := c.fragmentLayout(arg)
	axes := reversed(v.Type.Axes)
	first := 0
	if v.Def != nil && v.Def.Code == lang.OpLoad {
		for i, a := range axes {
			if a == contiguous(p.access(v.Def)) {
				first = i
			}
		}
	} else if c.mma.inRegister == 2 { // what is computed may as well lie as fragments want it
		first = slices.Index(axes, c.k[0])
	} else {
		run := 0
		for i, a := range axes {
			if n := p.home[v].Run(a, false)*64 + p.home[v].Run(a, true); n > run {
				first, run = i, n
			}
		}
	}
	axes[0], axes[first] = axes[first], axes[0]
	ext := make([]int, len(axes))
	for i, a := range axes {
		ext[i] = l.Physical(a)
	}
	return newTile(c.element(arg), axes, ext, true)
}

// wideTile has rows of up to 128 bytes, in panels, with the swizzle that the descriptors of wgmma name.
func (p *Program) wideTile(c *Product, arg int) *Tile {
	l := c.fragmentLayout(arg)
	side := c.m[0]
	if arg == c.b {
		side = c.n[0]
	}
	first, other := p.wideFirst(c, arg), side
	if first == side {
		other = c.k[0]
	}
	t := newTile(c.element(arg), []*ir.Axis{first, other}, []int{l.Physical(first), l.Physical(other)}, true)
	t.async = true
	t.panel()
	return t
}
