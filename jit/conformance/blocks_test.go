package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/jit/compile"
	"tilec/jit/ir"
	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/stdlib"
	"tilec/typecheck/typed"
)

// even and odd are the sizes of a kernel's dimensions, by their order: the first that a kernel takes, and of which its tensors are small. Odd ones
// divide little.
var (
	even = [][]int64{{96, 64, 128, 32, 16}, {2, 32, 4, 16, 64}, {2, 4, 12, 10, 4, 3, 2}, {16, 256, 64}}
	odd  = [][]int64{{5, 17, 129, 31, 3}, {3, 17, 5, 6, 33}, {3, 5, 11, 9, 3, 3, 2}, {5, 256, 31}, {3, 5, 2, 3, 6, 7}}
)

// mostElements is how many elements a tensor of these tests has at most.
const mostElements = 1 << 17

// The kernels of the standard library, as they are planned for a GPU at small sizes, do as block programs what their tile IR does.
func TestStandardLibraryOfBlocks(t *testing.T) {
	sweep.Once(t)
	machine, err := target.Find(target.Default)
	require.NoError(t, err)
	device := jittest.NewBlocks(machine)
	files, err := fs.Glob(stdlib.FS, "*.tile")
	require.NoError(t, err)
	number, every := 0, 4
	if testing.Short() {
		every = 12
	}
	if _, all := jittest.Device(t).(*jittest.Blocks); all {
		every = 1
	}
	for _, file := range files {
		text, err := stdlib.FS.ReadFile(file)
		require.NoError(t, err)
		p, ds := jit.Load("std/"+file, text, nil)
		require.NoError(t, ds.Err())
		for _, k := range p.Kernels {
			for n, sizes := range [][][]int64{even, odd} {
				for _, d := range []lang.DType{lang.F32, lang.BF16} {
					if len(k.TypeParams) == 0 && d != lang.F32 {
						continue
					}
					if number++; number%every != 0 {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s %s %s", file, k.Name, []string{"even", "odd"}[n], d), func(t *testing.T) { runBlocks(t, device, k, sizes, d) })
				}
			}
		}
	}
	launches, left := device.Interpreted()
	t.Logf("%d launches were interpreted; not interpreted: %v", launches, left)
	assert.Greater(t, launches, 100/every)
}

// runBlocks launches a kernel on such a device, on random tensors, with the first of some sizes of its dimensions that it takes.
func runBlocks(t *testing.T, device *jittest.Blocks, k *typed.Kernel, choices [][]int64, d lang.DType) {
	var why []error
	for _, sizes := range choices {
		launches, err := lowered(device, k, sizes, d)
		if err != nil {
			why = append(why, err)
			continue
		}
		for _, l := range launches {
			exe, err := device.Compile(l.Code, backend.Tools{})
			require.NoError(t, err)
			require.NoError(t, exe.Launch(context.Background(), arguments(t, device, l)))
		}
		return
	}
	require.Fail(t, "no sizes fit", "%v", why)
}

// sized is a launch with what its dimensions are.
type sized struct {
	*compile.Lowered
	size func(*ir.Dim) int64
}

// lowered are the launches of a kernel of so large dimensions; an error where it takes no such dimensions, or its tensors are large.
func lowered(device *jittest.Blocks, k *typed.Kernel, sizes []int64, d lang.DType) (all []sized, err error) {
	o := jit.Options{Dims: map[string]int64{}, Types: map[string]lang.DType{}}
	for i, dim := range k.Dims {
		o.Dims[dim.Name] = sizes[i%len(sizes)]
	}
	for _, p := range k.TypeParams {
		o.Types[p.Name] = d
	}
	s, err := jit.Specialise(k, o)
	if err != nil {
		return nil, err
	}
	for _, launch := range s.Launches() {
		l, err := compile.Lower(launch, device.Target(), nil)
		if err != nil {
			return nil, err
		}
		one := sized{l, func(d *ir.Dim) int64 {
			n, sizeErr := l.Size(d, launch)
			if sizeErr != nil {
				err = sizeErr
			}
			return n
		}}
		for _, p := range l.Func.Params() {
			if p.Kind == ir.ParamStride {
				return nil, errors.New("it has strides, which those know who launch")
			}
			if p.Kind != ir.ParamPointer {
				continue
			}
			if n := one.elements(p.Tensor); n > mostElements {
				return nil, fmt.Errorf("%s has %d elements", p.Tensor.Name, n)
			}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// elements is how many a tensor has.
func (l sized) elements(t *ir.Tensor) int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= max(l.size(d), 1)
	}
	return n
}

// arguments are random ones of a launch: numbers about 0, integers that stand for positions in small tensors, and scalars above 0, as scales are.
func arguments(t *testing.T, device *jittest.Blocks, l sized) (args []backend.Arg) {
	r := rand.New(rand.NewSource(1))
	element := func(d lang.DType, number float64) uint64 {
		if d.IsFloat() {
			return d.FloatBits(number)
		}
		return uint64(r.Intn(2))
	}
	for _, p := range l.Func.Params() {
		arg := backend.Arg{}
		switch p.Kind {
		case ir.ParamPointer:
			n := l.elements(p.Tensor)
			data := make([]byte, p.Tensor.DType.Bytes(n))
			for i := range n {
				number := r.NormFloat64()
				if p.Tensor.Name == "weight" { // what is divided by a sum of them, which must not cancel
					number = 0.25 + math.Abs(number)
				}
				p.Tensor.DType.PutRawBitsAt(data, i, element(p.Tensor.DType, number))
			}
			m, err := device.Alloc(int64(len(data)))
			require.NoError(t, err)
			t.Cleanup(func() { device.Free(m) })
			require.NoError(t, device.Write(m, 0, data))
			arg.Memory = m
		case ir.ParamScalar:
			arg.Bits = element(p.Scalar.Type.DType, 0.25+r.Float64())
		case ir.ParamDim:
			arg.Bits = uint64(l.size(p.Dim))
		}
		args = append(args, arg)
	}
	return args
}
