package cpu

import (
	bin "encoding/binary"
	"math"
	"math/big"

	"tilec/lang"
	"tilec/lang/elementary"
)

// This file is an independent scalar reference: exact arithmetic on big numbers
// and one rounding, written from the language's definitions.

// number is a value of any element type.
type num struct {
	f float64  // floats
	i *big.Int // integers and bool
}

// format is a binary floating-point format.
type format struct {
	precision int // bits, with the hidden one
	least     int // exponent of the smallest positive number
	most      float64
	saturate  bool // what is too large becomes most, not infinite
	noNaN     bool // NaN becomes most
}

var formats = map[lang.DType]format{
	lang.F4E2M1: {2, -1, 6, true, true},
	lang.F8E4M3: {4, -9, 448, true, false},
	lang.F8E5M2: {3, -16, 57344, true, false},
	lang.F16:    {11, -24, 65504, false, false},
	lang.BF16:   {8, -133, 0x1.fep127, false, false},
	lang.F32:    {24, -149, math.MaxFloat32, false, false},
	lang.F64:    {53, -1074, math.MaxFloat64, false, false},
}

// roundBig rounds a finite number to a format: nearest, ties to even.
func (f format) roundBig(x *big.Float) float64 {
	if x.Sign() == 0 {
		return 0
	}
	exp := x.MantExp(nil) // x in [2^(exp-1), 2^exp)
	prec := min(f.precision, exp-f.least)
	var r big.Float
	switch {
	case prec < 0:
		return math.Copysign(0, float64(x.Sign()))
	case prec == 0: // between half of the smallest number and it
		if half := new(big.Float).SetMantExp(big.NewFloat(1), f.least-1); new(big.Float).Abs(x).Cmp(half) <= 0 {
			return math.Copysign(0, float64(x.Sign()))
		}
		r.SetMantExp(big.NewFloat(float64(x.Sign())), f.least)
	default:
		r.SetMode(big.ToNearestEven).SetPrec(uint(prec)).Set(x)
	}
	v, _ := r.Float64()
	if math.Abs(v) > f.most {
		if f.saturate {
			return math.Copysign(f.most, v)
		}
		return math.Inf(x.Sign())
	}
	return v
}

// round rounds a float64 to a format.
func (f format) round(x float64) float64 {
	if x != x && f.noNaN {
		return f.most
	}
	if x != x || x == 0 {
		return x
	}
	if math.IsInf(x, 0) {
		if f.saturate {
			return math.Copysign(f.most, x)
		}
		return x
	}
	return f.roundBig(new(big.Float).SetFloat64(x))
}

// ulp is the distance of the numbers of the format about x.
func (f format) ulp(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || x != x {
		return math.Ldexp(1, f.least)
	}
	return math.Ldexp(1, max(math.Ilogb(x)-f.precision+1, f.least))
}

// wrap brings an integer into the range of a type.
func wrap(d lang.DType, x *big.Int) *big.Int {
	width := uint(d.Bits())
	m := new(big.Int).And(x, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), width), big.NewInt(1)))
	if d.IsSigned() && m.Bit(int(width)-1) == 1 {
		m.Sub(m, new(big.Int).Lsh(big.NewInt(1), width))
	}
	return m
}

func (d limits) clamp(x *big.Int) *big.Int {
	if x.Cmp(d.lo) < 0 {
		return d.lo
	}
	if x.Cmp(d.hi) > 0 {
		return d.hi
	}
	return x
}

type limits struct{ lo, hi *big.Int }

func limitsOf(d lang.DType) limits {
	if d.IsSigned() {
		h := new(big.Int).Lsh(big.NewInt(1), uint(d.Bits())-1)
		return limits{new(big.Int).Neg(h), new(big.Int).Sub(h, big.NewInt(1))}
	}
	return limits{big.NewInt(0), new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(d.Bits())), big.NewInt(1))}
}

// memory is a tensor's elements, each encoded, as they lie in memory.
func memory(d lang.DType, elements []byte) []byte {
	n := int64(len(elements) / d.Size())
	data := make([]byte, d.Bytes(n))
	for i := range n {
		d.PutRawBitsAt(data, i, d.RawBits(elements[i*int64(d.Size()):]))
	}
	return data
}

// element reads element i of a tensor.
func element(d lang.DType, data []byte, i int) num {
	b := make([]byte, d.Size())
	d.PutRawBits(b, d.RawBitsAt(data, int64(i)))
	return decode(d, b)
}

