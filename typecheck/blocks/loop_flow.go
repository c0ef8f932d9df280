package blocks

import (
	"math"
	"slices"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file goes through the body of a loop over tiles of an axis, and finds what
// depends on how the axis is cut: what the loop carries out, stores, or does.

// dependence is something that depends on the cut.
type dependence struct {
	at lang.Span
	// says: it is what a print shows or an assert judges.
	says bool
	// infinite: a guard against -inf - -inf is all that is missing.
	infinite bool
	// counts: an effect that comes once for every step, which no extent makes a result of the axis alone.
	counts bool
}

// loopFlow follows values through a loop over the axis.
type loopFlow struct {
	*flow[stepwise]
	axis   *typed.Axis
	along  map[*typed.Axis]stepwise // of the axes of loops inside: what their ranges are
	under  stepwise                 // the condition that decides whether the statement runs
	levels int
	// accessed are the loads and stores inside, by the tensor that the loop writes.
	accessed map[*typed.Param]*accesses
	found    []dependence
}

// stepsDecide gives what depends on the cut of a loop's axis.
func stepsDecide(loop *typed.For) []dependence {
	c := &loopFlow{axis: loop.Axis, along: map[*typed.Axis]stepwise{}, under: allSame, accessed: map[*typed.Param]*accesses{}}
	c.flow = &flow[stepwise]{c, map[*typed.Local]stepwise{}}
	c.gatherAccesses(loop)
	for i, l := range loop.Carried {
		c.of[l] = stepwise{kind: stepCarried, by: ^joins(0), of: l, finite: isFinite(loop.Init[i])}
	}
	results := c.body(loop.Body)
	for i, r := range results {
		l := loop.Carried[i]
		if r.kind == stepSame {
			continue // the last step gives it
		}
		if r.kind != stepCarried || r.of != l || r.factor != nil || !c.unitHolds(r, loop, results) {
			at := r.at
			if r.kind != stepFree {
				at = resultSpan(loop.Body, i)
			}
			c.found = append(c.found, dependence{at: at, infinite: r.infinite})
		}
	}
	return c.found
}

// unitHolds reports a carried sum in the unit of the maximum that the loop carries on.
func (c *loopFlow) unitHolds(r stepwise, loop *typed.For, results []stepwise) bool {
	if r.unit == (unit{}) {
		return true
	}
	i := slices.Index(loop.Carried, r.unit.of)
	return i >= 0 && i < len(results) && results[i].kind == stepCarried && results[i].of == r.unit.of && results[i].level == r.unit.level
}

// resultSpan is where a body says its i-th value.
func resultSpan(b *typed.Body, i int) lang.Span {
	for _, x := range b.Results {
		n := len(x.Types())
		if t, ok := x.(*typed.Tuple); ok && i < len(t.Elems) {
			return t.Elems[i].Span()
		}
		if i < n {
			return x.Span()
		}
		i -= n
	}
	return lang.Span{}
}

// isFinite reports a tile that is a number all over.
func isFinite(x typed.Expr) bool {
	if a, ok := x.(*typed.Apply); ok && a.Op == lang.OpFull && len(a.Args) == 1 {
		x = a.Args[0]
	}
	k, ok := x.(*typed.Const)
	return ok && !math.IsInf(k.Float, 0) && !math.IsNaN(k.Float)
}

// depends notes something that depends on the cut.
func (c *loopFlow) depends(at lang.Span, counts bool) {
	c.found = append(c.found, dependence{at: at, counts: counts})
}

// shows notes a print or an assert of what depends on the cut.
func (c *loopFlow) shows(at lang.Span) {
	c.found = append(c.found, dependence{at: at, says: true})
}

func (c *loopFlow) stmtMeans(s typed.Stmt) bool {
	switch s := s.(type) {
	case *typed.Store:
		c.store(s)
	case *typed.Print: // each step says it
		c.exprs(s.Args)
		c.shows(s.At)
	case *typed.Assert:
		c.assert(s)
	default:
		return false
	}
	return true
}

// assert holds for all positions where it holds for those of every step.
func (c *loopFlow) assert(s *typed.Assert) {
	cond := c.one(s.Cond)
	if whole := cond.still() || cond.kind == stepReduced && cond.by&byAnd != 0; !whole || !c.under.still() {
		c.shows(s.Cond.Span())
	}
	for _, a := range c.exprs(s.Args) {
		if !a.still() {
			c.shows(s.At)
			return
		}
	}
}

// store notes a store or an atomic that does not do the same however the axis is cut.
func (c *loopFlow) store(s *typed.Store) {
	value := c.one(s.Value)
	if s.New != nil {
		value = spread(s.At, value, c.one(s.New))
	}
	where := spread(s.At, append(c.exprs(s.Indices), c.under)...)
	t := c.accessed[s.Param]
	along := slices.ContainsFunc(s.Indices, func(x typed.Expr) bool { return typed.HasAxis(x.Types()[0].Axes, c.axis) })
	apart := t.index != nil // positions of the axis are elements apart
	join := joinOf[s.Op.Combines()]
	if s.Old != nil {
		c.of[s.Old] = spread(s.At, eachPosition, c.one(s.Else))
		if !along {
			c.of[s.Old] = free(s.At)
		}
	}
	switch {
	case !where.still():
		c.depends(s.At, join != 0)
	case join != 0 && t.plain && !apart:
		c.depends(s.At, false)
	case join != 0 && along:
		if !value.still() {
			c.depends(s.Value.Span(), false)
		}
	case join != 0:
		if once := value.kind == stepReduced || value.kind == stepSame; !once || value.unit != (unit{}) || value.by&join == 0 {
			c.depends(s.Value.Span(), where.kind == stepSame && value.kind != stepEach)
		}
	case !value.still():
		c.depends(s.Value.Span(), false)
	case apart:
	case t.count == 1 && s.Op == lang.OpStore && where.kind == stepSame && value.kind == stepSame: // the same again
	case t.count == 1 && along && onlyOver(s, c.axis): // in the order of positions
	default:
		c.depends(s.At, s.Op != lang.OpStore)
	}
}

// onlyOver reports a store whose indices are over no other axis, so that the last position along it wins.
func onlyOver(s *typed.Store, a *typed.Axis) bool {
	for _, x := range s.Indices {
		if len(typed.WithoutAxes(x.Types()[0].Axes, []*typed.Axis{a})) > 0 {
			return false
		}
	}
	return true
}

func (c *loopFlow) dependent(at lang.Span, on []stepwise) stepwise { return spread(at, on...) }

func (c *loopFlow) ofType(of stepwise, t typed.Type) stepwise {
	if of.kind == stepSame && typed.HasAxis(t.Axes, c.axis) {
		return eachPosition
	}
	return of
}

func (c *loopFlow) exprMeans(x typed.Expr) ([]stepwise, bool) {
	switch x := x.(type) {
	case *typed.Const:
		return alike(x, allZero), x.Int == 0 && x.Float == 0
	case *typed.Apply:
		return alike(x, c.apply(x)), true
	case *typed.Combine:
		args := append(c.exprs(x.Args), c.exprs(x.Identity)...)
		if x.Op == lang.OpReduce && onlyOp(x) != lang.OpInvalid {
			return alike(x, c.reduced(x.At, joinOf[onlyOp(x)], x.Over, args...)), true
		}
		args = append(args, c.body(x.Fn)...) // the function may use what is carried
		return alike(x, c.reduced(x.At, 0, x.Over, args...)), true
	case *typed.Load:
		at := spread(x.At, append(c.exprs(x.Indices), c.one(x.Else))...)
		if t := c.accessed[x.Param]; t != nil && t.index == nil {
			at = free(x.At, at)
		}
		return alike(x, at), true
	case *typed.For:
		return c.loop(x), true
	case *typed.If:
		return c.choice(x), true
	default:
		return nil, false
	}
}

// choice is what an if gives; what stands in it runs as its condition says.
func (c *loopFlow) choice(x *typed.If) []stepwise {
	cond := c.one(x.Cond)
	outer := c.under
	c.under = spread(x.Cond.Span(), c.under, cond)
	then, other := c.body(x.Then), c.body(x.Else)
	c.under = outer
	for i := range then {
		switch {
		case i >= len(other):
		case cond.kind == stepSame:
			then[i] = c.either(x.At, then[i], other[i])
		default:
			then[i] = spread(x.At, cond, then[i], other[i])
		}
	}
	return then
}

// loop follows what a loop inside carries, until nothing more is learnt of it.
func (c *loopFlow) loop(x *typed.For) []stepwise {
	bounds := spread(x.At, c.one(x.Lo), c.one(x.Hi))
	outer := c.under
	c.under = spread(x.At, c.under, bounds)
	if x.Axis != nil {
		c.along[x.Axis] = bounds
	}
	if x.Index != nil {
		c.of[x.Index] = bounds
	}
	var init []stepwise
	for _, e := range x.Init {
		init = append(init, c.expr(e)...)
	}
	for i, l := range x.Carried {
		if bounds.kind != stepSame {
			init[i] = spread(x.At, bounds, init[i])
		}
		if was, ok := c.of[l]; ok { // the body of the loop around it is gone through again: what was learnt holds
			init[i] = c.either(x.At, init[i], was)
		}
		c.of[l] = init[i]
	}
	found := len(c.found)
	for changed := true; changed; {
		changed = false
		c.found = c.found[:found]
		for i, of := range c.body(x.Body) {
			was := c.of[x.Carried[i]]
			now := c.either(x.At, was, of)
			if bounds.kind != stepSame {
				now = spread(x.At, bounds, now)
			}
			if changes(was, now) {
				c.of[x.Carried[i]] = now
				changed = true
			}
		}
	}
	c.under = outer
	out := make([]stepwise, len(x.Carried))
	for i, l := range x.Carried {
		out[i] = c.of[l]
	}
	return out
}

// changes reports that more is known of a value than was; levels are new in every round.
func changes(was, now stepwise) bool {
	was.level, now.level, was.at, now.at = 0, 0, lang.Span{}, lang.Span{}
	was.unit.level, now.unit.level = 0, 0
	return was != now
}
