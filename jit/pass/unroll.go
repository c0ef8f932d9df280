package pass

import (
	"math/bits"

	"tilec/jit/ir"
	"tilec/lang"
)

// unroll runs when the plan is chosen, and last: the passes before it know where the positions of a loop are, and divide.
var unroll = Pass{
	Name:    "unroll",
	Doc:     "does several steps of a loop over numbers at a time, whose loads begin before the first of them is computed",
	Planned: true,
	Run: func(f *ir.Func, o *Options) (bool, error) {
		u := &unroller{f: f, threads: o.Threads}
		u.block(f.Body)
		return u.changed, nil
	},
	Threads: 128,
	Before: `kernel @k {
  dim L = ?
  dim D = 4096
  tensor %x : in f32[L, D]
  tensor %y : out f32[L, D]
  axis d : grid D by BD = 1024
body:
  %0 = const 0 : i32
  %1 = size L : i32
  %2 = const 0 : f32
  %3 = full %2 : f32{d}
  %4 = index d : i32{d}
  %10 = for from %0 to %1 with (%5 s = %3) pos %6 t : (f32{d}) {
    %7 = mul %5, %5 : f32{d}
    %8 = load %x[%6, %4] : f32{d}
    %9 s = add %7, %8 : f32{d}
    store %y[%6, %4] = %9
    yield %9
  }
}
`,
	After: `kernel @k {
  dim L = ?
  dim D = 4096
  tensor %x : in f32[L, D]
  tensor %y : out f32[L, D]
  axis d : grid D by BD = 1024
body:
  %0 = const 0 : i32
  %1 = size L : i32
  %2 = const 0 : f32
  %3 = full %2 : f32{d}
  %4 = index d : i32{d}
  %11 = sub %1, %0 : i32
  %12 = const 0 : i32
  %13 = max %11, %12 : i32
  %14 = const 2 : i32
  %15 = shr %13, %14 : i32
  %38 = const 0 : i32
  %39 = for from %38 to %15 with (%17 s = %3) pos %16 : (f32{d}) {
    %18 = const 4 : i32
    %19 = mul %16, %18 : i32
    %20 = load %x[%19, %4] : f32{d}
    %21 = const 1 : i32
    %22 = add %19, %21 : i32
    %23 = load %x[%22, %4] : f32{d}
    %24 = const 2 : i32
    %25 = add %19, %24 : i32
    %26 = load %x[%25, %4] : f32{d}
    %27 = const 3 : i32
    %28 = add %19, %27 : i32
    %29 = load %x[%28, %4] : f32{d}
    %30 = mul %17, %17 : f32{d}
    %31 s = add %30, %20 : f32{d}
    store %y[%19, %4] = %31
    %32 = mul %31, %31 : f32{d}
    %33 s = add %32, %23 : f32{d}
    store %y[%22, %4] = %33
    %34 = mul %33, %33 : f32{d}
    %35 s = add %34, %26 : f32{d}
    store %y[%25, %4] = %35
    %36 = mul %35, %35 : f32{d}
    %37 s = add %36, %29 : f32{d}
    store %y[%28, %4] = %37
    yield %37
  }
  %40 = const 4 : i32
  %41 = mul %15, %40 : i32
  %10 = for from %41 to %1 with (%5 s = %39) pos %6 t : (f32{d}) {
    %7 = mul %5, %5 : f32{d}
    %8 = load %x[%6, %4] : f32{d}
    %9 s = add %7, %8 : f32{d}
    store %y[%6, %4] = %9
    yield %9
  }
}
`,
}

// unroller does several steps of loops at a time.
type unroller struct {
	f       *ir.Func
	threads int64
	changed bool
}

func (u *unroller) block(b *ir.Block) {
	out := &ir.Builder{Func: u.f, Block: &ir.Block{}}
	for _, op := range b.Ops {
		for _, inner := range op.Blocks {
			u.block(inner)
		}
		if n := op.Unroll(u.threads, func(a *ir.Axis) int64 { return a.Extent }, stepsOf(op)); n > 1 {
			out.At, u.changed = op.At, true
			u.loop(out, op, n)
		}
		out.Block.Ops = append(out.Block.Ops, op)
	}
	b.Ops = out.Block.Ops
}

// stepsOf is how many steps a loop over numbers has, 0 where the program does not say.
func stepsOf(op *ir.Op) int64 {
	if op.Code != lang.OpFor {
		return 0
	}
	lo, known := op.Args[0].IsConst()
	hi, too := op.Args[1].IsConst()
	if !known || !too {
		return 0
	}
	return max(hi.Int-lo.Int, 1)
}

// loop puts a loop before op that does n steps at a time, a power of two, as long as there are so many, and leaves what remains to op.
func (u *unroller) loop(b *ir.Builder, op *ir.Op, n int64) {
	lo, hi := op.Args[0], op.Args[1]
	number := func(b *ir.Builder, n int64) *ir.Value { return b.Const(lo.Type.DType, ir.Const{Int: n}) }
	// position gives that of so many steps at a time from where the loop begins.
	position := func(b *ir.Builder, rounds *ir.Value) *ir.Value {
		at := b.Op(lang.OpMul, rounds, number(b, n))
		if c, _ := lo.IsConst(); c.Int != 0 {
			at = b.Op(lang.OpAdd, lo, at)
		}
		return at
	}
	steps := b.Op(lang.OpMax, b.Op(lang.OpSub, hi, lo), number(b, 0))
	rounds := b.Op(lang.OpShr, steps, number(b, int64(bits.TrailingZeros64(uint64(n)))))
	body, round := op.Blocks[0], u.f.NewValue(lo.Type, nil)
	inner := &ir.Builder{Func: u.f, Block: &ir.Block{Params: []*ir.Value{round}}, At: op.At}
	carried := make([]*ir.Value, len(body.Params)-1)
	for i, p := range body.Params[1:] {
		carried[i] = u.f.NewValue(p.Type, nil)
		carried[i].Name = p.Name
		inner.Block.Params = append(inner.Block.Params, carried[i])
	}
	first := position(inner, round)
	copies := make([]*ir.Mapping, n)
	ahead := map[*ir.Op]bool{}
	for i := range copies {
		at := first
		if i > 0 {
			at = inner.Op(lang.OpAdd, first, number(inner, int64(i)))
		}
		copies[i] = &ir.Mapping{Values: map[*ir.Value]*ir.Value{body.Params[0]: at}}
		for _, x := range op.Ahead() {
			ahead[x] = true
			inner.Block.Ops = append(inner.Block.Ops, u.f.CopyOp(x, copies[i]))
		}
	}
	for _, m := range copies {
		for i, p := range body.Params[1:] {
			m.Values[p] = carried[i]
		}
		for _, x := range body.Ops {
			if !ahead[x] {
				inner.Block.Ops = append(inner.Block.Ops, u.f.CopyOp(x, m))
			}
		}
		for i, v := range body.Yield {
			carried[i] = m.Value(v)
		}
	}
	inner.Block.Yield = carried
	loop := *op
	loop.Args = append([]*ir.Value{number(b, 0), rounds}, op.Args[2:]...)
	loop.Blocks, loop.Results = []*ir.Block{inner.Block}, nil
	for _, r := range op.Results {
		loop.Results = append(loop.Results, u.f.NewValue(r.Type, &loop))
	}
	b.Block.Ops = append(b.Block.Ops, &loop)
	op.Args = append([]*ir.Value{position(b, rounds), hi}, loop.Results...)
}
