package graph

import (
	"cmp"
	"maps"
	"slices"

	"tilec/jit/build"
	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
)

var concat = Pass{
	Name: "concat",
	Doc:  "has launches store their results where one would copy them to that puts them one behind the other",
	run:  (*rewriter).allConcatenated,
	Source: `kernel norm(x: f32[N, C, P]) -> y: f32[N, C, P]
    grid c in C by B
{
    axis n in N
    axis p in P
    y[n, c, p] = x[n, c, p] - mean(x[n, c, p], over (n, p))
}

kernel channels(a: f32[N, C, P], b: f32[N, D, P]) -> y: f32[N, C + D, P]
    grid n in N, p in P by B
{
    axis c in C
    axis d in D
    y[n, index(c), p] = a[n, c, p]
    y[n, C + d, p] = b[n, d, p]
}

graph g(x: f32[N, 64, 64], z: f32[N, 64, 64]) -> y: f32[N, 128, 64] {
    y = channels(norm(x), norm(z))
}
`,
	Before: `graph g, 3 launches
  %0:f32[100, 64, 64] = norm(x x:f32[100, 64, 64])
  %1:f32[100, 64, 64] = norm(x z:f32[100, 64, 64])
  %2:f32[100, 128, 64] = channels(a %0:f32[100, 64, 64], b %1:f32[100, 64, 64])
  result %2:f32[100, 128, 64]
`,
	After: `graph g, 2 launches
  %2:f32[100, 64, 64] strides [8192, 64, 1] = norm(x x:f32[100, 64, 64])
  %2:f32[100, 64, 64] from 4096 strides [8192, 64, 1] = norm(x z:f32[100, 64, 64])
  result %2:f32[100, 128, 64]
`,
}

// place is where a temporary lies in another: in blocks, of which the other has more elements each, and from which element of each on.
type place struct {
	in                 Slot
	block, wide, begin int64
}

// view is a view of the temporary as one of the tensor in which it lies; false where one of its dimensions goes from block to block in between.
func (p place) view(v View) (View, bool) {
	reach := v.Offset % p.block
	u := v
	u.Slot, u.Strides, u.Offset = p.in, slices.Clone(v.Strides), v.Offset/p.block*p.wide+p.begin+reach
	for d, n := range v.Shape {
		switch s := v.Strides[d]; {
		case s%p.block == 0:
			u.Strides[d] = s / p.block * p.wide
		case s < 0:
			return v, false
		default:
			reach += max(n-1, 0) * s
		}
	}
	return u, reach < p.block
}

// placing is temporaries that are to lie in others, and the launches as they were before.
type placing struct {
	*rewriter
	calls  []Call
	places map[Slot]place
}

// allConcatenated goes through the launches from the last, for what one puts behind other things may be put behind others by a later one.
func (r *rewriter) allConcatenated() {
	if r.opts.Deterministic { // of which no prediction knows all numbers of rows
		return
	}
	p := &placing{r, slices.Clone(r.Calls), map[Slot]place{}}
	for i := range p.calls {
		p.calls[i].Tensors = slices.Clone(p.calls[i].Tensors)
	}
	for i := len(r.Calls) - 1; i >= 0; i-- {
		p.concatenated(i)
	}
}

