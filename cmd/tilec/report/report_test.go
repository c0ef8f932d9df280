package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

func page() *Page {
	source, other := lang.NewSource("a<b.tile", "kernel f\n    y[i] = x[i] < 1\n"), lang.NewSource("std/m.tile", "fn g\n")
	return &Page{
		Title: "f on sm_90a", For: "N=4 & more", By: "tilec 1", Source: source,
		Sections: []Section{
			{ID: "one", Title: "One", About: "what is < to be seen", Parts: []Part{{Lines: lang.Listing{{Text: "%1 = a < b", At: source.LineSpan(2)}, {Text: "</script>"}, {Text: "call", At: other.LineSpan(1)}}}}},
			{ID: "two", Title: "Two", Parts: []Part{
				{Title: "f", Differences: true, Lines: lang.Listing{{Text: "// after dce"}, {Text: "- a", At: source.LineSpan(1)}, {Text: "+ b"}, {Text: "  c"}}},
				{Title: "g", Missing: "no ptxas & nvdisasm"},
			}},
		},
		Costs: []Cost{{File: "a<b.tile", Line: 2, Part: 0.25}},
	}
}

// A page has all that it shows in itself, every text is a text, and lines know their places.
func TestHTML(t *testing.T) {
	text := string(page().HTML())
	for _, want := range []string{
		"<title>f on sm_90a</title>", "N=4 &amp; more", `<h2>a&lt;b.tile</h2>`, `<h2>std/m.tile</h2>`,
		`<div class="line" data-at="0:2">%1 = a &lt; b</div>`, `<div class="line">&lt;/script&gt;</div>`, `<div class="line" data-at="1:1">call</div>`,
		`<a href="#one" role="tab">One</a><a href="#two" role="tab">Two</a>`, `<p>what is &lt; to be seen</p>`,
		`<nav class="parts"><a href="#two-1">f</a><a href="#two-2">g</a></nav>`, `<h2 id="two-2">g</h2>`, `<h3>after dce</h3>`, `<div class="line removed" data-at="0:1">- a</div>`, `<div class="line added">+ b</div>`, `<div class="line">  c</div>`,
		`<p class="missing">no ptxas &amp; nvdisasm</p>`, `title="25.0 % of all instructions" style="--cost:0.250">2</b>`,
		"function colour(", "--accent:",
	} {
		assert.True(t, strings.Contains(text, want), want)
	}
	assert.Equal(t, 1, strings.Count(text, "</script>"))
	assert.Empty(t, regexp.MustCompile(`\{(title|for|by|style|script|sources|tabs|sections)\}`).FindAllString(text, -1))
	assert.Empty(t, regexp.MustCompile(`(?im)(src|href)="?(https?:|//|[a-z]+\.)|@import|url\(|^\s*(import|export) `).FindAllString(text, -1))
	assert.True(t, text == string(page().HTML()), "the same page, the same bytes")
}

func TestJSON(t *testing.T) {
	text, err := json.Marshal(page())
	require.NoError(t, err)
	assert.JSONEq(t, `{"title": "f on sm_90a", "for": "N=4 & more", "by": "tilec 1", "file": "a<b.tile", "costs": [{"file": "a<b.tile", "line": 2, "part": 0.25}], "sections": [
		{"id": "one", "title": "One", "parts": [{"lines": [{"text": "%1 = a < b", "file": "a<b.tile", "line": 2}, {"text": "</script>"}, {"text": "call", "file": "std/m.tile", "line": 1}]}]},
		{"id": "two", "title": "Two", "parts": [
			{"title": "f", "lines": [{"text": "// after dce"}, {"text": "- a", "file": "a<b.tile", "line": 1}, {"text": "+ b"}, {"text": "  c"}]},
			{"title": "g", "missing": "no ptxas & nvdisasm"}]}]}`, string(text))
}

func TestTextFindsPlaces(t *testing.T) {
	source := lang.NewSource("std/m.tile", "one\ntwo\n")
	l := Text("std/m.tile:2 is pinned\nm.tile:1\nm.tile:9\nother.tile:1\n", []*lang.Source{source})
	assert.Equal(t, []int{2, 1, 0, 0}, l.LinesOf(source))
}

// Every element that is drawn has the thread and the register that the layout gives it, and the drawing is XML.
func TestLayout(t *testing.T) {
	i, j, b := &ir.Axis{Name: "i", Extent: 8}, &ir.Axis{Name: "j", Extent: 24}, &ir.Axis{Name: "b", Extent: 2}
	// Two neighbours a thread, sixteen lanes along j and two along i, of which some have nothing; warps along i and b.
	l := layout.Blocked([]*ir.Axis{j, i, b}, []int{24, 8, 2}, 2, 4)
	svg := Layout(l, []*ir.Axis{b, i, j}).SVG
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
	}
	drawn := regexp.MustCompile(`data-thread="(\d+)\.(\d+)"><title>i (\d+), j (\d+): warp (\d+), lane (\d+), register (\d+)`).FindAllStringSubmatch(svg, -1)
	require.Len(t, drawn, 8*mostColumns)
	number := func(text string) (n int) {
		for _, d := range text {
			n = 10*n + int(d-'0')
		}
		return n
	}
	for _, m := range drawn {
		warp, lane, register := number(m[5]), number(m[6]), number(m[7])
		assert.Equal(t, [2]string{m[1], m[2]}, [2]string{m[5], m[6]})
		for axis, want := range map[*ir.Axis]int{i: number(m[3]), j: number(m[4]), b: 0} {
			assert.Equal(t, want, l.RegCoord(register, axis)+l.ThreadCoord(lane, warp, axis), m[0])
		}
	}
	assert.True(t, strings.Contains(svg, "j: the first 16 of 24"))
	// Two of the warps have what lies at 0 along b, in turns of two rows.
	assert.Equal(t, 4*24, strings.Count(svg, "<title>warp 0</title>"))
	assert.Equal(t, 4*24, strings.Count(svg, "<title>warp 2</title>"))
	// A vector whose threads along the other axis have copies.
	vector := Layout(l.Slice([]*ir.Axis{j}), []*ir.Axis{j}).SVG
	assert.True(t, strings.Contains(vector, `<title>j 0: warp 0, lane 0, register 0; 8 threads have it</title>`))
}
