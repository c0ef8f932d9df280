package interp

import (
	"math"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file multiplies. A warp computes the elements of the result that it holds, from operands of which it has the rows and columns
// in its fragments, or that lie in a slot of a ring. A product by wgmma reads its slots at any time until it has been waited for: here as
// late as it can.

// operands are where the operands of a product come from.
type operands struct {
	// sides are those of rows and columns.
	sides [2]operand
}

// operand is one of them: in a slot of shared memory, or in registers.
type operand struct {
	value *ir.Value
	slot  *slot
	tile  *block.Tile
	// cells are all elements that the warp has at hand, by number, where the operand is in registers.
	cells []cell
	// factor is what a product's function makes of an element at a place; nil where there is no function.
	factor func(x ir.Const, at func(*ir.Axis) int) ir.Const
}

// pending is a product that is under way.
type pending struct {
	name   string
	done   bool
	finish func()
}

// operandsOf makes the operands of a product ready that come from registers; those in slots are found when it starts.
func (w *warp) operandsOf(c *block.Product) *operands {
	x := &operands{}
	for i, arg := range []int{c.A, c.B} {
		v := c.Op.Args[arg]
		o := operand{value: v}
		if arg == c.A && c.Op.Fn != nil {
			o.factor = w.factors(c)
		}
		if w.ringOf(v) == nil && w.block.loads[v.Def] == nil {
			o.cells = w.fragments(c, arg)
		}
		x.sides[i] = o
	}
	return x
}

// factors computes what a product's function makes of elements: 0 of those that do not exist along the depth.
func (w *warp) factors(c *block.Product) func(ir.Const, func(*ir.Axis) int) ir.Const {
	using := c.Op.Using()
	all := make([][]cell, len(using))
	for i, v := range using {
		l := c.FragmentLayout(c.A).Slice(v.Type.Axes)
		cells := w.get(v, l)
		if v.Type.IsScalar() {
			all[i] = cells[:1]
			continue
		}
		_, index := w.block.l.spreadOf(l, v.Type.Axes).of(w)
		all[i] = make([]cell, block.Volume(v.Type.Axes))
		for n, e := range index {
			if e >= 0 {
				all[i][e] = cells[n]
			}
		}
	}
	left := map[*ir.Axis]int64{}
	for _, a := range c.Op.Over {
		st := w.axis(a)
		left[a] = st.end - st.start
	}
	return func(x ir.Const, at func(*ir.Axis) int) ir.Const {
		for a, n := range left {
			if int64(at(a)) >= n {
				return ir.Const{}
			}
		}
		args := []cell{{x, true}}
		for i, v := range using {
			e := 0
			for _, a := range v.Type.Axes {
				e = e*max(int(a.Extent), 1) + at(a)
			}
			args = append(args, all[i][e])
		}
		return function(c.Op.Fn, args)[0].Const
	}
}

// find finds the slots that a product of the step at a position reads, so many steps behind the one that runs.
func (w *warp) find(c *block.Product, x *operands, step int, at int64) {
	for i := range x.sides {
		o := &x.sides[i]
		if o.cells != nil {
			continue
		}
		what := block.ValueName(c.Op.Result())
		if load := w.block.loads[o.value.Def]; load != nil {
			if load.slot == nil {
				failf("%s reads the load of %s, which nobody has asked for", what, block.ValueName(o.value))
			}
			o.slot, o.tile = load.slot, w.p().Loads[o.value.Def].Tile
			o.slot.readable(w, 0, what)
			continue
		}
		r := w.ringOf(o.value)
		n := slices.IndexFunc(r.Copies, func(c block.Copy) bool { return c.Load == o.value.Def })
		_, stage := w.stage(r, step)
		o.slot, o.tile = r.slots[n][stage], r.Copies[n].Tile
		if r.Overlap == nil {
			at = w.running[r.Op]
		}
		o.slot.readable(w, at, what)
	}
}

// ringOf is the ring that has the copies of a value's load.
func (w *warp) ringOf(v *ir.Value) *ring {
	for _, r := range w.block.rings {
		if slices.ContainsFunc(r.Copies, func(c block.Copy) bool { return c.Load == v.Def }) {
			return r
		}
	}
	return nil
}

// fragments are the elements of an operand that the warp has in registers, by number. Elements that do not exist are 0.
func (w *warp) fragments(c *block.Product, arg int) []cell {
	v := c.Op.Args[arg]
	if c.MMA == nil {
		return zeroed(w.dense(v))
	}
	l := c.FragmentLayout(arg)
	cells := w.get(v, l)
	_, index := w.block.l.spreadOf(l, v.Type.Axes).of(w)
	exists := w.masked(l, v.Type.Axes)
	out := make([]cell, block.Volume(v.Type.Axes))
	for i, e := range index {
		switch {
		case e < 0:
		case !exists[i]:
			out[e] = cell{ok: true}
		default:
			out[e] = cells[i]
		}
	}
	return out
}

func zeroed(cells []cell) []cell {
	for i := range cells {
		if !cells[i].ok {
			cells[i] = cell{ok: true}
		}
	}
	return cells
}

// contract executes a product where it stands.
func (w *warp) contract(op *ir.Op) {
	c := w.p().Products[op]
	x := w.operandsOf(c)
	w.find(c, x, 0, 0)
	var acc []cell
	d := op.Args[0].Type.DType.Accumulator()
	if op.Code == lang.OpMma {
		if v := op.Args[2]; len(w.values[v]) == 1 && w.values[v][0].by != nil {
			acc = w.values[v][0].cells // of a product under way, to which this adds
		} else {
			acc = slices.Clone(w.get(v, c.Result))
			if from := op.Result().Type.DType; from != d {
				for i := range acc {
					acc[i].Const = eval.Cast(acc[i].Const, from, d)
				}
			}
		}
	}
	out := w.startProduct(c, x, acc)
	switch {
	case c.Overlapped != nil:
		w.awaitProducts(len(c.Overlapped))
		w.values[op.Result()] = []held{out}
		return
	case c.Wgmma:
		w.awaitProducts(0)
	}
	cells := out.cells
	l := c.Result
	if c.Parts > 1 {
		cells, l = w.joinDepth(c, cells), c.Joined
	}
	if to := op.Result().Type.DType; to != d {
		for i := range cells {
			cells[i].Const = eval.Cast(cells[i].Const, d, to)
		}
	}
	w.result(op.Result(), l, cells)
}

// startProduct starts a product, which adds to acc, nil for nothing. By wgmma its elements are there when it has been waited for.
func (w *warp) startProduct(c *block.Product, x *operands, acc []cell) held {
	op := c.Op
	name := block.ValueName(op.Result())
	regs := c.Result.Regs() * layout.Lanes
	if op.Result().Type.IsScalar() {
		regs = 1
	}
	out := held{layout: c.Result, cells: make([]cell, regs)}
	if op.Result().Type.IsScalar() {
		out.cells = make([]cell, layout.Lanes)
	}
	if acc == nil {
		acc = make([]cell, len(out.cells))
		for i := range acc {
			acc[i].ok = true
		}
	}
	p := &pending{name: name}
	for _, o := range x.sides {
		if o.slot != nil {
			o.slot.readers[p] = true
		}
	}
	p.finish = func() {
		w.multiply(c, x, acc, out.cells)
		for _, o := range x.sides {
			if o.slot != nil {
				delete(o.slot.readers, p)
			}
		}
		p.done = true
	}
	if !c.Wgmma {
		p.finish()
		return out
	}
	out.by = p
	w.products = append(w.products, p)
	return out
}

// awaitProducts waits for all products but so many.
func (w *warp) awaitProducts(but int) {
	for len(w.products) > but {
		w.products[0].finish()
		w.products = w.products[1:]
	}
}

// multiply computes the elements of a product's result that the warp holds.
func (w *warp) multiply(c *block.Product, x *operands, acc, out []cell) {
	op := c.Op
	axes, what := op.Result().Type.Axes, block.ValueName(op.Result())
	coords, index := w.block.l.spreadOf(c.Result, axes).of(w)
	depth := w.depthOf(c)
	sum, one, round := op.Args[0].Type.DType.Accumulator(), int64(1), func(f float64) float64 { return f }
	if c.MMA != nil {
		one = int64(c.MMA.Depth)
		if c.MMA.Elements[0] == lang.F32 && c.MMA.Terms == 1 {
			round = tf32
		}
	}
	var sides [2]side
	for n := range sides {
		sides[n] = side{o: &x.sides[n], axes: axes, coords: coords, over: op.Over, depth: depth, lines: map[int]line{}, float: sum.IsFloat(), round: round, what: what}
		sides[n].begin()
	}
	for i := range out {
		if len(axes) > 0 && index[i] < 0 {
			continue
		}
		rows, columns := sides[0].line(i), sides[1].line(i)
		so := acc[i].Const
		if !sum.IsFloat() {
			for k, x := range rows.ints {
				so.Int += x * columns.ints[k]
			}
			so.Int = eval.Wrap(so.Int, sum)
		} else {
			for k := 0; k < len(rows.floats); k += int(one) { // an instruction rounds its sum
				part, end := 0.0, min(k+int(one), len(rows.floats))
				for n, x := range rows.floats[k:end] {
					part += x * columns.floats[k+n]
				}
				so.Float = eval.Round(so.Float+part, sum)
			}
		}
		out[i] = cell{so, acc[i].ok}
	}
}

// side is the rows or the columns of a product, each of which is read once.
type side struct {
	o      *operand
	axes   []*ir.Axis
	coords [][]int32
	over   []*ir.Axis
	depth  [][]int // the positions along over
	lines  map[int]line
	float  bool
	round  func(float64) float64
	what   string
	// free are the operand's axes that the result has, by their numbers there; deep is what each position along the depth adds to the place of
	// an element, which is linear in its coordinates.
	free []int
	deep []spot
}

// spot is the place of an element: of a tile its row, the byte in it and the part of that, of what is in registers its number alone.
type spot struct{ row, column, part int }

// place is the place of an element of an operand.
func (o *operand) place(coord func(*ir.Axis) int) (at spot) {
	if o.slot != nil {
		at.row, at.column = o.tile.Place(coord)
		at.part = o.tile.Part(coord)
		return at
	}
	for _, a := range o.value.Type.Axes {
		at.row = at.row*int(a.Extent) + coord(a)
	}
	return at
}

// element is the element at a place.
func (o *operand) element(at spot, what string) ir.Const {
	if o.slot != nil {
		return o.slot.room.getIn(o.tile, o.slot.at+o.tile.Offset(at.row, at.column), at.part)
	}
	c := o.cells[at.row]
	if !c.ok {
		failf("%s multiplies an element of %s that the warp does not have", what, block.ValueName(o.value))
	}
	return c.Const
}

func (s *side) begin() {
	for _, a := range s.o.value.Type.Axes {
		if j := slices.Index(s.axes, a); j >= 0 {
			s.free = append(s.free, j)
		}
	}
	for _, at := range s.depth {
		s.deep = append(s.deep, s.o.place(func(a *ir.Axis) int {
			if n := slices.Index(s.over, a); n >= 0 {
				return at[n]
			}
			return 0
		}))
	}
}

// line is the elements of a row or a column along the depth, of one kind or the other.
type line struct {
	floats []float64
	ints   []int64
}

// line is those for cell i of the result.
func (s *side) line(i int) line {
	key := 0
	for _, j := range s.free {
		key = key*int(s.axes[j].Extent) + int(s.coords[j][i])
	}
	if known, ok := s.lines[key]; ok {
		return known
	}
	free := func(a *ir.Axis) int {
		if j := slices.Index(s.axes, a); j >= 0 {
			return int(s.coords[j][i])
		}
		return 0
	}
	first := s.o.place(free)
	var xs line
	for n, at := range s.deep {
		c := s.o.element(spot{first.row + at.row, first.column + at.column, first.part + at.part}, s.what)
		if s.o.factor != nil {
			c = s.o.factor(c, func(a *ir.Axis) int {
				if j := slices.Index(s.over, a); j >= 0 {
					return s.depth[n][j]
				}
				return free(a)
			})
		}
		switch {
		case s.o.factor != nil:
			xs.floats = append(xs.floats, c.Float)
		case s.float && s.o.value.Type.DType.IsInt(): // of a product of two types
			xs.floats = append(xs.floats, float64(c.Int))
		case s.float:
			xs.floats = append(xs.floats, s.round(c.Float))
		default:
			xs.ints = append(xs.ints, c.Int)
		}
	}
	s.lines[key] = xs
	return xs
}

// tf32 rounds an f32 to the 11 bits of precision that tensor cores multiply.
func tf32(f float64) float64 {
	if f == 0 || math.IsInf(f, 0) || f != f {
		return f
	}
	const dropped = 13
	bits := math.Float32bits(float32(f))
	return float64(math.Float32frombits((bits + 1<<(dropped-1)) &^ (1<<dropped - 1)))
}

// depthOf is the positions along the depth that the warp multiplies: all of them, or a part where warps share the depth.
func (w *warp) depthOf(c *block.Product) (all [][]int) {
	over := c.Op.Over
	mine := map[int]bool{}
	if c.Parts > 1 {
		l := c.FragmentLayout(c.A)
		_, index := w.block.l.spreadOf(l, over).of(w)
		for _, e := range index {
			mine[int(e)] = true
		}
	}
	walk(over, func(at func([]*ir.Axis) int) {
		if c.Parts > 1 && !mine[at(over)] {
			return
		}
		place := make([]int, len(over))
		for i, a := range over {
			place[i] = at([]*ir.Axis{a})
		}
		all = append(all, place)
	})
	return all
}

// joinDepth adds up what warps have that share the depth of a product.
func (w *warp) joinDepth(c *block.Product, cells []cell) []cell {
	v := c.Op.Result()
	d := c.Op.Args[0].Type.DType.Accumulator()
	type part struct {
		cells []cell
		first [][]int
	}
	all := w.meet("join the depth of "+block.ValueName(v), part{cells, w.depthOf(c)})
	s := w.block.l.spreadOf(c.Result, v.Type.Axes)
	sums := make([]cell, block.Volume(v.Type.Axes))
	seen := map[[2]int]bool{}
	for n, x := range all {
		theirs := x.(part)
		key := 0
		for i, a := range c.Op.Over {
			key = key*int(a.Extent) + theirs.first[0][i]
		}
		for i, e := range s.index[n] {
			if e < 0 || seen[[2]int{int(e), key}] {
				continue
			}
			seen[[2]int{int(e), key}] = true
			if sums[e].ok {
				sums[e] = combine(lang.OpAdd, d, sums[e], theirs.cells[i])
			} else {
				sums[e] = theirs.cells[i]
			}
		}
	}
	w.meet("joined the depth of "+block.ValueName(v), nil)
	return w.pick(sums, v, c.Joined)
}
