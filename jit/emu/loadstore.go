package emu

import (
	"tilec/jit/emu/number"
	"tilec/jit/emu/syntax"
)

// An address is a decoded address operand: a row plus an offset.
type address struct {
	row    row
	offset uint64
	space  syntax.Space
}

// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (a address) in(w *warp, lane int) uint64 { return w.regs[a.row][lane] + a.offset }

// spaces are the state spaces of loads, stores and atomics by modifier.
var spaces = map[string]syntax.Space{
	"global": syntax.SpaceGlobal, "shared": syntax.SpaceShared, "shared::cta": syntax.SpaceShared, "shared::cluster": syntax.SpaceCluster,
	"local": syntax.SpaceLocal, "param": syntax.SpaceParam, "const": syntax.SpaceConst, "param::entry": syntax.SpaceParam, "param::func": syntax.SpaceParam,
}

// space takes a state space modifier; generic without one.
func (d *decoder) space(of ...string) syntax.Space {
	if len(of) == 0 {
		of = []string{"global", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry", "param::func", "const"}
	}
	return spaces[d.one(of...)] // of "" is generic
}

// address takes an address operand in a space.
func (d *decoder) address(s syntax.Space) address {
	o := d.operand()
	if o.Kind != syntax.OpAddress || len(o.Elements) > 0 {
		d.fail("need an address in brackets")
	}
	return d.addressAt(o, s)
}

func (d *decoder) addressAt(o syntax.Operand, s syntax.Space) address {
	a := address{offset: uint64(o.Offset), space: s}
	if o.Name == "" {
		a.row = d.constant(o.Bits)
		return a
	}
	if r, ok := d.st.Scope.Register(o.Name); ok {
		if r.Type.Kind == number.KindPred || r.Type.Bits < 32 || r.Type.Bits == 32 && s == syntax.SpaceGlobal {
			d.fail("register %s of type .%s cannot hold an address of %s memory", o.Name, r.Type.Name, s)
		}
		a.row = row(r.Index)
		d.in.srcs, d.in.uses = append(d.in.srcs, a.row), append(d.in.uses, a.row)
		return a
	}
	v := d.st.Scope.Variable(o.Name)
	if v == nil {
		d.fail("%s is not declared", o.Name)
	}
	same := v.Space == s || v.Space == syntax.SpaceShared && s == syntax.SpaceCluster
	switch {
	case same && !v.Call:
	case v.Call && s == syntax.SpaceParam:
		a.space = syntax.SpaceLocal
	case s == syntax.SpaceGeneric && (v.Space == syntax.SpaceGlobal || v.Space == syntax.SpaceConst):
	case s == syntax.SpaceGeneric && v.Space == syntax.SpaceParam:
		a.space = syntax.SpaceParam
	default:
		d.fail("variable %s is in .%s, not in %s memory", o.Name, v.Space, s)
	}
	a.row = d.addressOf(v, 0)
	return a
}

// cacheModifiers are hints and orderings that change no result here: caches, scopes, prefetch sizes.
func (d *decoder) cacheModifiers() (strong bool) {
	switch d.one("weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio") {
	case "volatile", "relaxed", "mmio":
		strong = true
	case "acquire", "release", "acq_rel":
		strong = true
		d.synchronises()
	}
	d.one("cta", "cluster", "gpu", "sys")
	d.one("ca", "cg", "cs", "lu", "cv", "wb", "wt")
	d.one("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate")
	d.one("L2::evict_normal", "L2::evict_first", "L2::evict_last")
	d.one("L2::64B", "L2::128B", "L2::256B")
	return strong
}

// synchronises marks an instruction after which the block may have seen others' writes.
func (d *decoder) synchronises() {
	d.after(func(w *warp) {
		for _, o := range w.block.warps {
			o.acquired = true
		}
	})
}

// after adds to what the instruction does, once it is decoded.
func (d *decoder) after(f func(*warp)) { d.then = append(d.then, f) }

var memoryOps = map[string]operation{
	"ld":  {classLoad, load},
	"ldu": {classLoad, load},
	"st":  {classStore, store},

	"prefetch":      {classMove, prefetch},
	"prefetchu":     {classMove, prefetch},
	"discard":       {classMove, prefetch},
	"applypriority": {classMove, prefetch},
	"cvta":          {classMove, convertAddress},
	"isspacep":      {classMove, isSpace},
	"createpolicy":  {classMove, createPolicy},
}

// vectorSize takes .v2, .v4 or .v8.
func (d *decoder) vectorSize() int {
	switch d.one("v2", "v4", "v8") {
	case "v2":
		return 2
	case "v4":
		return 4
	case "v8":
		return 8
	}
	return 1
}

func load(d *decoder) {
	s := d.space()
	strong := d.cacheModifiers()
	constant := d.has("nc")
	if constant && s != syntax.SpaceGlobal {
		d.fail(".nc is for global memory")
	}
	hint := d.has("L2::cache_hint")
	n := d.vectorSize()
	t := d.typ()
	if t.Kind == number.KindPred {
		d.fail("predicates cannot be loaded")
	}
	dsts := d.dests(n, t, true)
	a := d.address(s)
	if hint {
		d.src(number.Types["b64"])
	}
	size := t.Bytes()
	d.in.run = func(w *warp) {
		w.traffic(a, size*n)
		if strong {
			w.block.launch.memory.atomics.Lock()
			defer w.block.launch.memory.atomics.Unlock()
		}
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m) & 31
			p, ok := w.locate(a.space, a.in(w, lane), size*n, size*n, lane)
			if !ok {
				for _, dst := range dsts {
					w.regs[dst.row][lane] = 0
				}
				continue
			}
			p.strong, p.constant = strong, constant || strong || p.space == syntax.SpaceConst
			w.readInto(p, lane, size, dsts)
			for i, dst := range dsts {
				v := word(p.data[i*size : i*size+size])
				if t.Kind == number.KindSigned {
					v = uint64(number.SignExtend(v, t.Bits))
				}
				w.regs[dst.row][lane] = v & dst.mask
			}
		}
		for _, dst := range dsts {
			w.init[dst.row] |= w.active
		}
	}
}

