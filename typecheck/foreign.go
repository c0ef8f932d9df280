package typecheck

import (
	"tilec/lang"
)

// This file proposes our words for those of other languages, by lang's table of neighbours.

// neighbour says what a word of another language is here, and reports whether it is one.
func (r report) neighbour(inGraph bool, word string, places ...lang.NeighbourPlace) bool {
	n := lang.FindNeighbour(word, places...)
	if n == nil {
		return false
	}
	if inGraph {
		r.help("%s", n.GraphHelp())
	} else {
		r.help("%s", n.Help())
	}
	return true
}

// suggestType proposes an element type for a name that is none.
func (r report) suggestType(at lang.Span, name string, candidates []string) report {
	n := lang.FindNeighbour(name, lang.AsType)
	if n == nil {
		return r.suggest(at, name, candidates)
	}
	if _, isType := lang.ParseDType(n.Ours); isType {
		return r.replace(at, n.Ours, "%s", n.Help())
	}
	return r.help("%s", n.Help())
}
