package build

import (
	"math"
	"slices"

	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
)

// This file applies the exactness rule of docs/language.md, "Numbers": what is computed in f32 only to be rounded to f16 or bf16 is
// computed as exactly as that type can show. It is applied to each kernel as it is built, before kernels are launched as one and
// before there is a plan, so that no plan and no fusion changes a result. What a graph says of a kernel's results is in its layouts
// (spec.Layout.Rounded): a result that other kernels only read to round it is used by a rounding too.
//
// A rounding to p bits does not show an error of 2^-(p+6) of the value: the result is within 0.5 + 1/64 units of the last place.
// That is handed backward from the roundings, as an allowance: how far off a value may be, relative to itself. Products and quotients share theirs
// among their operands; a sum hands it on only where its terms have one sign, for else they may cancel. What several uses allow is the least
// of them, and any other use allows nothing. An operation whose coarse form (lang.OpRow.Coarse) fits its allowance is marked.

// beyondPrecision is by how many bits an allowance is below the precision of the type that is rounded to.
const beyondPrecision = 6

// Exactness is what the exactness rule finds of a kernel.
type Exactness struct {
	f *ir.Func
	// rounded has the types to which what reads them rounds the elements of stored tensors.
	rounded map[*ir.Tensor]lang.DType
	// allowed is how far off a value may be, limits which use allows the least; a value that is not there has no use so far.
	allowed map[*ir.Value]float64
	limits  map[*ir.Value]*ir.Op
	// positive are the values of which no element is below 0, leaves those that no function has a part in.
	positive, leaves map[*ir.Value]bool
	// fed are the values in a loop to which an error of what the loop carries is handed on: with an error of a factor, it would grow with each step.
	fed map[*ir.Value]bool
	// changed: the last walk over the kernel allowed a value less.
	changed bool
}

// roundedTensors are the tensors of a kernel that are only read to be rounded, by the layouts of its operands.
func roundedTensors(f *ir.Func, operands []spec.Operand) map[*ir.Tensor]lang.DType {
	rounded := map[*ir.Tensor]lang.DType{}
	n := 0
	for _, o := range operands {
		if !o.IsTensor {
			continue
		}
		if o.Layout.Rounded.IsValid() {
			rounded[f.Tensors[n]] = o.Layout.Rounded
		}
		n++
	}
	return rounded
}

// ExactnessOf applies the rule to a kernel with the operands of its launch, without marking anything.
func ExactnessOf(f *ir.Func, operands []spec.Operand) *Exactness {
	x := &Exactness{f: f, rounded: roundedTensors(f, operands), allowed: map[*ir.Value]float64{}, limits: map[*ir.Value]*ir.Op{}, positive: map[*ir.Value]bool{},
		leaves: map[*ir.Value]bool{}, fed: map[*ir.Value]bool{}}
	x.findPositive()
	x.findFed(f.Body, false)
	for _, v := range f.Scalars {
		x.leaves[v] = true
	}
	x.findLeaves(f.Body)
	for x.changed = true; x.changed; {
		x.changed = false
		x.backward(f.Body)
	}
	return x
}

// Fits reports that the coarse form of an operation is within what its uses allow.
func (x *Exactness) Fits(op *ir.Op) bool {
	if op.Code.Row().Coarse == 0 || op.Result().Type.DType != lang.F32 {
		return false
	}
	allowed, used := x.allowed[op.Result()]
	return used && allowed >= coarseError(op) && !x.compounds(op)
}

// Limit is the use that allows a value the least; nil where there is none.
func (x *Exactness) Limit(v *ir.Value) *ir.Op { return x.limits[v] }

// Rounded is the type, bf16 or f16, to which a kernel rounds all that it makes of the elements of a tensor of f32 that it reads; Invalid where it does
// anything else with one.
func (x *Exactness) Rounded(t *ir.Tensor) lang.DType {
	least, read := math.Inf(1), false
	x.f.Walk(func(op *ir.Op) bool {
		switch {
		case op.Tensor != t:
		case op.Code != lang.OpLoad:
			least, read = 0, true
		default:
			by, used := x.allowed[op.Result()]
			if used {
				least = min(least, by)
			}
			read = true
		}
		return true
	})
	for _, d := range []lang.DType{lang.BF16, lang.F16} {
		if read && least >= allowance(d) {
			return d
		}
	}
	return lang.Invalid
}

// allowance is how far off a value may be that is rounded to a type.
func allowance(d lang.DType) float64 { return math.Ldexp(1, -d.Precision()-beyondPrecision) }

// coarseError is how far off the coarse form of an operation is, relative to its value.
func coarseError(op *ir.Op) float64 { return math.Ldexp(1, -op.Code.Row().Coarse) }

