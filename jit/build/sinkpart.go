package build

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
)

// sinkOfPart puts what part computes of an element of a part of the tensor behind the store of that: at the positions that
// are in that part. Where whole blocks are in it or not, as of a head's columns, the others skip it. Elsewhere it stores nothing
// outside of the part, as a store outside of its tensor does.
func (j *joining) sinkOfPart(store *ir.Op, loads []*ir.Op, axes, of []*ir.Axis) {
	j.declare(nil)
	if j.expands != nil {
		j.expand(axes, of, j.expands)
	}
	j.insert(store, func() *ir.Value {
		j.keepRest(store)
		within := map[*ir.Axis]bool{} // axes all of whose positions are there
		var inside *ir.Value
		and := func(c *ir.Value) {
			if inside != nil {
				c = j.Op(lang.OpLogicAnd, inside, c)
			}
			inside = c
		}
		positions := make([]*ir.Value, len(of))
		alone := j.alone(of) // dimensions of one element
		for k, p := range j.parts {
			at := store.Args[k]
			if at.Type.DType != lang.I32 {
				unfit("%s has more elements than i32 counts", j.from.Name)
			}
			if run := j.runOf(at, p); run != nil {
				j.byRuns(run, at, p, positions, and)
				for _, d := range p.Dims {
					within[of[d]] = true
				}
				continue
			}
			if len(p.Dims) == 0 && !p.All && at.Type.IsScalar() {
				and(j.Op(lang.OpEq, at, j.Int(p.Begin)))
				continue
			}
			if p.Begin > 0 {
				at = j.Op(lang.OpSub, at, j.Int(p.Begin))
				and(j.Op(lang.OpGe, at, j.Int(0)))
			}
			for n := range slices.Backward(p.Dims) {
				d := p.Dims[n]
				within[of[d]] = p.All
				size := j.size(j.dims[j.from.Shape[d]])
				if n > 0 {
					positions[d], at = j.Op(lang.OpMod, at, size), j.Op(lang.OpDiv, at, size)
					continue
				}
				positions[d] = at
				if !p.All {
					and(j.Op(lang.OpLt, at, size))
				}
			}
			switch {
			case len(p.Dims) > 0:
			case p.All && len(alone) > 0: // what is stored has the axis of one element, and so must have the places
				positions[alone[0]] = at
				within[of[alone[0]]] = true
				alone = alone[1:]
			default:
				and(j.Op(lang.OpEq, at, j.Int(0)))
			}
		}
		for d, a := range of {
			if positions[d] == nil { // of one element
				positions[d], within[a] = j.Int(0), true
			}
			j.stand(a, positions[d])
		}
		j.refuseLoadsElsewhere(within)
		for _, load := range loads {
			j.values[load.Result()] = j.covering(store.Stored(), store.AccessAxes())
		}
		if inside != nil && inside.Type.IsScalar() {
			j.under(inside, func() {
				for _, op := range j.part.Body.Ops {
					if op.Tensor != j.from {
						j.emit(op, j.value)
					}
				}
				j.asEarly()
			})
			return nil
		}
		for _, op := range j.part.Body.Ops {
			if op.Tensor == j.from {
				continue
			}
			if op.Code != lang.OpStore || inside == nil {
				j.emit(op, j.value)
				continue
			}
			first := op.Args[0]
			if op.Tensor.Shape[0].Wide {
				unfit("%s has more elements than i32 counts", op.Tensor.Name)
			}
			c := *op
			c.Checked = slices.Clone(op.Checked)
			c.Checked[0] = true
			j.emit(&c, func(v *ir.Value) *ir.Value {
				if v != first {
					return j.value(v)
				}
				return j.Op(lang.OpWhere, inside, j.value(v), j.Int(-1))
			})
		}
		return nil
	})
}

// keepRest puts the store of the tensor back, of those blocks whose positions others read.
func (j *joining) keepRest(store *ir.Op) {
	keep := func() { j.Block.Ops = append(j.Block.Ops, store) }
	r := j.rest
	if r.Count == 0 || !store.Args[r.Dim].Type.IsScalar() {
		keep()
		return
	}
	at := store.Args[r.Dim]
	if r.Count == 1 {
		j.under(j.Op(lang.OpEq, at, j.Int(r.Begin)), keep)
		return
	}
	j.under(j.Op(lang.OpLogicAnd, j.Op(lang.OpGe, at, j.Int(r.Begin)), j.Op(lang.OpLt, at, j.Int(r.Begin+r.Count))), keep)
}

// alone lists the dimensions of the part that none of the tensor's are made of: they have one element.
func (j *joining) alone(of []*ir.Axis) (alone []int) {
	for d := range of {
		if !slices.ContainsFunc(j.parts, func(p spec.Part) bool { return slices.Contains(p.Dims, d) }) {
			alone = append(alone, d)
		}
	}
	return alone
}

