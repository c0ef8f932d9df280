package jit_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"text/scanner"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/backend/cpu"
	"tilec/jit/compile"
	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file breaks real programs, a token at a time, and looks at what the
// checker says. It must never panic or hang. What it accepts must build IR that
// the verifier accepts. And what it says first must be about the place that was
// broken: within one line of it, in 95 of 100 cases.

// mutationsVariable names the environment variable with the number of ways to
// break each source; without it few are tried. TILEC_MUTATION_MISSES=1 lists
// every error that is not near the damage.
const mutationsVariable = "TILEC_MUTATIONS"

const mutationsByDefault = 30

// nearGoal is the least part of the errors that must be near the damage.
const nearGoal = 0.95

// mutationSources are the programs to break, by name: the standard library, the
// network, and the conformance suite, of which a topic is one source of many programs.
func mutationSources(t *testing.T) map[string][]string {
	all := map[string][]string{}
	for _, pattern := range []string{"stdlib/*.tile", "gpt/*.tile", "testdata/tests/*.tile"} {
		paths, err := filepath.Glob(jittest.Path(t, pattern))
		require.NoError(t, err)
		for _, p := range paths {
			text, err := os.ReadFile(p)
			require.NoError(t, err)
			all[filepath.Base(p)] = []string{string(text)}
		}
	}
	archives, err := filepath.Glob(jittest.Path(t, "testdata/conformance/*.txtar"))
	require.NoError(t, err)
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		name := strings.TrimSuffix(filepath.Base(path), ".txtar") + ".tile"
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".tile") {
				all[name] = append(all[name], string(f.Data))
			}
		}
	}
	return all
}

// word is a token of a source, by its place.
type word struct{ start, end int }

func wordsOf(text string) []word {
	var s scanner.Scanner
	s.Init(strings.NewReader(text))
	s.Mode = scanner.ScanIdents | scanner.ScanInts | scanner.ScanFloats | scanner.ScanStrings | scanner.ScanComments | scanner.SkipComments
	s.Error = func(*scanner.Scanner, string) {}
	var all []word
	for s.Scan() != scanner.EOF {
		all = append(all, word{s.Position.Offset, s.Pos().Offset})
	}
	return all
}

// mutant is a broken source: what was done, and the lines of the result that it touched.
type mutant struct {
	what        string
	text        string
	first, last int
}

// mutate breaks a text in one way.
func mutate(text string, words []word, r *rand.Rand) mutant {
	i := r.IntN(len(words) - 1)
	w, next := words[i], words[i+1]
	token, after := text[w.start:w.end], text[next.start:next.end]
	line := func(offset int) int { return 1 + strings.Count(text[:offset], "\n") }
	m := mutant{first: line(w.start), last: line(w.end)}
	switch r.IntN(4) {
	case 0:
		m.what = fmt.Sprintf("delete %q", token)
		m.text = text[:w.start] + text[w.end:]
	case 1:
		m.what = fmt.Sprintf("swap %q and %q", token, after)
		m.text = text[:w.start] + after + text[w.end:next.start] + token + text[next.end:]
		m.last = line(next.end)
	case 2:
		m.what = fmt.Sprintf("duplicate %q", token)
		m.text = text[:w.end] + " " + token + text[w.end:]
	default:
		other := renamed(token, text, words, r)
		m.what = fmt.Sprintf("rename %q to %q", token, other)
		m.text = text[:w.start] + other + text[w.end:]
	}
	return m
}

// renamed misspells a word, or puts another token of the source in its place.
func renamed(token, text string, words []word, r *rand.Rand) string {
	if c := token[0]; r.IntN(2) == 0 && (c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z') {
		at := r.IntN(len(token))
		return token[:at] + string(rune('a'+r.IntN(26))) + token[at+1:]
	}
	w := words[r.IntN(len(words))]
	return text[w.start:w.end]
}

// checked is what became of a mutant.
type checked struct {
	ds  lang.Diagnostics
	bug string // what must not happen
}

// check loads a mutant and, when it is accepted, lowers its kernels.
func (m mutant) check(name string) (c checked) {
	defer func() {
		if r := recover(); r != nil {
			c.bug = fmt.Sprintf("panic: %v", r)
		}
	}()
	begin := time.Now()
	program, ds := jit.Load(name, []byte(m.text), nil)
	if took := time.Since(begin); took > 2*time.Minute { // what no load explains
		return checked{bug: fmt.Sprintf("took %v", took)}
	}
	c.ds = ds
	if len(ds) > 0 {
		return c
	}
	for _, k := range program.Kernels {
		if at := k.Decl.Place; at.Source.Path == name && m.touches(at) {
			if err := lowers(k); err != nil {
				c.bug = fmt.Sprintf("accepted, but: %v", err)
			}
		}
	}
	if err := m.runs(program, name); err != nil {
		c.bug = fmt.Sprintf("accepted, but: %v", err)
	}
	return c
}

