package elem

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// Every elementwise operation has code for every class of operand that its rule takes.
func TestElementTableIsComplete(t *testing.T) {
	for _, op := range lang.Ops() {
		if !op.Row().Elementwise || op == lang.OpCast || op == lang.OpBitcast { // casts are a function of their own
			continue
		}
		row, ok := elementTable[op]
		if !assert.True(t, ok, "%s has no entry in elementTable", op) {
			continue
		}
		for _, d := range lang.DTypes() {
			has := map[lang.Class]bool{
				lang.ClassBool: row.boolean != nil, lang.ClassInt: row.integer != nil, lang.ClassFloat: row.float != nil,
			}[d.Class()]
			if op.Row().Rule == lang.RuleBits64 {
				has = has && d == lang.U64 // one class of code, and one type that takes it
			}
			assert.Equal(t, allowed(op, d), has, "%s of %s", op, d)
		}
	}
}

// toSlot is a value as the bits of its register: floats up to 32 bits as f32, integers extended.
func floatSlot(d lang.DType, v float64) uint64 {
	if d == lang.F64 {
		return math.Float64bits(v)
	}
	return uint64(math.Float32bits(float32(v)))
}

func floatFrom(d lang.DType, u uint64) float64 {
	if d == lang.F64 {
		return db(u)
	}
	return float64(fl(u))
}

func intSlot(d lang.DType, v int64) uint64 {
	if d.Bits() == 64 {
		return uint64(v)
	}
	return uint64(uint32(norm(d.Bits(), d.IsSigned(), uint64(v))))
}

// intFrom reads a register as a number of d; ok says that it is properly extended.
func intFrom(d lang.DType, u uint64) (v int64, ok bool) {
	v = int64(norm(d.Bits(), d.IsSigned(), u))
	return v, intSlot(d, v) == u
}

var ints = []lang.DType{lang.I8, lang.U8, lang.I16, lang.U16, lang.I32, lang.U32, lang.I64, lang.U64}
var floats = []lang.DType{lang.F4E2M1, lang.F8E4M3, lang.F8E5M2, lang.F16, lang.BF16, lang.F32, lang.F64}

// intSamples are all values of 8-bit types, else edges and random ones.
func intSamples(d lang.DType, r *rand.Rand) []int64 {
	var out []int64
	if d.Bits() == 8 {
		for v := range int64(256) {
			out = append(out, int64(norm(8, d.IsSigned(), uint64(v))))
		}
		return out
	}
	for _, b := range []int{0, 1, 7, 8, 15, 16, 23, 24, 25, 31, 32, 33, 53, 54, 63} {
		for _, n := range []int64{-2, -1, 0, 1, 2} {
			v := int64(1)<<b + n
			out = append(out, v, -v)
		}
	}
	for range 60 {
		v := int64(r.Uint64() >> r.IntN(64))
		out = append(out, v, -v)
	}
	for i, v := range out {
		out[i] = int64(norm(d.Bits(), d.IsSigned(), uint64(v)))
	}
	return out
}

func order(d lang.DType, a, b int64) int {
	switch {
	case a == b:
		return 0
	case d.IsSigned() && a < b, !d.IsSigned() && uint64(a) < uint64(b):
		return -1
	}
	return 1
}

