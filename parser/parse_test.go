package parser

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
)

func languageExamples(t testing.TB) string {
	text, err := os.ReadFile("testdata/language.tile")
	require.NoError(t, err)
	return string(text)
}

// Every example of the language page parses.
func TestLanguageExamples(t *testing.T) {
	mod, diags := Parse(lang.NewSource("language.tile", languageExamples(t)))
	require.NoError(t, diags.Err())
	var names []string
	for _, d := range mod.Decls {
		names = append(names, d.DeclName().Name)
	}
	require.Equal(t, []string{"add", "softmax", "gelu", "linear_gelu", "attention", "embed", "matmul"}, names)
}

// parsed gives the printed body of `fn t() = text`.
func parsed(t testing.TB, text string) string {
	mod, diags := Parse(lang.NewSource("expr.tile", "fn t() = "+text))
	require.NoError(t, diags.Err(), text)
	require.Len(t, mod.Decls, 1)
	var b strings.Builder
	printTree(&b, exprTree(mod.Decls[0].(*lang.FnDecl).Body), 0)
	return oneLine(b.String())
}

// oneLine undoes the line breaks of a printed tree.
func oneLine(tree string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(tree), " "), " )", ")")
}

func TestPrecedence(t *testing.T) {
	for text, want := range map[string]string{
		"a + b * c":                             "(+ a (* b c))",
		"a - b - c":                             "(- (- a b) c)",
		"(a + b) * c":                           "(* (+ a b) c)",
		"-a ** 2":                               "(- (** a 2))",
		"a ** -b":                               "(** a (- b))",
		"a ** b ** c":                           "(** a (** b c))",
		"2 * a ** b":                            "(* 2 (** a b))",
		"- -~a":                                 "(- (- (~ a)))",
		"x[i, j] as f32":                        "(as (index x i j) f32)",
		"(acc / l) as T":                        "(as (/ acc l) T)",
		"acc + b[j] as f32":                     "(+ acc (as (index b j) f32))",
		"-x as f32":                             "(as (- x) f32)",
		"a ** b as f32":                         "(as (** a b) f32)",
		"a as i32 as f32 * b":                   "(* (as (as a i32) f32) b)",
		"a or b and not c == d":                 "(or a (and b (not (== c d))))",
		"not not a":                             "(not (not a))",
		"not a and b":                           "(and (not a) b)",
		"a < b | c ^ d & e << f + g":            "(< a (| b (^ c (& d (<< e (+ f g))))))",
		"a % b // c":                            "(% a b)", // a comment
		"(a % b // c)":                          "(// (% a b) c)",
		"a//b":                                  "(// a b)",
		"x[i // 2]":                             "(index x (// i 2))",
		"f(a, // first\n b // second\n)":        "(call f a b)",
		"a == b and c != d":                     "(and (== a b) (!= c d))",
		"x[i + 1] else 0 + y":                   "(+ (index x (+ i 1) (else 0)) y)",
		"x[i] else -1 * y":                      "(* (index x i (else (- 1))) y)",
		"-x[i] else 0":                          "(- (index x i (else 0)))",
		"x[i] else 0 as f32":                    "(as (index x i (else 0)) f32)",
		"x[i] else y[j] else 0":                 "(index x i (else (index y j (else 0))))",
		"table[ids[b, s], c] else 0":            "(index table (index ids b s) c (else 0))",
		"if x[i] else 0 { a } else { b }":       "(if (index x i (else 0)) (block a) (block b))",
		"if c { x[i] } else { b }":              "(if c (block (index x i)) (block b))",
		"if a { b } else if c { d }":            "(if a (block b) (if c (block d)))",
		"x[i, k] @latency(4) @evict_first":      "(index x i k (attrs (@latency 4) @evict_first))",
		"x[i] @a else 0 @b":                     "(index x i (attrs @a @b) (else 0))",
		"x[.., a..b, ..n, m.., i]":              "(index x (.. _ _) (.. a b) (.. _ n) (.. m _) i)",
		"x[]":                                   "(index x)",
		"a.b.c[i].d(e)":                         "(call (.d (index (.c (.b a)) i)) e)",
		"(a, b) => a + b":                       "(=> a b (+ a b))",
		"((a, i), (b, j)) => (a, i)":            "(=> (a i) (b j) (tuple a i))",
		"a => b => a":                           "(=> a (=> b a))",
		"() => 1":                               "(=> 1)",
		"(a, b) => { let c = a\n c }":           "(=> a b (block (let c a) c))",
		"f((a, b) => a or b, x)":                "(call f (=> a b (or a b)) x)",
		"(a, b, c,)":                            "(tuple a b c)",
		"[B, S, 2 * H]":                         "(list B S (* 2 H))",
		"sum(x, over k)":                        "(call sum x (over k))",
		"reduce(x, over (i, j), 0, f)":          "(call reduce x 0 f (over i j))",
		"cat(a, b, over d)":                     "(call cat a b (over d))",
		"scan(x, over k, 0, f, reverse = true)": "(call scan x 0 f (= reverse true) (over k))",
		"split(x, d -> (h, e))":                 "(call split x (-> d (tuple h e)))",
		"merge(x, (h, e) -> d)":                 "(call merge x (-> (tuple h e) d))",
		"slice(x, d[lo..hi] -> r)":              "(call slice x (-> (index d (.. lo hi)) r))",
		"0x2a + 1_000 + 0b11":                   "(+ (+ 42 1000) 3)",
		"1.5 + 1e-5 + 2.5e3 + 1_0.2_5":          "(+ (+ (+ 1.5 1e-05) 2500.0) 10.25)",
		"18446744073709551615":                  "18446744073709551615",
		"-inf + nan * pi":                       "(+ (- inf) (* nan pi))",
		`print("a\n\t{} \u00e9", x)`:            `(call print "a\n\t{} é" x)`,
		"f(out, test, check, inout, _)":         "(call f out test check inout _)",
		"größe + α2":                            "(+ größe α2)",
		"a +\n  b":                              "(+ a b)",
		"f(\n  a,\n  b,\n)":                     "(call f a b)",
		"(a\n + b)":                             "(+ a b)",
	} {
		assert.Equal(t, want, parsed(t, text), text)
	}
}

