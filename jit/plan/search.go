package plan

import (
	"math"
	"slices"

	"tilec/jit/ir"
)

// This file goes through the space of extents. A small space is gone through
// whole. A large one is thinned out first, and from the best point of what is left,
// or from the one that comes nearest to fitting, the search goes on in the whole space, one
// knob at a time, and then two. All of it is bounded, and always the same for the same space.

const (
	// maxPoints is how many points of a space are gone through one by one.
	maxPoints = 2000
	// maxDescent is how many points a descent looks at.
	maxDescent = 2000
	// worthTwo is what part of the time has to be left, at most, for two knobs to be changed at once.
	worthTwo = 0.99
	// manyAxes is from how many knobs on two of a product are changed at once too, as of a convolution in three dimensions.
	manyAxes = 8
)

// search is what has been found so far.
type search struct {
	*model
	warps, stages, parts, persists []int
	// best and second are the cheapest candidates in which blocks share no axis, shared and next those in which they do.
	best, second, shared, next scored
	// inWindows and nextInWindows are the cheapest whose steps have several taps of a window, which are not among the others.
	inWindows, nextInWindows scored
	// images are the axes of images of such windows among whose extents there is a choice, with the most that a block has (mostImages).
	images map[int]int64
	// worst is the limit that the candidate nearest to fitting breaks; where describes that candidate.
	worst *violation
	where string
}

// rank orders points of the space: what fits comes before what does not. Of what fits, value is the time, of the
// rest by how much it is too large.
type rank struct {
	fits  bool
	value float64
}

func (r rank) before(o rank) bool {
	if r.fits != o.fits {
		return r.fits
	}
	return r.value < o.value
}

// chosen gives the best candidate, and the one that it was chosen over.
func (s *search) chosen() (best, second scored) {
	best, second = s.best, s.second
	switch w := s.inWindows; {
	case w.e == nil:
	case best.e == nil:
		best, second = w, s.nextInWindows
	case w.e.time <= float64(best.e.time*worthWindow):
		best, second = w, best
	}
	if s.shared.pays(&best, s.gain()) {
		if best.e != nil {
			return s.shared, best
		}
		return s.shared, s.next
	}
	return best, second
}

// over goes through a space.
func (s *search) over(ks []knob) {
	s.images = s.mostImages(ks)
	few := thin(ks)
	var nearest []int64
	var least rank
	look := func(extent []int64) {
		if r := s.visit(extent); nearest == nil || r.before(least) {
			nearest, least = slices.Clone(extent), r
		}
	}
	extent := make([]int64, len(s.f.Axes))
	if points(few) > maxPoints { // so many axes that two extents of each are too many
		look(corner(few, extent, 0))
		look(corner(few, extent, math.MaxInt))
	} else {
		each(few, extent, look)
	}
	if points(ks) <= maxPoints {
		return
	}
	look(corner(ks, extent, 0))
	if one := s.oneProduct(ks); one != nil {
		each(thin(one), extent, look)
	}
	if s.contracts && len(ks) >= manyAxes {
		each(thin(s.tapByTap(ks)), extent, look)
	}
	s.descend(ks, nearest, least)
	s.tapsApart(ks)
	s.severalTaps(ks)
	if s.best.e == nil {
		return
	}
	for _, k := range ks { // blocks of whole rows have fewer of other positions, which takes several steps to find
		if i := k.axes[0]; len(k.values) > 1 && s.tears(i) {
			at := slices.Clone(s.best.c.extent)
			for _, o := range ks {
				if j := o.axes[0]; j != i && s.f.Axes[j].Kind == ir.Grid && s.oneOperand(i, j) {
					o.set(at, 1)
				}
			}
			k.set(at, k.values[len(k.values)-1])
			s.descend(ks, at, s.visit(at))
		}
	}
	s.sure(ks)
	for _, k := range ks { // blocks that go through windows row by row have more positions of the other axes, which takes several steps to find
		if i := k.axes[0]; s.rowsOfWindows(i) && len(k.values) > 1 && s.best.c.extent[i] == s.size[i] {
			at := slices.Clone(s.best.c.extent)
			k.set(at, 1)
			s.descend(ks, at, s.visit(at))
		}
	}
}

// oneProduct is the space of blocks of which each has one product of a batch; nil where there is no batch. Thinned out, a space of many axes has few blocks of that kind, and no good
// one for certain.
func (m *model) oneProduct(ks []knob) (one []knob) {
	if !m.softmax { // plans of other products were measured as they are found without it
		return nil
	}
	for i, k := range ks {
		if at := k.axes[0]; len(k.values) > 1 && m.f.Axes[at].Kind == ir.Grid && !m.matrix[at] && !m.contracted[at] {
			if one == nil {
				one = slices.Clone(ks)
			}
			one[i].values = k.values[:1]
		}
	}
	return one
}

