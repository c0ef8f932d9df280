package plan

import (
	"slices"
	"sort"

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

// row is a row that may be kept: what is loaded, or computed of several loads, in so many loops.
type row struct {
	loads  []*ir.Op
	passes int
	bytes  int64
}

// joined are the rows, where they do not all fit with those in one that are needed for a value alone, which is kept in their place. Of blocks with
// several rows the planner does not count on that: those go through each by columns, and fit blocks of one row, of which more is copied.
func (c at) joined(rows []row, room int64) []row {
	bytes := int64(0)
	for _, r := range rows {
		bytes += r.bytes
	}
	several := false
	for i, a := range c.f.Axes {
		several = several || a.Kind == ir.Grid && c.extent[i] > 1
	}
	if bytes <= room || len(rows) < 2 || several {
		return rows
	}
	for _, v := range c.rowValues() {
		one := row{loads: v.loads}
		rest := slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
			if !slices.Contains(v.loads, r.loads[0]) {
				return false
			}
			one.passes = r.passes
			one.bytes = r.bytes / int64(r.loads[0].Tensor.DType.Size()) * int64(v.op.Result().Type.DType.Size())
			return true
		})
		if len(rows)-len(rest) == len(v.loads) {
			rows = append(rest, one)
		}
	}
	return rows
}

// value is what is computed of several loads that nothing else needs.
type value struct {
	op    *ir.Op
	loads []*ir.Op
}

// rowValues finds such values, the last first: of the largest part of the kernel.
func (m *model) rowValues() []value {
	if m.rowValuesFound {
		return m.rowValuesAre
	}
	m.rowValuesFound = true
	uses := map[*ir.Op][]*ir.Op{}
	for _, s := range m.ops {
		for _, v := range s.op.Args {
			if v.Def != nil {
				uses[v.Def] = append(uses[v.Def], s.op)
			}
		}
	}
	for _, s := range slices.Backward(m.ops) {
		if !s.op.Code.Row().Elementwise || len(s.loops) > 0 || len(s.op.Results) != 1 || s.op.Result().Type.IsScalar() {
			continue
		}
		within, v, only := []*ir.Op{s.op}, value{op: s.op}, true
		for i := 0; i < len(within); i++ {
			op := within[i]
			if op.Code == lang.OpLoad {
				v.loads = append(v.loads, op)
			}
			for _, x := range op.Args {
				_, constant := x.IsConst()
				switch d := x.Def; {
				case d == nil || constant || slices.Contains(within, d) || op.Code == lang.OpLoad:
				case d.Code == lang.OpLoad || d.Code.Row().Elementwise:
					within = append(within, d)
				default: // a loop before has reduced it
					only = false
				}
			}
			only = only && (i == 0 || !slices.ContainsFunc(uses[op], func(u *ir.Op) bool { return !slices.Contains(within, u) }))
		}
		if only && len(v.loads) > 1 {
			m.rowValuesAre = append(m.rowValuesAre, v)
		}
	}
	return m.rowValuesAre
}

// kept gives the loads of rows that are kept, and how many bytes a block keeps.
func (c at) kept() (loads map[*ir.Op]bool, bytes int64) {
	t := &c.target
	if !t.IsGPU() || c.contracts || c.forms["kept"] == 1 {
		return nil, 0
	}
	var rows []row
	for _, s := range c.ops {
		if s.op.Code != lang.OpLoad || !s.op.Tensor.ReadOnly() || s.op.Tensor.DType.Packed() || len(s.loops) > 0 {
			continue
		}
		r := row{loads: []*ir.Op{s.op}, bytes: int64(s.op.Tensor.DType.Size())}
		streamed, long := 0, false // shorter rows are in registers
		for _, i := range s.axes {
			if c.streamed(i) {
				streamed++
				long = c.size[i] > easyTile
				r.passes = c.passes[s.op][i]
				r.bytes = times(r.bytes, c.partOf(i))
			} else {
				r.bytes = times(r.bytes, c.extent[i])
			}
		}
		if streamed == 1 && r.passes > 1 && long {
			rows = append(rows, r)
		}
	}
	room := t.SharedShare(c.occupancy) - besideRows
	rows = c.joined(rows, room)
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].passes > rows[j].passes })
	for _, r := range rows {
		if r.bytes <= room-bytes {
			if loads == nil {
				loads = map[*ir.Op]bool{}
			}
			for _, op := range r.loads {
				loads[op] = true
			}
			bytes += r.bytes
		}
	}
	return loads, bytes
}

// rowWarps is how many warps of a multiprocessor cover what others wait for as they go through rows in shared memory.
const rowWarps = 16

// uncovered is the time that threads wait for what they compute of rows of so many bytes that are kept, and for one another, where a multiprocessor has fewer
// warps than cover that: nothing else runs there, as the rows take its shared memory. On an H200, rows of 50,304 and 50,257 columns of f32 with
// 8 warps and 16: layernorm 667 us and 615, 758 and 650; of a sum 1318 and 1225, 1648 and 1546.
func uncovered(rows int64, computing, warps float64) float64 {
	if rows == 0 {
		return 0
	}
	return computing * (max(rowWarps/warps, 1) - 1)
}

// hasLongRows reports rows that may be kept, of one axis or of several that are reduced together, of which loops go through one.
func (m *model) hasLongRows() bool {
	if m.contracts {
		return false
	}
	long := func(axes []*ir.Axis) bool {
		n, walked := int64(1), false
		for _, a := range axes {
			if a.Kind == ir.Whole {
				n, walked = times(n, a.Len), walked || m.streamable[m.place[a]]
			}
		}
		return walked && n > longRow
	}
	for _, a := range m.f.Axes {
		if long([]*ir.Axis{a}) {
			return true
		}
	}
	return slices.ContainsFunc(m.ops, func(s step) bool { return isReduction(s.op) && long(s.op.Over) })
}
