package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// RangesParameter is by what name the number of ranges that a block has side by side is pinned.
const RangesParameter = "ranges"

// RangesAtOnce are the numbers of ranges that a block may have.
var RangesAtOnce = []int64{2, 4, 8, 16, 32, 64, 128, 256}

// Where each position of the grid has a range that is read from memory, as each row of a sparse matrix has, a block for each is much ado
// about few elements: blocks have to be launched, and most of what a block does is to wait for where its range begins. So a block
// takes several positions of the grid, whose ranges it goes through side by side: as many steps as the longest of them needs, at positions
// counted from where each begins. What lies behind the end of a range adds nothing.
//
// It can be done where the loops over ranges load and reduce, and each step adds to what they carry. Stores, atomics and whatever else tells
// steps apart stay with one range a block.
var ranges = Pass{
	Name: "ranges",
	Doc:  "gives a block several ranges that are read from memory side by side, as the planner asks",
	Run: func(f *ir.Func, o *Options) (bool, error) {
		return o.Ranges && several(f), nil
	},
	Ranges: true,
	Before: `kernel @k {
  dim Z = ?
  dim M1 = ?
  dim M = ?
  tensor %first : in i32[M1]
  tensor %value : in f32[Z]
  tensor %y : out f32[M]
  axis i : grid scalar M
  axis r : loop Z by BR = ?
body:
  %0 = start i : i32
  %1 = load %first[%0] : i32
  %2 = const 1 : i32
  %3 = add %0, %2 : i32
  %4 = load %first[%3] : i32
  %5 = const 0 : f32
  %6 = for r from %1 to %4 with (%7 = %5) pos %8 : (f32) {
    %9 = index r : i32{r}
    %10 = load %value[%9] : f32{r}
    %11 = sum %10 over r : f32
    %12 = add %7, %11 : f32
    yield %12
  }
  store %y[%0] = %6
}
`,
	After: `kernel @k {
  dim Z = ?
  dim M1 = ?
  dim M = ?
  tensor %first : in i32[M1]
  tensor %value : in f32[Z]
  tensor %y : out f32[M]
  axis i : grid M by ranges = ? in {2, 4, 8, 16, 32, 64, 128, 256}
  axis r : loop Z by BR = ?
body:
  %13 = index i : i32{i}
  %14 = load %first[%13] : i32{i}
  %15 = const 1 : i32
  %16 = add %13, %15 : i32{i}
  %17 = load %first[%16] : i32{i}
  %18 = const 0 : f32
  %19 = const 0 : i32
  %20 = const -1 : i32
  %21 = lt %14, %17 : bool{i}
  %22 = sub %17, %14 : i32{i}
  %23 = where %21, %22, %19 : i32{i}
  %24 = reduce_max %23 over i : i32
  %26 = full %18 : f32{i}
  %40 = for r from %19 to %24 with (%27 = %26) pos %25 : (f32{i}) {
    %28 = index r : i32{r}
    %29 = lt %28, %23 : bool{r, i}
    %30 = add %14, %28 : i32{i, r}
    %31 = where %29, %30, %20 : i32{r, i}
    %32 = start r : i32
    %33 = lt %32, %23 : bool{i}
    %34 = const 0 : f32
    %35 = load %value[?%31] else %34 : f32{r, i}
    %36 = const 0 : f32
    %37 = where %29, %35, %36 : f32{r, i}
    %38 = sum %37 over r : f32{i}
    %39 = add %27, %38 : f32{i}
    yield %39
  }
  store %y[%13] = %40
}
`,
}

// several rewrites the kernel where it can be done.
func several(f *ir.Func) bool {
	axis := rangedAxis(f)
	if axis == nil {
		return false
	}
	side := &sideBySide{f: f, axis: axis, at: map[*ir.Value]*ir.Value{}}
	axis.Scalar, axis.Tile, axis.Extent, axis.Choices = false, RangesParameter, 0, slices.Clone(RangesAtOnce)
	out := &ir.Block{}
	side.block(&ir.Builder{Func: f, Block: out}, f.Body)
	f.Body = out
	return true
}

// HasRanges reports a kernel whose blocks have one range each, and could have several.
func HasRanges(f *ir.Func) bool { return rangedAxis(f) != nil }

// rangedAxis is the axis of the grid each of whose positions has ranges that are read from memory, where a block can have several of
// them; nil where there is none.
func rangedAxis(f *ir.Func) *ir.Axis {
	if slices.ContainsFunc(f.Axes, func(a *ir.Axis) bool { return a.Name == RangesParameter || a.Tile == RangesParameter }) {
		return nil
	}
	for _, axis := range f.Axes {
		if axis.Kind == ir.Grid && axis.Scalar && axis.Ranges == nil && !f.HasRange(axis) {
			if c := (&checker{axis: axis, follows: map[*ir.Value]bool{}, loaded: map[*ir.Value]bool{}}); c.block(f.Body, nil) && c.loops > 0 {
				return axis
			}
		}
	}
	return nil
}

// checker finds out whether a block may have several positions of an axis.
type checker struct {
	axis *ir.Axis
	// follows are the values that differ from position to position, loaded those of which something is loaded; loops is how many loops there
	// are over ranges that do.
	follows, loaded map[*ir.Value]bool
	loops           int
}

