package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// Weights of 8 bits are widened to what they are multiplied with, and often scaled; those of 4 bits lie eight in a word. As operations of their own these take them through registers and shared memory once
// more, and no copy of them runs ahead of a loop. A contraction that takes them as they lie has them copied like any operand, and computes what it multiplies of what it
// reads.
//
// A number of f32 that is multiplied with one of bf16, as weights are by their scales and rows by the gains of a norm first, is the sum of two of bf16, or off from it by 2^-17 at most: both are multiplied, each with the
// instructions of bf16, rather than one with those of f32, which round it to 2^-11 and have half the rate, or a quarter where warps multiply by themselves, as they do what threads make. A product of two numbers of bf16 is such a sum exactly.
//
// Where one contraction takes what another gives, as in attention, which operand plays the rows is not ours to say: such kernels stay.
var mix = Pass{
	Name: "mix",
	Doc:  "has contractions take narrow numbers as they lie, where they were widened, scaled or unpacked for it and the machine asks for that",
	Run: func(f *ir.Func, o *Options) (bool, error) {
		if !o.Matrix || chained(f) {
			return false, nil
		}
		m := mixing{f, map[*ir.Value]int{}}
		f.Walk(func(op *ir.Op) bool {
			for _, v := range op.Args {
				m.uses[v]++
			}
			for _, b := range op.Blocks {
				for _, v := range b.Yield {
					m.uses[v]++
				}
			}
			return true
		})
		changed := rewrite(f, func(b *ir.Builder, op *ir.Op) ([]*ir.Value, bool) {
			if op.Code.Row().Group != lang.GroupContract || op.Mixed() {
				return nil, false
			}
			for arg, v := range op.Args[:2] {
				wide, precision := op.Args[1-arg], op.Precision
				if v.Type.DType == lang.F32 {
					if !InParts(v, wide) || widened(v) != v || precision == "ieee" || precision == "tf32x3" && !productOf16(v) {
						continue
					}
					wide, precision = widened(wide), ""
				} else if wide.Type.DType != lang.F16 && wide.Type.DType != lang.BF16 {
					continue
				}
				made := m.factor(v)
				if made == nil || m.factor(wide) != nil {
					continue
				}
				mixed := &ir.Op{Code: op.Code, Args: slices.Concat([]*ir.Value{wide, made.raw}, op.Args[2:]), Over: slices.Clone(op.Over), Precision: precision}
				if len(made.path) > 1 || made.path[0].Code != lang.OpCast || !ir.Mixes(wide.Type.DType, made.raw.Type.DType) {
					mixed.Fn = m.function(made)
					mixed.Args = append(mixed.Args, made.using...)
				}
				return b.Emit(mixed), true
			}
			return nil, false
		})
		if changed {
			liveness(f).sweep(f.Body)
		}
		return changed, nil
	},
	Matrix: true,
	Before: `kernel @k {
  dim M = ?
  dim K = 64
  dim N = 32
  tensor %a : in bf16[M, K]
  tensor %b : in i8[N, K]
  tensor %c : out f32[M, N]
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis k : whole K[0 .. 64]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %a[%0, %2] : bf16{i, k}
  %4 = load %b[%1, %2] : i8{j, k}
  %5 = cast %4 : bf16{j, k}
  %6 = dot %3, %5 over k : f32{i, j}
  store %c[%0, %1] = %6
}
`,
	After: `kernel @k {
  dim M = ?
  dim K = 64
  dim N = 32
  tensor %a : in bf16[M, K]
  tensor %b : in i8[N, K]
  tensor %c : out f32[M, N]
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis k : whole K[0 .. 64]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %a[%0, %2] : bf16{i, k}
  %4 = load %b[%1, %2] : i8{j, k}
  %7 = dot %3, %4 over k : f32{i, j}
  store %c[%0, %1] = %7
}
`,
}

// mixing finds what factors are made of.
type mixing struct {
	f    *ir.Func
	uses map[*ir.Value]int
}

// factor is a factor of a contraction that is made of narrower elements.
type factor struct {
	// raw is what was loaded: of 8 bits or fewer, of a factor in two parts also of 16, or elements that each have several positions' numbers.
	raw *ir.Value
	// path is the elementwise operations from raw to the factor, in order: nothing else uses what they give. Using is what they take beside.
	path  []*ir.Op
	using []*ir.Value
}

