package pass

import (
	"math"
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// A softmax goes through an axis twice and more: for the largest score, for the sum of weights relative to it, for what the weights are multiplied with. Where the
// scores are a product, each time makes it anew. But a weight relative to the largest score so far is one relative to the largest of all, times a
// number of the row alone; so one loop does for all, which makes what it has added up smaller where a step finds a larger score
// (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018). It is the loop that ir.FindOnlineSoftmax knows, as people write it.
//
// The results are the same up to the order of sums, roundings of weights to 16 bits among them: a weight is rounded relative to another largest score, and where it is divided
// first by the sum of all, before that. A row whose scores are all -inf has NaN as before.
var online = Pass{
	Name:   "online",
	Doc:    "makes one loop of the passes of a softmax over an axis, where the planner asks",
	Online: true,
	Run: func(f *ir.Func, o *Options) (bool, error) {
		if !o.Online {
			return false, nil
		}
		changed := false
		for s := ir.FindSoftmax(f); s != nil; s = ir.FindSoftmax(f) {
			(&softmax{s}).rewrite()
			changed = true
		}
		return changed, nil
	},
	Before: `kernel @k {
  dim M = ?
  dim N = 5000
  tensor %x : in f32[M, N]
  tensor %v : in f32[N]
  tensor %y : out f32[M]
  axis i : grid M by BM = ?
  axis j : whole N[0 .. 5000]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = reduce_max %2 over j : f32{i}
  %4 = sub %2, %3 : f32{i, j}
  %5 = exp %4 : f32{i, j}
  %6 = sum %5 over j : f32{i}
  %7 = load %v[%1] : f32{j}
  %8 = div %5, %6 : f32{i, j}
  %9 = dot %8, %7 over j : f32{i}
  store %y[%0] = %9
}
`,
	After: `kernel @k {
  dim M = ?
  dim N = 5000
  tensor %x : in f32[M, N]
  tensor %v : in f32[N]
  tensor %y : out f32[M]
  axis i : grid M by BM = ?
  axis j : loop N by ?
body:
  %0 = index i : i32{i}
  %10 = const 0 : i32
  %11 = const 5000 : i32
  %13 = const -inf : f32
  %14 = const 0 : f32
  %15 = full %13 : f32{i}
  %27 = full %14 : f32{i}
  %32 = full %14 : f32{i}
  %37, %38, %39 = for j from %10 to %11 with (%16 = %15, %28 = %27, %33 = %32) pos %12 : (f32{i}, f32{i}, f32{i}) {
    %17 = index j : i32{j}
    %18 = load %x[%0, %17] : f32{i, j}
    %19 = reduce_max %18 over j : f32{i}
    %20 = max %16, %19 : f32{i}
    %21 = eq %20, %13 : bool{i}
    %22 = where %21, %14, %20 : f32{i}
    %23 = sub %18, %22 : f32{i, j}
    %24 = exp %23 : f32{i, j}
    %25 = sub %16, %22 : f32{i}
    %26 = exp %25 : f32{i}
    %29 = mul %28, %26 : f32{i}
    %30 = sum %24 over j : f32{i}
    %31 = add %29, %30 : f32{i}
    %34 = mul %33, %26 : f32{i}
    %35 = load %v[%17] : f32{j}
    %36 = mma %24, %35, %34 over j : f32{i}
    yield %20, %31, %36
  }
  %40 = eq %37, %13 : bool{i}
  %41 = const nan : f32
  %42 = where %40, %41, %38 : f32{i}
  %43 = const nan : f32
  %44 = where %40, %43, %39 : f32{i}
  %45 = div %44, %42 : f32{i}
  store %y[%0] = %45
}
`,
}

// softmax is one of which there is to be a loop.
type softmax struct{ *ir.Softmax }

// rewrite puts the loop in the place of the largest score.
func (s *softmax) rewrite() {
	s.ahead()
	at := slices.Index(s.Func.Body.Ops, s.Largest)
	b := &ir.Builder{Func: s.Func, Block: &ir.Block{Ops: slices.Clone(s.Func.Body.Ops[:at])}, At: s.Largest.At}
	k := *s.Axis
	k.Kind, k.Extent, k.Lo, k.Len, k.Choices = ir.Loop, 0, 0, 0, nil
	axis := s.Func.AddAxis(k)
	loop := &ir.Op{Code: lang.OpFor, Axis: axis, Args: []*ir.Value{b.Position(axis, 0), b.Position(axis, s.Axis.Len)}, At: b.At}
	body := &ir.Block{Params: []*ir.Value{s.Func.NewValue(ir.Scalar(axis.Counts()), nil)}}
	loop.Blocks = []*ir.Block{body}
	c := &chunks{f: s.Func, before: b, inside: &ir.Builder{Func: s.Func, Block: body, At: b.At}, loop: loop, hi: s.Axis.Len,
		from: s.Axis, m: &ir.Mapping{Values: map[*ir.Value]*ir.Value{}, Axes: map[*ir.Axis]*ir.Axis{s.Axis: axis}}}
	in := c.inside
	lowest := b.Const(lang.F32, ir.Const{Float: math.Inf(-1)})
	zero := b.Const(lang.F32, ir.Const{})
	m := c.carry([]*ir.Value{b.Broadcast(lowest, s.Largest.Result().Type.Axes)})[0]

	score := s.Largest.Args[0]
	c.recompute(score)
	next := in.Op(lang.OpMax, m, in.Emit(&ir.Op{Code: lang.OpReduceMax, Args: []*ir.Value{c.m.Value(score)}, Over: []*ir.Axis{axis}})[0])
	u := in.Op(lang.OpWhere, in.Op(lang.OpEq, next, lowest), zero, next)
	c.m.Values[s.Weight] = s.power(c, c.m.Value(score), u, true)
	factor := s.power(c, m, u, false)
	body.Yield = append(body.Yield, next)
	var waiting [][]*ir.Op
	for _, op := range s.Sums {
		var later []*ir.Op
		acc := c.carry([]*ir.Value{b.Broadcast(zero, op.Result().Type.Axes)})[0]
		scaled := in.Op(lang.OpMul, acc, factor)
		in.At = op.At
		over := []*ir.Axis{axis}
		if op.Code == lang.OpSum {
			v := s.multiple(c, op.Args[0], &later)
			added := in.Emit(&ir.Op{Code: lang.OpSum, Args: []*ir.Value{v}, Over: over, Precision: op.Precision})[0]
			body.Yield = append(body.Yield, in.Op(lang.OpAdd, scaled, added))
		} else {
			args := slices.Clone(op.Args)
			for i, a := range args {
				if s.Follows(a) {
					args[i] = s.multiple(c, a, &later)
				} else {
					c.recompute(a)
					args[i] = c.m.Value(a)
				}
			}
			product := *op
			product.Code, product.Args, product.Over, product.Results = lang.OpMma, append(args, scaled), over, nil
			body.Yield = append(body.Yield, in.Emit(&product)[0])
		}
		waiting = append(waiting, later)
	}
	results := b.Emit(loop)
	stand := map[*ir.Value]*ir.Value{s.Largest.Result(): results[0]}
	results[0].Name = s.Largest.Result().Name
	none := (*ir.Value)(nil)
	rest := &ir.Builder{Func: s.Func, Block: b.Block}
	for _, op := range s.Func.Body.Ops[at+1:] {
		i := slices.Index(s.Sums, op)
		if i < 0 {
			b.Block.Ops = append(b.Block.Ops, op)
			continue
		}
		rest.At = op.At
		v := results[1+i]
		if s.Guarded == nil && !s.divided(op, waiting[i]) { // where all scores are -inf, their differences are no numbers
			if none == nil {
				none = rest.Op(lang.OpEq, results[0], lowest)
			}
			v = rest.Op(lang.OpWhere, none, rest.Const(lang.F32, ir.Const{Float: math.NaN()}), v)
		}
		for _, factor := range slices.Backward(waiting[i]) {
			args := slices.Clone(factor.Args)
			for n, a := range args {
				if s.Wide(a) {
					args[n] = v
				}
			}
			v = rest.Op(factor.Code, args...)
		}
		v.Name = op.Result().Name
		stand[op.Result()] = v
	}
	s.Func.Body.Ops = b.Block.Ops
	s.Func.Body.Replace(stand)
	liveness(s.Func).sweep(s.Func.Body)
	dropAxes(s.Func)
	if s.Func.Axis(s.Axis.Name) == nil { // nothing has the whole axis any more
		axis.Name = s.Axis.Name
	}
}

// divided reports a sum for more than its row that nothing reads but divided by another, as attention's values are: what that one says of a row holds for both.
func (s *softmax) divided(sum *ir.Op, later []*ir.Op) bool {
	of := func(op *ir.Op) bool {
		by := op.Args[len(op.Args)-1]
		return op.Code == lang.OpDiv && by != sum.Result() && slices.ContainsFunc(s.Sums, func(o *ir.Op) bool { return o.Result() == by }) && len(ir.Without(by.Type.Axes, s.Largest.Result().Type.Axes)) == 0
	}
	if len(ir.Without(sum.Result().Type.Axes, s.Largest.Result().Type.Axes)) == 0 {
		return false
	}
	if slices.ContainsFunc(later, of) {
		return true
	}
	reads := true
	s.Func.Walk(func(op *ir.Op) bool {
		reads = reads && (!slices.Contains(op.Args, sum.Result()) || of(op))
		return reads
	})
	return reads
}

// ahead moves what does not depend on the largest score before it: the loop may need that.
func (s *softmax) ahead() {
	at := slices.Index(s.Func.Body.Ops, s.Largest)
	var first, rest []*ir.Op
	for _, op := range s.Func.Body.Ops[at:] {
		follows := op == s.Largest || slices.ContainsFunc(op.Results, func(r *ir.Value) bool { return s.Follows(r) })
		if !follows && len(op.Results) > 0 && len(op.Blocks) == 0 && (op.Pure() || op.Code == lang.OpLoad && op.Tensor.ReadOnly()) && !slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return s.Follows(v) || slices.Contains(rest, v.Def) }) {
			first = append(first, op)
		} else {
			rest = append(rest, op)
		}
	}
	s.Func.Body.Ops = slices.Concat(s.Func.Body.Ops[:at], first, rest)
}

