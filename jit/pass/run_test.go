package pass

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
)

func TestRunNamesTheGuiltyPass(t *testing.T) {
	f := parse(t, fold.Before)
	bad := Pass{Name: "bad", Run: func(f *ir.Func, _ *Options) (bool, error) {
		f.Body.Ops[0], f.Body.Ops[1] = f.Body.Ops[1], f.Body.Ops[0]
		return true, nil
	}}
	_, err := apply(f, bad, &Options{Verify: true})
	require.Error(t, err)
	assert.Contains(t, err.Error(), "compiler bug: pass bad: it broke the kernel: kernel k: load: argument 0, %0, is not defined here in `%1 = load %x[%0] : f32{i}`")

	err = Run(f, Options{Verify: true})
	require.Error(t, err)
	assert.Contains(t, err.Error(), "before any pass: ")
}

func TestRunDumpsWhatChangedAndSkips(t *testing.T) {
	var names []string
	dump := func(pass string, f *ir.Func) {
		names = append(names, pass)
		require.NoError(t, ir.Verify(f))
	}
	f := parse(t, contract.Before)
	require.NoError(t, Run(f, Options{Verify: true, Dump: dump}))
	assert.Contains(t, names, "contract")
	assert.NotContains(t, names, "stream")

	names = nil
	f = parse(t, contract.Before)
	require.NoError(t, Run(f, Options{Verify: true, Dump: dump, Skip: map[string]bool{"contract": true}}))
	assert.NotContains(t, names, "contract")
}

// Running the passes once more changes nothing.
func TestRunIsIdempotent(t *testing.T) {
	for name, text := range kernels(t) {
		f := parse(t, text)
		require.NoError(t, Run(f, Options{Verify: true}))
		once := f.String()
		require.NoError(t, Run(f, Options{Verify: true, Dump: func(pass string, _ *ir.Func) { t.Errorf("%s: %s changed it again", name, pass) }}))
		assert.Equal(t, once, f.String())
	}
}

func TestFind(t *testing.T) {
	for _, p := range Passes() {
		got, err := Find(p.Name)
		require.NoError(t, err)
		assert.Equal(t, p.Name, got.Name)
	}
	_, err := Find("nothing")
	assert.EqualError(t, err, `unknown pass "nothing": known are fold, topk, sink, cse, licm, empty, factors, contract, taps, abreast, mix, counted, matvec, orient, ranges, online, dce, share, spill, stream, single, alike, keep, bounds, flatten, uniform, shifts, unroll`)
}

// Where a pass puts another value in the place of an operand, a rename and a cast have their axes in its order: backends may hold both in one place.
func TestRenamesAndCastsFollowTheirOperands(t *testing.T) {
	f := parse(t, `kernel @k {
  dim N = 8
  tensor %x : in f32[N, N]
  tensor %y : out bf16[N, N]
  axis i : whole N[0 .. 8]
  axis j : whole N[0 .. 8]
  axis e : whole N[0 .. 8]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = const true : bool
  %3 = load %x[%1, %0] : f32{j, i}
  %4 = load %x[%0, %1] : f32{i, j}
  %5 = if %2 : (f32{i, j}) {
    yield %3
  } else {
    yield %4
  }
  %6 = rename %5 from j to e : f32{i, e}
  %7 = cast %6 : bf16{i, e}
  %8 = index e : i32{e}
  store %y[%0, %8] = %7
}
`)
	require.NoError(t, Run(f, Options{Verify: true}))
	text := f.String()
	assert.NotContains(t, text, "if ")
	assert.Contains(t, text, " = rename %3 from j to e : f32{e, i}")
	assert.Contains(t, text, " : bf16{e, i}")
}
