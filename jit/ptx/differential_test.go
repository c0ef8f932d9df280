package ptx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/block"
	"tilec/jit/block/interp"
	"tilec/jit/cpu"
	"tilec/jit/emu"
	"tilec/jit/ir"
	"tilec/jit/plan"
	"tilec/jit/target"
	"tilec/lang"
)

// load16 and others read an element as a float, for comparison.
func elementAt(d lang.DType, b []byte, i int) float64 {
	u := little(b[i*d.Size() : (i+1)*d.Size()])
	switch d {
	case lang.F64:
		return math.Float64frombits(u)
	case lang.F32:
		return float64(math.Float32frombits(uint32(u)))
	case lang.F16:
		return float64(lang.F16Value(uint16(u)))
	case lang.BF16:
		return float64(lang.BF16Value(uint16(u)))
	case lang.Bool, lang.U8, lang.U16, lang.U32, lang.U64, lang.F8E4M3, lang.F8E5M2:
		return float64(u)
	}
	up := 64 - d.Bits()
	return float64(int64(u<<up) >> up)
}

// random fills a tensor: small floats of both signs, bytes of every value, or other integers from 0 to below limit.
func random(r *rand.Rand, d lang.DType, b []byte, limit int) {
	for i := 0; i < len(b)/d.Size(); i++ {
		x := float32(r.NormFloat64())
		var u uint64
		switch d {
		case lang.F64:
			u = math.Float64bits(float64(x))
		case lang.F32:
			u = uint64(math.Float32bits(x))
		case lang.F16:
			u = uint64(lang.F16Bits(x))
		case lang.BF16:
			u = uint64(lang.BF16Bits(x))
		case lang.F8E4M3, lang.F8E5M2:
			u = uint64(0x30 + r.Intn(16) + 128*r.Intn(2))
		case lang.Bool:
			u = uint64(r.Intn(2))
		case lang.I8, lang.U8:
			u = uint64(r.Intn(256))
		default:
			u = uint64(r.Intn(limit))
		}
		put(b[i*d.Size():(i+1)*d.Size()], u)
	}
}

// differ runs a kernel on the CPU backend and its PTX in the emulator, with the
// same random tensors, and compares the results. What the emulator finds fails the test.
// It gives what the emulator reports.
func differ(t *testing.T, f *ir.Func, p plan.Plan, sizes map[string]int64, tolerance float64, limit int, scalars ...uint64) *emu.Report {
	t.Helper()
	return differWith(t, f, p, sizes, tolerance, limit, func(*Module) {}, scalars...)
}

// differWith is differ with a module that launch has changed, and gives what the emulator reports.
func differWith(t *testing.T, f *ir.Func, p plan.Plan, sizes map[string]int64, tolerance float64, limit int, launch func(*Module), scalars ...uint64) *emu.Report {
	t.Helper()
	if p.Stages == 0 {
		p.Stages = 1
	}
	m := compile(t, f, &p, "sm_90a")
	launch(m)
	size := func(d *ir.Dim) int64 {
		if d.Known() {
			return d.Value
		}
		n, ok := sizes[d.Name]
		require.True(t, ok, "no size for %s", d.Name)
		return n
	}
	r := rand.New(rand.NewSource(1))
	var args cpu.Args
	var mine [][]byte
	for _, tensor := range f.Tensors {
		n := int64(tensor.DType.Size())
		for _, d := range tensor.Shape {
			n *= size(d)
		}
		b := make([]byte, n)
		if tensor.Mode != lang.Out {
			random(r, tensor.DType, b, limit)
		}
		args.Tensors = append(args.Tensors, b)
		mine = append(mine, append([]byte(nil), b...))
	}
	args.Scalars = scalars
	for _, d := range f.Dims {
		if !d.Known() {
			args.Dims = append(args.Dims, size(d))
		}
	}
	for _, q := range m.Params {
		if q.Kind == ir.ParamStride {
			args.Strides = append(args.Strides, size(q.Dim))
		}
	}
	blocks := interpret(t, f, p, mine, scalars, size)
	report := emulate(t, m, mine, scalars, size)
	c, err := cpu.Compile(f)
	require.NoError(t, err)
	require.NoError(t, c.Run(args))
	agree(t, f, p, size, tolerance, args.Tensors, mine)
	if blocks != nil {
		t.Log("the block program, interpreted")
		agree(t, f, p, size, tolerance, args.Tensors, blocks)
	}
	return report
}

