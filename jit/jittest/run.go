package jittest

import (
	"bytes"
	"fmt"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// guard is how many bytes around tensors must stay as they were. It is longer
// than the widest access of a thread and than a row of a tile.
const guard = 4096

// poison fills memory that must be written, or must not be read: it is NaN in
// every float type and -1 in every integer type.
const poison = 0xff

// Kernels are the kernels of a source, on the device under test.
type Kernels struct {
	Compiler *jit.Compiler
	program  *typed.Program
}

// Load compiles a source for the device under test as far as needs no shapes. Errors in it fail the test.
func Load(t testing.TB, path, source string) *Kernels {
	t.Helper()
	program, problems := jit.Load(path, []byte(source), nil)
	for _, p := range problems {
		t.Errorf("%s: %v", path, p)
	}
	if len(problems) > 0 {
		t.FailNow()
	}
	return &Kernels{jit.NewCompiler(Device(t), nil), program}
}

func (k *Kernels) find(t testing.TB, name string) *typed.Kernel {
	t.Helper()
	for _, kernel := range k.program.Kernels {
		if kernel.Name == name {
			return kernel
		}
	}
	require.FailNowf(t, "no such kernel", "the source declares no kernel %s", name)
	return nil
}

// placed is an array on the device, with poison behind it: what reads past its
// end gets NaN, what writes there is seen.
type placed struct {
	array  *Array
	mode   lang.ParamMode
	memory *jit.Memory
}

// Run runs a kernel on its arguments (*Array or jit.Value, in the order of its
// parameters) and gives its outputs, then what became of its inout parameters.
// It runs twice, the second time over poisoned outputs, and fails the test when
// the runs differ, an input changes, or memory outside the outputs is written.
func (k *Kernels) Run(t testing.TB, name string, opts jit.Options, args ...any) []*Array {
	t.Helper()
	kernel, device := k.find(t, name), k.Compiler.Device
	require.Lenf(t, args, len(kernel.Params), "arguments of %s", name)
	var values []jit.Value
	var tensors []*placed
	for i, arg := range args {
		switch arg := arg.(type) {
		case jit.Value:
			values = append(values, arg)
		case *Array:
			m, err := device.Alloc(int64(len(arg.Data) + guard))
			require.NoError(t, err)
			defer device.Free(m)
			tensors = append(tensors, &placed{arg, kernel.Params[i].Mode, m})
			values = append(values, jit.TensorValue(&jit.Tensor{DType: arg.DType, Shape: arg.Shape, Memory: m}))
		default:
			require.FailNowf(t, "bad argument", "argument %d of %s is a %T", i, name, arg)
		}
	}
	opts.Guard = guard
	program, err := k.Compiler.BindKernel(kernel, values, opts)
	require.NoErrorf(t, err, "binding %s", name)
	defer program.Close()

	// Where the results lie is known from the first run; their memory is the program's own.
	first, memory := k.once(t, program, values, tensors, nil)
	second, _ := k.once(t, program, values, tensors, memory)
	for i := range first {
		require.Truef(t, bytes.Equal(first[i].Data, second[i].Data), "result %d of %s differs from run to run", i, name)
	}
	return second
}

// once runs a bound kernel and reads its results, which lie in the memory that
// it gives. When that memory is given, it is poisoned before and checked after.
func (k *Kernels) once(t testing.TB, program *jit.Program, values []jit.Value, tensors []*placed, memory *jit.Memory) ([]*Array, *jit.Memory) {
	t.Helper()
	device := k.Compiler.Device
	for _, p := range tensors {
		require.NoError(t, device.Write(p.memory, 0, p.withGuard()))
	}
	if memory != nil {
		require.NoError(t, device.Write(memory, 0, bytes.Repeat([]byte{poison}, int(memory.Size))))
	}
	out, err := program.Run(values)
	require.NoError(t, err)
	require.NoError(t, device.Sync())
	results := readResults(t, device, out, memory != nil)
	for i, p := range tensors {
		data := make([]byte, p.memory.Size)
		require.NoError(t, device.Read(data, p.memory, 0))
		n := len(p.array.Data)
		require.Truef(t, untouched(data[n:]), "memory behind argument %d is written", i)
		if p.mode == lang.InOut {
			results = append(results, &Array{DType: p.array.DType, Shape: p.array.Shape, Data: data[:n]})
		} else {
			require.Truef(t, bytes.Equal(p.array.Data, data[:n]), "argument %d, an input, is written", i)
		}
	}
	if len(out) == 0 {
		return results, nil
	}
	return results, out[0].Tensor.Memory
}

func (p *placed) withGuard() []byte {
	return append(bytes.Clone(p.array.Data), bytes.Repeat([]byte{poison}, guard)...)
}

func untouched(data []byte) bool {
	for _, b := range data {
		if b != poison {
			return false
		}
	}
	return true
}

// readResults reads a program's outputs and, where the memory was poisoned, checks that nothing around them was written.
func readResults(t testing.TB, device jit.Device, out []jit.Value, poisoned bool) []*Array {
	t.Helper()
	if len(out) == 0 {
		return nil
	}
	arena := make([]byte, out[0].Tensor.Memory.Size)
	require.NoError(t, device.Read(arena, out[0].Tensor.Memory, 0))
	type span struct{ from, to int64 }
	var results []*Array
	spans := []span{{int64(len(arena)), int64(len(arena))}}
	for _, v := range out {
		from := v.Tensor.DType.Bytes(v.Tensor.Offset)
		to := from + v.Tensor.Bytes()
		spans = append(spans, span{from, to})
		results = append(results, &Array{DType: v.Tensor.DType, Shape: v.Tensor.Shape, Data: arena[from:to]})
	}
	if !poisoned {
		return results
	}
	sort.Slice(spans, func(i, j int) bool { return spans[i].from < spans[j].from })
	at := int64(0)
	for _, s := range spans {
		require.Truef(t, untouched(arena[at:s.from]), "memory is written outside the outputs, between bytes %d and %d of the program's memory", at, s.from)
		at = s.to
	}
	return results
}

// Case names a subtest by its sizes: "3x17x127 bf16".
func Case(d lang.DType, sizes ...int64) string {
	s := ""
	for i, n := range sizes {
		if i > 0 {
			s += "x"
		}
		s += fmt.Sprint(n)
	}
	return s + " " + d.String()
}
