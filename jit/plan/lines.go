package plan

import (
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

// windowed reports a load at sums of positions, as x[h + r, c] is for the r of a window.
func windowed(op *ir.Op) bool {
	return op.Code == lang.OpLoad && slices.ContainsFunc(op.Indices(), func(v *ir.Value) bool { return len(v.Type.Axes) > 1 })
}
