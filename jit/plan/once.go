package plan

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file finds what a launch reads once, and what else the L2 holds can stay in its place.

// What is told to leave the L2 first is seldom of use to anybody there: it is as large as the L2 divided by largeInL2, and the launch reads mostReadersOnce times
// each of its elements at most. It is mostInL2 times as large at most: what is gained is what the L2 holds, and such lines come a little slower (64 matrices of 32 MB by few rows
// each take 494 us as they are, 518 told). A launch that writes more than one byte for each readsAWrite of them fills the L2 with that anyway.
// On an H200, the L2 full of changed lines: bf16 products of 1 and 16 rows with 8192 x 8192 weights 44 to 45 us before and 40 with it, of 64 rows 43.5 and 39.4;
// 768 x 50304 weights times 256 rows of bf16, which two tiles read, 39.6 and 38.5, times 1,024 rows 115 and 123; softmax of 8192 x 4096 f32, which writes as much, 70.2 and 73.5.
const (
	largeInL2       = 4
	mostInL2        = 4
	mostReadersOnce = 2
	readsAWrite     = 3
)

// readOnce names the tensors that a launch reads once, where telling the L2 so pays.
func (c at) readOnce() []string {
	if !c.target.IsGPU() {
		return nil
	}
	loads := map[*ir.Tensor]int{}
	for _, s := range c.ops {
		if s.op.Tensor != nil {
			loads[s.op.Tensor]++
		}
	}
	kept, _ := c.kept()
	var names []string
	var read, written float64
	for _, s := range c.ops {
		t := s.op.Tensor
		if t == nil || t.Scratch {
			continue
		}
		all, onePass := c.elements(s, false)
		if kept[s.op] {
			all = onePass
		}
		bytes := float64(onePass * float64(t.DType.Bits()) / 8)
		switch {
		case s.op.Code != lang.OpLoad:
			written += bytes
		case !t.ReadOnly() || loads[t] > 1 || all > onePass || !eachOnce(s.op):
		case c.f.Dependent && !t.Constant: // a launch to come may read it
		default:
			whole := float64(t.DType.Bits()) / 8
			for _, v := range s.op.Indices() {
				whole *= float64(c.size[c.place[v.Def.Axis]])
			}
			if whole >= float64(c.target.L2Size)/largeInL2 && whole <= float64(c.target.L2Size*mostInL2) && bytes <= float64(mostReadersOnce*whole) {
				names = append(names, t.Name)
				read += whole
			}
		}
	}
	if float64(written*readsAWrite) > read {
		return nil
	}
	return names
}

// eachOnce reports a load whose places are those of axes as they are, an axis for each dimension: no two positions have the same place.
func eachOnce(op *ir.Op) bool {
	var axes []*ir.Axis
	for _, v := range op.Indices() {
		alone := v.Def != nil && v.Def.Code == lang.OpStart && v.Def.Axis.Scalar
		if !alone && (v.Def == nil || v.Def.Code != lang.OpIndex) || slices.Contains(axes, v.Def.Axis) {
			return false
		}
		axes = append(axes, v.Def.Axis)
	}
	return true
}