// longestPath is of how many operations a factor is made at most: by as many a contraction computes each element, once for each block that reads it.
const longestPath = 16

// factor finds what a factor is made of; nil where it is nothing of the kind.
func (m *mixing) factor(v *ir.Value) *factor {
	parts := v.Type.DType == lang.F32
	most := 8
	if parts {
		most = 16
	}
	raw := rawOf(v, most)
	if raw == nil || raw == v {
		return nil
	}
	made := &factor{raw: raw}
	follows := map[*ir.Value]bool{raw: true} // whether a value follows from raw
	var visit func(x *ir.Value) bool
	visit = func(x *ir.Value) bool {
		known, ok := follows[x]
		if ok || x.Def == nil || !madeElementwise(x) || len(made.path) > longestPath {
			return known
		}
		for _, arg := range x.Def.Args {
			follows[x] = visit(arg) || follows[x]
		}
		if follows[x] {
			made.path = append(made.path, x.Def)
		}
		return follows[x]
	}
	if !visit(v) || len(made.path) > longestPath {
		return nil
	}
	inside := map[*ir.Value]int{}
	for _, op := range made.path {
		for _, arg := range op.Args {
			inside[arg]++
			if _, constant := arg.IsConst(); follows[arg] || constant || slices.Contains(made.using, arg) {
				continue
			}
			if asLong(arg, v.Type.Axes) {
				return nil
			}
			made.using = append(made.using, arg)
		}
	}
	for x, follows := range follows {
		if anyway := parts && (x == raw || x.Def.Code == lang.OpCast); anyway { // a sum of squares may have them too
			continue
		}
		if follows && x != v && m.uses[x] != inside[x] || x == v && m.uses[x] != 1 {
			return nil
		}
	}
	return made
}

// InParts reports factors of f32 of which one may be multiplied in two parts of bf16: the other was widened of that.
func InParts(x, y *ir.Value) bool {
	of := func(v *ir.Value) bool { return widened(v).Type.DType == lang.BF16 }
	return x.Type.DType == lang.F32 && y.Type.DType == lang.F32 && of(x) != of(y)
}

// productOf16 reports a product of two numbers of 8 bits' precision at most, which bf16 has.
func productOf16(v *ir.Value) bool {
	return v.Def != nil && v.Def.Code == lang.OpMul && !slices.ContainsFunc(v.Def.Args, func(x *ir.Value) bool {
		if x.Def == nil || x.Def.Code != lang.OpCast {
			return true
		}
		d := x.Def.Args[0].Type.DType
		return d != lang.BF16 && d.Bits() > 8 || d == lang.Bool
	})
}

// rawOf is the load of most elements, each of so many bits at most, from which a factor follows, of all of its axes; nil where there is none, or two.
func rawOf(v *ir.Value, most int) *ir.Value {
	var raw *ir.Value
	fewest := int64(0)
	wholeLoads(v, func(load *ir.Op) {
		x := load.Result()
		n, ok := positionsOfElement(load)
		switch d := x.Type.DType; {
		case !ok, n == 1 && d.Bits() > most, n > 1 && !d.IsInt(), d == lang.Bool:
			if n == 1 { // as many elements, and no copy would bring them
				raw, fewest = nil, -1
			}
		case fewest == 0 || 0 < n && n < fewest:
			raw, fewest = x, n
		case n == fewest:
			raw = nil
		}
	})
	return raw
}

// wholeLoads calls visit for each load that has all axes of a value and from which the value follows by elementwise operations.
func wholeLoads(v *ir.Value, visit func(load *ir.Op)) {
	seen := map[*ir.Value]bool{}
	var from func(x *ir.Value)
	from = func(x *ir.Value) {
		if seen[x] || x.Def == nil {
			return
		}
		seen[x] = true
		switch op := x.Def; {
		case op.Code == lang.OpLoad && len(ir.Without(v.Type.Axes, x.Type.Axes)) == 0:
			visit(op)
		case madeElementwise(x):
			for _, arg := range op.Args {
				from(arg)
			}
		}
	}
	from(v)
}