// power emits what makes a weight of the difference between x and u.
func (s *softmax) power(c *chunks, x, u *ir.Value, weight bool) *ir.Value {
	in := c.inside
	var before *ir.Value
	v := x
	for i, link := range s.Links {
		if i == 0 {
			before, v = link.Result(), in.Op(lang.OpSub, x, u)
			continue
		}
		args := slices.Clone(link.Args)
		for n, a := range args {
			if a == before {
				args[n] = v
			}
		}
		before = link.Result()
		op := &ir.Op{Code: link.Code, Args: args, Coarse: link.Coarse && weight}
		v = in.Emit(op)[0]
	}
	if weight {
		v.Name = s.Weight.Name
	}
	return v
}

// multiple emits, in the loop, the multiple of the weights that a sum adds up, without the factors of the row alone that follow, which come behind the loop.
func (s *softmax) multiple(c *chunks, v *ir.Value, later *[]*ir.Op) *ir.Value {
	if done := c.m.Values[v]; done != nil {
		return done
	}
	op := v.Def
	args := slices.Clone(op.Args)
	for i, a := range args {
		switch {
		case s.Wide(a) && s.Follows(a):
			args[i] = s.multiple(c, a, later)
		case s.Follows(a):
			*later = append(*later, op)
			return s.multiple(c, op.Args[1-i], later)
		default:
			c.recompute(a)
			args[i] = c.m.Value(a)
		}
	}
	if op.Code == lang.OpCast {
		return c.inside.Cast(args[0], v.Type.DType)
	}
	return c.inside.Emit(&ir.Op{Code: op.Code, Args: args, Coarse: op.Coarse})[0]
}