// block checks the operations of a block, in the loops over ranges of these axes.
func (c *checker) block(b *ir.Block, ranged []*ir.Axis) bool {
	for _, op := range b.Ops {
		if !c.op(op, ranged) {
			return false
		}
	}
	return true
}

func (c *checker) op(op *ir.Op, ranged []*ir.Axis) bool {
	differs := op.Code == lang.OpStart && op.Axis == c.axis || slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return c.follows[v] })
	loads := op.Code == lang.OpLoad || slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return c.loaded[v] })
	for _, r := range op.Results {
		c.follows[r], c.loaded[r] = differs || len(ranged) > 0, loads
	}
	group := op.Code.Row().Group
	switch {
	case op.Code == lang.OpFor:
		bounds := c.follows[op.Args[0]] || c.follows[op.Args[1]]
		body := op.Blocks[0]
		if op.Axis == nil || op.Reverse || len(ranged) > 0 || op.Axis.Split > 1 {
			return false
		}
		if bounds && !(c.loaded[op.Args[0]] && c.loaded[op.Args[1]]) {
			return false
		}
		if !bounds {
			for i := range op.Results {
				c.follows[op.Results[i]], c.follows[body.Params[i+1]] = true, true
			}
			return c.block(body, nil)
		}
		c.loops++
		for _, v := range body.Params {
			c.follows[v] = true
		}
		if _, err := ir.Accumulators(op); err != nil {
			return false
		}
		return uses(body, body.Params[0]) == 0 && c.block(body, []*ir.Axis{op.Axis})
	case op.Code == lang.OpStart || op.Code == lang.OpEnd:
		return op.Code == lang.OpStart && op.Axis == c.axis || op.Axis != c.axis && !slices.Contains(ranged, op.Axis)
	case op.Code == lang.OpStore: // each position stores its own
		return len(ranged) == 0 && slices.ContainsFunc(op.Indices(), func(v *ir.Value) bool {
			return v.Def != nil && v.Def.Code == lang.OpStart && v.Def.Axis == c.axis
		})
	case op.Code == lang.OpLoad:
		return op.Tensor.ReadOnly()
	case op.Code.Row().Elementwise || op.Code == lang.OpConst || op.Code == lang.OpFull || op.Code == lang.OpIndex || op.Code == lang.OpSize || op.Code == lang.OpCast:
		return true
	case group == lang.GroupReduce:
		_, masked := nothing[op.Code]
		return !op.Combines() && (masked || len(ir.Without(op.Over, ranged)) == len(op.Over))
	}
	return false
}

func uses(b *ir.Block, v *ir.Value) (n int) {
	b.Walk(func(op *ir.Op) bool {
		for _, a := range op.Args {
			if a == v {
				n++
			}
		}
		return true
	})
	return n
}

// nothing is what an element must be to change nothing of a reduction, by the reduction, and adding is the operation that adds a part to such a one.
var nothing = map[lang.Op]func(lang.DType) ir.Const{
	lang.OpSum: func(lang.DType) ir.Const { return ir.Const{} }, lang.OpProd: func(lang.DType) ir.Const { return ir.Const{Int: 1, Float: 1} },
	lang.OpReduceMax: lowest, lang.OpReduceMin: highest,
	lang.OpAny: func(lang.DType) ir.Const { return ir.Const{} }, lang.OpAll: func(lang.DType) ir.Const { return ir.Const{Int: 1} },
}

var adding = map[lang.Op]lang.Op{lang.OpSum: lang.OpAdd, lang.OpProd: lang.OpMul, lang.OpReduceMax: lang.OpMax, lang.OpReduceMin: lang.OpMin,
	lang.OpAny: lang.OpLogicOr, lang.OpAll: lang.OpLogicAnd}

// sideBySide makes a kernel anew whose blocks have several positions of an axis.
type sideBySide struct {
	f    *ir.Func
	axis *ir.Axis
	// at is what stands for a value of the kernel before.
	at map[*ir.Value]*ir.Value
	// In a loop over ranges: its axis, the places in the tensors' dimension, which elements are in their range, and which ranges have any
	// of the step.
	loop                  *ir.Axis
	places, inside, lasts *ir.Value
}

func (s *sideBySide) values(vs []*ir.Value) []*ir.Value {
	out := make([]*ir.Value, len(vs))
	for i, v := range vs {
		if out[i] = s.at[v]; out[i] == nil {
			out[i] = v
		}
	}
	return out
}

func (s *sideBySide) block(b *ir.Builder, old *ir.Block) {
	for _, op := range old.Ops {
		b.At = op.At
		for i, v := range s.op(b, op) {
			if v.Name == "" {
				v.Name = op.Results[i].Name
			}
			s.at[op.Results[i]] = v
		}
	}
}

