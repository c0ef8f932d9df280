package emu

import (
	"math/bits"

	"tilec/jit/emu/number"
)

// integerOps are the integer instructions. Names that floats share (add, mul,
// min ...) decode here when their type is an integer and in float.go otherwise.
var integerOps = map[string]operation{
	"add":   arithmetic(classInteger, addInt),
	"sub":   arithmetic(classInteger, addInt),
	"addc":  {classInteger, addInt},
	"subc":  {classInteger, addInt},
	"mul":   arithmetic(classInteger, mulInt),
	"mad":   arithmetic(classInteger, mulInt),
	"madc":  {classInteger, mulInt},
	"mul24": {classInteger, mul24},
	"mad24": {classInteger, mul24},
	"div":   arithmetic(classInteger, binaryInt),
	"rem":   {classInteger, binaryInt},
	"min":   arithmetic(classInteger, binaryInt),
	"max":   arithmetic(classInteger, binaryInt),
	"abs":   arithmetic(classInteger, unaryInt),
	"neg":   arithmetic(classInteger, unaryInt),
	"sad":   {classInteger, sad},
	"dp4a":  {classInteger, dotProduct4},
	"dp2a":  {classInteger, dotProduct2},
}

// arithmetic makes an operation of an instruction that exists for integers and
// floats: the type, which is the last one written, decides.
func arithmetic(c class, integer func(*decoder)) operation {
	return operation{c, func(d *decoder) {
		for i := len(d.mods) - 1; i >= 0; i-- {
			if t, ok := number.Types[d.mods[i]]; ok {
				if t.IsFloat() {
					d.in.site.class = classFloat
					floatArithmetic(d)
					return
				}
				break
			}
		}
		integer(d)
	}}
}

// addInt is add, sub, addc and subc, with carry in and out.
func addInt(d *decoder) {
	name := d.st.Name
	minus := name == "sub" || name == "subc"
	withCarry := name == "addc" || name == "subc"
	setCarry := d.has("cc")
	sat := d.has("sat")
	t := d.typeOf("u16", "u32", "u64", "s16", "s32", "s64", "u16x2", "s16x2")
	if sat && t.Name != "s32" {
		d.fail(".sat needs type .s32")
	}
	dst, a, b := d.dst(t), d.src(t), d.src(t)
	switch {
	case withCarry || setCarry:
		if t.Bits < 32 {
			d.fail("a carry needs 32 or 64 bits")
		}
		d.carry(dst, t, withCarry, setCarry, minus, func(w *warp, i int) (uint64, uint64) { return w.regs[a][i], w.regs[b][i] })
	case sat && minus:
		d.map2(dst, a, b, func(a, b uint64) uint64 { return number.Saturate32(int64(int32(a)) - int64(int32(b))) })
	case sat:
		d.map2(dst, a, b, func(a, b uint64) uint64 { return number.Saturate32(int64(int32(a)) + int64(int32(b))) })
	case t.Lanes == 2 && minus:
		d.map2(dst, a, b, number.PerHalf(func(a, b uint64) uint64 { return a - b }))
	case t.Lanes == 2:
		d.map2(dst, a, b, number.PerHalf(func(a, b uint64) uint64 { return a + b }))
	case minus:
		d.map2(dst, a, b, func(a, b uint64) uint64 { return a - b })
	default:
		d.map2(dst, a, b, func(a, b uint64) uint64 { return a + b })
	}
}

// carry makes an addition or subtraction that reads or writes the carry.
// A borrow is kept as the carry of a + ^b + 1 turned round, so that it is 1 when there is one.
func (d *decoder) carry(dst dest, t number.Type, in, out, minus bool, operands func(w *warp, i int) (a, b uint64)) {
	cc := d.kernel.ccRow
	if in {
		d.in.srcs = append(d.in.srcs, cc)
	}
	d.in.run = func(w *warp) {
		o := w.out(dst)
		for m := w.active; m != 0; m &= m - 1 {
			i := first(m)
			a, b := operands(w, i)
			var c, sum, over uint64
			if in {
				c = w.regs[cc][i]
			}
			if t.Bits == 64 {
				if minus {
					sum, over = bits.Sub64(a, b, c)
				} else {
					sum, over = bits.Add64(a, b, c)
				}
			} else {
				x, y := a&t.Mask(), b&t.Mask()
				if minus {
					sum = x - y - c
				} else {
					sum = x + y + c
				}
				over = sum >> t.Bits & 1
			}
			o[i] = sum & dst.mask
			if out {
				w.regs[cc][i] = over
			}
		}
		if out {
			w.init[cc] |= w.active
		}
	}
}

