package lsp

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

// tokens are the names of a text with what the server says of them: `axis i declaration`.
func (s *session) tokens(method string, params object, text string) []string {
	s.t.Helper()
	var result struct{ Data []int }
	s.call(method, params, &result)
	require.Zero(s.t, len(result.Data)%5)
	var all []string
	line, character := 0, 0
	for i := 0; i < len(result.Data); i += 5 {
		x := result.Data[i : i+5]
		if x[0] > 0 {
			character = 0
		}
		line, character = line+x[0], character+x[1]
		row := utf16.Encode([]rune(strings.Split(text, "\n")[line]))
		word := string(utf16.Decode(row[character : character+x[2]]))
		for bit, m := range tokenModifiers {
			if x[4]&(1<<bit) != 0 {
				word += " " + m
			}
		}
		all = append(all, tokenTypes[x[3]]+" "+word)
	}
	return all
}

func TestSemanticTokens(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/tokens.tile"
	text := `import "std/math"
const A = 2
struct W<T: float> {
    /* 𝒜 */
}
@warps(4)
kernel k<T: float>(größe: T[M]) -> y: T[M]
    grid i in M by B
{
    let v = A * gelu(größe[i] as f32) + inf * größe.shape[0] as f32
    y[i] = v as T
}
test "t" {
    check close(zeros(f32, [2]), 0)
}
`
	text = strings.Replace(text, "    /* 𝒜 */\n", "    a: T[N] // 𝒜\n", 1)
	s.open(doc, text)
	all := s.tokens("textDocument/semanticTokens/full", object{"textDocument": object{"uri": doc}}, text)
	require.Equal(t, []string{
		"variable A declaration readonly",
		"struct W declaration", "typeParameter T declaration", "type float defaultLibrary", "property a declaration", "typeParameter T", "typeParameter N declaration",
		"decorator warps",
		"function k declaration", "typeParameter T declaration", "type float defaultLibrary", "parameter größe declaration", "typeParameter T", "typeParameter M declaration",
		"parameter y declaration", "typeParameter T", "typeParameter M",
		"enumMember i declaration", "typeParameter M", "typeParameter B declaration",
		"variable v declaration readonly", "variable A readonly", "function gelu defaultLibrary", "parameter größe", "enumMember i", "type f32 defaultLibrary", "variable inf readonly defaultLibrary", "parameter größe", "property shape", "type f32 defaultLibrary",
		"parameter y modification", "enumMember i", "variable v readonly", "typeParameter T",
		"function close defaultLibrary", "function zeros defaultLibrary", "type f32 defaultLibrary",
	}, all)
	p := placeOf(t, text, "    y[i] = ")
	require.Equal(t, []string{"parameter y modification", "enumMember i", "variable v readonly", "typeParameter T"},
		s.tokens("textDocument/semanticTokens/range", object{"textDocument": object{"uri": doc}, "range": span{p, place{p.Line + 1, 0}}}, text))
	s.leave()
}

// TestInlayHints: the axes of every value with a name.
func TestInlayHints(t *testing.T) {
	s := start(t)
	doc := "file:///nowhere/program.tile"
	s.open(doc, program)
	hints := func(from, to place) map[string]string {
		var result []struct {
			Position place
			Label    string
			Kind     int
		}
		s.call("textDocument/inlayHint", object{"textDocument": object{"uri": doc}, "range": span{from, to}}, &result)
		all := map[string]string{}
		for _, h := range result {
			require.Equal(t, 1, h.Kind)
			row := strings.Split(program, "\n")[h.Position.Line]
			all[row[:h.Position.Character]] = h.Label
		}
		return all
	}
	end := place{strings.Count(program, "\n"), 0}
	require.Equal(t, map[string]string{
		"    let acc": ": f32{i, j}", "    let acc = for k in K by BK with total": ": f32{i, j}", "    let _inner": ": Inner",
	}, hints(place{}, end))
	p := placeOf(t, program, "let _inner")
	require.Equal(t, map[string]string{"    let _inner": ": Inner"}, hints(place{p.Line, 0}, end))
	s.leave()
}
