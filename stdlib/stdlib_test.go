// The tests of the standard library compare every kernel with a float64
// reference at shapes that divide nothing evenly. Tolerances come with the
// references (see jittest.Bounded); none is chosen.
package stdlib_test

import (
	"testing"

	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/lang"
)

// source brings every kernel of the library.
const source = `
import "std/math"
import "std/nn"
import "std/llm"
import "std/matmul"
import "std/array"
`

// load compiles the library for one test, which runs beside the others: most of
// its time goes to compiling and to the references.
func load(t *testing.T) *jittest.Kernels {
	t.Helper()
	t.Parallel()
	return jittest.Load(t, "stdlib_test.tile", source)
}

// floats are the element types that every kernel takes.
var floats = []lang.DType{lang.F32, lang.BF16, lang.F16}

// shape is the sizes of a test case, by meaning of the test.
type shape []int64

// shapes gives the cases for the device under test: the large ones only on a
// GPU, which computes them in no time, and not when tests are to be short.
func shapes(t *testing.T, everywhere, large []shape) []shape {
	t.Helper()
	if testing.Short() {
		return everywhere[:min(3, len(everywhere))]
	}
	if jittest.OnGPU(t) && !jittest.OnEmulator(t) {
		return append(append([]shape{}, everywhere...), large...)
	}
	return everywhere
}

// eachType runs a test for every shape and element type. The emulator, which takes a second for some of them, has every type of the first shape and
// of each other one in turn.
func eachType(t *testing.T, cases []shape, run func(t *testing.T, d lang.DType, s shape)) {
	t.Helper()
	each := 1
	if jittest.OnEmulator(t) {
		each = sweep.OneIn(len(floats))
	}
	for i, s := range cases {
		for j, d := range floats {
			if i > 0 && (i+j)%each != 0 {
				continue
			}
			t.Run(jittest.Case(d, s...), func(t *testing.T) {
				t.Parallel()
				run(t, d, s)
			})
		}
	}
}

// emphasise makes the ends of a dimension weigh more than all between, so that
// an element left out or taken twice at either end shows however long it is: the
// elements at positions 0 and last are multiplied by 8. The dimension is given
// by its size and its stride in elements.
func emphasise(a *jittest.Array, size, stride, last int) {
	for i := range a.Len() {
		if at := i / stride % size; at == 0 || at == last {
			a.SetFloat(i, 8*a.Float(i))
		}
	}
}