// intReference is an operation's meaning in exact integers, before wrapping.
func intReference(op lang.Op, d lang.DType, a, b, c int64) int64 {
	val := func(x int64) *big.Int {
		if d.IsSigned() {
			return big.NewInt(x)
		}
		return new(big.Int).SetUint64(uint64(x))
	}
	low := func(x *big.Int) int64 { // modulo 2^64
		return int64(new(big.Int).And(x, new(big.Int).SetUint64(math.MaxUint64)).Uint64())
	}
	yes := func(b bool) int64 { return int64(flag(b)) }
	x, y, z := val(a), val(b), new(big.Int)
	w := d.Bits()
	switch op {
	case lang.OpAdd:
		return low(z.Add(x, y))
	case lang.OpSub:
		return low(z.Sub(x, y))
	case lang.OpMul:
		return low(z.Mul(x, y))
	case lang.OpDiv, lang.OpFloorDiv:
		if b == 0 {
			return 0
		}
		q, r := z.QuoRem(x, y, new(big.Int))
		if op == lang.OpFloorDiv && r.Sign() != 0 && r.Sign() != y.Sign() {
			q.Sub(q, big.NewInt(1))
		}
		return low(q)
	case lang.OpMod:
		if b == 0 {
			return a
		}
		return low(z.Rem(x, y))
	case lang.OpNeg:
		return -a
	case lang.OpAbs:
		return low(z.Abs(x))
	case lang.OpSign:
		return int64(x.Sign())
	case lang.OpMin, lang.OpMax:
		if (order(d, a, b) < 0) == (op == lang.OpMin) {
			return a
		}
		return b
	case lang.OpClamp:
		return intReference(lang.OpMin, d, intReference(lang.OpMax, d, a, b, 0), c, 0)
	case lang.OpAnd:
		return a & b
	case lang.OpOr:
		return a | b
	case lang.OpXor:
		return a ^ b
	case lang.OpNot:
		return ^a
	case lang.OpShl, lang.OpShr:
		by := uint(w)
		if y.Sign() >= 0 && y.Cmp(big.NewInt(int64(w))) < 0 {
			by = uint(y.Int64())
		}
		if op == lang.OpShl {
			return low(z.Lsh(x, by))
		}
		return low(z.Rsh(x, by))
	case lang.OpPopcount:
		return int64(bits.OnesCount64(norm(w, false, uint64(a))))
	case lang.OpRandomBits:
		return int64(eval.RandomBits(uint64(a), uint64(b), uint64(c)))
	case lang.OpClz:
		return int64(w - bits.Len64(norm(w, false, uint64(a))))
	case lang.OpEq:
		return yes(a == b)
	case lang.OpNe:
		return yes(a != b)
	case lang.OpLt:
		return yes(order(d, a, b) < 0)
	case lang.OpLe:
		return yes(order(d, a, b) <= 0)
	case lang.OpGt:
		return yes(order(d, a, b) > 0)
	case lang.OpGe:
		return yes(order(d, a, b) >= 0)
	}
	panic("no reference for " + op.String())
}

func TestIntegers(t *testing.T) {
	t.Parallel()
	for op, row := range elementTable {
		if row.integer == nil || op == lang.OpWhere {
			continue
		}
		for _, d := range ints {
			if !allowed(op, d) {
				continue
			}
			r := rand.New(rand.NewPCG(uint64(op), uint64(d)))
			classes := operandClasses(op, d)
			p := assemble(t, 80, classes, func(a *asm.Builder, in []asm.Reg) asm.Reg { return Apply(a, op, d, in, false) })
			s := intSamples(d, r)
			second := s
			switch {
			case len(classes) == 1:
				second = s[:1]
			default: // zero and its neighbours, the ends, and a part of the others
				second = nil
				for _, v := range []int64{0, 1, 2, -1, -2, math.MinInt64, math.MaxInt64, 1 << (d.Bits() - 1), 1<<(d.Bits()-1) - 1} {
					second = append(second, int64(norm(d.Bits(), d.IsSigned(), uint64(v))))
				}
				for range 40 {
					second = append(second, s[r.IntN(len(s))])
				}
			}
			for _, x := range s {
				for _, y := range second {
					z := s[r.IntN(len(s))]
					in := []uint64{intSlot(d, x), intSlot(d, y), intSlot(d, z)}[:len(classes)]
					raw := p.run(in...)
					want := intReference(op, d, x, y, z)
					if op.Row().Rule == lang.RuleCompare {
						if raw != uint64(want) {
							require.Failf(t, "wrong", "%s of %s: %d, %d: got %d", op, d, x, y, raw)
						}
						continue
					}
					got, ok := intFrom(d, raw)
					want = int64(norm(d.Bits(), d.IsSigned(), uint64(want)))
					if !ok || got != want {
						require.Failf(t, "wrong", "%s of %s: %d, %d, %d: got %#x, want %d", op, d, x, y, z, raw, want)
					}
				}
			}
		}
	}
}

func TestBooleans(t *testing.T) {
	want := map[lang.Op]func(a, b, c bool) bool{
		lang.OpEq: func(a, b, _ bool) bool { return a == b },
		lang.OpNe: func(a, b, _ bool) bool { return a != b },
		lang.OpLt: func(a, b, _ bool) bool { return !a && b },
		lang.OpLe: func(a, b, _ bool) bool { return !a || b },
		lang.OpGt: func(a, b, _ bool) bool { return a && !b },
		lang.OpGe: func(a, b, _ bool) bool { return a || !b },

		lang.OpLogicAnd: func(a, b, _ bool) bool { return a && b },
		lang.OpLogicOr:  func(a, b, _ bool) bool { return a || b },
		lang.OpLogicNot: func(a, _, _ bool) bool { return !a },
		lang.OpWhere:    func(a, b, c bool) bool { return a && b || !a && c },
	}
	for op, row := range elementTable {
		if row.boolean == nil {
			continue
		}
		require.Contains(t, want, op)
		classes := operandClasses(op, lang.Bool)
		p := assemble(t, 80, classes, func(a *asm.Builder, in []asm.Reg) asm.Reg { return Apply(a, op, lang.Bool, in, false) })
		for i := range 8 {
			a, b, c := i&1 != 0, i&2 != 0, i&4 != 0
			in := []uint64{flag(a), flag(b), flag(c)}[:len(classes)]
			require.Equal(t, flag(want[op](a, b, c)), p.run(in...), "%s %v %v %v", op, a, b, c)
		}
	}
}

