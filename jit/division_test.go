package jit_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// Divisions of an i32 by numbers that are known are products in code for a GPU: quotients, floors and remainders of all signs, and of the ends of the range.
func TestDivisionsByConstants(t *testing.T) {
	divisions(t, lang.I32, []int32{2, 3, 7, 12, 64, 100, 768, 50257, 1 << 20, 1 << 30, 1<<30 + 1, math.MaxInt32},
		[]int32{0, 1, -1, 6, -6, 7, -7, math.MaxInt32, math.MinInt32, math.MinInt32 + 1},
		func(r *rand.Rand) int32 { return int32(r.Uint32()) >> r.Intn(31) })
}

// Divisions of an i64 likewise.
func TestWideDivisionsByConstants(t *testing.T) {
	divisions(t, lang.I64, []int64{2, 3, 7, 64, 280, 50257, 1 << 31, 1<<31 + 1, 1 << 62, 1<<62 + 1, math.MaxInt64},
		[]int64{0, 1, -1, 279, 280, -280, -281, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1},
		func(r *rand.Rand) int64 { return int64(r.Uint64()) >> r.Intn(63) })
}

// divisions divides the numbers, and random ones up to 64, by each divisor.
func divisions[T int32 | int64](t *testing.T, d lang.DType, divisors, numbers []T, random func(*rand.Rand) T) {
	r := rand.New(rand.NewSource(1))
	for len(numbers) < 64 {
		numbers = append(numbers, random(r))
	}
	var source strings.Builder
	for i, by := range divisors {
		fmt.Fprintf(&source, "kernel by%d(x: %[2]s[N]) -> (q: %[2]s[N], f: %[2]s[N], m: %[2]s[N]) {\nq[i] = x[i] / %[3]d\nf[i] = (x[i] // %[3]d)\nm[i] = x[i] %% %[3]d\n}\n", i, d, by)
	}
	m, err := jit.NewCompiler(jittest.Device(t), nil).Load("divisions.tile", []byte(source.String()))
	require.NoError(t, err)
	data, err := binary.Append(nil, binary.LittleEndian, numbers)
	require.NoError(t, err)
	for i, by := range divisors {
		out, err := m.Call(fmt.Sprintf("by%d", i), jit.Args{"x": &jit.Array{DType: d, Shape: []int64{int64(len(numbers))}, Data: data}})
		require.NoError(t, err)
		results := map[string][]T{}
		for _, name := range []string{"q", "f", "m"} {
			results[name] = make([]T, len(numbers))
			_, err := binary.Decode(out[name].Data, binary.LittleEndian, results[name])
			require.NoError(t, err)
		}
		for n, x := range numbers {
			floor := x / by
			if x%by < 0 {
				floor--
			}
			assert.Equal(t, []T{x / by, floor, x % by}, []T{results["q"][n], results["f"][n], results["m"][n]}, "%d by %d", x, by)
		}
	}
}
