package pass

import (
	"math/bits"

	"tilec/jit/ir"
	"tilec/lang"
)

// A sort along an axis that is too long for a block sorts chunks, and then
// merges pairs of runs, twice as long in each round, from one half of a scratch
// tensor to the other. Each element of a merged run finds by bisection how many
// of those before it come from the left run, so all elements of a round are found
// at once: n log n comparisons a round, and reads and writes of neighbours.

// longSort is one sort under construction.
type longSort struct {
	*spiller
	x          *ir.Value
	over       *ir.Axis
	rows       []*ir.Axis
	descending bool
	// keys and order have two halves, each with the rows and then the positions from 0.
	keys, order *ir.Tensor
}

// sort emits the positions of the elements of x in order along an axis, equal ones as they stood.
func (s *spiller) sort(b *ir.Builder, x *ir.Value, over *ir.Axis, descending bool) *ir.Value {
	if !s.long[over] {
		return b.Emit(&ir.Op{Code: lang.OpSort, Args: []*ir.Value{x}, Over: []*ir.Axis{over}, Descending: descending})[0]
	}
	l := &longSort{spiller: s, x: x, over: over, rows: ir.Without(x.Type.Axes, []*ir.Axis{over}), descending: descending}
	shape := []int64{2}
	for _, a := range l.rows {
		shape = append(shape, s.extent(a))
	}
	shape = append(shape, over.Len)
	l.keys, l.order = s.f.AddScratch("keys", x.Type.DType, shape), s.f.AddScratch("order", lang.I32, shape)

	chunk := s.o.Chunks[over.Name]
	rounds := int64(0)
	for chunk<<rounds < over.Len {
		rounds++
	}
	l.chunks(b, chunk)
	l.merges(b, chunk, rounds)
	at := b.Emit(&ir.Op{Code: lang.OpIndex, Axis: over})[0]
	return l.shifted(b, l.read(b, l.order, b.Int(rounds%2), within(b, over, at)))
}

// each emits a loop over all positions from 0, by so many; body gets them as a tile.
func (l *longSort) each(b *ir.Builder, by int64, body func(b *ir.Builder, axis *ir.Axis, at *ir.Value)) {
	axis := l.f.AddAxis(ir.Axis{Name: l.over.Name, Kind: ir.Loop, Dim: l.f.ConstDim(l.over.Len), Extent: by})
	loop := &ir.Op{Code: lang.OpFor, Axis: axis, Args: []*ir.Value{b.Int(0), b.Int(l.over.Len)}, At: b.At,
		Blocks: []*ir.Block{{Params: []*ir.Value{l.f.NewValue(ir.Scalar(lang.I32), nil)}}}}
	in := &ir.Builder{Func: l.f, Block: loop.Blocks[0], At: b.At}
	body(in, axis, in.Emit(&ir.Op{Code: lang.OpIndex, Axis: axis})[0])
	b.Emit(loop)
}

// repeat emits a loop of a number of steps that carries values.
func (l *longSort) repeat(b *ir.Builder, steps *ir.Value, inits []*ir.Value, body func(b *ir.Builder, step *ir.Value, carried []*ir.Value) []*ir.Value) []*ir.Value {
	inner := &ir.Block{Params: []*ir.Value{l.f.NewValue(ir.Scalar(lang.I32), nil)}}
	for _, v := range inits {
		inner.Params = append(inner.Params, l.f.NewValue(v.Type, nil))
	}
	loop := &ir.Op{Code: lang.OpFor, Args: append([]*ir.Value{b.Int(0), steps}, inits...), Blocks: []*ir.Block{inner}, At: b.At}
	in := &ir.Builder{Func: l.f, Block: inner, At: b.At}
	inner.Yield = body(in, inner.Params[0], inner.Params[1:])
	return b.Emit(loop)
}

// index is the indices of an element of keys or order, in one of the halves.
func (l *longSort) index(b *ir.Builder, half, at *ir.Value) []*ir.Value {
	args := []*ir.Value{half}
	for _, a := range l.rows {
		args = append(args, within(b, a, b.Emit(&ir.Op{Code: lang.OpIndex, Axis: a})[0]))
	}
	return append(args, at)
}

func (l *longSort) read(b *ir.Builder, t *ir.Tensor, half, at *ir.Value) *ir.Value {
	return b.Emit(&ir.Op{Code: lang.OpLoad, Tensor: t, Args: l.index(b, half, at), Checked: make([]bool, len(t.Shape))})[0]
}

func (l *longSort) write(b *ir.Builder, t *ir.Tensor, half, at, v *ir.Value) {
	b.Emit(&ir.Op{Code: lang.OpStore, Tensor: t, Args: append(l.index(b, half, at), v), Checked: make([]bool, len(t.Shape))})
}

// shifted is a position from 0 as a position along the axis.
func (l *longSort) shifted(b *ir.Builder, at *ir.Value) *ir.Value {
	if l.over.Lo == 0 {
		return at
	}
	return b.Op(lang.OpAdd, at, b.Const(at.Type.DType, ir.Const{Int: l.over.Lo}))
}

// element is x at a position from 0.
func (l *longSort) element(b *ir.Builder, at *ir.Value) *ir.Value {
	return l.at(b, l.x, []*ir.Axis{l.over}, []*ir.Value{b.Cast(l.shifted(b, at), l.over.Counts())})
}

