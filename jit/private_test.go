package jit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/compile"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
)

// What blocks change in shared memory first comes out as if each atomic went to memory: integers have no order. Places outside
// the tensor change nothing.
func TestPrivateAtomics(t *testing.T) {
	sweep.OnceEmulated(t)
	const source = `
kernel bins(ids: i32[N], v: i32[N], inout counts: i32[V], inout most: u32[V], inout least: i32[V], inout seen: i32[V])
    grid i in N by B
{
    atomic_add(counts[ids[i]], 1)
    atomic_max(most[ids[i]], bitcast(v[i], u32))
    atomic_min(least[ids[i]], v[i])
    atomic_xor(seen[ids[i]], v[i])
}

kernel pairs(a: i32[N], b: i32[N], inout t: i32[3, 5])
    grid i in N by B
{
    for n in 2 { atomic_add(t[a[i], b[i]], a[i] + n) }
}`
	d, err := OpenDevice(gpu())
	require.NoError(t, err)
	defer d.Close()
	module, err := NewCompiler(d, nil).Load("f.tile", []byte(source))
	require.NoError(t, err)
	for _, n := range []int{1, 33, 1000, 4097} {
		for _, bins := range []int{1, 2, 7, 16, 17, 300} {
			r := rand.New(rand.NewPCG(uint64(n), uint64(bins)))
			ids, v := make([]int32, n), make([]int32, n)
			counts, most, least, seen := make([]int32, bins), make([]uint32, bins), make([]int32, bins), make([]int32, bins)
			for i := range bins {
				counts[i], least[i] = int32(i), 1<<31-1
			}
			before := []any{slices.Clone(counts), slices.Clone(most), slices.Clone(least), slices.Clone(seen)}
			for i := range n {
				ids[i], v[i] = int32(r.IntN(bins+4)-2), int32(r.Uint32())
				if i%3 == 0 { // one counter that many meet at
					ids[i] = int32(min(1, bins-1))
				}
				if k := ids[i]; k >= 0 && int(k) < bins {
					counts[k]++
					most[k], least[k], seen[k] = max(most[k], uint32(v[i])), min(least[k], v[i]), seen[k]^v[i]
				}
			}
			for _, private := range []int{0, 1, 100, 32768} {
				for _, b := range []int{64, 512} {
					args := Args{"ids": ArrayOf(ids, int64(n)), "v": ArrayOf(v, int64(n)), "B": b,
						"counts": ArrayOf(slices.Clone(before[0].([]int32)), int64(bins)), "most": ArrayOf(slices.Clone(before[1].([]uint32)), int64(bins)),
						"least": ArrayOf(slices.Clone(before[2].([]int32)), int64(bins)), "seen": ArrayOf(slices.Clone(before[3].([]int32)), int64(bins))}
					if private > 0 {
						args["private"] = private
					}
					_, err := module.Call("bins", args)
					require.NoError(t, err)
					what := fmt.Sprintf("n=%d bins=%d private=%d B=%d", n, bins, private, b)
					require.Equal(t, counts, mustSlice[int32](t, args["counts"]), what)
					require.Equal(t, most, mustSlice[uint32](t, args["most"]), what)
					require.Equal(t, least, mustSlice[int32](t, args["least"]), what)
					require.Equal(t, seen, mustSlice[int32](t, args["seen"]), what)
				}
			}
		}
	}
	a, b, sums := make([]int32, 777), make([]int32, 777), make([]int32, 15)
	for i := range a {
		a[i], b[i] = int32(i%5-1), int32(i%7-1)
		if a[i] >= 0 && a[i] < 3 && b[i] >= 0 && b[i] < 5 {
			sums[a[i]*5+b[i]] += 2*a[i] + 1
		}
	}
	for _, private := range []int{1, 4096} {
		args := Args{"a": ArrayOf(a, 777), "b": ArrayOf(b, 777), "t": ArrayOf(make([]int32, 15), 3, 5), "private": private}
		_, err := module.Call("pairs", args)
		require.NoError(t, err)
		assert.Equal(t, sums, mustSlice[int32](t, args["t"]), private)
	}
}

func mustSlice[T Number](t *testing.T, v any) []T {
	t.Helper()
	s, err := Slice[T](v.(*Array))
	require.NoError(t, err)
	return s
}

// Blocks meet in memory once an element and not once for each change, which the code shows; and a pin refuses it.
func TestPrivateAtomicsAreInSharedMemory(t *testing.T) {
	const source = `
kernel count(ids: i32[N], inout counts: i32[V])
    grid i in N by B
{
    atomic_add(counts[ids[i]], 1)
}

kernel known(ids: i32[N], inout counts: i32[V]) -> before: i32[N]
    grid i in N by B
{
    let old = atomic_add(counts[ids[i]] else 0, 1)
    before[i] = old
}

kernel weights(ids: i32[N], w: f32[N], inout sums: f32[V])
    grid i in N by B
{
    atomic_add(sums[ids[i]], w[i])
}`
	program, problems := Load("f.tile", []byte(source), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	ptx := func(kernel int, v int64, pins map[string]int64) (text string, plan *compile.Lowered) {
		s, err := Specialise(program.Kernels[kernel], Options{Dims: map[string]int64{"N": 1 << 24, "V": v}, Pins: pins})
		require.NoError(t, err)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		text, err = l.PTX()
		require.NoError(t, err)
		return text, l
	}
	text, l := ptx(0, 256, nil)
	assert.Contains(t, text, "red.shared.add.u32")
	assert.Equal(t, 1, strings.Count(text, "red.global"), "once an element, in a loop")
	refused, r := ptx(0, 256, map[string]int64{"private": 1})
	assert.NotContains(t, refused, "red.shared")
	assert.Contains(t, r.Reasons(), "private = 1 of the launch: private=1")
	assert.Less(t, 4*l.Plan.Time, r.Plan.Time, "the planner knows what meeting costs")
	for kernel, v := range map[int]int64{
		0: 1 << 20, // more bins than a block has room for
		1: 256,     // what was there before is asked for
		2: 256,     // floats, which shared memory adds one after the other
	} {
		text, _ := ptx(kernel, v, nil)
		assert.NotContains(t, text, "red.shared", kernel)
	}
}
