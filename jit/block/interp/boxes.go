package interp

import (
	"fmt"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
)

// This file copies boxes, rows and neighbours: what a producer brings, what stores take away, and what lies in shared memory beside.

// loaded is a load outside of loops that the producer does.
type loaded struct {
	empty, full *phases
	slot        *slot
}

// besideTile is a load beside a product.
type besideTile struct {
	*block.Beside
	room *room
	at   int
}

// keptTensor is a tensor in shared memory.
type keptTensor struct {
	room *room
	// writers are the threads that have stored elements, and how often their warps had met the others then.
	writers map[int64][2]int
}

// element is an element of the tile, by the coordinates of a cell.
func (x *besideTile) element(v *ir.Value, coords [][]int32, i int) ir.Const {
	row, column := x.Tile.Place(func(a *ir.Axis) int { return int(coords[slices.Index(v.Type.Axes, a)][i]) })
	return x.room.get(x.at+x.Tile.Offset(row, column), x.Tile.DType)
}

// askBeside begins the loads beside a product.
func (w *warp) askBeside() {
	var group []func()
	for _, b := range w.p().Beside {
		name := "what is brought beside the product for " + block.ValueName(b.Load.Result())
		at, size := w.arena.Take(b.Tile.Bytes() * w.p().Teams())
		x := &besideTile{b, w.block.memory.roomFor(b, name, at, size), w.team.n * b.Tile.Bytes()}
		w.beside[b.Load] = x
		group = append(group, w.copyThreads(b.Load, b.Tile, b.Layout, b.Vector, x.room, x.at, "the copies of "+name))
	}
	if len(group) > 0 {
		w.groups = append(w.groups, group)
	}
}

// bringOperands begins the copies of operands that come with those of a loop's first step.
func (w *warp) bringOperands() {
	first := &w.groups[len(w.groups)-1]
	for _, b := range w.p().Brought {
		name := "what is brought for " + block.ValueName(b.Load.Result())
		at, size := w.arena.Take(b.Tile.Bytes())
		x := &besideTile{b, w.block.memory.roomFor(b, name, at, size), 0}
		w.beside[b.Load] = x
		*first = append(*first, w.copyThreads(b.Load, b.Tile, b.Layout, b.Vector, x.room, 0, "the copies of "+name))
	}
}

// awaitBeside waits for them.
func (w *warp) awaitBeside() {
	if len(w.p().Beside) == 0 {
		return
	}
	for _, group := range w.groups {
		for _, land := range group {
			land()
		}
	}
	w.groups = nil
	w.meet("have what was brought beside", nil)
}

// readLoads are the loads outside of a loop that the products of the loop read.
func (w *warp) readLoads(r *ring) (ops []*ir.Op) {
	for _, op := range w.p().Func.Body.Ops {
		if w.p().Loads[op] == nil {
			continue
		}
		for _, u := range w.p().Uses[op.Result()] {
			if slices.Contains(r.Op.Blocks[0].Ops, u.Op) {
				ops = append(ops, op)
				break
			}
		}
	}
	return ops
}

// askLoads gives the loads that a loop's products read their places, and lets the producer begin.
func (w *warp) askLoads(r *ring) {
	for _, op := range w.readLoads(r) {
		x, t := w.block.loads[op], w.p().Loads[op].Tile
		name := block.ValueName(op.Result())
		at, size := w.arena.Take(t.Bytes())
		to := w.block.memory.roomFor(op, "the load of "+name, at, size)
		if x.slot == nil {
			x.slot = newSlot(to, "the load of "+name, 0)
			to.slots = []*slot{x.slot}
		}
		x.empty.arrive()
		w.sched().yield()
	}
}

// produceLoads is what the producer does for the loads outside of a loop.
func (w *warp) produceLoads(loop *ir.Op) {
	for _, op := range w.readLoads(w.block.rings[loop]) {
		x, load := w.block.loads[op], w.p().Loads[op]
		w.sched().wait("room for the load of "+block.ValueName(op.Result()), func() bool { return x.empty.over(0) })
		x.slot.begin(w, 0, 0)
		x.full.arrive()
		x.full.expected += load.Tile.Bytes()
		x.full.begun += load.Tile.Bytes()
		x.full.land = append(x.full.land, w.copyBoxes(op.Tensor, load.Box, load.Tile, x.slot, 0, 1))
	}
}

