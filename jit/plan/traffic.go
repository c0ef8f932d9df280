package plan

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/lang"
)

// This file counts the bytes that a launch moves, between the main memory and the L2 and between that and the multiprocessors.

// traffic is bytes moved; once is those that the main memory brings or takes at least.
type traffic struct{ l2, dram, once float64 }

// traffic counts what so many blocks at once move; those of the loads that are kept in shared memory are read once.
func (c at) traffic(concurrent int64, kept map[*ir.Op]bool) traffic {
	type use struct {
		read, again, written, opened float64
		pages                        float64 // see pageOpenings
		computed                     bool    // some load's places are computed of positions
	}
	var sum traffic
	uses := map[*ir.Tensor]*use{}
	var order []*ir.Tensor
	fragments := c.storesFragments()
	copied, split := 0.0, 0.0 // of the L2, by loads, and of that what lies in two lines
	for _, s := range c.ops {
		t := s.op.Tensor
		if t == nil {
			continue
		}
		if uses[t] == nil {
			uses[t] = &use{}
			order = append(order, t)
		}
		all, once := c.elements(s, false)
		alike := float64(c.elementsAlike(s.alike))
		all, once = all/alike, once/alike
		if kept[s.op] {
			all = once
		}
		if x := c.privateOf(t); x != nil { // each block puts what it has to neighbours
			n := float64(c.blocks()) * float64(x.Elements)
			sum.l2 += float64(n * block.PrivateBytes)
			uses[t].written += float64(min(n, float64(once)) * block.PrivateBytes)
			continue
		}
		bytes := float64(t.DType.Bits()) / 8
		// Part of a sector takes the time of all of it.
		run := c.run(s.op)
		if fragments && c.results[s.op] {
			run = min(run, fragmentRun)
		}
		fresh := c.fresh(s.op)
		if g := c.runsOf[s.op]; g != nil {
			fresh, run = c.halo(s.op, g), c.runLength(g)
		}
		asked := all
		if s.op.Code == lang.OpLoad {
			asked *= float64(c.inWindow(s.op) * c.readAlone(s))
		}
		if c.byAll(s) {
			asked = min(asked, once/float64(c.blocks())*float64(c.sms()))
		}
		inL2 := float64(asked * fresh * bytes * max(c.sector(s)/(run*bytes), 1))
		sum.l2 += inL2
		if s.op.Code == lang.OpLoad {
			copied, split = copied+inL2, split+float64(inL2*c.splitLines(s.op))
		}
		uses[t].opened += float64(once * bytes * c.opening(s.op, concurrent))
		uses[t].pages = max(uses[t].pages, c.pageOpenings(s.op))
		uses[t].computed = uses[t].computed || c.neighbours[s.op] > 0
		if s.op.Code == lang.OpLoad {
			if c.stencils[s.op] != nil {
				bytes *= fresh
			}
			bytes *= c.windowPart(s.op)
			uses[t].read += float64(once * bytes)
			uses[t].again += float64((all - once) * bytes)
		} else {
			uses[t].written += float64(once * bytes)
		}
	}
	if split > 0 {
		sum.l2 += float64(split * split / copied)
	}
	// What blocks read again is in the L2 where all that they move at a time has room there, of every tensor.
	moved := 0.0
	for _, t := range order {
		moved += uses[t].read + uses[t].written
	}
	pages := 0.0
	inL2 := moved/float64(c.blocks())*float64(concurrent) <= float64(c.target.L2Size)/2
	for _, t := range order {
		u := uses[t]
		whole := float64(t.DType.Bits()) / 8
		for _, d := range t.Shape {
			n := c.dims(d)
			if u.computed { // axes of another size go through it
				n = dimSize(d, c.sizes)
			}
			whole *= float64(n)
		}
		first := min(u.read, whole)
		sum.dram += first + u.written
		sum.once += first + u.written
		if whole > float64(c.target.L2Size)/2 {
			sum.dram += float64((u.read-first)*rereadMiss) + u.opened
			pages = max(pages, u.pages)
		}
		if !inL2 {
			sum.dram += u.again
		}
	}
	sum.dram += float64(sum.dram * pages)
	return sum
}

// mostInL1 is how many bytes of what all blocks load stay in the L1 while rows go through it.
const mostInL1 = 64 << 10

// byAll reports a load of which every block has the same, as a norm's gains: a multiprocessor's first block brings it, and those behind it find it in the L1 (an H200, layernorm of f32,
// 65,536 rows of 1,024, a block a row: 129.6 us, 157 if the L2 gave each block its 8 KB of gains; 8,192 rows of 4,096 69.0 us and 86).
func (c at) byAll(s step) bool {
	return !c.contracts && s.op.Code == lang.OpLoad && len(s.loops) == 0 && s.op.Tensor.ReadOnly() &&
		!slices.ContainsFunc(s.axes, func(i int) bool { return c.f.Axes[i].Kind == ir.Grid || c.streamed(i) }) &&
		float64(c.count(tile{axes: s.axes}, false))*float64(s.op.Tensor.DType.Bits())/8 <= mostInL1
}

// storesFragments reports a kernel of products by a matrix unit whose results threads store as they hold them.
func (c at) storesFragments() bool {
	if !c.contracts || c.deep {
		return false
	}
	for _, s := range c.ops {
		if isContraction(s.op) {
			if _, matrix := contractRate(&c.target, s.op); !matrix {
				return false
			}
		}
	}
	steps, _ := c.chained()
	return steps == 0 || !c.allByWarpgroups()
}

// run is how many elements that are neighbours in memory an access handles at once.
func (c at) run(op *ir.Op) float64 {
	v := innermost(op)
	if v == nil {
		return 1
	}
	// A gather follows no axis; index(i) + 3 does.
	if v.Def == nil || v.Def.Code == lang.OpLoad || len(v.Type.Axes) == 0 {
		return 1
	}
	a := v.Type.Axes[0]
	n := min(c.extent[c.place[a]], c.size[c.place[a]])
	if alike := c.alikeAlong(v, a); alike < mostAlike {
		n /= alike
	}
	return float64(max(n, 1))
}

// innermost is the index of the dimension whose elements are neighbours in memory, nil where there is none.
func innermost(op *ir.Op) *ir.Value {
	inner := len(op.Tensor.Shape) - 1
	if s := op.Tensor.Strides; s != nil {
		inner = slices.IndexFunc(s, func(d *ir.Dim) bool { return d.Value == 1 })
	}
	if inner < 0 {
		return nil
	}
	return op.Indices()[inner]
}

// dims is the size of a dimension that an axis walks, else what is assumed.
func (c at) dims(d *ir.Dim) int64 {
	for i, a := range c.f.Axes {
		if a.Dim == d && a.Kind != ir.Whole {
			return c.size[i]
		}
	}
	return dimSize(d, nil)
}
