package pass

import (
	"fmt"
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// A take moves towards what its tile is computed from: of a load it becomes part
// of the index, of positions it is the positions that it takes, and of an
// elementwise operation it is the operation on what it takes of the operands. So
// a split or a slice of what is loaded costs nothing. What remains is taken from
// tiles that reductions, contractions and loops leave behind.
var sink = Pass{
	Name:  "sink",
	Doc:   "moves takes into the indices of loads and past elementwise operations",
	Cheap: true,
	Run: func(f *ir.Func, o *Options) (bool, error) {
		s := &sinker{others: otherUses(f), always: o.Recompute}
		return rewrite(f, func(b *ir.Builder, op *ir.Op) ([]*ir.Value, bool) {
			if op.Code != lang.OpTake {
				return nil, false
			}
			s.done = map[string]*ir.Value{}
			if v := s.sink(b, op); v != nil {
				return []*ir.Value{v}, true
			}
			return nil, false
		}), nil
	},
	Before: `kernel @k {
  dim M = ?
  dim D = 12
  tensor %x : in f32[M, D]
  tensor %y : out f32[M, D]
  axis i : grid M by B = ?
  axis d : whole D[0 .. 12]
  axis h : whole [0 .. 3]
  axis e : whole [0 .. 4]
body:
  %0 = index i : i32{i}
  %1 = index d : i32{d}
  %2 = load %x[%0, %1] : f32{i, d}
  %3 = exp %2 : f32{i, d}
  %4 = index h : i32{h}
  %5 = const 4 : i32
  %6 = mul %4, %5 : i32{h}
  %7 = index e : i32{e}
  %8 = add %6, %7 : i32{h, e}
  %9 = take %3[d = %8] : f32{i, h, e}
  store %y[%0, %8] = %9
}
`,
	After: `kernel @k {
  dim M = ?
  dim D = 12
  tensor %x : in f32[M, D]
  tensor %y : out f32[M, D]
  axis i : grid M by B = ?
  axis d : whole D[0 .. 12]
  axis h : whole [0 .. 3]
  axis e : whole [0 .. 4]
body:
  %0 = index i : i32{i}
  %1 = index d : i32{d}
  %2 = load %x[%0, %1] : f32{i, d}
  %3 = exp %2 : f32{i, d}
  %4 = index h : i32{h}
  %5 = const 4 : i32
  %6 = mul %4, %5 : i32{h}
  %7 = index e : i32{e}
  %8 = add %6, %7 : i32{h, e}
  %10 = load %x[%0, %8] : f32{i, h, e}
  %11 = exp %10 : f32{i, h, e}
  store %y[%0, %8] = %11
}
`,
}

// sinker moves the takes of a kernel.
type sinker struct {
	// others has the values that more is wanted of than what takes read.
	others map[*ir.Value]bool
	// always: past elementwise operations whatever that costs.
	always bool
	// done is what stands for the takes that moving one take makes, by what they take.
	done map[string]*ir.Value
}

// otherUses finds the values that something other than a take needs: directly,
// or through elementwise operations.
func otherUses(f *ir.Func) map[*ir.Value]bool {
	others := map[*ir.Value]bool{}
	mark := func(vs []*ir.Value) {
		for _, v := range vs {
			others[v] = true
		}
	}
	var block func(b *ir.Block)
	block = func(b *ir.Block) {
		mark(b.Yield)
		for _, op := range slices.Backward(b.Ops) { // users come after what they use
			for _, inner := range op.Blocks {
				block(inner)
			}
			switch {
			case op.Code == lang.OpTake:
				mark(op.Taken())
			case op.Code.Row().Elementwise && !others[op.Result()], op.Code == lang.OpFull && !others[op.Result()]:
			default:
				mark(op.Args)
			}
		}
	}
	block(f.Body)
	return others
}

// sink gives what a take is when it moves past the operation that makes its tile; nil when it stays.
func (s *sinker) sink(b *ir.Builder, op *ir.Op) *ir.Value {
	if v := s.untaken(b, op); v != nil {
		return v
	}
	x := op.Args[0]
	def := x.Def
	if def == nil || len(def.Results) != 1 {
		return nil
	}
	switch {
	case def.Code == lang.OpTake:
		return s.composed(b, op, def)
	case def.Code == lang.OpIndex:
		return op.Args[1]
	case def.Code == lang.OpFull:
		return b.Emit(&ir.Op{Code: lang.OpFull, Args: []*ir.Value{s.within(b, op, def.Args[0])}, Axes: op.Result().Type.Axes})[0]
	case def.Code == lang.OpRename && slices.Contains(op.Axes, def.Axis):
		return s.renamed(b, op, def)
	case def.Code == lang.OpLoad && def.Tensor.ReadOnly(), def.Code.Row().Elementwise && (s.always || s.pays(op, x) || isPosition(x, maxPosition)):
		return s.past(b, op, def)
	}
	return nil
}

// take is a take that has moved as far as it goes.
func (s *sinker) take(b *ir.Builder, x *ir.Value, axes []*ir.Axis, positions []*ir.Value) *ir.Value {
	if len(axes) == 0 {
		return x
	}
	key := fmt.Sprint(x.ID)
	types := make([]ir.Type, len(axes))
	for i, p := range positions {
		key += fmt.Sprintf(" %q=%d", axes[i].Name, p.ID)
		types[i] = p.Type
	}
	if v := s.done[key]; v != nil {
		return v
	}
	op := &ir.Op{Code: lang.OpTake, Args: append([]*ir.Value{x}, positions...), Axes: axes, At: b.At}
	op.Results = []*ir.Value{{Type: ir.Type{DType: x.Type.DType, Axes: ir.TakeAxes(x.Type, axes, types)}, Def: op}}
	v := s.sink(b, op)
	if v == nil {
		v = b.Take(x, axes, positions)
	}
	s.done[key] = v
	return v
}

// untaken drops axes that are taken in their own order; nil when there are none.
func (s *sinker) untaken(b *ir.Builder, op *ir.Op) *ir.Value {
	var axes []*ir.Axis
	var positions []*ir.Value
	for i, a := range op.Axes {
		p := op.Taken()[i]
		if p.Def == nil || p.Def.Code != lang.OpIndex || p.Def.Axis != a {
			axes, positions = append(axes, a), append(positions, p)
		}
	}
	if len(axes) == len(op.Axes) {
		return nil
	}
	return s.take(b, op.Args[0], axes, positions)
}

// within takes from v those of the op's axes that v has.
func (s *sinker) within(b *ir.Builder, op *ir.Op, v *ir.Value) *ir.Value {
	var axes []*ir.Axis
	var positions []*ir.Value
	for i, a := range op.Axes {
		if v.Type.Has(a) {
			axes, positions = append(axes, a), append(positions, op.Taken()[i])
		}
	}
	return s.take(b, v, axes, positions)
}

// past is the operation on what the take takes of its operands.
func (s *sinker) past(b *ir.Builder, op, def *ir.Op) *ir.Value {
	c := *def
	c.Args = make([]*ir.Value, len(def.Args))
	for i, a := range def.Args {
		c.Args[i] = s.within(b, op, a)
	}
	c.Results, c.At = nil, def.At
	if def.HasOwnType() {
		t := op.Result().Type
		c.Results = []*ir.Value{b.Func.NewValue(t, &c)}
		b.Block.Ops = append(b.Block.Ops, &c)
		return c.Results[0]
	}
	return b.Emit(&c)[0]
}

// composed is a take of a take.
func (s *sinker) composed(b *ir.Builder, op, inner *ir.Op) *ir.Value {
	x := inner.Args[0]
	axes := slices.Clone(inner.Axes)
	positions := make([]*ir.Value, len(axes))
	for i, p := range inner.Taken() {
		positions[i] = s.within(b, op, p)
	}
	for i, a := range op.Axes {
		if x.Type.Has(a) && !slices.Contains(inner.Axes, a) {
			axes, positions = append(axes, a), append(positions, op.Taken()[i])
		}
	}
	return s.take(b, x, axes, positions)
}

// renamed is a take of a rename, from an axis that has the new name.
func (s *sinker) renamed(b *ir.Builder, op, def *ir.Op) *ir.Value {
	axes, positions := slices.Clone(op.Axes), slices.Clone(op.Taken())
	i := slices.Index(axes, def.Axis)
	if by := def.From.Lo - def.Axis.Lo; by != 0 {
		positions[i] = b.Op(lang.OpAdd, positions[i], b.Position(def.Axis, by))
	}
	positions[i] = b.Cast(positions[i], def.From.Counts())
	axes[i] = def.From
	return s.take(b, def.Args[0], axes, positions)
}

// pays reports that computing what is taken costs no more than computing the
// tile: nothing else needs that, and no more elements are taken than there are.
func (s *sinker) pays(op *ir.Op, x *ir.Value) bool {
	if s.others[x] {
		return false
	}
	before, after := int64(1), int64(1)
	for _, a := range op.Axes {
		before *= a.Len
	}
	for _, a := range ir.Without(op.Result().Type.Axes, ir.Without(x.Type.Axes, op.Axes)) {
		n := a.Len
		if a.Kind != ir.Whole {
			if !a.Dim.Known() {
				return false
			}
			n = a.Dim.Value
		}
		after *= n
	}
	return after <= before
}

// maxPosition is how deep the arithmetic of a position may be that is computed again.
const maxPosition = 8

// isPosition reports simple arithmetic and comparisons of positions of axes.
func isPosition(v *ir.Value, depth int) bool {
	def := v.Def
	if v.Type.IsScalar() {
		return true
	}
	if def == nil || depth == 0 {
		return false
	}
	switch def.Code.Row().Group {
	case lang.GroupCompare, lang.GroupLogic, lang.GroupSelect:
	default:
		switch def.Code {
		case lang.OpIndex:
			return true
		case lang.OpFull, lang.OpAdd, lang.OpSub, lang.OpMul, lang.OpDiv, lang.OpMod, lang.OpMin, lang.OpMax:
		default:
			return false
		}
	}
	return !slices.ContainsFunc(def.Args, func(a *ir.Value) bool { return !isPosition(a, depth-1) })
}
