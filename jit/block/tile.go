package block

import (
	"math/bits"
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// Tile is how a tile lies in shared memory: rows of one contiguous axis, in chunks
// of 16 bytes that are permuted within a row by an XOR with the row number, so
// that neither the rows of a column nor the chunks of a row share banks.
type Tile struct {
	DType   lang.DType
	Axes    []*ir.Axis // the contiguous one first
	Extents []int      // how many positions are held along each
	// Spans is how many positions along each axis have one element, as eight do of words with eight weights each; nil where each has its own. An element of four bits is one of the
	// two that a byte has.
	Spans []int
	// Taps are, of a window, the axes whose positions are added to those along Axes, nil along an axis by itself: of x[h + r] the elements of an axis h with
	// taps r are those of all h + r, each of which the tile has once. Nil of a tile that is no window.
	Taps []*ir.Axis
	// Swizzle is how many chunks are permuted among each other: 1, 2, 4 or 8.
	Swizzle int
	// Alike is how many rows, one after the other, are permuted alike; 0 for as many as lie in 128 bytes. Where a thread has several
	// rows and the lanes beside it the next ones, those of all of them are no multiple of 128 bytes apart.
	Alike int
	// Panels is how many rows lie in a panel, where longer rows are cut in panels of 128 bytes, or 64 or 32 where these do not
	// divide them, one behind the other, as wgmma reads them; 0 where they are not.
	Panels int
	// async marks a tile that wgmma reads: writes to it are made visible to the asynchronous proxy.
	Async bool
}

// NewTile lays out a tile; ext may be padded. Contiguous comes first. Elements of packed types take a byte each.
func NewTile(d lang.DType, axes []*ir.Axis, ext []int, swizzled bool) *Tile {
	return newTile(d.WholeBytes(), axes, ext, nil, swizzled)
}

// newTile lays out a tile of which so many positions have one element along each axis.
func newTile(d lang.DType, axes []*ir.Axis, ext, spans []int, swizzled bool) *Tile {
	t := &Tile{DType: d, Axes: axes, Extents: append([]int(nil), ext...), Spans: spans, Swizzle: 1}
	if len(axes) > 0 {
		chunk := max(16/d.Size(), 1) * t.Span(0)
		if t.Extents[0] > chunk/2 || len(axes) > 1 && t.Extents[0] > 1 {
			t.Extents[0] = (t.Extents[0] + chunk - 1) / chunk * chunk
		}
		for i := 1; i < len(t.Extents); i++ {
			t.Extents[i] = (t.Extents[i] + t.Span(i) - 1) / t.Span(i) * t.Span(i)
		}
		// Rows of a multiple of the pattern's eight are turned alike, so axes behind them are held as they are.
		for i, rows := 1, 1; i < len(t.Extents)-1 && rows%8 != 0; i++ {
			if t.Extents[i] < 8 {
				t.Extents[i] = layout.PowerAbove(t.Extents[i])
			} else {
				t.Extents[i] = (t.Extents[i] + 7) / 8 * 8
			}
			rows *= t.Extents[i] / t.Span(i)
		}
		if row := t.RowBytes(); swizzled && row%16 == 0 {
			for t.Swizzle < 8 && row/16%(2*t.Swizzle) == 0 {
				t.Swizzle *= 2
			}
		}
	}
	return t
}

// Span is how many positions along an axis, given by its place, have one element.
func (t *Tile) Span(i int) int {
	if t.Spans == nil {
		return 1
	}
	return t.Spans[i]
}

// Tap is the axis whose positions are added to those along an axis, given by its place; nil where none are.
func (t *Tile) Tap(i int) *ir.Axis {
	if t.Taps == nil {
		return nil
	}
	return t.Taps[i]
}

// BytesOf is how many bytes so many neighbours along the rows take.
func (t *Tile) BytesOf(positions int) int {
	if len(t.Axes) == 0 {
		return t.DType.Size()
	}
	return positions / t.Span(0) * t.DType.Size()
}

// RowBytes is the bytes of a row.
func (t *Tile) RowBytes() int {
	if len(t.Axes) == 0 {
		return t.DType.Size()
	}
	return t.BytesOf(t.Extents[0])
}

// Bytes is what the tile takes of shared memory: of a window, whole patterns of its swizzle.
func (t *Tile) Bytes() int {
	n := t.Filled()
	if t.Taps != nil {
		pattern := RowsOfGroup * t.RowBytes()
		n = (n + pattern - 1) / pattern * pattern
	}
	return n
}

// Filled is the bytes of the tile's elements.
func (t *Tile) Filled() int {
	n := t.RowBytes()
	for i := 1; i < len(t.Extents); i++ {
		n *= t.Extents[i] / t.Span(i)
	}
	return n
}

// RowsOfGroup is how many rows the pattern of a swizzle has, and how many that follow one another wgmma reads.
const RowsOfGroup = 8

// Place gives the row and the byte in the row of a coordinate, given along each axis.
func (t *Tile) Place(coord func(*ir.Axis) int) (row, column int) {
	scale := 1
	for i, a := range t.Axes {
		at := coord(a) / t.Span(i)
		if i == 0 {
			column = at * t.DType.Size()
			continue
		}
		if tap := t.Tap(i); tap != nil {
			at += coord(tap)
		}
		row += at * scale
		scale *= t.Extents[i] / t.Span(i)
	}
	return row, column
}

// Part is which of the positions that have one element, or byte, along the rows a coordinate is.
func (t *Tile) Part(coord func(*ir.Axis) int) int {
	if t.Spans == nil {
		return 0
	}
	return coord(t.Axes[0]) % t.Spans[0]
}

// Turn is the number that a row's chunks are XORed with.
func (t *Tile) Turn(row int) int {
	return row / t.alike() % t.Swizzle
}

func (t *Tile) alike() int { return max(t.Alike, 8/t.Swizzle) }

// TurnShift is the lowest bit of a row's number that tells how its chunks are permuted.
func (t *Tile) TurnShift() int { return bits.Len(uint(t.alike())) - 1 }

// Offset is the byte at which an element lies.
func (t *Tile) Offset(row, column int) int {
	if t.Panels > 0 {
		width := t.Width()
		return column/width*t.Panels*width + row*width + (column%width ^ t.Turn(row)<<4)
	}
	return row*t.RowBytes() + (column ^ t.Turn(row)<<4)
}

// PanelBytes is the largest width of a panel, leastPanel the least.
const PanelBytes, leastPanel = 128, 32

// Width is the bytes of a row that lie together: those of a panel's row, or of all.
func (t *Tile) Width() int {
	if t.Panels > 0 {
		return t.Swizzle * chunkBytes
	}
	return t.RowBytes()
}

// chunkBytes is what a swizzle moves together.
const chunkBytes = 16

// Linear reports that an element's offset is the thread's, XORed with a constant
// in the swizzled bits, plus a constant: checked on every thread and register.
func (t *Tile) Linear(l layout.Layout) bool {
	type spot struct{ row, column int }
	var threads, regs []spot
	// Of positions that share elements, what the thread and the register add to one must not carry.
	carries := false
	carry := func(at func(*ir.Axis) int, of []int) []int {
		for i, a := range t.Axes {
			of[i] = max(of[i], at(a)%t.Span(i))
		}
		return of
	}
	ofThreads, ofRegs := make([]int, len(t.Axes)), make([]int, len(t.Axes))
	for w := range l.Warps() {
		for n := range layout.Lanes {
			at := func(a *ir.Axis) int { return l.ThreadCoord(n, w, a) }
			row, column := t.Place(at)
			threads, ofThreads = append(threads, spot{row, column}), carry(at, ofThreads)
		}
	}
	for r := range l.Regs() {
		at := func(a *ir.Axis) int { return l.RegCoord(r, a) }
		row, column := t.Place(at)
		regs, ofRegs = append(regs, spot{row, column}), carry(at, ofRegs)
	}
	for i := range t.Axes {
		carries = carries || ofThreads[i]+ofRegs[i] >= t.Span(i) && t.Span(i) > 1
	}
	if carries {
		return false
	}
	for _, r := range regs {
		xor, plus := t.Split(r.row, r.column)
		for _, h := range threads {
			if (t.Offset(h.row, h.column)^xor)+plus != t.Offset(h.row+r.row, h.column+r.column) {
				return false
			}
		}
	}
	return true
}

// Split gives the two constants of a register's part of the offset.
func (t *Tile) Split(row, column int) (xor, plus int) {
	mask := (t.Swizzle - 1) << 4
	xor = column&mask ^ t.Turn(row)<<4
	if t.Panels > 0 {
		width := t.Width()
		return xor, column/width*t.Panels*width + row*width + column%width&^mask
	}
	return xor, row*t.RowBytes() + column&^mask
}

// Contiguous is the axis of the rows; nil for a scalar.
func (t *Tile) Contiguous() *ir.Axis {
	if len(t.Axes) == 0 {
		return nil
	}
	return t.Axes[0]
}

// Vector is how many neighbours one access to the tile may move.
func (t *Tile) Vector() int {
	v := max(16/t.DType.Size(), 1)
	if len(t.Axes) > 0 {
		v *= t.Span(0)
	}
	for v > 1 && (len(t.Extents) == 0 || t.Extents[0]%v != 0) {
		v /= 2
	}
	return v
}

// boxed reports a tile that lies in shared memory as boxes do.
func (t *Tile) boxed() bool {
	if len(t.Axes) < 2 || t.Bytes()/t.RowBytes()%RowsOfGroup != 0 {
		return false // the pattern of a swizzle begins anew with each panel
	}
	switch row := t.RowBytes(); row {
	case 32, 64, 128:
		return t.Swizzle == row/chunkBytes
	default:
		return t.Panels > 0
	}
}

// panel cuts rows that are no panel by themselves, as boxes and wgmma want them.
func (t *Tile) panel() {
	row := t.RowBytes()
	if width := panelOf(row); width > 0 && width < row {
		t.Panels, t.Swizzle = t.Bytes()/row, width/chunkBytes
	}
}

// panelOf is the width of the panels of a row; 0 where it cannot be cut in any.
func panelOf(row int) int {
	width := PanelBytes
	for width >= leastPanel && row%width != 0 {
		width /= 2
	}
	if width < leastPanel {
		return 0
	}
	return width
}

// Holds reports a tile that serves where want would.
func (t *Tile) Holds(want *Tile) bool {
	if t.DType != want.DType || len(t.Axes) != len(want.Axes) || t.Panels != want.Panels || t.Panels > 0 && t.Swizzle != want.Swizzle || t.Async != want.Async {
		return false
	}
	for i, a := range t.Axes {
		if want.Axes[i] != a || want.Extents[i] > t.Extents[i] || want.Span(i) != t.Span(i) || want.Tap(i) != t.Tap(i) {
			return false
		}
	}
	return true
}

// operandTile is the shape of an operand of a product in shared memory, as the instruction reads it.
func (p *Program) operandTile(c *Product, arg int) *Tile {
	switch {
	case c.Wgmma:
		return p.wgmmaTile(c, arg)
	case c.MMA != nil:
		return p.fragmentTile(c, arg)
	}
	return simtTile(c, arg)
}

// simtTile has the depth outermost, so that a step along the depth is one stride for every element.
func simtTile(c *Product, arg int) *Tile {
	v := c.Op.Args[arg]
	free := c.M
	if arg == c.B {
		free = c.N
	}
	axes := append(append(append([]*ir.Axis(nil), free...), c.Batch...), c.K...)
	return &Tile{DType: v.Type.DType.WholeBytes(), Axes: axes, Extents: Extents(axes), Swizzle: 1}
}

// fragmentTile is contiguous as the operand is in global memory, padded to the instruction's sizes. Behind the contiguous axis come the rows or
// columns where it is of the depth, and the depth where it is not, so that what an instruction reads at a time are neighbouring rows of the
// tile, which the swizzle keeps apart.
func (p *Program) fragmentTile(c *Product, arg int) *Tile {
	v := c.Op.Args[arg]
	l := c.FragmentLayout(arg)
	first := p.fragmentFirst(c, arg)
	sides, depth := c.M, c.K
	if arg == c.B {
		sides = c.N
	}
	if !slices.Contains(c.K, first) {
		sides, depth = depth, sides
	}
	axes := []*ir.Axis{first}
	for _, a := range slices.Concat(sides, depth, reversed(v.Type.Axes)) {
		if slices.Contains(v.Type.Axes, a) && !slices.Contains(axes, a) {
			axes = append(axes, a)
		}
	}
	ext := make([]int, len(axes))
	for i, a := range axes {
		ext[i] = l.Physical(a)
	}
	t := newTile(c.InShared(arg), axes, ext, p.spansOf(c.Op, arg, axes), true)
	if c.Op.Mixed() { // a step has as many positions of the wider operand as fill whole lines of the narrower: boxes bring them by panels
		t.panel()
	}
	return t
}

// fragmentFirst is the axis along which neighbours of an operand lie in its tile.
func (p *Program) fragmentFirst(c *Product, arg int) *ir.Axis {
	v := c.Op.Args[arg]
	axes := reversed(v.Type.Axes)
	if v.Def != nil && v.Def.Code == lang.OpLoad {
		if a := Contiguous(operandAccess(c.Op, arg)); slices.Contains(axes, a) {
			return a
		}
		return axes[0]
	}
	if c.MMA.InRegister == 2 { // what is computed may as well lie as fragments want it
		return c.K[0]
	}
	first, run := axes[0], 0
	for _, a := range axes {
		if n := p.Homes[v].Run(a, false)*64 + p.Homes[v].Run(a, true); n > run {
			first, run = a, n
		}
	}
	return first
}

// wgmmaTile has rows of up to 128 bytes, in panels, with the swizzle that the descriptors of wgmma name. Rows or columns of
// several axes follow one another, the first axis the fastest.
func (p *Program) wgmmaTile(c *Product, arg int) *Tile {
	if c.inWindow(arg) {
		return c.Window
	}
	l := c.FragmentLayout(arg)
	sides := c.M
	if arg == c.B {
		sides = c.N
	}
	axes := append(slices.Clone(sides), c.K...)
	if p.wgmmaFirst(c, arg) != sides[0] {
		axes = append(append([]*ir.Axis{c.K[0]}, sides...), c.K[1:]...)
	}
	ext := make([]int, len(axes))
	for i, a := range axes {
		ext[i] = l.Physical(a)
	}
	t := newTile(c.InShared(arg), axes, ext, p.spansOf(c.Op, arg, axes), true)
	t.Async = true
	t.panel()
	return t
}
