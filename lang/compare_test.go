package lang

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCompare(t *testing.T) {
	nan := math.NaN()
	for op, want := range map[Op][4]bool{ // of 1 and 2, 2 and 2, 2 and 1, NaN and NaN
		OpEq: {false, true, false, false}, OpNe: {true, false, true, true},
		OpLt: {true, false, false, false}, OpLe: {true, true, false, false},
		OpGt: {false, false, true, false}, OpGe: {false, true, true, false},
	} {
		for i, pair := range [4][2]float64{{1, 2}, {2, 2}, {2, 1}, {nan, nan}} {
			holds, ok := Compare(op, pair[0], pair[1])
			assert.True(t, ok)
			assert.Equal(t, want[i], holds, "%v %v", pair, op)
		}
	}
	holds, _ := Compare(OpGt, int64(math.MaxInt64), math.MaxInt64-1)
	assert.True(t, holds, "as integers, not as floats")
	_, ok := Compare(OpAdd, 1, 2)
	assert.False(t, ok)
}
