package cpu

import (
	"math"
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// liveness says which operations are needed and how long each value is.
type liveness struct {
	// live has the operations that an effect depends on.
	live map[*ir.Op]bool
	// lazy has the loads that the contraction that uses them reads in place.
	lazy map[*ir.Op]bool
	// pos numbers the operations in the order in which they run; done is the
	// number after an operation's blocks.
	pos, done map[*ir.Op]int
	// last is the number of the operation that reads a value last.
	last map[*ir.Value]int
	// depth gives the regions that enclose a value's definition, outermost first.
	depth map[*ir.Value][]*ir.Op
	uses  map[*ir.Value][]*ir.Op
	// writes are the numbers of the operations that write a tensor.
	writes map[*ir.Tensor][]int
	// order is the operations of each block as they run; groupOf the groups among them.
	order   map[*ir.Block][]*ir.Op
	groupOf map[*ir.Op]*group
}

func (c *compiler) analyse() {
	l := &liveness{live: map[*ir.Op]bool{}, lazy: map[*ir.Op]bool{}, pos: map[*ir.Op]int{}, done: map[*ir.Op]int{},
		last: map[*ir.Value]int{}, depth: map[*ir.Value][]*ir.Op{}, uses: map[*ir.Value][]*ir.Op{}, writes: map[*ir.Tensor][]int{},
		order: map[*ir.Block][]*ir.Op{}, groupOf: map[*ir.Op]*group{}}
	c.liveness = l
	at := 0
	l.visit(c.f.Body, nil, &at)
	l.findLazy()
	l.mark(c.f.Body)
	l.findLast(c.f.Body, nil)
	for _, s := range c.f.Scalars {
		l.last[s] = math.MaxInt
	}
	c.f.Walk(func(op *ir.Op) bool {
		if c.constant(op) {
			l.last[op.Result()] = math.MaxInt
		}
		return true
	})
}

// isAlias reports an operation whose result is its operand's buffer: a rename,
// and a conversion to a wider float that is held the same way.
func (l *liveness) isAlias(op *ir.Op) bool {
	switch op.Code {
	case lang.OpRename:
		return true
	case lang.OpCast:
		from, to := op.Args[0].Type.DType, op.Result().Type.DType
		return from == to || narrowFloat(from) && to == lang.F32
	}
	return false
}

// root is the value whose buffer v has.
func (l *liveness) root(v *ir.Value) *ir.Value {
	for v.Def != nil && l.isAlias(v.Def) {
		v = v.Def.Args[0]
	}
	return v
}

// visit numbers the operations and notes where values are defined and used.
func (l *liveness) visit(b *ir.Block, inside []*ir.Op, at *int) {
	for _, p := range b.Params {
		l.depth[p] = inside
	}
	for _, op := range l.schedule(b) {
		*at++
		l.pos[op] = *at
		if op.Tensor != nil && op.Code != lang.OpLoad {
			l.writes[op.Tensor] = append(l.writes[op.Tensor], *at)
		}
		for _, r := range op.Results {
			l.depth[r] = inside
		}
		if !l.isAlias(op) {
			for _, a := range op.Args {
				r := l.root(a)
				l.uses[r] = append(l.uses[r], op)
			}
		}
		for _, inner := range op.Blocks {
			l.visit(inner, append(inside[:len(inside):len(inside)], op), at)
			for _, y := range inner.Yield {
				r := l.root(y)
				l.uses[r] = append(l.uses[r], op)
			}
			*at++
		}
		l.done[op] = *at
	}
}

// findLazy finds the loads that only one contraction uses, beside which they
// stand, and that it can read from the tensor instead: nothing is read past the
// end, gathered, packed, or written in between.
func (l *liveness) findLazy() {
	for v, uses := range l.uses {
		op := v.Def
		if op == nil || op.Code != lang.OpLoad || op.Else() != nil || op.Tensor.DType.Packed() || len(uses) != 1 {
			continue
		}
		user := uses[0]
		if user.Code.Row().Group != lang.GroupContract || user.Code == lang.OpMma && l.root(user.Args[2]) == v || !sameRegion(l.depth[v], l.regionOf(user)) {
			continue
		}
		plain := !l.writtenBetween(op, user)
		for _, p := range positionsOf(op) {
			plain = plain && p.tile == nil && p.by == 0
		}
		if plain {
			l.lazy[op] = true
		}
	}
}

// writtenBetween reports a load whose tensor an operation writes before that of a user has run.
func (l *liveness) writtenBetween(load, user *ir.Op) bool {
	return slices.ContainsFunc(l.writes[load.Tensor], func(at int) bool { return at > l.pos[load] && at < l.done[user] })
}

func (l *liveness) regionOf(op *ir.Op) []*ir.Op { return l.depth[op.Results[0]] }

func sameRegion(a, b []*ir.Op) bool {
	return len(a) == len(b) && (len(a) == 0 || a[len(a)-1] == b[len(b)-1])
}

// reads are the values whose buffers an operation reads when it runs, except
// what its blocks read.
func (l *liveness) reads(op *ir.Op) []*ir.Value {
	var vs []*ir.Value
	switch op.Code {
	case lang.OpDot, lang.OpMma:
		for _, a := range op.Args {
			if def := l.root(a).Def; def != nil && l.lazy[def] {
				vs = append(vs, l.reads(def)...)
			} else {
				vs = append(vs, a)
			}
		}
		return vs
	}
	if op.Tensor != nil {
		for _, p := range positionsOf(op) {
			vs = append(vs, p.reads()...)
		}
		return append(vs, op.Args[len(op.Tensor.Shape):]...)
	}
	return op.Args
}

// mark finds the operations that an effect, or a region, depends on.
func (l *liveness) mark(b *ir.Block) {
	for _, op := range l.schedule(b) {
		if e := op.Code.Row().Effect; e == lang.Writes || e == lang.Region {
			l.need(op)
		}
		for _, inner := range op.Blocks {
			l.mark(inner)
			for _, y := range inner.Yield {
				l.needValue(y)
			}
		}
	}
}

func (l *liveness) need(op *ir.Op) {
	if l.live[op] {
		return
	}
	l.live[op] = true
	for _, v := range l.reads(op) {
		l.needValue(v)
	}
}

func (l *liveness) needValue(v *ir.Value) {
	if def := l.root(v).Def; def != nil {
		l.need(def)
	}
}

// findLast finds the last read of each value. A value from outside a loop is
// read until the loop ends.
func (l *liveness) findLast(b *ir.Block, inside []*ir.Op) {
	for _, op := range l.schedule(b) {
		if !l.live[op] {
			continue
		}
		for _, v := range l.reads(op) {
			l.read(v, l.pos[op], inside)
		}
		for _, inner := range op.Blocks {
			within := append(inside[:len(inside):len(inside)], op)
			l.findLast(inner, within)
			for _, y := range inner.Yield {
				l.read(y, l.done[op], within)
			}
		}
	}
}

func (l *liveness) read(v *ir.Value, at int, inside []*ir.Op) {
	v = l.root(v)
	for _, region := range inside[min(len(l.depth[v]), len(inside)):] {
		if region.Code == lang.OpFor {
			at = max(at, l.done[region])
			break
		}
	}
	l.last[v] = max(l.last[v], at)
}