// floatSamples are all numbers of types up to 8 bits, else edges and random ones of every size.
func floatSamples(d lang.DType, r *rand.Rand, n int) []float64 {
	var out []float64
	value := func(pattern uint64) float64 {
		switch d {
		case lang.F4E2M1:
			return lang.F4E2M1.FloatValue(pattern)
		case lang.F8E4M3:
			return float64(lang.F8E4M3Value(uint8(pattern)))
		case lang.F8E5M2:
			return float64(lang.F8E5M2Value(uint8(pattern)))
		case lang.F16:
			return float64(lang.F16Value(uint16(pattern)))
		case lang.BF16:
			return float64(lang.BF16Value(uint16(pattern)))
		case lang.F32:
			return float64(fl(pattern))
		}
		return db(pattern)
	}
	if d.Bits() <= 8 {
		for b := range uint64(1) << d.Bits() {
			out = append(out, value(b))
		}
		return out
	}
	for _, v := range []float64{0, 0.5, 1, 1.5, 2, 2.5, 3, 7, 100.5, 1e4, math.Inf(1), math.NaN()} {
		if d != lang.F64 {
			v = float64(d.Round(float32(v)))
		}
		out = append(out, v, math.Copysign(v, -1))
	}
	for _, top := range []uint64{1, 2, 3} { // the least subnormals
		out = append(out, value(top))
	}
	for len(out) < n {
		out = append(out, value(r.Uint64()>>(64-d.Bits())))
		whole := math.Ldexp(float64(r.IntN(4001)-2000), r.IntN(9)-6)
		if d != lang.F64 {
			whole = float64(d.Round(float32(whole)))
		}
		out = append(out, whole)
	}
	return out
}

// narrowTo rounds an exact or rounded-to-odd f64 to a type, once.
func narrowTo(d lang.DType, x float64) float64 {
	switch d {
	case lang.F64:
		return x
	case lang.F32:
		return float64(float32(x))
	}
	return float64(d.Round(oddTo32(x)))
}

// floatReference is the exact meaning: the operation in f64, rounded to odd where it may be inexact, then once.
func floatReference(op lang.Op, d lang.DType, a, b, c float64) float64 {
	odd := d != lang.F64
	yes := func(b bool) float64 { return float64(flag(b)) }
	switch op {
	case lang.OpAdd:
		if odd {
			return narrowTo(d, oddFma64(a, 1, b))
		}
		return a + b
	case lang.OpSub:
		if odd {
			return narrowTo(d, oddFma64(a, 1, -b))
		}
		return a - b
	case lang.OpMul:
		return narrowTo(d, a*b)
	case lang.OpDiv:
		return narrowTo(d, a/b)
	case lang.OpFloorDiv:
		q := a / b
		if odd {
			q = float64(float32(q))
		}
		return narrowTo(d, math.Floor(q))
	case lang.OpMod:
		return narrowTo(d, math.Mod(a, b)) // exact, but where it is NaN
	case lang.OpFma:
		if odd {
			return narrowTo(d, oddFma64(a, b, c))
		}
		return math.FMA(a, b, c)
	case lang.OpNeg:
		return -a
	case lang.OpAbs:
		return math.Abs(a)
	case lang.OpSign:
		if a > 0 {
			return 1
		} else if a < 0 {
			return -1
		}
		return a
	case lang.OpMin:
		return min(a, b)
	case lang.OpMax:
		return max(a, b)
	case lang.OpClamp:
		return min(max(a, b), c)
	case lang.OpSqrt:
		return narrowTo(d, math.Sqrt(a))
	case lang.OpFloor:
		return math.Floor(a)
	case lang.OpCeil:
		return math.Ceil(a)
	case lang.OpTrunc:
		return math.Trunc(a)
	case lang.OpRound:
		return math.RoundToEven(a)
	case lang.OpIsNaN:
		return yes(math.IsNaN(a))
	case lang.OpIsInf:
		return yes(math.IsInf(a, 0))
	case lang.OpEq:
		return yes(a == b)
	case lang.OpNe:
		return yes(a != b)
	case lang.OpLt:
		return yes(a < b)
	case lang.OpLe:
		return yes(a <= b)
	case lang.OpGt:
		return yes(a > b)
	case lang.OpGe:
		return yes(a >= b)
	}
	panic("no reference for " + op.String())
}

