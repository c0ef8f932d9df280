package jit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/backend"
	"tilec/jit/backend/cpu"
)

// abacus is a back end of a test: a device that has memory of its own and counts what it is given. It runs tile IR as the
// CPU does.
type abacus struct {
	*cpu.Device
	compiled []string
}

func (a *abacus) Name() string { return "an abacus" }
func (a *abacus) ID() string   { return "abacus" }
func (a *abacus) Space() any   { return a }

func (a *abacus) Alloc(n int64) (*backend.Memory, error) {
	return backend.OnHost(a, make([]byte, n)), nil
}

func (a *abacus) Read(data []byte, m *backend.Memory, offset int64) error {
	if err := m.Access(a, "Abacus.Read", offset, int64(len(data))); err != nil {
		return err
	}
	copy(data, m.Bytes()[offset:])
	return nil
}

func (a *abacus) Write(m *backend.Memory, offset int64, data []byte) error {
	if err := m.Access(a, "Abacus.Write", offset, int64(len(data))); err != nil {
		return err
	}
	copy(m.Bytes()[offset:], data)
	return nil
}

func (a *abacus) Fill(m *backend.Memory, offset, n int64, value byte) error {
	if err := m.Access(a, "Abacus.Fill", offset, n); err != nil {
		return err
	}
	for i := range n {
		m.Bytes()[offset+i] = value
	}
	return nil
}

func (a *abacus) Free(m *backend.Memory) { m.Free(a) }

func (a *abacus) Wrap([]byte, int) *backend.Memory { return nil }

func (a *abacus) Compile(c *backend.Code, t backend.Tools) (backend.Executable, error) {
	a.compiled = append(a.compiled, c.Func.Name)
	return a.Device.Compile(c, t)
}

// A back end that nobody knows but the list of back ends is found by its name, and runs kernels and graphs.
func TestABackEndNeedsOneRow(t *testing.T) {
	before := backends
	defer func() { backends = before }()
	device := &abacus{Device: cpu.Open()}
	backends = append(before[:len(before):len(before)], backend.Opener{Names: []string{"abacus"}, Open: func(name string) (Device, error) {
		if name != "abacus" {
			return nil, nil
		}
		return device, nil
	}})
	_, err := OpenDevice("abacuss")
	require.ErrorContains(t, err, "abacus")
	d, err := OpenDevice("abacus")
	require.NoError(t, err)

	m, err := NewCompiler(d, nil).Load("a.tile", []byte(`
kernel normalise(x: f32[M, N]) -> y: f32[M, N]
    grid i in M by BM
{
    axis j in N
    y[i, j] = x[i, j] / sum(x[i, j], over j)
}
kernel every_other(x: f32[N]) -> y: f32[2 * N]
    grid i in N by B
{
    y[2 * i] = x[i]
}
graph twice(x: f32[M, N]) -> y: f32[M, N] {
    y = normalise(normalise(x) + x)
}
`))
	require.NoError(t, err)
	x := ArrayOf([]float32{1, 3, 2, 2}, 2, 2)
	out, err := m.Call("twice", Args{"x": x})
	require.NoError(t, err)
	assert.Equal(t, []float64{0.25, 0.75, 0.5, 0.5}, out["y"].Floats())
	v := ArrayOf([]float32{1, 2}, 2)
	out, err = m.Call("every_other", Args{"x": v})
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 0, 2, 0}, out["y"].Floats(), "what nothing stores is filled")
	assert.Contains(t, fmt.Sprint(device.compiled), "normalise")
	assert.Contains(t, fmt.Sprint(device.compiled), "every_other")

	other, err := OpenDevice("cpu")
	require.NoError(t, err)
	memory, err := d.Alloc(16)
	require.NoError(t, err)
	require.ErrorIs(t, other.Write(memory, 0, []byte{1}), ErrOtherDevice)
}
