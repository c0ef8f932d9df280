package fuzz

import (
	"fmt"
	"math"
	"slices"

	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/lang"
)

// This file runs unoptimised tile IR one operation at a time, with what each
// element may be in a correct computation: integers exactly, floats as intervals.

// tile is a value: its elements in row-major order of its axes. Floats are in
// f, integers and bools in n.
type tile struct {
	dtype lang.DType
	axes  []*ir.Axis
	sizes []int
	f     []interval
	n     []whole
	// sums is, of sums, what each element adds up.
	sums []sum
	// weight and terms are, of sums, through how many roundings each number goes, times their unit, and how many numbers there are.
	weight, terms float64
	// joins: it is a contraction, which may begin with what is added to it.
	joins bool
	// product is what it is the product of, if it is one.
	product *origin
}

// span is the positions of an axis at the moment: from lo to before hi.
type span struct{ lo, hi int64 }

// machine is one run of a kernel.
type machine struct {
	fn    *ir.Func
	sizes func(*ir.Dim) (int64, error)
	// extent is how many elements of an axis are handled at once: what is pinned, else all.
	extent func(*ir.Axis) int64
	// fixed reports an axis whose extent is pinned.
	fixed func(*ir.Axis) bool
	// splits is over how many blocks of a cluster axes are divided, by name.
	splits map[string]int64
	arith  Arithmetic
	// precision is the kernel's, of sums that are contractions.
	precision string

	tensors map[*ir.Tensor]*array
	values  map[*ir.Value]*tile
	at      map[*ir.Axis]span
	// walked is all that the grid or a loop walks of an axis.
	walked map[*ir.Axis]span
	// loose are the values carried by loops over axes, which are sums in any order, with the size of what the loop walks.
	loose map[*ir.Value]float64
	// doubt counts the choices around the current operation that are undecided.
	doubt int
	// work counts the elements that were computed, at which a run ends at a limit, and ops the operations.
	work, limit, ops int64
}

// maxWork bounds the elements that one run computes.
const maxWork = 30e6

// fault is a mistake of the program or of the compiler's front end that the reference meets.
type fault struct{ error }

func (m *machine) fail(op *ir.Op, format string, args ...any) {
	line := 0
	if op.At.IsValid() {
		line, _ = op.At.Position()
	}
	panic(fault{fmt.Errorf("reference: %s at line %d: %s", op.Code, line, fmt.Sprintf(format, args...))})
}

// step is how many elements of an axis a block or a step of a loop handles.
func (m *machine) step(a *ir.Axis) int64 {
	if a.Scalar {
		return 1
	}
	return m.extent(a)
}

// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (m *machine) span(a *ir.Axis) span {
	if a.Kind == ir.Whole {
		return span{a.Lo, a.Lo + a.Len}
	}
	return m.at[a]
}

// make makes a tile of a type.
func (m *machine) make(t ir.Type) *tile {
	x := &tile{dtype: t.DType, axes: t.Axes, sizes: make([]int, len(t.Axes))}
	n := 1
	for i, a := range t.Axes {
		s := m.span(a)
		x.sizes[i] = int(max(0, s.hi-s.lo))
		n *= x.sizes[i]
	}
	if m.work += int64(n); m.work > m.limit {
		panic(fault{errTooMuch})
	}
	if t.DType.IsFloat() {
		x.f = make([]interval, n)
	} else {
		x.n = make([]whole, n)
	}
	return x
}

// steps gives how far apart in t the neighbours along each axis are; 0 along those that t lacks.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (t *tile) steps(axes []*ir.Axis) []int {
	out := make([]int, len(axes))
	for i, a := range axes {
		step := 1
		for j := len(t.axes) - 1; j >= 0; j-- {
			if t.axes[j] == a {
				out[i] = step
				break
			}
			step *= t.sizes[j]
		}
	}
	return out
}

