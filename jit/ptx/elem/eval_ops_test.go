package elem

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"tilec/lang"
)

// The instructions that program executes.

func fl(u uint64) float32 { return math.Float32frombits(uint32(u)) }
func db(u uint64) float64 { return math.Float64frombits(u) }

func fromF32(f float32) uint64 {
	if f != f {
		return 0x7fffffff
	}
	return uint64(math.Float32bits(f))
}

func fromF64(f float64) uint64 {
	if f != f {
		return 0x7fffffffffffffff
	}
	return math.Float64bits(f)
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// fma32 rounds once: the sum, rounded to odd in 53 bits, is rounded to 24.
func fma32(a, b, c float32) float32 {
	p, x := float64(a)*float64(b), float64(c)
	s := p + x
	if s-s != 0 {
		return float32(s)
	}
	v := s - p
	if e := (p - (s - v)) + (x - v); e != 0 && math.Float64bits(s)&1 == 0 {
		if (e > 0) == (s > 0) {
			s = math.Float64frombits(math.Float64bits(s) + 1)
		} else {
			s = math.Float64frombits(math.Float64bits(s) - 1)
		}
	}
	return float32(s)
}

// off moves a finite result by up to n units in the last place, by a hash of its argument.
func off(y float32, arg uint64, n int) uint64 {
	if y-y != 0 || math.Abs(float64(y)) <= float64(n)*0x1p-149 { // which must not become a NaN
		return fromF32(y)
	}
	h := int(arg*0x9e3779b97f4a7c15>>40)%(2*n+1) - n
	return uint64(math.Float32bits(y) + uint32(h))
}

func flush(f float32) float32 {
	if math.Abs(float64(f)) < 0x1p-126 {
		return float32(math.Copysign(0, float64(f)))
	}
	return f
}

func one32(o []int, f func(float32) float32) func(v []uint64) {
	d, a := o[0], o[1]
	return func(v []uint64) { v[d] = fromF32(f(fl(v[a]))) }
}

func two32(o []int, f func(a, b float32) float32) func(v []uint64) {
	d, a, b := o[0], o[1], o[2]
	return func(v []uint64) { v[d] = fromF32(f(fl(v[a]), fl(v[b]))) }
}

func one64(o []int, f func(float64) float64) func(v []uint64) {
	d, a := o[0], o[1]
	return func(v []uint64) { v[d] = fromF64(f(db(v[a]))) }
}

func two64(o []int, f func(a, b float64) float64) func(v []uint64) {
	d, a, b := o[0], o[1], o[2]
	return func(v []uint64) { v[d] = fromF64(f(db(v[a]), db(v[b]))) }
}

func oneInt(o []int, f func(uint64) uint64) func(v []uint64) {
	d, a := o[0], o[1]
	return func(v []uint64) { v[d] = f(v[a]) }
}

func twoInt(o []int, f func(a, b uint64) uint64) func(v []uint64) {
	d, a, b := o[0], o[1], o[2]
	return func(v []uint64) { v[d] = f(v[a], v[b]) }
}

// approx32 is an approximate instruction, off by up to n ulp.
func approx32(o []int, ftz bool, n int, f func(float64) float64) func(v []uint64) {
	d, a := o[0], o[1]
	return func(v []uint64) {
		x := fl(v[a])
		if ftz {
			x = flush(x)
		}
		y := float32(f(float64(x)))
		if ftz {
			y = flush(y)
		}
		v[d] = off(y, v[a], n)
	}
}

// widthOf is the bits of an integer type's name, signed whether it is one of a signed type.
func widthOf(typ string) (width int, signed bool) {
	w, err := strconv.Atoi(strings.TrimLeft(typ, "subf"))
	if err != nil {
		return 0, false
	}
	return w, typ[0] == 's'
}

// norm reads the low bits of a register as a number of an integer type, extended to 64 bits.
func norm(width int, signed bool, u uint64) uint64 {
	up := 64 - width
	if signed {
		return uint64(int64(u<<up) >> up)
	}
	return u << up >> up
}

func decodeOp(n []string, o []int) (func(v []uint64), error) {
	typ := n[len(n)-1]
	has := func(part string) bool {
		for _, s := range n[1:] {
			if s == part {
				return true
			}
		}
		return false
	}
	unknown := fmt.Errorf("unknown instruction %s", strings.Join(n, "."))
	switch n[0] {
	case "mov":
		width := map[string]int{"b16": 16, "b32": 32, "f32": 32, "b64": 64, "f64": 64, "pred": 1}[typ]
		if width == 0 {
			return nil, unknown
		}
		return oneInt(o, func(x uint64) uint64 { return norm(width, false, x) }), nil
	case "cvt":
		return decodeCvt(n, o)
	case "selp":
		d, a, b, c := o[0], o[1], o[2], o[3]
		width, _ := widthOf(typ)
		return func(v []uint64) {
			x := v[b]
			if v[c] != 0 {
				x = v[a]
			}
			v[d] = norm(width, false, x)
		}, nil
	case "setp":
		return decodeSetp(n[1], typ, o)
	}
	switch typ {
	case "f32":
		return decodeF32(n, o, has("ftz"), unknown)
	case "f64":
		return decodeF64(n, o, unknown)
	case "pred":
		switch n[0] {
		case "and":
			return twoInt(o, func(a, b uint64) uint64 { return a & b }), nil
		case "or":
			return twoInt(o, func(a, b uint64) uint64 { return a | b }), nil
		case "xor":
			return twoInt(o, func(a, b uint64) uint64 { return a ^ b }), nil
		case "not":
			return oneInt(o, func(a uint64) uint64 { return a ^ 1 }), nil
		}
		return nil, unknown
	case "f16x2", "bf16x2":
		half, err := decodeOp(append(slices.Clone(n[:len(n)-1]), strings.TrimSuffix(typ, "x2")), o)
		if err != nil {
			return nil, err
		}
		return func(v []uint64) { // the upper halves, then the lower
			before := slices.Clone(v)
			for _, r := range o[1:] {
				v[r] = before[r] >> 16
			}
			half(v)
			upper := v[o[0]]
			copy(v, before)
			half(v)
			v[o[0]] |= upper << 16
		}, nil
	case "f16", "bf16":
		d := map[string]lang.DType{"f16": lang.F16, "bf16": lang.BF16}[typ]
		if n[0] != "fma" {
			return nil, unknown
		}
		x, a, b, c := o[0], o[1], o[2], o[3]
		return func(v []uint64) {
			s := oddFma64(float64(halfValue(d, v[a])), float64(halfValue(d, v[b])), float64(halfValue(d, v[c])))
			v[x] = halfBits(d, oddTo32(s))
		}, nil
	}
	return decodeInt(n, o, typ, unknown)
}

func halfValue(d lang.DType, u uint64) float32 {
	if d == lang.F16 {
		return lang.F16Value(uint16(u))
	}
	return lang.BF16Value(uint16(u))
}

func halfBits(d lang.DType, f float32) uint64 {
	if d == lang.F16 {
		return uint64(lang.F16Bits(f))
	}
	return uint64(lang.BF16Bits(f))
}

// oddFma64 is a*b + c rounded to odd, for operands of at most 24 bits.
func oddFma64(a, b, c float64) float64 {
	p := a * b
	s := p + c
	if s-s != 0 {
		return s
	}
	v := s - p
	if e := (p - (s - v)) + (c - v); e != 0 && math.Float64bits(s)&1 == 0 {
		if (e > 0) == (s > 0) {
			return math.Float64frombits(math.Float64bits(s) + 1)
		}
		return math.Float64frombits(math.Float64bits(s) - 1)
	}
	return s
}

// trunc32 rounds to f32 toward zero.
func trunc32(x float64) float32 {
	f := float32(x)
	if math.Abs(float64(f)) > math.Abs(x) {
		f = math.Float32frombits(math.Float32bits(f) - 1)
	}
	return f
}

func oddTo32(x float64) float32 {
	f := trunc32(x)
	if x == x && float64(f) != x {
		f = math.Float32frombits(math.Float32bits(f) | 1)
	}
	return f
}

func decodeF32(n []string, o []int, ftz bool, unknown error) (func(v []uint64), error) {
	name := n[0]
	if n[0] != "min" && n[0] != "max" && len(n) > 2 {
		name += "." + n[1]
	}
	if n[0] == "fma" && slices.Contains(n, "sat") {
		name += ".sat"
	}
	switch name {
	case "add", "add.rn":
		return two32(o, func(a, b float32) float32 { return a + b }), nil
	case "sub", "sub.rn":
		return two32(o, func(a, b float32) float32 { return a - b }), nil
	case "mul", "mul.rn":
		return two32(o, func(a, b float32) float32 { return a * b }), nil
	case "div.rn":
		return two32(o, func(a, b float32) float32 { return a / b }), nil
	case "div.full":
		d, a, b := o[0], o[1], o[2]
		return func(v []uint64) { v[d] = off(fl(v[a])/fl(v[b]), v[a], 2) }, nil
	case "fma.rn":
		d, a, b, c := o[0], o[1], o[2], o[3]
		return func(v []uint64) { v[d] = fromF32(fma32(fl(v[a]), fl(v[b]), fl(v[c]))) }, nil
	case "fma.rn.sat":
		d, a, b, c := o[0], o[1], o[2], o[3]
		return func(v []uint64) {
			y := fma32(fl(v[a]), fl(v[b]), fl(v[c]))
			if y != y {
				y = 0
			}
			v[d] = fromF32(min(max(y, 0), 1))
		}, nil
	case "neg":
		return oneInt(o, func(a uint64) uint64 { return a ^ 1<<31 }), nil
	case "abs":
		return oneInt(o, func(a uint64) uint64 { return a &^ (1 << 31) }), nil
	case "copysign":
		return twoInt(o, func(a, b uint64) uint64 { return a&(1<<31) | b&(1<<31-1) }), nil
	case "min", "max":
		pick := func(a, b float32) float32 { return min(a, b) }
		if name == "max" {
			pick = func(a, b float32) float32 { return max(a, b) }
		}
		if n[1] == "NaN" {
			return two32(o, pick), nil
		}
		return two32(o, func(a, b float32) float32 {
			if a != a {
				return b
			} else if b != b {
				return a
			}
			return pick(a, b)
		}), nil
	case "sqrt.rn":
		return one32(o, func(a float32) float32 { return float32(math.Sqrt(float64(a))) }), nil
	case "sqrt.approx":
		return approx32(o, ftz, 3, math.Sqrt), nil
	case "rcp.approx":
		return approx32(o, ftz, 1, func(a float64) float64 { return 1 / a }), nil
	case "rsqrt.approx":
		return approx32(o, ftz, 2, func(a float64) float64 { return 1 / math.Sqrt(a) }), nil
	case "ex2.approx":
		small, large := approx32(o, ftz, 1, math.Exp2), approx32(o, ftz, 2, math.Exp2)
		return func(v []uint64) {
			switch x := float64(fl(v[o[1]])); { // much as an H200 does; TestUlp measures the rest
			case math.Abs(x) <= 1 && float32(math.Exp2(x)) == 1:
				v[o[0]] = fromF32(1)
			case math.Abs(x) <= 1:
				small(v)
			default:
				large(v)
			}
		}, nil
	case "lg2.approx":
		return approx32(o, ftz, 2, math.Log2), nil
	case "tanh.approx":
		return approx32(o, ftz, 100, math.Tanh), nil
	case "sin.approx":
		return approx32(o, ftz, 100, math.Sin), nil
	case "cos.approx":
		return approx32(o, ftz, 100, math.Cos), nil
	}
	return nil, unknown
}

func decodeF64(n []string, o []int, unknown error) (func(v []uint64), error) {
	name := n[0]
	if len(n) > 2 {
		name += "." + n[1]
	}
	switch name {
	case "add", "add.rn":
		return two64(o, func(a, b float64) float64 { return a + b }), nil
	case "sub", "sub.rn":
		return two64(o, func(a, b float64) float64 { return a - b }), nil
	case "mul", "mul.rn":
		return two64(o, func(a, b float64) float64 { return a * b }), nil
	case "div.rn":
		return two64(o, func(a, b float64) float64 { return a / b }), nil
	case "div.rz":
		return two64(o, func(a, b float64) float64 {
			q := a / b
			if r := math.FMA(-q, b, a); r != 0 && (r < 0) == (q > 0) { // a, b > 0
				q = math.Float64frombits(math.Float64bits(q) - 1)
			}
			return q
		}), nil
	case "fma.rn":
		d, a, b, c := o[0], o[1], o[2], o[3]
		return func(v []uint64) { v[d] = fromF64(math.FMA(db(v[a]), db(v[b]), db(v[c]))) }, nil
	case "neg":
		return oneInt(o, func(a uint64) uint64 { return a ^ 1<<63 }), nil
	case "abs":
		return oneInt(o, func(a uint64) uint64 { return a &^ (1 << 63) }), nil
	case "copysign":
		return twoInt(o, func(a, b uint64) uint64 { return a&(1<<63) | b&(1<<63-1) }), nil
	case "min", "max":
		pick := math.Min
		if name == "max" {
			pick = math.Max
		}
		return two64(o, func(a, b float64) float64 {
			if a != a {
				return b
			} else if b != b {
				return a
			}
			return pick(a, b)
		}), nil
	case "sqrt.rn":
		return one64(o, math.Sqrt), nil
	case "rcp.rn":
		return one64(o, func(a float64) float64 { return 1 / a }), nil
	}
	return nil, unknown
}

func decodeSetp(cond, typ string, o []int) (func(v []uint64), error) {
	if typ == "f32" || typ == "f64" {
		read := func(u uint64) float64 { return float64(fl(u)) }
		if typ == "f64" {
			read = db
		}
		rel := map[string]func(a, b float64) bool{
			"eq": func(a, b float64) bool { return a == b }, "neu": func(a, b float64) bool { return a != b },
			"ne": func(a, b float64) bool { return a < b || a > b },
			"lt": func(a, b float64) bool { return a < b }, "le": func(a, b float64) bool { return a <= b },
			"gt": func(a, b float64) bool { return a > b }, "ge": func(a, b float64) bool { return a >= b },
			"ltu": func(a, b float64) bool { return !(a >= b) }, "leu": func(a, b float64) bool { return !(a > b) },
			"gtu": func(a, b float64) bool { return !(a <= b) }, "geu": func(a, b float64) bool { return !(a < b) },
			"nan": func(a, b float64) bool { return a != a || b != b },
		}[cond]
		if rel == nil {
			return nil, fmt.Errorf("unknown comparison %s", cond)
		}
		return twoInt(o, func(a, b uint64) uint64 { return flag(rel(read(a), read(b))) }), nil
	}
	width, signed := widthOf(typ)
	rel := map[string]func(c int) bool{
		"eq": func(c int) bool { return c == 0 }, "ne": func(c int) bool { return c != 0 },
		"lt": func(c int) bool { return c < 0 }, "le": func(c int) bool { return c <= 0 },
		"gt": func(c int) bool { return c > 0 }, "ge": func(c int) bool { return c >= 0 },
	}[cond]
	if rel == nil || width == 0 {
		return nil, fmt.Errorf("unknown comparison %s.%s", cond, typ)
	}
	return twoInt(o, func(a, b uint64) uint64 {
		a, b = norm(width, signed, a), norm(width, signed, b)
		c := 0
		if less := a < b; signed && int64(a) < int64(b) || !signed && less {
			c = -1
		} else if a != b {
			c = 1
		}
		return flag(rel(c))
	}), nil
}

func decodeInt(n []string, o []int, typ string, unknown error) (func(v []uint64), error) {
	width, signed := widthOf(typ)
	if width != 32 && width != 64 {
		return nil, unknown
	}
	mask := ^uint64(0) >> (64 - width)
	name := n[0]
	if name == "mul" {
		name += "." + n[1]
	}
	two := func(f func(a, b uint64) uint64) (func(v []uint64), error) {
		return twoInt(o, func(a, b uint64) uint64 { return f(norm(width, signed, a), norm(width, signed, b)) & mask }), nil
	}
	one := func(f func(a uint64) uint64) (func(v []uint64), error) {
		return oneInt(o, func(a uint64) uint64 { return f(norm(width, signed, a)) & mask }), nil
	}
	switch name {
	case "add":
		return two(func(a, b uint64) uint64 { return a + b })
	case "sub":
		return two(func(a, b uint64) uint64 { return a - b })
	case "mul.lo":
		return two(func(a, b uint64) uint64 { return a * b })
	case "mul.hi":
		if width == 32 && !signed {
			return two(func(a, b uint64) uint64 { return a * b >> 32 })
		}
		if width != 64 || signed {
			return nil, unknown
		}
		return two(func(a, b uint64) uint64 { hi, _ := bits.Mul64(a, b); return hi })
	case "div", "rem":
		return two(func(a, b uint64) uint64 {
			if b == 0 || signed && int64(b) == -1 {
				panic("division that the ISA does not define")
			}
			if name == "div" && signed {
				return uint64(int64(a) / int64(b))
			} else if name == "div" {
				return a / b
			} else if signed {
				return uint64(int64(a) % int64(b))
			}
			return a % b
		})
	case "neg":
		if !signed {
			return nil, unknown
		}
		return one(func(a uint64) uint64 { return -a })
	case "min", "max":
		return two(func(a, b uint64) uint64 {
			less := a < b
			if signed {
				less = int64(a) < int64(b)
			}
			if less == (name == "min") {
				return a
			}
			return b
		})
	case "and":
		return two(func(a, b uint64) uint64 { return a & b })
	case "or":
		return two(func(a, b uint64) uint64 { return a | b })
	case "xor":
		return two(func(a, b uint64) uint64 { return a ^ b })
	case "not":
		return one(func(a uint64) uint64 { return ^a })
	case "shl", "shr":
		return twoInt(o, func(a, b uint64) uint64 {
			by := min(uint64(uint32(b)), uint64(width))
			a = norm(width, signed, a)
			if name == "shl" {
				return a << by & mask
			} else if signed {
				return uint64(int64(a)>>by) & mask
			}
			return a >> by & mask
		}), nil
	case "popc":
		return one(func(a uint64) uint64 { return uint64(bits.OnesCount64(a)) })
	case "clz":
		return one(func(a uint64) uint64 { return uint64(bits.LeadingZeros64(a) - (64 - width)) })
	case "bfe":
		d, a, b, c := o[0], o[1], o[2], o[3]
		return func(v []uint64) {
			v[d] = norm(int(v[c]), signed, norm(width, false, v[a])>>v[b]) & mask
		}, nil
	case "lop3":
		d, a, b, c, table := o[0], o[1], o[2], o[3], o[4]
		return func(v []uint64) {
			r := uint64(0)
			for i := range width {
				r |= v[table] >> (v[a]>>i&1<<2 | v[b]>>i&1<<1 | v[c]>>i&1) & 1 << i
			}
			v[d] = r
		}, nil
	case "prmt":
		d, a, b, c := o[0], o[1], o[2], o[3]
		return func(v []uint64) {
			all, r := v[a]&0xffffffff|v[b]<<32, uint64(0)
			for i := 0; i < 4; i++ {
				sel := v[c] >> (4 * i) & 0xf
				one := all >> (8 * (sel & 7)) & 0xff
				if sel > 7 { // its sign, eight times
					one = one >> 7 * 0xff
				}
				r |= one << (8 * i)
			}
			v[d] = r
		}, nil
	}
	return nil, unknown
}

func decodeCvt(n []string, o []int) (func(v []uint64), error) {
	to, from := n[len(n)-2], n[len(n)-1]
	mode := ""
	if len(n) > 3 {
		mode = n[1]
	}
	unknown := fmt.Errorf("unknown conversion %s", strings.Join(n, "."))
	isFloat := func(s string) bool { return s == "f32" || s == "f64" }
	round := map[string]func(float64) float64{
		"rni": math.RoundToEven, "rzi": math.Trunc, "rmi": math.Floor, "rpi": math.Ceil,
	}[mode]
	read := func(u uint64) float64 { return float64(fl(u)) }
	if from == "f64" {
		read = db
	}
	switch {
	case to == "f16x2" && from == "e4m3x2":
		half := func(b uint64) uint64 { return halfBits(lang.F16, lang.F8E4M3Value(uint8(b))) }
		return oneInt(o, func(a uint64) uint64 { return half(a) | half(a>>8)<<16 }), nil
	case strings.HasSuffix(to, "x2"):
		enc := map[string]func(float32) uint64{
			"bf16x2": func(f float32) uint64 { return halfBits(lang.BF16, f) },
			"f16x2":  func(f float32) uint64 { return halfBits(lang.F16, f) },
			"e4m3x2": func(f float32) uint64 { return uint64(lang.F8E4M3Bits(f)) },
		}[to]
		width := 16
		if to == "e4m3x2" {
			width = 8
		}
		return twoInt(o, func(a, b uint64) uint64 { return enc(fl(a))<<width | enc(fl(b)) }), nil
	case to == "f16" && from == "f32" && mode == "rn":
		return oneInt(o, func(a uint64) uint64 { return halfBits(lang.F16, fl(a)) }), nil
	case to == "bf16" && from == "f32" && mode == "rn":
		return oneInt(o, func(a uint64) uint64 { return halfBits(lang.BF16, fl(a)) }), nil
	case to == "f32" && from == "f16" && mode == "":
		return oneInt(o, func(a uint64) uint64 { return fromF32(halfValue(lang.F16, a)) }), nil
	case isFloat(to) && to == from && round != nil:
		if to == "f32" {
			return oneInt(o, func(a uint64) uint64 { return fromF32(float32(round(float64(fl(a))))) }), nil
		}
		return oneInt(o, func(a uint64) uint64 { return fromF64(round(db(a))) }), nil
	case to == "f64" && from == "f32" && mode == "":
		return oneInt(o, func(a uint64) uint64 { return fromF64(float64(fl(a))) }), nil
	case to == "f32" && from == "f64" && mode == "rn":
		return oneInt(o, func(a uint64) uint64 { return fromF32(float32(db(a))) }), nil
	case to == "f32" && from == "f64" && mode == "rz":
		return oneInt(o, func(a uint64) uint64 { return fromF32(trunc32(db(a))) }), nil
	case isFloat(to): // from an integer
		width, signed := widthOf(from)
		if width == 0 || mode != "rn" && !(mode == "rz" && to == "f32") {
			return nil, unknown
		}
		return oneInt(o, func(a uint64) uint64 {
			a = norm(width, signed, a)
			if mode == "rz" {
				mag, neg := a, signed && int64(a) < 0
				if neg {
					mag = -mag
				}
				if drop := bits.Len64(mag) - 24; drop > 0 {
					mag = mag >> drop << drop
				}
				f := float32(mag)
				if neg {
					f = -f
				}
				return fromF32(f)
			}
			switch {
			case to == "f64" && signed:
				return fromF64(float64(int64(a)))
			case to == "f64":
				return fromF64(float64(a))
			case signed:
				return fromF32(float32(int64(a)))
			}
			return fromF32(float32(a))
		}), nil
	case isFloat(from) && mode == "rzi":
		width, signed := widthOf(to)
		if width != 32 && width != 64 {
			return nil, unknown
		}
		mask := ^uint64(0) >> (64 - width)
		return oneInt(o, func(a uint64) uint64 {
			x := read(a)
			if x != x {
				if from == "f64" || width == 64 {
					return 1 << (width - 1)
				}
				return 0
			}
			return saturate(x, width, signed) & mask
		}), nil
	case !isFloat(from) && mode == "":
		fw, fs := widthOf(from)
		tw, _ := widthOf(to)
		if fw == 0 || tw == 0 {
			return nil, unknown
		}
		return oneInt(o, func(a uint64) uint64 { return norm(tw, false, norm(fw, fs, a)) }), nil
	}
	return nil, unknown
}

// saturate truncates a number to an integer type, sign-extended to 64 bits.
func saturate(x float64, width int, signed bool) uint64 {
	lo, hi := 0.0, math.Ldexp(1, width)
	if signed {
		lo, hi = -math.Ldexp(1, width-1), math.Ldexp(1, width-1)
	}
	x = math.Trunc(x)
	switch {
	case x <= lo:
		return uint64(int64(lo))
	case x >= hi && signed:
		return 1<<(width-1) - 1
	case x >= hi:
		return ^uint64(0) >> (64 - width)
	case x >= 1<<63:
		return uint64(int64(x-1<<63)) + 1<<63
	}
	return uint64(int64(x))
}
