package pass

import (
	"tilec/jit/ir"
	"tilec/lang"
)

var bounds = Pass{
	Name:    "bounds",
	Doc:     "computes where the span of a block begins and ends, once the plan says how large the block is",
	Planned: true,
	Run: func(f *ir.Func, _ *Options) (bool, error) {
		s := bounder{f: f}
		s.block(f.Body)
		return s.changed, nil
	},
	Before: `kernel @k {
  dim N = 100
  tensor %y : out i32[N]
  tensor %z : out i32[N]
  axis i : grid N by B = 16
  axis j : grid N by C = 64
body:
  %0 = index i : i32{i}
  %1 = end i span 64 : i32
  store %y[%0] = %1
  %2 = index j : i32{j}
  %3 = start j span 64 : i32
  store %z[%2] = %3
}
`,
	After: `kernel @k {
  dim N = 100
  tensor %y : out i32[N]
  tensor %z : out i32[N]
  axis i : grid N by B = 16
  axis j : grid N by C = 64
body:
  %0 = index i : i32{i}
  %4 = const 100 : i32
  %5 = const 64 : i32
  %6 = start i : i32
  %7 = mod %6, %5 : i32
  %8 = sub %6, %7 : i32
  %9 = sub %4, %8 : i32
  %10 = min %9, %5 : i32
  %11 = add %8, %10 : i32
  store %y[%0] = %11
  %2 = index j : i32{j}
  %3 = start j : i32
  store %z[%2] = %3
}
`,
}

// bounder rewrites the bounds of spans.
type bounder struct {
	f       *ir.Func
	loops   []*ir.Op // around the block
	changed bool
}

func (s *bounder) block(block *ir.Block) {
	m := map[*ir.Value]*ir.Value{}
	b := &ir.Builder{Func: s.f, Block: &ir.Block{}}
	for _, op := range block.Ops {
		if op.Code == lang.OpFor {
			s.loops = append(s.loops, op)
		}
		for _, inner := range op.Blocks {
			s.block(inner)
		}
		if op.Fn != nil {
			s.block(op.Fn)
		}
		if op.Code == lang.OpFor {
			s.loops = s.loops[:len(s.loops)-1]
		}
		switch {
		case op.Span == 0 || op.Axis.Extent == 0:
		case op.Axis.Extent == op.Span: // the block is the span
			op.Span = 0
			s.changed = true
		default:
			b.At = op.At
			m[op.Result()] = s.bound(b, op)
			s.changed = true
			continue
		}
		b.Block.Ops = append(b.Block.Ops, op)
	}
	block.Ops = b.Block.Ops
	if len(m) > 0 {
		block.Replace(m) // the function of a reduction is no part of the body
		s.f.Body.Replace(m)
	}
}

// bound computes a bound of the span. Spans are counted from where the axis begins.
func (s *bounder) bound(b *ir.Builder, op *ir.Op) *ir.Value {
	lo, hi := s.limits(b, op.Axis)
	n := b.Const(op.Axis.Counts(), ir.Const{Int: op.Span})
	start := b.Emit(&ir.Op{Code: lang.OpStart, Axis: op.Axis})[0]
	before := start
	if lo != nil {
		before = b.Op(lang.OpSub, start, lo)
	}
	start = b.Op(lang.OpSub, start, b.Op(lang.OpMod, before, n))
	if op.Code == lang.OpStart {
		return start
	}
	// What is left, rather than the end of the span, which 32 bits may not hold.
	return b.Op(lang.OpAdd, start, b.Op(lang.OpMin, b.Op(lang.OpSub, hi, start), n))
}

// limits are where an axis begins, nil for 0, and where it ends.
func (s *bounder) limits(b *ir.Builder, a *ir.Axis) (lo, hi *ir.Value) {
	for _, loop := range s.loops {
		if loop.Axis == a {
			lo, hi = loop.Args[0], loop.Args[1]
			if c, ok := lo.IsConst(); ok && c.Int == 0 {
				lo = nil
			}
			return lo, hi
		}
	}
	if a.Dim.Known() {
		return nil, b.Const(a.Counts(), ir.Const{Int: a.Dim.Value})
	}
	return nil, b.Emit(&ir.Op{Code: lang.OpSize, Dim: a.Dim})[0]
}
