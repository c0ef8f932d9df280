package ptx

import (
	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// This file changes elements in the block's shared memory first: see block.Private.

// neutral is what each atomic leaves an element as it is with.
var neutral = map[lang.Op]func(lang.DType) ir.Const{
	lang.OpAtomicAdd: number(0), lang.OpAtomicOr: number(0), lang.OpAtomicXor: number(0), lang.OpAtomicAnd: number(-1),
	lang.OpAtomicMax: bound(-1), lang.OpAtomicMin: bound(1),
}

// beginPrivate makes room for the private tensors, which are for the whole of the kernel, and sets them to what changes nothing.
func (k *kernel) beginPrivate() {
	if len(k.Privates) == 0 {
		return
	}
	for _, x := range k.Privates {
		k.a.Comment("%s in shared memory", x.Tensor.Name)
		b := k.allocate(x.Slots()*block.PrivateBytes, "the block's own "+x.Tensor.Name)
		k.private[x.Tensor] = b
		nothing := elem.Constant(k.a, x.Tensor.DType, neutral[x.Op](x.Tensor.DType))
		k.eachPrivate(x, x.Slots(), func(_, at asm.Reg) { k.a.Do("st.shared.b32", asm.At(at), nothing) })
	}
	k.barrier()
}

// endPrivate puts what the block has made to the tensors, each element by one atomic, and those that nothing has changed by none.
func (k *kernel) endPrivate() {
	if len(k.Privates) == 0 {
		return
	}
	k.barrier()
	a := k.a
	for _, x := range k.Privates {
		a.Comment("what the block has made of %s", x.Tensor.Name)
		d, native := x.Tensor.DType, nativeAtomics[x.Op]
		kind := atomicKind(x.Op, d)
		nothing := elem.Constant(a, d, neutral[x.Op](d))
		to := k.pointer(x.Tensor)
		k.eachPrivate(x, x.Elements, func(i, at asm.Reg) {
			made := a.Op(asm.B32, "ld.shared.b32", asm.At(at))
			for n := 1; n < x.Copies; n++ {
				made = elem.Apply(a, x.Op.Combines(), d, []asm.Reg{made, a.Op(asm.B32, "ld.shared.b32", asm.At(at).Plus(n*block.PrivateBytes))}, false)
			}
			changed := a.Op(asm.Pred, "setp.ne.b32", made, nothing)
			a.If(changed).Do("red.global."+native.name+kind, asm.At(a.Op(asm.B64, "mad.wide.u32", i, asm.Int(d.Size()), to)), made)
		})
	}
}

// eachPrivate goes through so many parts of a private tensor, each thread through some: number and address in shared memory. The parts are
// its elements with all their copies, or each copy.
func (k *kernel) eachPrivate(x *block.Private, parts int, visit func(i, at asm.Reg)) {
	a, threads := k.a, k.Warps*layout.Lanes
	i := a.Op(asm.B32, "mov.b32", k.tid)
	top, done := a.Label(), a.Label()
	if parts < threads {
		a.If(a.Op(asm.Pred, "setp.ge.u32", i, asm.Int(parts))).Do("bra", done)
	}
	a.Place(top)
	base := a.Op(asm.B32, "mov.u32", sharedName)
	base = a.Op(asm.B32, "add.s32", base, asm.Int(k.private[x.Tensor].at))
	visit(i, a.Op(asm.B32, "mad.lo.s32", i, asm.Int(x.Slots()/parts*block.PrivateBytes), base))
	a.Set(i, "add.s32", i, asm.Int(threads))
	a.If(a.Op(asm.Pred, "setp.lt.u32", i, asm.Int(parts))).Do("bra", top)
	a.Place(done)
}

// atomicKind is the type of an atomic on integers, as the instruction has it.
func atomicKind(op lang.Op, d lang.DType) string {
	switch native := nativeAtomics[op]; {
	case native.bits:
		return elem.BitsSuffix(d)
	case native.name == "add":
		return unsignedSuffix(d)
	}
	return elem.Suffix(d)
}

// privateOp emits an atomic on a private tensor.
func (k *kernel) privateOp(op *ir.Op) {
	a, d := k.a, op.Tensor.DType
	l := k.AtomicLayout(op)
	axes, v := op.AccessAxes(), op.Stored()
	regs := k.get(v, l.Slice(v.Type.Axes))
	x := k.indexing(op, l)
	var start asm.Number = k.a.Add(k.sharedBase(), asm.Int(k.private[op.Tensor].at))
	copies := k.PrivateOf(op.Tensor).Copies
	if copies > 1 { // a lane's copies of all elements lie in a bank of its own
		start = a.Add(start, a.Mul(a.Calc(asm.B32, "and.b32", k.tid, asm.Int(layout.Lanes-1)), block.PrivateBytes))
	}
	base := a.Register(start)
	owner := k.owner(l)
	for r := range l.Regs() {
		p := k.both(k.both(owner, k.mask(l, axes, r)), x.inside(r))
		at := a.Register(a.Add(a.Mul(x.element(r), copies*block.PrivateBytes), base))
		a.If(p).Do("red.shared."+nativeAtomics[op.Code].name+atomicKind(op.Code, d), asm.At(at), regs[l.Project(r, v.Type.Axes)])
	}
}

// element is the number of register r's element in its tensor, of which all sizes are known.
func (x *addressing) element(r int) asm.Number {
	a := x.k.a
	var sum asm.Number = asm.Int(0)
	for i, d := range x.dims {
		var n asm.Number
		if d.Gather {
			n = x.gathered[i][x.l.Project(r, d.Index.Type.Axes)]
		} else {
			n = x.index(i, r)
		}
		if long, ok := n.(asm.Reg); ok && long.Class == asm.B64 {
			n = a.Calc(asm.B32, "cvt.u32.u64", long)
		}
		sum = a.Add(sum, a.Mul(n, int(d.Stride)))
	}
	return sum
}
