package bench

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/stdlib"
)

// The planner is judged by what was measured: of each space, the time of the best plan as a part of that of the plan that it chooses. These are the
// least that the geometric mean and the worst of them may be. `tilec tune FILE KERNEL ... --most 0 --out bench/spaces_<gpu>.jsonl` adds a space.
const leastMean, leastWorst = 0.96, 0.85

func TestPlannerIsJudgedByWhatWasMeasured(t *testing.T) {
	files, err := filepath.Glob("spaces_*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var parts []float64
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		spaces, err := ReadSpaces(text)
		require.NoError(t, err, name)
		for _, s := range spaces {
			chosen := planOf(t, s)
			part, ok := s.Efficiency(func(m Measured) bool { return m.Plan == chosen })
			if !ok {
				t.Logf("%s for %s: the choice was not measured: %s", s.Kernel, s.For, chosen)
				continue
			}
			t.Logf("%s for %s: %.2f of the best: %s", s.Kernel, s.For, part, chosen)
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		t.Skip("no choice of the planner was measured")
	}
	mean, worst := geometric(parts)
	assert.GreaterOrEqual(t, mean, leastMean, "the geometric mean of %d", len(parts))
	assert.GreaterOrEqual(t, worst, leastWorst)
}

// planOf is the plan that a space's kernel gets today.
func planOf(t *testing.T, s Space) string {
	file, ok := strings.CutPrefix(s.File, "std/")
	require.True(t, ok, "%s is not of the standard library", s.File)
	text, err := stdlib.FS.ReadFile(file)
	require.NoError(t, err)
	program, problems := jit.Load(s.File, text, nil)
	require.Empty(t, problems)
	k, err := Workload{Kernel: s.Kernel}.In(program)
	require.NoError(t, err)
	o := jit.Options{Dims: map[string]int64{}, Types: map[string]lang.DType{}, Pins: map[string]int64{}}
	for _, word := range strings.Fields(s.For) {
		name, value, _ := strings.Cut(word, "=")
		if d, ok := lang.ParseDType(value); ok {
			o.Types[name] = d
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		require.NoError(t, err, word)
		isDim := false
		for _, d := range k.Dims {
			isDim = isDim || d.Name == name
		}
		if isDim {
			o.Dims[name] = n
		} else {
			o.Pins[name] = n
		}
	}
	spec, err := jit.Specialise(k, o)
	require.NoError(t, err)
	machine, err := target.Find(s.Target)
	require.NoError(t, err)
	l, err := compile.Lower(spec, machine, nil)
	require.NoError(t, err)
	return l.Plan.String()
}

func TestSpaces(t *testing.T) {
	text := `{"file":"std/nn.tile","kernel":"f","for":"M=1","target":"sm_90a","device":"d","provenance":"p","measured":[{"pins":"BM=8 warps=4","plan":"b","us":12,"predicted_us":6},{"pins":"","plan":"a","us":16,"predicted_us":16,"planned":true},{"pins":"BM=1","error":"no"}]}`
	all, err := ReadSpaces([]byte(text + "\n\n" + text))
	require.NoError(t, err)
	require.Len(t, all, 2)
	s := all[0]
	part, ok := s.Efficiency(func(m Measured) bool { return m.Planned })
	assert.True(t, ok)
	assert.Equal(t, 0.75, part)
	_, ok = s.Efficiency(func(m Measured) bool { return m.Plan == "c" })
	assert.False(t, ok)
	var out strings.Builder
	s.Sort()
	s.Write(&out)
	assert.Contains(t, out.String(), "| b | 12.0 | 6.0 | 0.50 | BM=8 warps=4 |\n| a * | 16.0 | 16.0 | 1.00 |  |\n|  | failed: no | 0.0 | | BM=1 |\n")
	assert.Contains(t, out.String(), "The planner's choice reaches 0.75 of the best of 2 plans; predicted / measured is 0.71 in the geometric mean")
	assert.Contains(t, out.String(), "As an attribute of the kernel: @target(sm_90a, BM = 8, warps = 4)\n")
	for _, text := range []string{"{", "{}", strings.Replace(text, `"us":12`, `"us":0`, 1), strings.Replace(text, "sm_90a", "", 1)} {
		_, err := ReadSpaces([]byte(text))
		assert.ErrorContains(t, err, "line 1: ", text)
	}
}

// A kernel's space holds what is planned, each plan once, and what is pinned holds for all.
func TestSpaceOfAKernel(t *testing.T) {
	program, err := Program()
	require.NoError(t, err)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	w := Select(Workloads(), []string{"softmax bf16 8192x768"})[0].pinned("warps", 4)
	k, err := w.In(program)
	require.NoError(t, err)
	s, err := jit.Specialise(k, w.Options(k))
	require.NoError(t, err)
	all, err := compile.Space(s, machine)
	require.NoError(t, err)
	assert.True(t, all[0].Planned)
	assert.Greater(t, len(all), 20)
	seen := map[string]bool{}
	for i, c := range all {
		assert.False(t, seen[c.Plan], c.Plan)
		seen[c.Plan] = true
		assert.Equal(t, int64(4), c.Pins["warps"])
		if i > 1 {
			assert.GreaterOrEqual(t, c.Seconds, all[i-1].Seconds)
		}
	}
}
