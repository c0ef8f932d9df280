package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file decides which tensors the atomics of a block change in the block's own shared memory first. Where elements are
// found by numbers that are read, as the bins of a histogram are, many threads of all blocks meet at few elements, and the L2
// does one after the other. In shared memory a block's threads meet among themselves only, and what they made together is
// put to the tensor once a block. That integers are put together in another order changes nothing.

// A Private is a tensor that a block changes in shared memory.
type Private struct {
	Tensor *ir.Tensor
	// Op is the atomic that changes it, the same everywhere in the kernel.
	Op lang.Op
	// Elements is how many the tensor has.
	Elements int
	// Copies is how many of each element a block has: one, or, of few elements, one for each lane of a warp, lest all lanes meet at one.
	Copies int
}

// Slots is how many elements a block has of the tensor, its copies counted.
func (x Private) Slots() int { return x.Elements * x.Copies }

// fewPrivate is up to how many elements of a private tensor each lane has its own of: with 32 lanes at 16 elements two meet at each, and
// what the copies take to put together grows with the elements.
const fewPrivate = 16

// MostPrivate is up to how many elements a tensor is private where nothing is pinned: of 32 KiB three blocks and more share a
// multiprocessor.
const MostPrivate = 8192

// PrivateBytes is what an element of a private tensor takes of shared memory.
const PrivateBytes = 4

// privates are the atomics whose operands an order does not matter to, and that shared memory has instructions for.
var privates = []lang.Op{lang.OpAtomicAdd, lang.OpAtomicMax, lang.OpAtomicMin, lang.OpAtomicAnd, lang.OpAtomicOr, lang.OpAtomicXor}

// PrivateIn reports a tensor of up to so many elements that blocks of the kernel may change in their own shared memory: one of
// integers of 32 bits, lying without gaps, which nothing but one kind of atomic touches, at places that are read, and of
// which nobody sees when it happens. What most is 0 stands for is MostPrivate.
func PrivateIn(f *ir.Func, t *ir.Tensor, most int64) (x Private, ok bool) {
	if most == 0 {
		most = MostPrivate
	}
	if t.Strides != nil || t.Scratch || !t.DType.IsInt() || t.DType.Bits() != 32 {
		return x, false
	}
	n := int64(1)
	for _, d := range t.Shape {
		if !d.Known() || d.Value > most {
			return x, false
		}
		n *= d.Value
	}
	if n < 1 || n > most {
		return x, false
	}
	x, ok = Private{Tensor: t, Elements: int(n), Copies: 1}, true
	if n <= fewPrivate {
		x.Copies = layout.Lanes
	}
	f.Walk(func(op *ir.Op) bool {
		if op.Tensor != t {
			return true
		}
		ok = ok && slices.Contains(privates, op.Code) && (x.Op == lang.OpInvalid || x.Op == op.Code) && !op.Old &&
			(op.Order == "" || op.Order == lang.OrderRelaxed) && op.Scope != lang.ScopeSystem && gathers(op)
		x.Op = op.Code
		return ok
	})
	return x, ok && x.Op != lang.OpInvalid
}

// gathers reports an access of which some index is a tile of its own.
func gathers(op *ir.Op) bool {
	return slices.ContainsFunc(op.Indices(), func(v *ir.Value) bool {
		_, ok := affineOf(v)
		return !ok
	})
}

// Updates is how many elements the atomics of a block change in a tensor, those twice that are changed twice, as far as the
// kernel says how often loops run; extent gives the positions that a block has of an axis outside of loops, and a step inside.
func Updates(f *ir.Func, t *ir.Tensor, extent func(*ir.Axis) int64) int64 {
	const many = 1 << 40
	total := int64(0)
	var visit func(b *ir.Block, times int64)
	visit = func(b *ir.Block, times int64) {
		for _, op := range b.Ops {
			if op.Tensor == t {
				n := times
				for _, a := range op.AccessAxes() {
					n = min(n*max(extent(a), 1), many)
				}
				total = min(total+n, many)
			}
			inside := times
			if op.Code == lang.OpFor {
				inside = min(times*trips(op, extent), many)
			}
			for _, inner := range op.Blocks {
				visit(inner, inside)
			}
		}
	}
	visit(f.Body, 1)
	return total
}

// trips is how many steps a loop has; 1 where that is not known.
func trips(loop *ir.Op, extent func(*ir.Axis) int64) int64 {
	lo, known := loop.Args[0].IsConst()
	hi := int64(0)
	switch def := loop.Args[1].Def; {
	case !known || def == nil:
		return 1
	case def.Code == lang.OpConst:
		hi = def.Const.Int
	case def.Code == lang.OpSize && def.Dim.Known():
		hi = def.Dim.Value
	default:
		return 1
	}
	n, step := max(hi-lo.Int, 0), int64(1)
	if loop.Axis != nil {
		step = max(extent(loop.Axis), 1)
	}
	return max((n+step-1)/step, 1)
}

// PaysPrivate reports that so many changes of a block are worth while to make in shared memory first: there are more of them than
// elements and copies, each of which is set at the beginning and put to the tensor at the end.
func (x Private) PaysPrivate(updates int64) bool { return updates > int64(x.Slots()) }

// makePrivate decides which tensors are private. A warp that only copies, and blocks that share what they do, would have to be
// told apart where these are put together.
func (p *Program) makePrivate() {
	if p.Producing || p.Split > 1 || p.MostPrivate == 1 {
		return
	}
	for _, t := range p.Func.Tensors {
		x, ok := PrivateIn(p.Func, t, int64(p.MostPrivate))
		if ok && x.PaysPrivate(Updates(p.Func, t, func(a *ir.Axis) int64 { return a.Extent })) {
			p.Privates = append(p.Privates, &x)
		}
	}
}

// PrivateOf is how a tensor is private; nil where it is not.
func (p *Program) PrivateOf(t *ir.Tensor) *Private {
	for _, x := range p.Privates {
		if x.Tensor == t {
			return x
		}
	}
	return nil
}
