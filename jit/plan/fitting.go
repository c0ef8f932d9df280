package plan

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// This file has extents with which the tiles of a product are about as many as the multiprocessors, or a few times as many, so that all work until the end. Of 1,024 rows and
// 2,304 columns, 128 x 192 at once make 96 tiles and 128 x 128 make 144, where there are 132 multiprocessors; 128 x 144 make 128.

const (
	// leastFilled is what part of the multiprocessors has a tile, at least, in each of up to mostFilled rounds.
	leastFilled, mostFilled = 0.9, 4
	// pairColumns are the columns that one instruction stores of a product of 16 bits (block.BoxStore), and some instructions multiply of 8 bits; unitColumns those that any of them takes.
	pairColumns, unitColumns = 16, 8
)

// fitting is the extents, beside contractExtents, that an axis of the grid may have to fill the multiprocessors: of a product by warpgroups the axis of which an instruction takes any
// number of columns, for its operand lies along the depth. (An H200, 80 products of 256 to 8,192 rows for which that changed the plan, of f32 and bf16: 0.93 of their time, 0.74 to 1.05.)
func (m *model) fitting(i int) (vs []int64) {
	if !m.target.Has(target.Wgmma) || m.products != 1 || m.f.HasRanges() || m.f.Axes[i].Kind != ir.Grid {
		return nil
	}
	var op *ir.Op
	for _, s := range m.ops {
		if isContraction(s.op) {
			op = s.op
		}
	}
	arg := 0
	if op.Args[1].Type.Has(m.f.Axes[i]) {
		arg = 1
	}
	step, rows := int64(pairColumns), int64(wgmmaRows)
	switch roles, ok := m.roles[op]; {
	case ok && roles.Columns != arg:
		return nil
	case ok && op.Args[0].Type.DType == lang.F32: // one warpgroup is too few to round and to multiply
		step, rows = unitColumns, 2*wgmmaRows
	case !ok && !block.AnyColumns(op, arg):
		return nil
	}
	if len(ir.Without(op.Args[arg].Type.Axes, op.Over)) > 1 || m.goesOn(m.f.Axes[i]) {
		return nil
	}
	other, products := int64(1), int64(1) // positions of the other operand, and how many such products there are
	for j, a := range m.f.Axes {
		switch {
		case m.matrix[j] && j != i:
			other = times(other, m.size[j])
		case a.Kind == ir.Grid && j != i:
			products = times(products, m.size[j])
		}
	}
	sms := int64(m.target.SMs)
	for n := ceilDiv(m.size[i], contractExtents[len(contractExtents)-1]); n > 0 && n <= mostFilled*sms; n++ {
		v := roundUp(ceilDiv(m.size[i], n), step)
		if v <= wgmmaRows {
			break
		}
		fills := slices.ContainsFunc(contractExtents, func(o int64) bool {
			tiles := times(ceilDiv(m.size[i], v)*ceilDiv(other, o), products)
			rounds := ceilDiv(tiles, sms)
			return o%rows == 0 && rounds <= mostFilled && float64(tiles) >= float64(leastFilled*float64(rounds*sms))
		})
		if fills && !slices.Contains(contractExtents, v) && !slices.Contains(vs, v) {
			vs = append(vs, v)
		}
	}
	return vs
}

// goesOn reports an axis along which a tensor that is stored goes on where the axis ends, as a cache does: what a last tile has beyond the end, the tensor memory accelerator would store too.
func (m *model) goesOn(a *ir.Axis) bool {
	return slices.ContainsFunc(m.ops, func(s step) bool {
		if s.op.Code != lang.OpStore {
			return false
		}
		for d, v := range s.op.Indices() {
			if v.Type.Has(a) && s.op.Tensor.Shape[d] != a.Dim {
				return true
			}
		}
		return false
	})
}
