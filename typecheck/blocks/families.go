package blocks

import (
	"fmt"
	"strings"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Comparing each access of a tensor with each other takes the square of their
// number. But most differ by constants alone, as `y[i, 0]`, `y[i, 1]` and so on do: they
// are a family, and what is proven of all that lies between its first and its last member
// is proven of each pair. Only where that proof fails are members compared, up to maxPairs.

// run is positions along a dimension: from, and the reach positions behind it. Unless known, it may be any.
type run struct {
	known bool
	from  size.Size
	reach int64
}

// area is a run along each dimension of a tensor.
type area []run

// area is the elements of one access.
func (a Access) area() area {
	r := make(area, len(a.Positions))
	for d, at := range a.Positions {
		if at != nil {
			r[d] = run{known: true, from: *at}
		}
	}
	return r
}

// family is accesses of one tensor, alike but for constants in their positions.
type family struct {
	first   Access
	members int
	area
	// meets are the families of stores with which members of this one may share elements.
	meets map[*family]bool
}

// familiesOf gives the family of each access, and all of them in the order of the text.
func familiesOf(accesses []Access) (of, all []*family) {
	known := map[string]*family{}
	for _, a := range accesses {
		var key strings.Builder
		fmt.Fprintf(&key, "%p %t %s", a.Param, a.Atomic, a.Scope)
		for _, at := range a.Positions {
			if at == nil {
				key.WriteString(" ?")
			} else {
				key.WriteString(" " + at.Sub(size.Const(at.Constant())).Key())
			}
		}
		f := known[key.String()]
		if f == nil {
			f = &family{first: a, area: a.area(), meets: map[*family]bool{}}
			known[key.String()] = f
			all = append(all, f)
		}
		f.add(a)
		of = append(of, f)
	}
	return of, all
}

// add makes the runs of a family hold the positions of a member.
func (f *family) add(a Access) {
	f.members++
	for d, at := range a.Positions {
		if at == nil {
			continue
		}
		r := &f.area[d]
		first, last := min(r.from.Constant(), at.Constant()), max(r.from.Constant()+r.reach, at.Constant())
		r.from, r.reach = r.from.Add(size.Const(first-r.from.Constant())), last-first
	}
}

// MaxPairs bounds the pairs of accesses of a kernel that are compared one by one: see package typecheck's limits.
const MaxPairs = 5000

// comparison proves of pairs of accesses that they do not meet, as many as it may.
type comparison struct {
	*Facts
	two mirror
	// left is how many pairs may still be compared; before is the errors that were known when it began.
	left, before int
}

// families notes which of some families meet which of those of stores.
func (c *comparison) families(all, stores []*family) {
	for _, f := range all {
		for _, w := range stores {
			if c.left < 0 {
				return
			}
			if f.first.Param == w.first.Param && !f.first.together(w.first) && !f.meets[w] && c.meet(f.first, f.area, w.area) != nil {
				f.meets[w], w.meets[f] = true, true
			}
		}
	}
}

// meet compares two areas as facts.meet does. When too many have been compared, that is
// the error at x, unless another has been found, and nothing more is compared.
func (c *comparison) meet(x Access, a, b area) *typed.Axis {
	if c.left--; c.left >= 0 {
		return c.Facts.meet(c.two, a, b)
	}
	if c.log.Found == c.before {
		c.Errorf(lang.ErrLimit, x.At, "%s is accessed at too many places to tell which of them meet: more than %d pairs differ by more than a constant", x.Param.Name, MaxPairs).
			Help("access it by an axis, or in a loop, in place of a statement for each place")
	}
	return nil
}
