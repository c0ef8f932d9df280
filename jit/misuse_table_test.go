package jit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/bug"
	"tilec/jit/build"
	"tilec/jit/compile"
	"tilec/jit/emu"
	"tilec/jit/ir"
	"tilec/jit/log"
	"tilec/jit/spec"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/load"
	"tilec/typecheck/typed"
)

const misused = `
kernel copy(x: f32[N]) -> y: f32[N] grid i in N by B { y[i] = x[i] }
kernel add(x: f32[N], inout y: f32[N]) grid i in N by B { y[i] = y[i] + x[i] }
kernel widen(x: f16[N], inout y: f32[N]) grid i in N by B { y[i] = y[i] + x[i] as f32 }
kernel add2(x: f32[M, N], inout y: f32[M, N]) grid i in M by BM, j in N by BN { y[i, j] = y[i, j] + x[i, j] }
kernel scale<const K: i32>(x: f32[N], f: f32 = 1.0) -> y: f32[N] grid i in N by B { y[i] = x[i] * f * (K as f32) }
graph twice(x: f32[N]) -> y: f32[N] { y = copy(copy(x)) }
test "t" { check copy([1.0]) == [1.0] }
`

// world is a device with all that can be made for it.
type world struct {
	device   jit.Device
	compiler *jit.Compiler
	module   *jit.Module
	memory   *jit.Memory
	x        *jit.Tensor
	launch   *jit.Launch
	program  *jit.Program
	spec     *spec.Spec
	logs     *jit.Logs
}

// freshWorld opens a device and makes one of everything.
func freshWorld(t *testing.T, name string) *world {
	w := &world{}
	var err error
	w.device, err = jit.OpenDevice(name)
	require.NoError(t, err)
	w.logs, err = jit.ParseLogs("", io.Discard)
	require.NoError(t, err)
	w.compiler = jit.NewCompiler(w.device, nil)
	w.module, err = w.compiler.Load("misused.tile", []byte(misused))
	require.NoError(t, err)
	w.memory, err = jit.Upload(w.device, make([]byte, 64), 4)
	require.NoError(t, err)
	w.x = &jit.Tensor{DType: lang.F32, Shape: []int64{4}, Memory: w.memory}
	w.launch = w.bind(t, "copy", jit.Args{"x": w.x})
	require.NoError(t, w.launch.Run())
	w.program = w.launch.Program
	w.spec, err = jit.Specialise(w.kernel("copy"), jit.Options{Dims: map[string]int64{"N": 4}})
	require.NoError(t, err)
	return w
}

func (w *world) kernel(name string) *typed.Kernel {
	for _, k := range w.module.Program.Kernels {
		if k.Name == name {
			return k
		}
	}
	panic(name)
}

func (w *world) bind(t *testing.T, name string, args jit.Args) *jit.Launch {
	f, err := w.module.Function(name)
	require.NoError(t, err)
	l, err := f.Bind(args)
	require.NoError(t, err)
	return l
}

// call runs a function of the module.
func (w *world) call(name string, args jit.Args) error {
	_, err := w.module.Call(name, args)
	return err
}

// bindKernel binds a kernel to values.
func (w *world) bindKernel(name string, opts jit.Options, args ...jit.Value) error {
	p, err := w.compiler.BindKernel(w.kernel(name), args, opts)
	p.Close()
	return err
}

// tensor is floats in the world's memory.
func (w *world) tensor(offset int64, shape, strides []int64) *jit.Tensor {
	return &jit.Tensor{DType: lang.F32, Shape: shape, Strides: strides, Memory: w.memory, Offset: offset}
}

func second[T any](_ T, err error) error { return err }

// wrongUse is a call that cannot be, and the kind of its error; nil where there is nothing to report, and nothing may happen.
type wrongUse struct {
	// of is the exported function or method.
	of   string
	name string
	do   func(w *world) error
	kind error
}

