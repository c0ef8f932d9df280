package build

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
	"tilec/typecheck/size"
)

// A transposed convolution in steps of 2 is a sum of which a condition picks the terms: `where((h + 1 - r) % 2 == 0, x[(h + 1 - r) / 2] * w[r], 0)`. Of the places r of the window a position h
// has those of one residue, which is another for the next h. So positions of a block that are neighbours compute all terms and drop most of them, and none of it is a product of matrices.
// With one residue of h for each block, r goes through every second place, and what is summed up is a product as that of any convolution.
// Along the axis whose neighbours lie side by side in memory a block has positions of all residues, each with a sum of its own (together.go): blocks of one would write every second element.

// separateResidues gives blocks positions of one residue along axes of the grid, where conditions of sums tell residues apart, and goes through those terms of the sums alone that the conditions let through.
func separateResidues(f *ir.Func, dims *spec.LaunchDims) {
	for _, op := range f.Body.Ops {
		if op.Code != lang.OpSum {
			continue
		}
		r := &residues{Builder: &ir.Builder{Func: f, At: op.At}, sum: op, known: map[*ir.Value]*ir.Value{}}
		if r.find(dims) {
			r.rewrite(dims)
			return
		}
	}
}

// residues is a sum of terms that conditions on remainders pick.
type residues struct {
	*ir.Builder
	sum   *ir.Op
	moves []*residue
	// known is what stands for values of the terms.
	known map[*ir.Value]*ir.Value
}

// residue is a condition (free * α + tap * β + offset) % by == 0, of a position along an axis of the grid and one along an axis that is summed over.
type residue struct {
	holds         *ir.Value
	free, tap     *ir.Axis
	by            int64
	ofFree, ofTap int64
	offset        int64
	// position is along free, in steps of by; rest is what the positions of the block have beside that, and at both together. divides says that they end where free does.
	position, rest, at *ir.Value
	divides            bool
	// first is the first tap of the block, step the number of one, and count how many there are.
	first, step, count *ir.Value
	// most is how many there are at most.
	most int64
	// together says that blocks have positions of all residues.
	together bool
}

// find recognises the sum, and reports whether it can be rewritten. Nothing is changed yet.
func (r *residues) find(dims *spec.LaunchDims) bool {
	where := r.sum.Args[0].Def
	if where == nil || where.Code != lang.OpWhere || !isZero(where.Args[2]) {
		return false
	}
	var conditions func(v *ir.Value)
	conditions = func(v *ir.Value) {
		switch op := v.Def; {
		case op == nil:
		case op.Code == lang.OpLogicAnd:
			conditions(op.Args[0])
			conditions(op.Args[1])
		default:
			if m := r.condition(v, dims); m != nil {
				r.moves = append(r.moves, m)
			}
		}
	}
	conditions(where.Args[0])
	if len(r.moves) == 0 {
		return false
	}
	for _, m := range r.moves {
		m.together = r.neighbours(m)
	}
	switch r.sum.Result().Type.DType {
	case lang.F32, lang.F64, lang.I32, lang.I64:
	default: // a loop would round what it carries
		return false
	}
	inside := map[*ir.Op]bool{}
	if !r.computable(r.sum.Args[0], inside) {
		return false
	}
	fits, used := true, usedIn(r.Func)
	r.Func.Walk(func(op *ir.Op) bool {
		if !used[op] {
			return true
		}
		if op.Tensor != nil && op.Code != lang.OpLoad && op.Code != lang.OpStore {
			fits = false
		}
		for _, m := range r.moves {
			fits = fits && (op.Code == lang.OpIndex || op.Axis != m.free && op.From != m.free)
			fits = fits && (op == r.sum || inside[op] || op.Code == lang.OpIndex || !op.Mentions(m.tap) && !slices.ContainsFunc(op.Results, func(v *ir.Value) bool { return v.Type.Has(m.tap) }))
		}
		return fits
	})
	return fits
}

