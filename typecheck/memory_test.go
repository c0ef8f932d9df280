package typecheck_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/lang"
	"tilec/parser"
	"tilec/stdlib"
	"tilec/typecheck"
)

// imported is the text of a file that a test imports: that of the standard library, or one that the test changes.
func imported(path, own string) (string, bool) {
	if path == "own" {
		return own, true
	}
	text, err := stdlib.FS.ReadFile(strings.TrimPrefix(path, "std/") + ".tile")
	return string(text), err == nil
}

// said is all of some diagnostics.
func said(ds lang.Diagnostics) (all []string) {
	at := func(s lang.Span) string {
		if !s.IsValid() {
			return "nowhere"
		}
		return fmt.Sprintf("%s %d-%d", s.Source.Path, s.Start, s.End)
	}
	for _, d := range ds {
		x := fmt.Sprintf("%s %s %q %q", d.Error(), at(d.At), d.Label, d.Notes)
		for _, l := range d.Labels {
			x += "\n  " + at(l.At) + " " + l.Text
		}
		if d.Fix != nil {
			x += "\n  " + d.Fix.Message
			for _, e := range d.Fix.Edits {
				x += fmt.Sprintf("\n  %s %q", at(e.At), e.New)
			}
		}
		all = append(all, x)
	}
	return all
}

// remembering is a file that is edited, and one that it imports, with what is known from before.
type remembering struct {
	memory typecheck.Memory
	trees  map[string]*parser.Tree
}

func (r *remembering) module(path, text string) *lang.Module {
	if r.trees[path] == nil {
		r.trees[path] = parser.NewTree(path, text)
	}
	r.trees[path].Update(text)
	return r.trees[path].Module()
}

// again checks a text with what is known, and gives the number of bodies that were typed.
func (r *remembering) again(text, own string) (x *typecheck.Checked, bodies int) {
	modules := map[string]*lang.Module{}
	x = r.memory.Check(r.module("root.tile", text), func(path string, _ *lang.Module, _ lang.Span) (*lang.Module, lang.Diagnostics) {
		if text, ok := imported(path, own); ok && modules[path] == nil {
			modules[path] = r.module(path, text)
		}
		return modules[path], nil
	})
	for _, b := range x.Bodies {
		if b.Typed != nil {
			bodies++
		}
	}
	return x, bodies
}

func fresh(text, own string) (errors, warnings lang.Diagnostics) {
	m, _ := parser.Parse(lang.NewSource("root.tile", text))
	modules := map[string]*lang.Module{}
	p, ds := typecheck.Check(m, func(path string, _ *lang.Module, _ lang.Span) (*lang.Module, lang.Diagnostics) {
		if text, ok := imported(path, own); ok && modules[path] == nil {
			modules[path], _ = parser.Parse(lang.NewSource(path, text))
		}
		return modules[path], nil
	})
	return ds, p.Warnings
}

// changed is a text with some of its tokens deleted, repeated, swapped or called by other names, or some lines moved.
func changed(r *rand.Rand, text string) string {
	ts := tokens(text)
	if len(ts) < 2 {
		return text + "const A = 1\n"
	}
	at, other := r.IntN(len(ts)), r.IntN(len(ts))
	switch r.IntN(9) {
	case 0:
		ts[at] = ""
	case 1:
		ts[at] += ts[other]
	case 2:
		ts[at], ts[other] = ts[other], ts[at]
	case 3:
		if strings.TrimSpace(ts[at]) != "" {
			ts[at] = []string{"i", "x", "y", "N", "f32", "T", "sum", "gelu", "exp", "f"}[r.IntN(10)]
		}
	case 4: // a name everywhere
		from, to := ts[at], ts[other]
		for i := range ts {
			if ts[i] == from && strings.TrimSpace(from) != "" {
				ts[i] = to
			}
		}
	case 5:
		lines := strings.SplitAfter(text, "\n")
		c := r.IntN(len(lines))
		d := min(c+r.IntN(20), len(lines))
		e := min(c+r.IntN(5), d)
		return strings.Join(append(append(append([]string{}, lines[:c]...), lines[d:]...), lines[c:e]...), "")
	case 6:
		return text[:len(text)/2] + "\nimport \"own\"\nimport \"std/nn\"\n" + text[len(text)/2:]
	case 7:
		put := []string{"\nconst A = 1\n", "\nfn f(x) = x + A\n", "\nkernel k(x: f32[N]) -> y: f32[N] { y[i] = f(x[i]) }\n", "\ngraph g(x: f32[N]) -> y: f32[N] { y = k(x) }\n",
			"\ntest \"t\" {\n    check f(1) == 2\n}\n", "\n/// doc\n", "\nstruct S { f: f32[N] }\n", "\nfn f(x) = g(x)\nfn g(x) = f(x)\n", "\nkernel bad(x) -> y: f32[N] { y[i] = x[i] }\n"}
		at := strings.Index(text[len(text)*r.IntN(5)/5:], "\n\n") + 1
		return text[:at] + put[r.IntN(len(put))] + text[at:]
	case 8:
		return text[:at] + "\n" + text[at:]
	}
	return strings.Join(ts, "")
}

