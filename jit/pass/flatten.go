package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// A product over several axes, as that of a convolution is over channels and the window, becomes loops inside one another, one an axis. The
// innermost may have three steps, and loads that run ahead would begin anew with each step of those around it. So such loops become
// one: its step says where each axis stands.
var flatten = Pass{
	Name:    "flatten",
	Doc:     "makes one loop of loops inside one another that accumulate a product, where all their steps are whole",
	Planned: true,
	Run: func(f *ir.Func, _ *Options) (bool, error) {
		return flattenIn(f, f.Body), nil
	},
	Before: `kernel @k {
  dim H = ?
  dim C = 64
  dim O = 64
  dim R = 3
  tensor %x : in bf16[H, C]
  tensor %w : in bf16[O, R, C]
  tensor %y : out f32[H, O]
  axis h : grid H by BH = 64
  axis o : grid O by BO = 64
  axis c : loop C by 32
  axis r : loop R by 1
body:
  %0 = index h : i32{h}
  %1 = index o : i32{o}
  %2 = const 0 : i32
  %3 = const 64 : i32
  %4 = const 3 : i32
  %5 = const 0 : f32
  %6 = full %5 : f32{h, o}
  %7 = const 0 : bf16
  %8 = for c from %2 to %3 with (%9 = %6) pos %10 : (f32{h, o}) {
    %11 = index c : i32{c}
    %12 = for r from %2 to %4 with (%13 = %9) pos %14 : (f32{h, o}) {
      %15 = index r : i32{r}
      %16 = add %0, %15 : i32{h, r}
      %17 = load %x[?%16, %11] else %7 : bf16{h, r, c}
      %18 = load %w[%1, %15, %11] : bf16{o, r, c}
      %19 = mma %17, %18, %13 over c, r : f32{h, o}
      yield %19
    }
    yield %12
  }
  store %y[%0, %1] = %8
}
`,
	After: `kernel @k {
  dim H = ?
  dim C = 64
  dim O = 64
  dim R = 3
  dim n6 = 6
  tensor %x : in bf16[H, C]
  tensor %w : in bf16[O, R, C]
  tensor %y : out f32[H, O]
  axis h : grid H by BH = 64
  axis o : grid O by BO = 64
  axis c_r : loop scalar n6
  axis c : whole [0 .. 32]
  axis r : whole [0 .. 1]
body:
  %0 = index h : i32{h}
  %1 = index o : i32{o}
  %2 = const 0 : i32
  %3 = const 64 : i32
  %4 = const 3 : i32
  %5 = const 0 : f32
  %6 = full %5 : f32{h, o}
  %7 = const 0 : bf16
  %39 = const 0 : i32
  %40 = const 6 : i32
  %41 = for c_r from %39 to %40 with (%28 = %6) pos %20 : (f32{h, o}) {
    %21 = start c_r : i32
    %22 = const 3 : i32
    %23 = div %21, %22 : i32
    %24 = const 2 : i32
    %25 = mod %23, %24 : i32
    %26 = const 32 : i32
    %27 = mul %25, %26 : i32
    %29 = full %27 : i32{c}
    %30 = index c : i32{c}
    %31 = add %30, %29 : i32{c}
    %32 = const 3 : i32
    %33 = mod %21, %32 : i32
    %34 = full %33 : i32{r}
    %35 = add %0, %34 : i32{h, r}
    %36 = load %x[?%35, %31] else %7 : bf16{h, r, c}
    %37 = load %w[%1, %34, %31] : bf16{o, r, c}
    %38 = mma %36, %37, %28 over c, r : f32{h, o}
    yield %38
  }
  store %y[%0, %1] = %41
}
`,
}

// flattenIn goes through a block and what is inside.
func flattenIn(f *ir.Func, b *ir.Block) bool {
	changed := false
	out := &ir.Builder{Func: f, Block: &ir.Block{}}
	instead := map[*ir.Value]*ir.Value{}
	for _, op := range b.Ops {
		if n := nestOf(op); n != nil && n.joinable(f, b) {
			loop := n.flat(f, out)
			for i, v := range loop.Results {
				instead[op.Results[i]] = v
			}
			n.rejoin(b, loop)
			changed = true
			continue
		}
		out.Block.Ops = append(out.Block.Ops, op)
		for _, inner := range op.Blocks {
			changed = flattenIn(f, inner) || changed
		}
	}
	b.Ops = out.Block.Ops
	b.Replace(instead)
	return changed
}