// BlocksVariable names the environment variable with which all programs are interpreted, and not one of four.
const BlocksVariable = "TILEC_TEST_BLOCKS"

// interpret runs a kernel's block program in the interpreter, on copies of the tensors, which it gives; nil where the interpreter does not know
// an operation, or it is not this one's turn.
func interpret(t *testing.T, f *ir.Func, p plan.Plan, tensors [][]byte, scalars []uint64, size func(*ir.Dim) int64) [][]byte {
	t.Helper()
	m, err := target.Find("sm_90a")
	require.NoError(t, err)
	program, err := Decide(f, &p, m)
	require.NoError(t, err)
	require.NoError(t, program.Verify())
	if interpreted.Add(1)%4 != 0 && os.Getenv(BlocksVariable) == "" {
		return nil
	}
	read, err := block.Parse(f.Name, program.String())
	require.NoError(t, err)
	code := func(program *block.Program) string {
		k := newKernel(program, "")
		k.lower()
		return k.module().Text
	}
	require.Equal(t, code(program), code(read), "a block program and what is read of its text are one code")
	args := interp.Args{Tensors: map[*ir.Tensor][]byte{}, Scalars: map[*ir.Value]uint64{}, Size: size}
	var mine [][]byte
	for i, tensor := range program.Func.Tensors {
		mine = append(mine, slices.Clone(tensors[i]))
		args.Tensors[tensor] = mine[i]
	}
	for i, v := range program.Func.Scalars {
		args.Scalars[v] = scalars[i]
	}
	var unsupported *interp.UnsupportedError
	if err := interp.Run(program, args, interp.ProducersFirst); errors.As(err, &unsupported) {
		t.Log(err)
		return nil
	} else {
		require.NoError(t, err)
	}
	return mine
}

// interpreted is how many programs might have been.
var interpreted atomic.Int64

// agree compares what a kernel has made of its tensors with what the CPU has.
func agree(t *testing.T, f *ir.Func, p plan.Plan, size func(*ir.Dim) int64, tolerance float64, wanted, mine [][]byte) {
	t.Helper()
	for i, tensor := range f.Tensors {
		if tensor.Mode == lang.In {
			continue
		}
		n := len(mine[i]) / tensor.DType.Size()
		for e := range n {
			want, got := elementAt(tensor.DType, wanted[i], e), elementAt(tensor.DType, mine[i], e)
			if want == got || math.IsNaN(want) && math.IsNaN(got) {
				continue
			}
			if math.Abs(want-got) <= tolerance*(1+math.Abs(want)) {
				continue
			}
			at, rest := "", e
			for d := len(tensor.Shape) - 1; d >= 0; d-- {
				n := int(size(tensor.Shape[d]))
				at = fmt.Sprint(rest%n, " ", at)
				rest /= n
			}
			t.Fatalf("%s[%s] is %v, the cpu gives %v\n%s", tensor.Name, at, got, want, "plan "+p.String())
		}
	}
}

