package fuzz

import "fmt"

// Topic is a part of the language that programs are made about, which programs about anything have too seldom.
type Topic string

// The topics.
const (
	// Anything has every part of the language, and programs about each topic among the others.
	Anything Topic = ""
	// Views has inputs read as elements of another type.
	Views Topic = "views"
	// Parts has formulas whose lines are launched one after the other, over different axes.
	Parts Topic = "parts"
	// Splits has axes that several blocks share.
	Splits Topic = "splits"
	// Generics has type parameters, constant parameters and functions with bounds.
	Generics Topic = "generics"
	// Graphs has graphs with tests of what they give.
	Graphs Topic = "graphs"
	// Chains has graphs that are run with a launch for each call too.
	Chains Topic = "chains"
	// Steps has graphs of products of few rows, as a step of decoding is, that are run with a launch for each call too.
	Steps Topic = "steps"
	// Products has matrix products by the forms of code that large ones have.
	Products Topic = "products"
	// Attention has products that take what is computed of others.
	Attention Topic = "attention"
	// Rows has long rows that are reduced, and others computed by them.
	Rows Topic = "rows"
	// Ranges has loops and grids over ranges that are read from memory.
	Ranges Topic = "ranges"
	// Windows has sums of products over neighbours, as convolutions are.
	Windows Topic = "windows"
	// Neighbours has windows along rows, shifts and fields of records, which threads load by words.
	Neighbours Topic = "neighbours"
)

// Topics are the topics but for Anything.
func Topics() []Topic {
	return []Topic{Views, Parts, Splits, Generics, Graphs, Chains, Steps, Products, Attention, Rows, Ranges, Windows, Neighbours}
}

// ParseTopic gives the topic of a name; all is Anything.
func ParseTopic(name string) (Topic, error) {
	if name == "all" {
		return Anything, nil
	}
	for _, t := range Topics() {
		if string(t) == name {
			return t, nil
		}
	}
	return "", fmt.Errorf("%q is no topic; there are all and %q", name, Topics())
}

// aboutTopics is how many of a hundred programs about anything are about a topic.
const aboutTopics = 40

// GenerateAbout makes a program about a topic; the same seed gives the same program.
func GenerateAbout(t Topic, seed uint64) *Case {
	if t == Anything {
		return Generate(seed)
	}
	switch t {
	case Graphs:
		return graphCase(seed)
	case Chains:
		return chainCase(seed)
	case Steps:
		return stepCase(seed)
	}
	g := newGenerator(seed, "program about "+string(t))
	g.topic = t
	var source string
	switch t {
	case Products:
		source = g.matrixKernel()
		return &Case{Source: source, Trials: g.productTrials(seed)}
	case Attention:
		source = g.attentionKernel()
		return &Case{Source: source, Trials: g.attentionTrials(seed)}
	case Rows:
		source = g.rowsKernel()
		return &Case{Source: source, Trials: g.rowTrials(seed)}
	case Ranges:
		return g.rangesCase(seed)
	case Neighbours:
		return g.neighboursCase(seed)
	case Windows:
		source = g.windowKernel()
		return &Case{Source: source, Trials: g.windowTrials(seed)}
	case Views:
		source = g.viewKernel()
	case Parts:
		source = g.partsFormula()
	case Splits:
		source = g.splitKernel()
	case Generics:
		source = g.genericKernel()
	}
	return &Case{Source: source, Trials: g.runs(seed)}
}

// topicOf is the topic that a program about anything is about; it is drawn apart, so that the other programs stay as they are.
func topicOf(seed uint64) Topic {
	r := random(seed, "topic")
	if r.IntN(100) >= aboutTopics {
		return Anything
	}
	return pick(r, Topics()...)
}