// concatenated removes a launch that does no more than to put results of others one behind the other, where these have the places to store them to, and
// where that is predicted to take less time.
func (p *placing) concatenated(n int) {
	c := &p.calls[n]
	parts, into := p.partsOf(c)
	if parts == nil || tiedToPlan(c.Spec) || !into.Slot.Temp || len(p.writes[into.Slot]) != 1 || into.Offset != 0 || !into.Contiguous() {
		return
	}
	anew := maps.Clone(p.places)
	for slot, at := range parts {
		_, elsewhere := p.places[slot]
		if writers := p.writes[slot]; elsewhere || !slot.Temp || p.results[slot] || len(writers) != 1 || writers[0] >= n || !p.storesAll(writers[0], slot, tensor.Elements(into.Shape)/at.wide*at.block) {
			return
		}
		at.in = into.Slot
		anew[slot] = at
	}
	less, err := p.foreseen(p.Calls[n].Spec)
	if err != nil {
		return
	}
	less += p.target.LaunchInProgram() - p.target.Launch
	at, changed := []int{}, []Call{}
	for i := range p.calls {
		moves := func(v View) bool { _, moves := parts[v.Slot]; return moves }
		if i == n || p.Calls[i].Spec == nil || !slices.ContainsFunc(p.calls[i].Tensors, moves) {
			continue
		}
		one, ok := p.placed(i, anew)
		if !ok {
			return
		}
		was, err := p.foreseen(p.Calls[i].Spec)
		if err != nil {
			return
		}
		is, err := p.foreseen(one.Spec)
		if err != nil {
			return
		}
		less += was - is
		at, changed = append(at, i), append(changed, one)
	}
	if less <= 0 {
		return
	}
	for k, i := range at {
		p.Calls[i] = changed[k]
	}
	p.tell("concat", "%s is where its parts are stored", c.Spec.Name())
	p.Calls[n].Spec, p.places = nil, anew
}

// placed is a launch with its temporaries where they lie in others; false where one cannot lie there.
func (p *placing) placed(n int, places map[Slot]place) (Call, bool) {
	c := p.Calls[n]
	c.Tensors = slices.Clone(c.Tensors)
	for i, o := range p.Calls[n].Spec.Operands() {
		v := p.calls[n].Tensors[i]
		at, moves := places[v.Slot]
		if !moves {
			continue
		}
		for ok := !o.Flat; moves; at, moves = places[v.Slot] {
			if ok {
				v, ok = at.view(v)
			}
			if !ok {
				return c, false
			}
		}
		c.Tensors[i] = v
		c.Spec = withLayout(c.Spec, o.Path, o.Param, func(l *spec.Layout) { *l = p.laid(*l, &v) })
	}
	if _, _, err := build.Kernel(c.Spec, p.target.Name); err != nil {
		return c, false
	}
	apart := true // of one memory with what it stores, a launch would have to read what no block stores
	c.each(func(i int, v *View, mode lang.ParamMode) {
		c.each(func(k int, w *View, _ lang.ParamMode) {
			apart = apart && (mode == lang.In || i == k || v.Slot != w.Slot)
		})
	})
	return c, apart
}

// storesAll reports a launch that stores all of a temporary of so many elements, and does not fill it with zeros first.
func (p *placing) storesAll(n int, slot Slot, elements int64) bool {
	c := &p.calls[n]
	all := false
	c.each(func(i int, v *View, mode lang.ParamMode) {
		if v.Slot == slot {
			all = mode == lang.Out && tensor.Elements(v.Shape) == elements && v.Offset == 0 && v.Contiguous() && !v.DType.Packed() && !slices.Contains(c.Fills, i)
		}
	})
	return all
}

// partsOf gives where a launch stores all of each tensor that it loads, element by element one behind the other along a dimension, and where it stores
// them to; nil where it does anything else.
func (p *placing) partsOf(c *Call) (parts map[Slot]place, into *View) {
	inputs := len(c.Spec.Kernel.Params)
	if len(c.Spec.Fused) > 0 || len(c.Spec.Kernel.Outputs) != 1 || inputs < 2 || len(c.Tensors) != inputs+1 || !p.classOf(c.Spec).elementwise {
		return nil, nil
	}
	f, dims, err := build.Kernel(c.Spec, p.target.Name)
	if err != nil || len(f.Tensors) != inputs+1 || slices.ContainsFunc(f.Body.Ops, func(op *ir.Op) bool { return !copies(op) }) {
		return nil, nil
	}
	into, parts = &c.Tensors[inputs], map[Slot]place{}
	for _, op := range f.Body.Ops {
		if op.Code != lang.OpStore {
			continue
		}
		from := &c.Tensors[slices.Index(f.Tensors, op.Stored().Def.Tensor)]
		at, ok := p.partOf(op, from, into, dims, c.Spec)
		if _, twice := parts[from.Slot]; twice || !ok {
			return nil, nil
		}
		parts[from.Slot] = at
	}
	behind := int64(0)
	for _, at := range slices.SortedFunc(maps.Values(parts), func(a, b place) int { return cmp.Compare(a.begin, b.begin) }) {
		if at.begin != behind {
			return nil, nil
		}
		behind += at.block
	}
	for _, at := range parts {
		if len(parts) != inputs || at.wide != behind {
			return nil, nil
		}
	}
	return parts, into
}