// runs runs the tests of a mutant that the damage may change; what they check need not hold.
func (m mutant) runs(program *typed.Program, name string) error {
	damaged := false // a graph, which any test may call
	for _, g := range program.Graphs {
		damaged = damaged || g.Decl.Place.Source.Path == name && m.touches(g.Decl.Place)
	}
	compiler := jit.NewCompiler(cpu.Open(), nil)
	for _, t := range program.Tests {
		if !damaged && !m.touches(t.Decl.Place) {
			continue
		}
		_, err := compiler.RunTest(t, jit.Options{})
		if _, told := err.(*lang.Diagnostic); err != nil && !told {
			return fmt.Errorf("test %q: %w", t.Name, err)
		}
	}
	return nil
}

// touches reports whether the damage is in a declaration.
func (m mutant) touches(at lang.Span) bool {
	first, _ := at.Source.Position(at.Start)
	last, _ := at.Source.Position(at.End)
	return first <= m.last && m.first <= last
}

// lowers builds the IR of a kernel and plans it; errors that tell the user that sizes do not fit are no bugs.
func lowers(k *typed.Kernel) error {
	target, err := target.Find("cpu")
	if err != nil {
		return err
	}
	opts := jit.Options{Dims: map[string]int64{}, Types: map[string]lang.DType{}, Consts: map[string]lang.Literal{}}
	for i, d := range k.Dims {
		opts.Dims[d.Name] = int64(24 + 8*i)
	}
	for _, p := range k.TypeParams {
		opts.Types[p.Name] = lang.F32
		if p.Bound == "int" {
			opts.Types[p.Name] = lang.I32
		}
	}
	for _, s := range k.Consts {
		if s.Default == nil {
			opts.Consts[s.Name] = lang.Literal{DType: s.DType, Int: 1, Float: 1}
		}
	}
	spec, err := jit.Specialise(k, opts)
	if err == nil {
		for _, launch := range spec.Launches() {
			if _, err = compile.Lower(launch, target, nil); err != nil {
				break
			}
		}
	}
	if _, told := err.(*lang.Diagnostic); told {
		return nil
	}
	return err
}

// near reports whether the first error is within one line of the damage, and where it is.
func (m mutant) near(ds lang.Diagnostics, name string) (line int, near bool) {
	d := ds[0]
	if !d.At.IsValid() || d.At.Source.Path != name {
		return 0, false
	}
	line, _ = d.At.Position()
	end, _ := d.At.Source.Position(d.At.End)
	return line, line <= m.last+1 && end >= m.first-1
}

func TestMutations(t *testing.T) {
	sweep.Once(t)
	n := mutationsByDefault / sweep.OneIn(2)
	if text := os.Getenv(mutationsVariable); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	sources := mutationSources(t)
	names := make([]string, 0, len(sources))
	for name := range sources {
		names = append(names, name)
	}
	sort.Strings(names)
	rejected, near, accepted := 0, 0, 0
	var misses []string
	for _, name := range names {
		texts := sources[name]
		words := make([][]word, len(texts))
		for i, text := range texts {
			_, ds := jit.Load(name, []byte(text), nil)
			require.Empty(t, ds, name)
			words[i] = wordsOf(text)
		}
		r := jittest.Rand(name)
		for i := range n {
			at := r.IntN(len(texts))
			m := mutate(texts[at], words[at], r)
			c := m.check(name)
			if c.bug != "" {
				t.Errorf("%s, mutation %d, line %d: %s: %s", name, i, m.first, m.what, c.bug)
				continue
			}
			if len(c.ds) == 0 {
				accepted++
				continue
			}
			rejected++
			line, isNear := m.near(c.ds, name)
			if isNear {
				near++
			} else {
				misses = append(misses, fmt.Sprintf("%s:%d: %s: first error at line %d: %s\n    | %s", name, m.first, m.what, line, c.ds[0].Message, strings.Split(m.text, "\n")[m.first-1]))
			}
		}
	}
	part := float64(near) / float64(rejected)
	t.Logf("%d sources broken in %d ways each: %d accepted, %d rejected, of these %d (%.2f %%) with the first error near the damage", len(names), n, accepted, rejected, near, 100*part)
	if part < nearGoal || os.Getenv("TILEC_MUTATION_MISSES") != "" {
		t.Logf("first errors that are not near:\n%s", strings.Join(misses, "\n"))
	}
	require.GreaterOrEqual(t, part, nearGoal)
}
