package ptx

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// loadOp emits a load at home.
func (k *kernel) loadOp(op *ir.Op) {
	v := op.Result()
	if c := k.asked[op]; c != nil {
		k.hold(v, k.Homes[v], k.takeAsked(c))
		return
	}
	k.hold(v, k.Homes[v], k.bring(op, k.Homes[v]))
}

// bring gives the result of a load in the layout l, through shared memory where the load is read in another.
func (k *kernel) bring(op *ir.Op, l layout.Layout) []asm.Reg {
	from := k.LoadLayout(op, l)
	regs := k.load(op, from)
	if from.Equal(l) {
		return regs
	}
	return k.convert(op.Result(), held{from, regs}, l)
}

// word describes how n elements of a type travel: as count registers of a class.
type word struct {
	class    asm.Class
	count    int
	elements int    // in one register
	suffix   string // of the ld or st instruction, without the vector
}

// words is how n neighbouring elements of a type are loaded or stored at once; they take at most 16 bytes.
func words(d lang.DType, n int) word {
	bytes := int(d.Bytes(int64(n)))
	switch {
	case d.Bits() == 64:
		w := word{asm.B64, n, 1, "b64"}
		if d == lang.F64 {
			w.class, w.suffix = asm.F64, "f64"
		}
		return w
	case d.Bits() == 32 && d.IsFloat():
		return word{asm.F32, n, 1, "f32"}
	case bytes >= 4:
		return word{asm.B32, bytes / 4, 32 / d.Bits(), "b32"}
	case d.IsInt() && d.IsSigned() && n == 1:
		return word{asm.B32, 1, n, fmt.Sprintf("s%d", bytes*8)}
	}
	return word{asm.B32, 1, n, fmt.Sprintf("u%d", bytes*8)}
}

// vec is the vector part of a ld or st mnemonic.
func (w word) vec() string {
	if w.count > 1 {
		return fmt.Sprintf(".v%d", w.count)
	}
	return ""
}

// fetch loads n neighbours from memory into their registers, 0 where p does not hold.
func (k *kernel) fetch(d lang.DType, n int, mnemonic string, p asm.Reg, from asm.Addr) []asm.Reg {
	return k.fetchOr(d, n, mnemonic, p, from, asm.Reg{})
}

// fetchOr loads n neighbours, and gives for each an element where p does not hold; without such a one 0.
func (k *kernel) fetchOr(d lang.DType, n int, mnemonic string, p asm.Reg, from asm.Addr, fill asm.Reg) []asm.Reg {
	w := words(d, n)
	raw := k.a.Regs(w.class, w.count)
	if p.Valid() {
		var before asm.Operand = w.class.Zero()
		if fill.Valid() {
			before = fill
			if w.elements > 1 || d.Bits() < 32 && !(d.IsInt() && n == 1) { // else registers hold an element as it is loaded
				before = elem.Pack(k.a, d, slices.Repeat([]asm.Reg{fill}, w.elements))
			}
		}
		for _, r := range raw {
			k.a.Set(r, "mov."+w.class.String(), before)
		}
	}
	k.a.If(p).Set(asm.List(raw), mnemonic+w.vec()+"."+w.suffix, from)
	var out []asm.Reg
	for _, r := range raw {
		if d.IsInt() && d.Bits() < 32 && n == 1 {
			out = append(out, r) // extended by the load
			continue
		}
		out = append(out, elem.Unpack(k.a, d, r, w.elements)...)
	}
	return out
}

// put stores n neighbours where p holds.
func (k *kernel) put(d lang.DType, xs []asm.Reg, mnemonic string, p asm.Reg, to asm.Addr) {
	w := words(d, len(xs))
	raw := make([]asm.Reg, w.count)
	for i := range raw {
		raw[i] = elem.Pack(k.a, d, xs[i*w.elements:(i+1)*w.elements])
	}
	suffix := strings.Replace(w.suffix, "s", "u", 1)
	k.a.If(p).Do(mnemonic+w.vec()+"."+suffix, to, asm.List(raw))
}

