package ptx

import (
	"fmt"
	"math"

	"tilec/jit/ir"
	"tilec/lang"
)

// project gives the register of l's slice to keep that goes with register r of l.
func (l layout) project(r int, keep []*ir.Axis) int {
	out, scale := 0, 1
	for _, d := range l.reg {
		for _, a := range keep {
			if d.axis == a {
				out += r % d.size * scale
				scale *= d.size
			}
		}
		r /= d.size
	}
	return out
}

// get gives a value's registers in a layout: those at hand, those computed
// again when that is cheap, or those converted through shared memory.
func (k *kernel) get(v *ir.Value, want layout) []reg {
	axes := v.Type.Axes
	copies := k.copies(v)
	for _, h := range copies {
		from, ok := h.layout.permutation(want, axes)
		if !ok {
			continue
		}
		regs := make([]reg, len(from))
		for i, r := range from {
			regs[i] = h.regs[max(r, 0)]
		}
		return regs
	}
	if v.Def != nil && (k.cheap(v) || k.again(v) || v.Def.Code == lang.OpConst) {
		regs := k.recompute(v.Def, want)
		k.hold(v, want, regs)
		return regs
	}
	if len(copies) == 0 {
		failf("value %s is used before it is computed", valueName(v))
	}
	regs := k.convert(v, copies[0], want)
	k.hold(v, want, regs)
	return regs
}

// scalar gives the register of a scalar.
func (k *kernel) scalar(v *ir.Value) reg { return k.get(v, uniform(k.warps))[0] }

// recompute emits an operation for a result in the layout l.
func (k *kernel) recompute(op *ir.Op, l layout) []reg {
	switch op.Code {
	case lang.OpLoad:
		return k.load(op, l)
	case lang.OpConst:
		c := op.Const
		key := fmt.Sprint("const ", op.Result().Type.DType, c.Int, math.Float64bits(c.Float))
		return []reg{k.atEntry(key, func() reg { return constant(k.a, op.Result().Type.DType, c) })}
	case lang.OpFull:
		axes := op.Args[0].Type.Axes
		x := k.get(op.Args[0], l.slice(axes))
		regs := make([]reg, l.regs())
		for i := range regs {
			regs[i] = x[l.project(i, axes)]
		}
		return regs
	case lang.OpIndex:
		base := k.position(l, op.Axis)
		regs := make([]reg, l.regs())
		for i := range regs {
			regs[i] = k.counted(op.Axis.Counts(), k.add(base, l.regCoord(i, op.Axis)))
		}
		return regs
	case lang.OpStart:
		return []reg{k.counted(op.Axis.Counts(), k.state(op.Axis).start)}
	case lang.OpEnd:
		return []reg{k.counted(op.Axis.Counts(), k.state(op.Axis).end)}
	case lang.OpSize:
		return []reg{k.counted(op.Dim.Counts(), k.size(op.Dim))}
	case lang.OpRename:
		return k.get(op.Args[0], l.rename(op.Axis, op.From))
	}
	return k.elementwise(op, l)
}

// register puts an int in a register; a register stays as it is.
func (k *kernel) register(x any) reg {
	if r, ok := x.(reg); ok {
		return r
	}
	return k.calc(b32, "mov.b32", x)
}

// counted is a position of a type, i32 or i64, in a register.
func (k *kernel) counted(d lang.DType, x any) reg {
	r, ok := x.(reg)
	switch {
	case !ok && d == lang.I64:
		return k.calc(b64, "mov.b64", x)
	case d == lang.I64:
		return k.wide(r)
	}
	return k.register(x)
}

// create emits an operation of the create group, or a rename, at home.
func (k *kernel) create(op *ir.Op) {
	v := op.Result()
	k.hold(v, k.home[v], k.recompute(op, k.home[v]))
}