// TestMemoryTypesWhatDepends: of a program that changes, the bodies are typed that depend on the change, and no others.
func TestMemoryTypesWhatDepends(t *testing.T) {
	const program = `const TWO = 2.0
fn f(x) = x * TWO
fn g(x) = f(x) + 1
kernel scale(x: f32[N]) -> y: f32[N] {
    y[i] = g(x[i])
}
kernel copy(x: f32[N]) -> y: f32[N] {
    y[i] = x[i]
}
graph run(x: f32[N]) -> y: f32[N] {
    y = scale(copy(x))
}
kernel wrong(x: f32[N]) -> y: f32[N] {
    y[i] = scae(x[i])
}
`
	mem := &remembering{trees: map[string]*parser.Tree{}}
	text := program
	becomes := func(why string, want []string, pairs ...string) {
		t.Helper()
		text = strings.NewReplacer(pairs...).Replace(program)
		x, _ := mem.again(text, "")
		got := []string{}
		for _, b := range x.Bodies {
			if b.Typed != nil {
				got = append(got, b.Decl.DeclName().Name)
			}
		}
		require.Equal(t, want, got, why)
	}
	becomes("all is new", []string{"scale", "copy", "wrong", "run"})
	becomes("nothing has changed", []string{})
	becomes("a comment", []string{}, "const", "// a comment\nconst")
	becomes("a body", []string{"copy"}, "= x[i]", "= x[i] + 1")
	becomes("and back", []string{"copy"})
	becomes("a header", []string{"copy", "run"}, "copy(x: f32[N])", "copy(x: f32[N], s: f32 = 1.0)")
	becomes("and back", []string{"copy", "run"})
	becomes("what a function that is called calls uses", []string{"scale"}, "2.0", "3.0")
	becomes("and back", []string{"scale"})
	becomes("a name that may have been meant", []string{"wrong"}, "const TWO", "fn scaer(x) = x\nconst TWO")
	becomes("a declaration that is no more", []string{"wrong", "run"}, "kernel copy(x: f32[N]) -> y: f32[N] {\n    y[i] = x[i]\n}\n", "")
}

// TestMemoryForgetsNothing: after each of many edits, of the file and of one that it imports, what is said is what a
// check without memory says.
func TestMemoryForgetsNothing(t *testing.T) {
	all := sources(t)
	r := rand.New(rand.NewPCG(memorySeed, 2))
	edits := memoryEdits
	if testing.Short() {
		edits = 100
	}
	kept, typed := 0, 0
	for done := 0; done < edits; {
		text, own := "", all[r.IntN(len(all))]
		for range 1 + r.IntN(5) {
			text += all[r.IntN(len(all))]
		}
		if len(text) > 20_000 || len(own) > 20_000 {
			continue
		}
		mem := &remembering{trees: map[string]*parser.Tree{}}
		undo := []string{text}
		for range 1 + r.IntN(15) {
			was, ownWas := text, own
			switch r.IntN(8) {
			case 0:
				own = changed(r, own)
			case 1:
				text = undo[r.IntN(len(undo))]
			default:
				text = changed(r, text)
				undo = append(undo, text)
			}
			if len(text) > 40_000 {
				break
			}
			x, bodies := mem.again(text, own)
			typed, kept = typed+bodies, kept+len(x.Bodies)-bodies
			done++
			errors, warnings := fresh(text, own)
			require.Equal(t, said(errors), said(x.Errors), "%q became %q with own %q that became %q", was, text, ownWas, own)
			require.Equal(t, said(warnings), said(x.Warnings), "%q became %q with own %q that became %q", was, text, ownWas, own)
		}
	}
	require.Greater(t, kept, typed/2)
}

// How TestMemoryForgetsNothing begins, and how many edits it makes.
var memorySeed, memoryEdits = uint64(1), 250