// tapByTap is the space of steps that each have one place of a window.
func (m *model) tapByTap(ks []knob) []knob {
	one := slices.Clone(ks)
	for i, k := range ks {
		if at := k.axes[0]; m.contracted[at] && m.f.Axes[at].Few() {
			one[i].values = k.values[:1]
		}
	}
	return one
}

// tapsApart goes on from steps of one place of a window, where the descent has come to steps of several: between both lie steps of neither, as of channels too few for the
// matrix unit (a convolution of f32, 5x5 of 1,024 x 96 x 27 x 27 to 256 channels, 8,524 us predicted by steps of 2 x 2 x 8, 3,031 by 1 x 1 x 32).
func (s *search) tapsApart(ks []knob) {
	several := s.best.e != nil && slices.ContainsFunc(ks, func(k knob) bool {
		i := k.axes[0]
		return s.contracted[i] && s.f.Axes[i].Few() && s.best.c.extent[i] > 1
	})
	if !s.contracts || len(ks) >= manyAxes || !several {
		return
	}
	before := *s
	// Steps as large as those that there are, of more channels in place of places.
	from, places := slices.Clone(s.best.c.extent), int64(1)
	for _, k := range ks {
		if i := k.axes[0]; s.contracted[i] && s.f.Axes[i].Few() {
			places *= from[i]
			k.set(from, 1)
		}
	}
	for _, k := range ks {
		if i := k.axes[0]; s.contracted[i] && !s.f.Axes[i].Few() {
			want := from[i] * places
			for _, v := range k.values {
				if v <= want {
					k.set(from, v)
				}
			}
			break
		}
	}
	s.descend(ks, from, s.visit(from))
	if s.best.e.time > float64(before.best.e.time*worthTwo) {
		*s = before // what is a hair faster is no choice
	}
}

const (
	// mostUnsure is up to how many positions of a dimension a plan is for as few as half of them (spec.Class).
	mostUnsure = 16
	// asFast is by how much longer a plan may take that is as fast for all that are as many.
	asFast = 1.005
)

// sure has blocks of products not have more positions of a dimension than are known to be there, where those of other dimensions are as fast: a plan for up to 16 images is one for 10 too, of which
// blocks of 8 have 16.
func (s *search) sure(ks []knob) {
	if !s.contracts || s.best.e == nil {
		return
	}
	for _, k := range ks {
		i := k.axes[0]
		a, n := s.f.Axes[i], s.best.c.extent[i]
		if a.Kind != ir.Grid || a.Dim == nil || a.Dim.Known() || s.size[i] > mostUnsure || a.Dim.Multiple()%n == 0 {
			continue
		}
		fewer := n
		for a.Dim.Multiple()%fewer != 0 {
			fewer /= 2
		}
		found := false
		for _, o := range ks {
			for _, p := range ks {
				for part := n / fewer; part > 1 && !found; part /= 2 { // of the other positions, so many times those along one, and the rest along another
					at, rest := slices.Clone(s.best.c.extent), n/fewer/part
					if !s.grows(at, i, o, part) || rest > 1 && (o.axes[0] == p.axes[0] || !s.grows(at, i, p, rest)) {
						continue
					}
					k.set(at, fewer)
					other := *s
					other.best = scored{}
					if other.visit(at); other.best.e != nil && other.best.e.time <= float64(s.best.e.time*asFast) {
						s.best, found = other.best, true
					}
				}
			}
		}
	}
}

// grows has blocks have so many times as many positions along another axis of the grid that an operand has with axis i; false where they cannot.
func (s *search) grows(at []int64, i int, k knob, times int64) bool {
	j := k.axes[0]
	at[j] *= times
	return j != i && s.f.Axes[j].Kind == ir.Grid && s.oneOperand(i, j) && slices.Contains(k.values, at[j])
}

// descend changes one knob after the other to the value that ranks first, until none does better; then two at once, one to the next value
// and the other to the one before, as from a tall tile to a wide one of as many elements, until that does no better either.
func (s *search) descend(ks []knob, from []int64, reached rank) {
	looked := 0
	better := true
	look := func(at []int64, part float64) (within bool) {
		if looked++; looked > maxDescent {
			return false
		}
		before := *s
		if r := s.visit(at); r.before(rank{reached.fits, reached.value * part}) {
			from, reached, better = slices.Clone(at), r, true
		} else if part < 1 {
			*s = before // what is a hair faster is no choice either
		}
		return true
	}
	for better {
		better = false
		for _, k := range ks {
			at := slices.Clone(from)
			for _, v := range k.values {
				if max(v, 1) == from[k.axes[0]] {
					continue
				}
				k.set(at, v)
				if !look(at, 1) {
					return
				}
			}
		}
		if better || s.contracts && len(ks) < manyAxes { // the plans of products were measured as they are found
			continue
		}
		for i := len(ks) - 1; i >= 0; i-- { // of equals, what lies together
			for j := range ks {
				at := slices.Clone(from)
				if i != j && ks[i].move(at, 1) && ks[j].move(at, -1) && !look(at, worthTwo) {
					return
				}
			}
		}
	}
}

