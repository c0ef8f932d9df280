package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"tilec/jit/jittest/sweep"
)

const (
	// mostGrowth is how much more work a part of the larger half of a program may be than one of the smaller half: 1 is
	// linear, 2.7 quadratic. What sorts, or looks a thing up in a tree, is a little above 1.
	mostGrowth = 1.3
	// slack is the statements below which a program counts as short, whatever the growth of its work.
	slack = 80_000
	// noise is the bytes below which what the runtime allocates for itself shows more than what a program takes.
	noise = 80 << 20
)

// measured is what one size of a program took.
type measured struct{ n, statements, bytes int }

// TestWorkGrowsWithTheProgram counts the statements that the front end and the language server execute for programs of three
// sizes, by the counters of Go's coverage, and the bytes that they allocate. Programs that stand for very many things are larger
// than a limit, which refuses them: see docs/language.md.
//
// The smallest size is for what does not grow. From it on, the work of the first n parts foretells that of as many more.
func TestWorkGrowsWithTheProgram(t *testing.T) {
	sweep.NeedThorough(t, "it builds the front end once more, with counters")
	bin, counters, own := filepath.Join(t.TempDir(), "growth"), t.TempDir(), "GOCOVERDIR="+t.TempDir()
	run := func(name string, args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // where the work of some program doubles with its size
		defer cancel()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Env = append(os.Environ(), own, "GOGC=400") // a third of the time is else the collector's
		out, err := cmd.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out), nil
	}
	_, err := run("go", "build", "-cover", "-covermode=atomic", "-coverpkg=tilec/bench/growth,tilec/lang,tilec/parser,tilec/typecheck,tilec/typecheck/report,tilec/typecheck/rules,tilec/typecheck/blocks,tilec/typecheck/kernel,tilec/typecheck/graph,tilec/cmd/tilec/lsp", "-o", bin, ".")
	require.NoError(t, err)
	covdata, err := run("go", "tool", "-n", "covdata")
	require.NoError(t, err)
	covdata = strings.TrimSpace(covdata)
	sizes := make([][]measured, len(all())) // of each program, by the part that measures it alone
	var parts errgroup.Group
	for part := range runtime.GOMAXPROCS(0) {
		parts.Go(func() error {
			counters := filepath.Join(counters, fmt.Sprint(part))
			if _, err := run(bin, "-counters", counters, "-part", fmt.Sprintf("%d/%d", part, runtime.GOMAXPROCS(0))); err != nil {
				return err
			}
			dirs, err := os.ReadDir(counters)
			if err != nil {
				return err
			}
			for _, d := range dirs {
				var program int
				var m measured
				if _, err := fmt.Sscanf(d.Name(), "%d.%d.%d", &program, &m.n, &m.bytes); err != nil {
					return err
				}
				text := filepath.Join(counters, d.Name()+".txt")
				if _, err := run(covdata, "textfmt", "-i="+filepath.Join(counters, d.Name()), "-o="+text); err != nil {
					return err
				}
				if m.statements, err = executed(text); err != nil {
					return err
				}
				sizes[program] = append(sizes[program], m)
			}
			return nil
		})
	}
	require.NoError(t, parts.Wait())
	for i, p := range all() {
		s := sizes[i]
		require.Len(t, s, 3, p.name)
		sort.Slice(s, func(i, j int) bool { return s[i].n < s[j].n })
		assert.Greater(t, s[2].statements, 1000, "%s: nothing was counted", p.name)
		assert.True(t, grows(s, func(m measured) int { return m.statements }, slack), "%s: %+v", p.name, s)
		assert.True(t, grows(s, func(m measured) int { return m.bytes }, noise), "%s: %+v", p.name, s)
	}
}

// grows reports that what was measured grows with the program, up to a slack.
func grows(s []measured, of func(measured) int, slack float64) bool {
	added := func(i int) float64 { return float64(of(s[i]) - of(s[i-1])) }
	parts := func(i int) float64 { return float64(s[i].n - s[i-1].n) }
	return added(2) < mostGrowth*added(1)/parts(1)*parts(2)+slack
}

// What grows as the square of a program is noticed, beside what is linear and larger.
func TestGrowthIsNoticed(t *testing.T) {
	work := func(n int, of func(n float64) float64) []measured {
		var s []measured
		for _, n := range (program{least: n}).sizes() {
			s = append(s, measured{n: n, statements: 100_000 + int(of(float64(n)))})
		}
		return s
	}
	statements := func(m measured) int { return m.statements }
	for _, least := range []int{5, 20, 100, 1000} {
		assert.True(t, grows(work(least, func(n float64) float64 { return 500 * n }), statements, slack))
		assert.True(t, grows(work(least, func(n float64) float64 { return 500 * n * math.Log2(n) }), statements, slack))
		enough := float64(slack) / float64(least*least) // statements for each pair of parts
		assert.False(t, grows(work(least, func(n float64) float64 { return n * n * enough }), statements, slack))
		assert.False(t, grows(work(least, func(n float64) float64 { return n*1000 + n*n*(enough+200/float64(least)) }), statements, slack))
	}
}

// executed adds up a profile: behind its first line, the mode, the lines are `file:from,to statements times`.
func executed(profile string) (int, error) {
	text, err := os.ReadFile(profile)
	if err != nil {
		return 0, err
	}
	sum := 0
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if bytes.HasSuffix(line, []byte(" 0")) || bytes.HasPrefix(line, []byte("mode:")) {
			continue
		}
		fields := bytes.Fields(line)
		if len(fields) != 3 {
			return 0, fmt.Errorf("%s: `%s` is no line of a profile", profile, line)
		}
		statements, err := strconv.Atoi(string(fields[1]))
		if err != nil {
			return 0, err
		}
		times, err := strconv.Atoi(string(fields[2]))
		if err != nil {
			return 0, err
		}
		sum += statements * times
	}
	return sum, nil
}