// encode gives a value as an element by itself.
func encode(d lang.DType, v num) []byte {
	var b [8]byte
	var bits uint64
	switch d {
	case lang.F4E2M1:
		bits = lang.F4E2M1.FloatBits(v.f)
	case lang.F8E4M3:
		bits = uint64(lang.F8E4M3Bits(float32(v.f)))
	case lang.F8E5M2:
		bits = uint64(lang.F8E5M2Bits(float32(v.f)))
	case lang.F16:
		bits = uint64(lang.F16Bits(float32(v.f)))
	case lang.BF16:
		bits = uint64(lang.BF16Bits(float32(v.f)))
	case lang.F32:
		bits = uint64(math.Float32bits(float32(v.f)))
	case lang.F64:
		bits = math.Float64bits(v.f)
	default:
		bits = wrap(lang.U64, v.i).Uint64()
	}
	bin.LittleEndian.PutUint64(b[:], bits)
	return b[:d.Size()]
}

func decode(d lang.DType, b []byte) num {
	var w [8]byte
	copy(w[:], b[:d.Size()])
	bits := bin.LittleEndian.Uint64(w[:])
	switch d {
	case lang.F4E2M1:
		return num{f: lang.F4E2M1.FloatValue(bits & 15)}
	case lang.F8E4M3:
		return num{f: float64(lang.F8E4M3Value(uint8(bits)))}
	case lang.F8E5M2:
		return num{f: float64(lang.F8E5M2Value(uint8(bits)))}
	case lang.F16:
		return num{f: float64(lang.F16Value(uint16(bits)))}
	case lang.BF16:
		return num{f: float64(lang.BF16Value(uint16(bits)))}
	case lang.F32:
		return num{f: float64(math.Float32frombits(uint32(bits)))}
	case lang.F64:
		return num{f: math.Float64frombits(bits)}
	}
	return num{i: wrap(d, new(big.Int).SetUint64(bits))}
}

// special gives the values of a type that matter: limits, signs, NaN and some plain ones.
func special(d lang.DType) []num {
	var vs []num
	switch {
	case d == lang.Bool:
		for _, i := range []int64{0, 1} {
			vs = append(vs, num{i: big.NewInt(i)})
		}
	case d.IsInt():
		l := limitsOf(d)
		one := big.NewInt(1)
		for _, i := range []*big.Int{l.lo, new(big.Int).Add(l.lo, one), new(big.Int).Sub(l.hi, one), l.hi,
			big.NewInt(-1), big.NewInt(0), one, big.NewInt(2), big.NewInt(3), big.NewInt(7), big.NewInt(8), big.NewInt(-3), big.NewInt(100), big.NewInt(31), big.NewInt(64),
			new(big.Int).Rsh(l.hi, 1), new(big.Int).Rsh(l.hi, uint(d.Bits()/2))} {
			vs = append(vs, num{i: wrap(d, i)})
		}
	default:
		f := formats[d]
		least := math.Ldexp(1, f.least)
		normal := math.Ldexp(1, f.least+f.precision-1)
		for _, x := range []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 1.5, 2.5, -2.5, 3, -3, 7, 0.1, -0.1, 1e-3, 10, -10, 88, 90, -90, -103, 100.25, 1e5, -1e7, 3.14159,
			least, -least, normal, -normal, normal - least, f.most, -f.most, math.Inf(1), math.Inf(-1), math.NaN()} {
			vs = append(vs, num{f: f.round(x)})
		}
	}
	return vs
}

