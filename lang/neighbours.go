package lang

import (
	"fmt"
	"strings"
)

// Neighbour is a word of a language that people come from - Triton's, CUDA Tile's, NumPy, Python, C -
// with what is written here instead. The type checker and the parser answer with it where the word stands.
type Neighbour struct {
	Word  string
	Place NeighbourPlace
	// Ours is our form, of example names; "" where nothing is written at all.
	Ours string
	// Graph is the form in a graph, where that is another one: InKernel where only a kernel can do it.
	Graph string
	// More is said behind our form, or alone where that is nothing.
	More string
	// Use is a program with the word that has this one error. Where it is "", the word's place makes one: see
	// the test of the table.
	Use string
	// Example is a program with our form; where it is "", the form itself is one.
	Example string
}

// NeighbourPlace is where a neighbour's word stands.
type NeighbourPlace uint8

// The places.
const (
	// AsCall is `word(...)`, `module.word(...)` or `x.word(...)`.
	AsCall NeighbourPlace = iota
	// AsArgument is the name of an argument, `f(x, word = 1)`.
	AsArgument
	// AsAttribute is `x.word` of a tensor or a value.
	AsAttribute
	// AsValue is the word alone, or `module.word`.
	AsValue
	// AsType is the name of an element type.
	AsType
	// AsStatement is the first word of a statement or a declaration.
	AsStatement
	// AsSign is an operator, or another sign.
	AsSign
)

// InKernel is the form in a graph of what only a kernel can do.
const InKernel = "in a kernel"

// Help is what to do: "write `max(a, b)`".
func (n *Neighbour) Help() string { return n.help("write ", n.Ours) }

// GraphHelp is what to do in a graph.
func (n *Neighbour) GraphHelp() string {
	switch {
	case n.Graph == InKernel && n.Ours != "":
		return n.help("in a kernel, which the graph calls, write ", n.Ours)
	case n.Graph != "" && n.Graph != InKernel:
		return fmt.Sprintf("write `%s`", n.Graph)
	}
	return n.Help()
}

func (n *Neighbour) help(write, ours string) string {
	switch {
	case ours == "":
		return n.More
	case n.More == "":
		return fmt.Sprintf("%s`%s`", write, ours)
	case strings.HasPrefix(n.More, "leave it out"):
		return fmt.Sprintf("%s; as in `%s`", n.More, ours)
	}
	return fmt.Sprintf("%s`%s`: %s", write, ours, n.More)
}

type neighbourKey struct {
	place NeighbourPlace
	word  string
}

var neighbourOf = func() map[neighbourKey]*Neighbour {
	of := map[neighbourKey]*Neighbour{}
	for _, n := range Neighbours() {
		of[neighbourKey{n.Place, n.Word}] = n
	}
	return of
}()

// FindNeighbour finds a neighbour's word by one of the places where it may stand, the first that has it; nil when none has.
func FindNeighbour(word string, places ...NeighbourPlace) *Neighbour {
	for _, p := range places {
		if n := neighbourOf[neighbourKey{p, word}]; n != nil {
			return n
		}
	}
	return nil
}

// Neighbours lists the words, each once for every place that it has.
func Neighbours() []*Neighbour {
	var all []*Neighbour
	for _, rows := range [][]Neighbour{memoryNeighbours, shapeNeighbours, mathNeighbours, reduceNeighbours, utilityNeighbours, typeNeighbours, wordNeighbours} {
		for i := range rows {
			all = append(all, &rows[i])
		}
	}
	return all
}