// condition recognises a condition on a remainder, beside those that there are; nil where it is another one.
func (r *residues) condition(v *ir.Value, dims *spec.LaunchDims) *residue {
	if v.Def.Code != lang.OpEq {
		return nil
	}
	mod := v.Def.Args[0].Def
	if mod == nil || mod.Code != lang.OpMod || !isZero(v.Def.Args[1]) {
		return nil
	}
	by, known := ir.KnownInt(mod.Args[1])
	e, linear := linearIn(mod.Args[0])
	if !known || !linear || by < 2 || by > 8 || len(e.of) != 2 {
		return nil
	}
	m := &residue{holds: v, by: by, offset: e.offset}
	for a, n := range e.of {
		switch {
		case a.Kind == ir.Grid:
			m.free, m.ofFree = a, n
		case a.Kind == ir.Whole && slices.Contains(r.sum.Over, a):
			m.tap, m.ofTap = a, n
		}
	}
	if m.free == nil || m.tap == nil || inverse(m.ofTap, by) == 0 || m.tap.Lo != 0 || m.tap.Len < 2 || m.tap.Split > 1 {
		return nil
	}
	_, ranged := dims.Ranges[m.free.Dim.Name]
	_, sized := sizeIn(dims, m.free.Dim)
	if a := m.free; a.Scalar || len(a.Choices) > 0 || a.Extent > 0 || a.Ranges != nil || a.Split > 1 || a.Dim.Wide || ranged || !sized {
		return nil
	}
	if slices.ContainsFunc(r.moves, func(o *residue) bool { return o.free == m.free || o.tap == m.tap }) {
		return nil
	}
	return m
}

// computable reports that a value of the terms can be computed again for other taps, and notes what computes it.
func (r *residues) computable(v *ir.Value, inside map[*ir.Op]bool) bool {
	op := v.Def
	if op == nil || inside[op] || !r.hasTap(v) {
		return true
	}
	inside[op] = true
	row := op.Code.Row()
	if !row.Elementwise && op.Code != lang.OpIndex && op.Code != lang.OpFull && !(op.Code == lang.OpLoad && op.Tensor.ReadOnly()) {
		return false
	}
	for _, x := range op.Args {
		if !r.computable(x, inside) {
			return false
		}
	}
	return true
}

// rewrite makes the axes of residues, and the sum of their terms.
func (r *residues) rewrite(dims *spec.LaunchDims) {
	f := r.Func
	old := f.Body.Ops
	r.Block = &ir.Block{}
	for _, m := range r.moves {
		r.divide(m, dims)
	}
	instead := map[*ir.Value]*ir.Value{}
	for _, op := range old {
		switch {
		case op == r.sum:
			instead[op.Result()] = r.sumOfTaps()
		case slices.ContainsFunc(op.Results, r.hasTap):
		default:
			r.Block.Ops = append(r.Block.Ops, op)
		}
	}
	f.Body = r.Block
	f.Walk(func(op *ir.Op) bool {
		for _, m := range r.moves {
			if op.Code == lang.OpIndex && op.Axis == m.free && op.Result() != m.position {
				instead[op.Result()] = m.at
			}
		}
		return true
	})
	f.Body.Replace(instead)
	r.retype()
	f.Axes = slices.DeleteFunc(f.Axes, func(a *ir.Axis) bool {
		return slices.ContainsFunc(r.moves, func(m *residue) bool { return m.tap == a })
	})
	for _, m := range r.moves {
		if !m.divides {
			checkBehind(f, m.free)
		}
	}
}

// divide gives blocks positions of one residue along an axis of the grid.
func (r *residues) divide(m *residue, dims *spec.LaunchDims) {
	f, whole := r.Func, m.free.Dim
	n, _ := sizeIn(dims, whole)
	m.divides = n.Mod(size.Const(m.by)).Equal(size.Const(0))
	if whole.Known() {
		m.free.Dim = f.ConstDim((whole.Value + m.by - 1) / m.by)
	} else {
		m.free.Dim = dimOf(f, dims, n.Add(size.Const(m.by-1)).FloorDiv(size.Const(m.by)))
	}
	m.most = (m.tap.Len + m.by - 1) / m.by
	m.position = r.Emit(&ir.Op{Code: lang.OpIndex, Axis: m.free})[0]
	if m.together {
		rest := f.AddAxis(ir.Axis{Name: m.free.Name + "_rest", Kind: ir.Whole, Len: m.by, Extent: m.by})
		m.rest = r.Emit(&ir.Op{Code: lang.OpIndex, Axis: rest})[0]
		m.at = r.Op(lang.OpAdd, r.times(m.position, m.by), m.rest)
		return
	}
	rest := f.AddAxis(ir.Axis{Name: m.free.Name + "_rest", Kind: ir.Grid, Dim: f.ConstDim(m.by), Extent: 1, Scalar: true})
	f.Axes = slices.DeleteFunc(f.Axes, func(a *ir.Axis) bool { return a == rest })
	f.Axes = slices.Insert(f.Axes, len(f.Grid()), rest) // blocks of all residues follow one another: together they write whole lines
	m.rest = r.Emit(&ir.Op{Code: lang.OpStart, Axis: rest})[0]
	m.at = r.Op(lang.OpAdd, r.times(m.position, m.by), m.rest)
	back := inverse(m.ofTap, m.by)
	first := r.Op(lang.OpAdd, r.times(m.rest, residueOf(-back*m.ofFree, m.by)), r.Int(residueOf(-back*m.offset, m.by)))
	m.first = r.Op(lang.OpMod, first, r.Int(m.by))
	m.count = r.Op(lang.OpDiv, r.Op(lang.OpSub, r.Int(m.tap.Len+m.by-1), m.first), r.Int(m.by))
}

