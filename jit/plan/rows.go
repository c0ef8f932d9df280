package plan

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file counts what blocks take that reduce short rows whole, as norms and softmax do, beyond what they move. The figures are an H200's, of layernorm and softmax of bf16 and f32 of
// 8,192 x 768, 16,384 x 768 and 65,536 x 1,024 by 1 to 8 rows and 1 to 8 warps a block.

const (
	// shortRow is how many bytes a row has at most that warps share no more than they have to.
	shortRow = 4 << 10
	// oneRow is how much longer a launch takes, as a part of its time, whose warps have one such row each, or part of one: of two, one is loaded while the other is reduced (4 rows by 2 warps
	// take 0.98 of the time of 4 rows by 4 warps, the geometric mean of the eight of 768 columns, 0.96 to 1.00 of each).
	oneRow = 0.015
	// wideRows is how much longer it takes where a block's rows are more than wideBlock bytes of memory, of more than the L2 holds (8 KB a block take 1.01 to 1.03 of the time of 4 KB).
	wideRows, wideBlock = 0.015, 6 << 10
	// manyOfRows is manyElements of such rows, whose lanes have no more than there is: two rows of 768 are 48 elements of each lane of a warp.
	manyOfRows = 48
)

// short is rows of which blocks reduce each whole: the place of the axis that counts them, and the bytes of one.
type short struct {
	rows  int
	bytes int64
}

// findShort finds such rows; nil where there are none.
func (m *model) findShort() *short {
	if m.contracts || !m.target.IsGPU() {
		return nil
	}
	var found *short
	for _, s := range m.ops {
		if s.op.Code.Row().Group != lang.GroupReduce {
			continue
		}
		if len(s.op.Over) != 1 || len(s.axes) != 2 || len(s.loops) > 0 {
			return nil
		}
		along := m.place[s.op.Over[0]]
		rows := s.axes[0] + s.axes[1] - along // the other of the two
		if m.f.Axes[along].Kind != ir.Whole || m.f.Axes[rows].Kind != ir.Grid || found != nil && found.rows != rows {
			return nil
		}
		for _, l := range m.ops {
			if l.op.Code != lang.OpLoad || !slices.Contains(l.axes, rows) {
				continue
			}
			if v := innermost(l.op); v != nil && len(v.Type.Axes) == 1 && v.Type.Axes[0] == s.op.Over[0] {
				bytes := m.size[along] * int64(l.op.Tensor.DType.Bits()) / 8
				if bytes > shortRow {
					return nil
				}
				if found == nil {
					found = &short{rows: rows}
				}
				found.bytes = max(found.bytes, bytes)
			}
		}
	}
	return found
}

// longFunctions reports a function of each element of a row that takes many instructions, as the exponential of f32 does: 48 of each lane, written once for whole blocks and once for the last,
// take the assembler 340 ms, 24 half of that.
func (c at) longFunctions() bool {
	return slices.ContainsFunc(c.ops, func(s step) bool {
		return s.op.Code.Row().Elementwise && len(s.axes) > 1 && c.weight(s.op) > coarseWeight
	})
}

// shortRows is how much longer a launch takes for how its blocks have short rows, as a factor, that moves so many bytes.
func (c at) shortRows(moved float64) float64 {
	if c.short == nil {
		return 1
	}
	more := 1.0
	if c.extent[c.short.rows] < 2*int64(c.warps) {
		more += oneRow
	}
	if c.extent[c.short.rows]*c.short.bytes > wideBlock && moved > float64(c.target.L2Size) {
		more += wideRows
	}
	return more
}
