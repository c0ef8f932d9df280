package report

import (
	"tilec/lang"
)

// This file proposes our words for those of other languages, by lang's table of neighbours.

// Neighbour says what a word of another language is here, and reports whether it is one.
func (r Draft) Neighbour(inGraph bool, word string, places ...lang.NeighbourPlace) bool {
	n := lang.FindNeighbour(word, places...)
	if n == nil {
		return false
	}
	if inGraph {
		r.Help("%s", n.GraphHelp())
	} else {
		r.Help("%s", n.Help())
	}
	return true
}

// SuggestType proposes an element type for a name that is none.
func (r Draft) SuggestType(at lang.Span, name string, candidates []string) Draft {
	n := lang.FindNeighbour(name, lang.AsType)
	if n == nil {
		return r.Suggest(at, name, candidates)
	}
	if _, isType := lang.ParseDType(n.Ours); isType {
		return r.Replace(at, n.Ours, "%s", n.Help())
	}
	return r.Help("%s", n.Help())
}
