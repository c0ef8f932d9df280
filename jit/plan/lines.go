package plan

import (
	"math"
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// lineBytes is how many bytes of neighbours in memory are fetched best at a time.
const lineBytes = 128

// sector is of how many bytes part takes the time of all: a line where blocks have parts of it and fetch them one by one. Those with other
// columns of a range that is read from memory go through it each in its own time; and a window is loaded once for each of its
// positions, of which the L1 looks up each line for itself.
func (c at) sector(s step) float64 {
	ranged := slices.ContainsFunc(s.loops, func(loop *ir.Op) bool { return c.ranged[loop].length > 0 })
	v := innermost(s.op)
	if v == nil || len(v.Type.Axes) != 1 || !ranged && (c.contracts || !windowed(s.op)) {
		return c.target.SectorBytes
	}
	if i := c.place[v.Type.Axes[0]]; c.f.Axes[i].Kind != ir.Grid || c.size[i] <= c.extent[i] {
		return c.target.SectorBytes
	}
	return lineBytes
}

// lineOpening is what the main memory takes longer for each part of a line that comes by itself, as a part of the time of the line. Where blocks
// of products do not run all at once, those with the other parts go through them each in its own time (an H200: a product of
// bf16 that reads 2.1 GB of weights by 32 columns of 64 bytes takes 833 us, by 256 columns 497). Blocks without products lose less by what they
// read, all at once or not (sums and maxima of 8 columns of f32: 0.11 and 0.14), and by what they write more
// (transposes by 4 rows of f32 and 8 of bf16: 0.11 to 0.95).
const (
	lineOpening  = 0.6
	readOpening  = 0.13
	writeOpening = 0.28
)

// opening is what the main memory takes longer for the lines of which blocks have parts, as a part of the time for what an access moves, where
// so many blocks run at once.
func (c at) opening(op *ir.Op, concurrent int64) float64 {
	part := c.linePart(op)
	if c.contracts && op.Code != lang.OpLoad {
		return c.torn(op, part*lineBytes)
	}
	if part == 0 || part >= 1 {
		return 0
	}
	each := readOpening
	switch {
	case c.contracts && (c.deep || c.blocks() <= concurrent):
		return 0
	case c.contracts:
		each = lineOpening
	case op.Code != lang.OpLoad:
		each = writeOpening
	}
	return float64(each * (1/part - 1))
}

// torn is what the main memory takes longer for sectors of which a block of a product writes a part at either end of a run of so many bytes, and another block the rest in its own time, as a part of the time of
// what is written: they are written twice, and read for that (an H200: a 3x3 convolution of f32, 16 x 128 x 254 x 254, in tiles of 8 x 8 positions of 2 images 1,033 us, of whole rows 729). Runs of
// whole sectors tear none.
func (c at) torn(op *ir.Op, run float64) float64 {
	if run == 0 {
		return 0
	}
	i := c.place[innermost(op).Type.Axes[0]]
	size, sector := float64(op.Tensor.DType.Bits())/8, c.target.SectorBytes
	if math.Mod(run, sector) == 0 && math.Mod(float64(c.size[i])*size, sector) == 0 {
		return 0
	}
	return 2 * sector / max(run, sector)
}

// tears reports an axis along which the best plan of products has runs of a result that tear sectors.
func (s *search) tears(i int) bool {
	if !s.contracts || s.best.e == nil {
		return false
	}
	c := at{s.model, s.best.c, 0}
	return slices.ContainsFunc(s.ops, func(o step) bool {
		run := 0.0
		if s.results[o.op] {
			run = c.linePart(o.op) * lineBytes
		}
		return run > 0 && s.place[innermost(o.op).Type.Axes[0]] == i && c.torn(o.op, run) > 0
	})
}

// oneOperand reports two axes that an operand of a product has.
func (m *model) oneOperand(i, j int) bool {
	return slices.ContainsFunc(m.ops, func(s step) bool {
		return isContraction(s.op) && slices.ContainsFunc(s.op.Args[:2], func(v *ir.Value) bool { return v.Type.Has(m.f.Axes[i]) && v.Type.Has(m.f.Axes[j]) })
	})
}

// A page of the main memory has to be opened before anything of it is moved, while other banks move what they have. Rows of a block that lie in pages of their own open one each: what they have of
// it hides that from openedBytes on, and half as much takes at least pageOpening longer, as a part of the time of all that is moved, for banks take turns at what is
// read and what is written (an H200, transpositions of f32 in tiles of 32x32, 64x32, 32x64 and 64x64: 146, 142, 146 and 136 us of 8192x8192, 143, 143, 142 and 136 of 256x512x512; a
// product of bf16 that reads 2.1 GB of weights by 64 columns 516, by 128 columns 495). So of rows that are written, however near they lie (an image of bf16 twice as large, 32x64x224x224,
// in tiles of 64 rows by 64 columns 88.6, of 16 whole rows 80.2).
const (
	pageBytes   = 1024
	openedBytes = 256
	pageOpening = 0.03
)

// pageOpenings is what the main memory takes longer for pages of which an access moves so little, as a part of the time for what all of them move.
func (c at) pageOpenings(op *ir.Op) float64 {
	run := c.linePart(op) * lineBytes
	if run == 0 || c.apart(op) < pageBytes && op.Code == lang.OpLoad {
		return 0
	}
	return float64(pageOpening * max(openedBytes/run-1, 0))
}

// apart is how many bytes the rows of neighbours that a block has lie apart, 0 where it has one row alone.
func (c at) apart(op *ir.Op) int64 {
	least, stride := int64(0), int64(1) // elements
	for i := len(op.Tensor.Shape) - 1; i >= 0; i-- {
		if s := op.Tensor.Strides; s != nil {
			stride = c.dims(s[i])
		}
		v := op.Indices()[i]
		if v != innermost(op) && c.count(c.tile(v), false) > 1 && (least == 0 || stride < least) {
			least = stride
		}
		stride = times(stride, c.dims(op.Tensor.Shape[i]))
	}
	return least * int64(op.Tensor.DType.Bits()) / 8
}

// linePart is which part of a line blocks have of what an access moves, 1 or more where they have whole ones, and 0 where it is no run of
// neighbours that ends with a block.
func (c at) linePart(op *ir.Op) float64 {
	if g := c.runsOf[op]; g != nil {
		if c.f.Axes[g.axis].Kind != ir.Grid || c.size[g.axis] <= c.extent[g.axis] {
			return 0
		}
		return c.runLength(g) * float64(op.Tensor.DType.Bits()) / 8 / lineBytes
	}
	v := innermost(op)
	if v == nil || len(v.Type.Axes) != 1 || gathered(op) {
		return 0
	}
	i := c.place[v.Type.Axes[0]]
	if c.f.Axes[i].Kind != ir.Grid || c.size[i] <= c.extent[i] {
		return 0
	}
	return float64(c.extent[i]) * float64(op.Tensor.DType.Bits()) / 8 / lineBytes
}

// longColumn is from how many positions on a column is work for many warps.
const longColumn = 1 << 13

// reducesColumns reports a reduction of long columns, which lie side by side in lines of memory: blocks that have whole lines are few.
func (m *model) reducesColumns() bool {
	if m.contracts || !m.target.IsGPU() {
		return false
	}
	return slices.ContainsFunc(m.ops, func(s step) bool {
		if s.op.Code.Row().Group != lang.GroupReduce || len(s.op.Over) != 1 || s.op.Over[0].Kind != ir.Whole || s.op.Over[0].Len < longColumn {
			return false
		}
		return slices.ContainsFunc(m.ops, func(l step) bool {
			if l.op.Code != lang.OpLoad || !l.op.Result().Type.Has(s.op.Over[0]) {
				return false
			}
			along := alongOne(l.op)
			return along != nil && along != s.op.Over[0] && along.Kind == ir.Grid
		})
	})
}

// windowed reports a load at sums of positions, as x[h + r, c] is for the r of a window.
func windowed(op *ir.Op) bool {
	return op.Code == lang.OpLoad && slices.ContainsFunc(op.Indices(), func(v *ir.Value) bool { return len(v.Type.Axes) > 1 })
}

// rowsThere is what part of the time of a load a step of a loop over the rows of a window takes that finds most of them in the L1, since the step before has brought them
// (an H200, depthwise convolutions of 3x3).
const rowsThere = 0.65

// windowVector is how much longer blocks take whose threads each have windows of more than one vector: registers for them are those of other blocks (an H200, depthwise
// convolutions and stencils of f32 and bf16: 1.04 to 1.85).
const windowVector = 1.2

// windowRows gives the axes along the rows of a window that is moved by a position at a time over lines that threads load in whole vectors, as h and r of
// x[h + r, v + s, c]; nil for other accesses.
func windowRows(op *ir.Op) []*ir.Axis {
	if op.Code != lang.OpLoad {
		return nil
	}
	if v := innermost(op); v == nil || len(v.Type.Axes) != 1 {
		return nil
	}
	for _, v := range op.Indices() {
		if len(v.Type.Axes) > 1 {
			if sum(v) {
				return v.Type.Axes
			}
			return nil
		}
	}
	return nil
}

// sum reports a sum of positions and numbers.
func sum(v *ir.Value) bool {
	if v.Def == nil {
		return false
	}
	switch v.Def.Code {
	case lang.OpAdd, lang.OpSub:
		return sum(v.Def.Args[0]) && sum(v.Def.Args[1])
	case lang.OpCast:
		return sum(v.Def.Args[0])
	}
	return v.Def.Code == lang.OpIndex || v.Def.Code == lang.OpConst
}

// windows reports a kernel that reads windows and multiplies no matrices.
func (m *model) windows() bool {
	return !m.contracts && m.target.IsGPU() && slices.ContainsFunc(m.ops, func(s step) bool { return windowRows(s.op) != nil })
}

// alongRows reports an axis along the rows of such windows, through which a loop can go row by row.
func (m *model) alongRows(i int) bool {
	return m.windows() && slices.ContainsFunc(m.ops, func(s step) bool { return slices.Contains(windowRows(s.op), m.f.Axes[i]) })
}

// severalVectors reports threads that have windows of more than one vector.
func (c at) severalVectors() bool {
	return slices.ContainsFunc(c.ops, func(s step) bool {
		return s.op.Code == lang.OpStore && c.count(tile{axes: s.axes}, false)*int64(s.op.Tensor.DType.Bits())/8 > vectorBytes*c.threads()
	})
}