// nest is loops inside one another, the outermost first, of which each but the last does nothing but run the next.
type nest struct {
	loops []*ir.Op
	// steps is how many each has, of a first that ends where a block says the most that it may have.
	steps []int64
}

// nestOf finds the loops inside one another that begin with an operation; nil where there are not two of whole steps, or where
// the innermost accumulates no product.
func nestOf(op *ir.Op) *nest {
	n := &nest{}
	for {
		if !isLoop(op) || op.Axis == nil || op.Axis.Scalar && len(n.loops) > 0 || op.Axis.Kind != ir.Loop || op.Axis.Split > 1 && len(n.loops) > 0 || op.Reverse || op.Axis.Counts() != lang.I32 {
			return nil
		}
		lo, okLo := ir.KnownInt(op.Args[0])
		hi, okHi := ir.KnownInt(op.Args[1])
		step := op.Axis.Extent
		if op.Axis.Scalar && !okHi && op.Axis.Dim.Known() {
			hi, okHi = op.Axis.Dim.Value, true
		}
		if !okLo || !okHi || lo != 0 || hi <= 0 || step <= 0 || hi%step != 0 || !op.Axis.Dim.Known() || hi > op.Axis.Dim.Value {
			return nil
		}
		n.loops, n.steps = append(n.loops, op), append(n.steps, hi/step)
		next := onlyLoop(op)
		if next == nil {
			break
		}
		op = next
	}
	accumulates := slices.ContainsFunc(op.Blocks[0].Ops, func(inner *ir.Op) bool { return inner.Code == lang.OpMma })
	if len(n.loops) < 2 || !accumulates || slices.ContainsFunc(op.Blocks[0].Ops, func(inner *ir.Op) bool { return len(inner.Blocks) > 0 }) {
		return nil
	}
	return n
}

// onlyLoop is the loop that a loop does nothing but run, with all that it carries; nil where there is none.
func onlyLoop(op *ir.Op) *ir.Op {
	body := op.Blocks[0]
	var next *ir.Op
	for _, inner := range body.Ops {
		switch {
		case inner.Code == lang.OpFor && next == nil:
			next = inner
		case len(inner.Blocks) > 0 || !inner.Pure() || inner.Code == lang.OpLoad || slices.ContainsFunc(inner.Args, func(v *ir.Value) bool { return slices.Contains(body.Params[1:], v) }):
			return nil
		}
	}
	if next == nil || !slices.Equal(next.Args[2:], body.Params[1:]) || !slices.Equal(body.Yield, next.Results) {
		return nil
	}
	return next
}

// joins are those of what blocks have that share the outermost loop, in the block that has the loop.
func (n *nest) joins(b *ir.Block) (all []*ir.Op) {
	for _, op := range b.Ops {
		if op.Code == lang.OpJoin && op.Axis == n.loops[0].Axis {
			all = append(all, op)
		}
	}
	return all
}

// joinable reports loops that no blocks share, or whose outermost one they share for itself, so that they can share the steps of the one loop instead.
func (n *nest) joinable(f *ir.Func, b *ir.Block) bool {
	shared := n.loops[0]
	return shared.Axis.Split <= 1 || mentions(f.Body, shared.Axis) == mentions(&ir.Block{Ops: n.loops[:1]}, shared.Axis)+len(n.joins(b))
}

// rejoin has joins put together what blocks have of the one loop.
func (n *nest) rejoin(b *ir.Block, loop *ir.Op) {
	for _, op := range n.joins(b) {
		op.Axis = loop.Axis
		copy(op.Args[len(op.Joined()):], loop.Args[:2])
	}
}

