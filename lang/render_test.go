package lang

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// spanOf is the place of the nth (from 0) occurrence of a text.
func spanOf(t *testing.T, src *Source, text string, nth int) Span {
	at := -1
	for range nth + 1 {
		i := strings.Index(src.Text[at+1:], text)
		require.GreaterOrEqual(t, i, 0, "%q", text)
		at += 1 + i
	}
	return Span{src, at, at + len(text)}
}

func renderCases(t *testing.T) map[string]Diagnostics {
	linear := NewSource("linear.tile", `kernel linear<T: float>(x: T[M, K], w: T[K, N]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    let acc = for k in K by BK
        with acc = zeros(f32, i, j)
    {
        let a = x[k, i]
        mma(a, w[k, j], acc)
    }
    y[i, j] = acc as T
}
`)
	other := NewSource("std/nn.tile", "fn gelu(x) = x\n\nfn relu(x) = max(x, 0)\n")
	odd := NewSource("odd.tile", "\tlet 名前 = \"日本語 🙂\" + \tα\x1b[31m + e\u0301x\r\nlast line")
	long := NewSource("long.tile", "const A = "+strings.Repeat("1 + ", 300)+"oops + "+strings.Repeat("2 + ", 300)+"3\n")
	return map[string]Diagnostics{
		"one": {{
			Code: "E0401", At: spanOf(t, linear, "k", 2), Message: "axis `k` walks dimension K, but this index is dimension M", Label: "walks K",
			Labels: []Label{{spanOf(t, linear, "k in K", 0), "`k` is declared here"}, {spanOf(t, linear, "M", 0), "dimension M"}},
			Notes:  []string{"an axis may index only its own dimension", "a note of\ntwo lines"},
			Fix:    &Fix{Message: "swap the indices: `x[i, k]`"},
		}},
		"sameline": {{
			Code: "E0405", At: spanOf(t, linear, "mma", 0), Message: "these do not contract", Label: "this one",
			Labels: []Label{{spanOf(t, linear, "a, w", 0), "over (i, k)"}, {spanOf(t, linear, "w[k, j]", 0), "over (k, j)"}, {spanOf(t, linear, "acc", 2), ""}},
		}},
		"overlap": {{
			Code: "E0301", At: spanOf(t, linear, "acc as T", 0), Message: "overlapping places", Label: "the whole",
			Labels: []Label{{spanOf(t, linear, "acc", 3), "a part"}},
		}},
		"files": {{
			Code: "E0207", At: spanOf(t, linear, "zeros(f32, i, j)", 0), Message: "places in two files",
			Labels: []Label{{spanOf(t, other, "relu", 0), "declared here"}, {spanOf(t, other, "gelu", 0), "and here"}, {spanOf(t, linear, "BM", 0), "and here"}},
			Notes:  []string{"one note"},
		}},
		"multiline": {{Code: "E0106", At: spanOf(t, linear, "{\n        let a = x[k, i]\n        mma(a, w[k, j], acc)\n    }", 0), Message: "a place of several lines", Label: "from here"}},
		"odd": {
			{Code: "E0101", At: spanOf(t, odd, "名前", 0), Message: "wide characters", Label: "two of them", Labels: []Label{{spanOf(t, odd, "\"日本語 🙂\"", 0), "a string"}, {spanOf(t, odd, "α", 0), "after a tab"}}},
			{Code: "E0101", At: spanOf(t, odd, "e\u0301x", 0), Message: "combining characters", Label: "two columns"},
			{Code: "E0101", At: Span{odd, len(odd.Text), len(odd.Text)}, Message: "the end of the text", Label: "here"},
			{Code: "E0101", At: spanOf(t, odd, "\t", 0), Message: "a tab", Label: "four columns"},
		},
		"long":     {{Code: "E0201", At: spanOf(t, long, "oops", 0), Message: "a long line", Label: "here"}},
		"longword": {{Code: "E0104", At: Span{long, 0, 5}, Message: "the integer " + strings.Repeat("9", 100_000) + " has more than 64 bits", Label: strings.Repeat("x", 1000)}},
		"noplace":  {{Code: "E0901", Message: "no device was found", Notes: []string{"looked for cuda"}, Fix: &Fix{Message: "run on the cpu"}}, {Code: "E0902", Message: "nothing more to say"}},
		"empty":    nil,
	}
}

func compareGolden(t *testing.T, path string, got []byte) {
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), path)
}

func TestRenderGolden(t *testing.T) {
	for name, ds := range renderCases(t) {
		var out, colored bytes.Buffer
		require.NoError(t, Render(&out, ds, RenderOptions{}))
		require.NoError(t, Render(&colored, ds, RenderOptions{Color: true}))
		compareGolden(t, filepath.Join("testdata", "render", name+".golden"), out.Bytes())
		plain := colored.String()
		for _, s := range []style{bold, red, blue, regular} {
			plain = strings.ReplaceAll(plain, string(s), "")
		}
		assert.Equal(t, out.String(), plain, "%s: color changes nothing but color", name)
		for _, line := range strings.Split(out.String(), "\n") {
			assert.Equal(t, strings.TrimRight(line, " "), line)
		}
	}
}

func TestJSONGolden(t *testing.T) {
	cases := renderCases(t)
	ds := append(append(Diagnostics{}, cases["files"]...), cases["noplace"]...)
	odd := cases["odd"][0]
	odd.Fix = &Fix{Message: "rename", Edits: []Edit{{At: odd.At, New: "name"}}}
	out, err := JSON(append(ds, odd))
	require.NoError(t, err)
	compareGolden(t, filepath.Join("testdata", "render", "json.golden"), out)
	none, err := JSON(nil)
	require.NoError(t, err)
	assert.Equal(t, "[]", string(none))
}

// Of many errors the first are written, and how many there are; JSON has all.
func TestRenderStopsAtMany(t *testing.T) {
	src := NewSource("many.tile", strings.Repeat("x\n", 60))
	var ds Diagnostics
	for i := range 60 {
		ds = append(ds, &Diagnostic{Code: ErrUnknownName, At: Span{src, 2 * i, 2*i + 1}, Message: "unknown name x"})
	}
	var b strings.Builder
	require.NoError(t, Render(&b, ds, RenderOptions{}))
	assert.Equal(t, 50, strings.Count(b.String(), "error[E0201]"))
	assert.Contains(t, b.String(), "60 errors, of which the first 50 are shown; 10 more\n")
	text, err := JSON(ds)
	require.NoError(t, err)
	assert.Equal(t, 60, strings.Count(string(text), `"code": "E0201"`))
}