func sameFloat(a, b float64) bool {
	return a != a && b != b || a == b && math.Signbit(a) == math.Signbit(b)
}

// The operations that are exact or rounded once agree bit for bit with the
// definition, in every float type, sign of zero included.
func TestFloats(t *testing.T) {
	t.Parallel()
	for op, row := range elementTable {
		if row.float == nil || op == lang.OpWhere || op.Row().Ulp > 0 || op == lang.OpPow {
			continue
		}
		for _, d := range floats {
			r := rand.New(rand.NewPCG(uint64(op), uint64(d)))
			classes := operandClasses(op, d)
			p := assemble(t, 80, classes, func(a *asm.Builder, in []asm.Reg) asm.Reg { return Apply(a, op, d, in, false) })
			s := floatSamples(d, r, 250)
			second := s
			if len(classes) == 1 {
				second = s[:1]
				s = floatSamples(d, r, 20000)
			}
			for _, x := range s {
				for _, y := range second {
					for range max(1, len(classes)*4-8) {
						z := second[r.IntN(len(second))]
						in := []uint64{floatSlot(d, x), floatSlot(d, y), floatSlot(d, z)}[:len(classes)]
						raw := p.run(in...)
						want := floatReference(op, d, x, y, z)
						got := float64(raw)
						if rule := op.Row().Rule; rule != lang.RuleCompare && rule != lang.RuleTest {
							got = floatFrom(d, raw)
						}
						if !sameFloat(got, want) {
							require.Failf(t, "wrong", "%s of %s: %v, %v, %v: got %v, want %v", op, d, x, y, z, got, want)
						}
					}
				}
			}
		}
	}
}

func TestWhere(t *testing.T) {
	for _, d := range append(append([]lang.DType{}, ints...), floats...) {
		p := assemble(t, 80, operandClasses(lang.OpWhere, d), func(a *asm.Builder, in []asm.Reg) asm.Reg {
			return Apply(a, lang.OpWhere, d, in, false)
		})
		assert.Equal(t, uint64(3), p.run(1, 3, 5), d)
		assert.Equal(t, uint64(5), p.run(0, 3, 5), d)
	}
}

// Narrow floats go through f32 and are rounded once more: within an ulp of theirs,
// since f32's own error is a small part of it.
func TestNarrowMath(t *testing.T) {
	for _, f := range functions32 {
		for _, d := range floats[:5] {
			p := unary32(t, f.op, d)
			for _, x := range floatSamples(d, rand.New(rand.NewPCG(1, uint64(d))), 3000) {
				got := floatFrom(d, p.run(floatSlot(d, x)))
				want := f.want(x)
				near := false // the rounding of a value within f32's error of the exact one
				for _, shift := range []float64{0, 1, -1} {
					near = near || sameFloat(got+0, narrowTo(d, want*(1+shift*0x1p-21))+0)
				}
				if !near {
					require.Failf(t, "wrong", "%s of %s: %v: got %v, want %v", f.op, d, x, got, narrowTo(d, want))
				}
			}
		}
	}
}

func TestConstants(t *testing.T) {
	read := func(d lang.DType, c ir.Const) uint64 {
		return assemble(t, 80, nil, func(a *asm.Builder, _ []asm.Reg) asm.Reg { return Constant(a, d, c) }).run()
	}
	assert.Equal(t, uint64(1), read(lang.Bool, ir.Const{Int: 1}))
	assert.Equal(t, uint64(0), read(lang.Bool, ir.Const{}))
	for _, d := range ints {
		for _, v := range []int64{0, 1, -1, 127, 128, 255, 40000, math.MaxInt32, math.MinInt64, math.MaxInt64} {
			assert.Equal(t, intSlot(d, v), read(d, ir.Const{Int: v}), "%s %d", d, v)
		}
	}
	for _, d := range floats {
		for _, v := range []float64{0, math.Copysign(0, -1), 0.1, -1e-30, 1e30, math.Inf(-1), math.NaN(), math.Pi} {
			want := v
			if d != lang.F64 && !(d == lang.F8E5M2 && math.IsInf(v, 0)) {
				want = float64(d.Round(float32(v)))
			}
			got := floatFrom(d, read(d, ir.Const{Float: v}))
			assert.True(t, sameFloat(got, want), "%s %v: got %v, want %v", d, v, got, want)
		}
	}
}

