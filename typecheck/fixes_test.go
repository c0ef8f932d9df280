package typecheck_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/jittest/sweep"
	"tilec/lang"
	"tilec/parser"
	"tilec/typecheck"
)

// TestFixes applies every proposed edit to the program that it is for: the result parses, the error is
// gone, and no other has come to its place.
func TestFixes(t *testing.T) {
	applied := 0
	for _, text := range slices.Concat(sources(t), examples(t)) {
		applied += applyFixes(t, text, false)
	}
	assert.Greater(t, applied, 140)
}

// TestFixesHoldTogether does so where operands of every form stand in every place. Many of these programs have a second error,
// which the first one hid; but a conversion is of the operand that the error is about, as a whole.
func TestFixesHoldTogether(t *testing.T) {
	applied := 0
	for i, text := range operandPrograms() {
		if i%sweep.OneIn(5) == 0 {
			applied += applyFixes(t, text, true)
		}
	}
	assert.Greater(t, applied, 400)
}

// conversion is what an edit that converts an operand writes.
var conversion = regexp.MustCompile(`(?s)^\(?.* as (\w+)\)?$`)

// applyFixes tries each fix of a program by itself, and gives their number. Where it may, an error that the
// first one hid comes to its place.
func applyFixes(t *testing.T, text string, hides bool) (applied int) {
	before := checkText(text)
	for _, d := range before {
		if d.Fix == nil || len(d.Fix.Edits) == 0 {
			continue
		}
		applied++
		fixed := apply(text, d.Fix.Edits)
		after := checkText(fixed)
		failed := func(why string, other *lang.Diagnostic) {
			t.Errorf("%s\nthe fix, %s, %s: %v\n%s", d, d.Fix.Message, why, other, lineAt(fixed, d.At.Start))
		}
		if conversion.MatchString(d.Fix.Edits[0].New) && d.Code != lang.ErrNameKind {
			whole := slices.Clone(d.Fix.Edits) // each operand in brackets of its own
			for i, e := range whole {
				m := conversion.FindStringSubmatch(e.New)
				require.NotNil(t, m, "%s converts and does something else", d)
				whole[i].New = "((" + e.At.Text() + ") as " + m[1] + ")"
			}
			assert.Equal(t, tree(t, apply(text, whole)), tree(t, fixed), "%s\n%s", d, lineAt(fixed, d.At.Start))
		}
		// What was found elsewhere before may be found again, moved by the edit.
		old := map[string]int{}
		for _, o := range before {
			old[string(o.Code)+o.Message]++
		}
		old[string(d.Code)+d.Message]--
		for _, a := range after {
			key := string(a.Code) + a.Message
			known := old[key] > 0
			old[key]--
			switch isSyntax := a.Code < lang.ErrUnknownName; {
			case known:
			case a.Code == d.Code && a.Message == d.Message && a.At.Start == d.At.Start:
				failed("does not help", a)
			case isSyntax && d.Code >= lang.ErrUnknownName:
				failed("does not parse", a)
			case !isSyntax && d.Code < lang.ErrUnknownName:
				// What could not be read before is checked now.
			case !hides && touches(a, d.Fix.Edits):
				failed("brings another error", a)
			}
		}
	}
	return applied
}

// tree is the syntax of a program.
func tree(t *testing.T, text string) string {
	var b strings.Builder
	m, _ := parser.Parse(lang.NewSource("x.tile", text))
	require.NoError(t, parser.Print(&b, m))
	return b.String()
}

func checkText(text string) lang.Diagnostics {
	m, ds := parser.Parse(lang.NewSource("x.tile", text))
	_, more := typecheck.Check(m, nil)
	return append(ds, more...).Sort()
}

// touches reports an error at the new text of an edit.
func touches(d *lang.Diagnostic, edits []lang.Edit) bool {
	moved := 0
	for _, e := range slices.SortedFunc(slices.Values(edits), func(a, b lang.Edit) int { return a.At.Start - b.At.Start }) {
		start := e.At.Start + moved
		if d.At.Start <= start+len(e.New) && start <= d.At.End {
			return true
		}
		moved += len(e.New) - (e.At.End - e.At.Start)
	}
	return false
}

