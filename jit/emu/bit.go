package emu

import "math/bits"

// bitOps are logic, shifts and bit fields.
var bitOps = map[string]operation{
	"and":   {classLogic, logic("and", func(a, b uint64) uint64 { return a & b })},
	"or":    {classLogic, logic("or", func(a, b uint64) uint64 { return a | b })},
	"xor":   {classLogic, logic("xor", func(a, b uint64) uint64 { return a ^ b })},
	"not":   {classLogic, not},
	"cnot":  {classLogic, cnot},
	"lop3":  {classLogic, lop3},
	"shl":   {classLogic, shift},
	"shr":   {classLogic, shift},
	"shf":   {classLogic, funnelShift},
	"prmt":  {classLogic, permuteBytes},
	"popc":  {classInteger, count(bits.OnesCount64)},
	"clz":   {classInteger, leadingZeros},
	"bfind": {classInteger, findBit},
	"fns":   {classInteger, findNthSet},
	"brev":  {classInteger, reverseBits},
	"bfe":   {classInteger, extractField},
	"bfi":   {classInteger, insertField},
	"szext": {classInteger, extendField},
	"bmsk":  {classInteger, maskField},
}

// logic is a bitwise operation, on registers or on predicates.
func logic(name string, f func(a, b uint64) uint64) func(*decoder) {
	return func(d *decoder) {
		t := d.typeOf("pred", "b16", "b32", "b64")
		if t.kind == kindPred {
			p, a, b := d.predDst(), d.pred(), d.pred()
			d.in.spread = func(w *warp) []uint32 {
				u := w.undefined
				return []uint32{spreadCombine(name, a.get(w), u.pred(a), b.get(w), u.pred(b))}
			}
			d.in.run = func(w *warp) { w.setPred(p, uint32(f(uint64(a.get(w)), uint64(b.get(w))))) }
			return
		}
		dst, a, b := d.dst(t), d.src(t), d.src(t)
		if name == "and" {
			d.in.spread = func(w *warp) []uint32 {
				u := w.undefined
				return []uint32{spreadAnd(w.nonzero(a), u.rows[a], w.nonzero(b), u.rows[b])}
			}
		}
		d.map2(dst, a, b, f)
	}
}

func not(d *decoder) {
	t := d.typeOf("pred", "b16", "b32", "b64")
	if t.kind == kindPred {
		p, a := d.predDst(), d.pred()
		d.in.run = func(w *warp) { w.setPred(p, ^a.get(w)) }
		return
	}
	dst, a := d.dst(t), d.src(t)
	d.map1(dst, a, func(a uint64) uint64 { return ^a })
}

func cnot(d *decoder) {
	t := d.typeOf("b16", "b32", "b64")
	dst, a := d.dst(t), d.src(t)
	d.map1(dst, a, func(a uint64) uint64 {
		if a&t.mask() == 0 {
			return 1
		}
		return 0
	})
}

// lookup3 applies the truth table of lop3: bit abc of it is the result for these bits.
func lookup3(a, b, c uint64, table int64) uint64 {
	var r uint64
	for i := range 8 {
		if table>>i&1 == 0 {
			continue
		}
		x, y, z := a, b, c
		if i&4 == 0 {
			x = ^x
		}
		if i&2 == 0 {
			y = ^y
		}
		if i&1 == 0 {
			z = ^z
		}
		r |= x & y & z
	}
	return r
}

func lop3(d *decoder) {
	combine := d.one("or", "and")
	t := d.typeOf("b32")
	var dst dest
	p := noPred
	if combine != "" {
		o, q, both := d.pair()
		if !both {
			d.fail("need d|p")
		}
		dst, p = d.destination(o, t, false), d.predDestination(q)
	} else {
		dst = d.dst(t)
	}
	a, b, c := d.src(t), d.src(t), d.src(t)
	table := d.constInt()
	if table < 0 || table > 255 {
		d.fail("the table is %d, not in 0 to 255", table)
	}
	d.map3(dst, a, b, c, func(a, b, c uint64) uint64 { return lookup3(a, b, c, table) })
	if combine == "" {
		return
	}
	q := d.pred()
	run := d.in.run
	d.in.run = func(w *warp) {
		run(w)
		var v uint32
		for m := w.active; m != 0; m &= m - 1 {
			if i := first(m); w.regs[dst.row][i]&t.mask() != 0 {
				v |= 1 << i
			}
		}
		if combine == "or" {
			v |= q.get(w)
		} else {
			v &= q.get(w)
		}
		w.setPred(p, v)
	}
}

// shift is shl and shr, by amounts clamped to the width.
func shift(d *decoder) {
	left := d.st.name == "shl"
	t := d.typeOf("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64")
	dst, a, b := d.dst(t), d.src(t), d.src(types["b32"])
	width := uint64(t.bits)
	switch {
	case left:
		d.map2(dst, a, b, func(a, b uint64) uint64 { return a << min(b, width) })
	case t.kind == kindSigned:
		d.map2(dst, a, b, func(a, b uint64) uint64 { return uint64(t.read(a) >> min(b, width)) })
	default:
		d.map2(dst, a, b, func(a, b uint64) uint64 { return a & t.mask() >> min(b, width) })
	}
}

func funnelShift(d *decoder) {
	left := d.must("l", "r") == "l"
	clamp := d.must("clamp", "wrap") == "clamp"
	t := d.typeOf("b32")
	dst, a, b, c := d.dst(t), d.src(t), d.src(t), d.src(t)
	d.map3(dst, a, b, c, func(a, b, c uint64) uint64 {
		n := c & 31
		if clamp {
			n = min(c, 32)
		}
		v := b<<32 | a
		if left {
			return v << n >> 32
		}
		return v >> n
	})
}