// elementwise emits an elementwise operation or a conversion, for a result in the layout l.
func (k *kernel) elementwise(op *ir.Op, l layout) []reg {
	args := make([][]reg, len(op.Args))
	for i, v := range op.Args {
		args[i] = k.get(v, l.slice(v.Type.Axes))
	}
	if op.Code == lang.OpRandomBits {
		return k.randomBits(op, l, args)
	}
	regs := make([]reg, l.regs())
	for r := range regs {
		xs := make([]reg, len(args))
		for i, v := range op.Args {
			xs[i] = args[i][l.project(r, v.Type.Axes)]
		}
		regs[r] = k.apply(op, xs)
	}
	return regs
}

// apply is an elementwise operation on one element.
func (k *kernel) apply(op *ir.Op, xs []reg) reg {
	if op.Code == lang.OpCast {
		from, to := op.Args[0].Type.DType, op.Result().Type.DType
		if from == to {
			return xs[0]
		}
		return cast(k.a, from, to, xs[0])
	}
	if op.Code == lang.OpBitcast {
		return k.bitcast(op.Args[0].Type.DType, op.Result().Type.DType, xs[0])
	}
	d := op.Args[0].Type.DType
	if op.Code == lang.OpWhere {
		d = op.Args[1].Type.DType
	}
	return elementwise(k.a, op.Code, d, xs, k.f.Approx)
}

// selected is x where p holds and y elsewhere; without p it is x.
func (k *kernel) selected(p, x, y reg) reg {
	if !p.valid() || x == y {
		return x
	}
	switch x.class {
	case pred:
		t := k.a.op(pred, "and.pred", x, p)
		n := k.a.op(pred, "not.pred", p)
		n = k.a.op(pred, "and.pred", y, n)
		return k.a.op(pred, "or.pred", t, n)
	case b32:
		return k.a.op(b32, "selp.b32", x, y, p)
	case b64:
		return k.a.op(b64, "selp.b64", x, y, p)
	case f64:
		return k.a.op(f64, "selp.f64", x, y, p)
	}
	return k.a.op(f32, "selp.f32", x, y, p)
}

// zero is the register of 0 (false) of a type.
func (k *kernel) zero(d lang.DType) reg {
	return k.atEntry(fmt.Sprint("const ", d, 0, uint64(0)), func() reg { return constant(k.a, d, ir.Const{}) })
}

// move copies a register into another of the same class.
func (k *kernel) move(to, from reg) {
	k.a.ins("mov.%s %v, %v", [...]string{b32: "b32", b64: "b64", f32: "f32", f64: "f64", pred: "pred", b16: "b16"}[to.class], to, from)
}

// unpack gives n elements of a type from its memory form: each raw register holds
// 32 bits of it (64 for 64-bit types), low bits first.
func unpack(a *asm, d lang.DType, raw reg, n int) []reg {
	switch {
	case d == lang.Bool:
		bytes := unpack(a, lang.U8, raw, n)
		for i, x := range bytes {
			bytes[i] = a.op(pred, "setp.ne.u32", x, 0)
		}
		return bytes
	case d.Bits() == 8:
		all := unpack8(a, d, raw)
		return append([]reg(nil), all[:n]...)
	case d.Bits() == 16:
		lo, hi := unpack16(a, d, raw)
		return []reg{lo, hi}[:n]
	}
	return []reg{raw}
}

// pack is the memory form of up to 32 bits of elements; missing ones are 0.
func (k *kernel) pack(d lang.DType, xs []reg) reg {
	a := k.a
	switch {
	case d == lang.Bool:
		bytes := make([]reg, len(xs))
		for i, p := range xs {
			bytes[i] = a.op(b32, "selp.u32", 1, 0, p)
		}
		return k.pack(lang.U8, bytes)
	case d.Bits() == 8:
		var four [4]reg
		for i := range four {
			four[i] = k.zero(d)
			if i < len(xs) {
				four[i] = xs[i]
			}
		}
		return pack8(a, d, four)
	case d.Bits() == 16:
		hi := k.zero(d)
		if len(xs) > 1 {
			hi = xs[1]
		}
		return pack16(a, d, xs[0], hi)
	}
	return xs[0]
}
