package block

import (
	"fmt"
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file is the text of the parts of a program. Each part has one function, which goes through its fields in the order of the text; those
// that follow from them are computed where the part is read.

func (t *text) settings() {
	s := &t.Settings
	t.machine(&t.Target)
	named(t, "warps", &s.Warps)
	named(t, "stages", &s.Stages)
	unless(t, "cluster", &s.Cluster, 0)
	unless(t, "private", &s.MostPrivate, 0)
	unless(t, "producer", &s.Producer, 0)
	unless(t, "resident", &s.Resident, 0)
	unless(t, "occupancy", &s.Occupancy, 0)
	unless(t, "persist", &s.Persist, 0)
	unless(t, "wgmma", &s.Wgmma, 0)
	if t.here("forms", len(s.Forms) > 0) {
		t.forms(&s.Forms)
	}
}

// forms are the forms that are asked for, by name.
func (t *text) forms(forms *map[string]int64) {
	type form struct {
		name string
		n    int64
	}
	var all []form
	for _, name := range sortedKeys(*forms) {
		all = append(all, form{name, (*forms)[name]})
	}
	known := map[string]string{}
	for _, name := range lang.Forms() {
		known[name] = name
	}
	list(t, &all, func(f *form) {
		choice(t, "a form", &f.name, known)
		number(t, &f.n)
	})
	if t.reading() {
		*forms = map[string]int64{}
		for _, f := range all {
			(*forms)[f.name] = f.n
		}
	}
}

func (t *text) donation(d *Donation) {
	named(t, "producer", &d.Producer)
	named(t, "consumer", &d.Consumer)
}

func (t *text) goingThrough(x *Tiles) {
	named(t, "blocks", &x.Blocks)
	named(t, "teams", &x.Teams)
	unless(t, "resident", &x.Resident, 0)
	if t.here("along", x.Along != nil) {
		t.axis(&x.Along)
	}
}

func (t *text) longest(x *LongestFirst) {
	t.axis(&x.Axis)
	named(t, "together", &x.Together)
}

// tile is how a tile lies in shared memory, behind its name where this is the first place to name it.
func (t *text) tile(x **Tile) {
	if !t.reading() {
		name, known := t.tiles[*x]
		if !known {
			name = fmt.Sprintf("tile_%d", len(t.tiles))
			t.tiles[*x] = name
		}
		if t.put(name); !known {
			t.shape(*x)
		}
		return
	}
	at := t.r.Here()
	name := t.r.Name()
	if *x = t.byName[name]; *x == nil {
		*x = &Tile{}
		t.shape(*x)
		t.byName[name] = *x
		if why := (*x).wrong(); why != "" {
			t.r.FailAt(at, "%s: %s", name, why)
		}
	}
}

func (t *text) shape(x *Tile) {
	sides := make([]side, len(x.Axes))
	for i, a := range x.Axes {
		sides[i] = side{a, x.Extents[i], x.Span(i), x.Tap(i)}
	}
	spans, taps := false, false
	list(t, &sides, func(s *side) {
		t.axis(&s.axis)
		number(t, &s.extent)
		unless(t, "by", &s.span, 1)
		if t.here("with", s.tap != nil) {
			t.axis(&s.tap)
		}
		spans, taps = spans || s.span > 1, taps || s.tap != nil
	})
	if t.reading() {
		for _, s := range sides {
			x.Axes, x.Extents = append(x.Axes, s.axis), append(x.Extents, s.extent)
			if spans {
				x.Spans = append(x.Spans, s.span)
			}
			if taps {
				x.Taps = append(x.Taps, s.tap)
			}
		}
	}
	t.word("of")
	t.dtype(&x.DType)
	unless(t, "swizzle", &x.Swizzle, 1)
	unless(t, "panels", &x.Panels, 0)
	t.flag("async", &x.Async)
}

// side is a side of a tile.
type side struct {
	axis   *ir.Axis
	extent int
	// span is how many positions have one element.
	span int
	// tap is the axis whose positions are added, nil where none are.
	tap *ir.Axis
}

// wrong says what no tile of shared memory has.
func (t *Tile) wrong() string {
	bytes := t.DType.Size()
	for i, n := range t.Extents {
		if n < 1 || bytes > mostNumber/n || slices.Contains(t.Axes[:i], t.Axes[i]) {
			return fmt.Sprintf("%d positions along %s are too many, none, or counted twice", n, t.Axes[i].Name)
		}
		bytes *= n
	}
	if !slices.Contains([]int{1, 2, 4, 8}, t.Swizzle) {
		return fmt.Sprintf("a swizzle permutes 1, 2, 4 or 8 chunks, not %d", t.Swizzle)
	}
	if t.Panels > 0 && (len(t.Axes) < 2 || t.RowBytes()%t.Width() != 0 || t.Panels != t.Bytes()/t.RowBytes()) {
		return fmt.Sprintf("rows of %d bytes are no panels of %d rows of %d bytes", t.RowBytes(), t.Panels, t.Width())
	}
	return ""
}

// box is how the TMA copies an operation's elements to or from a tile.
func (t *text) box(b *Box, op *ir.Op, tile *Tile) {
	if t.reading() {
		*b = Box{Map: &TensorMap{Tensor: op.Tensor, Swizzle: tile.Width()}, Dims: AccessOf(op)}
		t.later = append(t.later, func() { b.Dims = t.CopiedAccess(op) }) // what products read of it is known then
	}
	t.tensorMap(b.Map)
	t.flag("wiped", &b.Wiped)
}

func (t *text) tensorMap(m *TensorMap) {
	at := t.place()
	if t.reading() {
		m.Name = t.r.Name()
		t.Maps = append(t.Maps, m)
	} else {
		t.put(m.Name)
	}
	sides := make([]extent, len(m.Order))
	for i, d := range m.Order {
		sides[i] = extent{d, m.Box[i]}
	}
	list(t, &sides, func(s *extent) {
		number(t, &s.dim)
		t.punct(":")
		number(t, &s.n)
	})
	t.flag("tf32", &m.TF32)
	if !t.reading() {
		return
	}
	for _, s := range sides {
		if s.dim >= len(m.Tensor.Shape) || slices.Contains(m.Order, s.dim) || s.n < 1 || s.n > mostBox {
			t.r.FailAt(at, "a box has from 1 to %d elements of each dimension of %s, which are numbered from 0", mostBox, ir.TensorName(m.Tensor))
		}
		m.Order, m.Box = append(m.Order, s.dim), append(m.Box, s.n)
	}
	if n := len(m.Tensor.Shape); len(m.Order) != n {
		t.r.FailAt(at, "a box of %d dimensions of %s, which has %d", len(m.Order), ir.TensorName(m.Tensor), n)
	}
}

// extent is how many elements of a dimension a box has.
type extent struct{ dim, n int }

// place is where the next token of what is read stands.
func (t *text) place() (at ir.Place) {
	if t.reading() {
		at = t.r.Here()
	}
	return at
}

// vector is how many neighbours are moved at once.
func (t *text) vector(n *int) {
	at := t.place()
	if named(t, "vector", n); t.reading() && (*n < 1 || *n > mostTogether || *n&(*n-1) != 0) {
		t.r.FailAt(at, "%d neighbours at once: there is a power of two, up to %d", *n, mostTogether)
	}
}

// copy is a load of a step that runs ahead.
func (t *text) copy(c *Copy) {
	t.tile(&c.Tile)
	t.vector(&c.Vector)
	optional(t, "box", &c.Box, func(b *Box) { t.box(b, c.Load, c.Tile) })
	t.flag("shared", &c.Shared)
	if t.reading() {
		c.Layout = t.CopyLayout(c.Tile, c.Vector)
	}
}

func (t *text) boxLoad(x *BoxLoad, op *ir.Op) {
	t.tile(&x.Tile)
	x.Box = t.boxOf(x.Box, op, x.Tile)
}

// boxOf is a box that always is there.
func (t *text) boxOf(b *Box, op *ir.Op, tile *Tile) *Box {
	t.word("box")
	if t.reading() {
		b = &Box{}
	}
	t.box(b, op, tile)
	return b
}

func (t *text) boxStore(s *BoxStore, op *ir.Op) {
	at := t.place()
	t.tile(&s.Tile)
	optional(t, "box", &s.Box, func(b *Box) { t.box(b, op, s.Tile) })
	optional(t, "lines", &s.Lines, func(l *layout.Layout) { t.held(l, s.Tile.Axes) })
	optional(t, "matrices", &s.Matrices, t.layout)
	t.flag("turned", &s.Turned)
	unless(t, "parts", &s.Parts, 1)
	if t.here("within", s.Within != nil) {
		t.axis(&s.Within)
	}
	if t.reading() && (s.Box == nil) == (s.Lines == nil) {
		t.r.FailAt(at, "a store through shared memory goes on by a box or in lines, one of them")
	}
}

func (t *text) constant(c *Constant) {
	at := t.place()
	t.vector(&c.Vector)
	if t.here("tile", c.Tile != nil) {
		t.tile(&c.Tile)
		at := t.place()
		if named(t, "rounds", &c.Rounds); t.reading() && c.Rounds < 1 {
			t.r.FailAt(at, "%d rounds of copies: there is at least one", c.Rounds)
		}
		t.flag("handed", &c.Handed)
	} else {
		t.flag("shared", &c.Shared)
	}
	if !t.reading() {
		return
	}
	c.GroupBytes = c.Vector * c.Load.Tensor.DType.Size()
	if c.Tile != nil {
		c.Layout = t.CopyLayout(c.Tile, c.Vector)
		return
	}
	along := Contiguous(t.Access(c.Load))
	groups, n := t.Homes[c.Load.Result()].Groups(along, c.Vector)
	if n != c.Vector {
		t.r.FailAt(at, "a thread has %d neighbours of %s in a row, not %d", n, ValueName(c.Load.Result()), c.Vector)
	}
	c.Groups = groups
}

func (t *text) besideProduct(b *Beside) {
	t.tile(&b.Tile)
	if t.vector(&b.Vector); t.reading() {
		b.Layout = t.CopyLayout(b.Tile, b.Vector)
	}
}

// ring is a loop whose loads run ahead, and its schedule.
func (t *text) ring(x *Pipeline) {
	at := t.place()
	named(t, "stages", &x.Stages)
	named(t, "ahead", &x.Ahead)
	unless(t, "steps", &x.Steps, 0)
	t.flag("produced", &x.Produced)
	t.flag("overlapped", &x.Overlapped)
	optional(t, "overlap", &x.Overlap, func(o *Overlap) { t.flag("turns", &o.Turns) })
	if t.reading() && x.Stages > mostStages {
		t.r.FailAt(at, "%d stages: a loop has at most %d", x.Stages, mostStages)
	}
	s := &x.Schedule
	t.acts("producer", &s.Producer)
	t.acts("begin", &s.Begin)
	t.acts("first", &s.First)
	t.acts("step", &s.Step)
	t.acts("next", &s.Next)
	t.acts("last", &s.Last)
	t.acts("end", &s.End)
}

// acts are a list of a schedule on a line of its own, which is left out where nothing is done.
func (t *text) acts(word string, acts *[]Act) {
	if !t.rowHere(word, len(*acts) > 0) {
		return
	}
	t.punct(":")
	for i := 0; t.reading() || i < len(*acts); i++ {
		if t.reading() {
			*acts = append(*acts, Act{})
		}
		t.act(acts, i)
		if t.reading() && !t.r.Accept(";") {
			return
		}
		if !t.reading() && i < len(*acts)-1 {
			t.put(";")
		}
	}
}

// act is one of a list of acts.
func (t *text) act(acts *[]Act, i int) {
	a := &(*acts)[i]
	t.verb(&a.Do)
	with := verbs[a.Do].with
	if with&withProduct != 0 {
		t.started(acts, i)
	}
	if with&withSet != 0 {
		number(t, &a.Set)
	}
	if with&withTurn != 0 {
		t.word("at")
		number(t, &a.Turn)
	}
	if t.here("of", a.Step != 0) {
		t.steps(&a.Step)
	}
	unless(t, "but", &a.UnderWay, 0)
	unless(t, "by", &a.By, 0)
}

// steps is a number of steps before (-1) or behind (+1) the one that runs.
func (t *text) steps(n *int) {
	if !t.reading() {
		t.put(fmt.Sprintf("%+d", *n))
		return
	}
	t.r.Accept("+")
	at := t.r.Here()
	x := t.r.Integer()
	if max(x, -x) > mostStages {
		t.r.FailAt(at, "%d steps away: a loop has at most %d stages", x, mostStages)
	}
	*n = int(x)
}

// verb is what an act does, in one word or two.
func (t *text) verb(v *Verb) {
	if !t.reading() {
		t.put(v.String())
		return
	}
	at := t.r.Here()
	name := t.r.Name()
	if t.r.IsWord() && slices.ContainsFunc(verbs[:endStep], func(v verb) bool { return v.name == name+" "+t.r.Next() }) {
		name += " " + t.r.Name()
	}
	i := slices.IndexFunc(verbs[:endStep], func(v verb) bool { return v.name == name })
	if i < 0 {
		t.r.FailAt(at, "%s is nothing that a schedule does", name)
	}
	*v = Verb(i)
}

// started is the product that an act is about, which stands further down.
func (t *text) started(acts *[]Act, i int) {
	if !t.reading() {
		t.put(ir.ValueName((*acts)[i].Product.Op.Result()))
		return
	}
	at := t.r.Here()
	find := t.r.Forward()
	t.later = append(t.later, func() {
		if v := find(); v != nil && t.Products[v.Def] != nil {
			(*acts)[i].Product = t.Products[v.Def]
			return
		}
		t.r.FailAt(at, "the product that begins here is none of the kernel")
	})
}

// instructions are by what a product is computed.
const (
	byThreads = iota
	byWarps
	byWarpgroups
)

// product is how a contraction is computed.
func (t *text) product(c *Product, op *ir.Op) {
	by := byThreads
	switch {
	case c.Wgmma:
		by = byWarpgroups
	case c.MMA != nil:
		by = byWarps
	}
	t.word("by")
	choice(t, "an instruction", &by, map[string]int{"threads": byThreads, "mma": byWarps, "wgmma": byWarpgroups})
	at := t.place()
	if by != byThreads {
		t.word("of")
		t.mma(&c.MMA)
	}
	swapped := c.A == 1
	t.flag("swapped", &swapped)
	t.flag("stepwise", &c.Stepwise)
	t.flag("rows_in_registers", &c.RowsInRegisters)
	unless(t, "groups", &c.Groups, 1)
	unless(t, "passes", &c.Passes, 1)
	unless(t, "parts", &c.Parts, 1)
	unless(t, "chains", &c.Chains, 1)
	digits := by != byThreads
	t.row("rows")
	t.role(&c.M, &c.MBits, &c.MReps, digits)
	t.row("columns")
	t.role(&c.N, &c.NBits, &c.NReps, digits)
	t.row("depth")
	t.role(&c.K, &c.KBits, &c.KReps, digits)
	if t.rowHere("batch", len(c.Batch) > 0) {
		t.role(&c.Batch, new([]layout.Digit), &c.BatchReps, digits)
	}
	if digits {
		t.row("warps")
		t.digits(&c.Warp)
	}
	t.row("operands")
	t.tile(&c.Tiles[0])
	t.punct(",")
	t.tile(&c.Tiles[1])
	if t.reading() {
		c.Op, c.Wgmma, c.A, c.B = op, by == byWarpgroups, 0, 1
		if swapped {
			c.A, c.B = 1, 0
		}
		for _, tile := range c.Tiles {
			if c.Wgmma && tile.Taps != nil {
				c.Window = tile
			}
		}
		if why := t.whole(c); why != "" {
			t.r.FailAt(at, "%s", why)
		}
	}
}

// role is the axes that play a role in a product, and, of instructions of several threads, the digits of one instruction and those of the
// instructions of a warp.
func (t *text) role(axes *[]*ir.Axis, unit, steps *[]layout.Digit, digits bool) {
	t.axes(axes)
	if !digits {
		return
	}
	t.digits(unit)
	if t.here("steps", len(*steps) > 0) {
		t.digits(steps)
	}
}

func (t *text) mma(m **MMA) {
	var rows, columns lang.DType
	if !t.reading() {
		rows, columns = (*m).Elements[0], (*m).Elements[1]
	}
	at := t.place()
	t.dtype(&rows)
	t.punct(",")
	t.dtype(&columns)
	if t.reading() {
		if rows.Bits() < 8 || columns.Bits() < 8 || rows.Size() != columns.Size() || rows == lang.Bool || columns == lang.Bool {
			t.r.FailAt(at, "no instruction multiplies %s and %s", rows, columns)
		}
		*m = newMMA(rows, columns)
	}
	unless(t, "terms", &(*m).Terms, 1)
	t.flag("widened", &(*m).Widened)
}

// whole makes of what was read of a product all that follows from that, and says what is wrong.
func (t *text) whole(c *Product) string {
	axes := slices.Concat(c.M, c.N, c.K, c.Batch)
	if len(axes) != len(c.Op.Result().Type.Axes)+len(c.Op.Over) || len(ir.Without(slices.Concat(c.Op.Result().Type.Axes, c.Op.Over), axes)) > 0 {
		return "each axis of a product plays one role: rows, columns, depth or batch"
	}
	if c.MMA != nil {
		if n := c.MMA.InRegister + 3; len(c.MBits) != 4 || len(c.NBits) != 3 || len(c.KBits) != n {
			return fmt.Sprintf("an instruction has 4 digits of rows, 3 of columns and %d of depth, not %d, %d and %d", n, len(c.MBits), len(c.NBits), len(c.KBits))
		}
		if c.Groups < 1 || c.Parts < 1 || c.Parts > t.Warps {
			return fmt.Sprintf("%d groups of steps, and %d parts of the depth", c.Groups, c.Parts)
		}
		for _, ds := range [][]layout.Digit{c.MReps, c.NReps, c.KReps, c.BatchReps} {
			if count(ds) > mostRegisters/64 {
				return "a warp has too many instructions"
			}
		}
	}
	if c.MMA != nil {
		t.findAcross(c)
		if c.bAcross && len(c.NReps) == 0 {
			return "columns that lie across the depth are read by two tiles at a time"
		}
	}
	t.layOut(c)
	if err := t.verifyProduct(c); err != nil {
		return err.Error()
	}
	return ""
}