// chunks emits the loop that sorts chunk by chunk.
func (l *longSort) chunks(b *ir.Builder, chunk int64) {
	l.each(b, chunk, func(b *ir.Builder, axis *ir.Axis, at *ir.Value) {
		order := b.Emit(&ir.Op{Code: lang.OpSort, Args: []*ir.Value{l.element(b, at)}, Over: []*ir.Axis{axis}, Descending: l.descending})[0]
		half := b.Int(0)
		l.write(b, l.keys, half, at, l.element(b, order))
		l.write(b, l.order, half, at, order)
	})
}

// mergedElements is how many elements of all rows a step of a merge has: each holds a dozen numbers in registers.
const mergedElements = 1024

// merges emits the rounds: of runs of the length of a chunk first, then of twice that and so on.
func (l *longSort) merges(b *ir.Builder, chunk, rounds int64) {
	by := int64(mergedElements)
	for _, a := range l.rows {
		by /= max(l.extent(a), 1)
	}
	l.repeat(b, b.Int(rounds), []*ir.Value{b.Int(chunk), b.Int(0)}, func(b *ir.Builder, round *ir.Value, carried []*ir.Value) []*ir.Value {
		length, half := carried[0], carried[1]
		// A bisection of up to length places takes one step for each of its bits.
		steps := b.Op(lang.OpAdd, round, b.Int(int64(bits.Len64(uint64(chunk)))))
		other := b.Op(lang.OpSub, b.Int(1), half)
		l.each(b, max(by, 1), func(b *ir.Builder, _ *ir.Axis, at *ir.Value) {
			key, order := l.merged(b, half, length, steps, at)
			l.write(b, l.keys, other, at, key)
			l.write(b, l.order, other, at, order)
		})
		return []*ir.Value{b.Op(lang.OpAdd, length, length), other}
	})
}

// merged emits the key and the place in order that come to positions when runs of a length are merged in pairs.
func (l *longSort) merged(b *ir.Builder, half, length, steps, at *ir.Value) (key, order *ir.Value) {
	one, zero, n := b.Int(1), b.Int(0), b.Int(l.over.Len)
	run := b.Op(lang.OpDiv, at, length)
	first := b.Op(lang.OpMul, b.Op(lang.OpSub, run, b.Op(lang.OpMod, run, b.Int(2))), length)
	left := b.Op(lang.OpMin, length, b.Op(lang.OpSub, n, first))
	second := b.Op(lang.OpAdd, first, left)
	right := b.Op(lang.OpMin, length, b.Op(lang.OpSub, n, second))
	before := b.Op(lang.OpSub, at, first) // how many come before the position

	// Places in the runs, moved to one that exists where the run has none there: what is read then is not used.
	inLeft := func(b *ir.Builder, i *ir.Value) *ir.Value {
		return b.Op(lang.OpAdd, first, b.Op(lang.OpMin, i, b.Op(lang.OpSub, left, one)))
	}
	inRight := func(b *ir.Builder, i *ir.Value) *ir.Value {
		return b.Op(lang.OpMin, b.Op(lang.OpAdd, second, b.Op(lang.OpMax, i, zero)), b.Op(lang.OpSub, n, one))
	}
	axes := append(l.rows[:len(l.rows):len(l.rows)], at.Type.Axes...)
	bounds := []*ir.Value{
		b.Broadcast(b.Op(lang.OpMax, zero, b.Op(lang.OpSub, before, right)), axes),
		b.Broadcast(b.Op(lang.OpMin, before, left), axes),
	}
	from := l.repeat(b, steps, bounds, func(b *ir.Builder, _ *ir.Value, carried []*ir.Value) []*ir.Value {
		lo, hi := carried[0], carried[1]
		middle := b.Op(lang.OpAdd, lo, b.Op(lang.OpDiv, b.Op(lang.OpSub, hi, lo), b.Int(2)))
		x := l.read(b, l.keys, half, inLeft(b, middle))
		y := l.read(b, l.keys, half, inRight(b, b.Op(lang.OpSub, b.Op(lang.OpSub, before, one), middle)))
		open, falls := b.Op(lang.OpLt, lo, hi), l.precedes(b, y, x)
		up := b.Op(lang.OpLogicAnd, open, b.Op(lang.OpLogicNot, falls))
		down := b.Op(lang.OpLogicAnd, open, falls)
		return []*ir.Value{b.Op(lang.OpWhere, up, b.Op(lang.OpAdd, middle, one), lo), b.Op(lang.OpWhere, down, middle, hi)}
	})[0]

	rest := b.Op(lang.OpSub, before, from)
	placeLeft, placeRight := inLeft(b, from), inRight(b, rest)
	x, y := l.read(b, l.keys, half, placeLeft), l.read(b, l.keys, half, placeRight)
	takes := b.Op(lang.OpLogicOr, b.Op(lang.OpGe, rest, right), b.Op(lang.OpLogicNot, l.precedes(b, y, x)))
	takes = b.Op(lang.OpLogicAnd, b.Op(lang.OpLt, from, left), takes)
	return b.Op(lang.OpWhere, takes, x, y), l.read(b, l.order, half, b.Op(lang.OpWhere, takes, placeLeft, placeRight))
}

// precedes reports that x comes before y and is not equal to it.
func (l *longSort) precedes(b *ir.Builder, x, y *ir.Value) *ir.Value {
	if l.descending {
		x, y = y, x
	}
	less := b.Op(lang.OpLt, x, y)
	if !x.Type.DType.IsFloat() {
		return less
	}
	// NaN is above every number.
	return b.Op(lang.OpLogicOr, less, b.Op(lang.OpLogicAnd, b.Op(lang.OpIsNaN, y), b.Op(lang.OpLogicNot, b.Op(lang.OpIsNaN, x))))
}
