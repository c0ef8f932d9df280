package parser

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// TestFormatGolden formats each source in testdata/format and compares it with
// the `.formatted` that follows it in the archive.
func TestFormatGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/format/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		out := &txtar.Archive{Comment: archive.Comment}
		for _, f := range archive.Files {
			if filepath.Ext(f.Name) != ".tile" {
				continue
			}
			formatted := checkFormat(t, string(f.Data))
			out.Files = append(out.Files, f, txtar.File{Name: strings.TrimSuffix(f.Name, ".tile") + ".formatted", Data: []byte(formatted)})
		}
		if *update {
			require.NoError(t, os.WriteFile(path, txtar.Format(out), 0o644))
			continue
		}
		require.Equal(t, string(txtar.Format(archive)), string(txtar.Format(out)), path)
	}
}

var codeBlock = regexp.MustCompile("(?s)```(?:tile)?\n(.*?)```")

// programs are sources from everywhere in the repository that parse.
func programs(t testing.TB) []string {
	var all []string
	add := func(text string) {
		if _, ds := Parse(lang.NewSource("program.tile", text)); len(ds) == 0 {
			all = append(all, text)
		}
	}
	for _, pattern := range []string{"../stdlib/*.tile", "../gpt/*.tile", "../testdata/*/*.tile", "../testdata/*/*.txtar", "../jit/testdata/*.tile",
		"../typecheck/testdata/*.tile", "../typecheck/testdata/*/*.tile", "testdata/*.tile", "testdata/*/*.txtar", "../docs/*.md"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			switch filepath.Ext(path) {
			case ".txtar":
				for _, f := range txtar.Parse(text).Files {
					add(string(f.Data))
				}
			case ".md":
				for _, m := range codeBlock.FindAllSubmatch(text, -1) {
					add(string(m[1]))
				}
			default:
				add(string(text))
			}
		}
	}
	for _, c := range lang.Codes() {
		row, _ := lang.CodeInfo(c)
		add(row.Fails)
		add(row.Works)
	}
	require.Greater(t, len(all), 100)
	return all
}

// commentsOf are the comments of a text, in order.
func commentsOf(text string) []string {
	var all []string
	for _, c := range scan(lang.NewSource("comments.tile", text)).comments {
		all = append(all, strings.TrimSpace(c.Value))
	}
	return all
}

// tokensOf are the tokens of a text with the newlines and without the commas,
// which the fields of a struct may lose.
func tokensOf(text string) []string {
	var all []string
	for _, k := range scan(lang.NewSource("tokens.tile", text)).tokens {
		if k.Value != "," {
			all = append(all, k.Value)
		}
	}
	return all
}

// checkFormat formats a text that parses: nothing is lost, the tree is the
// same (Format checks that), and to format again changes nothing.
func checkFormat(t testing.TB, text string) string {
	t.Helper()
	formatted, err := Format(lang.NewSource("format.tile", text))
	require.NoError(t, err, text)
	require.Equal(t, tokensOf(text), tokensOf(formatted), text)
	require.ElementsMatch(t, commentsOf(text), commentsOf(formatted), text)
	for _, line := range strings.Split(formatted, "\n") {
		require.Equal(t, strings.TrimRight(line, " \t\r"), line)
	}
	require.NotContains(t, formatted, "\n\n\n")
	again, err := Format(lang.NewSource("format.tile", formatted))
	require.NoError(t, err, formatted)
	require.Equal(t, formatted, again, "of\n%s", text)
	return formatted
}

func TestFormatPrograms(t *testing.T) {
	for _, text := range programs(t) {
		checkFormat(t, text)
	}
}

// TestFormatted: what ships is in the canonical layout.
func TestFormatted(t *testing.T) {
	for _, pattern := range []string{"../stdlib/*.tile", "../gpt/*.tile", "../testdata/tests/*.tile", "../testdata/examples/*.tile"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			formatted, err := Format(lang.NewSource(path, string(text)))
			require.NoError(t, err)
			require.Equal(t, string(text), formatted, "%s: run tilec fmt -w", path)
		}
	}
}

// TestFormatChecks: `check` begins a statement in a test, and is a name elsewhere.
func TestFormatChecks(t *testing.T) {
	const source = `test "t" {
check   (a+b)==c   // one
  check [1,2]==x , "two"
check -x<0
  inout s=zeros(f32,[4])
}
fn f(check)=check (1)+check -1
`
	require.Equal(t, `test "t" {
    check (a + b) == c // one
    check [1, 2] == x, "two"
    check -x < 0
    inout s = zeros(f32, [4])
}

fn f(check) = check(1) + check - 1
`, checkFormat(t, source))
}

// TestFormatKeepsErrors: a source with syntax errors is not formatted, and all its errors are told.
func TestFormatKeepsErrors(t *testing.T) {
	_, err := Format(lang.NewSource("bad.tile", "fn f(x) = \n\nkernel"))
	var ds lang.Diagnostics
	require.ErrorAs(t, err, &ds)
	require.Len(t, ds, 2)
}

// TestFormatDisturbed formats programs with spaces, newlines and comments put
// in at random, as long as they parse: the same ones at every run.
func TestFormatDisturbed(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var small []string
	for _, text := range programs(t) {
		for _, d := range strings.Split(text, "\n\n") {
			if _, ds := Parse(lang.NewSource("part.tile", d)); len(ds) == 0 {
				small = append(small, d)
			}
		}
	}
	for deadline := time.Now().Add(formatTime); time.Now().Before(deadline); {
		text := small[r.IntN(len(small))]
		for range 1 + r.IntN(4) {
			next := disturbOnce(r, text)
			if _, ds := Parse(lang.NewSource("disturbed.tile", next)); len(ds) == 0 {
				text = next
			}
		}
		checkFormat(t, text)
	}
}

// formatTime is how long TestFormatDisturbed goes on.
var formatTime = time.Second

// disturbOnce changes the space before one to three tokens.
func disturbOnce(r *rand.Rand, text string) string {
	list := scan(lang.NewSource("disturb.tile", text)).tokens
	for range 1 + r.IntN(3) {
		at := min(list[r.IntN(len(list))].Pos.Offset, len(text))
		text = text[:at] + [...]string{"  ", "\n", " // a remark (of [some kind])\n", "\n\n\n\t/// a doc\n", "\n// remark \n\n"}[r.IntN(5)] + text[at:]
	}
	return text
}

func FuzzFormat(f *testing.F) {
	for _, text := range programs(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, ds := Parse(lang.NewSource("fuzz.tile", text)); len(text) < 1<<12 && len(ds) == 0 {
			checkFormat(t, text)
		}
	})
}
