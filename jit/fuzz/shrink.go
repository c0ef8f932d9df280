package fuzz

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"tilec/jit/backend"
	"tilec/lang"
	"tilec/parser"
)

// This file makes a failing case smaller: it edits the text of the program by
// the places of its syntax tree and keeps each edit after which the program
// still type-checks and still fails in the same way.

// shrinkTime bounds the time spent on one finding.
const shrinkTime = 15 * time.Second

// maxShrunk is how many findings of one cause are made smaller: more of them tell no more.
const maxShrunk = 4

// Shrink makes findings smaller until the context ends, the first of each cause
// first, and gives each to done, one at a time.
func Shrink(ctx context.Context, d backend.Device, jobs int, findings []*Finding, done func(*Finding)) {
	c := newChecker(d)
	seen := map[string]int{}
	turn := make(map[*Finding]int, len(findings))
	for _, f := range findings {
		turn[f] = seen[f.Cause]
		seen[f.Cause]++
	}
	queue := slices.DeleteFunc(slices.Clone(findings), func(f *Finding) bool {
		return f.Small || f.Kind == Rejected || f.Kind == Hang || turn[f] >= maxShrunk
	})
	slices.SortStableFunc(queue, func(a, b *Finding) int { return cmp.Compare(turn[a], turn[b]) })
	var mu sync.Mutex
	var workers sync.WaitGroup
	next := make(chan *Finding)
	for range max(1, jobs) {
		workers.Go(func() {
			for f := range next {
				cs, err := ParseCase(f.Case)
				if err != nil {
					continue
				}
				small, p := c.shrink(ctx, cs, &Problem{f.Kind, f.Problem})
				g := finding(f.Seed, p, small)
				g.Small = true
				mu.Lock()
				done(g)
				mu.Unlock()
			}
		})
	}
	for _, f := range queue {
		if ctx.Err() != nil || c.alive() != nil {
			break
		}
		next <- f
	}
	close(next)
	workers.Wait()
}

// trial is the launch of a case with one; nothing where it has none.
func (c *Case) trial() Trial {
	if len(c.Trials) == 0 {
		return Trial{}
	}
	return c.Trials[0]
}

func (c *checker) shrink(ctx context.Context, cs *Case, p *Problem) (*Case, *Problem) {
	if len(cs.Trials) == 0 && p.Kind == Wrong {
		return cs, p // what its test says is of this graph, and of no smaller one
	}
	ctx, cancel := context.WithTimeout(ctx, shrinkTime)
	defer cancel()
	kind := p.Kind
	try := func(source string, r Trial) bool {
		if ctx.Err() != nil {
			return false
		}
		if len(cs.Trials) == 0 {
			_, q := c.runTests(&Case{Source: source})
			if q == nil || q.Kind != kind {
				return false
			}
			cs, p = &Case{Source: source}, q
			return true
		}
		if cs.isChain() {
			_, q := c.checkChain(source, r)
			if q == nil || q.Kind != kind {
				return false
			}
			cs, p = &Case{Source: source, Trials: []Trial{r}}, q
			return true
		}
		k, q := load(source)
		if q == nil {
			if len(k.Dims) == 0 && len(r.Dims) > 0 {
				r.Dims = nil
			}
			_, q = c.check(k, r)
		}
		if q == nil || q.Kind != kind {
			return false
		}
		cs, p = &Case{Source: source, Trials: []Trial{r}}, q
		return true
	}
	for again := true; again && ctx.Err() == nil; {
		again = c.shrinkRun(cs, try)
		for edit := 0; ctx.Err() == nil; {
			es := edits(cs.Source)
			if edit >= len(es) {
				break
			}
			if try(es[edit], cs.trial()) {
				again = true
				continue // the tree has changed, and with it the edits
			}
			edit++
		}
	}
	if source := tidied(cs.Source); source != cs.Source {
		cs = &Case{Source: source, Trials: cs.Trials}
	}
	return cs, p
}

