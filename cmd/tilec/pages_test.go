package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The pages tell readers to type commands and show what these print. TestPages
// types them, and compares. In a page,
//
//	```sh        are commands, which must succeed,
//	```console   are commands behind `$ `, each followed by what it prints, where
//	             a line `...` stands for any lines and `...` in a line for any text,
//	```tile      is a program; the file that it is, where the line before ends with its name and a colon: `norm.tile`:
//	```text      is what readers cannot make a command print, which a script compares by `shown PAGE BEGINNING`
//
// and no block is without a language.

// byHand are the beginnings of commands that no test runs, and why.
var byHand = map[string]string{
	"go install ":       "it would install into the reader's folders",
	"go test ":          "it is what runs this test",
	"go build ":         "go test has built the same",
	"cd ":               "it precedes what is run by hand",
	"npm ":              "it needs Node.js and its registry",
	"editors/":          "it needs Node.js, and tests in editors/playground do it, or a browser",
	"CHROMIUM=":         "it needs a browser",
	"code ":             "it needs VS Code",
	".ci/":              "it runs this test",
	"tilec fuzz ":       "it takes minutes",
	"bench/":            "it needs a GPU",
	"go run ./bench/":   "it takes hours, or a GPU",
	"TILEC_TEST_DEVICE": "it runs this test",
	"PTX_DUMP":          "it runs tests",
	"FUZZ":              "it runs tests",
	"git ":              "it changes the reader's repository",
	"mkdir ":            "it makes a folder of the reader's",
	"ln ":               "it changes the reader's folders",
	"tree-sitter ":      "it needs tree-sitter, with which editors/tree-sitter-tile/check.sh does it",
	"cc ":               "the tests of bindings compile C",
}

// noOutput are the beginnings of text blocks that no command prints, and what they are.
var noOutput = map[string]string{
	"file.tile ─parser─▶": "a drawing",
	"// target: ":         "what a reader writes",
}

var (
	fence   = regexp.MustCompile("^( *)```(\\w*)$")
	fileFor = regexp.MustCompile("`([\\w./-]+\\.tile)`:$")
	comment = regexp.MustCompile(`\s+# .*$`)
	setting = regexp.MustCompile(`^([A-Z_]+)=(\S*) `)
)

// a shownCommand is one command of a page and what it shows that it prints; nil where it shows nothing.
type shownCommand struct {
	line   int
	text   string
	prints []string
}

// page is what a page has for readers to try.
type page struct {
	files    map[string]string // programs by the name that the page gives them
	commands []shownCommand
	texts    [][]string
}

func readPage(path string) (page, error) {
	p := page{files: map[string]string{}}
	text, err := os.ReadFile(path)
	if err != nil {
		return p, err
	}
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		m := fence.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		begin := i + 1
		for i++; i < len(lines) && lines[i] != m[1]+"```"; i++ {
		}
		block := slices.Clone(lines[begin:i])
		for j := range block {
			block[j] = strings.TrimPrefix(block[j], m[1])
		}
		switch m[2] {
		case "":
			return p, fmt.Errorf("%s:%d: a block without a language: what it shows is not tested", path, begin)
		case "text":
			p.texts = append(p.texts, block)
		case "tile":
			if name := fileFor.FindStringSubmatch(lines[max(0, begin-2)]); name != nil {
				p.files[name[1]] = strings.Join(block, "\n") + "\n"
			}
		case "sh":
			for j, line := range block {
				if line != "" && !strings.HasPrefix(line, "#") {
					p.commands = append(p.commands, shownCommand{line: begin + j + 1, text: line})
				}
			}
		case "console":
			for j, line := range block {
				if command, ok := strings.CutPrefix(line, "$ "); ok {
					p.commands = append(p.commands, shownCommand{line: begin + j + 1, text: command, prints: []string{}})
					continue
				}
				if len(p.commands) == 0 {
					return p, fmt.Errorf("%s:%d: output of no command", path, begin+j+1)
				}
				last := &p.commands[len(p.commands)-1]
				last.prints = append(last.prints, line)
			}
		}
	}
	return p, nil
}

