package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"tilec/jit/graph"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// explainGraph says what the launches of a graph are, what was fused into what and what that saves, and what was not and why.
func (a *app) explainGraph(program *typed.Program, name string, args []*argument, machine target.Machine) error {
	g, err := chooseGraph(program, name, "behind the file's name")
	if err != nil {
		return err
	}
	b, err := a.sizesOf(program, g, args)
	if err != nil {
		return err
	}
	device, err := lookingAt(machine)
	if err != nil {
		return err
	}
	defer device.Close()
	e, err := graph.Explain(&a.compiler(device).Compiler, g, b.options(""))
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(graphPageOf(g, b, machine, e))
	}
	writeExplanation(a.stdout, g, b, machine, e)
	return nil
}

// explainedFor are the element types, the sizes and the constants that a graph is explained for: those given, or those of its @sizes and its defaults.
func explainedFor(g *typed.Graph, b *binding) (types map[*typed.TypeParam]lang.DType, sizes map[*size.Symbol]int64, consts map[*size.Symbol]lang.Literal) {
	types, sizes, consts = maps.Clone(b.types), map[*size.Symbol]int64{}, map[*size.Symbol]lang.Literal{}
	for _, p := range g.TypeParams {
		if hint, ok := g.TypeHints[p]; ok {
			if _, given := types[p]; !given {
				types[p] = hint
			}
		}
	}
	for _, d := range g.Dims {
		n, ok := b.given[d.Name]
		if !ok {
			n = g.SizeHints[d]
		}
		sizes[d] = n
	}
	for _, c := range g.Consts {
		if l, ok := b.consts[c]; ok {
			consts[c] = l
		} else if c.Default != nil {
			consts[c] = *c.Default
		}
	}
	return types, sizes, consts
}

// writeExplanation prints an explanation.
func writeExplanation(w io.Writer, g *typed.Graph, b *binding, machine target.Machine, e *graph.Explanation) {
	types, dims, consts := explainedFor(g, b)
	var sizes []string
	for _, p := range g.TypeParams {
		if d, ok := types[p]; ok {
			sizes = append(sizes, p.Name+"="+d.String())
		}
	}
	for _, d := range g.Dims {
		sizes = append(sizes, fmt.Sprintf("%s=%d", d.Name, dims[d]))
	}
	for _, c := range g.Consts {
		sizes = append(sizes, c.Name+"="+formatScalar(consts[c]))
	}
	fmt.Fprintf(w, "%s on %s, for %s\n", g.Name, machine.Name, strings.Join(sizes, " "))
	fmt.Fprintf(w, "%d launches, of %d calls. Predicted: %s, %s less than with a launch for each call. %s less are written and read.\n",
		e.Launches, e.Calls, microseconds(e.Time), microseconds(e.Separate-e.Time), bytesText(e.Bytes))
	fmt.Fprintf(w, "\nEach saves so many launches, so much time and so many bytes against a launch for each of its kernels:\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, k := range e.Kinds {
		fmt.Fprintf(t, "  %d x\t%s\t%s", k.Launches, k.Name, microseconds(k.Time))
		if k.Kernels > 1 {
			fmt.Fprintf(t, "\tsaves %d\t%s\t%s", k.Kernels-1, microseconds(k.Separate-k.Time), bytesText(k.Bytes))
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	if len(e.Notes) > 0 {
		fmt.Fprintf(w, "\nLess is computed than the graph says:\n")
		var lines []string
		times := map[string]int{}
		for _, n := range e.Notes {
			if times[n.Text]++; times[n.Text] == 1 {
				lines = append(lines, n.Text)
			}
		}
		for _, line := range lines {
			fmt.Fprintf(w, "  %d x  %s\n", times[line], line)
		}
	}
	if len(e.Apart) > 0 {
		fmt.Fprintf(w, "\nThese could be one launch and stay two:\n")
		for _, p := range e.Apart {
			fmt.Fprintf(w, "  %d x  %s, then %s:\n        %s\n", p.Pairs, p.First, p.Second, p.Why)
		}
	}
}

// microseconds is a time in words.
func microseconds(seconds float64) string { return fmt.Sprintf("%.1f us", seconds*1e6) }

// bytesText is a number of bytes in words.
func bytesText(n int64) string {
	units := []string{"B", "KB", "MB", "GB"}
	f, u := float64(n), 0
	for f >= 1000 && u < len(units)-1 {
		f, u = f/1000, u+1
	}
	if u == 0 {
		return fmt.Sprintf("%d %s", n, units[u])
	}
	return fmt.Sprintf("%.1f %s", f, units[u])
}

// generating is the graph that generates text, where a file has one; the graph that a tool looks at when nobody names one.
func generating(graphs []*typed.Graph) *typed.Graph {
	if i := slices.IndexFunc(graphs, func(g *typed.Graph) bool { return g.Generate }); i >= 0 {
		return graphs[i]
	}
	return nil
}
