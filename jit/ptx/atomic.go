package ptx

import (
	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// atomicLayout is the layout in which an atomic goes over its elements: that of
// the old values where something needs them, else as for a store.
func (k *kernel) atomicLayout(op *ir.Op) layout {
	if op.Old {
		return k.home[op.Result()]
	}
	return k.storeLayout(op)
}

// atomicOp emits an atomic. One thread changes each element, whatever the
// layout repeats; the others get what it saw through shared memory.
func (k *kernel) atomicOp(op *ir.Op) {
	t := op.Tensor
	l := k.atomicLayout(op)
	axes := op.AccessAxes()
	values := op.Args[len(t.Shape):]
	regs := make([][]reg, len(values))
	for i, v := range values {
		regs[i] = k.get(v, l.slice(v.Type.Axes))
	}
	k.orderWrite(t)
	if op.Order == lang.OrderRelease || op.Order == lang.OrderAcqRel {
		k.barrier() // what the block's other threads wrote comes before
	}
	x := k.addressing(op, l)
	owner := k.owner(l)
	u := &atomicUpdate{kernel: k, op: op, d: t.DType}
	var old []reg
	if c := contiguous(x.dims); u.addsVectors() && c != nil {
		groups, n := l.groups(c, k.laneAligned(l, c, k.vector(t, x.dims, c)))
		if n > 1 {
			for _, g := range groups {
				u.p = k.both(k.both(owner, k.mask(l, axes, g[0])), x.inside(g[0]))
				u.to = x.at(g[0])
				u.addVector(g, func(r int) reg { return regs[0][l.project(r, values[0].Type.Axes)] })
			}
			return
		}
	}
	for r := range l.regs() {
		u.p = k.both(k.both(owner, k.mask(l, axes, r)), x.inside(r))
		u.to = x.at(r)
		u.x = regs[0][l.project(r, values[0].Type.Axes)]
		if len(values) == 2 {
			u.y = regs[1][l.project(r, values[1].Type.Axes)]
		}
		old = append(old, u.emit())
	}
	if op.Order == lang.OrderAcquire || op.Order == lang.OrderAcqRel {
		k.barrier() // what the block's other threads read comes after
	}
	if !op.Old {
		return
	}
	v := op.Result()
	if owner.valid() {
		old = k.convert(v, held{l, old}, l)
	}
	k.hold(v, l, old)
}

// addsVectors reports additions of which one instruction can do several neighbours, each by itself an atomic.
func (u *atomicUpdate) addsVectors() bool {
	return u.op.Code == lang.OpAtomicAdd && u.d == lang.F32 && !u.op.Old && u.a.target.Has(target.VectorAtomics) &&
		u.op.Order != lang.OrderAcquire && u.op.Order != lang.OrderAcqRel
}

// addVector adds to neighbours, in two or four registers.
func (u *atomicUpdate) addVector(g []int, value func(r int) reg) {
	xs := make([]reg, len(g))
	for i, r := range g {
		xs[i] = value(r)
	}
	u.a.require(81)
	u.a.ins("%sred%s.global.add.v%d.f32 %v, %s", guard(u.p), u.ordering(), len(g), u.to, list(xs))
}

// atomicUpdate is an atomic on one element, where p holds.
type atomicUpdate struct {
	*kernel
	op *ir.Op
	d  lang.DType
	// x is the operand; of a compare-and-swap the value expected, and y the new one.
	x, y reg
	p    reg
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
func (u *atomicUpdate) emit() reg {
	native := nativeAtomics[u.op.Code]
	switch {
	case u.d.Bits() < 32:
		return u.loop()
	case u.d.IsFloat() && (native.name == "max" || native.name == "min"):
		return u.loop() // the instructions know no floats, nor that NaN wins
	}
	class, kind := classOf(u.d), suffix(u.d)
	x, y := u.x, u.y
	if native.name == "add" && u.d.IsInt() {
		kind = unsignedSuffix(u.d)
	}
	if native.bits {
		kind = bitsSuffix(u.d)
		x = u.bits(x)
		if y.valid() {
			y = u.bits(y)
		}
		class = x.class
	}
	operands := x.String()
	if y.valid() {
		operands += ", " + y.String()
	}
	a := u.a
	// red gives nothing back, is never an acquire, and does not swap.
	acquires := u.op.Order == lang.OrderAcquire || u.op.Order == lang.OrderAcqRel
	if swaps := native.name == "exch" || native.name == "cas"; !u.op.Old && !swaps && !acquires {
		a.ins("%sred%s.global.%s%s %v, %s", guard(u.p), u.ordering(), native.name, kind, u.to, operands)
		return reg{}
	}
	old := a.reg(class)
	if u.op.Old && u.p.valid() {
		a.ins("mov.%s %v, %s", classTable[class].decl[1:], old, zeroText(class))
	}
	a.ins("%satom%s.global.%s%s %v, %v, %s", guard(u.p), u.ordering(), native.name, kind, old, u.to, operands)
	if !u.op.Old {
		return reg{}
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
	return "." + order + "." + u.scopeName()
}

func (u *atomicUpdate) scopeName() string {
	return map[string]string{"": "gpu", lang.ScopeBlock: "cta", lang.ScopeDevice: "gpu", lang.ScopeSystem: "sys"}[u.op.Scope]
}

// unsignedSuffix is the suffix of the unsigned integers of a type's width.
func unsignedSuffix(d lang.DType) string {
	if d.Bits() == 64 {
		return ".u64"
	}
	return ".u32"
}

// bits is the memory form of an element of 32 bits or more, in an integer register; number is the inverse.
func (u *atomicUpdate) bits(x reg) reg {
	switch x.class {
	case f32:
		return u.a.op(b32, "mov.b32", x)
	case f64:
		return u.a.op(b64, "mov.b64", x)
	}
	return x
}

func (u *atomicUpdate) number(x reg) reg {
	switch class := classOf(u.d); class {
	case f32:
		return u.a.op(f32, "mov.b32", x)
	case f64:
		return u.a.op(f64, "mov.b64", x)
	}
	return x
}

// loop changes one element by compare and swap: of 8 bits, of the aligned word around it.
func (u *atomicUpdate) loop() reg {
	a := u.a
	class, kind := b32, "b32"
	if u.d.Bits() == 64 {
		class, kind = b64, "b64"
	}
	seenBits := a.reg(class) // the element as it was, in its memory form
	a.ins("mov.%s %v, 0", kind, seenBits)
	again, done := a.label(), a.label()
	if u.p.valid() {
		a.ins("@!%v bra %s", u.p, done)
	}
	word := u.word()
	old := a.reg(class)
	word.read(u, old, kind)
	a.place(again)
	a.ins("mov.%s %v, %v", kind, seenBits, word.extract(u, old))
	if u.op.Code == lang.OpAtomicCas {
		a.ins("@%v bra %s", a.op(pred, "setp.ne."+kind, seenBits, u.memoryBits(u.x)), done)
	}
	next := word.insert(u, old, u.memoryBits(u.combined(seenBits)))
	seen := word.swap(u, old, next, kind)
	lost := a.op(pred, "setp.ne."+kind, seen, old)
	a.ins("mov.%s %v, %v", kind, old, seen)
	a.ins("@%v bra %s", lost, again)
	a.place(done)
	if !u.op.Old {
		return reg{}
	}
	return u.fromMemory(seenBits)
}

// combined is the element's new value.
func (u *atomicUpdate) combined(have reg) reg {
	switch u.op.Code {
	case lang.OpAtomicXchg:
		return u.x
	case lang.OpAtomicCas:
		return u.y
	}
	return elementwise(u.a, u.op.Code.Combines(), u.d, []reg{u.fromMemory(have), u.x}, false)
}

// memoryBits and fromMemory go between an element and its memory form, in the low bits of an integer register.
func (u *atomicUpdate) memoryBits(x reg) reg {
	if u.d.Bits() < 32 {
		bits := u.pack(u.d, []reg{x})
		return u.a.op(b32, "and.b32", bits, 1<<(8*u.d.Size())-1)
	}
	return u.bits(x)
}

func (u *atomicUpdate) fromMemory(bits reg) reg {
	if u.d.Bits() < 32 {
		return unpack(u.a, u.d, bits, 1)[0]
	}
	return u.number(bits)
}

// atomicWord is the word that an element lies in.
type atomicWord struct {
	at reg
	// shift and field are where in the word the element is, keep the rest; none for an element as wide as its word.
	shift, field, keep reg
}

func (u *atomicUpdate) word() atomicWord {
	a := u.a
	at := a.op(b64, "add.s64", u.to.base, u.to.offset)
	if u.d.Size() > 1 {
		return atomicWord{at: at}
	}
	word := a.op(b64, "and.b64", at, -4)
	low := a.op(b32, "cvt.u32.u64", at)
	shift := a.op(b32, "and.b32", low, 3)
	shift = a.op(b32, "shl.b32", shift, 3)
	field := a.op(b32, "shl.b32", 1<<(8*u.d.Size())-1, shift)
	keep := a.op(b32, "not.b32", field)
	return atomicWord{word, shift, field, keep}
}

// read loads the word into a register; those of 16 bits pass through one of their own width.
func (w atomicWord) read(u *atomicUpdate, to reg, kind string) {
	if u.d.Size() == 2 {
		half := u.a.reg(b16)
		u.a.ins("ld.relaxed.%s.global.b16 %v, [%v]", u.scopeName(), half, w.at)
		u.a.ins("cvt.u32.u16 %v, %v", to, half)
		return
	}
	u.a.ins("ld.relaxed.%s.global.%s %v, [%v]", u.scopeName(), kind, to, w.at)
}

// swap puts next where the word is old, and gives what it was.
func (w atomicWord) swap(u *atomicUpdate, old, next reg, kind string) reg {
	a := u.a
	if u.d.Size() == 2 {
		half := a.reg(b16)
		a.ins("atom%s.global.cas.b16 %v, [%v], %v, %v", u.ordering(), half, w.at, a.op(b16, "cvt.u16.u32", old), a.op(b16, "cvt.u16.u32", next))
		return a.op(b32, "cvt.u32.u16", half)
	}
	seen := a.reg(old.class)
	a.ins("atom%s.global.cas.%s %v, [%v], %v, %v", u.ordering(), kind, seen, w.at, old, next)
	return seen
}

// extract is the element's bits in a word.
func (w atomicWord) extract(u *atomicUpdate, word reg) reg {
	if !w.shift.valid() {
		return word
	}
	return u.a.op(b32, "and.b32", u.a.op(b32, "shr.u32", word, w.shift), 1<<(8*u.d.Size())-1)
}

// insert is the word with the element's bits in it.
func (w atomicWord) insert(u *atomicUpdate, word, bits reg) reg {
	if !w.shift.valid() {
		return bits
	}
	bits = u.a.op(b32, "and.b32", u.a.op(b32, "shl.b32", bits, w.shift), w.field)
	return u.a.op(b32, "or.b32", u.a.op(b32, "and.b32", word, w.keep), bits)
}