// flat emits the one loop.
func (n *nest) flat(f *ir.Func, b *ir.Builder) *ir.Op {
	first := n.loops[0]
	b.At = first.At
	name, all := "", int64(1)
	for i, op := range n.loops {
		if name += op.Axis.Name; i < len(n.loops)-1 {
			name += "_"
		}
		all *= n.steps[i]
	}
	axis := f.AddAxis(ir.Axis{Name: name, Kind: ir.Loop, Dim: f.ConstDim(all), Extent: 1, Scalar: true, Split: first.Axis.Split})
	loop := &ir.Op{Code: lang.OpFor, Axis: axis, At: first.At}
	body := &ir.Block{Params: []*ir.Value{f.NewValue(ir.Scalar(axis.Counts()), nil)}}
	loop.Blocks = []*ir.Block{body}
	m := &ir.Mapping{Values: map[*ir.Value]*ir.Value{}, Axes: map[*ir.Axis]*ir.Axis{}}
	in := &ir.Builder{Func: f, Block: body, At: first.At}
	step := in.Emit(&ir.Op{Code: lang.OpStart, Axis: axis})[0]
	inner := all
	for i, op := range n.loops {
		inner /= n.steps[i]
		at := step
		if inner > 1 {
			at = in.Op(lang.OpDiv, at, in.Int(inner))
		}
		at = in.Op(lang.OpMod, at, in.Int(n.steps[i])) // of the outermost too: it says how far the axis goes
		if op.Axis.Extent > 1 {
			at = in.Op(lang.OpMul, at, in.Int(op.Axis.Extent))
		}
		old := op.Axis
		if mentions(f.Body, old) == mentions(&ir.Block{Ops: n.loops[:1]}, old) { // else other loops go over the axis too
			f.Axes = slices.DeleteFunc(f.Axes, func(a *ir.Axis) bool { return a == old })
		}
		part := f.AddAxis(ir.Axis{Name: old.Name, Kind: ir.Whole, Len: old.Extent, Extent: old.Extent})
		m.Axes[old] = part
		m.Values[op.Blocks[0].Params[0]] = at
		for j, v := range op.Blocks[0].Params[1:] {
			if i == 0 {
				p := f.NewValue(v.Type, nil)
				body.Params = append(body.Params, p)
				m.Values[v] = p
			} else {
				m.Values[v] = m.Value(n.loops[i-1].Blocks[0].Params[1+j])
			}
		}
		for _, x := range op.Blocks[0].Ops {
			in.At = x.At
			switch {
			case i < len(n.loops)-1 && x == n.loops[i+1]:
			case x.Code == lang.OpIndex && x.Axis == old:
				base := in.Emit(&ir.Op{Code: lang.OpFull, Args: []*ir.Value{at}, Axes: []*ir.Axis{part}})[0]
				if old.Extent > 1 {
					base = in.Op(lang.OpAdd, in.Emit(&ir.Op{Code: lang.OpIndex, Axis: part})[0], base)
				}
				m.Values[x.Result()] = base
			case x.Code == lang.OpStart && x.Axis == old:
				m.Values[x.Result()] = at
			case x.Code == lang.OpEnd && x.Axis == old:
				m.Values[x.Result()] = in.Op(lang.OpAdd, at, in.Int(old.Extent))
			default:
				body.Ops = append(body.Ops, f.CopyOp(x, m))
			}
		}
	}
	last := n.loops[len(n.loops)-1].Blocks[0]
	for _, v := range last.Yield {
		body.Yield = append(body.Yield, m.Value(v))
	}
	begin, end := b.Int(0), first.Args[1]
	if _, known := ir.KnownInt(end); known {
		end = b.Int(all)
	} else {
		end = b.Op(lang.OpMul, end, b.Int(all/n.steps[0]))
	}
	loop.Args = append([]*ir.Value{begin, end}, first.Args[2:]...)
	b.Emit(loop)
	return loop
}

// mentions counts the operations of a block that have to do with an axis.
func mentions(b *ir.Block, a *ir.Axis) int {
	n := 0
	b.Walk(func(op *ir.Op) bool {
		if op.Mentions(a) {
			n++
		}
		return true
	})
	return n
}