// move gives the knob's axes the value that is so many places further than theirs; false where there is none.
func (k knob) move(extent []int64, places int) bool {
	n := slices.IndexFunc(k.values, func(v int64) bool { return max(v, 1) == extent[k.axes[0]] })
	if n < 0 || n+places < 0 || n+places >= len(k.values) {
		return false
	}
	k.set(extent, k.values[n+places])
	return true
}

// visit compares the candidates with these extents, and ranks the best of them.
func (s *search) visit(extent []int64) rank {
	r := rank{value: math.Inf(1)}
	reach := func(o rank) {
		if o.before(r) {
			r = o
		}
	}
	for _, w := range s.warps {
		for _, st := range s.stages {
			for _, n := range s.parts {
				c := at{s.model, candidate{extent: extent, warps: w, stages: st, sharers: n}, s.anew()}
				if len(s.stages) > 1 && !s.ofBytes && !s.mixed && slices.Contains(deepStages, st) && !c.coversNothing() || !c.inOrder() || !c.spreads() || n > 1 && len(s.parts) > 1 && c.gainsNothing() {
					continue
				}
				for _, c.persist = range s.persists {
					c.asked = s.anew()
					s.compare(c, reach)
					if paired := c; c.persist == alone && len(s.persists) > 1 {
						paired.paired, paired.asked = true, s.anew()
						s.compare(paired, reach)
					}
				}
			}
		}
	}
	return r
}

// anew is the number of another candidate.
func (m *model) anew() int {
	m.visited++
	return m.visited
}

// compare evaluates a candidate, keeps it where it is among the best, and says how it ranks.
func (s *search) compare(c at, reach func(rank)) {
	if !c.turnsFit(len(s.persists) == 1) || c.persist > 0 && c.sharers > 1 {
		return
	}
	n := c.sharers
	e, v := c.evaluate()
	switch {
	case v != nil:
		if s.worst == nil || v.excess() < s.worst.excess() {
			s.worst, s.where = v, c.describe()
			if v.inShared {
				v.uses = c.sharedUses()
			}
		}
		reach(rank{value: v.excess()})
	case n > 1:
		score(c, e, &s.shared, &s.next)
		reach(rank{true, e.time * s.gain()})
	case c.hasWindow() && s.tooManyImages(c):
	case c.hasWindow():
		score(c, e, &s.inWindows, &s.nextInWindows)
		reach(rank{true, e.time})
	default:
		score(c, e, &s.best, &s.second)
		reach(rank{true, e.time})
	}
}

// points is how many points a space has, or more than maxPoints.
func points(ks []knob) int {
	n := 1
	for _, k := range ks {
		if n > maxPoints {
			break
		}
		n *= len(k.values)
	}
	return n
}

// thin gives the space with the longest list of values halved until it is small enough, or no list is longer than two.
func thin(ks []knob) []knob {
	few := slices.Clone(ks)
	for points(few) > maxPoints {
		longest := 0
		for i, k := range few {
			if len(k.values) > len(few[longest].values) {
				longest = i
			}
		}
		vs := few[longest].values
		if len(vs) <= 2 {
			break
		}
		var kept []int64
		for i := range vs {
			if i%2 == 1 || i == len(vs)-1 { // keep the largest, which may mean "not streamed"
				kept = append(kept, vs[i])
			}
		}
		few[longest].values = kept
	}
	return few
}

// set gives the knob's axes an extent. An axis over nothing still divides by its extent.
func (k knob) set(extent []int64, v int64) {
	for _, i := range k.axes {
		extent[i] = max(v, 1)
	}
}

// corner is the point at which every knob has its value number n, or its last.
func corner(ks []knob, extent []int64, n int) []int64 {
	for _, k := range ks {
		k.set(extent, k.values[min(n, len(k.values)-1)])
	}
	return extent
}

// each calls visit for every combination of the knobs, in order.
func each(ks []knob, extent []int64, visit func([]int64)) {
	if len(ks) == 0 {
		visit(extent)
		return
	}
	for _, v := range ks[0].values {
		ks[0].set(extent, v)
		each(ks[1:], extent, visit)
	}
}
