package parser

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/jittest/sweep"
	"tilec/lang"
)

// sources are all texts of the repository, with a limit to their length, which keeps the full parses quick.
func sources(t testing.TB) []string {
	var all []string
	require.NoError(t, filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".tile" {
			return err
		}
		text, err := os.ReadFile(path)
		if len(text) < 30_000 {
			all = append(all, string(text))
		}
		return err
	}))
	require.NotEmpty(t, all)
	return all
}

// edited is a text with something in it deleted, inserted, doubled, moved, or called by another name.
func edited(r *rand.Rand, text string) string {
	cut := func(most int) (int, int) {
		a := r.IntN(len(text) + 1)
		return a, min(a+r.IntN(most), len(text))
	}
	a, b := cut(40)
	if r.IntN(20) == 0 {
		a, b = cut(2000)
	}
	switch r.IntN(7) {
	case 0:
		return text[:a] + text[b:]
	case 1:
		c, d := cut(400)
		return text[:a] + text[c:d] + text[a:]
	case 2: // lines
		lines := strings.SplitAfter(text, "\n")
		c := r.IntN(len(lines))
		d := min(c+r.IntN(8), len(lines))
		return strings.Join(append(append(append([]string{}, lines[:c]...), lines[d:]...), lines[c:d]...), "")
	case 3: // a name
		words := strings.FieldsFunc(text, func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') })
		if len(words) == 0 {
			return text
		}
		return strings.ReplaceAll(text, words[r.IntN(len(words))], words[r.IntN(len(words))]+"2")
	case 4: // a line that is put in where one begins
		if at := strings.IndexByte(text[a:], '\n'); at >= 0 {
			a += at + 1
		}
		put := []string{"// comment\n", "/// doc\n", "\n", "const A = (\n", "    let a = 1\n", "kernel k\n", "}\n", "{\n", "import \"std/nn\"\n", "import \"a\"\nx y\n", "+ 1\n", "tune BM in {1}\n",
			"@sizes(M = 1)\n", "fn f(x) = x\n", "kern f() {}\n", "/* a\n", "  const B = 2\n", "a // b\n", "\ufeff", "const \"", "test \"t\" {\n", "\xff", "\r\n"}
		return text[:a] + put[r.IntN(len(put))] + text[a:]
	default:
		put := []string{"let ", "(", "{", "}", "]", "[", ".", "@", "\"", "//", " else ", "\n", "kernel ", "𝒜", "\xff", "\r", "x", "1", "/*", "*/", "-> ", ";", "\n\n"}
		return text[:a] + put[r.IntN(len(put))] + text[a:]
	}
}

// said is all of some diagnostics.
func said(ds lang.Diagnostics) (all []string) {
	for _, d := range ds {
		x := fmt.Sprintf("%s %d-%d %q %q", d.Error(), d.At.Start, d.At.End, d.Label, d.Notes)
		for _, l := range d.Labels {
			x += fmt.Sprintf("\n  %d-%d %s", l.At.Start, l.At.End, l.Text)
		}
		if d.Fix != nil {
			x += "\n  " + d.Fix.Message
			for _, e := range d.Fix.Edits {
				x += fmt.Sprintf("\n  %d-%d %q", e.At.Start, e.At.End, e.New)
			}
		}
		all = append(all, x)
	}
	return all
}

// printed is all of a module: every node with its place, damage and docs.
func printed(m *lang.Module) string {
	var b strings.Builder
	show := func(n lang.Node) {
		for _, at := range lang.Places(n) {
			if at.IsValid() && at.Source != m.Source {
				b.WriteString("of another source ")
			}
			fmt.Fprintf(&b, "%d-%d ", at.Start, at.End)
		}
		lang.Walk(n, func(n lang.Node) bool {
			fmt.Fprintf(&b, "%T ", n)
			return true
		})
		b.WriteString("\n")
	}
	for _, imp := range m.Imports {
		fmt.Fprintf(&b, "import %q ", imp.Path)
		show(imp)
	}
	for _, d := range m.Decls {
		fmt.Fprintf(&b, "%s %q %d ", d.DeclName().Name, d.DocText(), d.SyntaxErrors())
		show(d)
	}
	fmt.Fprintf(&b, "%q %v", m.Lost, m.Partial)
	return b.String()
}

// TestTreeFollowsEdits: after each of many edits the tree and the errors are those of the text parsed anew.
func TestTreeFollowsEdits(t *testing.T) {
	all := sources(t)
	edits := 3000 / sweep.OneIn(3)
	r := rand.New(rand.NewPCG(1, 2))
	kept := 0
	for done := 0; done < edits; {
		text := all[r.IntN(len(all))]
		if r.IntN(2) == 0 {
			text += all[r.IntN(len(all))]
		}
		tree := NewTree("a.tile", text)
		for range 1 + r.IntN(20) {
			before := map[lang.Decl]bool{}
			for _, d := range tree.Module().Decls {
				before[d] = true
			}
			was := text
			for range 1 + r.IntN(2) {
				text = edited(r, text)
			}
			tree.Update(text)
			done++
			m, ds := Parse(lang.NewSource("a.tile", text))
			require.Equal(t, said(ds), said(tree.Diagnostics()), "%q became %q", was, text)
			require.Equal(t, printed(m), printed(tree.Module()), "%q became %q", was, text)
			for _, d := range tree.Module().Decls {
				if before[d] {
					kept++
				}
			}
		}
	}
	require.Greater(t, kept, edits)
}

// TestTreeKeepsDeclarations: what a change does not touch is the same node, at its new place.
func TestTreeKeepsDeclarations(t *testing.T) {
	const text = "const A = 1\n\n/// doc\nfn f(x) = x + A\n\nconst B = 2\nconst C = 3\nconst D = 4\n"
	tree := NewTree("a.tile", text)
	old := tree.Module()
	tree.Update(strings.Replace(text, "x + A", "x +\n    A", 1))
	now := tree.Module()
	require.Len(t, now.Decls, 5)
	for i := range now.Decls {
		require.Equal(t, i != 1, now.Decls[i] == old.Decls[i], now.Decls[i].DeclName().Name)
		require.Same(t, now.Source, now.Decls[i].Span().Source)
	}
	require.Equal(t, "const D = 4", now.Decls[4].Span().Text())
}

func BenchmarkTreeUpdate(b *testing.B) {
	text := strings.Repeat("kernel k(x: f32[N]) -> y: f32[N]\n    grid i in N by B\n{\n    let a = x[i] * 2\n    y[i] = a + 1\n}\n", 800)
	tree := NewTree("a.tile", text)
	at := len(text) / 2
	at += strings.IndexByte(text[at:], '\n')
	b.ResetTimer()
	for i := range b.N {
		tree.Update(text[:at] + fmt.Sprint(" // ", i) + text[at:])
	}
}