// produceLoop is what the producer does for the steps of a loop.
func (w *warp) produceLoop(r *ring) {
	w.sched().wait("places for the stages", func() bool { // which are constants of the code
		return w.p().Tiles == nil || !slices.ContainsFunc(w.block.c.blocks, func(b *blockState) bool { return len(b.rings[r.Op].slots[0]) == 0 })
	})
	lo, hi := w.span(r.Op)
	for at := lo; at < hi; at += r.Op.Axis.Extent {
		w.enter(r.Op.Axis, at, min(at+r.Op.Axis.Extent, hi))
		seq, stage := w.stage(r, 0)
		for _, a := range r.Schedule.Producer {
			switch a.Do {
			case block.AwaitRoom:
				round := seq / r.Stages
				if w.p().Tiles != nil {
					round-- // all stages are empty at first
				}
				empty := r.empty[a.Set][stage]
				w.sched().wait(fmt.Sprintf("stage %d of the loop over %s to be given back", stage, r.Op.Axis.Name), func() bool { return round < 0 || empty.over(round) })
			case block.StartCopies:
				w.startBoxes(r, a.Set, stage, seq, at)
			default:
				failf("the schedule of the producer of the loop over %s has %s", r.Op.Axis.Name, a)
			}
		}
		w.at[r]++
	}
	delete(w.axes, r.Op.Axis)
}

// startBoxes starts the copies of a set to a stage, of what two blocks share half, for both.
func (w *warp) startBoxes(r *ring, set, stage, seq int, at int64) {
	mine := r.full[set][stage]
	mine.arrive()
	for _, i := range r.Sets()[set] {
		c := &r.Copies[i]
		mine.expected += c.Tile.Filled()
		if !c.Shared {
			s := r.slot(i, stage)
			s.begin(w, at, seq)
			mine.begun += c.Tile.Filled()
			mine.land = append(mine.land, w.copyBoxes(c.Load.Tensor, c.Box, c.Tile, s, 0, 1))
			continue
		}
		for _, b := range w.block.c.blocks {
			other := b.rings[r.Op]
			s, full := other.slot(i, stage), other.full[set][stage]
			s.begin(w, at, seq)
			full.begun += c.Tile.Bytes() / 2
			full.land = append(full.land, w.copyBoxes(c.Load.Tensor, c.Box, c.Tile, s, w.block.rank, 2))
		}
	}
}

// slot is a stage of a copy, which has to have a place.
func (r *ring) slot(i, stage int) *slot {
	if len(r.slots[i]) == 0 {
		failf("copies begin to a stage of %s, which has no place yet", block.ValueName(r.Copies[i].Load.Result()))
	}
	return r.slots[i][stage]
}

// boxPlace is where a box begins along a dimension of its tensor.
func (w *warp) boxPlace(d block.DimAccess) int64 {
	sum := d.Affine.Offset
	for _, t := range d.Affine.Terms {
		sum += w.axis(t.Axis).start
	}
	for _, s := range d.Affine.Scalars {
		sum += s.Coef * w.anewScalar(s.Value)
	}
	return sum
}

// boxElement is an element of the boxes that fill a tile: where it is in the tensor, until the next one is visited, and at which byte of
// shared memory.
type boxElement struct {
	at     []int64
	offset int
}

// eachBox goes over the elements of the boxes of a tile, in the order in which they lie: panel by panel, in rows whose chunks are permuted
// by the number that the address has of rows. Of parts only the part of the rows.
func (w *warp) eachBox(b *block.Box, t *block.Tile, base, part, parts int, visit func(boxElement)) {
	m, size := b.Map, t.DType.Size()
	first := make([]int64, len(b.Dims))
	for i, d := range b.Dims {
		first[i] = w.boxPlace(d) / int64(b.Unit(i))
	}
	width := m.Swizzle
	rows := 1
	for _, n := range m.Box[1:] {
		rows *= n
	}
	skip := part * m.Box[min(1, len(m.Box)-1)]
	if parts == 1 {
		skip = 0
	}
	for panel := range t.RowBytes() / width {
		to := base + panel*t.Panels*t.Width() + skip*width
		for row := range rows {
			at := slices.Clone(first)
			rest := row
			for n, i := range m.Order[1:] {
				at[i] += int64(rest % m.Box[n+1])
				rest /= m.Box[n+1]
			}
			if parts > 1 {
				at[m.Order[1]] += int64(skip)
			}
			begin := at[m.Order[0]] + int64(panel*width/size)
			for column := range m.Box[0] {
				at[m.Order[0]] = begin + int64(column)
				address := to + row*width + column*size
				chunks := width / 16
				turn := address / 128 % 8 & (chunks - 1)
				visit(boxElement{at, address ^ turn<<4})
			}
		}
	}
}

