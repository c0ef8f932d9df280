package log

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimesAreATreeWithShares(t *testing.T) {
	var out strings.Builder
	l, err := Parse("time", &out)
	require.NoError(t, err)
	l.Times(time.Second)
	require.Empty(t, out.String(), "nothing was measured")

	l.Spent(50*time.Millisecond, "load")
	l.Spent(30*time.Millisecond, "compile", "add", "plan")
	l.Spent(10*time.Millisecond, "compile", "add", "passes")
	l.Spent(60*time.Millisecond, "compile", "linear", "plan")
	l.Spent(20*time.Millisecond, "run", "add")
	l.Spent(5*time.Millisecond, "run", "add")
	l.Times(200 * time.Millisecond)
	require.Equal(t, strings.Join([]string{
		"// time: 200.000 ms",
		"  load              50.000 ms  25.0 %",
		"  compile          100.000 ms  50.0 %",
		"    linear          60.000 ms  30.0 %",
		"      plan          60.000 ms  30.0 %",
		"    add             40.000 ms  20.0 %",
		"      plan          30.000 ms  15.0 %",
		"      passes        10.000 ms   5.0 %",
		"  run               25.000 ms  12.5 %",
		"    add       2 x   25.000 ms  12.5 %",
		"  the rest          25.000 ms  12.5 %",
		"", ""}, "\n"), out.String())

	out.Reset()
	l.Times(time.Second)
	require.Empty(t, out.String(), "it began anew")
}

func TestStopwatch(t *testing.T) {
	var out strings.Builder
	l, err := Parse("time", &out)
	require.NoError(t, err)
	w := l.Stopwatch("compile", "add")
	w.Lap("build")
	w.Lap("plan")
	l.Times(time.Hour)
	require.Regexp(t, `(?s)^// time: 3600000.000 ms\n  compile .*\n    add .*\n      (build|plan) .*\n      (build|plan) .*\n  the rest .* 100.0 %\n\n$`, out.String())

	off, err := Parse("plan", &out)
	require.NoError(t, err)
	out.Reset()
	off.Stopwatch("compile").Lap("build")
	off.Spent(time.Second, "run")
	off.Times(time.Second)
	require.Empty(t, out.String())
}
