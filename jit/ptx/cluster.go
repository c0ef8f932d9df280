package ptx

import (
	"fmt"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file is about blocks that work together. The blocks of a cluster may
// divide the steps of a loop: each goes through its part, then they exchange
// what they carry through one another's shared memory and combine it in the
// order of their ranks, so that all hold the same bits and the same bits each
// time. From there on they do the same, and the first of them stores.

// clusterSize is how many blocks of the launch form a cluster.
func (k *kernel) clusterSize() int { return max(k.plan.Cluster, k.split) }

// splitOver finds over how many blocks loops are divided; 0 for none.
func splitOver(f *ir.Func) int {
	n := int64(0)
	f.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpFor && op.Axis != nil && op.Axis.Split > 1 {
			n = max(n, op.Axis.Split)
		}
		return true
	})
	return int(n)
}

// blockNumber is the number of the block among those that differ in the grid's
// axes. Where clusters are launched whole, blocks beyond the last end at once.
func (k *kernel) blockNumber() reg {
	a := k.a
	number := a.op(b32, "mov.u32", "%ctaid.x")
	if k.split > 1 {
		return a.op(b32, "div.u32", number, k.split)
	}
	if n := k.clusterSize(); n > 1 {
		var blocks any = 1
		for _, x := range k.f.Grid() {
			along := k.blocksOf(x)
			if d, ok := along.(int64); ok {
				along = int(d)
			}
			switch b := blocks.(type) {
			case int:
				if d, ok := along.(int); ok {
					blocks = b * d
				} else {
					blocks = a.op(b32, "mul.lo.u32", along, b)
				}
			default:
				blocks = a.op(b32, "mul.lo.u32", b, along)
			}
		}
		if b, ok := blocks.(int); !ok || b%n != 0 {
			a.ins("@%v ret", a.op(pred, "setp.ge.u32", number, blocks))
		}
	}
	return number
}

// rank is the block's number in its cluster.
func (k *kernel) rank() reg {
	return k.atEntry("rank", func() reg {
		k.a.require(78)
		return k.a.op(b32, "mov.u32", "%cluster_ctarank")
	})
}

// firstBlock holds in the first block of a cluster.
func (k *kernel) firstBlock() reg { return k.calc(pred, "setp.eq.u32", k.rank(), 0) }

// onlyFirst emits what only the first of the blocks that share a loop may do: outside the loop all hold the same.
func (k *kernel) onlyFirst(emit func()) {
	a := k.a
	first, done := k.firstBlock(), a.label()
	begin := len(a.body)
	a.ins("@!%v bra.uni %s", first, done)
	k.push(begin)
	emit()
	k.pop()
	a.place(done)
	k.assumeTouched()
}

// part is the range of a loop's positions that this block goes through: whole steps, but for the last.
func (k *kernel) part(lo, hi reg, step int64) (from, to reg) {
	length := k.calc(b32, "max.s32", k.calc(b32, "sub.s32", hi, lo), 0)
	// As unsigned numbers, for their sums may pass the largest i32.
	steps := k.calc(b32, "div.u32", k.calc(b32, "add.u32", length, step-1), step)
	each := k.calc(b32, "div.u32", k.calc(b32, "add.u32", steps, k.split-1), k.split)
	each = k.calc(b32, "mul.lo.u32", each, step)
	begin := k.calc(b32, "mul.lo.u32", k.rank(), each)
	end := k.calc(b32, "add.u32", begin, each)
	from = k.calc(b32, "add.s32", lo, k.calc(b32, "min.u32", begin, length))
	to = k.calc(b32, "add.s32", lo, k.calc(b32, "min.u32", end, length))
	return from, to
}

// neutral is the value that changes nothing when it is combined.
func neutral(op lang.Op, d lang.DType) ir.Const {
	switch op {
	case lang.OpMul, lang.OpLogicAnd:
		return ir.Const{Int: 1, Float: 1}
	case lang.OpAnd:
		return ir.Const{Int: -1}
	case lang.OpMax:
		return bound(-1)(d)
	case lang.OpMin:
		return bound(1)(d)
	}
	return ir.Const{}
}

