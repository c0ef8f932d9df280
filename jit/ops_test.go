package jit

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/backend"
	"tilec/jit/graph"
	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/jit/plan"
	"tilec/lang"
)

// These tests run every elementwise operation and every conversion, on every
// element type, against the scalar table of jit/ir/eval, on the device that
// TILEC_TEST_DEVICE names (the CPU without it).

func testCompiler(t testing.TB) *Compiler {
	name := os.Getenv("TILEC_TEST_DEVICE")
	if name == "" {
		name = "cpu"
	}
	d, err := OpenDevice(name)
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return NewCompiler(d, nil)
}

// compilePlanned compiles IR with a plan made by hand.
func compilePlanned(c *Compiler, f *ir.Func, p *plan.Plan) (backend.Executable, error) {
	code, err := backend.Make(f, p, c.Device.Target(), nil)
	if err != nil {
		return nil, err
	}
	return c.Device.Compile(code, backend.Tools{Logs: c.Logs, Cache: c.Cache})
}

// runIR plans a kernel by hand and runs it. Tensors are given and returned as
// bytes; sizes gives the unknown dimensions.
func runIR(t testing.TB, c *Compiler, f *ir.Func, extents map[string]int64, sizes map[string]int64, tensors [][]byte, scalars ...uint64) [][]byte {
	t.Helper()
	require.NoError(t, ir.Verify(f))
	p := &plan.Plan{Target: c.Device.Target().Name, Extents: extents}
	if c.Device.Target().IsGPU() {
		p.Warps, p.Stages = 4, 1
	}
	require.NoError(t, p.Apply(f))
	exe, err := compilePlanned(c, f, p)
	require.NoError(t, err)
	var args []backend.Arg
	memory := make([]*backend.Memory, len(tensors))
	next, scalar := 0, 0
	for _, param := range f.Params() {
		switch param.Kind {
		case ir.ParamPointer:
			m, err := c.Device.Alloc(int64(len(tensors[next])))
			require.NoError(t, err)
			require.NoError(t, c.Device.Write(m, 0, tensors[next]))
			memory[next] = m
			args = append(args, backend.Arg{Memory: m})
			next++
		case ir.ParamScalar:
			args = append(args, backend.Arg{Bits: scalars[scalar]})
			scalar++
		default:
			args = append(args, backend.Arg{Bits: uint64(sizes[param.Dim.Name])})
		}
	}
	require.NoError(t, exe.Launch(t.Context(), args))
	out := make([][]byte, len(tensors))
	for i, m := range memory {
		out[i] = make([]byte, len(tensors[i]))
		require.NoError(t, c.Device.Read(out[i], m, 0))
		c.Device.Free(m)
	}
	return out
}

// decode reads element i of a tensor.
func decode(d lang.DType, data []byte, i int) ir.Const {
	switch d {
	case lang.Bool, lang.U8:
		return ir.Const{Int: int64(data[i])}
	case lang.I8:
		return ir.Const{Int: int64(int8(data[i]))}
	case lang.I16:
		return ir.Const{Int: int64(int16(binary.LittleEndian.Uint16(data[2*i:])))}
	case lang.U16:
		return ir.Const{Int: int64(binary.LittleEndian.Uint16(data[2*i:]))}
	case lang.I32:
		return ir.Const{Int: int64(int32(binary.LittleEndian.Uint32(data[4*i:])))}
	case lang.U32:
		return ir.Const{Int: int64(binary.LittleEndian.Uint32(data[4*i:]))}
	case lang.I64, lang.U64:
		return ir.Const{Int: int64(binary.LittleEndian.Uint64(data[8*i:]))}
	case lang.F4E2M1:
		return ir.Const{Float: d.ElementAt(data, int64(i))}
	case lang.F8E4M3:
		return ir.Const{Float: float64(lang.F8E4M3Value(data[i]))}
	case lang.F8E5M2:
		return ir.Const{Float: float64(lang.F8E5M2Value(data[i]))}
	case lang.F16:
		return ir.Const{Float: float64(lang.F16Value(binary.LittleEndian.Uint16(data[2*i:])))}
	case lang.BF16:
		return ir.Const{Float: float64(lang.BF16Value(binary.LittleEndian.Uint16(data[2*i:])))}
	case lang.F32:
		return ir.Const{Float: float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))}
	}
	return ir.Const{Float: math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))}
}

// literal is a number as a scalar of type d.
func literal(d lang.DType, v float64) lang.Literal {
	return lang.Literal{DType: d, Int: int64(v), Float: v}
}

