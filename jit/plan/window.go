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
	w := c.windowOf(op)
	if w == nil {
		return 0, 0
	}
	if k := c.known(op); k != nil {
		return k.rows, w.Arg
	}
	return c.findWindow(op), w.Arg
}

func (c at) findWindow(op *ir.Op) int64 {
	w := c.windowOf(op)
	if w == nil || !c.hasTaps() {
		return 0
	}
	n, ok := w.Fits(c.extentOf, c.columnsOf(op) == w.Arg, c.warps)
	if !ok {
		return 0
	}
	return int64(n)
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

// brings is the window that a load brings for steps of several taps, and how many rows it has; nil where it brings none.
func (c at) brings(load *ir.Op) (w *ofWindow, rows int64) {
	if !c.hasTaps() {
		return nil, 0
	}
	for i := range c.windowed {
		if w := &c.windowed[i]; w.Loads(load) {
			if rows, _ := c.window(w.op); rows > 0 && c.byWarpgroups(w.op) {
				return w, rows
			}
		}
	}
	return nil, 0
}

// inWindow is which part of the elements that the taps of a product read a step has, each of which it has once: of what a load brings, 1 for others.
func (c at) inWindow(load *ir.Op) float64 {
	w, rows := c.brings(load)
	if w == nil {
		return 1
	}
	read := int64(1)
	for i, a := range w.Places {
		if read *= c.extent[c.place[a]]; w.Taps[i] != nil {
			read *= c.extent[c.place[w.Taps[i]]]
		}
	}
	return float64(rows) / float64(read)
}

// readTogether is from how many blocks on that read the same the L2 brings it at the higher rate. (An H200, 3x3 of f32 of 10 x 112 x 112 x 128 to 128 channels, 128 places in steps of three taps: by 64
// channels, so that two blocks have the same places, 134 us, for which the higher rate would take 98 and the lower one 133.)
const readTogether = 4

// readAlone is by how much longer the L2 takes for what a load brings of a window of which few blocks have the same.
func (c at) readAlone(s step) float64 {
	if w, _ := c.brings(s.op); w == nil {
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

// besideOthers is the part of a time for which blocks wait that is not hidden behind what the L2 brings: while a multiprocessor waits, it serves others (an H200, 3x3 of
// f32 of 10 x 224 x 224 x 64 to 64 channels, 256 places in steps of three taps, two teams: 125 us; by prediction the L2 takes 124, the products 87, and blocks wait for 34).
func (c at) besideOthers(e *estimate, busy, waits float64) float64 {
	if !c.hasWindow() {
		return waits
	}
	return max(max(e.compute, e.shared, e.issue, e.dram)+waits-busy, 0)
}

// hasWindow reports steps of several taps that have a window.
func (c at) hasWindow() bool {
	if c.hasTaps() {
		for _, w := range c.windowed {
			if rows, _ := c.window(w.op); rows > 0 {
				return true
			}
		}
	}
	return false
}

// worthWindow is what part of the time has to be left, at most, for steps to have several taps (an H200, 3x3 of bf16 of 32 x 14 x 14 x 256 to 256 channels: 15.5 us by single taps, 16.8 in
// windows, for which 0.98 of the time was predicted; of f32 of 10 x 56 x 56 x 256 110 and 113, predicted 0.98).
const worthWindow = 0.96

// severalTaps goes through blocks whose steps have all taps of windows, and goes on from the best of them, by which channels of the result a block has.
func (s *search) severalTaps(ks []knob) {
	if s.best.e == nil {
		return
	}
	for _, w := range s.windowed {
		type seed struct {
			extent  []int64
			reached rank
		}
		best := map[int64]seed{}
		var order []int64
		each(thin(s.ofWindows(ks, &w)), slices.Clone(s.best.c.extent), func(extent []int64) {
			free := int64(1)
			for i := range extent {
				if s.matrix[i] && !slices.Contains(w.Places, s.f.Axes[i]) {
					free *= extent[i]
				}
			}
			r := s.visit(extent)
			if was, found := best[free]; !found || r.before(was.reached) {
				if !found {
					order = append(order, free)
				}
				best[free] = seed{slices.Clone(extent), r}
			}
		})
		for _, free := range order {
			if from := best[free]; from.reached.fits {
				s.descend(ks, from.extent, from.reached)
			}
		}
	}
}

// ofWindows is the space of blocks whose places warpgroups can read of a window, of one image each or two: eight along its first axis and up to four times as many along the next, with all taps of an axis
// or one, and as much of the depth as a row of the window has room for. Axes that are none of the product's stay as they are in the best block: beside other products a launch has too many of them to
// go through.
func (s *search) ofWindows(ks []knob, w *ofWindow) []knob {
	few := slices.Clone(ks)
	extent := slices.Clone(s.best.c.extent)
	for i, k := range ks {
		at := k.axes[0]
		a := s.f.Axes[at]
		kept := func(wanted func(v int64) bool) {
			if values := slices.DeleteFunc(slices.Clone(k.values), func(v int64) bool { return !wanted(v) }); len(values) > 0 {
				few[i].values = values
			}
		}
		switch n := slices.Index(w.Places, a); {
		case !w.op.Args[0].Type.Has(a) && !w.op.Args[1].Type.Has(a): // of other products, and what they are fused with
			few[i].values = []int64{s.best.c.extent[at]}
		case slices.Contains(w.Taps, a):
			kept(func(v int64) bool { return v == 1 || v == s.size[at] })
		case n == 0:
			kept(func(v int64) bool { return v == block.RowsOfGroup })
		case n == 1:
			kept(func(v int64) bool { return block.RowsOfGroup <= v && v <= 4*block.RowsOfGroup })
		case n > 1:
			few[i].values = k.values[:min(2, len(k.values))]
		case s.contracted[at]:
			kept(func(v int64) bool {
				k.set(extent, v)
				bytes := w.RowBytes(func(a *ir.Axis) int { return int(extent[s.place[a]]) })
				return bytes == block.PanelBytes/2 || bytes == block.PanelBytes
			})
		}
	}
	return few
}

// mostImages is how many images a block has at most of windows, where a plan is for as few as half of those that there are (mostUnsure) and nothing says how many a block has: so few that of
// all numbers that there may be a twentieth at most is computed for nothing.
func (m *model) mostImages(ks []knob) map[int]int64 {
	const eighth = 8
	most := map[int]int64{}
	for _, w := range m.windowed {
		for n, a := range w.Places {
			i := m.place[a]
			if w.Taps[n] != nil || a.Kind != ir.Grid || a.Dim == nil || a.Dim.Known() || m.size[i] > mostUnsure {
				continue
			}
			if k := slices.IndexFunc(ks, func(k knob) bool { return k.axes[0] == i }); k >= 0 && len(ks[k].values) > 1 {
				most[i] = max(m.size[i]/eighth, 1)
			}
		}
	}
	return most
}

// tooManyImages reports a block of more images than that, of which there may not be as many.
func (s *search) tooManyImages(c at) bool {
	for i, most := range s.images {
		if c.extent[i] > most && c.f.Axes[i].Dim.Multiple()%c.extent[i] != 0 {
			return true
		}
	}
	return false
}