// madeElementwise reports what the function of a contraction may compute.
func madeElementwise(v *ir.Value) bool {
	return v.Def.Code.Row().Elementwise && v.Def.Code != lang.OpRandomBits
}

// function is a factor's path as a function of its elements, the raw one first.
func (m *mixing) function(of *factor) *ir.Block {
	fn := &ir.Block{}
	known := map[*ir.Value]*ir.Value{}
	for _, v := range append([]*ir.Value{of.raw}, of.using...) {
		known[v] = m.f.NewValue(ir.Scalar(v.Type.DType), nil)
		fn.Params = append(fn.Params, known[v])
	}
	b := &ir.Builder{Func: m.f, Block: fn}
	for _, op := range of.path {
		args := make([]*ir.Value, len(op.Args))
		for i, v := range op.Args {
			if c, ok := v.IsConst(); ok && known[v] == nil {
				known[v] = b.Const(v.Type.DType, c)
			}
			args[i] = known[v]
		}
		b.At = op.At
		known[op.Result()] = b.Like(op, args...)
	}
	fn.Yield = []*ir.Value{known[of.path[len(of.path)-1].Result()]}
	return fn
}

// asLong reports a value for which as many elements are loaded as a factor of such axes has: no function of a contraction takes them.
func asLong(v *ir.Value, axes []*ir.Axis) bool {
	op := v.Def
	switch {
	case op == nil || len(ir.Without(axes, v.Type.Axes)) > 0:
		return false
	case op.Code == lang.OpLoad:
		return !slices.ContainsFunc(op.Indices(), func(x *ir.Value) bool { return quotient(x) > 1 })
	case op.Code.Row().Elementwise:
		return slices.ContainsFunc(op.Args, func(x *ir.Value) bool { return asLong(x, axes) })
	}
	return op.Code.Row().Group != lang.GroupCreate
}

// quotient is by what positions are divided; 0 for what is no quotient of positions.
func quotient(v *ir.Value) int64 {
	op := v.Def
	if op == nil || op.Code != lang.OpDiv && op.Code != lang.OpFloorDiv || op.Args[0].Def == nil || op.Args[0].Def.Code != lang.OpIndex {
		return 0
	}
	by, _ := op.Args[1].IsConst()
	return max(by.Int, 0)
}

// positionsOfElement is how many positions each element of a load stands for: its indices are positions, sums of them, or quotients by powers of two, as copies compute them; false where they
// are anything else.
func positionsOfElement(load *ir.Op) (int64, bool) {
	n := int64(1)
	var plain func(v *ir.Value) bool
	plain = func(v *ir.Value) bool {
		if v.Type.IsScalar() {
			return true
		}
		switch v.Def.Code {
		case lang.OpIndex:
			return true
		case lang.OpAdd, lang.OpSub, lang.OpMul, lang.OpFull:
			return !slices.ContainsFunc(v.Def.Args, func(x *ir.Value) bool { return !plain(x) })
		}
		return false
	}
	for i, v := range load.Indices() {
		by := quotient(v)
		switch {
		case plain(v):
		case load.Checked[i] || by < 1 || by&(by-1) != 0:
			return 0, false
		default:
			n *= by
		}
	}
	return n, true
}

// chained reports a kernel of which a contraction takes as a factor what follows from another.
func chained(f *ir.Func) bool {
	follows := map[*ir.Value]bool{}
	found := false
	var block func(*ir.Block)
	block = func(b *ir.Block) {
		for _, op := range b.Ops {
			contracts := op.Code.Row().Group == lang.GroupContract
			from := slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return follows[v] })
			found = found || contracts && (follows[op.Args[0]] || follows[op.Args[1]])
			for _, inner := range op.Blocks {
				for _, v := range inner.Params {
					follows[v] = follows[v] || from
				}
				block(inner)
				for i, v := range inner.Yield {
					from = from || follows[v]
					if op.Code == lang.OpFor { // the next step takes it
						follows[inner.Params[i+1]] = follows[inner.Params[i+1]] || follows[v]
					}
				}
			}
			for _, v := range op.Results {
				follows[v] = from || contracts
			}
		}
	}
	for range 2 { // what a step hands to the next is known behind the first time
		block(f.Body)
	}
	return found
}