// wantFloat is the exact result of a float operation, rounded once where it
// can be told exactly (exact is then true), and the float64 result otherwise:
// of package math, or of eval, whose tests cover where that is not accurate.
func wantFloat(op lang.Op, d lang.DType, a, b, c float64) (want float64, exact bool) {
	f := formats[d]
	finite := func(x float64) bool { return !math.IsInf(x, 0) && x == x }
	bigs := func(g func(x, y, z *big.Float) *big.Float, plain float64) (float64, bool) {
		if !finite(a) || !finite(b) || !finite(c) || plain == 0 && op != lang.OpMul && op != lang.OpDiv && op != lang.OpFma || plain != plain {
			return f.round(plain), true
		}
		set := func(x float64) *big.Float { return new(big.Float).SetPrec(5000).SetFloat64(x) }
		r := g(set(a), set(b), set(c))
		if r.Sign() == 0 {
			return plain, true // float64 knows the sign
		}
		return f.roundBig(r), true
	}
	z := func() *big.Float { return new(big.Float).SetPrec(5000) }
	w := func(x float64) (float64, bool) { return x, false }
	x := func(x float64) (float64, bool) { return f.round(x), true }
	switch op {
	case lang.OpAdd:
		return bigs(func(x, y, _ *big.Float) *big.Float { return z().Add(x, y) }, a+b)
	case lang.OpSub:
		return bigs(func(x, y, _ *big.Float) *big.Float { return z().Sub(x, y) }, a-b)
	case lang.OpMul:
		return bigs(func(x, y, _ *big.Float) *big.Float { return z().Mul(x, y) }, a*b)
	case lang.OpDiv:
		if b == 0 {
			return x(a / b)
		}
		return bigs(func(x, y, _ *big.Float) *big.Float { return z().Quo(x, y) }, a/b)
	case lang.OpFma:
		return bigs(func(x, y, w *big.Float) *big.Float { return z().Add(z().Mul(x, y), w) }, math.FMA(a, b, c))
	case lang.OpSqrt:
		if a > 0 {
			return bigs(func(x, _, _ *big.Float) *big.Float { return z().Sqrt(x) }, math.Sqrt(a))
		}
		return x(math.Sqrt(a))
	case lang.OpFloorDiv:
		q := a / b
		if d != lang.F64 {
			q = float64(float32(q)) // the quotient is an f32
		}
		return x(math.Floor(q))
	case lang.OpMod:
		return x(math.Mod(a, b))
	case lang.OpPow:
		return w(elementary.Pow(a, b))
	case lang.OpNeg:
		return x(-a)
	case lang.OpAbs:
		return x(math.Abs(a))
	case lang.OpSign:
		if a > 0 {
			return 1, true
		} else if a < 0 {
			return -1, true
		}
		return a, true
	case lang.OpMin:
		return x(math.Min(nanFirst(a, b)))
	case lang.OpMax:
		return x(math.Max(nanFirst(a, b)))
	case lang.OpClamp:
		m := math.Max(nanFirst(a, b))
		return x(math.Min(nanFirst(m, c)))
	case lang.OpExp:
		return w(math.Exp(a))
	case lang.OpExp2:
		return w(math.Exp2(a))
	case lang.OpExpm1:
		return w(math.Expm1(a))
	case lang.OpLog:
		return w(elementary.Log(a))
	case lang.OpLog2:
		return w(elementary.Log2(a))
	case lang.OpLog1p:
		return w(elementary.Log1p(a))
	case lang.OpRsqrt:
		return w(1 / math.Sqrt(a))
	case lang.OpSin:
		return w(elementary.Sin(a))
	case lang.OpCos:
		return w(elementary.Cos(a))
	case lang.OpTan:
		return w(elementary.Tan(a))
	case lang.OpSinh:
		return w(math.Sinh(a))
	case lang.OpCosh:
		return w(math.Cosh(a))
	case lang.OpTanh:
		return w(math.Tanh(a))
	case lang.OpAtan2:
		return w(elementary.Atan2(a, b))
	case lang.OpErf:
		return w(math.Erf(a))
	case lang.OpSigmoid:
		return w(1 / (1 + math.Exp(-a)))
	case lang.OpFloor:
		return x(math.Floor(a))
	case lang.OpCeil:
		return x(math.Ceil(a))
	case lang.OpTrunc:
		return x(math.Trunc(a))
	case lang.OpRound:
		return x(math.RoundToEven(a))
	}
	panic("no reference for " + op.String())
}

// nanFirst makes NaN win over an infinity, as math.Max does not.
func nanFirst(a, b float64) (float64, float64) {
	if a != a || b != b {
		return math.NaN(), math.NaN()
	}
	return a, b
}

func wantInt(op lang.Op, d lang.DType, a, b, c *big.Int) *big.Int {
	z := new(big.Int)
	width := d.Bits()
	switch op {
	case lang.OpAdd:
		z.Add(a, b)
	case lang.OpSub:
		z.Sub(a, b)
	case lang.OpMul:
		z.Mul(a, b)
	case lang.OpDiv:
		if b.Sign() != 0 {
			z.Quo(a, b)
		}
	case lang.OpFloorDiv:
		if b.Sign() != 0 {
			m := new(big.Int)
			z.QuoRem(a, b, m)
			if m.Sign() != 0 && m.Sign() != b.Sign() {
				z.Sub(z, big.NewInt(1))
			}
		}
	case lang.OpMod:
		if b.Sign() == 0 {
			return a
		}
		z.Rem(a, b)
	case lang.OpNeg:
		z.Neg(a)
	case lang.OpAbs:
		z.Abs(a)
	case lang.OpSign:
		z.SetInt64(int64(a.Sign()))
	case lang.OpMin:
		z.Set(limits{a, a}.clamp(b))
		if b.Cmp(a) < 0 {
			z.Set(b)
		}
	case lang.OpMax:
		z.Set(a)
		if b.Cmp(a) > 0 {
			z.Set(b)
		}
	case lang.OpClamp:
		return wantInt(lang.OpMin, d, wantInt(lang.OpMax, d, a, b, nil), c, nil)
	case lang.OpAnd:
		z.And(a, b)
	case lang.OpOr:
		z.Or(a, b)
	case lang.OpXor:
		z.Xor(a, b)
	case lang.OpNot:
		z.Not(a)
	case lang.OpShl:
		if b.Sign() >= 0 && b.Cmp(big.NewInt(int64(width))) < 0 {
			z.Lsh(a, uint(b.Int64()))
		}
	case lang.OpShr:
		n := uint(width)
		if b.Sign() >= 0 && b.Cmp(big.NewInt(int64(width))) < 0 {
			n = uint(b.Int64())
		}
		z.Rsh(a, n) // rounds down: arithmetic
	case lang.OpPopcount:
		for i := range width {
			z.Add(z, big.NewInt(int64(a.Bit(i)))) // of the two's complement
		}
	case lang.OpClz:
		n := 0
		for i := width - 1; i >= 0 && a.Bit(i) == 0; i-- {
			n++
		}
		z.SetInt64(int64(n))
	case lang.OpRandomBits:
		z = philox(a, b, c)
	default:
		panic("no reference for " + op.String())
	}
	return wrap(d, z)
}

