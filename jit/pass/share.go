package pass

import (
	"fmt"
	"slices"
	"strings"

	"tilec/jit/ir"
	"tilec/lang"
)

// Blocks that share an axis each go through a part of it, and put together what
// they have: `join`. This pass puts joins behind the loops of the source; `stream`
// makes those of the loops that it makes itself.
var share = Pass{
	Name: "share",
	Doc:  "joins what the blocks that share the steps of a loop carry out of it",
	Run: func(f *ir.Func, _ *Options) (bool, error) {
		joined := map[*ir.Axis]bool{}
		var loops []*ir.Op
		f.Walk(func(op *ir.Op) bool {
			switch {
			case op.Code == lang.OpJoin:
				joined[op.Axis] = true
			case op.Code == lang.OpFor && op.Axis != nil && op.Axis.Split > 1 && len(op.Results) > 0:
				loops = append(loops, op)
			}
			return true
		})
		loops = slices.DeleteFunc(loops, func(op *ir.Op) bool { return joined[op.Axis] })
		for _, loop := range loops {
			if err := joinLoop(f, loop); err != nil {
				return false, err
			}
		}
		return len(loops) > 0, nil
	},
	Before: `kernel @k {
  dim N = ?
  tensor %x : in f32[N]
  tensor %y : inout f32[]
  axis k : loop N by B = ? split 4
body:
  %0 = const 0 : i32
  %1 = size N : i32
  %2 = load %y[] : f32
  %3 = for k from %0 to %1 with (%4 = %2) pos %5 : (f32) {
    %6 = index k : i32{k}
    %7 = load %x[%6] : f32{k}
    %8 = sum %7 over k : f32
    %9 = add %4, %8 : f32
    yield %9
  }
  store %y[] = %3
}
`,
	After: `kernel @k {
  dim N = ?
  tensor %x : in f32[N]
  tensor %y : inout f32[]
  axis k : loop N by B = ? split 4
body:
  %0 = const 0 : i32
  %1 = size N : i32
  %2 = load %y[] : f32
  %10 = const 0 : f32
  %3 = for k from %0 to %1 with (%4 = %10) pos %5 : (f32) {
    %6 = index k : i32{k}
    %7 = load %x[%6] : f32{k}
    %8 = sum %7 over k : f32
    %9 = add %4, %8 : f32
    yield %9
  }
  %14 = join %3 of k from %0 to %1 by (%11, %12) : (f32) {
    %13 = add %11, %12 : f32
    yield %13
  }
  %15 = add %2, %14 : f32
  store %y[] = %15
}
`,
}

// SplitError is an axis that blocks cannot share.
type SplitError struct {
	// Axis is its name, or that of a loop that was made of it: j.2 of j.
	Axis string
	Why  string
}

// Error says why blocks cannot share the axis.
func (e *SplitError) Error() string {
	declared, _, _ := strings.Cut(e.Axis, ".")
	return fmt.Sprintf("axis %s cannot be split: %s", declared, e.Why)
}

// joinLoop puts a join behind a loop that adds up: every block starts from what
// changes nothing, and what the loop starts from comes in once, behind the join.
func joinLoop(f *ir.Func, loop *ir.Op) error {
	ops, err := ir.Accumulators(loop)
	if err != nil {
		switch softmax, amiss := ir.FindOnlineSoftmax(loop); {
		case amiss != nil:
			err = amiss
		case softmax != nil && slices.Contains(f.Body.Ops, loop):
			joinSoftmax(f, loop, softmax)
			return nil
		}
		return &SplitError{loop.Axis.Name, err.Error()}
	}
	before := &ir.Builder{Func: f, Block: &ir.Block{}, At: loop.At}
	behind := &ir.Builder{Func: f, Block: &ir.Block{}, At: loop.At}
	m := map[*ir.Value]*ir.Value{}
	for i, r := range loop.Results {
		start := loop.Args[2+i]
		none := neutral(before, ops[i], r.Type)
		have, known := start.IsConst()
		want, _ := none.IsConst()
		joined := join(behind, loop, []*ir.Value{r}, elementwiseJoin(ops[i]), nil)[0]
		if !known || have != want {
			loop.Args[2+i] = none
			joined = behind.Op(ops[i], start, joined)
		}
		joined.Name = r.Name
		m[r] = joined
	}
	f.Body.Replace(m)
	insertAround(f.Body, loop, before.Block.Ops, behind.Block.Ops)
	return nil
}