// The text of every expression, parsed on its own, gives the same tree; so the
// places of all nodes are exact.
func TestSpansAreExact(t *testing.T) {
	sources := []string{languageExamples(t)}
	for _, expr := range []string{
		"f( a , (b) , over ( i , k ) )  [ i , .. ] else - 1 + (2 * (3)) ** 4",
		"( ( a ) as f32 ) . b ( c = ( d ) )",
		"if ( a ) { b  } else if c { d } else {  e  }",
	} {
		sources = append(sources, "fn t() = "+expr+"   // comment\n")
	}
	for _, text := range sources {
		mod, diags := Parse(lang.NewSource("spans.tile", text))
		require.NoError(t, diags.Err())
		checked := 0
		for _, d := range mod.Decls {
			lang.Walk(d, func(n lang.Node) bool {
				at := n.Span()
				assert.True(t, at.IsValid(), "%T has no place", n)
				assert.Equal(t, strings.TrimSpace(at.Text()), at.Text())
				switch n := n.(type) {
				case *lang.RangeExpr, *lang.MapExpr, *lang.Block:
				case *lang.Ident:
					assert.Equal(t, n.Name, at.Text())
				case lang.Stmt:
					if isExpr(n) {
						var b strings.Builder
						printTree(&b, exprTree(n), 0)
						assert.Equal(t, oneLine(b.String()), parsed(t, at.Text()))
						checked++
					}
				}
				return true
			})
		}
		assert.Positive(t, checked)
	}
}

// isExpr tells expressions from the other nodes, which Go's types do not.
func isExpr(n lang.Node) bool {
	switch n.(type) {
	case *lang.NameExpr, *lang.IntLit, *lang.FloatLit, *lang.StringLit, *lang.BoolLit, *lang.UnaryExpr, *lang.BinaryExpr,
		*lang.CallExpr, *lang.IndexExpr, *lang.FieldExpr, *lang.CastExpr, *lang.IfExpr, *lang.ForExpr, *lang.TupleExpr,
		*lang.ListExpr, *lang.LambdaExpr:
		return true
	}
	return false
}