// script is the page as a test script; "" where it has no command.
func (p page) script(t *testing.T, path string) string {
	var script, files strings.Builder
	for name, text := range p.files {
		fmt.Fprintf(&files, "-- %s --\n%s", name, text)
	}
	for i, c := range p.commands {
		text := comment.ReplaceAllString(c.text, "")
		known := false
		for beginning := range byHand {
			known = known || strings.HasPrefix(text, beginning)
		}
		if known && !strings.HasPrefix(text, "go run ./cmd/tilec ") {
			continue
		}
		fmt.Fprintf(&script, "# %s:%d\n", path, c.line)
		var set []string
		for m := setting.FindStringSubmatch(text); m != nil; m = setting.FindStringSubmatch(text) {
			fmt.Fprintf(&script, "env %s=%s\n", m[1], m[2])
			set, text = append(set, m[1]), text[len(m[0]):]
		}
		text = strings.Replace(text, "go run ./cmd/tilec ", "tilec ", 1)
		text = strings.Replace(text, "path/to/gpt2", "$MODELS/nano", 1)
		if strings.Contains(text, "path/to/llama") {
			script.WriteString("llama path/to/llama\n")
		}
		if sub := regexp.MustCompile(`^source <\((tilec .*)\)$`).FindStringSubmatch(text); sub != nil {
			text = sub[1]
		}
		fails := ""
		if len(c.prints) > 0 && strings.HasPrefix(c.prints[len(c.prints)-1], "exit code ") {
			fails, c.prints = "! ", c.prints[:len(c.prints)-1]
		}
		if !strings.HasPrefix(text, "tilec ") && !strings.HasPrefix(text, "cat ") {
			t.Errorf("%s:%d: no test knows how to run `%s`: add it to byHand with a reason, or make it a command of tilec", path, c.line, text)
			continue
		}
		fmt.Fprintf(&script, "%sexec %s\n", fails, text)
		if c.prints != nil {
			fmt.Fprintf(&script, "prints want-%d\n", i)
			fmt.Fprintf(&files, "-- want-%d --\n%s\n", i, strings.Join(c.prints, "\n"))
		}
		for _, name := range set {
			fmt.Fprintf(&script, "env %s=\n", name)
		}
	}
	if script.Len() == 0 {
		return ""
	}
	return script.String() + files.String()
}

// pages are the pages whose commands readers may type.
func pages(t *testing.T) []string {
	found := []string{"README.md", "CONTRIBUTING.md"}
	docs, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	for _, path := range docs {
		found = append(found, "docs/"+filepath.Base(path))
	}
	found = append(found, "jit/fuzz/README.md", "jit/ptx/README.md")
	return found
}

// text is the text block of a page that begins so; nil when there is none.
func (p page) text(beginning string) []string {
	for _, block := range p.texts {
		if len(block) > 0 && strings.HasPrefix(strings.TrimSpace(block[0]), beginning) {
			return block
		}
	}
	return nil
}

// shown PAGE BEGINNING compares what the last command printed, to stdout and then to stderr, with a text block of a page, in
// which the folder of the script is the root of all files.
func shown(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 2, "shown PAGE BEGINNING")
	p, err := readPage(filepath.Join("../..", args[0]))
	ts.Check(err)
	want := p.text(args[1])
	if want == nil {
		ts.Fatalf("%s has no text block that begins with %q", args[0], args[1])
	}
	compare(ts, want)
}

// Every text block of a page is compared by a script, or is no output.
func TestTextBlocksAreCompared(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)
	compared := regexp.MustCompile(`(?m)^shown (\S+) '(.*)'$`)
	by := map[string][]string{} // beginnings by page
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range compared.FindAllStringSubmatch(string(text), -1) {
			by[m[1]] = append(by[m[1]], m[2])
		}
	}
	for _, path := range pages(t) {
		p, err := readPage(filepath.Join("../..", path))
		require.NoError(t, err)
		for _, block := range p.texts {
			known := slices.Collect(maps.Keys(noOutput))
			known = append(known, by[path]...)
			assert.True(t, slices.ContainsFunc(known, func(b string) bool {
				return len(block) > 0 && strings.HasPrefix(strings.TrimSpace(block[0]), b)
			}), "%s: nothing compares the block that begins with %q: make it the output of a ```console, or compare it by `shown` in a script", path, block[0])
		}
	}
}

