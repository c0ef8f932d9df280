package blocks

import (
	"slices"
	"sort"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file proves that no two blocks write one element, and that none reads an
// inout element that another writes. Two blocks differ in the position of some
// grid axis. So it is enough that, for every grid axis g, some index is
// c * g + rest on both sides, where the rests differ by less than c: then blocks
// at different positions of g use different elements. What is left to prove for the
// next axis is about blocks at the same position of g: in `y[n * G + g]`, n is
// told apart because g is less than G, and then g because n is the same. Two
// stores may also be told apart by where they write, as `y[i]` and `y[N + i]`.

// races checks every pair of accesses of which one writes: families first, and the members of those that meet.
func (b *Facts) races() {
	c := &comparison{Facts: b, two: b.twoBlocks(), left: MaxPairs, before: b.log.Found}
	writes, stores := familiesOf(b.Writes)
	for i := range stores {
		c.families(stores[i:i+1], stores[:i+1])
	}
	for i, w := range b.Writes {
		for j := 0; len(writes[i].meets) > 0 && j <= i && c.left >= 0; j++ {
			if other := b.Writes[i-j]; writes[i].meets[writes[i-j]] { // itself first
				if g := c.meet(w, w.area(), other.area()); g != nil {
					b.reportRace(w, other, g, j == 0)
					break
				}
			}
		}
	}
	reads, loads := familiesOf(b.Reads)
	c.families(loads, stores)
	for i, r := range b.Reads {
		for j, w := range b.Writes {
			if len(reads[i].meets) == 0 || c.left < 0 {
				break
			}
			if !reads[i].meets[writes[j]] {
				continue
			}
			if g := c.meet(r, r.area(), w.area()); g != nil {
				b.Errorf(lang.ErrInoutRead, r.At, "the block reads elements of %s that a block at another position of %s may write", r.Param.Name, g.Name).
					LabelAt(w.At, "written here").LabelAt(g.At, "blocks are told apart by %s", g.Name).
					Help("read an inout tensor only at the elements that the block itself stores, or that no block does")
				break
			}
		}
	}
}

func (b *Facts) reportRace(w, other Access, g *typed.Axis, itself bool) {
	if !itself {
		b.Errorf(lang.ErrRace, w.At, "blocks at different positions of %s would write the same element of %s, here and in another store", g.Name, w.Param.Name).
			LabelAt(other.At, "the other store").LabelAt(g.At, "one block for every part of %s", g.Dim).
			Help("store to parts that do not meet, as `y[i]` and `y[N + i]`, or by indices that differ by less than what separates the blocks, as `y[2 * i]` and `y[2 * i + 1]`; or write two outputs")
		return
	}
	r := b.Errorf(lang.ErrRace, w.At, "blocks at different positions of %s would write the same element of %s", g.Name, w.Param.Name).
		Here("does not tell blocks apart by %s", g.Name).
		LabelAt(g.At, "%s is an axis of the grid over %s", g.Name, g.Dim)
	if w.Scope == lang.ScopeBlock {
		r.Help("leave out `scope = block`: blocks at other positions of %s change the element too", g.Name)
		return
	}
	r.Help("index %s with %s, walk %s with `for` inside the block, add up with `atomic_add(%s, ...)`, or let any of the blocks have its way with `atomic_xchg`", w.Param.Name, g.Name, g.Name, w.At.Text())
}

// together reports atomics that blocks may apply to one element: of a scope in which both blocks are.
func (a Access) together(b Access) bool {
	return a.Atomic && b.Atomic && a.Scope != lang.ScopeBlock && b.Scope != lang.ScopeBlock
}

// mirror knows this block and another, whose symbols are the twins of this one's.
type mirror struct {
	*size.Prover
	twin map[*size.Symbol]*size.Symbol
	// same are the symbols that both blocks have one value of.
	same map[*size.Symbol]bool
}

// twoBlocks is what is known of one block and of another: the same facts over
// twins of every symbol that varies from block to block.
func (b *Facts) twoBlocks() mirror {
	m := mirror{Prover: &size.Prover{}, twin: map[*size.Symbol]*size.Symbol{}}
	var varying []*size.Symbol
	for sym := range b.Varying {
		varying = append(varying, sym)
	}
	sort.Slice(varying, func(i, j int) bool { return varying[i].Serial < varying[j].Serial })
	for _, sym := range varying {
		m.twin[sym] = b.hidden.Position(sym.Name)
	}
	b.Prover.Each(func(sym *size.Symbol, fact size.Size) {
		m.Where(sym, fact)
		if t := m.twin[sym]; t != nil {
			m.Where(t, m.other(fact))
		}
	})
	return m
}

// other is a size as another block has it.
func (m mirror) other(s size.Size) size.Size {
	return s.Subst(func(sym *size.Symbol) (size.Size, bool) {
		if t := m.twin[sym]; t != nil && !m.same[sym] {
			return size.Of(t), true
		}
		return size.Size{}, false
	})
}

// meet gives a grid axis by which two accesses are not told apart, nil when there is none. Of blocks that no axis tells apart it is enough that one access ends where the other
// begins: reads of a cache up to a position that all blocks of a row load end before the store at that position.
func (b *Facts) meet(p mirror, x, y area) *typed.Axis {
	var left []*typed.Axis
	for _, g := range b.Kernel.Axes {
		if g.Kind != typed.GridAxis {
			break
		}
		if n, ok := g.Dim.Const(); !ok || n != 1 {
			left = append(left, g)
		}
	}
	p.same = map[*size.Symbol]bool{}
	x, y = b.withDivided(x, y)
	for len(left) > 0 {
		for d := range x {
			if u, v := x[d], y[d]; u.known && v.known && p.disjoint(u, run{true, p.other(v.from), v.reach}) {
				return nil
			}
		}
		i := slices.IndexFunc(left, func(g *typed.Axis) bool { return b.apart(p, g, x, y) })
		if i < 0 {
			return left[0]
		}
		for told := left[i]; told != nil; told = told.Of { // a position lies in one range
			for _, sym := range []*size.Symbol{b.Positions[told], b.Starts[told], b.Ends[told]} {
				p.same[sym] = true
			}
			left = slices.DeleteFunc(left, func(g *typed.Axis) bool { return g == told })
		}
		b.sameLoads(p)
	}
	return nil
}

// withDivided adds to the indices of two accesses what two of them are quotient and remainder of: blocks that have both in common have that in common.
func (b *Facts) withDivided(x, y area) (area, area) {
	whole := func(a area, q, r int) (of, by size.Size, ok bool) {
		x, c, ok := a[q].from.Quotient()
		of, by, too := a[r].from.Remainder()
		if !ok || !too || !a[q].known || !a[r].known || a[q].reach > 0 || a[r].reach > 0 {
			return of, by, false
		}
		if n, k, nested := of.Quotient(); nested && x.Equal(n) && c.Equal(k.Mul(by)) { // (n // k) // by
			return of, by, true
		}
		return of, by, x.Equal(of) && c.Equal(by)
	}
	varies := func(s size.Size) bool {
		return slices.ContainsFunc(s.Symbols(), func(v *size.Symbol) bool { return b.Varying[v] })
	}
	x, y = slices.Clone(x), slices.Clone(y)
	for n := 0; n < len(x); n++ { // what is added may be the quotient of another
		for q := range n + 1 {
			for _, pair := range [][2]int{{q, n}, {n, q}} {
				u, by, ok := whole(x, pair[0], pair[1])
				v, too, both := whole(y, pair[0], pair[1])
				if ok && both && q != n && by.Equal(too) && !varies(by) {
					x, y = append(x, run{true, u, 0}), append(y, run{true, v, 0})
				}
			}
		}
	}
	return x, y
}

// sameLoads adds the elements that both blocks read at one position, and that therefore are one value.
func (b *Facts) sameLoads(p mirror) {
	for sym, at := range b.Loaded {
		if !slices.ContainsFunc(at, func(v *size.Symbol) bool { return !p.same[v] }) {
			p.same[sym] = true
		}
	}
}

// disjoint reports a proof that no position is in both of two runs.
func (p mirror) disjoint(s, t run) bool {
	if s.reach == 0 && t.reach == 0 {
		return p.Different(s.from, t.from)
	}
	return p.AtMost(s.from.Add(size.Const(s.reach+1)), t.from) || p.AtMost(t.from.Add(size.Const(t.reach+1)), s.from)
}

// apart reports that some index has different values in blocks at different positions of g.
func (b *Facts) apart(p mirror, g *typed.Axis, x, y area) bool {
	for d := range x {
		if x[d].known && y[d].known && b.separates(p, g, x[d], y[d]) {
			return true
		}
	}
	return false
}

// separates reports that blocks at different positions of g have different values of the indices.
func (b *Facts) separates(p mirror, g *typed.Axis, x, y run) bool {
	cx, restX, ok := b.coefficient(x.from, b.Positions[g])
	if !ok {
		return false
	}
	cy, restY, ok := b.coefficient(y.from, b.Positions[g])
	if !ok || !cx.Equal(cy) {
		return false
	}
	if p.NonNegative(cx.Neg()) {
		cx = cx.Neg()
	}
	room := cx.Sub(size.Const(1))
	d := restX.Sub(p.other(restY))
	return p.NonNegative(room.Sub(d).Sub(size.Const(x.reach))) && p.NonNegative(room.Add(d).Sub(size.Const(y.reach)))
}

// coefficient writes s as c * sym + rest, where c is the same in every block.
func (b *Facts) coefficient(s size.Size, sym *size.Symbol) (c, rest size.Size, ok bool) {
	c, rest, ok = s.Linear(sym)
	for _, v := range c.Symbols() {
		if b.Varying[v] {
			return size.Size{}, size.Size{}, false
		}
	}
	return c, rest, ok
}