// dimOf is a dimension of a size: one that there is, or a new one under a name that no other has.
func dimOf(f *ir.Func, dims *spec.LaunchDims, n size.Size) *ir.Dim {
	for name := n.String(); ; name = "(" + name + ")" {
		at := slices.IndexFunc(f.Dims, func(d *ir.Dim) bool { return d.Name == name })
		if at < 0 {
			dims.Sizes[name] = n
			f.Dims = append(f.Dims, &ir.Dim{Name: name, Value: -1, Divisor: 1})
			return f.Dims[len(f.Dims)-1]
		}
		if is, ok := sizeIn(dims, f.Dims[at]); ok && is.Equal(n) {
			return f.Dims[at]
		}
	}
}

// times is a value so many times.
func (r *residues) times(v *ir.Value, n int64) *ir.Value { return r.Op(lang.OpMul, v, r.Int(n)) }

// sumOfTaps sums up the terms of the residues' taps, by loops over as many as the block has: steps of one place of the window each, which are copied as they lie.
func (r *residues) sumOfTaps() *ir.Value {
	i := slices.IndexFunc(r.moves, func(m *residue) bool { return m.together })
	if i >= 0 {
		return r.sumsTogether(r.moves[i])
	}
	return r.loopOfTaps([]*ir.Value{r.zero()}, func(int) {})[0]
}

// zero is what a sum begins with.
func (r *residues) zero() *ir.Value {
	result := r.sum.Result().Type
	return r.Broadcast(r.Const(result.DType, ir.Const{}), result.Axes)
}

// loopOfTaps adds terms of the residues' taps to sums, each those of what choose gives the moves for it.
func (r *residues) loopOfTaps(sums []*ir.Value, choose func(i int)) []*ir.Value {
	all := int64(1)
	over := slices.Clone(r.sum.Over)
	for _, m := range r.moves {
		over = ir.Without(over, []*ir.Axis{m.tap})
		all *= m.most
	}
	f, outside := r.Func, r.Block
	axis := f.AddAxis(ir.Axis{Name: "tap", Kind: ir.Loop, Dim: f.ConstDim(all), Extent: 1, Scalar: true, At: r.sum.At})
	count := r.moves[0].count
	for _, m := range r.moves[1:] {
		count = r.Op(lang.OpMul, count, m.count)
	}
	loop := &ir.Op{Code: lang.OpFor, Axis: axis, At: r.sum.At, Args: append([]*ir.Value{r.Int(0), count}, sums...)}
	r.Block = &ir.Block{Params: []*ir.Value{f.NewValue(ir.Scalar(axis.Counts()), nil)}}
	for _, sum := range sums {
		r.Block.Params = append(r.Block.Params, f.NewValue(sum.Type, nil))
	}
	loop.Blocks = []*ir.Block{r.Block}
	at := r.Emit(&ir.Op{Code: lang.OpStart, Axis: axis})[0]
	for i, m := range r.moves {
		if m.step = at; i < len(r.moves)-1 {
			m.step, at = r.Op(lang.OpMod, at, m.count), r.Op(lang.OpDiv, at, m.count)
		}
	}
	terms := make([]*ir.Value, len(sums)) // all before what sums them up, so that one loop over other axes does
	for i := range sums {
		choose(i)
		r.known = map[*ir.Value]*ir.Value{}
		terms[i] = r.value(r.sum.Args[0])
	}
	for i, sum := range r.Block.Params[1:] {
		r.Block.Yield = append(r.Block.Yield, r.Op(lang.OpAdd, sum, r.summed(terms[i], over)))
	}
	r.Block = outside
	return r.Emit(loop)
}