func store(d *decoder) {
	if d.has("async") {
		asyncStore(d)
		return
	}
	s := d.space("global", "shared", "shared::cta", "shared::cluster", "local", "param", "param::func")
	strong := d.cacheModifiers()
	hint := d.has("L2::cache_hint")
	n := d.vectorSize()
	t := d.typ()
	if t.Kind == number.KindPred {
		d.fail("predicates cannot be stored")
	}
	a := d.address(s)
	v := d.vector()
	if len(v) != n {
		d.fail("a vector has %d elements, need %d", len(v), n)
	}
	srcs := make([]row, n)
	for i, o := range v {
		srcs[i] = d.source(o, t, true)
	}
	if hint {
		d.src(number.Types["b64"])
	}
	size := t.Bytes()
	d.in.run = func(w *warp) {
		w.traffic(a, size*n)
		if strong {
			w.block.launch.memory.atomics.Lock()
			defer w.block.launch.memory.atomics.Unlock()
		}
		var value [64]byte
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m) & 31
			p, ok := w.locate(a.space, a.in(w, lane), size*n, size*n, lane)
			if !ok {
				continue
			}
			for i, src := range srcs {
				setWord(value[i*size:i*size+size], w.regs[src][lane])
			}
			p.strong = strong
			w.written(p, lane, value[:size*n])
			copy(p.data, value[:size*n])
			if w.undefined != nil {
				w.storeUndefined(p, lane, size, srcs)
			}
		}
	}
}

// prefetch moves nothing that a program sees. Of global memory, an address that is nobody's is a finding: hardware
// would bring a line in vain, or none.
func prefetch(d *decoder) {
	s := d.space("global", "local", "const", "param")
	d.one("L1", "L2")
	d.one("L2::evict_last", "L2::evict_normal")
	d.has("tensormap")
	a := d.address(s)
	if d.more() {
		d.constInt()
	}
	d.in.run = func(w *warp) {
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m) & 31
			if at, address := resolve(a.space, a.in(w, lane)); at == syntax.SpaceGlobal && w.block.launch.memory.find(address) == nil {
				w.report(OutOfBounds, 1<<lane, "a prefetch at address %#x: %s", address, w.block.launch.memory.describe(address))
			}
		}
	}
}

// convertAddress is cvta: between a space and generic addresses.
func convertAddress(d *decoder) {
	to := d.has("to")
	s := d.space()
	if s == syntax.SpaceGeneric {
		d.fail("a space is missing")
	}
	t := d.typeOf("u32", "u64")
	dst := d.dst(t)
	var a row
	if o := d.operand(); o.Kind == syntax.OpName && !to && d.st.Scope.Variable(o.Name) != nil {
		a = d.addressOf(d.st.Scope.Variable(o.Name), o.Offset)
	} else {
		a = d.source(o, t, false)
	}
	base := map[syntax.Space]uint64{syntax.SpaceShared: sharedWindow, syntax.SpaceCluster: sharedWindow, syntax.SpaceLocal: localWindow, syntax.SpaceParam: paramWindow}[s]
	offset := base
	if to {
		offset = -base
	}
	d.map1(dst, a, func(v uint64) uint64 { return v + offset })
	if !to {
		return
	}
	convert := d.in.run
	want := s
	d.in.run = func(w *warp) {
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			have, _ := resolve(syntax.SpaceGeneric, w.regs[a][lane])
			if have != want && !(want == syntax.SpaceShared && have == syntax.SpaceCluster) && !(want == syntax.SpaceConst && have == syntax.SpaceGlobal) {
				w.report(OutOfBounds, 1<<lane, "generic address %#x is in %s memory, not in %s", w.regs[a][lane], have, want)
				break
			}
		}
		convert(w)
	}
}

func isSpace(d *decoder) {
	s := d.space()
	p := d.predDst()
	a := d.src(number.Types["u64"])
	d.in.run = func(w *warp) {
		var is uint32
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			have, at := resolve(syntax.SpaceGeneric, w.regs[a][lane])
			own := int(at/blockWindow) == w.block.rank
			if have == s || have == syntax.SpaceCluster && s == syntax.SpaceShared && own {
				is |= 1 << lane
			}
		}
		w.setPred(p, is)
	}
}

// createPolicy gives an opaque cache policy.
func createPolicy(d *decoder) {
	kind := d.must("fractional", "range", "cvt")
	d.one("L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged", "L2")
	d.one("L2::evict_first", "L2::evict_unchanged")
	d.has("global")
	b64 := d.typeOf("b64")
	dst := d.dst(b64)
	for d.more() {
		if kind == "range" && d.ops[0].Kind == syntax.OpAddress {
			d.address(syntax.SpaceGlobal)
			continue
		}
		if d.ops[0].Kind == syntax.OpFloat {
			d.operand()
			continue
		}
		d.wideSrc(number.Types["b32"])
	}
	d.map1(dst, d.constant(0), func(uint64) uint64 { return 0x1000000000000000 })
}
