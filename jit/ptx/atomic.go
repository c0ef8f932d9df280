package ptx

import (
	"fmt"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/jit/target"
	"tilec/lang"
)

// atomicOp emits an atomic. One thread changes each element, whatever the
// layout repeats; the others get what it saw through shared memory.
func (k *kernel) atomicOp(op *ir.Op) {
	t := op.Tensor
	if k.PrivateOf(t) != nil {
		k.privateOp(op)
		return
	}
	if op.Overwrites() && !t.DType.Packed() {
		k.overwrite(op)
		return
	}
	l := k.AtomicLayout(op)
	axes := op.AccessAxes()
	values := op.Args[len(t.Shape):]
	regs := make([][]asm.Reg, len(values))
	for i, v := range values {
		regs[i] = k.get(v, l.Slice(v.Type.Axes))
	}
	k.orderWrite(t)
	if op.Order == lang.OrderRelease || op.Order == lang.OrderAcqRel {
		k.barrier() // what the block's other threads wrote comes before
	}
	x := k.addressing(op, l)
	owner := k.owner(l)
	u := &atomicUpdate{kernel: k, op: op, d: t.DType}
	var old []asm.Reg
	if c := block.Contiguous(x.dims); u.addsVectors() && c != nil {
		groups, n := l.Groups(c, l.Aligned(c, k.Vector(t, x.dims, c)))
		if n > 1 {
			for _, g := range groups {
				u.p = k.both(k.both(owner, k.mask(l, axes, g[0])), x.inside(g[0]))
				u.to = x.at(g[0])
				u.addVector(g, func(r int) asm.Reg { return regs[0][l.Project(r, values[0].Type.Axes)] })
			}
			return
		}
	}
	exists := func(r int) asm.Reg { return k.both(k.both(owner, k.mask(l, axes, r)), x.inside(r)) }
	argument := func(i, r int) asm.Reg { return regs[i][l.Project(r, values[i].Type.Axes)] }
	if counts(op) && len(axes) > 0 {
		old = u.addsForWarp(l.Regs(), func(r int) (p, n asm.Reg, to address) { return exists(r), argument(0, r), x.at(r) })
	} else {
		for r := range l.Regs() {
			u.p, u.to, u.x = exists(r), x.at(r), argument(0, r)
			if len(values) == 2 {
				u.y = argument(1, r)
			}
			old = append(old, u.emit())
		}
	}
	if op.Order == lang.OrderAcquire || op.Order == lang.OrderAcqRel {
		k.barrier() // what the block's other threads read comes after
	}
	if !op.Old {
		return
	}
	v := op.Result()
	if owner.Valid() {
		old = k.convert(v, held{l, old}, l)
	}
	k.hold(v, l, old)
}

// overwrite emits an exchange of which nothing else is asked, as stores of neighbours at once. They are strong ones, for other blocks, and other
// threads of this one, may store to the same elements at any time.
func (k *kernel) overwrite(op *ir.Op) {
	v, l := op.Stored(), k.AtomicLayout(op)
	values := k.unrounded(v, l.Slice(v.Type.Axes))
	k.storeEach(op, l, ".relaxed."+scopeName(op), func(r int) asm.Reg { return values[l.Project(r, v.Type.Axes)] })
}

// addsVectors reports additions of which one instruction can do several neighbours, each by itself an atomic.
func (u *atomicUpdate) addsVectors() bool {
	return u.op.Code == lang.OpAtomicAdd && u.d == lang.F32 && !u.op.Old && u.a.Target.Has(target.VectorAtomics) &&
		u.op.Order != lang.OrderAcquire && u.op.Order != lang.OrderAcqRel
}

// addVector adds to neighbours, in two or four registers.
func (u *atomicUpdate) addVector(g []int, value func(r int) asm.Reg) {
	xs := make([]asm.Reg, len(g))
	for i, r := range g {
		xs[i] = value(r)
	}
	u.a.Require(81)
	u.a.If(u.p).Do(fmt.Sprintf("red%s.global.add.v%d.f32", u.ordering(), len(g)), u.to.addr(), asm.List(xs))
}

// atomicUpdate is an atomic on one element, where p holds.
type atomicUpdate struct {
	*kernel
	op *ir.Op
	d  lang.DType
	// x is the operand; of a compare-and-swap the value expected, and y the new one.
	x, y asm.Reg
	p    asm.Reg
	to   address
}