func TestSpansByText(t *testing.T) {
	text := "/// doc\n@warps(8) @sizes(N = 4)\nkernel f<T: float, const C: int = 2 * 3>(x: T[M, N], out y: T[M] ) -> z: T[2 * M]\n" +
		"    tune BM in {64, 128 }, BN = 32\n    grid i in M by BM, j in N[1 .. C]\n{\n    let (a, _) = x[i]   // c\n    z[i] = a\n}\n"
	mod, diags := Parse(lang.NewSource("spans.tile", text))
	require.NoError(t, diags.Err())
	k := mod.Decls[0].(*lang.KernelDecl)
	assert.Equal(t, "doc", k.Doc)
	for want, at := range map[string]lang.Span{
		text[len("/// doc\n") : len(text)-1]: k.Place,
		"@warps(8)":                          k.Attrs[0].Place,
		"N = 4":                              k.Attrs[1].Args[0].Place,
		"f":                                  k.Name.Place,
		"const C: int = 2 * 3":               k.Generics[1].Place,
		"x: T[M, N]":                         k.Params[0].Place,
		"out y: T[M]":                        k.Params[1].Place,
		"T[M]":                               k.Params[1].Type.Place,
		"z: T[2 * M]":                        k.Outputs[0].Place,
		"BM in {64, 128 }":                   k.Tunes[0].Place,
		"BN = 32":                            k.Tunes[1].Place,
		"i in M by BM":                       k.Grid[0].Place,
		"j in N[1 .. C]":                     k.Grid[1].Place,
		"N":                                  k.Grid[1].Over.Span(),
		"1 .. C":                             k.Grid[1].Range.Place,
		"let (a, _) = x[i]":                  k.Body.Stmts[0].Span(),
		"z[i] = a":                           k.Body.Stmts[1].Span(),
		"{\n    let (a, _) = x[i]   // c\n    z[i] = a\n}": k.Body.Place,
	} {
		assert.Equal(t, want, at.Text())
	}
}

func TestDocComments(t *testing.T) {
	text := `/// not the doc of anything

/// first
/// second
fn f(x) = x
//// a rule
fn g(x) = x
@approx
/// behind an attribute
kernel k(x: f32[N]) -> y: f32[N] { y[i] = x[i] }
/// of the struct
struct S {
    /// of a
    a: f32
    b: f32[N] @name("b") // plain
    /// of c
    c: [L]S
}
`
	mod, diags := Parse(lang.NewSource("doc.tile", text))
	require.NoError(t, diags.Err())
	var docs []string
	for _, d := range mod.Decls {
		docs = append(docs, d.DocText())
	}
	assert.Equal(t, []string{"first\nsecond", "", "behind an attribute", "of the struct"}, docs)
	s := mod.Decls[3].(*lang.StructDecl)
	assert.Equal(t, []string{"of a", "", "of c"}, []string{s.Fields[0].Doc, s.Fields[1].Doc, s.Fields[2].Doc})
}

// However deep a text is nested, and whatever nests it, that is one error.
func TestNesting(t *testing.T) {
	const n = 100_000
	for name, text := range map[string]string{
		"parens":   strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
		"brackets": strings.Repeat("[", n) + strings.Repeat("]", n),
		"indexes":  strings.Repeat("x[", n) + "i" + strings.Repeat("]", n),
		"calls":    strings.Repeat("f(", n) + strings.Repeat(")", n),
		"unary":    strings.Repeat("- ", n) + "1",
		"not":      strings.Repeat("not ", n) + "a",
		"power":    strings.Repeat("a ** ", n) + "a",
		"sum":      strings.Repeat("a + ", n) + "a",
		"casts":    "a" + strings.Repeat(" as f32", n),
		"fields":   "a" + strings.Repeat(".b", n),
		"else":     strings.Repeat("x[i] else ", n) + "0",
		"lambda":   strings.Repeat("a => ", n) + "0",
		"if":       strings.Repeat("if a { ", n) + "0" + strings.Repeat(" }", n),
		"else if":  strings.Repeat("if a { 0 } else ", n) + "{ 0 }",
		"for":      strings.Repeat("for i in ", n) + "0",
	} {
		_, diags := Parse(lang.NewSource("deep.tile", "fn t() = "+text+"\nfn u() = = 1\n"))
		require.Len(t, diags, 2, name)
		assert.Equal(t, lang.ErrNesting, diags[0].Code, name)
		assert.Equal(t, lang.ErrSyntax, diags[1].Code, name)
	}
	_, diags := Parse(lang.NewSource("deep.tile", "fn t() = "+strings.Repeat("(", n)))
	assert.Len(t, diags, 1)
	assert.Equal(t, lang.ErrUnbalanced, diags[0].Code)
}

// Grammars are shared; parses are not.
func TestConcurrent(t *testing.T) {
	text := languageExamples(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			src := lang.NewSource("c.tile", text)
			mod, diags := Parse(src)
			assert.NoError(t, diags.Err())
			assert.Len(t, mod.Decls, 7)
			assert.Same(t, src, mod.Decls[0].Span().Source)
		})
	}
	wg.Wait()
}

// fiveHundredLines is about as much text as the standard library and a model.
func fiveHundredLines(t testing.TB) string {
	text := languageExamples(t)
	return strings.Repeat(text, 500/strings.Count(text, "\n")+1)
}

func BenchmarkParse(b *testing.B) {
	text := fiveHundredLines(b)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, diags := Parse(lang.NewSource("bench.tile", text)); len(diags) > 0 {
			b.Fatal(diags)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for b.Loop() {
		newGrammar()
	}
}
