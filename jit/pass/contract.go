package pass

import (
	"math"
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// The language says that `sum(a * b, over k)` is the contraction of a and b:
// its products are not rounded first. So a sum of products whose factors were
// widened just before is the contraction of the narrow factors, whose products
// are exact in the accumulator.
//
// A contraction of 8-bit integers that were widened by hand, as the language wants it
// where one has a sign and the other none, is one of the bytes themselves.
//
// A loop over all of k (or a constant part) that only carries the accumulator
// is one contraction too: how far to cut k, and whether at all, is then the
// planner's choice, and a backend with a blocked matrix product of its own gets
// the whole of it.
var contract = Pass{
	Name: "contract",
	Doc:  "finds contractions: sums of products, and loops that only accumulate one",
	Run: func(f *ir.Func, o *Options) (bool, error) {
		if len(o.Chunks) > 0 || o.Recompute { // found before: what `matvec` made of one stays products and sums
			return false, nil
		}
		liveness(f).sweep(f.Body) // loops are recognised by what is live in them
		changed := rewrite(f, func(b *ir.Builder, op *ir.Op) ([]*ir.Value, bool) {
			for _, find := range []func(*ir.Builder, *ir.Op) *ir.Value{sumOfProducts, addOfDot, ofNarrowFactors} {
				if v := find(b, op); v != nil {
					return []*ir.Value{v}, true
				}
			}
			return nil, false
		})
		changed = contractLoops(f) || changed
		if changed {
			liveness(f).sweep(f.Body)
		}
		return changed, nil
	},
	Before: `kernel @k {
  dim M = ?
  dim K = 64
  dim N = 32
  tensor %a : in bf16[M, K]
  tensor %b : in bf16[K, N]
  tensor %c : out f32[M, N]
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis k : loop K by BK = ? in {16, 32}
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = const 0 : i32
  %3 = const 64 : i32
  %4 = const 0 : f32
  %5 = full %4 : f32{i, j}
  %6 = for k from %2 to %3 with (%7 = %5) pos %8 : (f32{i, j}) {
    %9 = index k : i32{k}
    %10 = load %a[%0, %9] : bf16{i, k}
    %11 = load %b[%9, %1] : bf16{k, j}
    %12 = cast %10 : f32{i, k}
    %13 = cast %11 : f32{k, j}
    %14 = mul %12, %13 : f32{i, k, j}
    %15 = sum %14 over k : f32{i, j}
    %16 = add %7, %15 : f32{i, j}
    yield %16
  }
  store %c[%0, %1] = %6
}
`,
	After: `kernel @k {
  dim M = ?
  dim K = 64
  dim N = 32
  tensor %a : in bf16[M, K]
  tensor %b : in bf16[K, N]
  tensor %c : out f32[M, N]
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis k : whole K[0 .. 64] by BK in {16, 32}
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %9 = index k : i32{k}
  %10 = load %a[%0, %9] : bf16{i, k}
  %11 = load %b[%9, %1] : bf16{k, j}
  %18 = dot %10, %11 over k : f32{i, j}
  store %c[%0, %1] = %18
}
`,
}

// sumOfProducts finds sum(a * b, over k), both with k and each with an axis
// that the other has not: without one there is no reuse that a matrix unit
// could gain from.
func sumOfProducts(b *ir.Builder, op *ir.Op) *ir.Value {
	if op.Code != lang.OpSum {
		return nil
	}
	product := op.Args[0].Def
	if product == nil || product.Code != lang.OpMul {
		return nil
	}
	x, y := product.Args[0], product.Args[1]
	for _, k := range op.Over {
		if !x.Type.Has(k) || !y.Type.Has(k) {
			return nil
		}
	}
	if len(ir.Without(x.Type.Axes, y.Type.Axes)) == 0 || len(ir.Without(y.Type.Axes, x.Type.Axes)) == 0 {
		return nil
	}
	// A product of narrow integers that was not widened wraps in its type, which no contraction does.
	want, d := op.Result().Type, x.Type.DType
	nx, ny := widened(x), widened(y)
	switch {
	case nx.Type.DType == ny.Type.DType && nx != x && ny != y && d == want.DType:
		x, y = nx, ny
	case !d.IsFloat() && d != want.DType:
		return nil
	}
	if x.Type.DType.Accumulator() != want.DType {
		return nil
	}
	return b.Emit(&ir.Op{Code: lang.OpDot, Args: []*ir.Value{x, y}, Over: slices.Clone(op.Over), Precision: op.Precision})[0]
}

// widened is what v was before an exact cast to its accumulator type, or v.
func widened(v *ir.Value) *ir.Value {
	if op := v.Def; op != nil && op.Code == lang.OpCast {
		x := op.Args[0]
		d := x.Type.DType
		if d.Bits() <= 16 && d.Accumulator() == v.Type.DType {
			return x
		}
	}
	return v
}

// ofNarrowFactors is a contraction of integers that are bytes widened without loss, with the bytes as its factors.
func ofNarrowFactors(b *ir.Builder, op *ir.Op) *ir.Value {
	if op.Code != lang.OpDot && op.Code != lang.OpMma || op.Args[0].Type.DType.Accumulator() != lang.I32 {
		return nil
	}
	x, y := widenedByte(op.Args[0]), widenedByte(op.Args[1])
	if x == nil || y == nil {
		return nil
	}
	return b.Emit(&ir.Op{Code: op.Code, Args: append([]*ir.Value{x, y}, op.Args[2:]...), Over: slices.Clone(op.Over), Precision: op.Precision})[0]
}

// widenedByte is the 8-bit integer that v is, in a type that has all its values; nil where v is none.
func widenedByte(v *ir.Value) *ir.Value {
	op := v.Def
	if op == nil || op.Code != lang.OpCast || !v.Type.DType.IsInt() {
		return nil
	}
	x := op.Args[0]
	from, to := x.Type.DType, v.Type.DType
	if !from.IsInt() || from.Bits() != 8 || to.Bits() == 8 || from.IsSigned() && !to.IsSigned() {
		return nil
	}
	return x
}

// addOfDot finds acc + dot(a, b).
func addOfDot(b *ir.Builder, op *ir.Op) *ir.Value {
	if op.Code != lang.OpAdd {
		return nil
	}
	for side, v := range op.Args {
		acc := op.Args[1-side]
		if dot := v.Def; dot != nil && dot.Code == lang.OpDot && acc.Type.Same(v.Type) {
			return b.Accumulate(dot, acc)
		}
	}
	return nil
}

// contractLoops replaces loops that are one contraction by it, over a Whole axis.
func contractLoops(f *ir.Func) bool {
	liveness(f).sweep(f.Body)
	changed := false
	var block func(*ir.Block)
	block = func(b *ir.Block) {
		var ops []*ir.Op
		m := map[*ir.Value]*ir.Value{}
		for _, op := range b.Ops {
			replace(op.Args, m)
			for _, inner := range op.Blocks {
				replaceInside(inner, m)
				block(inner)
			}
			whole, result := contraction(f, op)
			if result == nil {
				ops = append(ops, op)
				continue
			}
			ops = append(ops, whole...)
			m[op.Results[0]] = result
			changed = true
		}
		b.Ops = ops
		replace(b.Yield, m)
	}
	block(f.Body)
	return changed
}

func replaceInside(b *ir.Block, m map[*ir.Value]*ir.Value) {
	if len(m) > 0 {
		b.Replace(m)
	}
}

// contraction gives the operations that compute what the loop does, or nil.
func contraction(f *ir.Func, loop *ir.Op) ([]*ir.Op, *ir.Value) {
	if !isLoop(loop) || loop.Axis == nil || loop.Axis.Scalar || !loop.Axis.Dim.Known() || len(loop.Results) != 1 {
		return nil, nil
	}
	k := loop.Axis
	lo, okLo := ir.KnownInt(loop.Args[0])
	hi, okHi := ir.KnownInt(loop.Args[1])
	if !okLo || !okHi || lo < 0 || lo >= hi || hi > k.Dim.Value {
		return nil, nil
	}
	body := loop.Blocks[0]
	acc, yield := body.Params[1], body.Yield[0].Def
	if yield == nil || yield.Code != lang.OpMma || yield.Args[2] != acc || !slices.Contains(yield.Over, k) || !slices.Contains(body.Ops, yield) {
		return nil, nil
	}
	for _, op := range body.Ops {
		atStep := (op.Code == lang.OpStart || op.Code == lang.OpEnd) && op.Axis == k
		// A reduction over k inside would become one over all of k.
		mixes := op != yield && slices.Contains(op.Over, k)
		if !op.Pure() || atStep || mixes {
			return nil, nil
		}
		for i, a := range op.Args {
			if a == body.Params[0] || a == acc && !(op == yield && i == 2) {
				return nil, nil
			}
		}
	}
	// The axis changes its kind in place: every use of it is in this loop.
	k.Kind, k.Lo, k.Len, k.Extent = ir.Whole, lo, hi-lo, hi-lo
	if c, ok := loop.Args[2].IsConst(); ok && c == (ir.Const{}) && !math.Signbit(c.Float) {
		yield.Code, yield.Args = lang.OpDot, slices.Concat(yield.Args[:2], yield.Using())
	} else {
		yield.Args[2] = loop.Args[2]
	}
	result := yield.Result()
	if result.Name == "" {
		result.Name = loop.Results[0].Name
	}
	return body.Ops, result
}
