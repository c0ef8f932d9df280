package pass

import (
	"slices"

	"tilec/jit/ir"
)

// Loads of read-only tensors move out of loops like arithmetic does, also out
// of a loop that may run no step. That is safe: an index without a check is in
// bounds for every element that exists, by the limits of its axes and scalars,
// which a loop around it does not narrow (an index that uses the loop's axis or
// position does not move), and a checked index is safe anywhere. Out of an `if`
// nothing moves: its condition may be what makes the work worth doing.
var licm = Pass{
	Name:  "licm",
	Doc:   "moves what a loop computes the same at every step to before it",
	Cheap: true,
	Run: func(f *ir.Func, _ *Options) (bool, error) {
		return hoist(f.Body), nil
	},
	Before: `kernel @k {
  dim N = ?
  tensor %x : in f32[N]
  tensor %y : out f32[N]
  scalar %0 s : f32
  axis k : loop N by B = ?
body:
  %1 = const 0 : i32
  %2 = size N : i32
  for k from %1 to %2 pos %3 {
    %4 = index k : i32{k}
    %5 = load %x[%4] : f32{k}
    %6 = exp %0 : f32
    %7 = mul %5, %6 : f32{k}
    store %y[%4] = %7
  }
}
`,
	After: `kernel @k {
  dim N = ?
  tensor %x : in f32[N]
  tensor %y : out f32[N]
  scalar %0 s : f32
  axis k : loop N by B = ?
body:
  %1 = const 0 : i32
  %2 = size N : i32
  %6 = exp %0 : f32
  for k from %1 to %2 pos %3 {
    %4 = index k : i32{k}
    %5 = load %x[%4] : f32{k}
    %7 = mul %5, %6 : f32{k}
    store %y[%4] = %7
  }
}
`,
}

// hoist moves invariants out of the loops of b, inner loops first, so that one goes out as far as it can.
func hoist(b *ir.Block) bool {
	changed := false
	var ops []*ir.Op
	for _, op := range b.Ops {
		for _, inner := range op.Blocks {
			changed = hoist(inner) || changed
		}
		if isLoop(op) {
			moved := invariants(op)
			changed = changed || len(moved) > 0
			ops = append(ops, moved...)
		}
		ops = append(ops, op)
	}
	b.Ops = ops
	return changed
}

// invariants takes the operations out of the loop that are the same at every step.
func invariants(loop *ir.Op) []*ir.Op {
	body := loop.Blocks[0]
	inside := map[*ir.Value]bool{}
	for _, p := range body.Params {
		inside[p] = true
	}
	var moved []*ir.Op
	body.Ops = slices.DeleteFunc(body.Ops, func(op *ir.Op) bool {
		move := op.Pure() && (loop.Axis == nil || !op.Mentions(loop.Axis)) &&
			!slices.ContainsFunc(op.Args, func(a *ir.Value) bool { return inside[a] })
		if move {
			moved = append(moved, op)
			return true
		}
		for _, r := range op.Results {
			inside[r] = true
		}
		return false
	})
	return moved
}
