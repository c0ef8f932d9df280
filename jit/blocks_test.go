package jit_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/jit/compile"
	"tilec/jit/ir"
	"tilec/jit/jittest"
	"tilec/jit/spec"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/stdlib"
	"tilec/typecheck/typed"
)

// even and odd are the sizes of a kernel's dimensions, by their order. Odd ones divide nothing.
var (
	even = []int64{96, 64, 128, 32, 16}
	odd  = []int64{5, 17, 129, 31, 3}
)

// mostElements is how many elements a tensor of these tests has at most.
const mostElements = 1 << 17

// The kernels of the standard library, as they are planned for a GPU at small sizes, do as block programs what their tile IR does.
func TestStandardLibraryOfBlocks(t *testing.T) {
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
			for _, sizes := range [][]int64{even, odd} {
				for _, d := range []lang.DType{lang.F32, lang.BF16} {
					if len(k.TypeParams) == 0 && d != lang.F32 {
						continue
					}
					if number++; number%every != 0 {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s %v %s", file, k.Name, sizes, d), func(t *testing.T) { runBlocks(t, device, k, sizes, d) })
				}
			}
		}
	}
	launches, left := device.Interpreted()
	t.Logf("%d launches were interpreted; not interpreted: %v", launches, left)
	assert.Greater(t, launches, 100/every)
}

// runBlocks launches a kernel of so large dimensions on such a device, on random tensors.
func runBlocks(t *testing.T, device *jittest.Blocks, k *typed.Kernel, sizes []int64, d lang.DType) {
	o := jit.Options{Dims: map[string]int64{}, Types: map[string]lang.DType{}}
	for i, dim := range k.Dims {
		o.Dims[dim.Name] = sizes[i%len(sizes)]
	}
	for _, p := range k.TypeParams {
		o.Types[p.Name] = d
	}
	s, err := jit.Specialise(k, o)
	if err != nil {
		t.Skip(err)
	}
	for _, launch := range s.Launches() {
		l, err := compile.Lower(launch, device.Target(), nil)
		if err != nil {
			t.Skip(err)
		}
		exe, err := device.Compile(l.Code, backend.Tools{})
		require.NoError(t, err)
		require.NoError(t, exe.Launch(context.Background(), arguments(t, device, l, launch)))
	}
}

// arguments are random ones of a launch: numbers about 0, and integers that stand for positions in small tensors.
func arguments(t *testing.T, device *jittest.Blocks, l *compile.Lowered, s *spec.Spec) (args []backend.Arg) {
	r := rand.New(rand.NewSource(1))
	element := func(d lang.DType) uint64 {
		if d.IsFloat() {
			return d.FloatBits(r.NormFloat64())
		}
		return uint64(r.Intn(2))
	}
	size := func(d *ir.Dim) int64 {
		n, err := l.Size(d, s)
		if err != nil {
			t.Skip(err)
		}
		return n
	}
	for _, p := range l.Func.Params() {
		arg := backend.Arg{}
		switch p.Kind {
		case ir.ParamPointer:
			n := int64(1)
			for _, d := range p.Tensor.Shape {
				n *= max(size(d), 1)
			}
			if n > mostElements {
				t.Skipf("%s has %d elements", p.Tensor.Name, n)
			}
			data := make([]byte, p.Tensor.DType.Bytes(n))
			for i := range n {
				p.Tensor.DType.PutRawBitsAt(data, i, element(p.Tensor.DType))
			}
			m, err := device.Alloc(int64(len(data)))
			require.NoError(t, err)
			t.Cleanup(func() { device.Free(m) })
			require.NoError(t, device.Write(m, 0, data))
			arg.Memory = m
		case ir.ParamScalar:
			arg.Bits = element(p.Scalar.Type.DType)
		case ir.ParamDim:
			arg.Bits = uint64(size(p.Dim))
		case ir.ParamStride:
			t.Skip("strides are known to those who launch")
		}
		args = append(args, arg)
	}
	return args
}