// special are bit patterns worth trying in every type: zeros, ones, denormals,
// the largest, infinities, NaN, and the edges of the integers.
func special(d lang.DType) []uint64 {
	var bits []uint64
	if d.IsFloat() {
		for _, v := range []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 1.5, 2.5, -2.5, 3, 7, 100.25, -1e-3, 1e-10, 88, -90, 1e30, math.Inf(1), math.Inf(-1), math.NaN()} {
			bits = append(bits, graph.ScalarBits(literal(d, v)))
		}
		return append(bits, 1, 2, 1<<(d.Bits()-1)|1) // denormals
	}
	if d == lang.Bool {
		return []uint64{0, 1}
	}
	for _, v := range []int64{0, 1, -1, 2, 3, 5, 7, -7, 8, 15, 16, 31, 32, 33, 63, 64, 100, 127, -128, 32767, -32768, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64} {
		bits = append(bits, uint64(v)&(math.MaxUint64>>(64-d.Bits())))
	}
	return bits
}

// samples fills n elements: every pair of special patterns, then random ones.
func samples(d lang.DType, n int, operand int, r *rand.Rand) []byte {
	data := make([]byte, d.Bytes(int64(n)))
	s := special(d)
	for i := range n {
		var bits uint64
		switch {
		case i < len(s)*len(s):
			bits = s[i%len(s)]
			if operand == 1 {
				bits = s[i/len(s)]
			}
		case d == lang.Bool:
			bits = r.Uint64() & 1
		case d.IsFloat() && i%2 == 0:
			bits = graph.ScalarBits(literal(d, r.NormFloat64()*4))
		default:
			bits = r.Uint64()
		}
		d.PutRawBitsAt(data, int64(i), bits)
	}
	return data
}

// elementwiseKernel is `z[i] = op(a[i], b[i], c[i])`.
func elementwiseKernel(op lang.Op, operands []lang.DType, result lang.DType) *ir.Func {
	n := &ir.Dim{Name: "N", Value: -1, Divisor: 1}
	i := &ir.Axis{Name: "i", Kind: ir.Grid, Dim: n, Tile: "B"}
	f := &ir.Func{Name: op.String(), Dims: []*ir.Dim{n}, Axes: []*ir.Axis{i}, Body: &ir.Block{}}
	b := ir.Builder{Func: f, Block: f.Body}
	index := b.Emit(&ir.Op{Code: lang.OpIndex, Axis: i})[0]
	var args []*ir.Value
	for k, d := range operands {
		t := &ir.Tensor{Name: string(rune('a' + k)), DType: d, Shape: []*ir.Dim{n}, Align: 16}
		f.Tensors = append(f.Tensors, t)
		args = append(args, b.Emit(&ir.Op{Code: lang.OpLoad, Tensor: t, Args: []*ir.Value{index}, Checked: []bool{false}})[0])
	}
	z := &ir.Tensor{Name: "z", DType: result, Mode: lang.Out, Shape: []*ir.Dim{n}, Align: 16}
	f.Tensors = append(f.Tensors, z)
	var v *ir.Value
	switch op {
	case lang.OpCast:
		v = b.Cast(args[0], result)
	case lang.OpBitcast:
		v = b.Bitcast(args[0], result)
	default:
		v = b.Op(op, args...)
	}
	b.Emit(&ir.Op{Code: lang.OpStore, Tensor: z, Args: []*ir.Value{index, v}, Checked: []bool{false}})
	return f
}

// accepts reports whether an operation's type rule allows operands of d.
func accepts(r lang.Rule, d lang.DType) bool {
	switch r {
	case lang.RuleNumeric:
		return d != lang.Bool
	case lang.RuleFloat, lang.RuleTest:
		return d.IsFloat()
	case lang.RuleInt:
		return d.IsInt()
	case lang.RuleBool:
		return d == lang.Bool
	case lang.RuleBits64:
		return d == lang.U64
	}
	return r == lang.RuleCompare || r == lang.RuleSelect
}

// ulps is the distance between a result and the right one in units of the last place of d.
func ulps(d lang.DType, got, want float64) float64 {
	if got == want || math.IsNaN(got) && math.IsNaN(want) {
		return 0
	}
	if math.IsNaN(got) || math.IsNaN(want) || math.IsInf(got, 0) || math.IsInf(want, 0) {
		return math.Inf(1)
	}
	mantissa, least := map[lang.DType]int{lang.F4E2M1: 1, lang.F8E4M3: 3, lang.F8E5M2: 2, lang.F16: 10, lang.BF16: 7, lang.F32: 23, lang.F64: 52}[d],
		map[lang.DType]int{lang.F4E2M1: -1, lang.F8E4M3: -9, lang.F8E5M2: -16, lang.F16: -24, lang.BF16: -133, lang.F32: -149, lang.F64: -1074}[d]
	exp := max(math.Ilogb(want)-mantissa, least)
	return math.Abs(got-want) / math.Ldexp(1, exp)
}

const opElements = 3000 // not a multiple of any extent: the last block is ragged

