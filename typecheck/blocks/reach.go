package blocks

import (
	"slices"
	"sort"
	"strings"

	"tilec/typecheck/size"
)

// This file is the arithmetic of the regions of a tensor that stores reach.

// reach is a region of a tensor that is stored: a span in each dimension.
type reach []span

// span is positions in one dimension: width of them from first on, and the same again behind each of steps. In
// `y[2 * i]` it is one position in steps of 2; of `y[2 * i + 1]` beside it, two. Nothing is at a negative width.
type span struct {
	first, width size.Size
	steps        []step
}

// step repeats a span so many times, always so many positions further.
type step struct{ stride, count size.Size }

// end is one past the last position of a span without steps.
func (s span) end() size.Size { return s.first.Add(s.width) }

// mentions reports that where the reach lies depends on a symbol.
func (r reach) mentions(sym *size.Symbol) bool {
	return slices.ContainsFunc(r, func(s span) bool { return s.mentions(sym) })
}

func (s span) mentions(sym *size.Symbol) bool {
	return slices.Contains(s.first.Symbols(), sym) || s.sizeMentions(sym)
}

// sizeMentions reports that how large the span is depends on a symbol.
func (s span) sizeMentions(sym *size.Symbol) bool {
	if slices.Contains(s.width.Symbols(), sym) {
		return true
	}
	return slices.ContainsFunc(s.steps, func(t step) bool {
		return slices.Contains(t.stride.Symbols(), sym) || slices.Contains(t.count.Symbols(), sym)
	})
}

// swept is the reach when a symbol has been every position from one up to another; false where that is not known to be more.
func (v *coverage) swept(r reach, sym *size.Symbol, from, to size.Size) (reach, bool) {
	in := -1
	for d, s := range r {
		switch {
		case !s.mentions(sym):
		case s.sizeMentions(sym), in >= 0: // a triangle, a diagonal
			return nil, false
		default:
			in = d
		}
	}
	count := to.Sub(from)
	if in < 0 { // the same elements again and again, if there is a first time
		return r, v.known.NonNegative(count.Sub(size.Const(1)))
	}
	s := r[in]
	stride, rest, ok := v.coefficient(s.first, sym)
	if !ok {
		return nil, false
	}
	s.first = rest.Add(stride.Mul(from))
	if !v.known.NonNegative(stride) {
		if stride = stride.Neg(); !v.known.NonNegative(stride) {
			return nil, false
		}
		s.first = rest.Sub(stride.Mul(to.Sub(size.Const(1))))
	}
	s.steps = append(slices.Clip(s.steps), step{stride, count})
	out := slices.Clone(r)
	out[in] = v.joined(s)
	return out, true
}

// joined is the span without the steps whose repetitions lie side by side.
func (v *coverage) joined(s span) span {
	for i := 0; i < len(s.steps); i++ {
		t := s.steps[i]
		switch {
		case t.stride.Equal(s.width): // of no repetition, the width becomes 0
			s.width = t.stride.Mul(t.count)
		case v.known.AtMost(t.stride, s.width) && v.known.NonNegative(t.count.Sub(size.Const(1))):
			s.width = t.stride.Mul(t.count.Sub(size.Const(1))).Add(s.width)
		default:
			continue
		}
		s.steps = slices.Delete(slices.Clone(s.steps), i, i+1)
		i = -1 // a wider span may fill larger steps
	}
	return s
}

// complete reports that one of the regions is all of the output.
func (v *coverage) complete(stored []reach) bool {
	return slices.ContainsFunc(stored, func(r reach) bool {
		for d, s := range r {
			if len(s.steps) > 0 || !v.fixed(s) || !v.known.NonNegative(s.first.Neg()) || !v.known.AtMost(v.of.Shape[d], s.end()) {
				return false
			}
		}
		return true
	})
}

// fixed reports a span of dimensions and constants alone.
func (v *coverage) fixed(s span) bool {
	for _, sym := range append(s.first.Symbols(), s.width.Symbols()...) {
		if sym.Kind == size.PositionSymbol {
			return false
		}
	}
	return true
}

// key tells regions apart but for the place, or the width, in one dimension; -1 for none.
func (r reach) key(but int) string {
	var b strings.Builder
	for d, s := range r {
		b.WriteByte('|')
		if d != but {
			b.WriteString(s.first.Key() + ":" + s.width.Key())
		}
		for _, t := range s.steps {
			b.WriteString("/" + t.stride.Key() + "*" + t.count.Key())
		}
	}
	return b.String()
}