// summed is the sum of terms over axes.
func (r *residues) summed(term *ir.Value, over []*ir.Axis) *ir.Value {
	if len(over) == 0 {
		return r.Cast(term, r.sum.Result().Type.DType)
	}
	again := *r.sum
	again.Args, again.Over, again.Results = []*ir.Value{r.Broadcast(term, slices.Concat(term.Type.Axes, ir.Without(over, term.Type.Axes)))}, over, nil
	return r.Emit(&again)[0]
}

// hasTap reports a value that depends on a place of the window.
func (r *residues) hasTap(v *ir.Value) bool {
	return slices.ContainsFunc(r.moves, func(m *residue) bool { return v.Type.Has(m.tap) })
}

// value is what stands for a value of the terms at the taps of the block's residues.
func (r *residues) value(v *ir.Value) *ir.Value {
	if !r.hasTap(v) {
		return v
	}
	w := r.known[v]
	if w == nil {
		w = r.compute(v)
		r.known[v] = w
	}
	return w
}

func (r *residues) compute(v *ir.Value) *ir.Value {
	op := v.Def
	for _, m := range r.moves {
		switch {
		case v == m.holds:
			return r.Const(lang.Bool, ir.Const{Int: 1})
		case op.Code == lang.OpIndex && op.Axis == m.tap:
			return r.Op(lang.OpAdd, r.times(m.step, m.by), m.first)
		case op.Code == lang.OpDiv || op.Code == lang.OpFloorDiv:
			if n := m.divided(op); n != nil {
				rest := r.Op(lang.OpAdd, r.Op(lang.OpAdd, r.times(m.rest, m.ofFree), r.times(m.first, m.ofTap)), r.Int(n.offset))
				return r.Op(lang.OpAdd, r.Op(lang.OpAdd, r.times(m.position, m.ofFree), r.times(m.step, m.ofTap)), r.Op(op.Code, rest, r.Int(m.by)))
			}
		}
	}
	args := make([]*ir.Value, len(op.Args))
	for i, x := range op.Args {
		args[i] = r.value(x)
	}
	holds := func(v *ir.Value) bool {
		c, ok := v.IsConst()
		return ok && c.Int == 1
	}
	switch {
	case op.Code == lang.OpLogicAnd && holds(args[0]):
		return args[1]
	case op.Code == lang.OpLogicAnd && holds(args[1]):
		return args[0]
	case op.Code == lang.OpWhere && holds(args[0]):
		return args[1]
	case op.Code == lang.OpFull:
		axes := slices.Clone(op.Axes)
		for _, m := range r.moves {
			axes = ir.Without(axes, []*ir.Axis{m.tap})
		}
		return r.Broadcast(args[0], ir.Union(args[0].Type, ir.Type{Axes: axes}))
	case op.Code == lang.OpLoad:
		again := *op
		again.Args, again.Checked, again.Results = args, slices.Clone(op.Checked), nil
		return r.Emit(&again)[0]
	}
	return r.Like(op, args...)
}

// divided recognises what the condition says is divided without a rest, and by the same number; nil for anything else.
func (m *residue) divided(op *ir.Op) *linear {
	by, known := ir.KnownInt(op.Args[1])
	l, ok := linearIn(op.Args[0])
	if !known || !ok || by != m.by || len(l.of) != 2 || l.of[m.free] != m.ofFree || l.of[m.tap] != m.ofTap || residueOf(l.offset-m.offset, by) != 0 {
		return nil
	}
	return &l
}

// checkBehind has accesses look whether there is an element at positions along an axis, of which the last may lie behind the end.
func checkBehind(f *ir.Func, a *ir.Axis) {
	b := &ir.Builder{Func: f}
	var block func(*ir.Block)
	block = func(in *ir.Block) {
		old := in.Ops
		in.Ops = nil
		for _, op := range old {
			for _, inner := range op.Blocks {
				block(inner)
			}
			for d := range op.Checked {
				if op.Args[d].Type.Has(a) && !op.Checked[d] {
					if op.Code == lang.OpLoad && !slices.Contains(op.Checked, true) {
						b.Block, b.At = in, op.At
						op.Args = append(slices.Clone(op.Args), b.Const(op.Result().Type.DType, ir.Const{}))
					}
					op.Checked = slices.Clone(op.Checked)
					op.Checked[d] = true
				}
			}
			in.Ops = append(in.Ops, op)
		}
	}
	block(f.Body)
}
