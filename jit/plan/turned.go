package plan

import (
	"tilec/jit/ir"
	"tilec/lang"
)

// This file is about tiles that are loaded along one axis and stored along another, as of a transposition: they go through shared memory
// (block.LoadLayout), so that both accesses move whole lines.

// findTurned notes the loads of such tiles.
func (m *model) findTurned() {
	m.turned = map[*ir.Op]bool{}
	if m.contracts || !m.target.IsGPU() {
		return
	}
	for _, s := range m.ops {
		along := alongOne(s.op)
		if s.op.Code != lang.OpStore || along == nil {
			continue
		}
		for _, l := range m.ops {
			if l.op.Code != lang.OpLoad || l.op.Tensor.Shared || !l.op.Result().Type.Has(along) {
				continue
			}
			if from := alongOne(l.op); from != nil && from != along && s.op.Stored().Type.Has(from) {
				m.turned[l.op] = true
			}
		}
	}
}

// alongOne is the one axis along which an access has neighbours in memory; nil where there is none, or several.
func alongOne(op *ir.Op) *ir.Axis {
	if op.Tensor == nil {
		return nil
	}
	if v := innermost(op); v != nil && len(v.Type.Axes) == 1 && !gathered(op) {
		return v.Type.Axes[0]
	}
	return nil
}