// compare is -1, 0 or 1, or 2 when a NaN is among the operands.
func compare(d lang.DType, a, b num) int {
	if !d.IsFloat() {
		return a.i.Cmp(b.i)
	}
	switch {
	case a.f < b.f:
		return -1
	case a.f > b.f:
		return 1
	case a.f == b.f:
		return 0
	}
	return 2
}

func wantTest(op lang.Op, d lang.DType, a, b num) bool {
	c := 2
	if len(op.Row().Operands) == 2 {
		c = compare(d, a, b)
	}
	switch op {
	case lang.OpEq:
		return c == 0
	case lang.OpNe:
		return c != 0
	case lang.OpLt:
		return c == -1
	case lang.OpLe:
		return c == -1 || c == 0
	case lang.OpGt:
		return c == 1
	case lang.OpGe:
		return c == 1 || c == 0
	case lang.OpIsNaN:
		return a.f != a.f
	case lang.OpIsInf:
		return math.IsInf(a.f, 0)
	case lang.OpLogicAnd:
		return a.i.Sign() != 0 && b.i.Sign() != 0
	case lang.OpLogicOr:
		return a.i.Sign() != 0 || b.i.Sign() != 0
	case lang.OpLogicNot:
		return a.i.Sign() == 0
	}
	panic("no reference for " + op.String())
}

// wantCast is the conversion of a value.
func wantCast(from, to lang.DType, v num) num {
	switch {
	case to == lang.Bool && from.IsFloat():
		return num{i: big.NewInt(int64(flag(v.f != 0)))}
	case to == lang.Bool:
		return num{i: big.NewInt(int64(flag(v.i.Sign() != 0)))}
	case from.IsFloat() && to.IsFloat():
		return num{f: formats[to].round(v.f)}
	case from.IsFloat():
		l := limitsOf(to)
		switch {
		case v.f != v.f:
			return num{i: new(big.Int)}
		case math.IsInf(v.f, 1):
			return num{i: l.hi}
		case math.IsInf(v.f, -1):
			return num{i: l.lo}
		}
		i, _ := new(big.Float).SetFloat64(v.f).Int(nil) // truncates
		return num{i: l.clamp(i)}
	case to.IsFloat():
		return num{f: formats[to].roundBig(new(big.Float).SetPrec(100).SetInt(v.i))}
	}
	return num{i: wrap(to, v.i)}
}

// philox is the operation random_bits by arithmetic on integers of any size:
// Philox4x32-10, whose second counter word stays in the place of the first after a round.
func philox(key, lo, hi *big.Int) *big.Int {
	word := func(x *big.Int, i int) uint64 {
		v := new(big.Int).Rsh(x, uint(32*i))
		return v.And(v, big.NewInt(0xffffffff)).Uint64()
	}
	c := [4]uint64{word(lo, 0) / 2, word(lo, 1), word(hi, 0), word(hi, 1)}
	for round := range uint64(10) {
		p, q := c[0]*0xD2511F53, c[2]*0xCD9E8D57
		c = [4]uint64{
			q>>32 ^ c[1] ^ (word(key, 0)+round*0x9E3779B9)&0xffffffff, q & 0xffffffff,
			p>>32 ^ c[3] ^ (word(key, 1)+round*0xBB67AE85)&0xffffffff, p & 0xffffffff,
		}
	}
	first := word(lo, 0) % 2 * 2
	z := new(big.Int).SetUint64(c[first+1])
	return z.Lsh(z, 32).Add(z, new(big.Int).SetUint64(c[first]))
}