func TestExamplesAgreeWithTheCPU(t *testing.T) {
	half := 1.0 / 64
	f32bits := func(f float32) uint64 { return uint64(math.Float32bits(f)) }
	for _, e := range []struct {
		name    string
		plan    plan.Plan
		sizes   map[string]int64
		scalars []uint64
	}{
		{"add", plan.Plan{Extents: map[string]int64{"i": 1024}, Warps: 4}, map[string]int64{"N": 3000}, nil},
		{"add", plan.Plan{Extents: map[string]int64{"i": 100}, Warps: 2}, map[string]int64{"N": 301}, nil},
		{"softmax", plan.Plan{Extents: map[string]int64{"i": 4}, Warps: 4}, map[string]int64{"M": 6}, nil},
		{"softmax", plan.Plan{Extents: map[string]int64{"i": 1}, Warps: 4}, map[string]int64{"M": 2}, nil},
		{"layernorm", plan.Plan{Extents: map[string]int64{"i": 2}, Warps: 4}, map[string]int64{"M": 5}, []uint64{f32bits(1e-5)}},
		{"embed", plan.Plan{Extents: map[string]int64{"s": 4, "c": 256}, Warps: 4}, map[string]int64{"B": 2, "S": 5}, nil},
		{"linear_gelu", plan.Plan{Extents: map[string]int64{"i": 64, "j": 192, "k": 32}, Warps: 8, Stages: 3}, map[string]int64{"M": 5}, nil},
		{"linear_gelu", plan.Plan{Extents: map[string]int64{"i": 16, "j": 256, "k": 64}, Warps: 8, Stages: 1}, map[string]int64{"M": 17}, nil},
		{"attention", plan.Plan{Extents: map[string]int64{"i": 64, "j": 64}, Warps: 4, Stages: 2}, map[string]int64{"B": 1, "S": 70}, []uint64{f32bits(0.125)}},
		{"attention", plan.Plan{Extents: map[string]int64{"i": 16, "j": 32}, Warps: 4, Stages: 3}, map[string]int64{"B": 1, "S": 37}, []uint64{f32bits(0.125)}},
	} {
		t.Run(fmt.Sprint(e.name, " ", e.plan.String()), func(t *testing.T) {
			differ(t, example(t, e.name), e.plan, e.sizes, half, 60000, e.scalars...)
		})
	}
}

// emulate launches a module in the emulator on tensors, scalars and sizes, and
// brings the tensors back. Blocks run one after the other. Each byte of an address beyond its tensor is found.
func emulate(t *testing.T, m *Module, tensors [][]byte, scalars []uint64, size func(*ir.Dim) int64) *emu.Report {
	t.Helper()
	parsed, err := emu.Parse(m.Text)
	require.NoError(t, err)
	entry := parsed.Kernels[m.Entry]
	memory := emu.NewMemory()
	space := make([]byte, entry.ParamSize)
	addresses := map[*ir.Tensor]uint64{}
	i, s := 0, 0
	for n, q := range m.Params {
		var value uint64
		switch q.Kind {
		case ir.ParamPointer:
			const word = 4 // an atomic on one byte swaps the word around it
			data := append(slices.Clone(tensors[i]), make([]byte, -len(tensors[i])&(word-1))...)
			if value, err = memory.Alloc(int64(len(data))); err == nil && len(data) > 0 {
				err = memory.Write(value, data)
			}
			require.NoError(t, err)
			addresses[q.Tensor] = value
			i++
		case ir.ParamScalar:
			value = scalars[s]
			s++
		default:
			value = uint64(size(q.Dim))
		}
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], value)
		copy(space[entry.Params[n].Offset:][:entry.Params[n].Size], word[:])
	}
	options := emu.Options{Workers: 1, Profile: true, TensorMaps: map[string]*emu.TensorMap{}}
	for _, b := range m.Maps {
		shape := b.Shape(size)
		of := map[int]emu.TensorType{1: emu.TensorUint8, 2: emu.TensorUint16, 4: emu.TensorUint32}[b.Tensor.DType.Size()]
		if b.TF32 {
			of = emu.TensorTFloat32
		}
		options.TensorMaps[b.Name] = &emu.TensorMap{
			Type: of, Address: addresses[b.Tensor],
			Dims: shape.Dims, Strides: shape.Strides, Box: shape.Box,
			Swizzle: map[int]emu.Swizzle{32: emu.Swizzle32, 64: emu.Swizzle64, 128: emu.Swizzle128}[b.Swizzle],
		}
	}
	blocks := m.Blocks(size)
	if blocks == 0 {
		return &emu.Report{}
	}
	report, err := emu.Launch(parsed, m.Entry, [3]int{int(blocks), 1, 1}, [3]int{m.Threads, 1, 1}, m.Shared, space, memory, options)
	require.NoError(t, err)
	require.Empty(t, report.Findings)
	i = 0
	for _, q := range m.Params {
		if q.Kind == ir.ParamPointer {
			if len(tensors[i]) > 0 {
				require.NoError(t, memory.Read(tensors[i], addresses[q.Tensor]))
			}
			i++
		}
	}
	return report
}

// little and put read and write a number of up to eight bytes.
func little(b []byte) (u uint64) {
	for i, x := range b {
		u |= uint64(x) << (8 * i)
	}
	return u
}

func put(b []byte, u uint64) {
	for i := range b {
		b[i] = byte(u >> (8 * i))
	}
}