func lineAt(text string, offset int) string {
	offset = min(offset, len(text))
	end := strings.IndexByte(text[offset:], '\n')
	if end < 0 {
		end = len(text) - offset
	}
	return text[strings.LastIndexByte(text[:offset], '\n')+1 : offset+end]
}

func apply(text string, edits []lang.Edit) string {
	edits = slices.Clone(edits)
	sort.Slice(edits, func(i, j int) bool { return edits[i].At.Start > edits[j].At.Start })
	for _, e := range edits {
		text = text[:e.At.Start] + e.New + text[e.At.End:]
	}
	return strings.ToValidUTF8(text, "?")
}

// examples are the programs in the documentation.
func examples(t *testing.T) []string {
	var all []string
	paths, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	for _, p := range append(paths, "../README.md") {
		text, err := os.ReadFile(p)
		require.NoError(t, err)
		for i, block := range strings.Split(string(text), "```") {
			if program, ok := strings.CutPrefix(block, "tile\n"); ok && i%2 == 1 {
				all = append(all, program)
			}
		}
	}
	require.NotEmpty(t, all)
	return all
}

// binds is a place whose neighbours take less than an operand without brackets.
var binds = regexp.MustCompile(`\*\* @|@ \*\*|[-~]@|else @|not @|@ as`)

