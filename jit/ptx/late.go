package ptx

import (
	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
)

// This file computes what is stored, as it is stored: see block.Program.Late.

// askBeside begins the loads beside a product, and asks the L2 for the others.
func (k *kernel) askBeside() {
	for _, op := range k.Fetched {
		k.a.Loc(op.At)
		k.a.Comment("prefetch %s", describe(op))
		k.prefetchTile(block.Prefetch{Load: op})
	}
	for _, b := range k.Beside {
		k.a.Loc(b.Load.At)
		k.a.Comment("ask for %s", describe(b.Load))
		t := &sharedTile{Tile: *b.Tile}
		t.buffer = k.allocate(t.Bytes()*k.Teams(), "beside the product "+block.ValueName(b.Load.Result()))
		if k.Teams() > 1 {
			own := k.a.Calc(asm.B32, "mad.lo.s32", k.walk.team, asm.Int(t.Bytes()), k.sharedBase())
			t.base = k.a.Calc(asm.B32, "add.s32", own, asm.Int(t.at))
		}
		k.writing(t.buffer)
		k.copyAsync(b.Load, t, b.Layout, b.Vector)
		k.beside[b.Load] = t
	}
	if len(k.Beside) > 0 {
		k.a.Do("cp.async.commit_group")
	}
}

// awaitBeside waits for what the thread has asked for; the barrier behind it is that before anything else is written to shared memory.
func (k *kernel) awaitBeside() {
	if len(k.Beside) > 0 {
		k.a.Do("cp.async.wait_group", asm.Int(0))
	}
}

// late computes elements of the value that a store takes, one at a time.
type late struct {
	k     *kernel
	store *ir.Op
	// root is the layout of the value, of which those of narrower ones are slices.
	root layout.Layout
	// known are the elements that have been computed, by value and register.
	known map[*ir.Value]map[int]asm.Reg
	// groups are, of a load, the registers that come together, by each of them, and from where.
	loads map[*ir.Op]*lateLoad
}

// lateLoad brings groups of elements of a load.
type lateLoad struct {
	groups map[int][]int
	fetch  func(first, n int) []asm.Reg
}

// stored gives the elements of a store's value, by register of the layout: those at hand, or computed when they are asked for.
// A conversion that packing does anyway is left to it.
func (k *kernel) stored(op *ir.Op, l layout.Layout) func(r int) asm.Reg {
	v := op.Stored()
	if v.Def == nil || k.Late[v.Def] != op {
		regs := k.unrounded(v, l)
		return func(r int) asm.Reg { return regs[r] }
	}
	if k.PackedCast(v.Def) {
		v = v.Def.Args[0]
	}
	x := &late{k, op, l, map[*ir.Value]map[int]asm.Reg{}, map[*ir.Op]*lateLoad{}}
	return func(r int) asm.Reg { return x.element(v, r) }
}

// element is the element of a value in a register of its layout.
func (x *late) element(v *ir.Value, r int) asm.Reg {
	if known, ok := x.known[v][r]; ok {
		return known
	}
	if x.known[v] == nil {
		x.known[v] = map[int]asm.Reg{}
	}
	l, op := x.root.Slice(v.Type.Axes), v.Def
	switch {
	case op == nil || x.k.Late[op] != x.store:
		for i, reg := range x.k.get(v, l) {
			x.known[v][i] = reg
		}
	case len(op.Args) > 0 && op.Code.Row().Elementwise:
		args := make([]asm.Reg, len(op.Args))
		for i, arg := range op.Args {
			args[i] = x.element(arg, l.Project(r, arg.Type.Axes))
		}
		x.k.a.Loc(op.At)
		x.known[v][r] = x.k.apply(op, args)
	default:
		load := x.load(op, l)
		g := load.groups[r]
		for i, reg := range load.fetch(g[0], len(g)) {
			x.known[v][g[i]] = reg
		}
	}
	return x.known[v][r]
}

// load says how elements of a load come: from shared memory where they are, else from the tensor.
func (x *late) load(op *ir.Op, l layout.Layout) *lateLoad {
	if known := x.loads[op]; known != nil {
		return known
	}
	k, load := x.k, &lateLoad{groups: map[int][]int{}}
	var groups [][]int
	if t := k.beside[op]; t != nil {
		c := t.Contiguous()
		k.reading(t.buffer)
		from := k.accessing(t, l)
		groups, _ = l.Groups(c, l.Aligned(c, t.Vector()))
		load.fetch = func(first, n int) []asm.Reg { return k.fetch(t.DType, n, "ld.shared", asm.Reg{}, from.at(first)) }
	} else {
		from := k.addressing(op, l)
		c := block.Contiguous(from.dims)
		groups, _ = l.Groups(c, l.Aligned(c, k.Vector(op.Tensor, from.dims, c)))
		mnemonic := k.loading(op)
		load.fetch = func(first, n int) []asm.Reg {
			p := k.both(k.mask(l, op.Result().Type.Axes, first), from.inside(first))
			return k.fetchAt(op.Tensor.Held(), n, mnemonic, p, from.at(first))
		}
	}
	for _, g := range groups {
		for _, r := range g {
			load.groups[r] = g
		}
	}
	x.loads[op] = load
	return load
}