// tidied is a source without the empty lines that edits leave.
func tidied(source string) string {
	var lines []string
	for _, line := range strings.Split(source, "\n") {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// shrinkRun tries simpler sizes, plans and inputs.
func (c *checker) shrinkRun(cs *Case, try func(string, Trial) bool) (changed bool) {
	if len(cs.Trials) == 0 {
		return false
	}
	attempt := func(r Trial) {
		if try(cs.Source, r) {
			cs.Trials[0], changed = r, true
		}
	}
	for _, name := range sortedKeys(cs.Trials[0].Pins) {
		r := cs.Trials[0]
		r.Pins = maps.Clone(r.Pins)
		delete(r.Pins, name)
		attempt(r)
	}
	if r := cs.Trials[0]; r.Precision != "" {
		r.Precision = ""
		attempt(r)
	}
	if r := cs.Trials[0]; r.Style != Small {
		for _, s := range styles[:slices.Index(styles, r.Style)] {
			r.Style = s
			attempt(r)
		}
	}
	for _, name := range sortedKeys(cs.Trials[0].Dims) {
		for _, n := range []int64{1, 2, 3, 5, 8, 16, 17, 33} {
			r := cs.Trials[0]
			if n >= r.Dims[name] {
				break
			}
			r.Dims = maps.Clone(r.Dims)
			r.Dims[name] = n
			before := changed
			attempt(r)
			if changed && !before || cs.Trials[0].Dims[name] == n {
				break
			}
		}
	}
	return changed
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// edits lists sources that are a step smaller, the boldest first.
func edits(source string) []string {
	m, ds := parser.Parse(lang.NewSource("fuzz.tile", source))
	if len(ds) > 0 {
		return nil
	}
	e := &editor{source: source, used: map[string]int{}}
	for _, d := range m.Decls {
		lang.Walk(d, func(n lang.Node) bool {
			if name, ok := n.(*lang.NameExpr); ok {
				e.used[name.Name]++
			}
			return true
		})
	}
	for _, d := range m.Decls {
		e.declaration(d)
		lang.Walk(d, e.node)
	}
	sort.SliceStable(e.found, func(i, j int) bool { return len(e.found[i]) < len(e.found[j]) })
	return e.found
}

type editor struct {
	source string
	used   map[string]int
	found  []string
}

// replace is the source with other text at a span.
func (e *editor) replace(at lang.Span, text string) {
	s := e.source[:at.Start] + text + e.source[at.End:]
	if s != e.source {
		e.found = append(e.found, s)
	}
}

func (e *editor) declaration(d lang.Decl) {
	name := d.DeclName().Name
	k, ok := d.(*lang.KernelDecl)
	if !ok {
		if e.used[name] == 0 {
			e.replace(d.Span(), "")
		}
		return
	}
	for _, a := range k.Attrs {
		e.replace(a.Place, "")
	}
	e.items(params(k.Params), "kernel "+name)
	e.items(params(k.Outputs), "->")
	if len(k.Tunes) > 0 {
		first, last := k.Tunes[0].Place, k.Tunes[len(k.Tunes)-1].Place
		at := strings.LastIndex(e.source[:first.Start], "tune")
		e.found = append(e.found, e.source[:at]+e.source[last.End:])
	}
	e.items(clauses(k.Grid), "grid")
}

func params(ps []*lang.Param) (spans []lang.Span) {
	for _, p := range ps {
		spans = append(spans, p.Place)
	}
	return spans
}

func clauses(as []*lang.AxisClause) (spans []lang.Span) {
	for _, a := range as {
		spans = append(spans, a.Place)
	}
	return spans
}

// items removes each item of a list with its comma.
func (e *editor) items(spans []lang.Span, before string) {
	for i, s := range spans {
		switch {
		case i+1 < len(spans):
			e.found = append(e.found, e.source[:s.Start]+e.source[spans[i+1].Start:])
		case i > 0:
			e.found = append(e.found, e.source[:spans[i-1].End]+e.source[s.End:])
		case strings.HasPrefix(before, "kernel"):
			e.replace(s, "")
		case before == "->":
			e.found = append(e.found, strings.Replace(e.source[:s.Start], "-> ", "", 1)+e.source[s.End:])
		}
	}
}

func (e *editor) node(n lang.Node) bool {
	at := n.Span()
	operands := func(xs ...lang.Expr) {
		for _, x := range xs {
			if x != nil {
				e.replace(at, x.Span().Text())
			}
		}
	}
	switch n := n.(type) {
	case *lang.LetStmt, *lang.AxisStmt, *lang.AssignStmt, *lang.ExprStmt:
		e.replace(at, "")
	case *lang.UnaryExpr:
		operands(n.X)
	case *lang.BinaryExpr:
		operands(n.X, n.Y)
	case *lang.CastExpr:
		operands(n.X)
	case *lang.CallExpr:
		for _, a := range n.Args {
			operands(a.Value)
		}
		if len(n.Over) > 1 {
			e.replace(n.Over[0].Place.To(n.Over[len(n.Over)-1].Place), n.Over[0].Name)
		}
	case *lang.IfExpr:
		e.block(at, n.Then)
		if b, ok := n.Else.(*lang.Block); ok {
			e.block(at, b)
		}
	case *lang.ForExpr:
		if n.Init != nil {
			e.replace(at, n.Init.Span().Text())
		}
		if n.Axis.Range != nil {
			e.replace(n.Axis.Range.Place, "")
		}
		e.carried(n)
	case *lang.IndexExpr:
		for _, i := range n.Indices {
			e.constants(i)
		}
	}
	if x, ok := n.(lang.Expr); ok {
		e.constants(x)
	}
	return true
}

// block puts what a block gives in the place of a choice.
func (e *editor) block(at lang.Span, b *lang.Block) {
	if len(b.Stmts) == 1 {
		e.replace(at, b.Stmts[0].Span().Text())
	}
}

// constants tries literals in the place of an expression.
func (e *editor) constants(x lang.Expr) {
	switch x.(type) {
	case *lang.IntLit, *lang.FloatLit, *lang.BoolLit, *lang.TupleExpr, *lang.Block, *lang.RangeExpr, *lang.MapExpr:
		return
	case *lang.NameExpr:
		if len(x.Span().Text()) < 2 {
			return
		}
	}
	for _, text := range []string{"0", "1", "true"} {
		e.replace(x.Span(), text)
	}
	for _, text := range []string{"f32", "i32"} {
		if c, ok := x.(*lang.CastExpr); !ok || c.Type.Place.Text() != text {
			e.replace(x.Span(), fmt.Sprintf("(1 as %s)", text))
		}
	}
}

// carried drops one of the values that a loop carries, where they are written as tuples.
func (e *editor) carried(n *lang.ForExpr) {
	init, ok := n.Init.(*lang.TupleExpr)
	if !ok || len(init.Elems) < 2 || len(n.Body.Stmts) == 0 {
		return
	}
	last, ok := n.Body.Stmts[len(n.Body.Stmts)-1].(*lang.ExprStmt)
	if !ok {
		return
	}
	next, ok := last.X.(*lang.TupleExpr)
	if !ok || len(next.Elems) != len(init.Elems) || len(n.Carried) != len(init.Elems) {
		return
	}
	// The names that the loop's values are bound to stand before it.
	before := strings.LastIndex(e.source[:n.Place.Start], "let (")
	if before < 0 || strings.Contains(e.source[before:n.Place.Start], "\n") {
		return
	}
	list := e.source[before+len("let (") : n.Place.Start]
	names := strings.Split(list[:max(0, strings.Index(list, ")"))], ", ")
	if len(names) != len(init.Elems) {
		return
	}
	for drop := range names {
		keep := func(texts []string) string { return tuple(slices.Delete(slices.Clone(texts), drop, drop+1)) }
		var carried, start, end []string
		for i := range names {
			carried = append(carried, n.Carried[i].Name)
			start = append(start, init.Elems[i].Span().Text())
			end = append(end, next.Elems[i].Span().Text())
		}
		header := e.source[n.Place.Start:n.Carried[0].Place.Start]
		header = strings.TrimSuffix(header, "(")
		body := e.source[n.Body.Place.Start:last.Place.Start]
		text := "let " + keep(names) + " = " + header + keep(carried) + " = " + keep(start) + " " + body + keep(end) + "\n}"
		e.found = append(e.found, e.source[:before]+text+e.source[n.Place.End:])
	}
}