// native are the instructions' names for what an atomic does; and, or, xor and
// the swaps take bits, the others numbers.
var nativeAtomics = map[lang.Op]struct {
	name string
	bits bool
}{
	lang.OpAtomicAdd:  {"add", false},
	lang.OpAtomicMax:  {"max", false},
	lang.OpAtomicMin:  {"min", false},
	lang.OpAtomicAnd:  {"and", true},
	lang.OpAtomicOr:   {"or", true},
	lang.OpAtomicXor:  {"xor", true},
	lang.OpAtomicXchg: {"exch", true},
	lang.OpAtomicCas:  {"cas", true},
}

// emit emits the atomic and gives the old element, 0 where p does not hold;
// no register where nothing needs it.
func (u *atomicUpdate) emit() asm.Reg {
	native := nativeAtomics[u.op.Code]
	switch {
	case u.d.Bits() < 32:
		return u.loop()
	case u.d.IsFloat() && (native.name == "max" || native.name == "min"):
		return u.loop() // the instructions know no floats, nor that NaN wins
	}
	class, kind := elem.ClassOf(u.d), elem.Suffix(u.d)
	x, y := u.x, u.y
	if native.name == "add" && u.d.IsInt() {
		kind = unsignedSuffix(u.d)
	}
	if native.bits {
		kind = elem.BitsSuffix(u.d)
		x = u.bits(x)
		if y.Valid() {
			y = u.bits(y)
		}
		class = x.Class
	}
	operands := []asm.Operand{u.to.addr(), x}
	if y.Valid() {
		operands = append(operands, y)
	}
	a := u.a
	// red gives nothing back, is never an acquire, and does not swap.
	acquires := u.op.Order == lang.OrderAcquire || u.op.Order == lang.OrderAcqRel
	if swaps := native.name == "exch" || native.name == "cas"; !u.op.Old && !swaps && !acquires {
		a.If(u.p).Do("red"+u.ordering()+".global."+native.name+kind, operands...)
		return asm.Reg{}
	}
	old := a.Reg(class)
	if u.op.Old && u.p.Valid() {
		a.Set(old, "mov."+class.String(), class.Zero())
	}
	a.If(u.p).Set(old, "atom"+u.ordering()+".global."+native.name+kind, operands...)
	if !u.op.Old {
		return asm.Reg{}
	}
	if native.bits {
		old = u.number(old)
	}
	return old
}

// ordering is the qualifiers of order and scope; none for what the instructions have without.
func (u *atomicUpdate) ordering() string {
	if u.op.Order == "" && u.op.Scope == "" {
		return ""
	}
	order := u.op.Order
	if order == "" {
		order = lang.OrderRelaxed
	}
	return "." + order + "." + scopeName(u.op)
}

// scopeName is the name that instructions have for an atomic's scope.
func scopeName(op *ir.Op) string {
	return map[string]string{"": "gpu", lang.ScopeBlock: "cta", lang.ScopeDevice: "gpu", lang.ScopeSystem: "sys"}[op.Scope]
}

// unsignedSuffix is the suffix of the unsigned integers of a type's width.
func unsignedSuffix(d lang.DType) string {
	if d.Bits() == 64 {
		return ".u64"
	}
	return ".u32"
}

// bits is the memory form of an element of 32 bits or more, in an integer register; number is the inverse.
func (u *atomicUpdate) bits(x asm.Reg) asm.Reg {
	switch x.Class {
	case asm.F32:
		return u.a.Op(asm.B32, "mov.b32", x)
	case asm.F64:
		return u.a.Op(asm.B64, "mov.b64", x)
	}
	return x
}

func (u *atomicUpdate) number(x asm.Reg) asm.Reg {
	switch class := elem.ClassOf(u.d); class {
	case asm.F32:
		return u.a.Op(asm.F32, "mov.b32", x)
	case asm.F64:
		return u.a.Op(asm.F64, "mov.b64", x)
	}
	return x
}

// loop changes one element by compare and swap: of 8 bits and less, of the aligned word around it.
func (u *atomicUpdate) loop() asm.Reg {
	a := u.a
	class, kind := asm.B32, "b32"
	if u.d.Bits() == 64 {
		class, kind = asm.B64, "b64"
	}
	seenBits := a.Reg(class) // the element as it was, in its memory form
	a.Set(seenBits, "mov."+kind, asm.Int(0))
	again, done := a.Label(), a.Label()
	if u.p.Valid() {
		a.Unless(u.p).Do("bra", done)
	}
	word := u.word()
	old := a.Reg(class)
	word.read(u, old, kind)
	a.Place(again)
	a.Set(seenBits, "mov."+kind, word.extract(u, old))
	if u.op.Code == lang.OpAtomicCas {
		a.If(a.Op(asm.Pred, "setp.ne."+kind, seenBits, u.memoryBits(u.x))).Do("bra", done)
	}
	next := word.insert(u, old, u.memoryBits(u.combined(seenBits)))
	seen := word.swap(u, old, next, kind)
	lost := a.Op(asm.Pred, "setp.ne."+kind, seen, old)
	a.Set(old, "mov."+kind, seen)
	a.If(lost).Do("bra", again)
	a.Place(done)
	if !u.op.Old {
		return asm.Reg{}
	}
	return u.fromMemory(seenBits)
}

