package stdlib_test

import (
	"testing"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// TestEmbedding expects equality: one f32 sum and one conversion. Ids outside
// the table and positions outside theirs read 0.
func TestEmbedding(t *testing.T) {
	k := load(t)
	// B, S, V, P, C, start
	everywhere := []shape{
		{1, 1, 1, 1, 1, 0}, {3, 17, 127, 129, 17, 5}, {1, 1, 1000, 129, 127, 128},
		{2, 129, 17, 127, 3, 0}, // positions run out
		{1, 3, 50257, 17, 129, 1},
	}
	large := []shape{{3, 1000, 50257, 1000, 129, 17}}
	eachType(t, shapes(t, everywhere, large), func(t *testing.T, d lang.DType, s shape) {
		b, n, v, p, c, start := s[0], int(s[1]), int(s[2]), int(s[3]), int(s[4]), int(s[5])
		r := jittest.Rand("embedding ids")
		ids := make([]int32, int(b)*n)
		for i := range ids {
			ids[i] = int32(r.IntN(v))
		}
		for i, bad := range []int32{int32(v), -1, 1 << 30, -1 << 31, int32(v - 1)} {
			if at := 3 + 4*i; at < len(ids) {
				ids[at] = bad
			}
		}
		tokens, positions := jittest.Normal(d, "tokens", s[2], s[4]), jittest.Normal(d, "positions", s[3], s[4])
		y := k.Run(t, "embedding", jit.Options{}, jittest.Ints(ids, b, s[1]), starts(s[0], s[5]), tokens, positions)[0]
		row := func(table *jittest.Array, i, size, at int) float32 {
			if i < 0 || i >= size {
				return 0
			}
			return float32(table.Float(i*c + at))
		}
		jittest.Same(t, y, func(e int) float64 {
			at, token := e%c, e/c
			return float64(d.Round(row(tokens, int(ids[token]), v, at) + row(positions, start+token%n, p, at)))
		})
	})
}

// TestAppend expects the new rows in their places, nothing past the cache's
// end, and every other element as it was.
func TestAppend(t *testing.T) {
	k := load(t)
	// B, S, H, D, P, start
	everywhere := []shape{
		{1, 1, 1, 1, 1, 0}, {2, 17, 3, 16, 129, 3}, {1, 1, 6, 32, 127, 126},
		{3, 127, 1, 17, 129, 1}, {1, 3, 2, 64, 17, 16}, // rows run past the end
		{1, 17, 2, 3, 17, 0},
	}
	large := []shape{{3, 1000, 12, 64, 1000, 0}, {1, 129, 3, 128, 1000, 17}}
	eachType(t, shapes(t, everywhere, large), func(t *testing.T, d lang.DType, s shape) {
		n, h, c, p, start := int(s[1]), int(s[2]), int(s[3]), int(s[4]), int(s[5])
		x, cache := jittest.Normal(d, "append x", s[0], s[1], s[2], s[3]), jittest.Normal(d, "append cache", s[0], s[2], s[4], s[3])
		after := k.Run(t, "append", jit.Options{}, x, starts(s[0], s[5]), cache)[0]
		jittest.Same(t, after, func(e int) float64 {
			at, position, head, batch := e%c, e/c%p, e/c/p%h, e/c/p/h
			if i := position - start; i >= 0 && i < n {
				return x.Float(((batch*n+i)*h+head)*c + at)
			}
			return cache.Float(e)
		})
	})
}

// starts is where each of b sequences begins: all at one position.
func starts(b, position int64) *jittest.Array {
	all := make([]int32, b)
	for i := range all {
		all[i] = int32(position)
	}
	return jittest.Ints(all, b)
}