func TestElementwiseOperations(t *testing.T) {
	c := testCompiler(t)
	for _, op := range lang.Ops() {
		row := op.Row()
		if !row.Elementwise || op == lang.OpCast || op == lang.OpBitcast {
			continue
		}
		for _, d := range lang.DTypes() {
			if !accepts(row.Rule, d) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", op, d), func(t *testing.T) {
				operands := make([]lang.DType, len(row.Operands))
				for k := range operands {
					operands[k] = d
				}
				if row.Rule == lang.RuleSelect {
					operands[0] = lang.Bool
				}
				f := elementwiseKernel(op, operands, resultType(t, op, operands))
				result := f.Tensors[len(operands)].DType
				r := rand.New(rand.NewPCG(7, uint64(op)))
				var data [][]byte
				for k, o := range operands {
					data = append(data, samples(o, opElements, k, r))
				}
				data = append(data, make([]byte, result.Bytes(opElements)))
				out := runIR(t, c, f, map[string]int64{"i": 256}, map[string]int64{"N": opElements}, data)
				// The bound is the row's, in f32; a narrower result is that value rounded, which
				// moves it by at most one unit more than half; f64 results have a bound of 4 over the row's.
				bound := row.Ulp
				if bound > 0 && result.Bits() < 32 {
					bound = 1
				} else if bound > 0 && result == lang.F64 {
					bound += 4
				}
				worst := 0.0
				for i := range opElements {
					args := make([]ir.Const, len(operands))
					for k, o := range operands {
						args[k] = decode(o, data[k], i)
					}
					want := eval.Apply(op, d, args...)
					got := decode(result, out[len(operands)], i)
					if !result.IsFloat() {
						require.Equal(t, want.Int, got.Int, "element %d: %s(%v)", i, op, args)
						continue
					}
					e := ulps(result, got.Float, want.Float)
					worst = max(worst, e)
					require.LessOrEqual(t, e, bound, "element %d: %s(%v) is %v, want %v", i, op, args, got.Float, want.Float)
				}
				if row.Ulp > 0 {
					t.Logf("largest error %.2f ulp of %s", worst, result)
				}
			})
		}
	}
}

func resultType(t *testing.T, op lang.Op, operands []lang.DType) lang.DType {
	args := make([]*ir.Value, len(operands))
	for i, d := range operands {
		args[i] = &ir.Value{Type: ir.Scalar(d)}
	}
	types, err := ir.Infer(&ir.Op{Code: op, Args: args})
	require.NoError(t, err)
	return types[0].DType
}

func TestConversions(t *testing.T) {
	c := testCompiler(t)
	for _, from := range lang.DTypes() {
		for _, to := range lang.DTypes() {
			if from == to {
				continue
			}
			t.Run(fmt.Sprintf("%s to %s", from, to), func(t *testing.T) {
				f := elementwiseKernel(lang.OpCast, []lang.DType{from}, to)
				data := [][]byte{samples(from, opElements, 0, rand.New(rand.NewPCG(3, uint64(from)))), make([]byte, to.Bytes(opElements))}
				out := runIR(t, c, f, map[string]int64{"i": 256}, map[string]int64{"N": opElements}, data)
				for i := range opElements {
					x := decode(from, data[0], i)
					want, got := eval.Cast(x, from, to), decode(to, out[1], i)
					if to.IsFloat() {
						require.Zero(t, ulps(to, got.Float, want.Float), "element %d: %v as %s is %v, want %v", i, x, to, got.Float, want.Float)
						if !math.IsNaN(want.Float) {
							require.Equal(t, math.Signbit(want.Float), math.Signbit(got.Float), "sign of element %d: %v as %s", i, x, to)
						}
					} else {
						require.Equal(t, want.Int, got.Int, "element %d: %v as %s", i, x, to)
					}
				}
			})
		}
	}
}

// Every bit pattern of the narrow types is its own value's, but for those of NaN.
func TestBitcasts(t *testing.T) {
	c := testCompiler(t)
	for _, from := range lang.DTypes() {
		for _, to := range lang.DTypes() {
			if from == lang.Bool || to == lang.Bool || from.Bits() != to.Bits() || from.IsFloat() == to.IsFloat() {
				continue
			}
			t.Run(fmt.Sprintf("%s as %s", from, to), func(t *testing.T) {
				f := elementwiseKernel(lang.OpBitcast, []lang.DType{from}, to)
				in := samples(from, opElements, 0, rand.New(rand.NewPCG(5, uint64(from))))
				if from.Bits() <= 16 { // the first elements count through the bits
					for i := range min(opElements, 1<<from.Bits()) {
						copy(in[i*from.Size():], []byte{byte(i * 13), byte(i * 13 >> 8)}[:from.Size()])
					}
				}
				out := runIR(t, c, f, map[string]int64{"i": 256}, map[string]int64{"N": opElements}, [][]byte{in, make([]byte, to.Bytes(opElements))})
				for i := range opElements {
					x := decode(from, in, i)
					want, got := eval.Bitcast(x, from, to), decode(to, out[1], i)
					require.Equal(t, want.Int, got.Int, "element %d: %v", i, x)
					if math.IsNaN(want.Float) {
						require.True(t, math.IsNaN(got.Float), "element %d: %v", i, x)
					} else {
						require.Equal(t, math.Float64bits(want.Float), math.Float64bits(got.Float), "element %d: %v", i, x)
					}
				}
			})
		}
	}
}