// mostCompared is up to how many regions are compared each with each: what is more is put together by numbers alone.
const mostCompared = 12

// merged puts regions together that differ in one dimension and have no gap there. What it costs is near linear in
// the number of regions: those that differ by numbers are put in order, and only few others are compared with proofs.
func (v *coverage) merged(stored []reach) []reach {
	for before := len(stored) + 1; len(stored) > 1 && len(stored) < before; {
		before = len(stored)
		for d := len(stored[0]) - 1; d >= 0; d-- {
			stored = v.mergedIn(stored, d)
		}
	}
	return stored
}

// mergedIn puts together what differs in dimension d.
func (v *coverage) mergedIn(stored []reach, d int) []reach {
	var order []string
	groups := map[string][]reach{}
	for _, r := range stored {
		k := r.key(d)
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	var out []reach
	for _, k := range order {
		g := v.byNumbers(groups[k], d)
		if len(g) <= mostCompared {
			g = v.byProof(g, d)
		}
		out = append(out, g...)
	}
	return out
}

// byNumbers puts together regions whose places in dimension d differ by numbers.
func (v *coverage) byNumbers(g []reach, d int) []reach {
	type place struct {
		from, to int64
		r        reach
	}
	var order []string
	series := map[string][]place{}
	var out []reach
	for _, r := range g {
		n, ok := r[d].width.Const()
		if !ok {
			out = append(out, r)
			continue
		}
		base := r[d].first.Sub(size.Const(r[d].first.Constant()))
		k := base.Key()
		if series[k] == nil {
			order = append(order, k)
		}
		series[k] = append(series[k], place{r[d].first.Constant(), r[d].first.Constant() + n, r})
	}
	for _, k := range order {
		places := series[k]
		sort.SliceStable(places, func(i, j int) bool { return places[i].from < places[j].from })
		at := places[0]
		for _, next := range places[1:] {
			if next.from > at.to {
				out = append(out, v.stretched(at.r, d, at.r[d].first, size.Const(at.to-at.from)))
				at = next
				continue
			}
			at.to = max(at.to, next.to)
		}
		out = append(out, v.stretched(at.r, d, at.r[d].first, size.Const(at.to-at.from)))
	}
	return out
}

// byProof puts together regions of which a proof shows that one begins inside, or right behind, the other.
func (v *coverage) byProof(g []reach, d int) []reach {
	for i := 0; i < len(g); i++ {
		for j := range g {
			a, b := g[i][d], g[j][d]
			if i == j || !v.known.AtMost(a.first, b.first) || !v.known.AtMost(b.first, a.end()) {
				continue
			}
			end := b.end()
			if !v.known.AtMost(a.end(), end) {
				if end = a.end(); !v.known.AtMost(b.end(), end) {
					continue
				}
			}
			g = slices.Clone(g)
			g[i] = v.stretched(g[i], d, a.first, end.Sub(a.first))
			g = slices.Delete(g, j, j+1)
			i = -1
			break
		}
	}
	return g
}

// stretched is a reach with another extent in dimension d.
func (v *coverage) stretched(r reach, d int, first, width size.Size) reach {
	if r[d].first.Equal(first) && r[d].width.Equal(width) {
		return r
	}
	out := slices.Clone(r)
	out[d] = v.joined(span{first, width, r[d].steps})
	return out
}

// both is what each of two branches stores.
func (v *coverage) both(then, other []reach) []reach {
	var out []reach
	in := func(side, of []reach) {
		keys := map[string]bool{}
		for _, r := range of {
			keys[r.key(-1)] = true
		}
		for _, r := range side {
			if keys[r.key(-1)] || len(of) <= mostCompared && slices.ContainsFunc(of, func(o reach) bool { return v.inside(r, o) }) {
				out = append(out, r)
			}
		}
	}
	in(then, other)
	n := len(out)
	in(other, then)
	seen := map[string]bool{}
	for _, r := range out[:n] {
		seen[r.key(-1)] = true
	}
	return append(out[:n:n], slices.DeleteFunc(out[n:], func(r reach) bool { return seen[r.key(-1)] })...)
}

// inside reports that a reach lies in another.
func (v *coverage) inside(r, of reach) bool {
	for d, s := range r {
		o := of[d]
		same := slices.EqualFunc(s.steps, o.steps, func(a, b step) bool { return a.stride.Equal(b.stride) && a.count.Equal(b.count) })
		if !same || !v.known.AtMost(o.first, s.first) || !v.known.AtMost(s.end(), o.end()) {
			return false
		}
	}
	return true
}