func (s *sideBySide) op(b *ir.Builder, op *ir.Op) []*ir.Value {
	args := s.values(op.Args)
	switch {
	case op.Code == lang.OpStart && op.Axis == s.axis:
		return b.Emit(&ir.Op{Code: lang.OpIndex, Axis: s.axis})
	case op.Code == lang.OpIndex && op.Axis == s.loop:
		return []*ir.Value{s.places}
	case op.Code == lang.OpFor && args[0].Type.IsScalar() && args[1].Type.IsScalar():
		return s.steps(b, op, args, func(*ir.Builder) {})
	case op.Code == lang.OpFor:
		return s.ranges(b, op, args)
	case op.Code == lang.OpLoad:
		return []*ir.Value{s.load(b, op, args)}
	}
	c := *op
	c.Args, c.Results = args, nil
	switch {
	case op.Code == lang.OpFull:
		c.Axes = ir.Union(args[0].Type, ir.Type{Axes: op.Axes})
	case op.HasOwnType():
		t := op.Result().Type
		for _, a := range args {
			t.Axes = a.Type.Axes
		}
		c.Results = []*ir.Value{s.f.NewValue(t, &c)}
		b.Block.Ops = append(b.Block.Ops, &c)
		return c.Results
	case nothing[op.Code] != nil && slices.Contains(op.Over, s.loop):
		c.Args = []*ir.Value{b.Op(lang.OpWhere, s.inside, args[0], first(b, ir.Scalar(args[0].Type.DType), nothing[op.Code]))}
	}
	return b.Emit(&c)
}

// load reads nothing behind the end of a range.
func (s *sideBySide) load(b *ir.Builder, op *ir.Op, args []*ir.Value) *ir.Value {
	c := *op
	c.Args, c.Results, c.Checked = args, nil, slices.Clone(op.Checked)
	for i := range op.Indices() {
		c.Checked[i] = c.Checked[i] || s.loop != nil && args[i].Type.Has(s.loop)
	}
	if op.Else() == nil && slices.Contains(c.Checked, true) {
		c.Args = append(c.Args, b.Const(op.Tensor.DType, ir.Const{}))
	}
	return b.Emit(&c)[0]
}

// ranges makes a loop over ranges that begin and end where their own bounds say.
func (s *sideBySide) ranges(b *ir.Builder, op *ir.Op, args []*ir.Value) []*ir.Value {
	from, to := args[0], args[1]
	zero, outside := b.Position(op.Axis, 0), b.Position(op.Axis, -1)
	// A range that ends before it begins has no positions; the difference might be more than fits.
	length := b.Op(lang.OpWhere, b.Op(lang.OpLt, from, to), b.Op(lang.OpSub, to, from), zero)
	longest := b.Emit(&ir.Op{Code: lang.OpReduceMax, Args: []*ir.Value{length}, Over: []*ir.Axis{s.axis}})[0]
	s.loop = op.Axis
	results := s.steps(b, op, append([]*ir.Value{zero, longest}, args[2:]...), func(in *ir.Builder) {
		step := in.Emit(&ir.Op{Code: lang.OpIndex, Axis: op.Axis})[0]
		s.inside = in.Op(lang.OpLt, step, length)
		s.places = in.Op(lang.OpWhere, s.inside, in.Op(lang.OpAdd, from, step), outside)
		s.lasts = in.Op(lang.OpLt, in.Emit(&ir.Op{Code: lang.OpStart, Axis: op.Axis})[0], length)
	})
	s.loop, s.places, s.inside, s.lasts = nil, nil, nil, nil
	return results
}

// steps makes a loop of which each position carries values of its own.
func (s *sideBySide) steps(b *ir.Builder, op *ir.Op, args []*ir.Value, begin func(*ir.Builder)) []*ir.Value {
	loop := &ir.Op{Code: lang.OpFor, Axis: op.Axis, At: op.At, Args: slices.Clone(args[:2])}
	old, body := op.Blocks[0], &ir.Block{}
	in := &ir.Builder{Func: s.f, Block: body, At: op.At}
	add := func(v *ir.Value, t ir.Type) {
		p := s.f.NewValue(t, nil)
		p.Name, s.at[v] = v.Name, p
		body.Params = append(body.Params, p)
	}
	add(old.Params[0], old.Params[0].Type)
	for i, v := range args[2:] {
		v = b.Broadcast(v, ir.Union(ir.Type{Axes: []*ir.Axis{s.axis}}, v.Type))
		loop.Args = append(loop.Args, v)
		add(old.Params[i+1], v.Type)
	}
	begin(in)
	s.block(in, old)
	for i, y := range s.values(old.Yield) {
		if s.lasts != nil && !addsReduction(old.Yield[i]) {
			y = in.Op(lang.OpWhere, s.lasts, y, body.Params[i+1])
		}
		body.Yield = append(body.Yield, in.Broadcast(y, body.Params[i+1].Type.Axes))
	}
	loop.Blocks = []*ir.Block{body}
	return b.Emit(loop)
}

// addsReduction reports what a loop carries that gets nothing from a step without elements: a reduction of those is added to it.
func addsReduction(v *ir.Value) bool {
	return v.Def != nil && slices.ContainsFunc(v.Def.Args, func(part *ir.Value) bool {
		return part.Def != nil && nothing[part.Def.Code] != nil && adding[part.Def.Code] == v.Def.Code
	})
}
