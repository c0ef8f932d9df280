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
	assert.EqualError(t, err, `unknown pass "nothing": known are fold, topk, sink, cse, licm, empty, contract, matvec, ranges, dce, share, spill, stream, single, keep, bounds, flatten, shifts`)
}
