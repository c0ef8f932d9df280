package blocks

import (
	"fmt"
	"slices"
	"strings"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file decides what a program sees of how its axes are cut into blocks and
// steps, so that no plan does. Where the program uses the bounds of a tile, they are
// those of a run of positions that the plan's tiles divide. Where a result depends on
// the tiles themselves, the source gives their extent, or the language does.

// languageExtent is the extent that the language gives where the source says nothing, on every target.
const languageExtent = 64

// fixing is what of a kernel fixes the extents of axes.
type fixing struct {
	*Facts
	// extents are those that results depend on.
	extents map[*typed.Axis]bool
	// says are the axes of tiles that a print shows or an assert judges.
	says map[*typed.Axis]bool
	// refused are the axes with an error: one is enough.
	refused map[*typed.Axis]bool
}

// extents finds what of the cut the program sees, and reports what would follow the plan.
func (b *Facts) extents() {
	f := &fixing{b, map[*typed.Axis]bool{}, map[*typed.Axis]bool{}, map[*typed.Axis]bool{}}
	b.findPartials(b.Kernel.Body, f)
	typed.Walk(b.Kernel.Body, func(n typed.Node) bool {
		switch n := n.(type) {
		case *typed.For:
			if n.Axis != nil {
				f.loop(n)
			}
		case *typed.Print:
			for _, a := range b.Kernel.Axes {
				if a.Kind == typed.GridAxis && !a.Scalar {
					f.says[a] = true
				}
			}
		}
		return true
	})
	b.fix(f)
	b.fixedTargets()
}

// loop notes what depends on how a loop's axis is cut.
func (f *fixing) loop(l *typed.For) {
	for _, d := range stepsDecide(l) {
		switch {
		case d.says:
			f.says[l.Axis] = true
		case l.Axis.Given(), !d.counts && len(l.Axis.Choices) == 0:
			f.extents[l.Axis] = true
		default:
			or := ""
			if d.infinite {
				or = "; or take off `where(m == -inf, 0, m)`, for while the maximum m is -inf, -inf - -inf is NaN"
			}
			f.refuse(l.Axis, or, d.at, "%s depends on how large the steps of the loop over %s are", d.what(), l.Axis.Name)
		}
	}
}

// what is the thing that depends on the cut.
func (d dependence) what() string {
	if d.counts {
		return "what this does, once for every step,"
	}
	return "this"
}

// once notes an atomic that each block along an axis does once.
func (f *fixing) once(a *typed.Axis, s *typed.Store) {
	if len(a.Choices) < 2 {
		f.extents[a] = true
		return
	}
	f.refuse(a, "", s.Value.Span(), "`%s` takes this once for every block along %s, and how many there are depends on how large they are", s.Op, a.Name)
}

// refuse says that a result depends on an extent of which the source says too little. Or is what else helps.
func (f *fixing) refuse(a *typed.Axis, or string, at lang.Span, format string, args ...any) {
	if f.refused[a] {
		return
	}
	f.refused[a] = true
	n, chosen := int64(languageExtent), "which the planner chooses"
	if len(a.Choices) > 0 {
		n, chosen = slices.Max(a.Choices), fmt.Sprintf("and %s may be %s", a.Tile, orList(a.Choices))
	}
	f.Errorf(lang.ErrPartial, at, format+", "+chosen, args...).
		LabelAt(a.At, "%s is cut here", a.Name).
		Help("give the extent: `tune %s = %d`%s", a.Tile, n, or)
}

// orList is `16, 32 or 64`.
func orList(ns []int64) string {
	var words []string
	for _, n := range ns {
		words = append(words, fmt.Sprint(n))
	}
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// fix gives axes their spans and extents. Axes whose extents have one name have one of each.
func (b *Facts) fix(f *fixing) {
	alike := func(a *typed.Axis) []*typed.Axis {
		if a.Tile == "" {
			return []*typed.Axis{a}
		}
		return slices.DeleteFunc(slices.Clone(b.Kernel.Axes), func(o *typed.Axis) bool { return o.Tile != a.Tile })
	}
	var shown []*typed.Axis // those whose extents a print fixes
	names := map[string]bool{}
	for _, a := range b.Kernel.Axes {
		if at, ok := b.Bounds[a]; ok {
			n := int64(languageExtent)
			if len(a.Choices) > 0 {
				n = slices.Max(a.Choices)
				b.dividing(a, n, at)
			}
			for _, o := range alike(a) {
				o.Span = n
				if a.Of != nil { // where its range begins, and so a longer span of it, only what finds a block's place knows
					o.Extent = n
				}
			}
		}
		switch {
		case f.extents[a]:
			for _, o := range alike(a) {
				o.Extent = languageExtent
				if a.Given() {
					o.Extent = a.Choices[0]
				}
			}
		case f.says[a] && !a.Given():
			shown = append(shown, a)
			names[a.Tile] = true
		}
	}
	for _, a := range shown {
		n := shownExtent(len(names))
		if ns := b.targeted(a); len(ns) > 0 {
			n = slices.Min(ns)
		} else if len(a.Choices) > 0 {
			n = slices.Min(a.Choices)
		}
		for _, o := range alike(a) {
			if o.Extent == 0 {
				o.Extent = n
			}
		}
	}
}

// targeted are the extents that the source gives an axis for single targets.
func (b *Facts) targeted(a *typed.Axis) []int64 {
	var ns []int64
	for _, t := range b.Kernel.Targets {
		for _, p := range t.Pins {
			if p.Name == a.Tile {
				ns = append(ns, p.Value)
			}
		}
	}
	return ns
}

// shownExtent is the extent of each of so many axes of which a print shows tiles: their tiles have room in a block.
func shownExtent(axes int) int64 {
	n := int64(languageExtent)
	for axes > 2 && n > 1 {
		most := int64(1)
		for range axes {
			most *= n
		}
		if most <= languageExtent*languageExtent {
			break
		}
		n /= 2
	}
	return n
}

// dividing reports choices of an extent that do not divide the span.
func (b *Facts) dividing(a *typed.Axis, n int64, at lang.Span) {
	for _, c := range a.Choices {
		if n%c == 0 {
			continue
		}
		b.Errorf(lang.ErrTune, at, "%s is a bound of %d positions, the largest that %s may be, and %d, which it may be too, does not divide %d", at.Text(), n, a.Tile, c, n).
			LabelAt(a.At, "%s is cut here", a.Name).
			Help("let %s be numbers that divide the largest, as in `tune %s in {%d, %d}`, or one", a.Tile, a.Tile, n, 2*n)
		return
	}
}

// fixedTargets reports extents for one target that would change what the program sees.
func (b *Facts) fixedTargets() {
	for _, t := range b.Kernel.Targets {
		for _, p := range t.Pins {
			for _, a := range b.Kernel.Axes {
				if a.Tile != p.Name {
					continue
				}
				switch n := a.Extent; {
				case n > 0 && p.Value != n:
					b.Errorf(lang.ErrTune, p.At, "%s = %d on %s, and what the kernel gives or says depends on %s, which is %d everywhere else", p.Name, p.Value, t.Target, p.Name, n).
						LabelAt(a.At, "%s is cut here", a.Name).
						Help("give one extent for all targets: `tune %s = %d`", p.Name, p.Value)
				case a.Span%p.Value != 0:
					b.Errorf(lang.ErrTune, p.At, "%s = %d on %s does not divide %d, the positions whose bounds %s.start and %s.end are", p.Name, p.Value, t.Target, a.Span, a.Name, a.Name).
						LabelAt(a.At, "%s is cut here", a.Name).
						Help("give a divisor of %d, or an extent for all targets: `tune %s = %d`", a.Span, p.Name, p.Value)
				default:
					continue
				}
				break
			}
		}
	}
}
