package bench_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/bench"
	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/cuda"
	"tilec/jit/target"
)

var (
	registersUsed = regexp.MustCompile(`Used (\d+) registers`)
	spills        = regexp.MustCompile(`(\d+) bytes spill stores, (\d+) bytes spill loads`)
	serialised    = regexp.MustCompile(`C75\d\d`)
)

// What a plan says of blocks on a multiprocessor holds of the code that the assembler makes of it, for every linear layer whose
// products warpgroups compute; nothing of these is kept in memory, and no product waits for the one before it.
func TestResidencyIsThePlans(t *testing.T) {
	assembler, err := cuda.FindAssembler()
	if errors.Is(err, cuda.ErrNoAssembler) {
		if os.Getenv(cuda.AssemblerVariable) != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	require.NoError(t, err)
	on, err := target.Find(target.Default)
	require.NoError(t, err)
	program, err := bench.Program()
	require.NoError(t, err)
	held := 0
	for _, w := range bench.Workloads() {
		if w.Family != "linear" && !strings.HasPrefix(w.Kernel, "linear") && w.Kernel != "head" {
			continue
		}
		k, err := w.In(program)
		require.NoError(t, err, w.Name)
		s, err := jit.Specialise(k, w.Options(k))
		require.NoError(t, err, w.Name)
		l, err := compile.Lower(s, on, nil)
		require.NoError(t, err, w.Name)
		if l.Plan.Resident == 0 {
			continue
		}
		held++
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			text, err := l.PTX()
			require.NoError(t, err)
			_, log, err := assembler.Compile(context.Background(), []byte(text), on.Name, cuda.CompileOptions{Verbose: true})
			require.NoError(t, err)
			number := func(r *regexp.Regexp, n int) int {
				found := r.FindStringSubmatch(log)
				require.Greater(t, len(found), n, log)
				v, err := strconv.Atoi(found[n])
				require.NoError(t, err)
				return v
			}
			assert.Zero(t, number(spills, 1)+number(spills, 2), log)
			assert.NotRegexp(t, serialised, log)
			m := l.Code.PTX
			assert.LessOrEqual(t, number(registersUsed, 1), on.RegistersShare(l.Plan.Resident, m.Threads/32), "%s: %d blocks", l.Plan, l.Plan.Resident)
			assert.LessOrEqual(t, int64(m.Shared), on.SharedShare(l.Plan.Resident), "%s: %d blocks", l.Plan, l.Plan.Resident)
		})
	}
	assert.GreaterOrEqual(t, held, 15, "workloads whose products are by warpgroups")
}
