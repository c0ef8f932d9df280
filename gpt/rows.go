package gpt

import (
	"slices"

	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file is about the rows of a batch: each has the state of one sequence. A graph runs on all of them, on the first ones, or on
// one, and gets views of the state that have these rows alone.

// rows are so many rows of a batch from the first on.
type rows struct{ first, count int }

// align is what decides how the places of the first of the rows are aligned, whatever a row takes: the power of two, up to 16,
// that divides its number.
func (r rows) align() int {
	const most = 16
	if r.first == 0 {
		return most
	}
	return min(most, r.first&-r.first)
}

// input is what a graph runs on: the tokens of some rows, one a row and column, and the position of the first of each row.
type input struct {
	rows
	tokens, start *jit.Tensor
}

// ints is a tensor of integers in memory, from number at on.
func ints(m *jit.Memory, at int, shape ...int64) *jit.Tensor {
	return &jit.Tensor{DType: lang.I32, Shape: shape, Memory: m, Offset: int64(at)}
}

// of is the part of a value of the state that belongs to some rows.
func (s *state) of(v jit.Value, r rows) jit.Value {
	if r.count == s.rows {
		return v
	}
	if v.Tensor != nil {
		at := s.kept[slices.IndexFunc(s.kept, func(k kept) bool { return k.Tensor == v.Tensor })].rows
		part := *v.Tensor
		part.Strides = v.Tensor.GivenStrides()
		part.Shape = append([]int64(nil), v.Tensor.Shape...)
		part.Shape[at] = int64(r.count)
		part.Offset += int64(r.first) * part.Strides[at]
		return jit.TensorValue(&part)
	}
	out := jit.Value{Elems: make([]jit.Value, len(v.Elems))}
	for i, e := range v.Elems {
		out.Elems[i] = s.of(e, r)
	}
	return out
}

// batchDim is the name of the dimension that counts the sequences of a @generate graph: the first one of its token ids.
func batchDim(g *typed.Graph) string {
	for _, p := range g.Params {
		t := p.Type
		if t.Kind == typed.GTensor && t.DType == typed.Concrete(lang.I32) && p.Mode == lang.In && len(t.Shape) == 2 {
			if sym := t.Shape[0].Symbol(); sym != nil {
				return sym.Name
			}
		}
	}
	return ""
}