// compounds reports a quotient of what a loop carries, whose error each step would add to.
func (x *Exactness) compounds(op *ir.Op) bool {
	return op.Code == lang.OpDiv && slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return x.fed[v] })
}

// coarsen marks the operations of a kernel whose coarse form is within the rule.
func coarsen(f *ir.Func, operands []spec.Operand) {
	x := ExactnessOf(f, operands)
	f.Walk(func(op *ir.Op) bool {
		op.Coarse = x.Fits(op)
		return true
	})
}

// allow lets a value be off by no more than so much, for this use.
func (x *Exactness) allow(v *ir.Value, by float64, use *ir.Op) {
	if old, used := x.allowed[v]; used && old <= by {
		return
	}
	x.allowed[v], x.limits[v], x.changed = by, use, true
}

// backward hands allowances from the results of operations to their operands, last operation first.
func (x *Exactness) backward(b *ir.Block) {
	for _, op := range slices.Backward(b.Ops) {
		x.operands(op)
	}
}

// operands hands the allowance of an operation's result to its operands.
func (x *Exactness) operands(op *ir.Op) {
	pass := func(by float64, args ...*ir.Value) {
		for _, v := range args {
			x.allow(v, by, x.blamed(op))
		}
	}
	switch op.Code {
	case lang.OpFor:
		body := op.Blocks[0]
		for i, v := range op.Results {
			p := body.Params[i+1]
			x.allowLike(body.Yield[i], v, p)
			x.allowLike(op.Args[i+2], v, p)
		}
		x.backward(body)
		return
	case lang.OpIf:
		for _, b := range op.Blocks {
			for i, v := range op.Results {
				x.allowLike(b.Yield[i], v)
			}
			x.backward(b)
		}
		return
	case lang.OpCast:
		if d := op.Result().Type.DType; op.Args[0].Type.DType == lang.F32 && (d == lang.F16 || d == lang.BF16) {
			x.allow(op.Args[0], allowance(d), op)
			return
		}
	case lang.OpStore:
		if d := x.rounded[op.Tensor]; d.IsValid() {
			pass(0, op.Indices()...)
			x.allow(op.Stored(), allowance(d), op)
			return
		}
	}
	by := x.passed(op)
	switch op.Code {
	case lang.OpMul, lang.OpDiv:
		x.shared(op, by)
	case lang.OpWhere:
		pass(0, op.Args[0])
		pass(by, op.Args[1:]...)
	default:
		pass(by, op.Args...)
	}
}

// passed is how far off the operands of an operation may be, where it is no product.
func (x *Exactness) passed(op *ir.Op) float64 {
	if len(op.Results) != 1 || op.Result().Type.DType != lang.F32 || op.Code.IsAtomic() { // an atomic puts its operand into memory, whoever reads what was there
		return 0
	}
	by, used := x.allowed[op.Result()]
	if !used {
		return math.Inf(1)
	}
	switch {
	case !x.handsOn(op):
		return 0
	case x.Fits(op):
		return by - coarseError(op)
	}
	return by
}

// handsOn reports an operation whose result is off, relative to itself, by no more than its operands are.
func (x *Exactness) handsOn(op *ir.Op) bool {
	switch op.Code {
	case lang.OpMul, lang.OpDiv, lang.OpWhere, lang.OpMin, lang.OpMax, lang.OpNeg, lang.OpAbs, lang.OpReduceMax, lang.OpReduceMin,
		lang.OpFull, lang.OpRename, lang.OpTake:
		return true
	case lang.OpAdd, lang.OpSum, lang.OpMean:
		return !slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return !x.positive[v] })
	case lang.OpCast:
		return op.Args[0].Type.DType == lang.F32
	}
	return false
}

// shared divides the allowance of a product or a quotient among its operands: all of it is for one operand where no function has a part in the
// other, and for what a loop carries, whose factors then have to be exact.
func (x *Exactness) shared(op *ir.Op, by float64) {
	a, b := op.Args[0], op.Args[1]
	one := func(v, other *ir.Value) {
		x.allow(v, by, x.blamed(op))
		x.allow(other, 0, op)
	}
	switch {
	case x.fed[a] && x.fed[b]:
		x.allow(a, 0, op)
		x.allow(b, 0, op)
	case x.fed[a] || x.leaves[b]:
		one(a, b)
	case x.fed[b] || x.leaves[a]:
		one(b, a)
	default:
		x.allow(a, by/2, x.blamed(op))
		x.allow(b, by/2, x.blamed(op))
	}
}

