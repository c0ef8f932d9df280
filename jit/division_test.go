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
	divisors := []int32{2, 3, 7, 12, 64, 100, 768, 50257, 1 << 20, 1 << 30, 1<<30 + 1, math.MaxInt32}
	numbers := []int32{0, 1, -1, 6, -6, 7, -7, math.MaxInt32, math.MinInt32, math.MinInt32 + 1}
	r := rand.New(rand.NewSource(1))
	for len(numbers) < 64 {
		numbers = append(numbers, int32(r.Uint32())>>r.Intn(31))
	}
	var source strings.Builder
	for i, d := range divisors {
		fmt.Fprintf(&source, "kernel by%d(x: i32[N]) -> (q: i32[N], f: i32[N], m: i32[N]) {\nq[i] = x[i] / %d\nf[i] = (x[i] // %d)\nm[i] = x[i] %% %d\n}\n", i, d, d, d)
	}
	m, err := jit.NewCompiler(jittest.Device(t), nil).Load("divisions.tile", []byte(source.String()))
	require.NoError(t, err)
	data := make([]byte, 0, 4*len(numbers))
	for _, x := range numbers {
		data = binary.LittleEndian.AppendUint32(data, uint32(x))
	}
	for i, d := range divisors {
		out, err := m.Call(fmt.Sprintf("by%d", i), jit.Args{"x": &jit.Array{DType: lang.I32, Shape: []int64{int64(len(numbers))}, Data: data}})
		require.NoError(t, err)
		for n, x := range numbers {
			at := func(name string) int32 { return int32(binary.LittleEndian.Uint32(out[name].Data[4*n:])) }
			floor := int32(math.Floor(float64(x) / float64(d)))
			assert.Equal(t, []int32{x / d, floor, x % d}, []int32{at("q"), at("f"), at("m")}, "%d by %d", x, d)
		}
	}
}

// Divisions of an i64 likewise.
func TestWideDivisionsByConstants(t *testing.T) {
	divisors := []int64{2, 3, 7, 64, 280, 50257, 1 << 31, 1<<31 + 1, 1 << 62, 1<<62 + 1, math.MaxInt64}
	numbers := []int64{0, 1, -1, 279, 280, -280, -281, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1}
	r := rand.New(rand.NewSource(1))
	for len(numbers) < 64 {
		numbers = append(numbers, int64(r.Uint64())>>r.Intn(63))
	}
	var source strings.Builder
	for i, d := range divisors {
		fmt.Fprintf(&source, "kernel by%d(x: i64[N]) -> (q: i64[N], f: i64[N], m: i64[N]) {\nq[i] = x[i] / %d\nf[i] = (x[i] // %d)\nm[i] = x[i] %% %d\n}\n", i, d, d, d)
	}
	m, err := jit.NewCompiler(jittest.Device(t), nil).Load("divisions.tile", []byte(source.String()))
	require.NoError(t, err)
	data := make([]byte, 0, 8*len(numbers))
	for _, x := range numbers {
		data = binary.LittleEndian.AppendUint64(data, uint64(x))
	}
	for i, d := range divisors {
		out, err := m.Call(fmt.Sprintf("by%d", i), jit.Args{"x": &jit.Array{DType: lang.I64, Shape: []int64{int64(len(numbers))}, Data: data}})
		require.NoError(t, err)
		for n, x := range numbers {
			at := func(name string) int64 { return int64(binary.LittleEndian.Uint64(out[name].Data[8*n:])) }
			floor := x / d
			if x%d < 0 {
				floor--
			}
			assert.Equal(t, []int64{x / d, floor, x % d}, []int64{at("q"), at("f"), at("m")}, "%d by %d", x, d)
		}
	}
}