// mulInt is mul, mad and madc.
func mulInt(d *decoder) {
	name := d.st.Name
	mode := d.must("lo", "hi", "wide")
	setCarry, sat := d.has("cc"), d.has("sat")
	t := d.typeOf("u16", "u32", "u64", "s16", "s32", "s64")
	result := t
	if mode == "wide" {
		if t.Bits == 64 {
			d.fail(".wide needs 16 or 32 bits")
		}
		result.Bits *= 2
		result.Name = map[int]string{32: "b32", 64: "b64"}[result.Bits]
	}
	multiply := func(a, b uint64) uint64 { lo, _ := t.Product(a, b); return lo }
	if mode == "hi" {
		multiply = func(a, b uint64) uint64 { _, hi := t.Product(a, b); return hi }
	}
	dst, a, b := d.dst(result), d.src(t), d.src(t)
	if name == "mul" {
		d.map2(dst, a, b, multiply)
		return
	}
	c := d.src(result)
	switch {
	case setCarry || name == "madc":
		d.carry(dst, t, name == "madc", setCarry, false, func(w *warp, i int) (uint64, uint64) {
			return multiply(w.regs[a][i], w.regs[b][i]), w.regs[c][i]
		})
	case sat:
		if mode != "hi" || t.Name != "s32" {
			d.fail(".sat needs .hi.s32")
		}
		d.map3(dst, a, b, c, func(a, b, c uint64) uint64 { return number.Saturate32(int64(int32(multiply(a, b))) + int64(int32(c))) })
	case t.Bits <= 32 && mode != "hi":
		d.map3(dst, a, b, c, func(a, b, c uint64) uint64 { return uint64(t.Read(a)*t.Read(b)) + c })
	default:
		d.map3(dst, a, b, c, func(a, b, c uint64) uint64 { return multiply(a, b) + c })
	}
}

// mul24 is mul24 and mad24: products of the low 24 bits.
func mul24(d *decoder) {
	mode := d.must("lo", "hi")
	sat := d.has("sat")
	t := d.typeOf("u32", "s32")
	multiply := func(a, b uint64) uint64 { return t.Product24(a, b, mode == "hi") }
	dst, a, b := d.dst(t), d.src(t), d.src(t)
	if d.st.Name == "mul24" {
		d.map2(dst, a, b, multiply)
		return
	}
	c := d.src(t)
	d.map3(dst, a, b, c, func(a, b, c uint64) uint64 {
		if sat {
			return number.Saturate32(int64(int32(multiply(a, b))) + int64(int32(c)))
		}
		return multiply(a, b) + c
	})
}

// binaryInt is div, rem, min and max.
func binaryInt(d *decoder) {
	name := d.st.Name
	relu := d.has("relu")
	t := d.typeOf("u16", "u32", "u64", "s16", "s32", "s64", "u16x2", "s16x2")
	e := t.Element()
	var f func(a, b uint64) uint64
	switch name {
	case "min":
		f = func(a, b uint64) uint64 {
			if e.Less(b, a) {
				return b
			}
			return a
		}
	case "max":
		f = func(a, b uint64) uint64 {
			if e.Less(a, b) {
				return b
			}
			return a
		}
	default:
		if t.Lanes > 1 {
			d.fail("type .%s cannot be divided", t.Name)
		}
		f = e.Divide(name == "rem")
	}
	if relu {
		if e.Kind != number.KindSigned {
			d.fail(".relu needs a signed type")
		}
		g := f
		f = func(a, b uint64) uint64 { return uint64(max(e.Read(g(a, b)), 0)) }
	}
	if t.Lanes == 2 {
		f = number.PerHalf(f)
	}
	dst, a, b := d.dst(t), d.src(t), d.src(t)
	d.map2(dst, a, b, f)
	if name == "div" || name == "rem" {
		run := d.in.run
		d.in.run = func(w *warp) {
			for m := w.active; m != 0; m &= m - 1 {
				if i := first(m); w.regs[b][i]&t.Mask() == 0 {
					w.report(UndefinedValue, 1<<i, "divides by zero, which gives an unspecified value")
					break
				}
			}
			run(w)
		}
	}
}

// unaryInt is abs and neg.
func unaryInt(d *decoder) {
	t := d.typeOf("s16", "s32", "s64")
	dst, a := d.dst(t), d.src(t)
	if d.st.Name == "neg" {
		d.map1(dst, a, func(a uint64) uint64 { return -a })
		return
	}
	d.map1(dst, a, func(a uint64) uint64 { return uint64(max(t.Read(a), -t.Read(a))) })
}

func sad(d *decoder) {
	t := d.typeOf("u16", "u32", "u64", "s16", "s32", "s64")
	dst, a, b, c := d.dst(t), d.src(t), d.src(t), d.src(t)
	d.map3(dst, a, b, c, func(a, b, c uint64) uint64 { return c + t.Distance(a, b) })
}

// dotProduct4 is dp4a.
func dotProduct4(d *decoder) {
	s, t := d.typeOf("u32", "s32"), d.typeOf("u32", "s32")
	dst, a, b, c := d.dst(s), d.src(s), d.src(t), d.src(s)
	d.map3(dst, a, b, c, func(a, b, c uint64) uint64 { return c + number.DotBytes(s.Kind, t.Kind, a, b) })
}

// dotProduct2 is dp2a.
func dotProduct2(d *decoder) {
	shift := 0
	if d.must("lo", "hi") == "hi" {
		shift = 16
	}
	s, t := d.typeOf("u32", "s32"), d.typeOf("u32", "s32")
	dst, a, b, c := d.dst(s), d.src(s), d.src(t), d.src(s)
	d.map3(dst, a, b, c, func(a, b, c uint64) uint64 { return c + number.DotHalves(s.Kind, t.Kind, a, b>>shift) })
}
