package ptx

import (
	"slices"
	"sort"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// This file emits reduce and scan, which combine by a function in the order of
// the positions. A layout's digits on the axis say how: positions that differ in
// the digit of least stride are neighbours, so combining along the digits in the
// order of their strides keeps the order, whatever the layout. A digit of the
// register number is combined in the thread, one of the lane number by shuffles,
// one of the warp number through shared memory. At each moment the positions are
// in blocks of equal size, each of which has a total that all its threads hold;
// a digit joins blocks to larger ones.
//
// Where the axis has fewer positions than the layout, the last are missing: a
// block exists when its first position does, and one that does not is left out.
// So the identity has no part in it.

// level is where the digits of a layout are.
type level uint8

const (
	inThread level = iota
	inWarp
	inBlock
)

// joint is one digit along the axis.
type joint struct {
	level level
	layout.Digit
}

// joints are the digits of a layout along an axis, in the order of their strides.
func joints(l layout.Layout, a *ir.Axis) []joint {
	var out []joint
	for at, ds := range [][]layout.Digit{inThread: l.Reg, inWarp: l.Lane, inBlock: l.Warp} {
		for _, d := range ds {
			if d.Axis == a && d.Size > 1 {
				out = append(out, joint{level(at), d})
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Stride < out[j].Stride })
	return out
}

// combining is the state of a reduce or a scan.
type combining struct {
	*kernel
	op      *ir.Op
	axis    *ir.Axis
	reverse bool
	types   []lang.DType
	// now is the layout of the totals: the digits that are done hold nothing any more, or copies.
	now layout.Layout
	// totals is, by register of now, the total of a block.
	totals [][]asm.Reg
	// Of a scan: values is, by register of the operands' layout, what the positions
	// of the block up to there give; block is the register of now with the block.
	values [][]asm.Reg
	block  []int
}

func (k *kernel) newCombining(op *ir.Op, l layout.Layout) *combining {
	c := &combining{kernel: k, op: op, axis: op.Over[0], reverse: op.Reverse, now: l}
	c.totals = make([][]asm.Reg, l.Regs())
	for _, v := range op.Operands() {
		c.types = append(c.types, v.Type.DType)
		regs := k.get(v, l.Slice(v.Type.Axes))
		for r := range c.totals {
			c.totals[r] = append(c.totals[r], regs[l.Project(r, v.Type.Axes)])
		}
	}
	return c
}

// reduceBy emits a reduce.
func (k *kernel) reduceBy(op *ir.Op) {
	l := k.CombineLayout(op)
	c := k.newCombining(op, l)
	for _, s := range joints(l, c.axis) {
		c.join(s, true)
	}
	out := l.Slice(ir.Without(op.Combined(), op.Over))
	for i, v := range op.Results {
		regs := make([]asm.Reg, out.Regs())
		for r := range regs {
			regs[r] = c.totals[r][i]
			if c.axis.Kind == ir.Whole && c.axis.Len == 0 {
				regs[r] = k.scalar(op.Identity()[i])
			}
		}
		k.hold(v, out, regs)
		if len(v.Type.Axes) == 0 {
			continue
		}
		if _, same := out.Permutation(k.Homes[v], v.Type.Axes); !same {
			k.get(v, k.Homes[v])
		}
	}
}

// scan emits a scan.
func (k *kernel) scan(op *ir.Op) {
	l := k.CombineLayout(op)
	c := k.newCombining(op, l)
	c.values = slices.Clone(c.totals)
	for r := range c.values {
		c.block = append(c.block, r)
	}
	along := joints(l, c.axis)
	for i, s := range along {
		c.join(s, i < len(along)-1)
	}
	for i, v := range op.Results {
		regs := make([]asm.Reg, l.Regs())
		for r := range regs {
			regs[r] = c.values[r][i]
		}
		k.hold(v, l, regs)
	}
}

// join combines along one digit. The totals of the larger blocks are wanted by further digits, and by a reduce.
func (c *combining) join(s joint, wanted bool) {
	switch s.level {
	case inThread:
		c.joinRegisters(s.Digit)
	case inWarp:
		c.joinLanes(s.Digit, wanted)
	case inBlock:
		c.joinWarps(s.Digit, wanted)
	}
}

// apply emits the function: x is of the earlier elements (of the later ones in a reversed scan), y of those that follow.
func (c *combining) apply(x, y []asm.Reg) []asm.Reg { return c.function(c.op, x, y) }

// function emits the function of a reduce, a scan or a join on one element.
func (k *kernel) function(of *ir.Op, x, y []asm.Reg) []asm.Reg {
	fn := of.Fn
	values := map[*ir.Value]asm.Reg{}
	for i, p := range fn.Params {
		switch n := len(x); {
		case i < n:
			values[p] = x[i]
		case i < 2*n:
			values[p] = y[i-n]
		default:
			values[p] = k.scalar(of.Using()[i-2*n])
		}
	}
	for _, op := range fn.Ops {
		r := op.Result()
		if op.Code == lang.OpConst {
			values[r] = k.recompute(op, layout.Uniform(k.Warps))[0]
			continue
		}
		args := make([]asm.Reg, len(op.Args))
		for i, v := range op.Args {
			args[i] = values[v]
		}
		values[r] = k.apply(op, args)
	}
	out := make([]asm.Reg, len(fn.Yield))
	for i, y := range fn.Yield {
		out[i] = values[y]
	}
	return out
}

// choose gives x where p holds and y elsewhere.
func (c *combining) choose(p asm.Reg, x, y []asm.Reg) []asm.Reg {
	out := make([]asm.Reg, len(x))
	for i := range x {
		out[i] = c.selected(p, x[i], y[i])
	}
	return out
}

// begins is the predicate that the block of a register of now, moved by some
// positions, exists; no register when it does for sure. A thread may ask for a
// block that other threads have: then beyond is how far those reach that none has.
func (c *combining) begins(r, by, beyond int) asm.Reg {
	a := c.axis
	at := c.now.RegCoord(r, a)
	if c.partial(a) {
		left := c.left(c.now, a)
		return c.a.Calc(asm.Pred, "setp.gt.s32", left, asm.Int(at+by))
	}
	if layout.Reach(a, c.now.Lane, c.now.Warp)-1+at+beyond < int(a.Extent) {
		return asm.Reg{}
	}
	t := c.threadCoord(c.now, a)
	if n, ok := t.(asm.Int); ok {
		if int(n)+at+by < int(a.Extent) {
			return asm.Reg{}
		}
		return c.a.Calc(asm.Pred, "mov.pred", asm.Int(0))
	}
	return c.a.Calc(asm.Pred, "setp.lt.s32", t, asm.Int(int(a.Extent)-at-by))
}

// without removes the register digit on the axis of a stride from now. It gives the
// registers of now by the register that takes their place and the count of the digit.
func (c *combining) without(d layout.Digit) [][]int {
	inner := 1
	for i, g := range c.now.Reg {
		if g != d {
			inner *= g.Size
			continue
		}
		n := c.now.Regs() / d.Size
		groups := make([][]int, n)
		for r := range groups {
			for q := range d.Size {
				groups[r] = append(groups[r], (r/inner*d.Size+q)*inner+r%inner)
			}
		}
		c.now.Reg = slices.Delete(slices.Clone(c.now.Reg), i, i+1)
		return groups
	}
	return nil
}

// joinRegisters combines blocks that one thread holds.
func (c *combining) joinRegisters(d layout.Digit) {
	before := *c
	groups := c.without(d)
	totals := make([][]asm.Reg, len(groups))
	place := map[int]int{} // of a register of before
	for r, group := range groups {
		if c.reverse {
			slices.Reverse(group)
		}
		for _, from := range group {
			place[from] = r
		}
		if c.values == nil {
			totals[r] = before.tree(group)
		} else {
			totals[r] = before.run(group, c.values)
		}
	}
	for r, b := range c.block {
		c.block[r] = place[b]
	}
	c.totals = totals
}

// tree combines totals pair by pair.
func (c *combining) tree(group []int) []asm.Reg {
	xs := make([][]asm.Reg, len(group))
	for i, r := range group {
		xs[i] = c.totals[r]
	}
	for len(xs) > 1 {
		var next [][]asm.Reg
		var first []int
		for i := 0; i < len(xs); i += 2 {
			x := xs[i]
			if i+1 < len(xs) {
				x = c.choose(c.begins(group[i+1], 0, 0), c.apply(xs[i], xs[i+1]), xs[i])
			}
			next, first = append(next, x), append(first, group[i])
		}
		xs, group = next, first
	}
	return xs[0]
}

// run combines each block of a group with the totals of those before it, and gives the total of all.
func (c *combining) run(group []int, values [][]asm.Reg) []asm.Reg {
	total := c.totals[group[0]]
	for i, r := range group[1:] {
		exists := asm.Reg{} // whether anything is before: from the front, what is missing comes last
		if c.reverse {
			exists = c.begins(group[i], 0, 0)
		}
		var joined []asm.Reg
		for v, b := range c.block {
			if b != r {
				continue
			}
			same := slices.Equal(values[v], c.totals[r])
			values[v] = c.choose(exists, c.apply(total, values[v]), values[v])
			if same {
				joined = values[v]
			}
		}
		if joined == nil {
			joined = c.choose(exists, c.apply(total, c.totals[r]), c.totals[r])
		}
		total = joined
	}
	return total
}

// count is a digit's count in the thread that runs.
func (c *combining) count(d layout.Digit, thread asm.Reg, bit, limit int) asm.Reg {
	x := thread
	if bit > 1 {
		shift := 0
		for 1<<shift < bit {
			shift++
		}
		x = c.a.Calc(asm.B32, "shr.u32", x, asm.Int(shift))
	}
	if bit*d.Size < limit {
		x = c.a.Calc(asm.B32, "and.b32", x, asm.Int(d.Size-1))
	}
	return x
}

// joinLanes combines blocks that lanes of one warp hold.
func (c *combining) joinLanes(d layout.Digit, wanted bool) {
	bit, at := 1, 0
	for c.now.Lane[at] != d {
		bit *= c.now.Lane[at].Size
		at++
	}
	lane := c.a.Calc(asm.B32, "and.b32", c.tid, asm.Int(layout.Lanes-1))
	mask := (d.Size - 1) * bit
	if c.values == nil {
		for n := 1; n < d.Size; n *= 2 {
			for r, x := range c.totals {
				y := c.shuffled(x, "down", asm.Int(n*bit), 31)
				c.totals[r] = c.choose(c.begins(r, n*d.Stride, 0), c.apply(x, y), x)
			}
		}
		// The first lane of each run has the total.
		first := c.a.Calc(asm.B32, "and.b32", lane, asm.Int((layout.Lanes-1)&^mask))
		for r, x := range c.totals {
			c.totals[r] = c.shuffled(x, "idx", first, 31)
		}
		c.now.Lane = slices.Clone(c.now.Lane)
		c.now.Lane[at] = layout.Digit{Size: d.Size}
		return
	}
	here := c.count(d, lane, bit, layout.Lanes)
	// before gives what a lane n counts before this one holds, and whether there is one.
	before := func(r int, x []asm.Reg, n int) ([]asm.Reg, asm.Reg) {
		if !c.reverse {
			return c.shuffled(x, "up", asm.Int(n*bit), 0), c.a.Calc(asm.Pred, "setp.ge.u32", here, asm.Int(n))
		}
		has := c.a.Calc(asm.Pred, "setp.lt.u32", here, asm.Int(d.Size-n))
		return c.shuffled(x, "down", asm.Int(n*bit), 31), c.both(has, c.begins(r, n*d.Stride, 0))
	}
	for r, x := range c.totals {
		for n := 1; n < d.Size; n *= 2 {
			y, has := before(r, x, n)
			x = c.choose(has, c.apply(y, x), x)
		}
		var y []asm.Reg
		var has asm.Reg
		for v, b := range c.block {
			switch {
			case b != r:
				continue
			case slices.Equal(c.values[v], c.totals[r]):
				c.values[v] = x
				continue
			case y == nil:
				y, has = before(r, x, 1)
			}
			c.values[v] = c.choose(has, c.apply(y, c.values[v]), c.values[v])
		}
		c.totals[r] = x
	}
	if wanted {
		last := c.a.Calc(asm.B32, "or.b32", lane, asm.Int(mask))
		if c.reverse {
			last = c.a.Calc(asm.B32, "and.b32", lane, asm.Int((layout.Lanes-1)&^mask))
		}
		for r, x := range c.totals {
			c.totals[r] = c.shuffled(x, "idx", last, 31)
		}
	}
	c.now.Lane = slices.Clone(c.now.Lane)
	c.now.Lane[at] = layout.Digit{Size: d.Size}
}

// shuffled exchanges elements among lanes: `up` and `down` by a number of lanes, `idx` with a lane.
func (c *combining) shuffled(xs []asm.Reg, mode string, by asm.Number, clamp int) []asm.Reg {
	out := make([]asm.Reg, len(xs))
	for i, x := range xs {
		out[i] = c.exchange(x, mode, by, clamp)
	}
	return out
}

// joinWarps combines blocks that warps hold: each writes its totals, each reads all.
func (c *combining) joinWarps(d layout.Digit, wanted bool) {
	bit, at := 1, 0
	for c.now.Warp[at] != d {
		bit *= c.now.Warp[at].Size
		at++
	}
	parts := c.gather(d, at)
	c.now.Warp = slices.Clone(c.now.Warp)
	c.now.Warp[at] = layout.Digit{Size: d.Size}
	warp := c.a.Calc(asm.B32, "shr.u32", c.tid, asm.Int(5))
	here := c.count(d, warp, bit, c.Warps)
	for r := range c.totals {
		order := make([]int, d.Size)
		for q := range order {
			order[q] = q
		}
		if c.reverse {
			slices.Reverse(order)
		}
		total := parts[order[0]][r]
		prefix := total
		for i, q := range order[1:] {
			// What exists comes first: from the front, whether there is more; from the back, whether there was any.
			exists := asm.Reg{}
			switch {
			case c.reverse:
				exists = c.begins(r, order[i]*d.Stride, order[i]*d.Stride)
			case c.values == nil:
				exists = c.begins(r, q*d.Stride, q*d.Stride)
			}
			if c.values != nil {
				mine := c.a.Calc(asm.Pred, "setp.eq.u32", here, asm.Int(q))
				prefix = c.choose(mine, total, prefix)
			}
			if i == d.Size-2 && !wanted {
				break
			}
			otherwise := total
			if c.reverse {
				otherwise = parts[q][r]
			}
			total = c.choose(exists, c.apply(total, parts[q][r]), otherwise)
		}
		c.totals[r] = total
		if c.values == nil {
			continue
		}
		has := c.a.Calc(asm.Pred, "setp.ne.u32", here, asm.Int(order[0]))
		if c.reverse { // what comes before is the block behind this one
			next := c.a.Calc(asm.B32, "mad.lo.s32", here, asm.Int(d.Stride), asm.Int(d.Stride))
			has = c.both(has, c.beginsAt(r, next))
		}
		for v, b := range c.block {
			if b == r {
				c.values[v] = c.choose(has, c.apply(prefix, c.values[v]), c.values[v])
			}
		}
	}
}

// beginsAt is begins, moved by a number of positions in a register.
func (c *combining) beginsAt(r int, by asm.Reg) asm.Reg {
	a := c.axis
	at := c.a.Add(by, asm.Int(c.now.RegCoord(r, a)))
	if c.partial(a) {
		left := c.left(c.now, a)
		return c.a.Calc(asm.Pred, "setp.gt.s32", left, at)
	}
	sum := c.threadCoord(c.now, a)
	return c.a.Calc(asm.Pred, "setp.lt.s32", c.a.Register(c.a.Add(at, sum)), asm.Int(a.Extent))
}

// gather gives the totals of all warps along a digit, by its count and by register.
func (c *combining) gather(d layout.Digit, at int) [][][]asm.Reg {
	part := &ir.Axis{Name: "part", Kind: ir.Whole, Len: int64(d.Size), Extent: int64(d.Size)}
	rest := &ir.Axis{Name: "rest", Kind: ir.Whole} // the blocks that this digit leaves apart
	swap := func(ds []layout.Digit) []layout.Digit {
		out := slices.Clone(ds)
		for i, g := range out {
			switch {
			case g == d:
				out[i] = layout.Digit{Axis: part, Stride: 1, Size: d.Size}
			case g.Axis == c.axis:
				out[i] = layout.Digit{Axis: rest, Stride: g.Stride / (d.Stride * d.Size), Size: g.Size}
			}
		}
		return out
	}
	from := layout.Layout{Reg: swap(c.now.Reg), Lane: swap(c.now.Lane), Warp: swap(c.now.Warp)}
	to := layout.Layout{Reg: append([]layout.Digit{{Axis: part, Stride: 1, Size: d.Size}}, from.Reg...), Lane: from.Lane, Warp: slices.Clone(from.Warp)}
	to.Warp[at] = layout.Digit{Size: d.Size}
	axes, ext := []*ir.Axis{part}, []int{d.Size}
	for _, a := range append(ir.Without(c.op.Combined(), c.op.Over), rest) {
		n := from.Physical(a)
		if a == rest {
			if n == 1 {
				continue
			}
			rest.Len, rest.Extent = int64(n), int64(n)
		}
		axes, ext = append(axes, a), append(ext, n)
	}
	out := make([][][]asm.Reg, d.Size)
	for q := range out {
		out[q] = make([][]asm.Reg, len(c.totals))
	}
	var tiles []*sharedTile
	for i, e := range c.types {
		t := newShared(e, axes, ext, false)
		t.buffer = c.allocate(t.Bytes(), "combining "+block.ValueName(c.op.Results[0])+" over warps")
		xs := make([]asm.Reg, len(c.totals))
		for r, x := range c.totals {
			xs[r] = x[i]
		}
		c.write(t, c.op.Results[i], from, xs, nil)
		tiles = append(tiles, t)
	}
	for _, t := range tiles {
		got := c.fetchTile(t, to)
		for r := range c.totals {
			for q := range out {
				out[q][r] = append(out[q][r], got[r*d.Size+q])
			}
		}
	}
	c.release(tiles[0].buffer)
	return out
}