// runOf is where the run of positions begins that a block has a part of, where these runs are the last dimension of a part of the
// tensor: a block then has one position along the part's other dimensions. It is nil where that is not known.
func (j *joining) runOf(at *ir.Value, p spec.Part) *ir.Value {
	def := at.Def
	if p.All && len(p.Dims) == 1 || def == nil || def.Code != lang.OpIndex || def.Axis.Kind != ir.Grid || def.Axis.Scalar || len(p.Dims) == 0 {
		return nil
	}
	size := j.dims[j.from.Shape[p.Dims[len(p.Dims)-1]]]
	n := size.Value
	if !size.Known() || n < shortestRun || p.Begin%n != 0 || def.Axis.Dim.Multiple()%n != 0 || def.Axis.Extent > 0 && n%def.Axis.Extent != 0 {
		return nil
	}
	return j.Emit(&ir.Op{Code: lang.OpStart, Axis: def.Axis, Span: n})[0]
}

// shortestRun is how many positions a run has at least that blocks are cut by: shorter ones would make them small.
const shortestRun = 32

// byRuns gives the positions along the dimensions of a part, of which a block has one run, and says when the run is in the part.
func (j *joining) byRuns(run, at *ir.Value, p spec.Part, positions []*ir.Value, and func(*ir.Value)) {
	size := func(n int) *ir.Value { return j.size(j.dims[j.from.Shape[p.Dims[n]]]) }
	last := len(p.Dims) - 1
	positions[p.Dims[last]] = j.Op(lang.OpSub, at, run)
	all := size(last)
	for n := range last {
		all = j.Op(lang.OpMul, all, size(n))
	}
	rest := run
	if p.Begin > 0 {
		rest = j.Op(lang.OpSub, run, j.Int(p.Begin))
		and(j.Op(lang.OpGe, rest, j.Int(0)))
	}
	and(j.Op(lang.OpLt, rest, all))
	rest = j.Op(lang.OpDiv, rest, size(last))
	for n := last - 1; n > 0; n-- {
		positions[p.Dims[n]] = j.Op(lang.OpMod, rest, size(n))
		rest = j.Op(lang.OpDiv, rest, size(n))
	}
	if last > 0 {
		positions[p.Dims[0]] = rest
	}
}

// under builds operations that are done where a condition holds.
func (j *joining) under(condition *ir.Value, build func()) {
	outer := j.Block
	j.Block = &ir.Block{}
	build()
	inside := j.Block
	j.Block = outer
	j.Emit(&ir.Op{Code: lang.OpIf, Args: one(condition), Blocks: []*ir.Block{inside, {}}})
}

// asEarly moves scalars of the block that is being built, as where a sequence begins in a cache, to where what they are made of is there: they
// are read while a product is computed, and not behind it.
func (j *joining) asEarly() {
	j.Block.Ops = slices.DeleteFunc(j.Block.Ops, func(op *ir.Op) bool {
		if len(op.Results) != 1 || !op.Result().Type.IsScalar() {
			return false
		}
		early := &ir.Builder{Func: j.f, Block: &ir.Block{}, At: op.At}
		at := 0
		for i, v := range op.Args {
			n := slices.Index(j.f.Body.Ops, v.Def)
			if c, known := v.IsConst(); n < 0 && known && v.Type.DType == lang.I32 {
				op.Args[i] = early.Int(c.Int)
			} else if n < 0 && v.Def != nil {
				return false
			}
			at = max(at, n+1)
		}
		j.f.Body.Ops = slices.Insert(j.f.Body.Ops, at, append(early.Block.Ops, op)...)
		return true
	})
}

// size is a dimension of f as an i32.
func (j *joining) size(d *ir.Dim) *ir.Value {
	if d.Wide {
		unfit("dimension %s has more positions than i32 counts", d.Name)
	}
	if d.Known() {
		return j.Int(d.Value)
	}
	return j.Emit(&ir.Op{Code: lang.OpSize, Dim: d})[0]
}

// refuseLoadsElsewhere refuses loads at positions that are there only within the part.
func (j *joining) refuseLoadsElsewhere(within map[*ir.Axis]bool) {
	outside := map[*ir.Value]bool{}
	for _, op := range j.part.Body.Ops {
		depends := op.Axis != nil && !within[op.Axis] || slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return outside[v] })
		if depends && op.Code == lang.OpLoad && op.Tensor != j.from {
			unfit("%s reads %s beside the part", j.part.Name, op.Tensor.Name)
		}
		for _, r := range op.Results {
			outside[r] = depends
		}
	}
}