// elementBits is the register of the element with these bits, by the formats' definitions.
func elementBits(d lang.DType, u uint64) uint64 {
	switch {
	case d == lang.Bool:
		return flag(u != 0)
	case d.IsInt():
		return intSlot(d, int64(u))
	case d == lang.F16:
		return uint64(math.Float32bits(lang.F16Value(uint16(u))))
	case d == lang.BF16:
		return uint64(math.Float32bits(lang.BF16Value(uint16(u))))
	case d == lang.F4E2M1:
		return uint64(math.Float32bits([]float32{0, 0.5, 1, 1.5, 2, 3, 4, 6}[u&7])) | u>>3<<31
	case d == lang.F8E4M3:
		return uint64(math.Float32bits(lang.F8E4M3Value(uint8(u))))
	}
	return uint64(math.Float32bits(lang.F8E5M2Value(uint8(u))))
}

// Unpacking gives every pattern its value, in every position, and packing takes it back.
func TestPacking(t *testing.T) {
	t.Parallel()
	for _, d := range lang.DTypes() {
		width := d.Bits()
		if width > 16 {
			continue
		}
		for _, arch := range []int{80, 90} {
			n := 32 / width
			for i := range n {
				name := fmt.Sprintf("%s, element %d, arch %d", d, i, arch)
				unpack := func(a *asm.Builder, w asm.Reg) []asm.Reg {
					if width == 4 {
						return unpack4(a, w, n)
					}
					if width == 16 {
						lo, hi := unpack16(a, d, w)
						return []asm.Reg{lo, hi}
					}
					x := unpack8(a, d, w)
					return x[:]
				}
				take := assemble(t, arch, []asm.Class{asm.B32}, func(a *asm.Builder, in []asm.Reg) asm.Reg { return unpack(a, in[0])[i] })
				single := assemble(t, arch, []asm.Class{asm.B32}, func(a *asm.Builder, in []asm.Reg) asm.Reg {
					if width == 4 { // whose elements are shifted down first
						return Unpack(a, d, a.Op(asm.B32, "shr.u32", in[0], asm.Int(4*i)), 1)[0]
					}
					return decode(a, d, in[0], i)
				})
				again := assemble(t, arch, []asm.Class{asm.B32}, func(a *asm.Builder, in []asm.Reg) asm.Reg {
					x := unpack(a, in[0])
					if width == 4 {
						return pack4(a, x)
					}
					if width == 16 {
						return pack16(a, d, x[0], x[1])
					}
					return pack8(a, d, [4]asm.Reg(x))
				})
				back := assemble(t, arch, []asm.Class{ClassOf(d)}, func(a *asm.Builder, in []asm.Reg) asm.Reg { return encode(a, d, in[0]) })
				for u := range uint64(1) << width {
					other := uint64(0x3c3c3c3c) &^ ((1<<width - 1) << (i * width))
					if d == lang.Bool {
						other = 0x01010101 &^ (0xff << (i * 8))
					}
					w := other | u<<(i*width)
					want := elementBits(d, u)
					for _, got := range []uint64{take.run(w), single.run(w)} {
						if got != want && !(d.IsFloat() && fl(got) != fl(got) && fl(want) != fl(want)) {
							require.Failf(t, "unpacked wrong", "%s: bits %#x give %#x, want %#x", name, u, got, want)
						}
					}
					repacked, encoded := again.run(w), back.run(want)&(1<<width-1)
					switch {
					case d == lang.Bool:
						require.Equal(t, other|flag(u != 0)<<(i*8), repacked, name)
						require.Equal(t, flag(u != 0), encoded, name)
					case d.IsFloat() && fl(want) != fl(want): // some NaN gives some NaN
						x, y := fl(take.run(repacked)), fl(elementBits(d, encoded))
						if x == x || y == y {
							require.Failf(t, "NaN lost", "%s: bits %#x", name, u)
						}
					case repacked != w || encoded != u:
						require.Failf(t, "packed wrong", "%s: bits %#x of %#x give %#x and %#x", name, u, w, encoded, repacked)
					}
				}
			}
		}
	}
}
