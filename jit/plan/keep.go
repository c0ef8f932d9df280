package plan

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// This file reckons with the pass `keep`: rows that loops go through again are in shared memory, where they fit.

// besideRows is shared memory that is left for what is not kept of rows: reductions, and tiles that are put in order.
const besideRows = 8 << 10

// longRow is from how many positions on a row goes through a block of 16 warps in fewer steps.
const longRow = 1 << 14

// RowRoom is how many bytes of rows a block of the plan may keep in shared memory.
func (p *Plan) RowRoom(t target.Machine) int64 { return max(t.SharedShare(p.Occupancy)-besideRows, 0) }

// kept gives the loads of rows that are kept, and how many bytes a block keeps.
func (c at) kept() (loads map[*ir.Op]bool, bytes int64) {
	t := &c.target
	if !t.IsGPU() || c.contracts || c.sharing() > 1 || c.forms["kept"] == 1 {
		return nil, 0
	}
	type row struct {
		op     *ir.Op
		passes int
		bytes  int64
	}
	var rows []row
	for _, s := range c.ops {
		if s.op.Code != lang.OpLoad || !s.op.Tensor.ReadOnly() || s.op.Tensor.DType.Packed() || len(s.loops) > 0 {
			continue
		}
		r := row{op: s.op, bytes: int64(s.op.Tensor.DType.Size())}
		streamed, long := 0, false // shorter rows are in registers
		for _, i := range s.axes {
			if c.streamed(i) {
				streamed++
				long = c.size[i] > easyTile
				r.passes = c.passes[s.op][i]
				r.bytes = times(r.bytes, c.size[i])
			} else {
				r.bytes = times(r.bytes, c.extent[i])
			}
		}
		if streamed == 1 && r.passes > 1 && long {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return b.passes - a.passes })
	room := t.SharedShare(c.occupancy) - besideRows
	for _, r := range rows {
		if r.bytes <= room-bytes {
			if loads == nil {
				loads = map[*ir.Op]bool{}
			}
			loads[r.op] = true
			bytes += r.bytes
		}
	}
	return loads, bytes
}

// rowWarps is how many warps of a multiprocessor cover what others wait for as they go through rows in shared memory.
const rowWarps = 16

// uncovered is the time that threads wait for what they compute of rows that are kept, and for one another, where a multiprocessor has fewer
// warps than cover that: nothing else runs there, as the rows take its shared memory. On an H200, rows of 50,304 and 50,257 columns of f32 with
// 8 warps and 16: layernorm 667 us and 615, 758 and 650; of a sum 1318 and 1225, 1648 and 1546.
func (c at) uncovered(computing, warps float64) float64 {
	return computing * (max(rowWarps/warps, 1) - 1)
}

// hasLongRows reports an axis that only loops go through, of rows that may be kept.
func (m *model) hasLongRows() bool {
	for i, a := range m.f.Axes {
		if a.Kind == ir.Whole && a.Len > longRow && m.streamable[i] && !m.contracts {
			return true
		}
	}
	return false
}
