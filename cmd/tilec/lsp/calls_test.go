package lsp

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.lsp.dev/uri"
)

// shownCalls is what a call hierarchy says, one text a declaration: its file, its name, and where the calls stand.
func (s *session) shownCalls(direction string, of fieldsRead) []string {
	s.t.Helper()
	var found []struct {
		From, To   fieldsRead
		FromRanges []span
	}
	s.call("callHierarchy/"+direction, object{"item": of}, &found)
	all := []string{}
	for _, c := range found {
		x := c.From
		if x == nil {
			x = c.To
		}
		var places []string
		for _, p := range c.FromRanges {
			places = append(places, fmt.Sprintf("%d:%d", p.Start.Line, p.Start.Character))
		}
		all = append(all, fmt.Sprintf("%s %s %s", filepath.Base(x["uri"].(string)), x["name"], strings.Join(places, " ")))
	}
	return all
}

// fieldsRead is an object of an answer.
type fieldsRead = map[string]any

func (s *session) prepared(doc string, p place) []fieldsRead {
	s.t.Helper()
	var items []fieldsRead
	s.call("textDocument/prepareCallHierarchy", at(doc, p), &items)
	return items
}

// TestCallHierarchy: fns, kernels and graphs are found from those that they call and from those that call them, in files
// that are not open and in the standard library too.
func TestCallHierarchy(t *testing.T) {
	lib := "fn half(x) = 0.5 * x\nfn twice(f, x) = f(f(x))\nkernel k(x: f32[N]) -> y: f32[N] {\n    y[i] = half(x[i]) + half(1.0)\n}\n"
	user := "import \"lib\"\nimport \"std/math\"\n\nfn quarter(x) = twice(half, x)\ngraph g(x: f32[N]) -> y: f32[N] {\n    let half = x\n    y = k(half) + gelu(x)\n}\ntest \"t\" {\n    check quarter(4.0) == 1.0\n}\n"
	dir := folder(t, map[string]string{"lib.tile": lib, "user.tile": user})
	s := startIn(t, dir)
	doc := string(uri.File(filepath.Join(dir, "user.tile")))
	s.open(doc, user)

	items := s.prepared(doc, placeOf(t, user, "twice(|half"))
	require.Len(t, items, 1)
	require.Equal(t, "half", items[0]["name"])
	require.Equal(t, "fn of lib.tile", items[0]["detail"])
	require.Equal(t, []string{"lib.tile k 3:11 3:24", "user.tile quarter 3:22"}, s.shownCalls("incomingCalls", items[0]))
	require.Empty(t, s.shownCalls("outgoingCalls", items[0]))

	items = s.prepared(doc, placeOf(t, user, "graph |g"))
	require.Len(t, items, 1)
	require.Equal(t, []string{"lib.tile k 6:8", "math.tile gelu 6:18"}, s.shownCalls("outgoingCalls", items[0]))
	require.Empty(t, s.shownCalls("incomingCalls", items[0]))

	items = s.prepared(doc, placeOf(t, user, "fn |quarter"))
	require.Equal(t, []string{"user.tile t 9:10"}, s.shownCalls("incomingCalls", items[0]))
	require.Equal(t, []string{"lib.tile twice 3:16", "lib.tile half 3:22"}, s.shownCalls("outgoingCalls", items[0]))

	items = s.prepared(doc, placeOf(t, user, "|gelu(x)")) // in the library
	callers := s.shownCalls("incomingCalls", items[0])
	require.Contains(t, callers, "user.tile g 6:18")
	require.Contains(t, callers, "math.tile gelu_map 93:14")

	require.Empty(t, s.prepared(doc, placeOf(t, user, "let |half")), "a local")
	s.change(doc, 2, "fn other(x) = x\n")
	require.Empty(t, s.shownCalls("outgoingCalls", fieldsRead{"name": "quarter", "data": object{"path": filepath.Join(dir, "user.tile"), "name": "quarter"}}), "it is no more")
	s.leave()
}
