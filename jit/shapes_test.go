package jit_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

const shapes = `
kernel heads(x: f32[M, D], h: u8[H, E]) -> y: f32[M, H, E]
    grid i in M by BM
{
    axis d in D
    axis a in H
    axis e in E
    y[i, a, e] = exp(split(x[i, d] * 2, d -> (a, e)))
}

/// Element d of each row beside the element as far from the end.
kernel mirrored(x: f32[M, D]) -> y: f32[M, D]
    grid i in M by BM
{
    axis d in D
    let v = x[i, d] - max(x[i, d], over d)
    y[i, d] = v + pick(v, d, D - 1 - index(d))
}

kernel turned(x: f32[M, D]) -> y: f32[M, D]
    grid i in M by BM
{
    axis d in D
    y[i, d] = for n in 3 with v = x[i, d] {
        pick(v, d, D - 1 - index(d)) * 2
    }
}
`

// lowerShapes plans a kernel for a GPU and counts its takes and its loops over axes.
func lowerShapes(t *testing.T, kernel string, dims map[string]int64) (takes, loops int, err error) {
	program, problems := jit.Load("shapes.tile", []byte(shapes), nil)
	require.Empty(t, problems)
	target, err := target.Find("sm_90a")
	require.NoError(t, err)
	for _, k := range program.Kernels {
		if k.Name != kernel {
			continue
		}
		spec, err := jit.Specialise(k, jit.Options{Dims: dims})
		require.NoError(t, err)
		l, err := jit.Lower(spec, target, nil)
		if err != nil {
			return 0, 0, err
		}
		l.Func.Walk(func(op *ir.Op) bool {
			switch {
			case op.Code == lang.OpTake:
				takes++
			case op.Code == lang.OpFor && op.Axis != nil:
				loops++
			}
			return true
		})
	}
	return takes, loops, nil
}

// A split of what is loaded is a load; a row that a block can hold is taken from,
// one that it cannot hold is computed again, chunk by chunk; and what cannot be
// computed again is kept and loaded.
func TestTakesOfLongAxes(t *testing.T) {
	takes, _, err := lowerShapes(t, "heads", map[string]int64{"M": 64, "D": 768, "H": 12, "E": 64})
	require.NoError(t, err)
	assert.Zero(t, takes)

	takes, loops, err := lowerShapes(t, "mirrored", map[string]int64{"M": 64, "D": 768})
	require.NoError(t, err)
	assert.Equal(t, 1, takes)
	assert.Zero(t, loops)
	takes, loops, err = lowerShapes(t, "mirrored", map[string]int64{"M": 64, "D": 200_000})
	require.NoError(t, err)
	assert.Zero(t, takes)
	assert.Equal(t, 2, loops)

	takes, loops, err = lowerShapes(t, "turned", map[string]int64{"M": 64, "D": 200_000})
	require.NoError(t, err)
	assert.Zero(t, takes)
	assert.Positive(t, loops)
}

// Sizes that a launch brings are compared then; the error names both.
func TestShapesThatDoNotFitAtLaunch(t *testing.T) {
	_, _, err := lowerShapes(t, "heads", map[string]int64{"M": 64, "D": 768, "H": 12, "E": 60})
	var d *lang.Diagnostic
	require.True(t, errors.As(err, &d), "%v", err)
	assert.Equal(t, lang.ErrShapeOp, d.Code)
	assert.Equal(t, "split: the axis d has 768, and the axes a, e together have 720", d.Message)
}

// What is taken along an axis of more than 2^31 elements is found by positions of 64 bits.
func TestTakesBeyondPositions(t *testing.T) {
	takes, loops, err := lowerShapes(t, "mirrored", map[string]int64{"M": 1, "D": 1 << 32})
	require.NoError(t, err)
	assert.Zero(t, takes)
	assert.Equal(t, 2, loops)
}