// startOnce lets the first block alone start from what the loop starts from, which must count once.
func (k *kernel) startOnce(op *ir.Op, inits [][]reg) {
	ops := k.accumulators(op)
	for i, v := range op.Args[2:] {
		d := v.Type.DType
		c := neutral(ops[i], d)
		if have, ok := v.IsConst(); ok && have == c {
			continue
		}
		none := k.atEntry(fmt.Sprint("neutral ", ops[i], d), func() reg { return constant(k.a, d, c) })
		regs := make([]reg, len(inits[i]))
		for j, r := range inits[i] {
			regs[j] = k.selected(k.firstBlock(), r, none)
		}
		inits[i] = regs
	}
}

func (k *kernel) accumulators(op *ir.Op) []lang.Op {
	ops, err := ir.Accumulators(op)
	if err != nil {
		failf("axis %s cannot be split: %w", op.Axis.Name, err)
	}
	return ops
}

// exchangeBytes bounds the shared memory through which blocks exchange what they carry.
const exchangeBytes = 32 << 10

// combine adds up what the blocks carry out of a loop that they share, into the registers that hold it.
func (k *kernel) combine(op *ir.Op, carried [][]reg) {
	a := k.a
	ops := k.accumulators(op)
	threads := k.warps * lanes
	// Every thread of a block holds what the same thread of the others holds a part of.
	type spot struct {
		r  reg
		op lang.Op
		d  lang.DType
	}
	byClass := map[regClass][]spot{}
	for i, regs := range carried {
		for _, r := range regs {
			byClass[r.class] = append(byClass[r.class], spot{r, ops[i], op.Results[i].Type.DType})
		}
	}
	for _, class := range []regClass{f32, b32, pred, f64, b64} {
		spots := byClass[class]
		size, suffix := 4, "b32"
		if class == f64 || class == b64 {
			size, suffix = 8, "b64"
		}
		for len(spots) > 0 {
			batch := spots[:min(len(spots), max(exchangeBytes/(threads*size), 1))]
			spots = spots[len(batch):]
			a.comment("add up the parts of %d blocks", k.split)
			buffer := k.allocate(len(batch)*threads*size, fmt.Sprintf("exchanging the parts of axis %s", op.Axis.Name))
			k.writing(buffer)
			mine := k.register(k.add(k.calc(b32, "add.s32", k.sharedBase(), buffer.at), k.mul(k.tid, size)))
			for i, s := range batch {
				x := s.r
				if class == pred {
					x = a.op(b32, "selp.u32", 1, 0, x)
				}
				a.ins("st.shared.%s [%v+%d], %v", suffix, mine, i*threads*size, x)
			}
			k.clusterBarrier()
			sums := make([]reg, len(batch))
			for rank := range k.split {
				at := a.op(b32, "mapa.shared::cluster.u32", mine, rank)
				for i, s := range batch {
					x := a.reg(class)
					if class == pred {
						x = a.reg(b32)
					}
					a.ins("ld.shared::cluster.%s %v, [%v+%d]", suffix, x, at, i*threads*size)
					if class == pred {
						x = a.op(pred, "setp.ne.u32", x, 0)
					}
					if rank > 0 {
						x = elementwise(a, s.op, s.d, []reg{sums[i], x}, false)
					}
					sums[i] = x
				}
			}
			k.clusterBarrier()
			for i, s := range batch {
				k.move(s.r, sums[i])
			}
			k.release(buffer)
		}
	}
}

// clusterBarrier makes what the cluster's blocks have written visible to all of them.
func (k *kernel) clusterBarrier() {
	k.a.ins("barrier.cluster.arrive.release.aligned")
	k.a.ins("barrier.cluster.wait.acquire.aligned")
	k.arena.reads, k.arena.writes, k.arena.unknown = nil, nil, false
}