// joinSoftmax puts joins behind the loop of an online softmax: of the largest score, then of the sums, which each block has rescaled as if
// its next step had found that one.
func joinSoftmax(f *ir.Func, loop *ir.Op, s *ir.OnlineSoftmax) {
	b := &ir.Builder{Func: f, Block: &ir.Block{}, At: loop.At}
	part := loop.Results[s.Largest]
	largest := join(b, loop, []*ir.Value{part}, elementwiseJoin(lang.OpMax), nil)[0]
	factor := s.Rescaling(b, part, largest)
	m := map[*ir.Value]*ir.Value{}
	for _, r := range loop.Results {
		if r != part {
			m[r] = b.Op(lang.OpMul, r, factor)
		}
	}
	for _, r := range loop.Results {
		if r != part {
			m[r] = join(b, loop, []*ir.Value{m[r]}, elementwiseJoin(lang.OpAdd), nil)[0]
			m[r].Name = r.Name
		}
	}
	m[part], largest.Name = largest, part.Name
	f.Body.Replace(m)
	insertAround(f.Body, loop, nil, b.Block.Ops)
}

// insertAround puts operations before and behind one.
func insertAround(b *ir.Block, op *ir.Op, before, behind []*ir.Op) bool {
	if i := slices.Index(b.Ops, op); i >= 0 {
		b.Ops = slices.Concat(b.Ops[:i], before, []*ir.Op{op}, behind, b.Ops[i+1:])
		return true
	}
	for _, o := range b.Ops {
		for _, inner := range o.Blocks {
			if insertAround(inner, op, before, behind) {
				return true
			}
		}
	}
	return false
}

// joiner emits the function of a join on scalars: x is of the earlier part, y of the later one.
type joiner func(b *ir.Builder, x, y []*ir.Value) []*ir.Value

// elementwiseJoin joins by an operation of two values.
func elementwiseJoin(op lang.Op) joiner {
	return func(b *ir.Builder, x, y []*ir.Value) []*ir.Value { return []*ir.Value{b.Op(op, x[0], y[0])} }
}

// join emits the join of tiles that a loop gives, in every block those of its part.
// using are scalars that come as further values of y.
func join(b *ir.Builder, loop *ir.Op, tiles []*ir.Value, fn joiner, using []*ir.Value) []*ir.Value {
	f := &ir.Block{}
	for _, v := range slices.Concat(tiles, tiles, using) {
		f.Params = append(f.Params, b.Func.NewValue(ir.Scalar(v.Type.DType), nil))
	}
	inside := &ir.Builder{Func: b.Func, Block: f, At: b.At}
	f.Yield = fn(inside, f.Params[:len(tiles)], f.Params[len(tiles):])
	return b.Emit(&ir.Op{Code: lang.OpJoin, Axis: loop.Axis, Args: slices.Concat(tiles, loop.Args[:2], using), Fn: f})
}

// neutral is the tile that changes nothing when it is combined.
func neutral(b *ir.Builder, op lang.Op, t ir.Type) *ir.Value {
	switch op {
	case lang.OpMul, lang.OpLogicAnd:
		return constant(b, t, ir.Const{Int: 1, Float: 1})
	case lang.OpAnd:
		return constant(b, t, ir.Const{Int: -1})
	case lang.OpMax:
		return first(b, t, lowest)
	case lang.OpMin:
		return first(b, t, highest)
	}
	return constant(b, t, ir.Const{})
}
