package jit_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/misuse"
	"tilec/lang"
)

// What is written shares no element with what else a call takes; tensors that lie between each other do not.
func TestOverlap(t *testing.T) {
	for _, device := range misuseDevices() {
		for _, c := range []struct {
			name     string
			function string
			x, y     func(w *world) *jit.Tensor
			overlap  bool
		}{
			{"the same", "add", at(0, 4), at(0, 4), true},
			{"the last element", "add", at(0, 4), at(3, 4), true},
			{"one behind the other", "add", at(0, 4), at(4, 4), false},
			{"one before the other", "add", at(8, 4), at(4, 4), false},
			{"even and odd elements", "add", at(0, 4, 2), at(1, 4, 2), false},
			{"every second and every third", "add", at(0, 4, 2), at(1, 4, 3), true},
			{"every second and every fourth, that never meet", "add", at(0, 4, 2), at(1, 4, 4), false},
			{"columns of one matrix", "add2", matrix(0, 4, 2, 4, 1), matrix(2, 4, 2, 4, 1), false},
			{"columns that share one", "add2", matrix(0, 4, 2, 4, 1), matrix(1, 4, 2, 4, 1), true},
			{"a block and its transpose", "add2", matrix(0, 2, 2, 4, 1), matrix(0, 2, 2, 1, 4), true},
			{"an element that stands for all", "add2", matrix(8, 2, 2, 0, 0), matrix(0, 2, 2, 2, 1), false},
			{"several elements in one place", "add2", matrix(8, 2, 2, 2, 1), matrix(0, 2, 2, 0, 1), true},
			{"rows that reach into the next", "add2", matrix(8, 2, 4, 4, 1), matrix(0, 2, 4, 3, 1), true},
			{"rows that lie in each other, without meeting", "add2", matrix(12, 1, 2, 2, 1), matrix(0, 1, 2, 3, 2), false},
			{"an element that is half of another", "widen", half(1), at(0, 1), true},
			{"an element behind another", "widen", half(2), at(0, 1), false},
			{"nothing", "add", at(0, 0), at(0, 0), false},
		} {
			t.Run(device+"/"+c.name, func(t *testing.T) {
				w := freshWorld(t, device)
				err := w.call(c.function, jit.Args{"x": c.x(w), "y": c.y(w)})
				if !c.overlap {
					require.NoError(t, err)
					return
				}
				var arg *misuse.ArgError
				require.ErrorIs(t, err, misuse.ErrOverlap)
				require.ErrorAs(t, err, &arg)
				assert.Equal(t, "y", arg.Name)
			})
		}
	}
}

// at is n elements from an offset on, a step apart.
func at(offset, n int64, step ...int64) func(w *world) *jit.Tensor {
	return func(w *world) *jit.Tensor { return w.tensor(offset, []int64{n}, slices.Clone(step)) }
}

// half is an element of 16 bits.
func half(offset int64) func(w *world) *jit.Tensor {
	return func(w *world) *jit.Tensor {
		x := w.tensor(offset, []int64{1}, nil)
		x.DType = lang.F16
		return x
	}
}

func matrix(offset, m, n, outer, inner int64) func(w *world) *jit.Tensor {
	return func(w *world) *jit.Tensor { return w.tensor(offset, []int64{m, n}, []int64{outer, inner}) }
}

// A program that was bound to tensors that lie apart refuses those that do not, and takes the next again.
func TestOverlapIsFoundAtARun(t *testing.T) {
	w := freshWorld(t, "cpu")
	p, err := w.compiler.BindKernel(w.kernel("add"), []jit.Value{jit.TensorValue(w.tensor(0, []int64{4}, nil)), jit.TensorValue(w.tensor(4, []int64{4}, nil))}, jit.Options{})
	require.NoError(t, err)
	defer p.Close()
	for _, c := range []struct {
		x, y    int64
		overlap bool
	}{{0, 4, false}, {4, 4, true}, {4, 4, true}, {8, 4, false}, {4, 8, false}, {8, 8, true}} {
		_, err := p.Run([]jit.Value{jit.TensorValue(w.tensor(c.x, []int64{4}, nil)), jit.TensorValue(w.tensor(c.y, []int64{4}, nil))})
		assert.Equal(t, c.overlap, errors.Is(err, misuse.ErrOverlap), "%+v: %v", c, err)
	}
}

// Anything may be used by several goroutines at once: nothing panics, and the race detector finds nothing.
func TestConcurrentUse(t *testing.T) {
	for _, device := range misuseDevices() {
		w := freshWorld(t, device)
		shared := w.bind(t, "add", jit.Args{"x": []float32{1, 2}, "y": []float32{0, 0}})
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				for range 5 {
					assert.NoError(t, w.call("copy", jit.Args{"x": w.x}))
					assert.NoError(t, shared.Run())
					assert.NoError(t, second(shared.Read("y")))
					assert.NoError(t, shared.Write("x", jit.ArrayOf([]float32{1, 2})))
					shared.Bytes()
				}
				if n == 0 {
					w.launch.Close()
				}
				if err := w.launch.Run(); err != nil {
					assert.ErrorIs(t, err, misuse.ErrClosed)
				}
			})
		}
		all.Wait()
		y, err := shared.Read("y")
		require.NoError(t, err)
		assert.Equal(t, []float64{40, 80}, y.Floats(), device)
		shared.Close()

		// Closing the device under those who use it is an error to them, of the kinds that say so.
		all = sync.WaitGroup{}
		for n := range 8 {
			all.Go(func() {
				if n == 7 {
					time.Sleep(time.Millisecond)
					assert.NoError(t, w.device.Close())
				}
				for range 20 {
					if err := w.call("copy", jit.Args{"x": w.x}); err != nil {
						assert.ErrorIs(t, err, misuse.ErrClosed)
					}
				}
			})
		}
		all.Wait()
	}
}