// copyBoxes says that a tile is on its way to a slot, and gives what brings it. What is beyond the tensor comes as 0.
func (w *warp) copyBoxes(tensor *ir.Tensor, b *block.Box, t *block.Tile, s *slot, part, parts int) func() {
	data := w.block.tensor(tensor)
	type element struct {
		offset, part int
		c            ir.Const
	}
	var all []element
	inByte := 1
	if d := b.Map.Tensor.DType; d.Packed() {
		inByte = 8 / d.Bits()
	}
	w.eachBox(b, t, s.room.at+s.at, part, parts, func(x boxElement) {
		inner := b.Map.Order[0]
		at := slices.Clone(x.at)
		for part := range inByte {
			e := element{offset: x.offset - s.room.at, part: part}
			at[inner] = x.at[inner]*int64(inByte) + int64(part)
			if place, inside := data.place(at); inside {
				e.c = data.get(place)
				if b.Map.TF32 {
					e.c.Float = tf32(e.c.Float)
				}
			}
			s.room.take(e.offset, t.DType.Size(), "the copies of "+s.name)
			all = append(all, e)
		}
	})
	return func() {
		for _, e := range all {
			s.room.putIn(t, e.offset, e.part, e.c)
		}
	}
}

// storeBoxes stores a tile through shared memory, in parts.
func (w *warp) storeBoxes(op *ir.Op, s *block.BoxStore) {
	v := op.Stored()
	t, home := s.Tile, w.p().Homes[v]
	mark := w.arena.Top
	size := t.Bytes() / s.Parts
	at, taken := w.arena.Take(size)
	name := "storing " + block.ValueName(v)
	to := w.block.memory.roomFor([2]any{op, w.team.n}, name, at, taken)
	cells := w.late(op, v, home)
	coords, index := w.block.l.spreadOf(home, v.Type.Axes).of(w)
	exists := w.masked(home, v.Type.Axes)
	data := w.block.tensor(op.Tensor)
	for part := range s.Parts {
		w.meet("store to "+op.Tensor.Name, nil)
		for i := range index {
			coord := func(a *ir.Axis) int { return int(coords[slices.Index(v.Type.Axes, a)][i]) }
			if index[i] < 0 || s.PartOf(coord(t.Contiguous())) != part {
				continue
			}
			if !cells[i].ok && exists[i] {
				failf("%s stores an element that no thread has", block.ValueName(v))
			}
			row, column := t.Place(coord)
			to.put(t.Offset(row, column)-part*size, t.DType, cells[i].Const)
		}
		w.meet("have stored to shared memory for "+op.Tensor.Name, nil)
		if s.Lines != nil {
			w.storeLines(op, s, part, func(offset int) ir.Const { return to.get(offset-part*size, t.DType) })
			continue
		}
		if w.n > 0 {
			continue
		}
		base := to.at - part*size
		w.eachBox(s.Box, t, base, 0, 1, func(x boxElement) {
			offset := x.offset - to.at
			place, inside := data.place(x.at)
			if offset < 0 || offset >= size || !inside {
				return
			}
			data.put(place, to.get(offset, t.DType))
		})
	}
	w.meet("have stored to "+op.Tensor.Name, nil)
	w.arena.Top = mark
}

// keepTensors gives the tensors that are in shared memory their places.
func (w *warp) keepTensors() {
	for _, t := range w.p().Func.Tensors {
		if t.Shared {
			at, size := w.arena.Take(w.p().KeptBytes(t))
			x := w.block.memory.roomFor(t, t.Name, at, size)
			if w.block.kept[t] == nil {
				w.block.kept[t] = &keptTensor{x, map[int64][2]int{}}
			}
		}
	}
}

// keep stores an element in shared memory, and keptAt loads it: one that another warp has stored not before the two have met.
func (b *blockState) keep(w *warp, t *ir.Tensor, n int64, c ir.Const) {
	x := b.kept[t]
	n += w.lead()
	x.writers[n] = [2]int{w.n, w.epoch}
	x.room.put(int(n)*t.Held().Size(), t.DType.WholeBytes(), c)
}

func (b *blockState) keptAt(w *warp, t *ir.Tensor, n int64) ir.Const {
	x := b.kept[t]
	n += w.lead()
	if by, ok := x.writers[n]; ok && by[0] != w.n && by[1] >= w.epoch {
		failf("warp %d loads an element of %s that warp %d has stored, and the two have not met since", w.n, t.Name, by[0])
	}
	return x.room.get(int(n)*t.Held().Size(), t.DType.WholeBytes())
}

// storeLines stores what a warp brings from shared memory of a part of a tile, given what lies at an offset of the tile.
func (w *warp) storeLines(op *ir.Op, s *block.BoxStore, part int, at func(offset int) ir.Const) {
	axes, data := op.Stored().Type.Axes, w.block.tensor(op.Tensor)
	coords, _ := w.block.l.spreadOf(*s.Lines, axes).of(w)
	w.each(op, *s.Lines, op.AccessAxes(), func(i int, n int64) {
		coord := func(a *ir.Axis) int { return int(coords[slices.Index(axes, a)][i]) }
		if n >= 0 && s.PartOf(coord(s.Tile.Contiguous())) == part {
			data.put(n, at(s.Tile.Offset(s.Tile.Place(coord))))
		}
	})
}
