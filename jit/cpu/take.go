package cpu

import (
	"fmt"
	"unsafe"

	"tilec/jit/ir"
	"tilec/lang"
)

// positionTile is where a take reads along one axis: a tile of positions.
type positionTile struct {
	off, axis int  // of the tile; number of the axis that it replaces
	wide      bool // i64
	lo        int  // first position of the axis
	place     int  // of the axis among the source's
	strides   func(fr *frame) [maxRank]int
}

// take compiles indexed moves: each element of the result comes from where the
// positions, and its own place along the axes that stay, say.
func (c *compiler) take(op *ir.Op) func(*frame) {
	x, result := op.Args[0], op.Result()
	to := result.Type.Axes
	axes, source := c.axisNumbers(to), c.axisNumbers(x.Type.Axes)
	size := kindOfDType[result.Type.DType].size()
	m := copier(size)
	dst, src := c.off(result), c.off(x)
	name := fmt.Sprintf("%%%d", x.ID)
	keep := c.stridesAlong(to, x.Type.Axes)
	taken := make([]positionTile, len(op.Axes))
	isTaken := make([]bool, len(x.Type.Axes))
	for i, a := range op.Axes {
		v := op.Taken()[i]
		taken[i] = positionTile{off: c.off(v), wide: v.Type.DType == lang.I64, axis: c.axisNumber(a), lo: int(a.Lo), strides: c.stridesAlong(to, v.Type.Axes)}
		for j, b := range x.Type.Axes {
			if a == b {
				taken[i].place, isTaken[j] = j, true
			}
		}
	}
	// An axis that is taken may come back with the positions: its own stride is theirs to give.
	again := make([]int, 0, len(to))
	for i, a := range to {
		for j, b := range x.Type.Axes {
			if a == b && isTaken[j] {
				again = append(again, i)
			}
		}
	}
	return func(fr *frame) {
		rank := len(axes)
		var n, at [maxRank]int
		total := 1
		for i, a := range axes {
			n[i] = fr.axes[a].n
			total *= n[i]
		}
		if total <= 0 {
			return
		}
		var dense [maxRank]int // strides of the source along its own axes
		for j, s := len(source)-1, 1; j >= 0; j-- {
			dense[j] = s
			s *= fr.axes[source[j]].n
		}
		step := keep(fr)
		for _, i := range again {
			step[i] = 0
		}
		inner := 1 // elements of a run: along the last axis
		if rank > 0 {
			inner = n[rank-1]
		}
		var along [maxRank][maxRank]int // by position tile: strides along the result's axes
		moves := true                   // the positions stay as they are along a run
		for k := range taken {
			along[k] = taken[k].strides(fr)
			moves = moves && (rank == 0 || along[k][rank-1] == 0)
		}
		position := func(k, e int) int {
			t := &taken[k]
			p := fr.integer(t.off, e, t.wide) - t.lo
			if p < 0 || p >= fr.axes[t.axis].n {
				panic(bug(fmt.Sprintf("position %d of %s along an axis of %d from %d on", p+t.lo, name, fr.axes[t.axis].n, t.lo)))
			}
			return p * dense[t.place]
		}
		for out := 0; out < total; out += inner {
			from := 0
			var places [maxRank]int
			for i := range rank - 1 {
				from += at[i] * step[i]
				for k := range taken {
					places[k] += at[i] * along[k][i]
				}
			}
			switch {
			case moves:
				for k := range taken {
					from += position(k, places[k])
				}
				ss := 1
				if rank > 0 {
					ss = step[rank-1]
				}
				m(fr.at(dst+out*size), 1, fr.at(src+from*size), ss, inner)
			default:
				for e := range inner {
					f := from + e*step[rank-1]
					for k := range taken {
						f += position(k, places[k]+e*along[k][rank-1])
					}
					m(fr.at(dst+(out+e)*size), 1, unsafe.Pointer(fr.at(src+f*size)), 1, 1)
				}
			}
			for i := rank - 2; i >= 0; i-- {
				if at[i]++; at[i] < n[i] {
					break
				}
				at[i] = 0
			}
		}
	}
}
