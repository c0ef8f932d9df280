package jit_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/jit/backend/cpu"
	"tilec/lang"
)

// notes is an observer that writes down what it sees; it stops a run before a launch of a kernel.
type notes struct {
	device backend.Device
	lines  []string
	stop   string
}

var errStopped = errors.New("stopped")

func (n *notes) Before(o *jit.Observation) error {
	if o.Spec.Kernel.Name == n.stop {
		return errStopped
	}
	return n.note("before", o)
}

func (n *notes) After(o *jit.Observation) error { return n.note("after", o) }

func (n *notes) note(when string, o *jit.Observation) error {
	line := fmt.Sprintf("%s %d of %d, %s:", when, o.Number, o.Of, o.Spec.Kernel.Name)
	for _, x := range o.Operands {
		if x.Scalar != nil {
			line += fmt.Sprintf(" %s=%v", x.Param.Name, x.Scalar.Float)
			continue
		}
		line += " " + x.Param.Name
		switch {
		case x.Filled:
			line += " filled"
		case x.Fresh:
			line += " fresh"
		}
		if when == "before" && (x.Fresh || x.Filled) {
			continue // it holds anything
		}
		a := jit.NewArray(x.Tensor.DType, x.Tensor.Shape...)
		if err := jit.ReadTensor(n.device, x.Tensor, a.Data); err != nil {
			return err
		}
		for i := range a.Len() {
			line += fmt.Sprintf(" %v", a.Float(i))
		}
	}
	n.lines = append(n.lines, line)
	return nil
}

// An observer sees every launch with what it reads, before it runs, and with what it leaves.
func TestObserverSeesEveryLaunch(t *testing.T) {
	const source = `kernel scale(x: f32[N], s: f32) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i] * s
}

kernel spread(x: f32[N]) -> y: f32[2 * N]
    grid i in N by B
{
    y[2 * i] = x[i]
}

kernel bump(inout x: f32[N])
    grid i in N by B
{
    x[i] = x[i] + 1
}

graph g(x: f32[N], inout t: f32[N], s: f32) -> y: f32[2 * N] {
    bump(t)
    y = spread(scale(x, s * 2))
}
`
	program, ds := jit.Load("observe.tile", []byte(source), nil)
	require.Empty(t, ds)
	device := cpu.Open()
	f, err := jit.FindFunction(program, "g")
	require.NoError(t, err)
	l, err := f.On(jit.NewCompiler(device, nil)).Bind(jit.Args{
		"x": jit.Converted(lang.F32, []float64{1, 2}), "t": jit.Converted(lang.F32, []float64{7, 8}), "s": 1.5})
	require.NoError(t, err)
	defer l.Close()
	seen := &notes{device: device}
	l.Program.Observe(seen)
	require.NoError(t, l.Run())
	assert.Equal(t, []string{
		"before 0 of 3, bump: x 7 8",
		"after 0 of 3, bump: x 8 9",
		"before 1 of 3, scale: x 1 2 s=3 y fresh",
		"after 1 of 3, scale: x 1 2 s=3 y fresh 3 6",
		"before 2 of 3, spread: x 3 6 y filled",
		"after 2 of 3, spread: x 3 6 y filled 3 0 6 0",
	}, seen.lines)

	seen.lines, seen.stop = nil, "scale"
	require.ErrorIs(t, l.Run(), errStopped)
	assert.Equal(t, []string{"before 0 of 3, bump: x 8 9", "after 0 of 3, bump: x 9 10"}, seen.lines)

	l.Program.Observe(nil)
	require.NoError(t, l.Run())
}
