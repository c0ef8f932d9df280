package ptx

import (
	"fmt"
	"math/bits"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// This file computes what the function of a product makes of its elements. Two neighbours of a fragment are halves of a register, and are computed as such where the operations allow that with
// the same results: sums, differences and products of floats of 16 bits, and integers that such floats have exactly. The rest is computed one by one.

// rawElement is what a product's function makes a factor of.
type rawElement struct {
	// field is where its bits are, where a word has them; without a word they are nowhere.
	field elem.Field
	// alone gives it in a register of its own.
	alone func() asm.Reg
}

// alone is an element of a type that a register has.
func (k *kernel) alone(d lang.DType, x asm.Reg) rawElement {
	e := rawElement{alone: func() asm.Reg { return x }}
	if d.IsInt() && d.Bits() <= 32 {
		e.field = elem.Field{Word: x, Bits: d.Bits()}
		if d.IsSigned() { // whose sign goes on above
			e.field.Bits = 32
		} else if d.Bits() < 32 {
			k.a.Within(x, 0, 1<<d.Bits()-1)
		}
	}
	return e
}

// factors computes what a product's function makes of two elements at a time.
type factors struct {
	*kernel
	c  *block.Product
	fn *ir.Block
	// d is the type of the factors, in which halves are.
	d lang.DType
	// layout is that of the fragments, using what the function takes beside the elements, in its own.
	layout layout.Layout
	using  map[*ir.Value][]asm.Reg
	// takes is what of the kernel a parameter stands for.
	takes map[*ir.Value]*ir.Value
	// known is what follows from the same registers, which is the same.
	known map[string]asm.Reg
}

// factors gives what a product's function makes of the elements of two registers in the layout of the fragments, in the halves of a register; elements that do not exist along the depth become
// 0. What the function takes beside the elements is brought now. Of a product in two parts it gives the larger part and what that lacks.
func (k *kernel) factors(c *block.Product) func(r [2]int, raw [2]rawElement) []asm.Reg {
	f := &factors{kernel: k, c: c, fn: c.Op.Fn, d: c.Element(c.A), layout: c.FragmentLayout(c.A), using: map[*ir.Value][]asm.Reg{}, takes: map[*ir.Value]*ir.Value{}, known: map[string]asm.Reg{}}
	for i, v := range c.Op.Using() {
		f.using[f.fn.Params[1+i]] = k.get(v, f.layout.Slice(v.Type.Axes))
		f.takes[f.fn.Params[1+i]] = v
	}
	return func(r [2]int, raw [2]rawElement) []asm.Reg {
		p := &pair{factors: f, r: r, raw: raw, singles: map[*ir.Value][2]asm.Reg{}}
		xs := p.parts(f.fn.Yield[0])
		for i, clear := range [2]uint32{0xffff0000, 0xffff} {
			if m := k.mask(f.layout, c.K, r[i]); m.Valid() {
				for n, x := range xs {
					xs[n] = k.selected(m, x, k.a.Op(asm.B32, "and.b32", x, asm.Bits32(clear)))
				}
			}
		}
		return xs
	}
}

// inOrder are the registers of a fragment that has several parts: those of the first, then those of the next, as factors gives them of each pair.
func inOrder(pairs [][]asm.Reg) (out []asm.Reg) {
	for part := range pairs[0] {
		for _, x := range pairs {
			out = append(out, x[part])
		}
	}
	return out
}

// partsOf takes a fragment apart again.
func partsOf(c *block.Product, fragment []asm.Reg) [][]asm.Reg {
	if !c.Op.InParts() {
		return [][]asm.Reg{fragment}
	}
	n := len(fragment) / 2
	return [][]asm.Reg{fragment[:n], fragment[n:]}
}

// once is what compute gives, computed once for operands that are the same.
func (f *factors) once(what string, of any, compute func() asm.Reg) asm.Reg {
	key := fmt.Sprint(what, of)
	r, ok := f.known[key]
	if !ok {
		r = compute()
		f.known[key] = r
	}
	return r
}

// pair computes two elements.
type pair struct {
	*factors
	r   [2]int
	raw [2]rawElement
	// singles are the values that were computed one by one.
	singles map[*ir.Value][2]asm.Reg
}

// parts are two elements of what the function gives, or of each of its parts.
func (p *pair) parts(v *ir.Value) []asm.Reg {
	if !p.c.Op.InParts() {
		return []asm.Reg{p.halves(v)}
	}
	if op := v.Def; op != nil && op.Code == lang.OpMul {
		if x, ok := p.exact(op.Args[0]); ok {
			if y, ok := p.exact(op.Args[1]); ok {
				large := p.arithmetic(lang.OpMul, x, y)
				return []asm.Reg{large, p.once("rest", []any{x, y}, func() asm.Reg { return elem.Rest(p.a, x, y, large) })}
			}
		}
	}
	whole := p.single(v)
	large := p.together(whole)
	rest := whole
	for i, rounded := range elem.Unpack(p.a, p.d, large, 2) {
		rest[i] = p.a.Op(asm.F32, "sub.f32", whole[i], elem.Cast(p.a, p.d, lang.F32, rounded))
	}
	return []asm.Reg{large, p.together(rest)}
}

// halves are two elements of a value of the factors' type.
func (p *pair) halves(v *ir.Value) asm.Reg {
	op := v.Def
	switch {
	case op == nil:
		if x, y := p.raw[0].field, p.raw[1].field; v == p.fn.Params[0] && x.Word.Valid() && x.Word == y.Word && x.Shift == 0 && y.Shift == 16 { // as they lie
			return x.Word
		}
	case op.Code == lang.OpConst:
		return elem.Twice(p.a, p.d, op.Const.Float)
	case op.Code == lang.OpCast:
		from := op.Args[0]
		if from.Type.DType.IsInt() {
			if x, ok := p.numbers(from); ok {
				return x
			}
		} else if x, ok := p.exact(from); ok {
			return x
		} else if mul := from.Def; mul != nil && mul.Code == lang.OpMul && from.Type.DType == lang.F32 { // f32 has products of two such floats exactly, but below 2^-126, where one rounding is left of two
			if x, ok := p.exact(mul.Args[0]); ok {
				if y, ok := p.exact(mul.Args[1]); ok {
					return p.arithmetic(lang.OpMul, x, y)
				}
			}
		}
		if from.Type.DType == lang.F32 {
			return p.together(p.single(from)) // rounds
		}
	case op.Code == lang.OpAdd, op.Code == lang.OpSub, op.Code == lang.OpMul:
		return p.arithmetic(op.Code, p.halves(op.Args[0]), p.halves(op.Args[1]))
	}
	return p.together(p.single(v))
}

// arithmetic is an operation on halves.
func (p *pair) arithmetic(code lang.Op, x, y asm.Reg) asm.Reg {
	return p.once("halves", []any{code, x, y}, func() asm.Reg {
		r, _ := elem.Halves(p.a, code, p.d, x, y)
		return r
	})
}

// together puts two numbers into the halves of a register, rounded.
func (p *pair) together(x [2]asm.Reg) asm.Reg {
	return p.once("together", x, func() asm.Reg { return elem.PackFull(p.a, p.d, x[:]) })
}

// exact are two elements of a float that the factors' type has exactly, as numbers of that; false for other values.
func (p *pair) exact(v *ir.Value) (asm.Reg, bool) {
	if v == p.fn.Params[0] {
		return p.rawFloats(v.Type.DType)
	}
	if from := p.takes[v]; from != nil && from.Type.DType == lang.F32 && fitsIn(from, p.d) {
		return p.together(p.single(v)), true
	}
	if op := v.Def; op != nil && op.Code == lang.OpCast && v.Type.DType == lang.F32 {
		switch from := op.Args[0]; {
		case from.Type.DType == p.d:
			return p.halves(from), true
		case from.Type.DType.IsInt():
			return p.numbers(from)
		default:
			return p.exact(from)
		}
	}
	return asm.Reg{}, false
}

// rawFloats are the two raw elements, floats that the factors' type has.
func (p *pair) rawFloats(d lang.DType) (asm.Reg, bool) {
	if d != lang.F4E2M1 || !p.raw[0].field.Word.Valid() {
		return asm.Reg{}, false
	}
	return elem.Fours(p.a, p.d, p.raw[0].field, p.raw[1].field), true
}

// between is from and to which integers two elements of a value lie that numbers gives as numbers of the factors' type; false for other values.
func (p *pair) between(v *ir.Value) (lo, hi int64, ok bool) {
	d := v.Type.DType
	if c, constant := v.IsConst(); constant {
		return c.Int, c.Int, elem.ExactIn(p.d, c.Int, c.Int)
	}
	if v == p.fn.Params[0] && p.bytes() {
		lo, hi = elem.Span(p.a, d)
		return lo, hi, true
	}
	if x, ok := p.fields(v); ok {
		return 0, 1<<x[0].Bits - 1, elem.FieldsFit(p.d, x[0].Bits, 0)
	}
	if p.takes[v] != nil {
		x := p.single(v)
		lo, hi = elem.Span(p.a, d, x[0], x[1])
		return lo, hi, elem.ExactIn(p.d, lo, hi)
	}
	op := v.Def
	if op == nil || d.Bits() > 32 {
		return 0, 0, false
	}
	var spans [2][2]int64
	for i, arg := range op.Args {
		if i == len(spans) || !arg.Type.DType.IsInt() {
			return 0, 0, false
		}
		if spans[i][0], spans[i][1], ok = p.between(arg); !ok {
			return 0, 0, false
		}
	}
	x, y := spans[0], spans[1]
	switch op.Code {
	case lang.OpCast:
		lo, hi = x[0], x[1]
	case lang.OpAdd:
		lo, hi = x[0]+y[0], x[1]+y[1]
	case lang.OpSub:
		lo, hi = x[0]-y[1], x[1]-y[0]
	default:
		return 0, 0, false
	}
	return lo, hi, elem.Fits(d, lo, hi) && elem.ExactIn(p.d, lo, hi)
}

// numbers are two elements of an integer as numbers of the factors' type, which has all that they may be; false where that is not known.
func (p *pair) numbers(v *ir.Value) (asm.Reg, bool) {
	if _, _, ok := p.between(v); !ok {
		return asm.Reg{}, false
	}
	if x := p.raw; v == p.fn.Params[0] && p.bytes() {
		return elem.Bytes(p.a, v.Type.DType, p.d, x[0].field.Word, x[0].field.Shift/8, x[1].field.Shift/8), true
	}
	if x, ok := p.fields(v); ok {
		return p.less(x, 0), true
	}
	op := v.Def
	switch c, constant := v.IsConst(); {
	case constant:
		return elem.Twice(p.a, p.d, float64(c.Int)), true
	case p.takes[v] != nil:
		x := p.single(v)
		for i, r := range x {
			x[i] = p.once("number", r, func() asm.Reg { return elem.Cast(p.a, v.Type.DType, p.d, r) })
		}
		return p.together(x), true
	case op.Code == lang.OpCast:
		return p.numbers(op.Args[0])
	}
	if c, constant := op.Args[1].IsConst(); constant { // taken away with what the fields are put into
		from := c.Int
		if op.Code == lang.OpAdd {
			from = -from
		}
		if x, ok := p.fields(op.Args[0]); ok && elem.FieldsFit(p.d, x[0].Bits, from) {
			return p.less(x, from), true
		}
	}
	y, _ := p.numbers(op.Args[1])
	if x, ok := p.fields(op.Args[0]); ok && op.Code == lang.OpSub { // from numbers above a power of two what is as much above: of a zero point for several elements that is one
		if lo, hi, _ := p.between(op.Args[1]); elem.FieldsFit(p.d, x[0].Bits, lo) && elem.FieldsFit(p.d, x[0].Bits, hi) {
			raised := p.once("raised", x, func() asm.Reg { return elem.Raised(p.a, p.d, x[0], x[1]) })
			return p.arithmetic(lang.OpSub, raised, p.arithmetic(lang.OpAdd, y, elem.Twice(p.a, p.d, elem.Power(p.d)))), true
		}
	}
	x, _ := p.numbers(op.Args[0])
	return p.arithmetic(op.Code, x, y), true
}

// less is two fields' integers less a number.
func (p *pair) less(x [2]elem.Field, from int64) asm.Reg {
	return p.once("numbers", []any{x, from}, func() asm.Reg { return elem.Numbers(p.a, p.d, x[0], x[1], from) })
}

// bytes reports raw elements that are two of a word's bytes.
func (p *pair) bytes() bool {
	x, y := p.raw[0].field, p.raw[1].field
	return x.Word.Valid() && x.Word == y.Word && x.Bits == 8 && x.Shift%8 == 0 && y.Shift%8 == 0
}

// fields are the bits that two elements of an integer are; false for what is no such.
func (p *pair) fields(v *ir.Value) (x [2]elem.Field, ok bool) {
	for i := range x {
		f, signed, ok := p.field(v, i)
		if !ok || signed || f.Bits != x[0].Bits && i > 0 {
			return x, false
		}
		x[i] = f
	}
	return x, true
}

// field is the bits that an element of an integer is, of which the highest is its sign where it is signed.
func (p *pair) field(v *ir.Value, i int) (f elem.Field, signed, ok bool) {
	d, op := v.Type.DType, v.Def
	switch {
	case d.Bits() > 32 || !d.IsInt():
		return f, false, false
	case v == p.fn.Params[0]:
		f = p.raw[i].field
		return f, d.IsSigned(), f.Word.Valid()
	case op == nil:
		return f, false, false
	}
	switch op.Code {
	case lang.OpShr:
		f, signed, ok = p.field(op.Args[0], i)
		switch by, known := p.number(op.Args[1], i); {
		case ok && known && 0 <= by && by < int64(f.Bits):
			return elem.Field{Word: f.Word, Shift: f.Shift + int(by), Bits: f.Bits - int(by)}, signed, true
		case !known:
			return elem.Field{Word: p.single(v)[i], Bits: 32}, d.IsSigned(), true
		}
	case lang.OpAnd:
		mask, known := p.number(op.Args[1], i)
		if !known || mask <= 0 || mask&(mask+1) != 0 {
			break
		}
		n := bits.Len64(uint64(mask))
		f, signed, ok = p.field(op.Args[0], i)
		if ok && (n <= f.Bits || !signed) {
			f.Bits = min(f.Bits, n)
			return f, false, true
		}
	case lang.OpCast:
		f, signed, ok = p.field(op.Args[0], i)
		if ok && !signed && elem.Fits(d, 0, 1<<f.Bits-1) {
			return f, false, true
		}
	}
	return f, false, false
}

// number is an integer that an element is known to be.
func (p *pair) number(v *ir.Value, i int) (int64, bool) {
	if c, ok := v.IsConst(); ok {
		return c.Int, true
	}
	if p.takes[v] == nil || v.Type.DType.Bits() > 32 {
		return 0, false
	}
	lo, hi := elem.Span(p.a, v.Type.DType, p.single(v)[i])
	return lo, lo == hi
}

// single computes two elements one by one.
func (p *pair) single(v *ir.Value) [2]asm.Reg {
	if x, ok := p.singles[v]; ok {
		return x
	}
	x := p.computeSingle(v)
	p.singles[v] = x
	return x
}

func (p *pair) computeSingle(v *ir.Value) (x [2]asm.Reg) {
	op := v.Def
	switch {
	case v == p.fn.Params[0]:
		for i := range x {
			x[i] = p.raw[i].alone()
		}
		return x
	case p.takes[v] != nil:
		for i := range x {
			x[i] = p.using[v][p.layout.Project(p.r[i], p.takes[v].Type.Axes)]
		}
		return x
	case op.Code == lang.OpConst:
		c := elem.EntryConstant(p.a, v.Type.DType, op.Const)
		return [2]asm.Reg{c, c}
	case op.Code == lang.OpCast && (v.Type.DType == lang.F32 || v.Type.DType == p.d):
		if h, ok := p.cheapest(op.Args[0]); ok {
			return [2]asm.Reg(elem.Unpack(p.a, p.d, h, 2))
		}
	}
	for i := range x {
		args := make([]asm.Reg, len(op.Args))
		for n, arg := range op.Args {
			args[n] = p.single(arg)[i]
		}
		x[i] = p.once("single", []any{v.ID, args}, func() asm.Reg { return p.apply(op, args) })
	}
	return x
}

// cheapest are halves of a value that are made with fewer instructions than its elements one by one, even if they are taken apart then.
func (p *pair) cheapest(v *ir.Value) (asm.Reg, bool) {
	switch {
	case !v.Type.DType.IsInt():
		return p.exact(v)
	case v == p.fn.Params[0] || p.takes[v] != nil:
		return asm.Reg{}, false
	}
	return p.numbers(v)
}

// fitsIn reports a value of f32 that a type of 16 bits has: it was of that type, or the lower half of its bits is 0.
func fitsIn(v *ir.Value, d lang.DType) bool {
	switch {
	case v.Def == nil:
		return false
	case v.Def.Code == lang.OpCast:
		return v.Def.Args[0].Type.DType == d
	}
	return d == lang.BF16 && v.Def.Code == lang.OpBitcast && zerosBelow(v.Def.Args[0]) >= 16
}

// zerosBelow is how many of the lowest bits of an integer are known to be 0.
func zerosBelow(v *ir.Value) int64 {
	if c, ok := v.IsConst(); ok {
		return int64(bits.TrailingZeros32(uint32(c.Int)))
	}
	op := v.Def
	if op == nil {
		return 0
	}
	switch op.Code {
	case lang.OpShl:
		by, _ := op.Args[1].IsConst()
		return max(by.Int, 0)
	case lang.OpMin, lang.OpMax, lang.OpAnd, lang.OpOr:
		return min(zerosBelow(op.Args[0]), zerosBelow(op.Args[1]))
	case lang.OpFull:
		return zerosBelow(op.Args[0])
	}
	return 0
}
