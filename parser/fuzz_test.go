package parser

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// internal is the grammar's own terms, which no message may have.
var internal = regexp.MustCompile("participle|expected (`[A-Z]|<)|sub-expression|branch")

// checkAny parses any text: no panic, every place inside the text, an error
// for what the tree lacks, and everything can be printed and shown.
func checkAny(t *testing.T, text string) {
	src := lang.NewSource("fuzz.tile", text)
	mod, diags := Parse(src)
	inside := func(at lang.Span, what any) {
		if at.Source != src || at.Start < 0 || at.End < at.Start || at.End > len(text) {
			t.Fatalf("%T at %d..%d of %d bytes: %q", what, at.Start, at.End, len(text), text)
		}
	}
	for _, d := range diags {
		inside(d.At, d)
		if d.Code == "" || d.Message == "" || internal.MatchString(d.Message) {
			t.Fatalf("bad diagnostic %v", d)
		}
		for _, l := range d.Labels {
			inside(l.At, l)
		}
		if d.Fix != nil {
			for _, e := range d.Fix.Edits {
				inside(e.At, e)
			}
		}
	}
	for _, d := range mod.Decls {
		lang.Walk(d, func(n lang.Node) bool {
			inside(n.Span(), n)
			return true
		})
	}
	var out bytes.Buffer
	require.NoError(t, Print(&out, mod))
	require.NoError(t, lang.Render(&out, diags, lang.RenderOptions{Color: true}))
	_, err := lang.JSON(diags)
	require.NoError(t, err)
}

func seeds(t testing.TB) []string {
	var texts []string
	for _, pattern := range []string{"testdata/*.tile", "testdata/*/*.tile", "testdata/*/*.txtar"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			texts = append(texts, string(text))
		}
	}
	require.NotEmpty(t, texts)
	return texts
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	for _, s := range []string{"", "{", "}", "((", "]", "@", "test", "test \"", "fn f(", "fn f() = \xff", "\ufeff", "x[", "kernel", "\"", "\"\\", "0x", "//", "/*", "///", ",", ";", "fn f() {;}", "fn f()=(,)", "@a@b", "fn f()=()=>()=>1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 1<<13 {
			checkAny(t, text)
		}
	})
}

// TestMutations parses sources with tokens lost, doubled and swapped, the same
// ones at every run.
func TestMutations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := seeds(t)
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); {
		text := all[r.IntN(len(all))]
		list := scan(lang.NewSource("seed.tile", text)).tokens
		for range 1 + r.IntN(3) {
			a, b := &list[r.IntN(len(list))], &list[r.IntN(len(list))]
			from, to := min(a.Pos.Offset, len(text)), min(endOf(a), len(text))
			other := b.Value
			if r.IntN(3) == 0 {
				other = ""
			}
			text = text[:from] + other + text[to:]
		}
		checkAny(t, text)
	}
}

// TestBytes parses bytes that are no text at all.
func TestBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		b := make([]byte, r.IntN(400))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		checkAny(t, string(b))
		for i := range b {
			b[i] &= 0x7f
		}
		checkAny(t, string(b))
	}
	_, diags := Parse(lang.NewSource("bytes.tile", "fn f(x) = x\n\x80\xff\n)"))
	require.Len(t, diags, 1)
	require.Equal(t, lang.ErrEncoding, diags[0].Code)
	require.Equal(t, "byte 0x80 at offset 12 is not UTF-8", diags[0].Message)
}