// misuses has, for every exported function and method of the package, calls that cannot be.
var misuses = []wrongUse{
	// Devices: nil, zero, closed.
	{"OpenDevice", "no such name", func(*world) error { return second(jit.OpenDevice("cuda:-1")) }, anyError},
	{"OpenEmulator", "no such target", func(*world) error { return second(jit.OpenEmulator("")) }, anyError},
	{"OpenGPU", "a negative ordinal", func(*world) error { return second(jit.OpenGPU(-1)) }, anyError},
	{"OpenCPU", "", func(*world) error { return jit.OpenCPU().Sync() }, nil},
	{"Upload", "no device", func(*world) error { return second(jit.Upload(nil, nil, 4)) }, jit.ErrUnset},
	{"Upload", "a nil device", func(*world) error { return second(jit.Upload((*jit.CPU)(nil), nil, 4)) }, jit.ErrUnset},
	{"Upload", "aligned to nothing", func(w *world) error { return second(jit.Upload(w.device, make([]byte, 4), 0)) }, jit.ErrRange},
	{"Room", "no device", func(*world) error {
		free, total, ok := jit.Room(nil)
		return none(free + total + int64(map[bool]int{true: 1}[ok]))
	}, nil},
	{"FormatBytes", "less than nothing", func(*world) error { return none(int64(strings.Compare("-1 bytes", jit.FormatBytes(-1)))) }, nil},
	{"Measure", "no device", func(*world) error { return second(jit.Measure(nil, 1, nil, func() error { return nil })) }, jit.ErrUnset},
	{"Measure", "no work", func(w *world) error { return second(jit.Measure(w.device, 1, nil, nil)) }, jit.ErrUnset},
	{"Measure", "a negative count", func(w *world) error {
		return second(jit.Measure(w.device, -1, nil, func() error { return nil }))
	}, jit.ErrRange},
	{"Measure", "memory that is none", func(w *world) error {
		return second(jit.Measure(w.device, 1, &jit.Memory{Size: 9}, func() error { return nil }))
	}, jit.ErrUnset},

	// Memory.
	{"Memory.Slice", "nil", func(*world) error { return second((*jit.Memory)(nil).Slice(0, 0)) }, jit.ErrUnset},
	{"Memory.Slice", "zero", func(*world) error { return second(new(jit.Memory).Slice(0, 0)) }, jit.ErrUnset},
	{"Memory.Slice", "a negative offset", func(w *world) error { return second(w.memory.Slice(-1, 4)) }, jit.ErrRange},
	{"Memory.Slice", "a negative length", func(w *world) error { return second(w.memory.Slice(4, -1)) }, jit.ErrRange},
	{"Memory.Slice", "beyond the end", func(w *world) error { return second(w.memory.Slice(60, 5)) }, jit.ErrRange},
	{"Memory.Slice", "an end that overflows", func(w *world) error { return second(w.memory.Slice(8, math.MaxInt64)) }, jit.ErrRange},
	{"Memory.Slice", "a size that was set", func(w *world) error {
		m := *w.memory
		m.Size = 1 << 40
		return second(m.Slice(1<<30, 8))
	}, jit.ErrRange},

	// Tensors on their own.
	{"ReadTensor", "no device", func(w *world) error { return jit.ReadTensor(nil, w.x, make([]byte, 16)) }, jit.ErrUnset},
	{"ReadTensor", "no tensor", func(w *world) error { return jit.ReadTensor(w.device, nil, nil) }, jit.ErrUnset},
	{"ReadTensor", "a zero tensor", func(w *world) error { return jit.ReadTensor(w.device, &jit.Tensor{}, nil) }, jit.ErrUnset},
	{"ReadTensor", "too little room", func(w *world) error { return jit.ReadTensor(w.device, w.x, make([]byte, 15)) }, jit.ErrMismatch},
	{"ReadTensor", "too much room", func(w *world) error { return jit.ReadTensor(w.device, w.x, make([]byte, 20)) }, jit.ErrMismatch},
	{"ReadTensor", "a huge stride", func(w *world) error {
		return jit.ReadTensor(w.device, w.tensor(0, []int64{2}, []int64{math.MaxInt64}), make([]byte, 8))
	}, jit.ErrRange},
	{"Tensor.Bytes", "nil", func(*world) error { return none((*jit.Tensor)(nil).Bytes()) }, nil},
	{"Tensor.Bytes", "a type that is none", func(*world) error { return none((&jit.Tensor{DType: 200, Shape: []int64{2}}).Bytes()) }, nil},
	{"Tensor.String", "nil", func(*world) error { _ = (*jit.Tensor)(nil).String(); return nil }, nil},
	{"Tensor.String", "a type that is none", func(*world) error { _ = (&jit.Tensor{DType: 200}).String(); return nil }, nil},
	{"Elements", "a negative size", func(*world) error { return none(jit.Elements([]int64{-3, math.MinInt64})) }, nil},
	{"Elements", "a product that overflows", func(*world) error {
		if jit.Elements([]int64{1 << 40, 1 << 40}) != 1<<58 {
			return errors.New("it is more than any memory holds")
		}
		return nil
	}, nil},
	{"FormatShape", "nil", func(*world) error { _ = jit.FormatShape(nil); return nil }, nil},
	{"TensorValue", "nil", func(w *world) error { return w.bindKernel("copy", jit.Options{}, jit.TensorValue(nil)) }, anyError},
	{"IntValue", "for a float", func(w *world) error {
		return w.bindKernel("scale", jit.Options{Consts: map[string]lang.Literal{"K": {DType: lang.I32}}}, jit.TensorValue(w.x), jit.IntValue(lang.I32, 1))
	}, anyError},
	{"FloatValue", "of a type that is none", func(w *world) error {
		return w.bindKernel("scale", jit.Options{Consts: map[string]lang.Literal{"K": {DType: lang.I32}}}, jit.TensorValue(w.x), jit.FloatValue(99, 1))
	}, jit.ErrUnset},

	// Arrays.
	{"NewArray", "a negative size", func(w *world) error { return w.call("copy", jit.Args{"x": jit.NewArray(lang.F32, -1)}) }, anyError},
	{"NewArray", "more than any memory", func(w *world) error { return w.call("copy", jit.Args{"x": jit.NewArray(lang.F32, math.MaxInt64)}) }, anyError},
	{"NewArray", "a product that overflows to 0", func(w *world) error {
		return w.call("copy", jit.Args{"x": jit.NewArray(lang.F32, 1<<32, 1<<32)})
	}, anyError},
	{"NewArray", "a type that is none", func(w *world) error { return w.call("copy", jit.Args{"x": jit.NewArray(77, 1)}) }, anyError},
	{"ArrayOf", "a shape of more", func(w *world) error { return w.call("copy", jit.Args{"x": jit.ArrayOf([]float32{1}, 2)}) }, anyError},
	{"Converted", "a type that is none", func(w *world) error {
		return w.call("copy", jit.Args{"x": jit.Converted(77, []float32{1})})
	}, anyError},
	{"Slice", "nil", func(*world) error { return second(jit.Slice[float32](nil)) }, jit.ErrUnset},
	{"Slice", "another type", func(*world) error { return second(jit.Slice[int8](jit.NewArray(lang.F32, 1))) }, jit.ErrMismatch},
	{"Slice", "data that does not fit", func(*world) error {
		return second(jit.Slice[float32](&jit.Array{DType: lang.F32, Shape: []int64{2}, Data: make([]byte, 5)}))
	}, jit.ErrRange},
	{"Slice", "data that is not aligned", func(*world) error {
		return second(jit.Slice[float64](&jit.Array{DType: lang.F64, Shape: []int64{1}, Data: make([]byte, 24)[4:12]}))
	}, jit.ErrMismatch},
	{"Bytes", "nil", func(*world) error { return none(int64(len(jit.Bytes[float32](nil)))) }, nil},
	{"Array.Float", "nil", func(*world) error { return notANumber((*jit.Array)(nil).Float(0)) }, nil},
	{"Array.Float", "zero", func(*world) error { return notANumber(new(jit.Array).Float(0)) }, nil},
	{"Array.Float", "no such element", func(*world) error { return notANumber(jit.NewArray(lang.F32, 2).Float(2)) }, nil},
	{"Array.Float", "a negative element", func(*world) error { return notANumber(jit.NewArray(lang.F32, 2).Float(-1)) }, nil},
	{"Array.Floats", "nil", func(*world) error { return none(int64(len((*jit.Array)(nil).Floats()))) }, nil},
	{"Array.Floats", "data that is missing", func(*world) error {
		return none(int64(len((&jit.Array{DType: lang.F32, Shape: []int64{7}}).Floats())))
	}, nil},
	{"Array.Len", "nil", func(*world) error { return none(int64((*jit.Array)(nil).Len())) }, nil},
	{"Array.SetFloat", "nil", func(*world) error { return (*jit.Array)(nil).SetFloat(0, 1) }, jit.ErrRange},
	{"Array.SetFloat", "no such element", func(*world) error { return jit.NewArray(lang.F32, 2).SetFloat(2, 1) }, jit.ErrRange},
	{"Array.SetFloat", "an element that overflows", func(*world) error { return jit.NewArray(lang.F32, 2).SetFloat(math.MaxInt, 1) }, jit.ErrRange},
	{"Array.String", "nil", func(*world) error { _ = (*jit.Array)(nil).String(); return nil }, nil},
	{"Array.String", "a type that is none", func(*world) error { _ = (&jit.Array{DType: 99}).String(); return nil }, nil},

	// Arguments: where tensors lie.
	{"Function.Bind", "a tensor without memory", func(w *world) error {
		return w.call("copy", jit.Args{"x": &jit.Tensor{DType: lang.F32, Shape: []int64{1}}})
	}, jit.ErrUnset},
	{"Function.Bind", "zero memory", func(w *world) error {
		return w.call("copy", jit.Args{"x": &jit.Tensor{DType: lang.F32, Shape: []int64{1}, Memory: &jit.Memory{Size: 4}}})
	}, jit.ErrUnset},
	{"Function.Bind", "a type that is none", func(w *world) error {
		return w.call("copy", jit.Args{"x": &jit.Tensor{DType: 99, Shape: []int64{1}, Memory: w.memory}})
	}, jit.ErrUnset},
	{"Function.Bind", "another type", func(w *world) error {
		return w.call("copy", jit.Args{"x": &jit.Tensor{DType: lang.I32, Shape: []int64{4}, Memory: w.memory}})
	}, anyError},
	{"Function.Bind", "a negative offset", func(w *world) error { return w.call("copy", jit.Args{"x": w.tensor(-1, []int64{4}, nil)}) }, jit.ErrRange},
	{"Function.Bind", "the least offset", func(w *world) error {
		return w.call("copy", jit.Args{"x": w.tensor(math.MinInt64, []int64{4}, nil)})
	}, jit.ErrRange},
	{"Function.Bind", "an offset that overflows", func(w *world) error {
		return w.call("copy", jit.Args{"x": w.tensor(1<<62, []int64{4}, nil)})
	}, jit.ErrRange},
	{"Function.Bind", "an offset beyond the end", func(w *world) error { return w.call("copy", jit.Args{"x": w.tensor(13, []int64{4}, nil)}) }, jit.ErrRange},
	{"Function.Bind", "a shape beyond the memory", func(w *world) error { return w.call("copy", jit.Args{"x": w.tensor(0, []int64{17}, nil)}) }, jit.ErrRange},
	{"Function.Bind", "a negative size", func(w *world) error { return w.call("copy", jit.Args{"x": w.tensor(0, []int64{-4}, nil)}) }, jit.ErrRange},
	{"Function.Bind", "two negative sizes", func(w *world) error {
		return w.call("add2", jit.Args{"x": w.tensor(0, []int64{-2, -2}, nil), "y": jit.NewArray(lang.F32, 2, 2)})
	}, jit.ErrRange},
	{"Function.Bind", "a shape that overflows", func(w *world) error {
		return w.call("add2", jit.Args{"x": w.tensor(0, []int64{1 << 32, 1 << 32}, nil), "y": jit.NewArray(lang.F32, 1, 1)})
	}, jit.ErrRange},
	{"Function.Bind", "the largest stride", func(w *world) error {
		return w.call("copy", jit.Args{"x": w.tensor(0, []int64{4}, []int64{math.MaxInt64})})
	}, jit.ErrRange},
	{"Function.Bind", "a stride of which the reach overflows to little", func(w *world) error {
		return w.call("copy", jit.Args{"x": w.tensor(0, []int64{5}, []int64{1 << 62})})
	}, jit.ErrRange},
	{"Function.Bind", "strides of which the sum overflows", func(w *world) error {
		return w.call("add2", jit.Args{"x": w.tensor(0, []int64{2, 2}, []int64{math.MaxInt64, math.MaxInt64}), "y": jit.NewArray(lang.F32, 2, 2)})
	}, jit.ErrRange},
	{"Function.Bind", "a negative stride", func(w *world) error {
		return w.call("copy", jit.Args{"x": w.tensor(3, []int64{4}, []int64{-1})})
	}, jit.ErrRange},
	{"Function.Bind", "too few strides", func(w *world) error {
		return w.call("add2", jit.Args{"x": w.tensor(0, []int64{2, 2}, []int64{1}), "y": jit.NewArray(lang.F32, 2, 2)})
	}, jit.ErrMismatch},
	{"Function.Bind", "memory of which the size was set", func(w *world) error {
		m := *w.memory
		m.Size = 1 << 40
		return w.call("copy", jit.Args{"x": &jit.Tensor{DType: lang.F32, Shape: []int64{1 << 20}, Memory: &m}})
	}, jit.ErrRange},
	{"Function.Bind", "memory that begins within an element", func(w *world) error {
		m, err := w.memory.Slice(2, 16)
		if err != nil {
			return err
		}
		return w.call("copy", jit.Args{"x": &jit.Tensor{DType: lang.F32, Shape: []int64{4}, Memory: m}})
	}, jit.ErrMismatch},
	{"Function.Bind", "a part of memory that was freed", func(w *world) error {
		m, err := w.memory.Slice(0, 16)
		if err != nil {
			return err
		}
		w.device.Free(w.memory)
		return w.call("copy", jit.Args{"x": &jit.Tensor{DType: lang.F32, Shape: []int64{4}, Memory: m}})
	}, jit.ErrFreed},
	{"Function.Bind", "memory of another device", func(w *world) error {
		other, err := jit.OpenEmulator("sm_80")
		if err != nil {
			return err
		}
		m, err := other.Alloc(16)
		if err != nil {
			return err
		}
		return w.call("copy", jit.Args{"x": &jit.Tensor{DType: lang.F32, Shape: []int64{4}, Memory: m}})
	}, jit.ErrOtherDevice},
	{"Function.Bind", "a nil function", func(*world) error { return second((*jit.Function)(nil).Bind(nil)) }, jit.ErrUnset},
	{"Function.Bind", "a zero function", func(*world) error { return second(new(jit.Function).Bind(nil)) }, jit.ErrUnset},
	{"Function.Bind", "a function without a compiler", func(w *world) error {
		return second(jit.KernelFunction(w.kernel("copy")).Bind(jit.Args{"x": w.x}))
	}, jit.ErrUnset},
	{"Function.Bind", "no arguments", func(w *world) error { return w.call("copy", nil) }, anyError},
	{"Function.Call", "a nil function", func(*world) error { return second((*jit.Function)(nil).Call(nil)) }, jit.ErrUnset},
	{"Function.Call", "a zero function", func(*world) error { return second(new(jit.Function).Call(nil)) }, jit.ErrUnset},
	{"Function.On", "nil", func(w *world) error { return second((*jit.Function)(nil).On(w.compiler).Bind(nil)) }, jit.ErrUnset},
	{"Function.On", "no compiler", func(w *world) error {
		return second(jit.KernelFunction(w.kernel("copy")).On(nil).Bind(jit.Args{"x": w.x}))
	}, jit.ErrUnset},
	{"Function.On", "a compiler without a device", func(w *world) error {
		return second(jit.KernelFunction(w.kernel("copy")).On(new(jit.Compiler)).Bind(jit.Args{"x": w.x}))
	}, jit.ErrUnset},
	{"Function.Names", "nil", func(*world) error { return none(int64(len((*jit.Function)(nil).Names()))) }, nil},
	{"Function.CanPin", "nil, or no name", func(w *world) error {
		_ = (*jit.Function)(nil).CanPin("BM") || new(jit.Function).CanPin("i_j") || jit.KernelFunction(w.kernel("copy")).CanPin("")
		return nil
	}, nil},
	{"Function.Leaf", "nil", func(*world) error { (*jit.Function)(nil).Leaf("x"); return nil }, nil},
	{"Function.Leaf", "what is no path", func(w *world) error { jit.KernelFunction(w.kernel("copy")).Leaf("x[.].["); return nil }, nil},
	{"KernelFunction", "nil", func(*world) error { return second(jit.KernelFunction(nil).Bind(nil)) }, jit.ErrUnset},
	{"FindFunction", "nil", func(*world) error { return second(jit.FindFunction(nil, "f")) }, jit.ErrUnset},
	{"FindFunction", "zero", func(*world) error { return second(jit.FindFunction(&typed.Program{}, "f")) }, anyError},
	{"FunctionNames", "nil", func(*world) error { jit.FunctionNames(nil); jit.FunctionNames(&typed.Program{}); return nil }, nil},

	// Modules and compilers.
	{"Module.Call", "nil", func(*world) error { return second((*jit.Module)(nil).Call("f", nil)) }, jit.ErrUnset},
	{"Module.Call", "zero", func(*world) error { return second(new(jit.Module).Call("f", nil)) }, jit.ErrUnset},
	{"Module.Function", "zero", func(*world) error { return second(new(jit.Module).Function("f")) }, jit.ErrUnset},
	{"Module.Function", "without a compiler", func(w *world) error {
		return second((&jit.Module{Program: w.module.Program}).Function("copy"))
	}, jit.ErrUnset},
	{"Module.Names", "zero", func(*world) error { return none(int64(len(new(jit.Module).Names()))) }, nil},
	{"Module.Device", "zero", func(*world) error {
		if new(jit.Module).Device() != nil {
			return errors.New("it has none")
		}
		return nil
	}, nil},
	{"NewCompiler", "no device", func(w *world) error {
		return second(jit.NewCompiler(nil, nil).BindKernel(w.kernel("copy"), []jit.Value{jit.TensorValue(w.x)}, jit.Options{}))
	}, jit.ErrUnset},
	{"NewCompiler", "a nil device", func(w *world) error {
		return second(jit.NewCompiler((*jit.Emulator)(nil), nil).BindKernel(w.kernel("copy"), []jit.Value{jit.TensorValue(w.x)}, jit.Options{}))
	}, jit.ErrUnset},
	{"Compiler.Load", "nil", func(*world) error { return second((*jit.Compiler)(nil).Load("a", nil)) }, jit.ErrUnset},
	{"Compiler.Load", "without a device", func(*world) error {
		m, err := new(jit.Compiler).Load("a.tile", []byte(misused))
		if err != nil {
			return err
		}
		return second(m.Call("copy", jit.Args{"x": []float32{1}}))
	}, jit.ErrUnset},
	{"Compiler.LoadFile", "nil", func(*world) error { return second((*jit.Compiler)(nil).LoadFile("a")) }, jit.ErrUnset},
	{"Compiler.LoadFile", "no such file", func(w *world) error { return second(w.compiler.LoadFile("")) }, os.ErrNotExist},
	{"Compiler.CompileTime", "nil", func(*world) error { return none(int64((*jit.Compiler)(nil).CompileTime())) }, nil},
	{"Compiler.BindKernel", "nil", func(w *world) error {
		return second((*jit.Compiler)(nil).BindKernel(w.kernel("copy"), nil, jit.Options{}))
	}, jit.ErrUnset},
	{"Compiler.BindKernel", "no kernel", func(w *world) error { return second(w.compiler.BindKernel(nil, nil, jit.Options{})) }, jit.ErrUnset},
	{"Compiler.BindKernel", "a zero kernel", func(w *world) error {
		return second(w.compiler.BindKernel(&typed.Kernel{}, nil, jit.Options{}))
	}, jit.ErrUnset},
	{"Compiler.BindKernel", "a zero value", func(w *world) error { return w.bindKernel("copy", jit.Options{}, jit.Value{}) }, anyError},
	{"Compiler.BindKernel", "too few arguments", func(w *world) error { return w.bindKernel("copy", jit.Options{}) }, anyError},
	{"Compiler.BindKernel", "too many arguments", func(w *world) error {
		return w.bindKernel("copy", jit.Options{}, jit.TensorValue(w.x), jit.TensorValue(w.x))
	}, anyError},
	{"Compiler.BindKernel", "a negative dimension", func(w *world) error {
		return w.bindKernel("copy", jit.Options{Dims: map[string]int64{"N": -1}}, jit.TensorValue(w.x))
	}, anyArgument},
	{"Compiler.BindKernel", "a negative pin", func(w *world) error {
		return w.bindKernel("copy", jit.Options{Pins: map[string]int64{"B": -8}}, jit.TensorValue(w.x))
	}, anyArgument},
	{"Compiler.BindKernel", "a negative guard", func(w *world) error {
		return w.bindKernel("copy", jit.Options{Guard: -4096}, jit.TensorValue(w.x))
	}, anyArgument},
	{"Compiler.BindKernel", "an endless guard", func(w *world) error {
		return w.bindKernel("copy", jit.Options{Guard: math.MaxInt64}, jit.TensorValue(w.x))
	}, anyArgument},
	{"Compiler.BindKernel", "a constant of another type", func(w *world) error {
		return w.bindKernel("scale", jit.Options{Consts: map[string]lang.Literal{"K": {DType: lang.F64}}}, jit.TensorValue(w.x))
	}, anyArgument},
	{"Compiler.BindKernel", "no such precision", func(w *world) error {
		return w.bindKernel("copy", jit.Options{Precision: "f128"}, jit.TensorValue(w.x))
	}, anyArgument},
	{"Compiler.BindGraph", "no graph", func(w *world) error { return second(w.compiler.BindGraph(nil, nil, jit.Options{})) }, jit.ErrUnset},
	{"Compiler.BindGraph", "a zero graph", func(w *world) error {
		return second(w.compiler.BindGraph(&typed.Graph{}, nil, jit.Options{}))
	}, jit.ErrUnset},
	{"Compiler.BindGraph", "nil", func(w *world) error {
		return second((*jit.Compiler)(nil).BindGraph(w.module.Program.Graphs[0], nil, jit.Options{}))
	}, jit.ErrUnset},
	{"Compiler.BindGraph", "a zero value", func(w *world) error {
		return second(w.compiler.BindGraph(w.module.Program.Graphs[0], []jit.Value{{}}, jit.Options{}))
	}, anyError},
	{"Compiler.BindGraph", "a tensor beyond its memory", func(w *world) error {
		return second(w.compiler.BindGraph(w.module.Program.Graphs[0], []jit.Value{jit.TensorValue(w.tensor(0, []int64{99}, nil))}, jit.Options{}))
	}, jit.ErrRange},
	{"Compiler.RunTest", "no test", func(w *world) error { return second(w.compiler.RunTest(nil, jit.Options{})) }, jit.ErrUnset},
	{"Compiler.RunTest", "a zero test", func(w *world) error { return second(w.compiler.RunTest(&typed.Test{}, jit.Options{})) }, jit.ErrUnset},
	{"Compiler.RunTest", "nil", func(w *world) error {
		return second((*jit.Compiler)(nil).RunTest(w.module.Program.Tests[0], jit.Options{}))
	}, jit.ErrUnset},

	{"CPU.Cores", "nil", func(*world) error { return none(int64((*jit.CPU)(nil).Cores() - new(jit.CPU).Cores())) }, nil},
	{"Compiler.RunTestContext", "no test", func(w *world) error {
		return second(w.compiler.RunTestContext(context.Background(), nil, jit.Options{}))
	}, jit.ErrUnset},

	// Mailboxes.
	{"NewMailbox", "no device", func(*world) error { return second(jit.NewMailbox(nil, 4, 1)) }, jit.ErrUnset},

	// Arenas.
	{"NewArena", "no device", func(w *world) error {
		return w.bindKernel("copy", jit.Options{Arena: jit.NewArena(nil)}, jit.TensorValue(w.x))
	}, jit.ErrOtherDevice},
	{"NewArena", "another device", func(w *world) error {
		e, err := jit.OpenEmulator("sm_80")
		if err != nil {
			return err
		}
		return w.bindKernel("copy", jit.Options{Arena: jit.NewArena(e)}, jit.TensorValue(w.x))
	}, jit.ErrOtherDevice},
	{"Arena.Bytes", "nil", func(*world) error { return none((*jit.Arena)(nil).Bytes() + new(jit.Arena).Bytes()) }, nil},
	{"Arena.Close", "nil, and twice", func(w *world) error {
		(*jit.Arena)(nil).Close()
		new(jit.Arena).Close()
		a := jit.NewArena(w.device)
		a.Close()
		a.Close()
		return nil
	}, nil},

	// Programs.
	{"Program.RunContext", "nil", func(*world) error { return second((*jit.Program)(nil).RunContext(context.Background(), nil)) }, jit.ErrUnset},
	{"Program.Observe", "nil", func(*world) error { (*jit.Program)(nil).Observe(nil); new(jit.Program).Observe(nil); return nil }, nil},
	{"Unoptimised", "no specialisation", func(*world) error { return second(build.Unoptimised(nil, nil)) }, jit.ErrUnset},
	{"Program.Times", "nil", func(*world) error { return second((*jit.Program)(nil).Times()) }, jit.ErrUnset},
	{"Program.Times", "not timed", func(w *world) error { return second(w.program.Times()) }, jit.ErrUnset},
	{"Program.FLOP", "nil", func(*world) error { return none((*jit.Program)(nil).FLOP()) }, nil},
	{"Program.FLOP", "zero", func(*world) error { return none(new(jit.Program).FLOP()) }, nil},
	{"Program.Fills", "nil", func(*world) error { return none(int64(len((*jit.Program)(nil).Fills()))) }, nil},
	{"Lowered.Fills", "nil", func(*world) error { return none(int64(len((*compile.Lowered)(nil).Fills()))) }, nil},
	{"Borrow", "no device", func(*world) error { return second(jit.Borrow(nil, nil, 4, 4)) }, jit.ErrUnset},
	{"Borrow", "less than nothing", func(*world) error { return second(jit.Borrow(jit.OpenCPU(), nil, -4, 4)) }, jit.ErrRange},
	{"Borrow", "no address", func(*world) error { return second(jit.Borrow(jit.OpenCPU(), nil, 4, 4)) }, jit.ErrUnset},
	{"Promise", "no device", func(w *world) error {
		return second(w.program.Run([]jit.Value{jit.TensorValue(&jit.Tensor{DType: w.x.DType, Shape: w.x.Shape, Memory: jit.Promise(w.device, 0, -4)})}))
	}, jit.ErrRange},
	{"Memory.Promised", "nil", func(*world) error { (*jit.Memory)(nil).Promised(); new(jit.Memory).Promised(); return nil }, nil},
	{"Function.Nest", "nil", func(*world) error { return second((*jit.Function)(nil).Nest(nil)) }, jit.ErrUnset},
	{"Launch.Recorded", "nil", func(*world) error { return unrecorded((*jit.Launch)(nil).Recorded()) }, nil},
	{"Launch.Recorded", "zero", func(*world) error { return unrecorded(new(jit.Launch).Recorded()) }, nil},
	{"Program.Recorded", "nil", func(*world) error { return unrecorded((*jit.Program)(nil).Recorded()) }, nil},
	{"Program.Recorded", "zero", func(*world) error { return unrecorded(new(jit.Program).Recorded()) }, nil},
	{"Launch.BareRun", "nil", func(*world) error { return bare((*jit.Launch)(nil).BareRun()) }, nil},
	{"Launch.BareRun", "zero", func(*world) error { return bare(new(jit.Launch).BareRun()) }, nil},
	{"Program.BareRun", "nil", func(*world) error { return bare((*jit.Program)(nil).BareRun()) }, nil},
	{"Program.BareRun", "zero", func(*world) error { return bare(new(jit.Program).BareRun()) }, nil},
	{"Launch.Leaves", "nil", func(*world) error {
		return none(int64(len((*jit.Launch)(nil).Leaves()) + len(new(jit.Launch).Leaves())))
	}, nil},
	{"Launch.RunOn", "nil", func(*world) error { return (*jit.Launch)(nil).RunOn(context.Background(), nil, nil) }, jit.ErrUnset},
	{"Launch.RunOn", "closed", func(w *world) error { w.launch.Close(); return w.launch.RunOn(context.Background(), nil, nil) }, jit.ErrClosed},
	{"GPU.BareCalls", "zero", func(*world) error { _, err := new(jit.GPU).BareCalls(); return err }, jit.ErrUnset},
	{"GPU.NewTurn", "zero", func(*world) error { _, err := new(jit.GPU).NewTurn(); return err }, jit.ErrUnset},
	{"GPU.InTurn", "zero", func(*world) error { return new(jit.GPU).InTurn(nil, nil) }, jit.ErrUnset},
	{"GPU.OnStream", "zero", func(*world) error { return new(jit.GPU).OnStream(1, nil) }, jit.ErrUnset},
	{"Program.RunInto", "nil", func(*world) error { return (*jit.Program)(nil).RunInto(context.Background(), nil, nil) }, jit.ErrUnset},
	{"Program.RunInto", "no results", func(w *world) error {
		return w.program.RunInto(context.Background(), []jit.Value{jit.TensorValue(w.x)}, nil)
	}, jit.ErrMismatch},
	{"Program.RunInto", "a nil result", func(w *world) error {
		return w.program.RunInto(context.Background(), []jit.Value{jit.TensorValue(w.x)}, []*jit.Tensor{nil})
	}, jit.ErrUnset},
	{"Program.Run", "nil", func(*world) error { return second((*jit.Program)(nil).Run(nil)) }, jit.ErrUnset},
	{"Program.Run", "zero", func(*world) error { return second(new(jit.Program).Run(nil)) }, jit.ErrUnset},
	{"Program.Run", "closed", func(w *world) error {
		w.program.Close()
		w.program.Close()
		return second(w.program.Run([]jit.Value{jit.TensorValue(w.x)}))
	}, jit.ErrClosed},
	{"Program.Run", "no arguments", func(w *world) error { return second(w.program.Run(nil)) }, jit.ErrMismatch},
	{"Program.Run", "a zero value", func(w *world) error { return second(w.program.Run([]jit.Value{{}})) }, jit.ErrMismatch},
	{"Program.Run", "a scalar for a tensor", func(w *world) error {
		return second(w.program.Run([]jit.Value{jit.IntValue(lang.I32, 1)}))
	}, jit.ErrMismatch},
	{"Program.Run", "a zero tensor", func(w *world) error {
		return second(w.program.Run([]jit.Value{jit.TensorValue(&jit.Tensor{})}))
	}, jit.ErrMismatch},
	{"Program.Run", "a longer tensor than was bound", func(w *world) error {
		return second(w.program.Run([]jit.Value{jit.TensorValue(w.tensor(0, []int64{5}, nil))}))
	}, jit.ErrMismatch},
	{"Program.Run", "other strides than were bound", func(w *world) error {
		return second(w.program.Run([]jit.Value{jit.TensorValue(w.tensor(0, []int64{4}, []int64{2}))}))
	}, jit.ErrMismatch},
	{"Program.Run", "more strides than dimensions", func(w *world) error {
		return second(w.program.Run([]jit.Value{jit.TensorValue(w.tensor(0, []int64{4}, []int64{1, 1}))}))
	}, jit.ErrMismatch},
	{"Program.Run", "a place that is less aligned", func(w *world) error {
		return second(w.program.Run([]jit.Value{jit.TensorValue(w.tensor(1, []int64{4}, nil))}))
	}, jit.ErrMismatch},
	{"Program.Run", "a place beyond the end", func(w *world) error {
		return second(w.program.Run([]jit.Value{jit.TensorValue(w.tensor(16, []int64{4}, nil))}))
	}, jit.ErrRange},
	{"Program.Run", "memory that was freed", func(w *world) error {
		w.device.Free(w.memory)
		return second(w.program.Run([]jit.Value{jit.TensorValue(w.x)}))
	}, jit.ErrFreed},
	{"Program.Run", "its own result", func(w *world) error {
		out, err := w.program.Run([]jit.Value{jit.TensorValue(w.x)})
		if err != nil {
			return err
		}
		return second(w.program.Run(out))
	}, jit.ErrOverlap},
	{"Program.Run", "a closed device", func(w *world) error {
		if err := w.device.Close(); err != nil {
			return err
		}
		return second(w.program.Run([]jit.Value{jit.TensorValue(w.x)}))
	}, jit.ErrClosed},
	{"Program.Close", "nil", func(*world) error { (*jit.Program)(nil).Close(); new(jit.Program).Close(); return nil }, nil},
	{"Program.Outputs", "nil", func(*world) error { return none(int64(len((*jit.Program)(nil).Outputs()))) }, nil},
	{"Program.Plans", "nil", func(*world) error { return none(int64(len((*jit.Program)(nil).Plans()))) }, nil},
	{"Program.Measure", "nil", func(*world) error { return second((*jit.Program)(nil).Measure(nil, 1, nil)) }, jit.ErrUnset},
	{"Program.Measure", "no arguments", func(w *world) error { return second(w.program.Measure(nil, 1, nil)) }, jit.ErrMismatch},
	{"Program.Measure", "a negative count", func(w *world) error {
		return second(w.program.Measure([]jit.Value{jit.TensorValue(w.x)}, -1, nil))
	}, jit.ErrRange},

	// Launches.
	{"Launch.Measure", "nil", func(*world) error { return second((*jit.Launch)(nil).Measure(1, nil)) }, jit.ErrUnset},
	{"Launch.Measure", "closed", func(w *world) error { w.launch.Close(); return second(w.launch.Measure(1, nil)) }, jit.ErrClosed},
	{"Launch.Measure", "memory that is none", func(w *world) error { return second(w.launch.Measure(1, &jit.Memory{Size: 9})) }, jit.ErrUnset},
	{"Launch.Run", "nil", func(*world) error { return (*jit.Launch)(nil).Run() }, jit.ErrUnset},
	{"Launch.Run", "zero", func(*world) error { return new(jit.Launch).Run() }, jit.ErrUnset},
	{"Launch.RunContext", "nil", func(*world) error { return (*jit.Launch)(nil).RunContext(context.Background()) }, jit.ErrUnset},
	{"Launch.Run", "closed", func(w *world) error { w.launch.Close(); w.launch.Close(); return w.launch.Run() }, jit.ErrClosed},
	{"Launch.Run", "a tensor that was changed", func(w *world) error { w.x.Shape = []int64{1 << 40}; return w.launch.Run() }, jit.ErrMismatch},
	{"Launch.Run", "a tensor that lost its memory", func(w *world) error { w.x.Memory = nil; return w.launch.Run() }, jit.ErrMismatch},
	{"Launch.Read", "zero", func(*world) error { return second(new(jit.Launch).Read("y")) }, jit.ErrUnset},
	{"Launch.Read", "closed", func(w *world) error { w.launch.Close(); return second(w.launch.Read("y")) }, jit.ErrClosed},
	{"Launch.Read", "no such name", func(w *world) error { return second(w.launch.Read("z")) }, anyError},
	{"Launch.Read", "before a run", func(w *world) error {
		f, err := w.module.Function("copy")
		if err != nil {
			return err
		}
		l, err := f.Bind(jit.Args{"x": w.x})
		if err != nil {
			return err
		}
		return second(l.Read("y"))
	}, jit.ErrUnset},
	{"Launch.Read", "a device that is closed", func(w *world) error {
		if err := w.device.Close(); err != nil {
			return err
		}
		return second(w.launch.Read("y"))
	}, jit.ErrClosed},
	{"Launch.Tensor", "zero", func(*world) error { return second(new(jit.Launch).Tensor("y")) }, jit.ErrUnset},
	{"Launch.Tensor", "used when the launch is closed", func(w *world) error {
		y, err := w.launch.Tensor("y")
		if err != nil {
			return err
		}
		w.launch.Close()
		return jit.ReadTensor(w.device, y, make([]byte, 16))
	}, jit.ErrFreed},
	{"Launch.Write", "zero", func(*world) error { return new(jit.Launch).Write("x", nil) }, jit.ErrUnset},
	{"Launch.Write", "no array", func(w *world) error { return w.launch.Write("x", nil) }, jit.ErrUnset},
	{"Launch.Write", "a zero array", func(w *world) error { return w.launch.Write("x", &jit.Array{}) }, jit.ErrMismatch},
	{"Launch.Write", "another type", func(w *world) error { return w.launch.Write("x", jit.NewArray(lang.I32, 4)) }, jit.ErrMismatch},
	{"Launch.Write", "missing data", func(w *world) error {
		return w.launch.Write("x", &jit.Array{DType: lang.F32, Shape: []int64{4}, Data: make([]byte, 8)})
	}, jit.ErrMismatch},
	{"Launch.Write", "memory that was freed", func(w *world) error {
		w.device.Free(w.memory)
		return w.launch.Write("x", jit.NewArray(lang.F32, 4))
	}, jit.ErrFreed},
	{"Launch.Inouts", "zero", func(*world) error { return none(int64(len(new(jit.Launch).Inouts()))) }, nil},
	{"Launch.Bytes", "zero", func(*world) error { return none(new(jit.Launch).Bytes() + (*jit.Launch)(nil).Bytes()) }, nil},
	{"Launch.Close", "zero", func(*world) error { new(jit.Launch).Close(); (*jit.Launch)(nil).Close(); return nil }, nil},

	// What tools use.
	{"Specialise", "no kernel", func(*world) error { return second(jit.Specialise(nil, jit.Options{})) }, jit.ErrUnset},
	{"Specialise", "a zero kernel", func(*world) error { return second(jit.Specialise(&typed.Kernel{}, jit.Options{})) }, jit.ErrUnset},
	{"Specialise", "a negative dimension", func(w *world) error {
		return second(jit.Specialise(w.kernel("copy"), jit.Options{Dims: map[string]int64{"N": math.MinInt64}}))
	}, anyArgument},
	{"Spec.Key", "zero", func(*world) error { new(spec.Spec).Key(); (*spec.Spec)(nil).Key(); return nil }, nil},
	{"Spec.Launches", "zero", func(*world) error { return none(int64(len(new(spec.Spec).Launches()))) }, nil},
	{"IR", "nil", func(*world) error { _, _, err := build.IR(nil); return err }, jit.ErrUnset},
	{"IR", "zero", func(*world) error { _, _, err := build.IR(&spec.Spec{}); return err }, jit.ErrUnset},
	{"IR", "no layouts", func(w *world) error { w.spec.Layouts = nil; _, _, err := build.IR(w.spec); return err }, jit.ErrMismatch},
	{"IR", "a negative dimension", func(w *world) error {
		for d := range w.spec.Dims {
			w.spec.Dims[d] = -1
		}
		_, _, err := build.IR(w.spec)
		return err
	}, jit.ErrRange},
	{"IR", "no dimensions", func(w *world) error { w.spec.Dims = nil; _, _, err := build.IR(w.spec); return err }, jit.ErrRange},
	{"Lower", "nil", func(*world) error { return second(compile.Lower(nil, target.Machine{}, nil)) }, jit.ErrUnset},
	{"Lower", "no target", func(w *world) error { return second(compile.Lower(w.spec, target.Machine{}, nil)) }, jit.ErrUnset},
	{"LowerIR", "nil", func(*world) error { return second(compile.LowerIR(nil, target.Machine{}, nil, nil, nil)) }, jit.ErrUnset},
	{"LowerIR", "zero", func(*world) error { return second(compile.LowerIR(&ir.Func{}, target.Machine{}, nil, nil, nil)) }, jit.ErrUnset},
	{"LowerIR", "no target", func(w *world) error {
		f, _, err := build.IR(w.spec)
		if err != nil {
			return err
		}
		return second(compile.LowerIR(f, target.Machine{}, nil, nil, nil))
	}, jit.ErrUnset},
	{"Forms", "nil", func(*world) error { return second(compile.Forms(nil, target.Machine{})) }, jit.ErrUnset},
	{"Forms", "no target", func(w *world) error { return second(compile.Forms(w.spec, target.Machine{})) }, jit.ErrUnset},
	{"KnownPins", "nil", func(*world) error { return none(int64(len(compile.KnownPins(nil, map[string]int64{"x": 1})))) }, nil},
	{"ParseAssignments", "what is none", func(*world) error { return second(bug.ParseAssignments("\"a=1")) }, anyError},
	{"Lowered.Block", "zero", func(*world) error { return second(new(compile.Lowered).Block()) }, jit.ErrUnset},
	{"Lowered.BlockProgram", "zero", func(*world) error { return second(new(compile.Lowered).BlockProgram()) }, jit.ErrUnset},
	{"Lowered.PTX", "zero", func(*world) error { return second(new(compile.Lowered).PTX()) }, jit.ErrUnset},
	{"Lowered.Memory", "zero", func(*world) error { return none(int64(len(new(compile.Lowered).Memory()))) }, nil},
	{"Load", "nothing", func(*world) error { jit.Load("", nil, nil); return nil }, nil},
	{"Loader.Parse", "nil", func(*world) error { (*load.Loader)(nil).Parse("", nil); return nil }, nil},
	{"Loader.Import", "from nowhere", func(*world) error {
		_, ds := (*load.Loader)(nil).Import("none", nil, lang.Span{})
		return ds.Err()
	}, anyError},
	{"ProposeImports", "nil", func(*world) error { load.ProposeImports(nil, lang.Diagnostics{{}}); return nil }, nil},
	{"ParseLogs", "no writer", func(*world) error {
		l, err := jit.ParseLogs("all", nil)
		l.Line(log.Time, "said to nobody")
		return err
	}, nil},
	{"Lowered.Reasons", "zero", func(*world) error { return none(int64(len(new(compile.Lowered).Reasons()))) }, nil},
	{"Logs.Spent", "nil", func(*world) error { (*jit.Logs)(nil).Spent(1, "run"); new(jit.Logs).Spent(1); return nil }, nil},
	{"Logs.Stopwatch", "nil", func(*world) error {
		(*jit.Logs)(nil).Stopwatch("run").Lap("")
		new(jit.Logs).Stopwatch().Lap("")
		new(log.Stopwatch).Lap("")
		return nil
	}, nil},
	{"Logs.KeepSpans", "nil", func(*world) error { (*jit.Logs)(nil).KeepSpans(true); new(jit.Logs).KeepSpans(false); return nil }, nil},
	{"Logs.Spans", "nil", func(*world) error { (*jit.Logs)(nil).Spans(); new(jit.Logs).Spans(); return nil }, nil},
	{"Logs.MeasuresLaunches", "nil", func(*world) error {
		(*jit.Logs)(nil).MeasuresLaunches(true)
		new(jit.Logs).MeasuresLaunches(false)
		return nil
	}, nil},
	{"Logs.Times", "nil", func(*world) error { (*jit.Logs)(nil).Times(1); new(jit.Logs).Times(-1); return nil }, nil},
	{"Logs.DumpAfter", "nil", func(*world) error { return (*jit.Logs)(nil).DumpAfter("fold") }, jit.ErrUnset},
	{"Logs.DumpAfter", "zero", func(*world) error { return new(jit.Logs).DumpAfter("fold") }, jit.ErrUnset},
	{"Logs.Line", "nil", func(*world) error {
		(*jit.Logs)(nil).Line(log.IR, "")
		new(jit.Logs).Line(log.IR, "")
		return nil
	}, nil},
	{"Logs.On", "nil", func(*world) error { (*jit.Logs)(nil).On(log.IR); return nil }, nil},
	{"Logs.Print", "nil", func(*world) error {
		(*jit.Logs)(nil).Print(log.IR, "", nil)
		new(jit.Logs).Print(log.IR, "", nil)
		return nil
	}, nil},
	{"CheckFailure.Text", "zero", func(*world) error { return none(int64(len(new(jit.CheckFailure).Text()))) }, nil},
	{"ArgError.Error", "zero", func(*world) error { _ = new(jit.ArgError).Error(); return new(jit.ArgError).Unwrap() }, nil},
	{"ArgError.Unwrap", "zero", func(*world) error { return new(jit.ArgError).Unwrap() }, nil},
	{"UseError.Error", "zero", func(*world) error { _ = new(jit.UseError).Error(); return nil }, nil},
	{"UseError.Unwrap", "zero", func(*world) error { return new(jit.UseError).Unwrap() }, nil},
	{"NameError.Error", "zero", func(*world) error { _ = new(jit.NameError).Error(); return nil }, nil},
	{"MemoryError.Error", "zero", func(*world) error { _ = new(jit.MemoryError).Error(); return nil }, nil},
	{"MemoryError.Unwrap", "zero", func(*world) error { return new(jit.MemoryError).Unwrap() }, nil},
	{"EmulationError.Error", "zero", func(*world) error { _ = new(jit.EmulationError).Error(); return nil }, nil},
	{"Emulator", "settings that make no sense", func(*world) error {
		e, err := jit.OpenEmulator("sm_90a")
		if err != nil {
			return err
		}
		e.Workers, e.First, e.OnLaunch = -3, -5, func(string, *emu.Report) {}
		m, err := jit.NewCompiler(e, nil).Load("a.tile", []byte(misused))
		if err != nil {
			return err
		}
		return second(m.Call("copy", jit.Args{"x": []float32{1}}))
	}, jit.ErrRange},
}

// misuseDevices are where misuses are tried.
func misuseDevices() []string {
	devices := []string{"cpu", "emu"}
	if os.Getenv("TILEC_TEST_DEVICE") == "cuda" {
		devices = append(devices, "cuda")
	}
	return devices
}

// Kinds for the table: any error, and any *ArgError.
var (
	anyError    = errors.New("any error")
	anyArgument = errors.New("an *ArgError")
)

// unrecorded reports a recording where there should be none.
func unrecorded(graph uintptr, possible bool) error {
	if graph != 0 || possible {
		return errors.New("a recording")
	}
	return nil
}

// bare reports a bare run where there should be none.
func bare(l *jit.BareRun) error {
	if l != nil {
		return errors.New("a bare run")
	}
	return nil
}

func none(n int64) error {
	if n != 0 {
		return fmt.Errorf("%d instead of none", n)
	}
	return nil
}

func notANumber(v float64) error {
	if v == v {
		return fmt.Errorf("%v instead of NaN", v)
	}
	return nil
}
