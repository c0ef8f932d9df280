package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file keeps windows in shared memory, of convolutions. Of x[h + r - 1, v + s - 1, c] that is multiplied over c, r and s by wgmma, a step
// that has all r and s has what h + r and v + s can be: each element once, and not once for each tap. An instruction reads eight rows of a tile that follow one another, and eight groups
// of such rows that are equally far apart, wherever the first of them begins; so a tap is another place to begin.

// Window is what steps of a product may have of a window.
type Window struct {
	load *ir.Op
	// Arg is the argument that is loaded from where the window lies.
	Arg int
	// deep is the axis of the depth along which both operands lie contiguous, others are the other ones, free the axes of the other operand.
	deep         *ir.Axis
	others, free []*ir.Axis
	// Places are the axes along which the window moves, the first the fastest, and Taps, of each, the one of the others whose positions are added to its own, nil where there is none.
	Places, Taps []*ir.Axis
}

// MultipliedWindow finds, whatever the extents are, which operand of a product lies in windows, and how; nil where none does.
func MultipliedWindow(op *ir.Op) *Window {
	if w := windowOfArg(op, 0); w != nil {
		return w
	}
	return windowOfArg(op, 1)
}

func windowOfArg(op *ir.Op, arg int) *Window {
	load, other := op.Args[arg].Def, op.Args[1-arg].Def
	if d := op.Args[arg].Type.DType; len(op.Over) < 2 || op.Fn != nil || op.Mixed() || !d.IsFloat() || d.Size() == 1 || op.Precision != "" || load == nil || load.Code != lang.OpLoad || other == nil || other.Code != lang.OpLoad {
		return nil
	}
	dims := AccessOf(load)
	w := &Window{load: load, Arg: arg, deep: Contiguous(dims)}
	if !slices.Contains(op.Over, w.deep) || Contiguous(AccessOf(other)) != w.deep {
		return nil
	}
	w.others = ir.Without(op.Over, []*ir.Axis{w.deep})
	w.free = ir.Without(op.Args[1-arg].Type.Axes, op.Args[arg].Type.Axes)
	for _, a := range reversed(op.Result().Type.Axes) { // in the order in which a product numbers its rows
		if op.Args[arg].Type.Has(a) && !op.Args[1-arg].Type.Has(a) {
			w.Places = append(w.Places, a)
		}
	}
	w.Taps = make([]*ir.Axis, len(w.Places))
	found := false
	for _, d := range dims {
		if d.Gather || len(d.Affine.Terms) != 2 {
			continue
		}
		for n, term := range d.Affine.Terms {
			i, tap := slices.Index(w.Places, term.Axis), d.Affine.Terms[1-n]
			if i >= 0 && w.Taps[i] == nil && term.Coef == 1 && tap.Coef == 1 && slices.Contains(w.others, tap.Axis) && !slices.Contains(w.Taps, tap.Axis) {
				w.Taps[i], found = tap.Axis, true
			}
		}
	}
	if !found {
		return nil
	}
	return w
}

// Loads reports that the window is what a load brings.
func (w *Window) Loads(op *ir.Op) bool { return w.load == op }

// RowBytes is the bytes of a row of the window, which are those of the depth.
func (w *Window) RowBytes(extent func(*ir.Axis) int) int {
	return extent(w.deep) * w.load.Result().Type.DType.Size()
}

// Fits reports extents with which wgmma reads a step of several taps from a window, as the columns of a product or as its rows, with so many warps, and how many rows the window then has.
func (w *Window) Fits(extent func(*ir.Axis) int, columns bool, warps int) (rows int, ok bool) {
	several := false
	for _, a := range w.others {
		if extent(a) > 1 {
			if several = true; !slices.Contains(w.Taps, a) || !inWholeSteps(a, extent(a)) {
				return 0, false
			}
		}
	}
	if row := w.RowBytes(extent); !several || row != PanelBytes/2 && row != PanelBytes || warps%groupWarps != 0 {
		return 0, false
	}
	// Extents are powers of two, so that each bit of a place's number adds to its row by itself. Eight places follow one another, groups of them are equally far apart in an instruction, and so are
	// the instructions of warpgroups.
	const ofGroup, ofInstruction = 3, 6
	bit, apart, first := 0, 0, 0
	rows = 1
	for i, a := range w.Places {
		n := extent(a)
		if n <= 0 || n&(n-1) != 0 {
			return 0, false
		}
		for step := 1; step < n; step *= 2 {
			adds, even := rows*step, true
			switch {
			case bit < ofGroup:
				even = adds == 1<<bit
			case bit == ofGroup:
				apart = adds
			case bit < ofInstruction || columns:
				even = adds == apart<<(bit-ofGroup)
			case bit == ofInstruction:
				first = adds
			case 1<<(bit-ofInstruction) < warps/groupWarps:
				even = adds == first<<(bit-ofInstruction)
			}
			if !even {
				return 0, false
			}
			bit++
		}
		if tap := w.Taps[i]; tap != nil {
			n += extent(tap) - 1
		}
		rows *= n
	}
	least := WgmmaRows * (warps / groupWarps)
	if columns {
		least = RowsOfGroup
	}
	return rows, 1<<bit >= least && 1<<bit <= mostPlaces
}

