package pass

import (
	"math"
	"math/bits"
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// shifts runs when the plan is chosen, for the passes before it know divisions: foldDigits puts together what they took apart.
var shifts = Pass{
	Name:    "shifts",
	Doc:     "divides by powers of two with shifts and masks, where what is divided is not negative",
	Planned: true,
	Run: func(f *ir.Func, _ *Options) (bool, error) {
		return rewrite(f, func(b *ir.Builder, op *ir.Op) ([]*ir.Value, bool) {
			if v := shifted(b, op); v != nil {
				return []*ir.Value{v}, true
			}
			return nil, false
		}), nil
	},
	Before: `kernel @k {
  dim N = 100
  tensor %x : in i32[N]
  tensor %y : out i32[N]
  axis i : grid N by B = 16
body:
  %0 = index i : i32{i}
  %1 = const 8 : i32
  %2 = div %0, %1 : i32{i}
  %3 = mod %0, %1 : i32{i}
  %4 = add %2, %3 : i32{i}
  %5 = load %x[%0] : i32{i}
  %6 = div %5, %1 : i32{i}
  %7 = add %4, %6 : i32{i}
  store %y[%0] = %7
}
`,
	After: `kernel @k {
  dim N = 100
  tensor %x : in i32[N]
  tensor %y : out i32[N]
  axis i : grid N by B = 16
body:
  %0 = index i : i32{i}
  %1 = const 8 : i32
  %8 = const 3 : i32
  %9 = shr %0, %8 : i32{i}
  %10 = const 7 : i32
  %11 = and %0, %10 : i32{i}
  %4 = add %9, %11 : i32{i}
  %5 = load %x[%0] : i32{i}
  %6 = div %5, %1 : i32{i}
  %7 = add %4, %6 : i32{i}
  store %y[%0] = %7
}
`,
}

// shifted gives what a division by a power of two computes of what is not negative: of a quotient its shift, of a
// remainder its mask. nil for other operations.
func shifted(b *ir.Builder, op *ir.Op) *ir.Value {
	if op.Code != lang.OpDiv && op.Code != lang.OpFloorDiv && op.Code != lang.OpMod {
		return nil
	}
	x := op.Args[0]
	n, ok := op.Args[1].IsConst()
	if d := x.Type.DType; !ok || !d.IsInt() || n.Int <= 0 || n.Int&(n.Int-1) != 0 || !x.Type.Same(op.Result().Type) || !natural(x, maxPosition) {
		return nil
	}
	if op.Code == lang.OpMod {
		return b.Op(lang.OpAnd, x, b.Const(x.Type.DType, ir.Const{Int: n.Int - 1}))
	}
	return b.Op(lang.OpShr, x, b.Const(x.Type.DType, ir.Const{Int: int64(bits.TrailingZeros64(uint64(n.Int)))}))
}

// natural reports an integer that is never negative, whatever runs.
func natural(v *ir.Value, depth int) bool {
	if !v.Type.DType.IsSigned() || spans(v, 0, math.MaxInt32) {
		return true
	}
	def := v.Def
	if def == nil || depth == 0 {
		return false
	}
	argument := func(x *ir.Value) bool { return natural(x, depth-1) }
	switch def.Code {
	case lang.OpIndex, lang.OpStart, lang.OpEnd, lang.OpSize:
		return true
	case lang.OpCast:
		x := def.Args[0]
		return x.Type.DType.IsInt() && v.Type.DType.Holds(x.Type.DType) && argument(x)
	case lang.OpMod: // has the sign of what is divided
		return argument(def.Args[0])
	case lang.OpAnd, lang.OpMax:
		return slices.ContainsFunc(def.Args, argument)
	case lang.OpDiv, lang.OpFloorDiv, lang.OpMin:
		return argument(def.Args[0]) && argument(def.Args[1])
	case lang.OpShr, lang.OpFull:
		return argument(def.Args[0])
	}
	return false
}
