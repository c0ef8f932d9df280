package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// mostGrowth is how much more work a program of four times the size may add to one of two times than that adds to the
	// first: 2 is linear, 4 quadratic. What sorts, or looks a thing up in a tree, is a little above 2.
	mostGrowth = 2.6
	// slack is the statements below which a program counts as short, whatever the growth of its work.
	slack = 100_000
	// noise is the bytes below which what the runtime allocates for itself shows more than what a program takes.
	noise = 100 << 20
)

// measured is what one size of a program took.
type measured struct{ n, statements, bytes int }

// TestWorkGrowsWithTheProgram counts the statements that the front end executes for programs of n, 2n and 4n parts, by the
// counters of Go's coverage, and the bytes that it allocates. Programs that stand for very many things are larger than
// a limit, which refuses them: see docs/language.md.
func TestWorkGrowsWithTheProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the front end with counters")
	}
	bin, counters := filepath.Join(t.TempDir(), "growth"), t.TempDir()
	run := func(name string, args ...string) string {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // where the work of some program doubles with its size
		defer cancel()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Env = append(os.Environ(), "GOCOVERDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %s\n%s", name, strings.Join(args, " "), out)
		return string(out)
	}
	run("go", "build", "-cover", "-covermode=atomic", "-coverpkg=tilec/bench/growth,tilec/lang,tilec/parser,tilec/typecheck", "-o", bin, ".")
	run(bin, "-counters", counters)
	covdata := strings.TrimSpace(run("go", "tool", "-n", "covdata"))
	sizes := map[int][]measured{}
	dirs, err := os.ReadDir(counters)
	require.NoError(t, err)
	for _, d := range dirs {
		var program int
		var m measured
		_, err := fmt.Sscanf(d.Name(), "%d.%d.%d", &program, &m.n, &m.bytes)
		require.NoError(t, err)
		text := filepath.Join(counters, d.Name()+".txt")
		run(covdata, "textfmt", "-i="+filepath.Join(counters, d.Name()), "-o="+text)
		m.statements = executed(t, text)
		sizes[program] = append(sizes[program], m)
	}
	for i, p := range programs {
		s := sizes[i]
		require.Len(t, s, 3, p.name)
		sort.Slice(s, func(i, j int) bool { return s[i].n < s[j].n })
		assert.Greater(t, s[2].statements, 1000, "%s: nothing was counted", p.name)
		assert.Less(t, float64(s[2].statements-s[1].statements), mostGrowth*float64(s[1].statements-s[0].statements)+slack, "%s: %+v", p.name, s)
		assert.Less(t, float64(s[2].bytes-s[1].bytes), mostGrowth*float64(s[1].bytes-s[0].bytes)+noise, "%s: %+v", p.name, s)
	}
}

// executed adds up a profile: the lines are `file:from,to statements times`.
func executed(t *testing.T, profile string) int {
	t.Helper()
	f, err := os.Open(profile)
	require.NoError(t, err)
	defer f.Close()
	sum := 0
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 {
			continue // the mode
		}
		var statements, times int
		_, err := fmt.Sscan(fields[1]+" "+fields[2], &statements, &times)
		require.NoError(t, err)
		sum += statements * times
	}
	require.NoError(t, lines.Err())
	return sum
}