// blamed is the use that limits the operands of an operation: that which limits its result, or the operation itself.
func (x *Exactness) blamed(op *ir.Op) *ir.Op {
	if len(op.Results) == 1 && x.passed(op) > 0 || len(op.Results) == 1 && x.allowed[op.Result()] == 0 {
		if use := x.limits[op.Result()]; use != nil {
			return use
		}
	}
	return op
}

// allowLike lets a value be off by as much as each of the others that it becomes.
func (x *Exactness) allowLike(v *ir.Value, becomes ...*ir.Value) {
	for _, w := range becomes {
		if by, used := x.allowed[w]; used {
			x.allow(v, by, x.limits[w])
		}
	}
}

// findPositive finds the values without an element below 0. What a loop carries is taken for one until it is found not to be.
func (x *Exactness) findPositive() {
	negative := map[*ir.Value]bool{} // of the carried values
	for again := true; again; {
		again = false
		var block func(b *ir.Block)
		block = func(b *ir.Block) {
			for _, op := range b.Ops {
				if op.Code == lang.OpFor {
					for _, p := range op.Blocks[0].Params[1:] {
						x.positive[p] = !negative[p]
					}
				}
				for _, inner := range op.Blocks {
					block(inner)
				}
				for i, v := range op.Results {
					switch op.Code {
					case lang.OpFor:
						p := op.Blocks[0].Params[i+1]
						if !negative[p] && !(x.positive[op.Args[i+2]] && x.positive[op.Blocks[0].Yield[i]]) {
							negative[p], again = true, true
						}
						x.positive[v] = !negative[p]
					case lang.OpIf:
						x.positive[v] = x.positive[op.Blocks[0].Yield[i]] && x.positive[op.Blocks[1].Yield[i]]
					default:
						x.positive[v] = len(op.Results) == 1 && x.isPositive(op)
					}
				}
			}
		}
		block(x.f.Body)
	}
}

// isPositive reports an operation on floats that gives nothing below 0.
func (x *Exactness) isPositive(op *ir.Op) bool {
	if !op.Result().Type.DType.IsFloat() {
		return false
	}
	all := !slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return !x.positive[v] })
	switch op.Code {
	case lang.OpConst:
		return op.Const.Float >= 0 && !math.Signbit(op.Const.Float)
	case lang.OpExp, lang.OpExp2, lang.OpSqrt, lang.OpSigmoid, lang.OpAbs:
		return true
	case lang.OpMul:
		return all || op.Args[0] == op.Args[1]
	case lang.OpMax:
		return x.positive[op.Args[0]] || x.positive[op.Args[1]]
	case lang.OpWhere:
		return x.positive[op.Args[1]] && x.positive[op.Args[2]]
	case lang.OpTake:
		return x.positive[op.Args[0]]
	case lang.OpAdd, lang.OpDiv, lang.OpMin, lang.OpSum, lang.OpMean, lang.OpReduceMax, lang.OpReduceMin, lang.OpFull, lang.OpRename, lang.OpCast:
		return all && len(op.Args) > 0
	}
	return false
}

// findFed finds to what errors of carried values are handed on inside of the loop that carries them. What leaves a loop inside of another counts as such.
func (x *Exactness) findFed(b *ir.Block, inside bool) {
	for _, op := range b.Ops {
		fed := x.handsOn(op) && slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return x.fed[v] })
		for _, inner := range op.Blocks {
			if op.Code == lang.OpFor {
				for _, p := range inner.Params[1:] {
					x.fed[p] = true
				}
			}
			x.findFed(inner, inside || op.Code == lang.OpFor)
			fed = fed || op.Code == lang.OpIf && slices.ContainsFunc(inner.Yield, func(v *ir.Value) bool { return x.fed[v] })
		}
		if op.Code == lang.OpFor {
			fed = inside
		}
		for _, v := range op.Results {
			x.fed[v] = fed
		}
	}
}

// findLeaves finds the values that no operation with a coarse form has a part in, whatever its type, and reports that all of a block are such:
// they need no allowance.
func (x *Exactness) findLeaves(b *ir.Block) bool {
	all := true
	for _, op := range b.Ops {
		leaf := op.Code.Row().Coarse == 0 && !slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return !x.leaves[v] })
		if op.Fn != nil {
			leaf = x.findLeaves(op.Fn) && leaf
		}
		for _, inner := range op.Blocks {
			for _, p := range inner.Params {
				x.leaves[p] = leaf
			}
			if !x.findLeaves(inner) && leaf {
				leaf = false
				for _, p := range inner.Params {
					x.leaves[p] = false
				}
				x.findLeaves(inner)
			}
		}
		for _, v := range op.Results {
			x.leaves[v] = leaf
		}
		all = all && leaf
	}
	return all
}