// load emits a load for a result in the layout l. Elements that do not exist are
// not read and become 0; those that a checked index puts outside become the else value.
func (k *kernel) load(op *ir.Op, l layout.Layout) []asm.Reg {
	if kept := k.copied[op]; kept != nil {
		op = kept
	}
	t, axes := op.Tensor, op.Result().Type.Axes
	k.orderRead(t)
	mnemonic := k.loading(op)
	mnemonic += k.eviction(op, mnemonic)
	var other func(r int) asm.Reg // what is not read is 0, or this
	var fill asm.Reg              // or this, of all elements
	if e := op.Else(); !block.ZeroElse(op) {
		regs := k.get(e, l.Slice(e.Type.Axes))
		if e.Type.IsScalar() && t.Held().Bits() >= 8 && e.Type.DType != lang.Bool && !slices.ContainsFunc(k.Uses[op.Result()], needsZeros) {
			fill = regs[0]
		} else {
			other = func(r int) asm.Reg { return regs[l.Project(r, e.Type.Axes)] }
		}
	}
	if regs, ok := k.covered(op, l, mnemonic, fill, other); ok {
		return regs
	}
	x := k.addressing(op, l)
	c := block.Contiguous(x.dims)
	groups, n := l.Groups(c, l.Aligned(c, k.neighbours(t, x.dims, c)))
	if n > 1 && k.LoopsByWords(c) { // whose loads have no other elements
		return k.loadWords(x, axes, c, groups, mnemonic)
	}
	regs := make([]asm.Reg, l.Regs())
	masked := axes
	if len(groups) > 1 {
		masked = x.clamp(op, axes, c)
	}
	// from is where a thread loads, and under which condition: what lies there is loaded once.
	type from struct {
		at address
		p  asm.Reg
	}
	known := map[from][]asm.Reg{}
	for _, g := range groups {
		inside := x.inside(g[0])
		at := from{x.at(g[0]), k.both(k.mask(l, masked, g[0]), inside)}
		got := slices.Clone(known[at])
		if got == nil {
			got = k.fetchAtOr(t.Held(), n, mnemonic, at.p, at.at, fill)
			known[at] = slices.Clone(got)
		}
		x.zeroed(op, g[0], got)
		for i, r := range g {
			regs[r] = got[i]
			if other != nil {
				regs[r] = k.selected(inside, got[i], other(r))
			}
		}
	}
	return regs
}

// neighbours is how many neighbours along c an access moves at once in the code being emitted.
func (k *kernel) neighbours(t *ir.Tensor, dims []block.DimAccess, c *ir.Axis) int {
	if c != nil && k.partial(c) {
		return k.Vector(t, dims, c)
	}
	return k.WholeVector(t, dims, c)
}

// loading is the instruction of a load. The assembler may move those of what nobody writes: before the wait for the launch before,
// or behind barriers, to where the elements are used.
func (k *kernel) loading(op *ir.Op) string {
	t := op.Tensor
	switch {
	case t.Shared:
		return "ld.shared"
	case k.LoadedFirst(op):
		return "ld.global"
	}
	if t.ReadOnly() && (t.Constant || !k.Dependent()) {
		return "ld.global.nc"
	}
	return "ld.global"
}

// storeOp emits a store.
func (k *kernel) storeOp(op *ir.Op) {
	if op.Collides() {
		k.scatter(op)
		return
	}
	if s := k.Stores[op]; s != nil && s.Within != nil {
		k.storeWhole(s.Within, func() { k.storeBoxes(op) }, func() {
			v := op.Stored()
			k.storeEach(op, k.Homes[v], "", k.stored(op, k.Homes[v]))
		})
		return
	}
	if k.storeBoxes(op) {
		return
	}
	fields := k.Fields(op)
	if fields == nil {
		fields = []*ir.Op{op}
	}
	if op == fields[len(fields)-1] {
		k.storeFields(fields, k.StoreLayout(op))
	}
}

