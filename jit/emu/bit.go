package emu

import (
	"math/bits"

	"tilec/jit/emu/number"
)

// bitOps are logic, shifts and bit fields.
var bitOps = map[string]operation{
	"and":   {classLogic, logic("and", func(a, b uint64) uint64 { return a & b })},
	"or":    {classLogic, logic("or", func(a, b uint64) uint64 { return a | b })},
	"xor":   {classLogic, logic("xor", func(a, b uint64) uint64 { return a ^ b })},
	"not":   {classLogic, complement},
	"cnot":  {classLogic, cnot},
	"lop3":  {classLogic, lop3},
	"shl":   {classLogic, shift},
	"shr":   {classLogic, shift},
	"shf":   {classLogic, shiftPair},
	"prmt":  {classLogic, permute},
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
		if t.Kind == number.KindPred {
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

func complement(d *decoder) {
	t := d.typeOf("pred", "b16", "b32", "b64")
	if t.Kind == number.KindPred {
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
		if a&t.Mask() == 0 {
			return 1
		}
		return 0
	})
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
	d.map3(dst, a, b, c, func(a, b, c uint64) uint64 { return number.Lookup3(a, b, c, table) })
	if combine == "" {
		return
	}
	q := d.pred()
	run := d.in.run
	d.in.run = func(w *warp) {
		run(w)
		var v uint32
		for m := w.active; m != 0; m &= m - 1 {
			if i := first(m); w.regs[dst.row][i]&t.Mask() != 0 {
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
	left := d.st.Name == "shl"
	t := d.typeOf("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64")
	dst, a, b := d.dst(t), d.src(t), d.src(number.Types["b32"])
	width := uint64(t.Bits)
	switch {
	case left:
		d.map2(dst, a, b, func(a, b uint64) uint64 { return a << min(b, width) })
	case t.Kind == number.KindSigned:
		d.map2(dst, a, b, func(a, b uint64) uint64 { return uint64(t.Read(a) >> min(b, width)) })
	default:
		d.map2(dst, a, b, func(a, b uint64) uint64 { return a & t.Mask() >> min(b, width) })
	}
}

func shiftPair(d *decoder) {
	left := d.must("l", "r") == "l"
	clamp := d.must("clamp", "wrap") == "clamp"
	t := d.typeOf("b32")
	dst, a, b, c := d.dst(t), d.src(t), d.src(t), d.src(t)
	d.map3(dst, a, b, c, func(a, b, c uint64) uint64 { return number.FunnelShift(b<<32|a, c, left, clamp) })
}

func permute(d *decoder) {
	t := d.typeOf("b32")
	mode := d.one("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
	dst, a, b, c := d.dst(t), d.src(t), d.src(t), d.src(t)
	d.map3(dst, a, b, c, func(a, b, c uint64) uint64 { return number.PermuteBytes(mode, b<<32|a, c) })
}

func count(f func(uint64) int) func(*decoder) {
	return func(d *decoder) {
		t := d.typeOf("b32", "b64")
		dst, a := d.dst(number.Types["u32"]), d.src(t)
		d.map1(dst, a, func(a uint64) uint64 { return uint64(f(a & t.Mask())) })
	}
}

func leadingZeros(d *decoder) {
	t := d.typeOf("b32", "b64")
	dst, a := d.dst(number.Types["u32"]), d.src(t)
	d.map1(dst, a, func(a uint64) uint64 { return uint64(bits.LeadingZeros64(a&t.Mask()) - (64 - t.Bits)) })
}

func findBit(d *decoder) {
	amount := d.has("shiftamt")
	t := d.typeOf("u32", "u64", "s32", "s64")
	dst, a := d.dst(number.Types["u32"]), d.src(t)
	d.map1(dst, a, func(a uint64) uint64 { return t.HighestBit(a, amount) })
}

func findNthSet(d *decoder) {
	t := d.typeOf("b32")
	dst, mask, base, offset := d.dst(t), d.src(t), d.src(t), d.src(t)
	d.map3(dst, mask, base, offset, number.NthSet)
}

func reverseBits(d *decoder) {
	t := d.typeOf("b32", "b64")
	dst, a := d.dst(t), d.src(t)
	d.map1(dst, a, func(a uint64) uint64 { return bits.Reverse64(a) >> (64 - t.Bits) })
}

func extractField(d *decoder) {
	t := d.typeOf("u32", "u64", "s32", "s64")
	b32 := number.Types["b32"]
	dst, a, b, c := d.dst(t), d.src(t), d.src(b32), d.src(b32)
	d.map3(dst, a, b, c, t.Field)
}

func insertField(d *decoder) {
	t := d.typeOf("b32", "b64")
	b32 := number.Types["b32"]
	dst, a, b, c, e := d.dst(t), d.src(t), d.src(t), d.src(b32), d.src(b32)
	d.in.run = func(w *warp) {
		out := w.out(dst)
		for m := w.active; m != 0; m &= m - 1 {
			i := first(m)
			out[i] = t.WithField(w.regs[b][i], w.regs[a][i], w.regs[c][i], w.regs[e][i]) & dst.mask
		}
	}
}

func extendField(d *decoder) {
	clamp := d.must("clamp", "wrap") == "clamp"
	t := d.typeOf("u32", "s32")
	dst, a, b := d.dst(t), d.src(t), d.src(number.Types["u32"])
	d.map2(dst, a, b, func(a, b uint64) uint64 { return t.Kind.Extend(a, b, clamp) })
}

func maskField(d *decoder) {
	clamp := d.must("clamp", "wrap") == "clamp"
	t := d.typeOf("b32")
	dst, a, b := d.dst(t), d.src(t), d.src(t)
	d.map2(dst, a, b, func(a, b uint64) uint64 { return number.Ones(a, b, clamp) })
}