// operandPrograms put operands of wrong types, in every form that an expression has, into every place that an operand may
// have: what a fix writes around it must hold together there.
func operandPrograms() []string {
	operands := []string{
		"n[i]", "-n[i]", "~n[i]", "n[i] + n[i]", "n[i] * n[i]", "n[i] // 2", "n[i] << 1", "n[i] & 1", "n[i] > 0", "not c[i]", "c[i] and c[i]",
		"index(i)", "i.start", "m", "x[i]", "-x[i]", "x[i] + x[i]", "x[i] as i32", "-x[i] as i32", "h[i]", "h[i] as f32 as f16", "x[i] ** x[i]", "2.5", "7", "-7", "c[i]", "true",
		"n[i + 1] else 0", "n[i + 1]", "x[i + 1]", "c[i + 1]", "g(n[i])", "g(n[i]) + 1", "max(n[i], 3)", "where(c[i], n[i], 0)", "sum(z[k, i], over k)",
		"if N > 1 { n[i] } else { m }", "for j in M with s = n[i] { s + 1 }", "n[i] @evict_first", "n.shape[0]", "n[i]\n        + n[i]", "n[i] // 2 + // two\n        1",
	}
	places := []string{
		"y[i] = @", "let a = @\n    y[i] = a", "y[i] = x[i] + @", "y[i] = @ + x[i]", "y[i] = x[i] - @ * 2.0", "y[i] = x[i] * @", "y[i] = @ * x[i]", "y[i] = x[i] / @",
		"y[i] = x[i] ** @", "y[i] = @ ** x[i]", "y[i] = @ ** 2", "y[i] = 2 ** @", "y[i] = -@ + x[i]", "y[i] = -@ ** 2", "y[i] = -@", "y[i] = x[i] - -@", "y[i] = (@ as i32) + x[i]",
		"y[i] = @ as f32 + 1", "y[i] = exp(@)", "y[i] = max(x[i], @)", "y[i] = x[i + 1] else @", "y[i] = (x[i + 1] else @) + 1", "y[i] = where(x[i] > @, x[i], 0)", "y[i] = where(@, x[i], 0)",
		"y[i] = where(not @, x[i], 0)", "y[i] = where(@ and c[i], x[i], 0)", "y[i] = where(c[i] or @, x[i], 0)", "y[i] = where(c[i], @, x[i])", "y[i] = x[@] else 0", "y[i] = x[@]", "y[@] = x[i]",
		"y[i] = x[@ + 1] else 0", "y[i] = if @ { x[i] } else { 0 }", "y[i] = if N > 1 { @ } else { x[i] }", "y[i] = if N > 1 { x[i] } else { @ }", "y[i] = p(x[i], @)", "y[i] = q(x[i], @)", "y[i] = r(@)",
		"y[i] = sum(z[k, i] * @, over k)", "y[i] = sum(@, over k)", "y[i] = mean(@, over k)", "y[i] = for j in M with s = zeros(f32, i) { s + @ }", "y[i] = for j in M with s = @ { s + x[i] }",
		"y[i] = for j in M[@ ..] with s = zeros(f32, i) { s + x[i] }", "y[i] = full(f32, @, i)", "y[i] = rand(@, i)", "y[i] = fma(x[i], @, x[i])", "y[i] = (n[i] & @) as f32", "y[i] = (n[i] << @) as f32",
		"y[i] = (n[i] // @) as f32", "y[i] = (@ // 2) as f32", "y[i] = (@ % 2) as f32", "y[i] = ~@", "y[i] = pick(z[k, i], k, @)", "y[i] = pick(z[k, i], k, @) ** 2", "y[i] = sqrt(@) ** 2", "y[i] = (@)", "y[i] = (@) ** 2",
		"y[i] = bitcast(@, f32)", "y[i] = clamp(x[i], @, 2.0)", "assert(@, \"text\")\n    y[i] = x[i]", "print(\"{}\", @)\n    y[i] = x[i]", "atomic_add(u[i], @)\n    y[i] = x[i]", "let a = atomic_add(u[@], 1)\n    y[i] = x[i]",
	}
	const head = "fn g(a) = a\nfn p(a, b: f32) = a + b\nfn q<T: any>(a: T, b: T) = a\nfn r(a) -> f32 = a\n" +
		"kernel k(x: f32[N], n: i32[N], h: f16[N], c: bool[N], z: f32[M, N], m: i32, inout u: f32[N]) -> y: f32[N]\n    grid i in N by B\n{\n    axis k in M\n    "
	var all []string
	add := func(head, place string, operands []string) {
		for _, o := range operands {
			all = append(all, head+strings.Replace(place, "@", o, 1)+"\n}\n")
			if binds.MatchString(place) {
				all = append(all, head+strings.Replace(place, "@", "("+o+")", 1)+"\n}\n")
			}
		}
	}
	for _, place := range places {
		add(head, place, operands)
	}
	const graph = "fn p(a, b: f32) = a + b\nkernel t(x: f32[N], s: f32) -> y: f32[N] { y[i] = x[i] * s }\ngraph g(x: f32[N], n: i32[N], c: bool[N], h: f16[N], m: i32, s: f32) -> y: f32[N] {\n    "
	for _, place := range []string{"y = @", "y = x + @", "y = @ + x", "y = x * @ + 1", "y = @ ** x", "y = x ** @", "y = @ ** 2", "y = -@", "y = -@ ** 2", "y = exp(@)", "y = where(@, x, x)", "y = where(c, @, x)",
		"y = where(c and @, x, x)", "y = t(@, s)", "y = t(x, @)", "y = p(x, @)", "y = if @ { x } else { x + 1 }", "y = for j in 3 with a = x { a + @ }", "y = for j in 3 with a = @ { a + x }", "let a = @\n    y = a", "y = x[@ ..]",
		"y = full(f32, @, [N])", "y = rand(f32, [N], @)"} {
		add(graph, place, []string{"n", "-n", "n + n", "n * n", "c", "not c", "c and c", "h", "m", "m + 1", "m ** 2", "s", "-s", "s * s", "x > 0", "x as f16", "-x as i32", "2.5", "3", "n // 2", "if N > 2 { n } else { n + 1 }", "n[0 .. N]", "x", "p(x, 1)", "max(n, n)"})
	}
	return all
}