// copies reports what a kernel has that copies: positions, and loads that are there wherever they are stored.
func copies(op *ir.Op) bool {
	switch op.Code {
	case lang.OpIndex, lang.OpStart, lang.OpConst, lang.OpSize, lang.OpAdd, lang.OpMul, lang.OpCast:
		return true
	case lang.OpLoad:
		return !slices.Contains(op.Checked, true) && op.Tensor.Mode == lang.In
	case lang.OpStore:
		return !slices.Contains(op.Checked, true) && op.Stored().Def != nil && op.Stored().Def.Code == lang.OpLoad
	}
	return false
}

// partOf gives where a store has a tensor that is loaded whole; false where that is in no such blocks.
func (p *placing) partOf(store *ir.Op, from, into *View, dims *spec.LaunchDims, s *spec.Spec) (at place, ok bool) {
	if len(from.Shape) != len(into.Shape) || from.Offset != 0 || !from.Contiguous() || from.DType != into.DType {
		return at, false
	}
	along := -1
	var axes []*ir.Axis
	for d, v := range store.Stored().Def.Indices() {
		a, first := positionOf(v, dims, s)
		b, begin := positionOf(store.Indices()[d], dims, s)
		if a == nil || a != b || first != 0 || slices.Contains(axes, a) || positionsOf(a, dims, s) != from.Shape[d] {
			return at, false
		}
		axes = append(axes, a)
		switch {
		case from.Shape[d] == into.Shape[d]:
			if begin != 0 {
				return at, false
			}
		case along >= 0:
			return at, false
		default:
			along, at.begin = d, begin
		}
	}
	if along < 0 {
		return at, false
	}
	inner := tensor.Elements(into.Shape[along+1:])
	at.block, at.wide, at.begin = inner*from.Shape[along], inner*into.Shape[along], inner*at.begin
	return at, at.block > 0
}

// positionOf is an index as a position along an axis, which has all positions of a dimension, and so many more; the axis is nil of anything else.
func positionOf(v *ir.Value, dims *spec.LaunchDims, s *spec.Spec) (a *ir.Axis, more int64) {
	switch op := v.Def; {
	case op == nil:
	case op.Code == lang.OpIndex, op.Code == lang.OpStart && op.Axis.Scalar:
		if op.Axis.Kind == ir.Grid || op.Axis.Kind == ir.Whole && op.Axis.Lo == 0 {
			return op.Axis, 0
		}
	case op.Code == lang.OpCast:
		return positionOf(op.Args[0], dims, s)
	case op.Code == lang.OpAdd:
		for i, arg := range op.Args {
			if n, ok := numberOf(op.Args[1-i], dims, s); ok {
				a, more = positionOf(arg, dims, s)
				return a, more + n
			}
		}
	}
	return nil, 0
}

// numberOf is a value that the sizes of a launch say.
func numberOf(v *ir.Value, dims *spec.LaunchDims, s *spec.Spec) (int64, bool) {
	switch op := v.Def; {
	case op == nil:
	case op.Code == lang.OpConst:
		return op.Const.Int, op.Result().Type.DType.IsInt()
	case op.Code == lang.OpSize && op.Dim.Known():
		return op.Dim.Value, true
	case op.Code == lang.OpSize:
		n, err := dims.Size(op.Dim, s)
		return n, err == nil
	case op.Code == lang.OpCast:
		return numberOf(op.Args[0], dims, s)
	case op.Code == lang.OpAdd, op.Code == lang.OpMul:
		a, ok := numberOf(op.Args[0], dims, s)
		b, too := numberOf(op.Args[1], dims, s)
		if op.Code == lang.OpMul {
			return a * b, ok && too
		}
		return a + b, ok && too
	}
	return 0, false
}