// walk visits every position of the sizes, the last fastest, with where it lies in tiles of the steps.
func walk(sizes []int, steps [][]int, visit func(at []int)) {
	for _, n := range sizes {
		if n == 0 {
			return
		}
	}
	at := make([]int, len(steps))
	pos := make([]int, len(sizes))
	for {
		visit(at)
		d := len(sizes) - 1
		for ; d >= 0; d-- {
			pos[d]++
			for i := range at {
				at[i] += steps[i][d]
			}
			if pos[d] < sizes[d] {
				break
			}
			for i := range at {
				at[i] -= steps[i][d] * sizes[d]
			}
			pos[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

func (m *machine) sizesOf(axes []*ir.Axis) []int {
	out := make([]int, len(axes))
	for i, a := range axes {
		s := m.span(a)
		out[i] = int(max(0, s.hi-s.lo))
	}
	return out
}

func (m *machine) block(b *ir.Block) []*tile {
	for _, op := range b.Ops {
		m.op(op)
	}
	out := make([]*tile, len(b.Yield))
	for i, v := range b.Yield {
		out[i] = m.value(v)
	}
	return out
}

func (m *machine) value(v *ir.Value) *tile {
	t := m.values[v]
	if t == nil {
		panic(fmt.Sprintf("value %%%d is used before it is computed", v.ID))
	}
	return t
}

func (m *machine) args(op *ir.Op) []*tile {
	out := make([]*tile, len(op.Args))
	for i, a := range op.Args {
		out[i] = m.value(a)
	}
	return out
}

func (m *machine) op(op *ir.Op) {
	m.ops++
	row := op.Code.Row()
	var r *tile
	switch {
	case op.Code == lang.OpCast:
		r = m.cast(op)
	case op.Code == lang.OpBitcast:
		r = m.bitcast(op)
	case op.Code == lang.OpWhere:
		r = m.where(op)
	case row.Elementwise:
		r = m.elementwise(op)
	case row.Group == lang.GroupReduce:
		r = m.reduce(op)
	case row.Group == lang.GroupContract:
		r = m.contract(op)
	default:
		special, ok := specials[op.Code]
		if !ok {
			panic("the reference has no row for " + op.Code.String())
		}
		r = special(m, op)
	}
	if r != nil {
		m.values[op.Result()] = r
	}
}

// specials has a row for each operation with semantics of its own; those that give several results or none give nil.
var specials map[lang.Op]func(m *machine, op *ir.Op) *tile

func init() {
	specials = map[lang.Op]func(m *machine, op *ir.Op) *tile{
		lang.OpConst:  (*machine).constant,
		lang.OpFull:   (*machine).full,
		lang.OpIndex:  (*machine).index,
		lang.OpStart:  (*machine).bound,
		lang.OpEnd:    (*machine).bound,
		lang.OpSize:   (*machine).size,
		lang.OpRename: (*machine).rename,
		lang.OpTake:   (*machine).take,
		lang.OpSort:   (*machine).sort,
		lang.OpTopK:   (*machine).topk,
		lang.OpLoad:   (*machine).load,
		lang.OpStore:  (*machine).store,
		lang.OpReduce: (*machine).combine,
		lang.OpScan:   (*machine).combine,
		lang.OpFor:    (*machine).loop,
		lang.OpIf:     (*machine).choice,
	}
	specials[lang.OpPrint], specials[lang.OpAssert] = (*machine).say, (*machine).say
	for _, op := range lang.Ops() {
		if op.IsAtomic() {
			specials[op] = (*machine).atomic
		}
	}
}

func (m *machine) elementwise(op *ir.Op) *tile {
	args := m.args(op)
	r := m.make(op.Result().Type)
	steps := make([][]int, len(args))
	for i, a := range args {
		steps[i] = a.steps(r.axes)
	}
	d, i := args[0].dtype, 0
	switch {
	case !d.IsFloat():
		var x [3]whole
		walk(r.sizes, steps, func(at []int) {
			for j, a := range args {
				x[j] = a.n[at[j]]
			}
			r.n[i] = wholes(op.Code, d, x)
			i++
		})
	case r.f != nil:
		f := floats[op.Code]
		var x [3]interval
		walk(r.sizes, steps, func(at []int) {
			for j, a := range args {
				if x[j] = a.f[at[j]]; op.Coarse {
					x[j] = x[j].flushed()
				}
			}
			if r.f[i] = f(d, x); op.Coarse {
				r.f[i] = r.f[i].coarse(op.Code.Row().Coarse)
			}
			if op.Code != lang.OpPow { // 1 ** NaN and NaN ** 0 are 1
				r.f[i] = r.f[i].taint(x[:len(args)]...)
			}
			r.f[i] = r.f[i].inType(r.dtype)
			i++
		})
		switch op.Code {
		case lang.OpAdd:
			m.regroup(op, args, r)
		case lang.OpMul:
			r.product = &origin{op, args[0], args[1], nil}
		}
		if x := unchanged(op.Code, args); x != nil && slices.Equal(x.axes, r.axes) {
			for i, v := range x.f {
				if math.IsInf(v.most(), 0) { // nothing may be computed; where something is, an infinity saturates in 8 bits
					v = v.union(r.f[i])
				}
				r.f[i] = v // no rounding
			}
		}
		r.takeAfter(args)
	default:
		f := tests[op.Code]
		var x [3]interval
		walk(r.sizes, steps, func(at []int) {
			for j, a := range args {
				x[j] = a.f[at[j]]
			}
			r.n[i] = f(x).whole()
			i++
		})
	}
	return r
}

// unchanged is the operand that an operation gives as it is, since all of the other is 1, or 0 of a sum; nil for other operations.
func unchanged(code lang.Op, args []*tile) *tile {
	neutral, sides := 0.0, 1
	switch code {
	case lang.OpMul:
		neutral, sides = 1, 2
	case lang.OpDiv:
		neutral = 1
	case lang.OpAdd:
		sides = 2
	case lang.OpSub:
	default:
		return nil
	}
	for c := range sides {
		if !slices.ContainsFunc(args[1-c].f, func(x interval) bool { return !x.exact() || x.lo != neutral }) {
			return args[c]
		}
	}
	return nil
}

// takeAfter: an operation that changes nothing may be dropped.
func (t *tile) takeAfter(args []*tile) {
	for _, a := range args {
		if (a.sums != nil || a.product != nil) && slices.Equal(a.axes, t.axes) && slices.Equal(a.f, t.f) {
			t.sums, t.weight, t.terms, t.joins, t.product = a.sums, a.weight, a.terms, a.joins, a.product
		}
	}
}

// regroup lets a sum be added up in other steps than the reference's: one that
// a loop carries, of which threads may carry parts, and a contraction, which
// may start from what is added to it.
func (m *machine) regroup(op *ir.Op, args []*tile, r *tile) {
	for c := range 2 {
		x, y := args[c], args[1-c]
		steps, isCarried := m.loose[op.Args[c]]
		if y.sums == nil || !y.joins && !isCarried || r.sums != nil {
			continue
		}
		unit := m.arith.unit(r.dtype)
		r.sums, r.joins = make([]sum, len(r.f)), y.joins
		r.weight, r.terms = x.weight+y.weight+2*unit, x.terms+y.terms+1
		if isCarried {
			r.weight += m.arith.sums.additions * steps * unit
		}
		i := 0
		walk(r.sizes, [][]int{x.steps(r.axes), y.steps(r.axes)}, func(at []int) {
			r.sums[i] = x.sumAt(at[0]).plus(y.sums[at[1]])
			r.f[i] = r.f[i].union(r.sums[i].rounded(r.dtype, r.weight, r.terms))
			i++
		})
	}
}

func (m *machine) cast(op *ir.Op) *tile {
	x := m.value(op.Args[0])
	r := m.make(x.typed(op.Result().Type.DType))
	from, to := x.dtype, r.dtype
	for i := range max(len(r.f), len(r.n)) {
		switch {
		case from.IsFloat() && to.IsFloat():
			if r.f[i] = castFloat(x.f[i], to); op.Relative {
				r.f[i] = r.f[i].union(x.f[i].rounded(to))
			}
		case from.IsFloat():
			r.n[i] = truncated(x.f[i], from, to)
		case to.IsFloat():
			r.f[i] = unknown
			if x.n[i].ok {
				r.f[i] = point(eval.Cast(ir.Const{Int: x.n[i].v}, from, to).Float)
			}
		case x.n[i].ok:
			r.n[i] = whole{eval.Cast(ir.Const{Int: x.n[i].v}, from, to).Int, true}
		}
	}
	return r
}

func (t *tile) typed(d lang.DType) ir.Type { return ir.Type{DType: d, Axes: t.axes} }

func (m *machine) where(op *ir.Op) *tile {
	args := m.args(op)
	r := m.make(op.Result().Type)
	steps := [][]int{args[0].steps(r.axes), args[1].steps(r.axes), args[2].steps(r.axes)}
	i := 0
	walk(r.sizes, steps, func(at []int) {
		c, from := args[0].n[at[0]], 2
		if c.ok && c.v != 0 {
			from = 1
		}
		r.copy(i, args[from], at[from])
		if !c.ok {
			r.blur(i, args[1], at[1])
		}
		i++
	})
	if r.f != nil {
		r.takeAfter(args[1:])
	}
	known := !slices.ContainsFunc(args[0].n, func(c whole) bool { return !c.ok })
	if p := args[1].product; p != nil && p.mask == nil && known && !slices.ContainsFunc(args[2].f, func(v interval) bool { return v.lo != 0 || v.hi != 0 || v.nan != never }) {
		r.product = &origin{p.op, p.a, p.b, args[0]}
	}
	return r
}

// copy sets element i of t to element j of x.
func (t *tile) copy(i int, x *tile, j int) {
	if t.f != nil {
		t.f[i] = x.f[j]
	} else {
		t.n[i] = x.n[j]
	}
}

// blur makes element i of t stand for what it is or for element j of x.
func (t *tile) blur(i int, x *tile, j int) {
	switch {
	case t.f != nil:
		t.f[i] = t.f[i].union(x.f[j])
	case t.n[i] != x.n[j]:
		t.n[i] = whole{}
	}
}

func (m *machine) reduce(op *ir.Op) *tile {
	x := m.value(op.Args[0])
	var p *summands
	if op.Code == lang.OpSum {
		p = m.summands(x)
	}
	r := m.make(op.Result().Type)
	over := m.sizesOf(op.Over)
	outer, inner := x.steps(r.axes), x.steps(op.Over)
	d, i := x.dtype, 0
	first := map[lang.Op]func(a, b interval) verdict{lang.OpArgMax: greater, lang.OpArgMin: smaller}[op.Code]
	lo := m.span(op.Over[0]).lo
	r.joins = x.product != nil
	r.terms = 1
	for _, n := range over {
		r.terms *= float64(n)
	}
	if r.weight = r.terms * rounding(r.dtype); p != nil {
		r.weight = m.arith.weight(x.product.op, p.dtype, m.precision, r.terms)
	}
	m.work += int64(max(len(x.f), len(x.n)))
	var fs []interval
	var ns []whole
	walk(r.sizes, [][]int{outer}, func(base []int) {
		fs, ns = fs[:0], ns[:0]
		top := 0.0
		walk(over, [][]int{inner}, func(at []int) {
			switch j := base[0] + at[0]; {
			case p != nil:
				fs = append(fs, p.f[j])
				if p.top != nil {
					top = max(top, p.top[j])
				}
			case x.f != nil:
				fs = append(fs, x.f[j])
			default:
				ns = append(ns, x.n[j])
			}
		})
		switch {
		case first != nil && x.f != nil:
			r.n[i] = firstOf(fs, first).plus(lo)
		case first != nil:
			r.n[i] = firstWhole(op.Code, d, ns).plus(lo)
		case op.Code == lang.OpSum && x.f != nil:
			total := sumOf(fs)
			if p != nil {
				total = m.arith.contraction(x.product.op, p.dtype, m.precision, fs, top)
			}
			r.sums = append(r.sums, total)
			r.f[i] = total.rounded(r.dtype, r.weight, r.terms)
		case x.f != nil:
			r.f[i] = floatReductions[op.Code](d, fs)
		case r.dtype != d: // narrow integers widen before they are summed
			r.n[i] = sumWidened(op.Code, d, r.dtype, ns)
		default:
			r.n[i] = foldWholes(op.Code, d, ns)
		}
		i++
	})
	return r
}

func (w whole) plus(n int64) whole { return whole{w.v + n, w.ok} }

// sumWidened is a sum or product in the accumulator of a narrower type.
func sumWidened(op lang.Op, d, acc lang.DType, list []whole) whole {
	wide := make([]whole, len(list))
	for i, x := range list {
		wide[i] = whole{eval.Cast(ir.Const{Int: x.v}, d, acc).Int, x.ok}
	}
	return foldWholes(op, acc, wide)
}

func (m *machine) contract(op *ir.Op) *tile {
	args := m.args(op)
	a, b := args[0], args[1]
	r := m.make(op.Result().Type)
	over := m.sizesOf(op.Over)
	inner := [][]int{a.steps(op.Over), b.steps(op.Over)}
	outer := [][]int{a.steps(r.axes), b.steps(r.axes)}
	if len(args) == 3 {
		outer = append(outer, args[2].steps(r.axes))
	}
	k := 1
	for _, n := range over {
		k *= n
	}
	if m.work += int64(k) * int64(max(len(r.f), len(r.n))); m.work > m.limit {
		panic(fault{errTooMuch})
	}
	d, acc, i := a.dtype, r.dtype, 0
	r.weight, r.terms, r.joins = m.arith.weight(op, d, op.Precision, float64(k)), float64(k), true
	if len(args) == 3 {
		r.weight, r.terms = r.weight+args[2].weight+m.arith.sums.additions*m.arith.unit(r.dtype), r.terms+args[2].terms+1
	}
	var f factors
	if r.f != nil {
		f = m.factors(op.Precision, op, a, b)
	}
	var fs []interval
	walk(r.sizes, outer, func(base []int) {
		if r.f != nil {
			fs = fs[:0]
			top := 0.0
			walk(over, inner, func(at []int) {
				x, y := base[0]+at[0], base[1]+at[1]
				fs = append(fs, f.a[x].mul(f.b[y]))
				top = max(top, f.top(x, y))
			})
			total := m.arith.contraction(op, d, op.Precision, fs, top)
			if len(args) == 3 { // a sum itself: what it adds up counts, not what is left of it
				total = total.plus(args[2].sumAt(base[2]))
			}
			r.sums = append(r.sums, total)
			r.f[i] = total.rounded(r.dtype, r.weight, r.terms)
		} else {
			sum := whole{0, true}
			if len(args) == 3 {
				sum = args[2].n[base[2]]
			}
			walk(over, inner, func(at []int) {
				x, y := a.n[base[0]+at[0]], b.n[base[1]+at[1]]
				sum.v, sum.ok = eval.Wrap(sum.v+x.v*y.v, acc), sum.ok && x.ok && y.ok
			})
			r.n[i] = sum
		}
		i++
	})
	return r
}

func (m *machine) loop(op *ir.Op) *tile {
	lo, hi := m.value(op.Args[0]).n[0], m.value(op.Args[1]).n[0]
	if !lo.ok || !hi.ok {
		m.fail(op, "the range depends on a number that is not decided")
	}
	carried := m.args(op)[2:]
	step := int64(1)
	if op.Axis != nil {
		step = m.step(op.Axis)
	}
	body := op.Blocks[0]
	if op.Axis != nil { // however many positions a step has, threads may carry parts of their own
		for _, p := range body.Params[1:] {
			m.loose[p] = float64(hi.v - lo.v)
		}

		m.walked[op.Axis] = span{lo.v, hi.v}
	}
	if op.Axis != nil && m.splits[op.Axis.Name] > 1 {
		if softmax, err := ir.FindOnlineSoftmax(op); err == nil && softmax != nil {
			carried = m.inParts(op, softmax, carried, lo.v, hi.v, step)
			lo.v = hi.v
		}
	}
	for i, c := range m.steps(op, carried, lo.v, hi.v, step) {
		m.values[op.Results[i]] = c
	}
	return nil
}

// steps runs some steps of a loop.
func (m *machine) steps(op *ir.Op, carried []*tile, lo, hi, step int64) []*tile {
	body := op.Blocks[0]
	for pos := lo; pos < hi; pos += step {
		if op.Axis != nil {
			m.at[op.Axis] = span{pos, min(pos+step, hi)}
		}
		p := m.make(body.Params[0].Type)
		p.n[0] = whole{pos, true}
		m.values[body.Params[0]] = p
		for i, c := range carried {
			m.values[body.Params[i+1]] = c
		}
		carried = m.block(body)
	}
	return carried
}

// inParts runs an online softmax as blocks of a cluster do: each through its steps from the start on, whole steps, in order.
func (m *machine) inParts(op *ir.Op, s *ir.OnlineSoftmax, start []*tile, lo, hi, step int64) []*tile {
	n := m.splits[op.Axis.Name]
	each := ((hi-lo+step-1)/step + n - 1) / n * step
	if each <= 0 {
		return start
	}
	b := &ir.Builder{Func: m.fn, Block: &ir.Block{}, At: op.At}
	var parts [][]*ir.Value
	for ; lo < hi; lo += each {
		part := make([]*ir.Value, len(start))
		for i, c := range m.steps(op, start, lo, min(lo+each, hi), step) {
			part[i] = m.fn.NewValue(op.Results[i].Type, nil)
			m.values[part[i]] = c
		}
		parts = append(parts, part)
	}
	all := parts[0][s.Largest]
	for _, part := range parts[1:] {
		all = b.Op(lang.OpMax, all, part[s.Largest])
	}
	joined := make([]*ir.Value, len(start))
	for _, part := range parts {
		factor := s.Rescaling(b, part[s.Largest], all)
		for i, v := range part {
			if i == s.Largest {
				continue
			}
			if v = b.Op(lang.OpMul, v, factor); joined[i] != nil {
				v = b.Op(lang.OpAdd, joined[i], v)
			}
			joined[i] = v
		}
	}
	joined[s.Largest] = all
	b.Block.Yield = joined
	return m.block(b.Block)
}

func (m *machine) choice(op *ir.Op) *tile {
	c := m.value(op.Args[0]).n[0]
	if !c.ok {
		m.doubt++
		then, other := m.block(op.Blocks[0]), m.block(op.Blocks[1])
		m.doubt--
		for i, r := range op.Results {
			t := m.arranged(then[i], r.Type)
			o := m.arranged(other[i], r.Type)
			for j := range max(len(t.f), len(t.n)) {
				t.blur(j, o, j)
			}
			m.values[r] = t
		}
		return nil
	}
	b := op.Blocks[1]
	if c.v != 0 {
		b = op.Blocks[0]
	}
	for i, x := range m.block(b) {
		m.values[op.Results[i]] = x
	}
	return nil
}

// arranged is a copy of a tile with its axes in the order of a type.
func (m *machine) arranged(x *tile, t ir.Type) *tile {
	r := m.make(t)
	i := 0
	walk(r.sizes, [][]int{x.steps(r.axes)}, func(at []int) {
		r.copy(i, x, at[0])
		i++
	})
	return r
}
