package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/plan"
)

// Four rows of a result are made of the sum of one row.
const ofFours = `kernel @fours {
  dim G = 512
  dim P = 15876
  dim O = 2048
  tensor %x : in f32[G, P] align 16
  tensor %y : out f32[O, P] align 16
  axis o : grid O by BO = ?
  axis p : grid P by BP = ?
  axis q : whole P[0 .. 15876]
body:
  %0 = index o : i32{o}
  %1 = const 4 : i32
  %2 = full %1 : i32{o}
  %3 = div %0, %2 : i32{o}
  %4 = index p : i32{p}
  %5 = load %x[%3, %4] : f32{o, p}
  %6 = index q : i32{q}
  %7 = load %x[%3, %6] : f32{o, q}
  %8 = sum %7 over q : f32{o}
  %9 = mul %5, %8 : f32{o, p}
  store %y[%0, %4] = %9
}
`

// Neighbours have one element where a block has them: one that has a single row reads all of what that is made of.
func TestNeighboursOfOneElementAreOfABlock(t *testing.T) {
	f, err := ir.Parse("fours", ofFours)
	require.NoError(t, err)
	p, err := plan.Choose(f, on(t, "sm_90a"), nil, nil)
	require.NoError(t, err)
	assert.EqualValues(t, 4, p.Extents["o"], "%s", p)
	one, err := plan.Choose(f, on(t, "sm_90a"), nil, map[string]int64{"BO": 1})
	require.NoError(t, err)
	assert.Greater(t, one.Time, p.Time, "%s, where the search has chosen %s", one, p)
}

// Groups of four rows of 62 KB, of which two multiprocessors have room for one.
const groups = `kernel @groups {
  dim B = 512
  dim C = 4
  dim P = 15876
  tensor %x : in f32[B, C, P] align 16
  tensor %y : out f32[B, C, P] align 16
  axis n : grid B by BB = ?
  axis c : whole C[0 .. 4]
  axis p : whole P[0 .. 15876]
body:
  %0 = index n : i32{n}
  %1 = index c : i32{c}
  %2 = index p : i32{p}
  %3 = load %x[%0, %1, %2] : f32{n, c, p}
  %4 = sum %3 over c, p : f32{n}
  %5 = mul %3, %4 : f32{n, c, p}
  store %y[%0, %1, %2] = %5
}
`

// What is reduced over two axes is a row as long as both: the blocks of a cluster keep it together.
func TestRowsOfSeveralAxesAreKeptTogether(t *testing.T) {
	f, err := ir.Parse("groups", groups)
	require.NoError(t, err)
	p, err := plan.Choose(f, on(t, "sm_90a"), nil, nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{"p": 2}, p.Split, "%s", p)
	assert.True(t, p.Estimate.KeepsRows, "%s", p)
}
