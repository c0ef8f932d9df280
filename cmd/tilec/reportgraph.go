package main

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"

	"tilec/cmd/tilec/report"
	"tilec/jit"
	"tilec/jit/graph"
	"tilec/jit/stage"
	"tilec/lang"
)

// This file is what a report has of a graph besides the stages of its launches.

// graphSections are the sections of a graph, and its launches, of those that are alike the first.
func (w *reporting) graphSections(options jit.Options) ([]report.Section, []*reportedLaunch, error) {
	g := w.function.Graph
	device, err := lookingAt(w.machine)
	if err != nil {
		return nil, nil, err
	}
	defer device.Close()
	compiler := jit.NewCompiler(device, w.logs)
	forms, err := graphForms(compiler, g, options)
	if err != nil {
		return nil, nil, err
	}
	e, err := graph.Explain(&compiler.Compiler, g, options)
	if err != nil {
		return nil, nil, err
	}
	numbers := make([][]string, len(e.Kinds)) // of the launches of each kind
	for i, l := range e.Order {
		numbers[l.Kind] = append(numbers[l.Kind], fmt.Sprint(i+1))
	}
	var launches []*reportedLaunch
	for i, k := range e.Kinds {
		w.begin("planning " + k.Name)
		x, err := w.explained(k.Spec)
		if err != nil {
			return nil, nil, err
		}
		x.title = launchesText(numbers[i]) + ": " + k.Name
		launches = append(launches, x)
	}
	var said bytes.Buffer
	writeExplanation(&said, g, w.binding, w.machine, e)
	lines := append(launchLines(e, launches), lang.ListedLine{})
	return []report.Section{
		{
			ID: "launches", Title: "Launches", About: "What is launched, in order: how long it is predicted to take, of how many kernels it is one and what that saves, and its plan.",
			Parts: []report.Part{{Lines: append(lines, report.Text(said.String(), w.sources)...)}},
		},
		{
			ID: "graph", Title: "Graph by pass", About: "The launches as the graph is bound, and what each pass changes of them.",
			Parts: []report.Part{{Lines: stage.Differences(forms), Differences: true}},
		},
	}, launches, nil
}

// launchesText names launches by their numbers, of many the first ones.
func launchesText(numbers []string) string {
	const most = 4
	switch n := len(numbers); {
	case n == 1:
		return "launch " + numbers[0]
	case n <= most:
		return "launches " + strings.Join(numbers, ", ")
	default:
		return fmt.Sprintf("launches %s and %d more", strings.Join(numbers[:most-1], ", "), n-most+1)
	}
}

// launchLines is a table with a line for each launch, whose place is its call's.
func launchLines(e *graph.Explanation, launches []*reportedLaunch) lang.Listing {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	var places []lang.Span
	for i, l := range e.Order {
		k := &e.Kinds[l.Kind]
		saves := ""
		if k.Kernels > 1 {
			saves = fmt.Sprintf("%d kernels, saves %s and %s", k.Kernels, microseconds(k.Separate-k.Time), bytesText(k.Bytes))
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", i+1, k.Name, microseconds(k.Time), saves, launches[l.Kind].explained.Plan)
		places = append(places, l.At)
	}
	t.Flush()
	return lang.NewListing(b.String(), places)
}
