package plan

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
)

// This file plans products of windows, as convolutions are, whose steps have several taps: a block then has each element of a window once (block.Window).

// ofWindow is a product whose steps may have several taps of a window.
type ofWindow struct {
	op *ir.Op
	*block.Window
}

// windowOf is the window that steps of a product may have; nil where they cannot.
func (m *model) windowOf(op *ir.Op) *block.Window {
	for _, w := range m.windowed {
		if w.op == op {
			return w.Window
		}
	}
	return nil
}

// window is how many rows the window has in which an operand of a product, given by its argument, lies in a step of several taps; 0 where steps have one, or where warpgroups cannot read it so.
func (c at) window(op *ir.Op) (rows int64, arg int) {
	if !c.hasTaps() {
		return 0, 0
	}
	w := c.windowOf(op)
	if w == nil {
		return 0, 0
	}
	n, ok := w.Fits(c.extentOf, c.columnsOf(op) == w.Arg, c.warps)
	if !ok {
		return 0, 0
	}
	return int64(n), w.Arg
}

func (c at) extentOf(a *ir.Axis) int { return int(c.extent[c.place[a]]) }

// hasTaps reports steps of several taps of windows.
func (c at) hasTaps() bool {
	for _, i := range c.taps {
		if c.extent[i] > 1 {
			return true
		}
	}
	return false
}

// inWindow is which part of the elements that the taps of a product read a step has, each of which it has once: of what a load brings, 1 for others.
func (c at) inWindow(load *ir.Op) float64 {
	if !c.hasTaps() {
		return 1
	}
	for _, w := range c.windowed {
		if rows, _ := c.window(w.op); rows > 0 && w.Loads(load) && c.byWarpgroups(w.op) {
			read := int64(1)
			for i, a := range w.Places {
				if read *= c.extent[c.place[a]]; w.Taps[i] != nil {
					read *= c.extent[c.place[w.Taps[i]]]
				}
			}
			return float64(rows) / float64(read)
		}
	}
	return 1
}

// readTogether is from how many blocks on that read the same the L2 brings it at the higher rate. (An H200, 3x3 of f32 of 10 x 112 x 112 x 128 to 128 channels, 128 places in steps of three taps: by 64
// channels, so that two blocks have the same places, 134 us, for which the higher rate would take 98 and the lower one 133.)
const readTogether = 4

// readAlone is by how much longer the L2 takes for what a load brings of a window of which few blocks have the same.
func (c at) readAlone(s step) float64 {
	if !c.inSteps(s.op) {
		return 1
	}
	same := int64(1)
	for i, a := range c.f.Axes {
		if a.Kind == ir.Grid && !slices.Contains(s.axes, i) {
			same *= c.along(i)
		}
	}
	if same >= readTogether {
		return 1
	}
	return c.target.L2Boxes / c.target.L2
}

// inSteps reports a load of a window of which steps have several taps.
func (c at) inSteps(load *ir.Op) bool {
	if !c.hasTaps() {
		return false
	}
	for _, w := range c.windowed {
		if rows, _ := c.window(w.op); rows > 0 && w.Loads(load) {
			return true
		}
	}
	return false
}

// besideOthers is the part of a time for which blocks wait that is not hidden behind what the L2 and the main memory bring: while a multiprocessor waits, they serve others (an H200, 3x3 of
// f32 of 10 x 224 x 224 x 64 to 64 channels, 256 places in steps of three taps, two teams: 125 us, of which the L2 takes 124, the products 87, and a block would wait for 34).
func (c at) besideOthers(e *estimate, busy, waits float64) float64 {
	for _, w := range c.windowed {
		if rows, _ := c.window(w.op); rows > 0 {
			return max(max(e.compute, e.shared, e.issue)+waits-busy, 0)
		}
	}
	return waits
}

// fewPlaces is with how many places of a window the search for blocks of it begins.
const fewPlaces = 128

// severalTaps goes on from steps that have all taps of a window, with blocks whose rows warpgroups can read of one: eight positions along its first axis, and eight and more along the next.
func (s *search) severalTaps(ks []knob) {
	if s.best.e == nil {
		return
	}
	before := *s
	all := ks
	for _, w := range s.windowed {
		rows, taps := w.Places, w.Taps
		ks := s.mostlyThere(all, w.Window)
		for several := 1; several < 1<<len(rows); several++ {
			at := slices.Clone(s.best.c.extent)
			fits := true
			set := func(a *ir.Axis, v int64) {
				i := slices.IndexFunc(ks, func(k knob) bool { return k.axes[0] == s.place[a] })
				if i < 0 || !slices.Contains(ks[i].values, v) {
					fits = fits && at[s.place[a]] == v
					return
				}
				ks[i].set(at, v)
			}
			for n, tap := range taps {
				switch {
				case tap == nil:
					fits = fits && several>>n&1 == 0
				case several>>n&1 == 1:
					set(tap, s.size[s.place[tap]])
				default:
					set(tap, 1)
				}
			}
			left := int64(fewPlaces)
			for n, a := range rows {
				v := at[s.place[a]]
				if n < 2 {
					v = block.RowsOfGroup
				}
				v = min(v, left)
				set(a, v)
				left /= v
			}
			if fits {
				s.descend(ks, at, s.visit(at))
			}
		}
	}
	if s.best.e.time > float64(before.best.e.time*worthTwo) {
		*s = before // what is a hair faster is no choice
	}
}

// mostlyThere is the space of blocks that have few images, where a plan is for as few as half of those that there are (mostUnsure): so few that of all numbers that there may be a twentieth at
// most is computed for nothing.
func (m *model) mostlyThere(ks []knob, w *block.Window) []knob {
	const eighth = 8
	few := slices.Clone(ks)
	for i, k := range ks {
		at := k.axes[0]
		a := m.f.Axes[at]
		if n := slices.Index(w.Places, a); n >= 0 && w.Taps[n] == nil && a.Kind == ir.Grid && a.Dim != nil && !a.Dim.Known() && m.size[at] <= mostUnsure {
			few[i].values = slices.DeleteFunc(slices.Clone(k.values), func(v int64) bool { return v > 1 && v > m.size[at]/eighth && a.Dim.Multiple()%v != 0 })
		}
	}
	return few
}