// storeEach has each thread store the elements that it holds in a layout. Order is the qualifiers of order and scope, with their dots.
func (k *kernel) storeEach(op *ir.Op, l layout.Layout, order string, value func(r int) asm.Reg) {
	t, axes := op.Tensor, block.IndexAxes(op)
	k.orderWrite(t)
	x := k.addressing(op, l)
	c := block.Contiguous(x.dims)
	groups, n := l.Groups(c, l.Aligned(c, k.neighbours(t, x.dims, c)))
	owner := k.owner(l)
	mnemonic := "st" + order + ".global"
	mnemonic += k.eviction(op, mnemonic)
	if t.Shared {
		mnemonic = "st" + order + ".shared"
	}
	for _, g := range groups {
		xs := make([]asm.Reg, len(g))
		for i, r := range g {
			xs[i] = value(r)
		}
		if n > 1 && k.LoopsByWords(c) {
			k.storeWords(x, c, g, xs, mnemonic, k.both(owner, k.mask(l, ir.Without(axes, []*ir.Axis{c}), g[0])))
			continue
		}
		p := k.both(k.both(owner, k.mask(l, axes, g[0])), x.inside(g[0]))
		k.putAt(t.Held(), xs, mnemonic, p, x.at(g[0]))
	}
}

// unrounded gives a value that is about to be packed: before a conversion that packing does anyway, where that is at hand.
func (k *kernel) unrounded(v *ir.Value, want layout.Layout) []asm.Reg {
	if v.Def != nil && k.PackedCast(v.Def) && len(k.copies(v)) == 0 {
		for _, h := range k.copies(v.Def.Args[0]) {
			if from, ok := h.layout.Permutation(want, v.Type.Axes); ok {
				regs := make([]asm.Reg, len(from))
				for i, r := range from {
					regs[i] = h.regs[max(r, 0)]
				}
				return regs
			}
		}
		k.hold(v, k.Homes[v], k.elementwise(v.Def, k.Homes[v]))
	}
	return k.get(v, want)
}

// owner is the predicate of the first of the threads that hold copies; no register when there are none.
func (k *kernel) owner(l layout.Layout) asm.Reg {
	mask, at := 0, 0
	scan := func(ds []layout.Digit) {
		for _, d := range ds {
			bits := 0
			for 1<<bits < d.Size {
				bits++
			}
			if d.Axis == nil {
				mask |= (1<<bits - 1) << at
			}
			at += bits
		}
	}
	scan(l.Lane)
	scan(l.Warp)
	if mask == 0 {
		return asm.Reg{}
	}
	return k.a.Calc(asm.Pred, "setp.eq.u32", k.a.Calc(asm.B32, "and.b32", k.tid, asm.Int(mask)), asm.Int(0))
}

// orderRead and orderWrite put a barrier where the block's threads would
// otherwise see a tensor before what the program wrote there earlier. Tensors
// that the program only reads, or writes at one place, need none.
func (k *kernel) orderRead(t *ir.Tensor) {
	if k.written[t] {
		k.barrier()
	}
	k.noteContended(t)
	k.read[t] = k.contended(t)
}

func (k *kernel) orderWrite(t *ir.Tensor) {
	if k.read[t] || k.written[t] {
		k.barrier()
	}
	k.noteContended(t)
	k.written[t] = k.contended(t)
	for s := k.scope; s != nil; s = s.parent {
		maps.DeleteFunc(s.words, func(w wordAt, _ loadedWord) bool { return w.tensor == t })
	}
}

// contended reports a tensor whose accesses need barriers between.
func (k *kernel) contended(t *ir.Tensor) bool {
	c, known := k.contends[t]
	if !known {
		c = k.Contended(t)
		k.contends[t] = c
	}
	return c
}

// noteContended says that the step that is being emitted accesses a tensor that other threads may write or read.
func (k *kernel) noteContended(t *ir.Tensor) {
	if k.contended(t) {
		k.noteWrite()
	}
}

// assumeTouched marks every contended tensor as read and written since the last
// barrier: what holds at the start of a loop's body.
func (k *kernel) assumeTouched() {
	for _, t := range k.Func.Tensors {
		if k.contended(t) {
			k.read[t], k.written[t] = true, true
		}
	}
	k.arena.unknown = true
}
