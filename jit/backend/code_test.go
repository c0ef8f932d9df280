package backend_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/jit/cache"
	"tilec/jit/compile"
	"tilec/jit/target"
)

// What the cache gives of a module is all that was made: what the launch needs to know beside the code, too. Together the kernels have
// something in each of a module's fields.
func TestKeptModulesAreWhole(t *testing.T) {
	const source = `
kernel product(x: bf16[M, K], w: bf16[K, N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) {
        mma(x[i, k], w[k, j] @evict_first, acc)
    }
}

kernel permuted(x: f32[M, N]) -> y: f32[M, N]
    grid i in M by 2
{
    axis j in N
    let c = cumsum(x[i, j], over j)
    y[i, j] = c - pick(c, j, (index(j) * 7 + 3) % N) else 0
}
`
	program, problems := jit.Load("kept.tile", []byte(source), nil)
	require.Empty(t, problems)
	machine, err := target.Find(target.Default)
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, c := range []struct {
		kernel     int
		dims, pins map[string]int64
	}{
		{0, map[string]int64{"M": 1, "K": 8192, "N": 8192}, nil},
		{0, map[string]int64{"M": 4096, "K": 4096, "N": 4096}, map[string]int64{"BM": 128, "BN": 128, "BK": 64, "warps": 8, "stages": 4, "persist": 1, "cluster": 2}},
		{0, map[string]int64{"M": 64, "K": 8192, "N": 64}, nil},
		{1, map[string]int64{"M": 64, "N": 100_000}, nil},
	} {
		s, err := jit.Specialise(program.Kernels[c.kernel], jit.Options{Dims: c.dims, Pins: c.pins})
		require.NoError(t, err)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		store := cache.Open(t.TempDir())
		for range 2 {
			kept, err := backend.Make(l.Func, l.Plan, machine, store)
			require.NoError(t, err)
			made, v := reflect.ValueOf(l.Code.PTX).Elem(), reflect.ValueOf(kept.PTX).Elem()
			for i := range v.NumField() {
				name, f := v.Type().Field(i).Name, v.Field(i)
				assert.True(t, reflect.DeepEqual(made.Field(i).Interface(), f.Interface()), "%s of a %s by %v", name, l.Func.Name, c.dims)
				seen[name] = seen[name] || !f.IsZero() && (f.Kind() != reflect.Map || f.Len() > 0)
			}
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(backend.Code{}.PTX).Elem()) {
		assert.True(t, seen[f.Name], "no kernel has %s", f.Name)
	}
}