func TestPages(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	for _, path := range pages(t) {
		p, err := readPage(filepath.Join(root, path))
		require.NoError(t, err)
		script := p.script(t, path)
		if script != "" {
			name := strings.NewReplacer("/", "-", ".md", ".txtar").Replace(path)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o666))
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			env.Setenv("MODELS", filepath.Join(root, "testdata/models"))
			env.Setenv("CUTILE_LOGS", "")
			env.Setenv("CUDA_VISIBLE_DEVICES", "")                                  // pages show what a machine without a GPU prints
			for _, folder := range []string{"docs/tutorial", "testdata/examples"} { // what pages name, as a reader in the repository has it
				if err := os.CopyFS(filepath.Join(env.WorkDir, folder), os.DirFS(filepath.Join(root, folder))); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"prints": prints, "llama": writeLlama},
	})
}

// prints FILE compares what the last command printed, to stdout and then to stderr, with a page.
func prints(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, args, 1, "prints FILE")
	compare(ts, strings.Split(strings.TrimRight(ts.ReadFile(args[0]), "\n"), "\n"))
}

// compare compares what the last command printed with lines of a page.
func compare(ts *testscript.TestScript, want []string) {
	printed := strings.ReplaceAll(ts.ReadFile("stdout")+ts.ReadFile("stderr"), ts.Getenv("WORK"), "")
	got := strings.Split(strings.TrimRight(printed, "\n"), "\n")
	if !matches(got, want) {
		ts.Fatalf("the page shows\n%s\n\nand the command prints\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

// matches compares lines with a page's: `...` stands for any text, and alone in a line for any lines.
func matches(got, want []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if strings.TrimSpace(want[0]) == "..." {
		for skipped := range len(got) + 1 {
			if matches(got[skipped:], want[1:]) {
				return true
			}
		}
		return false
	}
	if len(got) == 0 {
		return false
	}
	parts := strings.Split(strings.TrimRight(want[0], " "), "...")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	line := regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
	return line.MatchString(strings.TrimRight(got[0], " ")) && matches(got[1:], want[1:])
}

func TestMatches(t *testing.T) {
	lines := func(s string) []string { return strings.Split(s, "|") }
	assert.True(t, matches(lines("a 1.5 ms|b|c"), lines("a ... ms|b|c")))
	assert.True(t, matches(lines("a|b|c|d"), lines("a|...|d")))
	assert.True(t, matches(lines("a|d"), lines("a|...|d|...")))
	assert.False(t, matches(lines("a|b"), lines("a")))
	assert.False(t, matches(lines("a"), lines("a|b")))
	assert.False(t, matches(lines("a (1)"), lines("a .1.")))
}

var link = regexp.MustCompile(`\]\(([^)#\s"]+)(#[^)]*)?\)`)

// What a page of the repository links to is there.
func TestLinks(t *testing.T) {
	for _, path := range append(pages(t), "CHANGELOG.md", "bench/RESULTS.md", "bench/TRIALS.md", "jit/ir/README.md", "editors/vscode/README.md") {
		text, err := os.ReadFile(filepath.Join("../..", path))
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(m[1], ":") {
				_, err := os.Stat(filepath.Join("../..", filepath.Dir(path), m[1]))
				assert.NoError(t, err, "%s links to %s", path, m[1])
			}
		}
	}
}

// The program in Go that README shows is in an example, whose output a test compares.
func TestReadmeShowsAnExample(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	example, err := os.ReadFile("../../jit/example_test.go")
	require.NoError(t, err)
	_, block, ok := strings.Cut(string(readme), "```go\n")
	require.True(t, ok)
	block, _, _ = strings.Cut(block, "```")
	var have []string
	for line := range strings.Lines(string(example)) {
		have = append(have, strings.TrimSpace(line))
	}
	for line := range strings.Lines(block) {
		code, output, prints := strings.Cut(strings.TrimSpace(line), " // prints ")
		assert.True(t, code == "" || slices.Contains(have, strings.TrimSpace(code)), "jit/example_test.go has no line `%s`", code)
		if prints {
			assert.Contains(t, have, "// Output: "+output)
		}
	}
}
