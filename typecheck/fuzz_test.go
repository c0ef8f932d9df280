package typecheck_test

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tilec/lang"
	"tilec/parser"
	"tilec/typecheck"
	"tilec/typecheck/typed"
)

// sources are real programs: the pages' examples, the language's examples, the
// standard library and the erroneous programs of testdata.
func sources(t testing.TB) []string {
	var all []string
	for _, c := range lang.Codes() {
		row, _ := lang.CodeInfo(c)
		for _, text := range []string{row.Fails, row.Works} {
			if text != "" && !strings.HasPrefix(text, "-- ") {
				all = append(all, text)
			}
		}
	}
	for _, pattern := range []string{"testdata/*.tile", "../stdlib/*.tile", "../gpt/*.tile", "../testdata/errors/*.tile", "../parser/testdata/errors/*.tile"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, p := range paths {
			text, err := os.ReadFile(p)
			require.NoError(t, err)
			all = append(all, string(text))
		}
	}
	return all
}

// tokens cuts a text into words, numbers, spaces and signs.
func tokens(text string) []string {
	class := func(r rune) int {
		switch {
		case r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9':
			return 1
		case r == ' ' || r == '\n':
			return 2
		}
		return 3
	}
	var out []string
	last := 0
	for _, r := range text {
		if c := class(r); c != last || c == 3 {
			out = append(out, "")
			last = c
		}
		out[len(out)-1] += string(r)
	}
	return out
}

// hang is what no check takes, however loaded the machine is.
const hang = 2 * time.Minute

// checkSafely types a text whatever the parser made of it; it fails on a panic, a
// diagnostic without a place, or a check that takes long.
func checkSafely(t testing.TB, text string) {
	defer func() {
		if r := recover(); r != nil {
			panic(fmt.Sprintf("%v\nin:\n%s", r, text))
		}
	}()
	m, ds := parser.Parse(lang.NewSource("mutant.tile", text))
	if m == nil || len(ds) > 0 {
		return
	}
	start := time.Now()
	p, ds := typecheck.Check(m, nil)
	require.Less(t, time.Since(start), hang, "slow:\n%s", text)
	for _, d := range ds {
		require.True(t, d.At.IsValid(), "%s\n%s", d, text)
		_, known := lang.CodeInfo(d.Code)
		require.True(t, known, "%s has no page", d.Code)
	}
	if len(ds) == 0 {
		require.NoError(t, typed.Write(&strings.Builder{}, p))
	}
}

// TestMutants deletes, repeats, swaps and renames tokens of real programs: the
// checker answers every one that parses, and never panics.
func TestMutants(t *testing.T) {
	all := sources(t)
	rng := rand.New(rand.NewSource(1))
	words := []string{"i", "j", "k", "x", "y", "N", "M", "0", "1", "f32", "T", "D", "index", "sum", "for", "if", "let", "axis", "over", "..", "-", "bool", "_", "inf"}
	mutants := 4000
	if testing.Short() {
		mutants = 400
	}
	for range mutants {
		ts := tokens(all[rng.Intn(len(all))])
		for range 1 + rng.Intn(3) {
			at := rng.Intn(len(ts))
			switch rng.Intn(4) {
			case 0:
				ts[at] = ""
			case 1:
				ts[at] += ts[rng.Intn(len(ts))]
			case 2:
				other := rng.Intn(len(ts))
				ts[at], ts[other] = ts[other], ts[at]
			case 3:
				if strings.TrimSpace(ts[at]) != "" {
					ts[at] = words[rng.Intn(len(words))]
				}
			}
		}
		checkSafely(t, strings.Join(ts, ""))
	}
}

func FuzzCheck(f *testing.F) {
	for _, text := range sources(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkSafely(t, text) })
}
