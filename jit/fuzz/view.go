package fuzz

import (
	"fmt"
	"slices"

	"tilec/lang"
)

// This file makes and evaluates views: inputs read as elements of another type,
// as wide, narrower or wider, along a last dimension that is as long, longer or shorter.

// viewKernel makes a kernel that reads inputs through views.
func (g *generator) viewKernel() string {
	g.dims = []string{"M", "N"}[:1+g.r.IntN(2)]
	for _, d := range slices.Clone(g.dims) {
		times := pick(g.r, 2, 4, 8)
		of := manyOf{d, times, "*"}
		if g.chance(40) {
			of = manyOf{d, times, "//"}
			g.opening = append(g.opening, fmt.Sprintf("    assume(%s %% %d == 0)", d, times))
		}
		text := fmt.Sprintf("%s * %d", d, times)
		if of.how == "//" {
			text = fmt.Sprintf("%s//%d", d, times)
		}
		g.many[text] = of
		g.dims = append(g.dims, text)
	}
	return g.body()
}

// manyOf is a dimension that is a multiple or a part of another.
type manyOf struct {
	dim   string
	times int
	how   string // "*" or "//"
}

// view is a view of an input as elements of a type, with these dimensions; a new one, or one that exists.
func (g *generator) view(e elem, dims []string) *tensor {
	for _, v := range g.views {
		if v.e == e && slices.Equal(v.dims, dims) && g.chance(60) {
			return v
		}
	}
	last := dims[len(dims)-1]
	type base struct {
		dim  string
		bits int
	}
	from := []base{{last, e.d.Bits()}}
	if of, ok := g.many[last]; ok {
		if of.how == "*" { // the view is the longer one
			from = append(from, base{of.dim, e.d.Bits() * of.times}, base{of.dim, e.d.Bits() * of.times})
		} else {
			from = append(from, base{of.dim, e.d.Bits() / of.times}, base{of.dim, e.d.Bits() / of.times})
		}
	}
	for text, of := range g.many { // map order does not matter: a dimension has one multiple
		if of.dim == last && of.how == "*" {
			from = append(from, base{text, e.d.Bits() / of.times})
		}
	}
	b := pick(g.r, from...)
	var as []elem
	for _, d := range lang.DTypes() {
		if d != lang.Bool && d.Bits() == b.bits {
			as = append(as, concrete(d))
		}
	}
	if len(as) == 0 || e.d == lang.Bool || e.name != e.d.String() {
		return nil
	}
	under := append(slices.Clone(dims[:len(dims)-1]), b.dim)
	x := g.tensor(pick(g.r, as...), under)
	v := &tensor{name: g.fresh("w"), e: e, dims: dims}
	g.views = append(g.views, v)
	g.opening = append(g.opening, fmt.Sprintf("    let %s = bitcast(%s, %s)", v.name, x.name, e.name))
	g.works = append(g.works, dims)
	return v
}

// fitted rounds the sizes up of which dimensions are a part.
func (g *generator) fitted(dims map[string]int64) {
	for _, of := range g.many {
		if n := int64(of.times); of.how == "//" {
			dims[of.dim] = (dims[of.dim] + n - 1) / n * n
		}
	}
}

// size is how many positions a dimension has, by the sizes of the named ones.
func (g *generator) size(dim string, dims map[string]int64) (n int64, named string) {
	if of, ok := g.many[dim]; ok {
		if of.how == "*" {
			return dims[of.dim] * int64(of.times), of.dim
		}
		return dims[of.dim] / int64(of.times), of.dim
	}
	if n, ok := dims[dim]; ok {
		return n, dim
	}
	n = 1
	fmt.Sscan(dim, &n)
	return n, ""
}
