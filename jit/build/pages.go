package build

import (
	"math"
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// Attention over a cache that lies in pages is written as a loop over the pages, each step of which has the keys of one. By a loop over the keys themselves, of which each
// asks for its page, a step has as many keys as suits the machine, and blocks can share the keys. What an online softmax gives does not depend on which keys are
// a step's, but for what is rounded relative to the largest score so far, as in a loop over an axis.

// mergeParts has the loops of online softmaxes over parts that each have a whole axis, as pages have keys, go through the positions of all parts.
func mergeParts(f *ir.Func) {
	replaced := map[*ir.Value]*ir.Value{}
	var block func(*ir.Block)
	block = func(old *ir.Block) {
		b := &ir.Builder{Func: f, Block: &ir.Block{}}
		for _, op := range old.Ops {
			for _, inner := range op.Blocks {
				block(inner)
			}
			if loop := positionsOfParts(b, op); loop != nil {
				for i, v := range op.Results {
					loop.Results[i].Name = v.Name
					replaced[v] = loop.Results[i]
				}
				continue
			}
			b.Block.Ops = append(b.Block.Ops, op)
		}
		old.Ops = b.Block.Ops
	}
	block(f.Body)
	f.Body.Replace(replaced)
}

// merging goes through the positions of an axis that each step of a loop over numbers has whole.
type merging struct {
	*ir.Builder
	// loop is the loop as it was, number that of its step.
	loop   *ir.Op
	number *ir.Value
	// part is the axis, all that of the positions of all steps, at a position of that.
	part, all *ir.Axis
	at        *ir.Value
	known     map[*ir.Value]*ir.Value
}

// positionsOfParts emits the loop that a loop over numbers becomes; nil where it is no online softmax over such parts.
func positionsOfParts(b *ir.Builder, op *ir.Op) *ir.Op {
	if op.Code != lang.OpFor || op.Axis != nil || op.Reverse {
		return nil
	}
	body := op.Blocks[0]
	number, part := body.Params[0], (*ir.Axis)(nil)
	for _, inner := range body.Ops {
		switch effect := inner.Code.Row().Effect; {
		case len(inner.Blocks) > 0, effect != lang.Pure && !(inner.Code == lang.OpLoad && inner.Tensor.ReadOnly()):
			return nil
		case inner.Code == lang.OpReduceMax && len(inner.Over) == 1:
			part = inner.Over[0]
		}
	}
	first, known := ir.KnownInt(op.Args[0])
	most, bounded := op.MostPositions()
	most += first
	carries := func(v *ir.Value) bool { return v.Type.Has(part) }
	if part == nil || slices.ContainsFunc(body.Params, carries) || part.Kind != ir.Whole || part.Lo != 0 || part.Len < 2 || !known || first < 0 || !bounded || most < 1 || most > math.MaxInt32/part.Len {
		return nil
	}
	name := number.Name
	if name == "" {
		name = "n"
	}
	f := b.Func
	axes, dims := slices.Clone(f.Axes), slices.Clone(f.Dims)
	m := &merging{Builder: &ir.Builder{Func: f, Block: &ir.Block{}, At: op.At}, loop: op, number: number, part: part, known: map[*ir.Value]*ir.Value{}}
	m.all = f.AddAxis(ir.Axis{Name: name, Kind: ir.Loop, Dim: f.ConstDim(most * part.Len)})
	each := m.Int(part.Len)
	bound := func(v *ir.Value) *ir.Value { return m.Op(lang.OpMul, v, each) }
	loop := &ir.Op{Code: lang.OpFor, Axis: m.all, At: op.At, Args: append([]*ir.Value{bound(op.Args[0]), bound(op.Args[1])}, op.Args[2:]...)}
	outside := m.Block
	m.Block = &ir.Block{Params: []*ir.Value{f.NewValue(ir.Scalar(m.all.Counts()), nil)}}
	for _, p := range body.Params[1:] {
		q := f.NewValue(p.Type, nil)
		q.Name, m.known[p] = p.Name, q
		m.Block.Params = append(m.Block.Params, q)
	}
	loop.Blocks = []*ir.Block{m.Block}
	m.at = m.Emit(&ir.Op{Code: lang.OpIndex, Axis: m.all})[0]
	m.known[number] = m.Op(lang.OpFloorDiv, m.at, m.Int(part.Len))
	for _, y := range body.Yield {
		m.Block.Yield = append(m.Block.Yield, m.value(y))
	}
	ok := !slices.Contains(m.Block.Yield, nil)
	for i, y := range m.Block.Yield {
		ok = ok && y.Type.Same(body.Yield[i].Type)
	}
	if ok {
		for _, r := range op.Results {
			loop.Results = append(loop.Results, f.NewValue(r.Type, loop))
		}
		softmax, err := ir.FindOnlineSoftmax(loop)
		ok = softmax != nil && err == nil
	}
	if !ok {
		f.Axes, f.Dims = axes, dims
		return nil
	}
	b.Block.Ops = append(append(b.Block.Ops, outside.Ops...), loop)
	return loop
}

// value is what stands for a value of the loop, or from outside, at the positions of all parts; nil where that is not to be had.
func (m *merging) value(v *ir.Value) *ir.Value {
	if w, ok := m.known[v]; ok {
		return w
	}
	w := m.compute(v)
	m.known[v] = w
	if w != nil && w.Def != nil && w.Name == "" {
		w.Name = v.Name
	}
	return w
}

func (m *merging) compute(v *ir.Value) *ir.Value {
	op := v.Def
	if op == nil {
		return v
	}
	if op.Code == lang.OpIndex && op.Axis == m.part {
		return m.Op(lang.OpMod, m.at, m.Int(m.part.Len))
	}
	if m.wholePosition(op) {
		return m.at
	}
	// What neither is over the axis nor follows from the number is as it was; of what stands in the loop a copy.
	args := make([]*ir.Value, len(op.Args))
	for i, x := range op.Args {
		if args[i] = m.value(x); args[i] == nil {
			return nil
		}
	}
	inside := slices.Contains(m.loop.Blocks[0].Ops, op)
	if !inside && slices.Equal(args, op.Args) && !v.Type.Has(m.part) {
		return v
	}
	row := op.Code.Row()
	switch {
	case row.Elementwise:
		return m.Like(op, args...)
	case op.Code == lang.OpFull:
		return m.Broadcast(args[0], ir.Union(args[0].Type, ir.Type{Axes: m.axes(op.Axes)}))
	case op.Code == lang.OpConst:
		return m.Like(op)
	case len(args) == 0, op.Code == lang.OpLoad && op.Tensor.ReadOnly(), row.Group == lang.GroupContract && op.Fn == nil, row.Group == lang.GroupReduce && len(op.Results) == 1:
		again := *op
		again.Args, again.Over, again.Checked, again.Results = args, m.axes(op.Over), slices.Clone(op.Checked), nil
		if _, err := ir.Infer(&again); err != nil { // as where an accumulator would lack the axis
			return nil
		}
		return m.Emit(&again)[0]
	}
	return nil
}

// axes are the axes of an operation, that of all parts' positions in place of a part's.
func (m *merging) axes(old []*ir.Axis) []*ir.Axis {
	axes := slices.Clone(old)
	if i := slices.Index(axes, m.part); i >= 0 {
		axes[i] = m.all
	}
	return axes
}

// wholePosition recognises the number times the length of a part, plus the position in that.
func (m *merging) wholePosition(op *ir.Op) bool {
	if op.Code != lang.OpAdd {
		return false
	}
	for i, x := range op.Args {
		begin, at := x.Def, op.Args[1-i].Def
		if begin == nil || at == nil || at.Code != lang.OpIndex || at.Axis != m.part || begin.Code != lang.OpMul {
			continue
		}
		for k, y := range begin.Args {
			if n, ok := ir.KnownInt(begin.Args[1-k]); ok && y == m.number && n == m.part.Len {
				return true
			}
		}
	}
	return false
}