// permuteTables are the special modes of prmt: for c&3, the source byte of each result byte from the lowest on.
var permuteTables = map[string][4][4]uint64{
	"f4e":  {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}},
	"b4e":  {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}},
	"rc8":  {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}},
	"ecl":  {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}},
	"ecr":  {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}},
	"rc16": {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}},
}

func permuteBytes(d *decoder) {
	t := d.typeOf("b32")
	mode := d.one("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
	table := permuteTables[mode]
	dst, a, b, c := d.dst(t), d.src(t), d.src(t), d.src(t)
	d.map3(dst, a, b, c, func(a, b, c uint64) uint64 {
		v, r := b<<32|a, uint64(0)
		for i := range 4 {
			sel := c >> (4 * i) & 15
			if mode != "" {
				sel = table[c&3][i]
			}
			x := v >> (8 * (sel & 7)) & 0xff
			if sel&8 != 0 { // replicate the sign
				x = uint64(int8(x)>>7) & 0xff
			}
			r |= x << (8 * i)
		}
		return r
	})
}

func count(f func(uint64) int) func(*decoder) {
	return func(d *decoder) {
		t := d.typeOf("b32", "b64")
		dst, a := d.dst(types["u32"]), d.src(t)
		d.map1(dst, a, func(a uint64) uint64 { return uint64(f(a & t.mask())) })
	}
}

func leadingZeros(d *decoder) {
	t := d.typeOf("b32", "b64")
	dst, a := d.dst(types["u32"]), d.src(t)
	d.map1(dst, a, func(a uint64) uint64 { return uint64(bits.LeadingZeros64(a&t.mask()) - (64 - t.bits)) })
}

func findBit(d *decoder) {
	amount := d.has("shiftamt")
	t := d.typeOf("u32", "u64", "s32", "s64")
	dst, a := d.dst(types["u32"]), d.src(t)
	d.map1(dst, a, func(a uint64) uint64 {
		v := t.read(a)
		if t.kind == kindSigned && v < 0 {
			v = ^v
		}
		at := bits.Len64(uint64(v)) - 1
		if at >= 0 && amount {
			at = t.bits - 1 - at
		}
		return uint64(at)
	})
}

func findNthSet(d *decoder) {
	t := d.typeOf("b32")
	dst, mask, base, offset := d.dst(t), d.src(t), d.src(t), d.src(t)
	d.map3(dst, mask, base, offset, func(mask, base, offset uint64) uint64 {
		n, step := int(int32(offset)), 1
		if n == 0 {
			if mask>>(base&31)&1 == 1 {
				return base
			}
			return 0xffffffff
		}
		if n < 0 {
			n, step = -n, -1
		}
		for at := int(base); at >= 0 && at < 32; at += step {
			if mask>>at&1 == 1 {
				if n--; n == 0 {
					return uint64(at)
				}
			}
		}
		return 0xffffffff
	})
}

func reverseBits(d *decoder) {
	t := d.typeOf("b32", "b64")
	dst, a := d.dst(t), d.src(t)
	d.map1(dst, a, func(a uint64) uint64 { return bits.Reverse64(a) >> (64 - t.bits) })
}

func extractField(d *decoder) {
	t := d.typeOf("u32", "u64", "s32", "s64")
	b32 := types["b32"]
	dst, a, b, c := d.dst(t), d.src(t), d.src(b32), d.src(b32)
	d.map3(dst, a, b, c, func(a, b, c uint64) uint64 {
		pos, length := int(b&0xff), int(c&0xff)
		if length == 0 {
			return 0
		}
		v := a & t.mask() >> min(pos, 64)
		if t.kind == kindUnsigned {
			return v & widthMask(length)
		}
		sign := a >> min(pos+length-1, t.bits-1) & 1
		have := max(0, min(length, t.bits-pos)) // bits that are in a
		v &= widthMask(have)
		if sign == 1 {
			v |= ^uint64(0) << have
		}
		return v
	})
}

func insertField(d *decoder) {
	t := d.typeOf("b32", "b64")
	b32 := types["b32"]
	dst, a, b, c, e := d.dst(t), d.src(t), d.src(t), d.src(b32), d.src(b32)
	d.in.run = func(w *warp) {
		out := w.out(dst)
		for m := w.active; m != 0; m &= m - 1 {
			i := first(m)
			pos, length := w.regs[c][i]&0xff, int(w.regs[e][i]&0xff)
			mask := widthMask(length) << pos & t.mask()
			out[i] = (w.regs[b][i]&^mask | w.regs[a][i]<<pos&mask) & dst.mask
		}
	}
}

func extendField(d *decoder) {
	clamp := d.must("clamp", "wrap") == "clamp"
	t := d.typeOf("u32", "s32")
	dst, a, b := d.dst(t), d.src(t), d.src(types["u32"])
	d.map2(dst, a, b, func(a, b uint64) uint64 {
		if clamp && b >= 32 {
			return a
		}
		n := int(b & 31)
		if n == 0 {
			return 0
		}
		return uint64(dtype{kind: t.kind, bits: n}.read(a))
	})
}

func maskField(d *decoder) {
	clamp := d.must("clamp", "wrap") == "clamp"
	t := d.typeOf("b32")
	dst, a, b := d.dst(t), d.src(t), d.src(t)
	d.map2(dst, a, b, func(a, b uint64) uint64 {
		if clamp && a >= 32 {
			return 0
		}
		n := b & 31
		if clamp && b >= 32 {
			n = 32
		}
		return widthMask(int(n)) << (a & 31)
	})
}