// inWholeSteps reports an axis of known length that steps of an extent divide: what a last step would have beyond it is multiplied.
func inWholeSteps(a *ir.Axis, extent int) bool {
	n := a.Len
	if a.Kind != ir.Whole {
		if a.Dim == nil || !a.Dim.Known() {
			return false
		}
		n = a.Dim.Value
	}
	return n%int64(extent) == 0
}

// Tile is how the elements of a step lie in shared memory; nil where they do not fit.
func (w *Window) Tile(extent func(*ir.Axis) int, columns bool, warps int) *Tile {
	if _, ok := w.Fits(extent, columns, warps); !ok {
		return nil
	}
	load := w.load.Result()
	t := &Tile{DType: load.Type.DType, Axes: append([]*ir.Axis{w.deep}, w.Places...), Taps: make([]*ir.Axis, 1+len(w.Places)), Async: true}
	for i, a := range t.Axes {
		n := extent(a)
		if i > 0 && w.Taps[i-1] != nil { // of one tap in a step too, which moves the window
			t.Taps[i] = w.Taps[i-1]
			n += extent(t.Taps[i]) - 1
		}
		t.Extents = append(t.Extents, n)
	}
	t.Swizzle = t.RowBytes() / chunkBytes
	return t
}

// AsColumns reports extents with which the places of the window are better the columns of instructions, of which there are more than of the other operand: for each of its columns an instruction
// reads as much of shared memory as for each of its 64 rows.
func (w *Window) AsColumns(extent func(*ir.Axis) int, warps int) bool {
	places, rows := 1, 1
	for _, a := range w.Places {
		places *= extent(a)
	}
	for _, a := range w.free {
		rows *= extent(a)
	}
	if rows >= places || places > mostBox || rows%max(WgmmaRows, warpRows*warps) != 0 {
		return false
	}
	_, ok := w.Fits(extent, true, warps)
	return ok
}

const (
	// warpRows is how many rows of an instruction a warp has of those of its warpgroup.
	warpRows = WgmmaRows / groupWarps
	// mostPlaces is how many places a block has at most of a product with windows.
	mostPlaces = 1024
)

// window is the window that a product may have, if the TMA does not refuse to bring it.
func (p *Program) window(c *Product) *Window {
	w := MultipliedWindow(c.Op)
	if w == nil || c.MMA == nil || p.refused[c.Op] || c.InShared(w.Arg) != w.load.Result().Type.DType {
		return nil
	}
	return w
}

// windowOf is how the operand of a product lies that steps of several taps have in a window; nil where they have not, or where wgmma cannot read it so.
func (p *Program) windowOf(c *Product) *Tile {
	w := p.window(c)
	if w == nil {
		return nil
	}
	return w.Tile(extentOf, w.Arg == c.B, p.Warps)
}

// inWindow reports an operand that lies in a window.
func (c *Product) inWindow(arg int) bool {
	return c.Window != nil && c.Op.Args[arg].Type.Has(c.Window.Axes[1])
}

func extentOf(a *ir.Axis) int { return int(a.Extent) }

// untapped is an access without the terms that the taps of a tile add.
func (t *Tile) untapped(dims []DimAccess) []DimAccess {
	if t.Taps == nil {
		return dims
	}
	dims = slices.Clone(dims)
	for i := range dims {
		dims[i].Affine.Terms = slices.DeleteFunc(slices.Clone(dims[i].Affine.Terms), func(x AxisTerm) bool { return slices.Contains(t.Taps, x.Axis) })
	}
	return dims
}

// rowOf is the row of a window that has a place, which are numbered along its axes, the first the fastest.
func (t *Tile) rowOf(place int) int {
	row, scale := 0, 1
	for n, a := range t.Axes[1:] {
		row += place % int(a.Extent) * scale
		place /= int(a.Extent)
		scale *= t.Extents[n+1]
	}
	return row
}

// RowsApart is how many rows of the tile that has an operand of a product are between groups of eight of them.
func (c *Product) RowsApart(arg int) int { return c.RowAt(arg, RowsOfGroup) }

// RowAt is the row of the tile that has an operand of a product in which the product's row, or column, of such a number lies.
func (c *Product) RowAt(arg, i int) int {
	if !c.inWindow(arg) {
		return i
	}
	return c.Window.rowOf(i)
}