// combined is the element's new value.
func (u *atomicUpdate) combined(have asm.Reg) asm.Reg {
	switch u.op.Code {
	case lang.OpAtomicXchg:
		return u.x
	case lang.OpAtomicCas:
		return u.y
	}
	return elem.Apply(u.a, u.op.Code.Combines(), u.d, []asm.Reg{u.fromMemory(have), u.x}, false)
}

// memoryBits and fromMemory go between an element and its memory form, in the low bits of an integer register.
func (u *atomicUpdate) memoryBits(x asm.Reg) asm.Reg {
	if u.d.Bits() < 32 {
		bits := elem.Pack(u.a, u.d, []asm.Reg{x})
		return u.a.Op(asm.B32, "and.b32", bits, asm.Int(1<<u.d.Bits()-1))
	}
	return u.bits(x)
}

func (u *atomicUpdate) fromMemory(bits asm.Reg) asm.Reg {
	if u.d.Bits() < 32 {
		return elem.Unpack(u.a, u.d, bits, 1)[0]
	}
	return u.number(bits)
}

// atomicWord is the word that an element lies in.
type atomicWord struct {
	at asm.Reg
	// shift and field are where in the word the element is, keep the rest; none for an element as wide as its word.
	shift, field, keep asm.Reg
}

func (u *atomicUpdate) word() atomicWord {
	a := u.a
	var word, shift asm.Reg
	if u.to.halves {
		word, shift = u.wordOf(u.to)
	} else {
		at := a.Op(asm.B64, "add.s64", u.to.base, asm.Int(u.to.offset))
		if u.d.Size() > 1 {
			return atomicWord{at: at}
		}
		word = a.Op(asm.B64, "and.b64", at, asm.Int(-4))
		low := a.Op(asm.B32, "cvt.u32.u64", at)
		shift = a.Op(asm.B32, "and.b32", low, asm.Int(3))
		shift = a.Op(asm.B32, "shl.b32", shift, asm.Int(3))
	}
	field := a.Op(asm.B32, "shl.b32", asm.Int(1<<u.d.Bits()-1), shift)
	keep := a.Op(asm.B32, "not.b32", field)
	return atomicWord{word, shift, field, keep}
}

// read loads the word into a register; those of 16 bits pass through one of their own width.
func (w atomicWord) read(u *atomicUpdate, to asm.Reg, kind string) {
	if u.d.Size() == 2 {
		half := u.a.Op(asm.B16, "ld.relaxed."+scopeName(u.op)+".global.b16", asm.At(w.at))
		u.a.Set(to, "cvt.u32.u16", half)
		return
	}
	u.a.Set(to, "ld.relaxed."+scopeName(u.op)+".global."+kind, asm.At(w.at))
}

// swap puts next where the word is old, and gives what it was.
func (w atomicWord) swap(u *atomicUpdate, old, next asm.Reg, kind string) asm.Reg {
	a := u.a
	if u.d.Size() == 2 {
		half := a.Reg(asm.B16)
		a.Set(half, "atom"+u.ordering()+".global.cas.b16", asm.At(w.at), a.Op(asm.B16, "cvt.u16.u32", old), a.Op(asm.B16, "cvt.u16.u32", next))
		return a.Op(asm.B32, "cvt.u32.u16", half)
	}
	return a.Op(old.Class, "atom"+u.ordering()+".global.cas."+kind, asm.At(w.at), old, next)
}

// extract is the element's bits in a word.
func (w atomicWord) extract(u *atomicUpdate, word asm.Reg) asm.Reg {
	if !w.shift.Valid() {
		return word
	}
	return u.a.Op(asm.B32, "and.b32", u.a.Op(asm.B32, "shr.u32", word, w.shift), asm.Int(1<<u.d.Bits()-1))
}

// insert is the word with the element's bits in it.
func (w atomicWord) insert(u *atomicUpdate, word, bits asm.Reg) asm.Reg {
	if !w.shift.Valid() {
		return bits
	}
	bits = u.a.Op(asm.B32, "and.b32", u.a.Op(asm.B32, "shl.b32", bits, w.shift), w.field)
	return u.a.Op(asm.B32, "or.b32", u.a.Op(asm.B32, "and.b32", word, w.keep), bits)
}
