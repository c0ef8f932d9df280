package main

import (
	"tilec/jit/graph"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// codePage is what --json prints of an error code; the list of codes has no more than the titles.
type codePage struct {
	Code  lang.Code `json:"code"`
	Title string    `json:"title"`
	Text  string    `json:"text,omitempty"`
	// Fails and Works are whole programs.
	Fails string `json:"fails,omitempty"`
	Works string `json:"works,omitempty"`
}

// graphPage is what --json prints of a graph. Times are predicted, in microseconds.
type graphPage struct {
	Graph  string            `json:"graph"`
	Target string            `json:"target"`
	Sizes  map[string]int64  `json:"sizes"`
	Types  map[string]string `json:"types"`
	Consts map[string]string `json:"constants,omitempty"`
	// Calls is how many launches there would be with one for each call, which takes SeparateUS; Launches and US are those that there are.
	Calls      int     `json:"calls"`
	Launches   int     `json:"launches"`
	US         float64 `json:"us"`
	SeparateUS float64 `json:"separate_us"`
	// SavedBytes are written and read less than with a launch for each call.
	SavedBytes int64       `json:"saved_bytes"`
	Kinds      []kindPage  `json:"kinds"`
	Notes      []notePage  `json:"notes,omitempty"`
	Apart      []apartPage `json:"apart,omitempty"`
}

// kindPage is launches that are alike: the figures are of one, of which there are so many.
type kindPage struct {
	Name       string  `json:"name"`
	Launches   int     `json:"launches"`
	Kernels    int     `json:"kernels"`
	US         float64 `json:"us"`
	SeparateUS float64 `json:"separate_us"`
	SavedBytes int64   `json:"saved_bytes"`
}

// notePage is what a pass made smaller.
type notePage struct {
	Pass string `json:"pass"`
	Text string `json:"text"`
}

// apartPage is pairs of launches that stay two.
type apartPage struct {
	First  string `json:"first"`
	Second string `json:"second"`
	Pairs  int    `json:"pairs"`
	Why    string `json:"why"`
}

// graphPageOf is an explanation as --json prints it.
func graphPageOf(g *typed.Graph, b *binding, machine target.Machine, e *graph.Explanation) graphPage {
	const micro = 1e6
	types, sizes, consts := explainedFor(g, b)
	p := graphPage{Graph: g.Name, Target: machine.Name, Sizes: map[string]int64{}, Types: map[string]string{}, Consts: map[string]string{},
		Calls: e.Calls, Launches: e.Launches, US: e.Time * micro, SeparateUS: e.Separate * micro, SavedBytes: e.Bytes, Kinds: []kindPage{}}
	for t, d := range types {
		p.Types[t.Name] = d.String()
	}
	for d, n := range sizes {
		p.Sizes[d.Name] = n
	}
	for c, l := range consts {
		p.Consts[c.Name] = formatScalar(l)
	}
	for _, k := range e.Kinds {
		p.Kinds = append(p.Kinds, kindPage{k.Name, k.Launches, k.Kernels, k.Time * micro, k.Separate * micro, k.Bytes})
	}
	for _, n := range e.Notes {
		p.Notes = append(p.Notes, notePage{n.Pass, n.Text})
	}
	for _, a := range e.Apart {
		p.Apart = append(p.Apart, apartPage{a.First, a.Second, a.Pairs, a.Why})
	}
	return p
}
