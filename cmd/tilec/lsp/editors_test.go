package lsp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// TestEditorWords holds the words that editors colour by themselves against those of the language.
func TestEditorWords(t *testing.T) {
	var words, types, names, builtins []string
	for _, w := range keywords {
		words = append(words, w.text)
	}
	for _, d := range lang.DTypes() {
		types = append(types, d.String())
	}
	for _, c := range constants {
		names = append(names, c.text)
	}
	for _, f := range functions {
		builtins = append(builtins, f.text)
	}
	for _, op := range lang.Ops() {
		if r := op.Row(); (r.Form == lang.FormCall || r.Form == lang.FormReduce) && isName(r.Spelling) {
			builtins = append(builtins, r.Spelling)
		}
	}

	t.Run("Vim", func(t *testing.T) {
		syntax := editorFile(t, "vim/syntax/tile.vim")
		keyword := func(group string) []string {
			return found(syntax, `(?m)^syntax keyword (?:`+group+`) (.*)$`, `\w+`)
		}
		// Words with a meaning in one place only are patterns.
		placed := found(syntax, `(?m)^syntax match (?:tileDeclaration|tileStatement) (.*)$`, `test|inout|out|check`)
		same(t, words, append(keyword("tileInclude|tileDeclaration|tileRepeat|tileConditional|tileWordOperator|tileBoolean"), placed...))
		same(t, types, keyword("tileType"))
		same(t, names, keyword("tileConstant"))
		same(t, builtins, found(syntax, `(?m)^syntax match tileBuiltin /\\<\\%\((.*)\\\)\\ze`, `\w+`))
		same(t, slices.DeleteFunc(slices.Clone(words), func(w string) bool {
			return slices.Contains(placed, w) || w == "true" || w == "false"
		}), found(syntax, `let s:words = '(.*)'`, `\w+`))
	})
	t.Run("tree-sitter", func(t *testing.T) {
		query := editorFile(t, "tree-sitter-tile/queries/highlights.scm")
		booleans := found(query, `\[ (\(true\) \(false\)) \] @boolean`, `\w+`)
		same(t, words, append(found(query, `\[([^]]*)\] @keyword`, `\w+`), booleans...))
		any := func(capture string) []string {
			return found(query, `#any-of\? @`+regexp.QuoteMeta(capture)+`([^)]*)\)`, `\w+`)
		}
		same(t, types, any("type.builtin"))
		same(t, names, any("constant.builtin"))
		same(t, builtins, any("function.builtin"))
	})
	t.Run("TextMate", func(t *testing.T) {
		var grammar struct {
			Repository map[string]struct {
				Match    string
				Patterns []struct{ Match string }
			}
		}
		require.NoError(t, json.Unmarshal([]byte(editorFile(t, "vscode/syntaxes/tile.tmLanguage.json")), &grammar))
		patterns := func(rule string) string {
			all := grammar.Repository[rule].Match
			for _, p := range grammar.Repository[rule].Patterns {
				all += "\n" + p.Match
			}
			return escaped.ReplaceAllString(all, " ")
		}
		constant := found(patterns("constant"), `\(([a-z|]+)\)`, `\w+`)
		same(t, append([]string{"true", "false"}, names...), constant)
		have := found(patterns("keyword")+patterns("test"), `(.*)`, `[a-z]{2,}`)
		same(t, words, append(have, "true", "false"))
		// What stands behind `|(?<=` is bounds of type parameters, by a form that Go's regexps do not have.
		pattern, _, _ := strings.Cut(grammar.Repository["type"].Match, "|(?<=")
		element := regexp.MustCompile("^(?:" + pattern + ")$")
		for _, d := range types {
			assert.Regexp(t, element, d)
		}
	})
	t.Run("Emacs", func(t *testing.T) {
		mode := editorFile(t, "../docs/editors.md")
		have := found(mode, `\[("[^]]*)\] @font-lock-keyword-face`, `\w+`)
		same(t, words, append(have, "true", "false"))
	})
	t.Run("playground", func(t *testing.T) {
		script := editorFile(t, "playground/page/highlight.js")
		same(t, words, found(script, `keywords = new Set\("([^"]*)"`, `\w+`))
		element := regexp.MustCompile(strings.Join(found(script, `const types = (/.*/);`, `[^/]+`), ""))
		for _, d := range types {
			assert.Regexp(t, element, d)
		}
	})
}

// escaped is \b, \s and \p{L} in a pattern: no words.
var escaped = regexp.MustCompile(`\\p\{\w+\}|\\.`)

func editorFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../editors", path))
	require.NoError(t, err)
	return string(text)
}

// found gives the words in what the first group of a pattern matches, wherever it does.
func found(text, pattern, word string) []string {
	var all []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		all = append(all, regexp.MustCompile(word).FindAllString(m[1], -1)...)
	}
	return all
}

// same compares words, in whatever order and however often each occurs.
func same(t *testing.T, want, got []string) {
	t.Helper()
	want, got = slices.Clone(want), slices.Clone(got)
	slices.Sort(want)
	slices.Sort(got)
	assert.Equal(t, slices.Compact(want), slices.Compact(got))
}
