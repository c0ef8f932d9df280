package emu

import (
	"math/bits"

	"tilec/jit/emu/number"
)

// warpOps exchange values between the lanes of a warp.
var warpOps = map[string]operation{
	"shfl":       {classWarp, shuffle},
	"vote":       {classWarp, vote},
	"match":      {classWarp, match},
	"redux":      {classWarp, reduce},
	"activemask": {classWarp, activeMask},
	"elect":      {classWarp, elect},
}

func (d *decoder) sync() {
	if !d.has("sync") {
		d.fail("need .sync")
	}
}

func shuffle(d *decoder) {
	d.sync()
	mode := d.must("up", "down", "bfly", "idx")
	b32 := d.typeOf("b32")
	o, second, both := d.pair()
	dst, p := d.destination(o, b32, false), noPred
	if both {
		p = d.predDestination(second)
	}
	a, b, c, mask := d.src(b32), d.src(b32), d.src(b32), d.src(b32)
	d.in.uses = append(d.in.uses, b, c)
	in := d.in
	in.spread = func(w *warp) []uint32 { // of dst, and none of p
		var to uint32
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			j, ok := shuffleFrom(mode, lane, w.regs[b][lane], w.regs[c][lane])
			if !ok {
				j = lane
			}
			to |= w.undefined.rows[a] >> (j & 31) & 1 << lane
		}
		if len(in.dsts) == 0 {
			return []uint32{0}
		}
		return []uint32{to, 0}
	}
	d.collective(mask, func(w *warp, members uint32) {
		from := w.regs[a]
		var result lanes
		var valid, absent uint32
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			j, ok := shuffleFrom(mode, lane, w.regs[b][lane], w.regs[c][lane])
			if ok {
				valid |= 1 << lane
			} else {
				j = lane
			}
			if members>>j&1 == 0 && j != lane {
				absent |= 1 << lane
			}
			result[lane] = from[j&31]
		}
		if absent != 0 {
			w.report(Divergence, absent, "shuffles from lanes that do not execute the instruction")
		}
		w.copyActive(dst, &result)
		w.setPred(p, valid)
	})
}

// shuffleFrom gives the lane whose value a lane takes, and whether it is in range.
func shuffleFrom(mode string, lane int, b, c uint64) (j int, ok bool) {
	bval, cval, seg := int(b&31), int(c&31), int(c>>8&31)
	low := lane & seg
	limit := low | cval&^seg
	switch mode {
	case "up":
		j = lane - bval
		return j, j >= limit
	case "down":
		j = lane + bval
	case "bfly":
		j = lane ^ bval
	case "idx":
		j = low | bval&^seg
	}
	return j, j <= limit
}

// spreadAll makes all results undefined in all lanes when an operand is in one.
func spreadAll(results int) func(*warp) []uint32 {
	return func(*warp) []uint32 {
		all := make([]uint32, results)
		for i := range all {
			all[i] = allLanes
		}
		return all
	}
}

func vote(d *decoder) {
	d.sync()
	mode := d.must("all", "any", "uni", "ballot")
	var dst dest
	p := noPred
	if mode == "ballot" {
		dst = d.dst(d.typeOf("b32"))
	} else {
		d.typeOf("pred")
		p = d.predDst()
	}
	a, mask := d.pred(), d.src(number.Types["b32"])
	d.in.spread = spreadAll(2)
	d.collective(mask, func(w *warp, members uint32) {
		v := a.get(w) & members
		if mode == "ballot" {
			w.broadcast(dst, uint64(v))
			return
		}
		is := mode == "all" && v == members || mode == "any" && v != 0 || mode == "uni" && (v == 0 || v == members)
		w.setPred(p, -uint32(truth(is)))
	})
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// broadcast writes one value in all active lanes.
func (w *warp) broadcast(dst dest, v uint64) {
	out := w.out(dst)
	for m := w.active; m != 0; m &= m - 1 {
		out[first(m)&31] = v & dst.mask
	}
}

func match(d *decoder) {
	all := d.must("any", "all") == "all"
	d.sync()
	t := d.typeOf("b32", "b64")
	o, second, both := d.pair()
	dst, p := d.destination(o, number.Types["b32"], false), noPred
	if both {
		if !all {
			d.fail("only .all has a predicate")
		}
		p = d.predDestination(second)
	}
	a, mask := d.src(t), d.src(number.Types["b32"])
	d.in.spread = spreadAll(2)
	d.collective(mask, func(w *warp, members uint32) {
		var result lanes
		same := true
		for m := members; m != 0; m &= m - 1 {
			i := first(m)
			for n := members; n != 0; n &= n - 1 {
				if j := first(n); w.regs[a][j] == w.regs[a][i] {
					result[i] |= 1 << j
				}
			}
			same = same && uint32(result[i]) == members
		}
		if all && !same {
			result = lanes{}
		}
		w.copyActive(dst, &result)
		w.setPred(p, -uint32(truth(same)))
	})
}

func reduce(d *decoder) {
	d.sync()
	op := d.must("add", "min", "max", "and", "or", "xor")
	t := d.typeOf("u32", "s32", "b32")
	if bitwise := op == "and" || op == "or" || op == "xor"; bitwise != (t.Kind == number.KindBits) {
		d.fail(".%s does not go with type .%s", op, t.Name)
	}
	dst, a, mask := d.dst(t), d.src(t), d.src(number.Types["b32"])
	f := combiners[op]
	d.in.spread = spreadAll(2)
	d.collective(mask, func(w *warp, members uint32) {
		v := w.regs[a][first(members)]
		for m := members & (members - 1); m != 0; m &= m - 1 {
			v = f(t, v, w.regs[a][first(m)])
		}
		w.broadcast(dst, v)
	})
}

// combiners are the integer operations of redux and atomics.
var combiners = map[string]func(t number.Type, a, b uint64) uint64{
	"add": func(t number.Type, a, b uint64) uint64 { return (a + b) & t.Mask() },
	"and": func(t number.Type, a, b uint64) uint64 { return a & b },
	"or":  func(t number.Type, a, b uint64) uint64 { return a | b },
	"xor": func(t number.Type, a, b uint64) uint64 { return a ^ b },
	"min": func(t number.Type, a, b uint64) uint64 {
		if t.Less(b, a) {
			return b
		}
		return a
	},
	"max": func(t number.Type, a, b uint64) uint64 {
		if t.Less(a, b) {
			return b
		}
		return a
	},
	"inc": func(t number.Type, a, b uint64) uint64 {
		if a >= b {
			return 0
		}
		return a + 1
	},
	"dec": func(t number.Type, a, b uint64) uint64 {
		if a == 0 || a > b {
			return b
		}
		return a - 1
	},
	"exch": func(t number.Type, a, b uint64) uint64 { return b },
}

func activeMask(d *decoder) {
	dst := d.dst(d.typeOf("b32"))
	d.in.run = func(w *warp) { w.broadcast(dst, uint64(w.active)) }
}

func elect(d *decoder) {
	d.sync()
	o, second, both := d.pair()
	if !both {
		d.fail("need d|p")
	}
	dst, p := d.destination(o, number.Types["b32"], false), d.predDestination(second)
	mask := d.src(number.Types["b32"])
	d.collective(mask, func(w *warp, members uint32) {
		leader := bits.TrailingZeros32(members)
		w.broadcast(dst, uint64(leader))
		w.setPred(p, 1<<leader)
	})
}
