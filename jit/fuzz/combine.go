package fuzz

import (
	"fmt"
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file generates reductions and scans by a function, and says what they may give.

// exact are associative functions whose results no grouping rounds: of numbers,
// and of integers alone, which wrap.
var (
	exactNumber  = []string{"max", "min", "(p, q) => q", "(p, q) => p"}
	exactInteger = []string{"(p, q) => where(q > p, q, p)", "(p, q) => p + q", "(p, q) => p * q", "(p, q) => p ^ q", "(p, q) => p & q", "(p, q) => { p | q }"}
)

// scanned is a scan, or a reduction by a function, along an axis.
func (g *generator) scanned(e elem, depth int) value {
	var as []*axis
	for _, a := range g.tileAxes() {
		if a.kind == wholeAxis {
			as = append(as, a)
		}
	}
	if len(as) == 0 {
		return g.leaf(e)
	}
	a := pick(g.r, as...)
	frame := g.frame
	if !slices.Contains(frame, a) {
		if len(frame) >= widest {
			frame = frame[:widest-1]
		}
		frame = append(slices.Clone(frame), a)
	}
	operand := func(e elem) value {
		return g.within(frame, func() value { return g.along(g.expr(e, depth-1), a) })
	}
	inFrame := slices.Contains(g.frame, a) // else the axis may not be in the result
	reverse := ""
	if g.chance(35) {
		reverse = ", reverse = true"
	}
	if inFrame && e.acc() == e && g.chance(50) {
		x := operand(e)
		g.work(x.axes)
		return value{fmt.Sprintf("%s(%s, over %s%s)", pick(g.r, "cumsum", "cumprod"), x.text, a.name, reverse), e, x.axes}
	}
	functions := exactNumber
	if e.d.IsInt() {
		functions = append(slices.Clone(functions), exactInteger...)
	}
	x := operand(e)
	g.work(x.axes)
	fn := pick(g.r, functions...)
	if inFrame && g.chance(70) {
		return value{fmt.Sprintf("scan(%s, over %s, %s, %s%s)", x.text, a.name, g.literal(e), fn, reverse), e, x.axes}
	}
	return value{fmt.Sprintf("reduce(%s, over %s, %s, %s)", x.text, a.name, g.literal(e), fn), e, without(x.axes, []*axis{a})}
}

// rounds reports a function of which another grouping may give another result: one that computes with floats.
func rounds(fn *ir.Block) bool {
	for _, op := range fn.Ops {
		if op.Code != lang.OpConst && op.Result().Type.DType.IsFloat() && (op.Code.Rounds() || op.Code == lang.OpNeg) {
			return true
		}
	}
	return false
}

// combine is a reduce or a scan: in order, one element after the other. Sums and
// products of floats are those of any order; other functions that round may give anything.
func (m *machine) combine(op *ir.Op) *tile {
	operands := make([]*tile, len(op.Operands()))
	whole := make([]*tile, len(operands)) // over all axes
	for i, v := range op.Operands() {
		operands[i] = m.value(v)
		whole[i] = m.make(ir.Type{DType: v.Type.DType, Axes: op.Combined()})
		x := whole[i]
		j := 0
		walk(x.sizes, [][]int{operands[i].steps(x.axes)}, func(at []int) {
			x.copy(j, operands[i], at[0])
			j++
		})
	}
	results := make([]*tile, len(operands))
	for i, r := range op.Results {
		results[i] = m.make(r.Type)
		m.values[r] = results[i]
	}
	rest := ir.Without(op.Combined(), op.Over)
	n := m.sizesOf(op.Over)[0]
	step := whole[0].steps(op.Over)[0]
	out := results[0].steps(op.Over)[0]
	fold := floatFold(op.Fn)
	free := rounds(op.Fn)
	walk(m.sizesOf(rest), [][]int{whole[0].steps(rest), results[0].steps(rest)}, func(base []int) {
		if n == 0 {
			for i, v := range op.Identity() {
				if op.Code == lang.OpReduce {
					results[i].copy(base[1], m.value(v), 0)
				}
			}
			return
		}
		var acc []*tile
		var seen folding
		if fold != nil {
			seen = fold()
		}
		for k := range n {
			at := k
			if op.Reverse {
				at = n - 1 - k
			}
			x := m.elements(whole, base[0]+at*step)
			switch {
			case fold != nil:
				if seen.take(x[0].f[0]); op.Code == lang.OpScan || k == n-1 {
					r := m.make(ir.Scalar(x[0].dtype))
					r.f[0] = seen.result(x[0].dtype)
					acc = []*tile{r}
				}
			case acc == nil:
				acc = x
			default:
				acc = m.call(op, acc, x)
				if free {
					for _, t := range acc {
						if t.f != nil {
							t.f[0] = unknown
						}
					}
				}
			}
			if op.Code == lang.OpScan || k == n-1 {
				for i, t := range acc {
					results[i].copy(base[1]+at*out, t, 0)
				}
			}
		}
	})
	return nil
}

// elements are the scalars at a place of tiles.
func (m *machine) elements(tiles []*tile, at int) []*tile {
	out := make([]*tile, len(tiles))
	for i, t := range tiles {
		out[i] = m.make(ir.Scalar(t.dtype))
		out[i].copy(0, t, at)
	}
	return out
}

// call runs the function of a reduce or a scan.
func (m *machine) call(op *ir.Op, x, y []*tile) []*tile {
	args := slices.Concat(x, y)
	for _, v := range op.Captured() {
		args = append(args, m.value(v))
	}
	for i, p := range op.Fn.Params {
		m.values[p] = args[i]
	}
	return m.block(op.Fn)
}

// floatFold begins what floats give by a function that is one sum or one product, nil for others.
func floatFold(fn *ir.Block) func() folding {
	if len(fn.Ops) != 1 || len(fn.Params) != 2 {
		return nil
	}
	if d := fn.Params[0].Type.DType; !d.IsFloat() || d.Accumulator() != d || fn.Yield[0] != fn.Ops[0].Result() {
		return nil
	}
	if a := fn.Ops[0].Args; len(a) != 2 || a[0] == a[1] {
		return nil
	}
	switch fn.Ops[0].Code {
	case lang.OpAdd:
		return func() folding { return newAddition() }
	case lang.OpMul:
		return func() folding { return newMultiplication() }
	}
	return nil
}
