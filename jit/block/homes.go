package block

import (
	"slices"
	"sort"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/target"
	"tilec/lang"
)

// This file decides the home layout of every value. Values that would like to
// share a layout (the operands and the result of an elementwise operation, what a
// loop carries) form a class; the class takes the layout of its best anchor.

// class is a set of values with one layout.
type class struct {
	axes   []*ir.Axis
	values []*ir.Value // in program order
	done   bool
	layout layout.Layout
}

// classes groups values: a forest, of which each tree is a class.
type classes struct {
	*Program
	parent map[*ir.Value]*ir.Value
	order  []*ir.Value // as the values were added
}

func (s *classes) find(v *ir.Value) *ir.Value {
	if up := s.parent[v]; up != v {
		s.parent[v] = s.find(up)
	}
	return s.parent[v]
}

func (s *classes) add(vs ...*ir.Value) {
	for _, v := range vs {
		if s.parent[v] == nil {
			s.parent[v] = v
			s.order = append(s.order, v)
		}
	}
}

// link puts two values in one class, if they have the same axes and neither is computed wherever it is used.
func (s *classes) link(v, w *ir.Value) {
	if s.Cheap(v) || s.Cheap(w) || len(v.Type.Axes) != len(w.Type.Axes) || len(ir.Without(v.Type.Axes, w.Type.Axes)) > 0 {
		return
	}
	s.add(v, w)
	s.parent[s.find(w)] = s.find(v)
}

// gather adds the results of an operation and links the values of which it wants the layouts to be one.
func (s *classes) gather(op *ir.Op) {
	for _, b := range op.Blocks {
		s.add(b.Params...)
	}
	s.add(op.Results...)
	switch {
	case op.Code.Row().Elementwise:
		for _, v := range op.Args {
			s.link(op.Result(), v)
		}
	case op.Code == lang.OpFor:
		b := op.Blocks[0]
		for i, v := range b.Params[1:] {
			s.link(v, op.Args[i+2])
			s.link(v, b.Yield[i])
			s.link(v, op.Results[i])
		}
	case op.Code == lang.OpIf:
		for i, v := range op.Results {
			s.link(v, op.Blocks[0].Yield[i])
			s.link(v, op.Blocks[1].Yield[i])
		}
	case op.Code == lang.OpMma:
		s.link(op.Result(), op.Args[2])
	case op.Code == lang.OpJoin:
		for i, v := range op.Joined() {
			s.link(op.Results[0], op.Results[i])
			s.link(op.Results[i], v)
		}
	case op.Old:
		s.link(op.Result(), op.Stored())
	case op.Combines():
		for _, v := range op.Results[1:] {
			s.link(op.Results[0], v)
		}
		for _, v := range op.Operands() {
			if op.Code == lang.OpScan {
				s.link(op.Results[0], v)
			} else {
				s.link(op.Args[0], v)
			}
		}
	}
}

// list is the classes in the order of their first values, and the class of each value.
func (s *classes) list() (list []*class, of map[*ir.Value]*class) {
	roots := map[*ir.Value]*class{}
	of = map[*ir.Value]*class{}
	for _, v := range s.order {
		root := s.find(v)
		c := roots[root]
		if c == nil {
			c = &class{axes: v.Type.Axes}
			roots[root] = c
			list = append(list, c)
		}
		c.values = append(c.values, v)
		of[v] = c
	}
	return list, of
}

// assign fills Homes for every value, and Products.
func (p *Program) assign() {
	s := &classes{Program: p, parent: map[*ir.Value]*ir.Value{}}
	s.add(p.Func.Scalars...)
	p.Func.Walk(func(op *ir.Op) bool {
		s.gather(op)
		return true
	})
	list, classOf := s.list()
	p.Func.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpDot || op.Code == lang.OpMma {
			p.Products[op] = p.newProduct(op, p.rowwise(op, classOf))
		}
		return true
	})
	// Slices go from more axes to fewer, so classes with more axes come first.
	sort.SliceStable(list, func(i, j int) bool { return len(list[i].axes) > len(list[j].axes) })
	for _, c := range list {
		c.layout, c.done = p.anchor(c, classOf), true
		for _, v := range c.values {
			p.Homes[v] = c.layout
		}
	}
}

// rowwise reports a contraction whose result is reduced along an axis of one
// operand alone, or is an operand of another contraction: its rows should stay in a warp.
func (p *Program) rowwise(op *ir.Op, classOf map[*ir.Value]*class) bool {
	for _, v := range classOf[op.Result()].values {
		for _, u := range p.Uses[v] {
			switch u.Op.Code {
			case lang.OpDot:
				return true
			case lang.OpMma:
				if u.Arg < 2 || p.carriesRows(u.Op, classOf) {
					return true
				}
			}
			if u.Op.Code.Row().Group == lang.GroupReduce || u.Op.Combines() {
				return true
			}
		}
	}
	return false
}

// carriesRows reports an accumulation whose first operand comes from another contraction.
func (p *Program) carriesRows(op *ir.Op, classOf map[*ir.Value]*class) bool {
	c := classOf[op.Args[0]]
	if c == nil {
		return false
	}
	for _, v := range c.values {
		if v.Def != nil && (v.Def.Code == lang.OpDot || v.Def.Code == lang.OpMma) {
			return true
		}
	}
	return false
}

// anchor chooses the layout of a class: that of a contraction's accumulator,
// what is left of a reduction's operand, the slice that a wider operation wants,
// a wide memory access, in this order.
func (p *Program) anchor(c *class, classOf map[*ir.Value]*class) layout.Layout {
	if len(c.axes) == 0 {
		return layout.Uniform(p.Warps)
	}
	for _, v := range c.values {
		if v.Def != nil {
			if c := p.Products[v.Def]; c != nil {
				return c.Home()
			}
		}
	}
	for _, v := range c.values {
		for _, u := range p.Uses[v] {
			if l, ok := p.wantedByFunction(u); ok {
				return l.Slice(c.axes)
			}
		}
	}
	for _, v := range c.values {
		if v.Def != nil && (v.Def.Code.Row().Group == lang.GroupReduce || v.Def.Code == lang.OpReduce) {
			if wide := classOf[p.reducedOperand(v.Def)]; wide != nil && wide.done {
				return wide.layout.Slice(c.axes)
			}
		}
	}
	for _, v := range c.values {
		for _, u := range p.Uses[v] {
			if u.Op.Code.Row().Elementwise {
				if wide := classOf[u.Op.Result()]; wide.done && len(wide.axes) > len(c.axes) {
					return wide.layout.Slice(c.axes)
				}
			}
		}
	}
	if p.shortRow(c) {
		return shortRow(c.axes[0], p.Warps)
	}
	best := 0
	var chosen layout.Layout
	var by *ir.Op
	for _, v := range c.values {
		if v.Def != nil && (v.Def.Code == lang.OpLoad || v.Def.Old) {
			if l, width := p.accessLayout(v.Def); width > best {
				best, chosen, by = width, l, v.Def
			}
		}
		for _, u := range p.Uses[v] {
			if (u.Op.Code == lang.OpStore || u.Op.Code.IsAtomic()) && u.Arg >= len(u.Op.Tensor.Shape) && len(IndexAxes(u.Op)) == len(c.axes) {
				if l, width := p.accessLayout(u.Op); width > best {
					best, chosen, by = width, l, u.Op
				}
			}
		}
	}
	if best > 0 {
		return p.inRuns(c, chosen, Contiguous(p.Access(by)))
	}
	if from := p.largestLoad(c); from != nil {
		l, _ := p.accessLayoutOf(from, c.axes)
		return l
	}
	axes := reversed(c.axes)
	return layout.Blocked(axes, Extents(axes), 1, p.Warps)
}

// wantedByFunction is the layout in which the function of a contraction takes a value, as wide as the elements that it makes factors of; false for other uses.
func (p *Program) wantedByFunction(u Use) (layout.Layout, bool) {
	c := p.Products[u.Op]
	if c == nil || u.Arg < len(u.Op.Code.Row().Operands) {
		return layout.Layout{}, false
	}
	return c.FragmentLayout(c.A), true
}

// mostOfShortRow is how many elements a row has at most that every warp reduces for itself.
const mostOfShortRow = 2 * layout.Lanes

// shortRow reports a class of one row that is reduced and has so few elements that each warp may as well have all of them: warps then exchange nothing.
func (p *Program) shortRow(c *class) bool {
	if len(c.axes) != 1 || c.axes[0].Extent > mostOfShortRow {
		return false
	}
	return slices.ContainsFunc(c.values, func(v *ir.Value) bool {
		return slices.ContainsFunc(p.Uses[v], func(u Use) bool { return u.Op.Code.Row().Group == lang.GroupReduce })
	})
}

// shortRow is the layout of a row of which each warp has all elements.
func shortRow(a *ir.Axis, warps int) layout.Layout {
	l := layout.InOrder([]*ir.Axis{a}, []int{int(a.Extent)}, 1)
	l.Warp = []layout.Digit{{Size: warps}}
	return l
}

// largestLoad finds, of a class that is reduced, the load of a narrower tile from which it takes most elements: as from the
// matrix of a product with a vector.
func (p *Program) largestLoad(c *class) (largest *ir.Op) {
	reduced := false
	var look func(v *ir.Value)
	look = func(v *ir.Value) {
		op := v.Def
		switch {
		case op == nil || len(v.Type.Axes) == 0:
		case op.Code == lang.OpLoad:
			if largest == nil || Volume(v.Type.Axes) > Volume(largest.Result().Type.Axes) {
				largest = op
			}
		case op.Code == lang.OpCast:
			look(op.Args[0])
		}
	}
	for _, v := range c.values {
		for _, u := range p.Uses[v] {
			reduced = reduced || u.Op.Code.Row().Group == lang.GroupReduce
		}
		if v.Def != nil && v.Def.Code.Row().Elementwise {
			for _, x := range v.Def.Args {
				if len(x.Type.Axes) < len(c.axes) {
					look(x)
				}
			}
		}
	}
	if !reduced {
		return nil
	}
	return largest
}

// reducedOperand is the operand of a reduction that has all its axes; where several make them up, none has to.
func (p *Program) reducedOperand(op *ir.Op) *ir.Value {
	if !op.Combines() {
		return op.Args[0]
	}
	var wide *ir.Value
	for _, v := range op.Operands() {
		if len(v.Type.Axes) != len(op.Combined()) {
			continue
		}
		if !p.Cheap(v) {
			return v
		}
		wide = v
	}
	return wide
}

func reversed(axes []*ir.Axis) []*ir.Axis {
	out := make([]*ir.Axis, len(axes))
	for i, a := range axes {
		out[len(axes)-1-i] = a
	}
	return out
}

// Extents is how many positions along each axis a tile has.
func Extents(axes []*ir.Axis) []int {
	out := make([]int, len(axes))
	for i, a := range axes {
		out[i] = max(int(a.Extent), 1)
	}
	return out
}

// Cheap reports a value that is recomputed in whatever layout is wanted:
// constants, positions and simple functions of them.
func (p *Program) Cheap(v *ir.Value) bool { return p.price(v, false) <= 4 }

// price is how many instructions an element of v costs to compute again, loads
// included when the caller allows them; unaffordable when it cannot be.
func (p *Program) price(v *ir.Value, loads bool) int {
	key := priced{v, loads}
	n, ok := p.prices[key]
	if !ok {
		n = p.priceOf(v, loads)
		p.prices[key] = n
	}
	return n
}

// priced is a question to price.
type priced struct {
	v     *ir.Value
	loads bool
}

func (p *Program) priceOf(v *ir.Value, loads bool) int {
	const unaffordable = 1000
	op := v.Def
	if op == nil || len(op.Results) != 1 {
		return unaffordable
	}
	switch op.Code {
	case lang.OpFull:
		if x := op.Args[0]; !x.Type.IsScalar() {
			return p.price(x, loads)
		}
		return 0
	case lang.OpConst, lang.OpIndex, lang.OpStart, lang.OpEnd, lang.OpSize:
		return 0
	case lang.OpRename:
		return p.price(op.Args[0], loads)
	case lang.OpLoad:
		if !loads || !p.AsFound(op) || v.Type.IsScalar() {
			return unaffordable
		}
		for _, x := range op.Args {
			if !x.Type.IsScalar() && p.price(x, false) > 4 && !p.copied(op, x) {
				return unaffordable
			}
		}
		return 4
	}
	if !op.Code.Row().Elementwise || v.Type.IsScalar() {
		return unaffordable
	}
	switch op.Code.Row().Group {
	case lang.GroupCompare, lang.GroupLogic, lang.GroupSelect, lang.GroupConvert, lang.GroupBits:
	default:
		switch op.Code {
		case lang.OpAdd, lang.OpSub, lang.OpMul, lang.OpNeg, lang.OpMin, lang.OpMax, lang.OpAbs:
		default:
			return unaffordable
		}
	}
	n := 1
	for _, x := range op.Args {
		if x.Type.IsScalar() {
			continue // at hand in every thread
		}
		n += p.price(x, loads)
	}
	return min(n, unaffordable)
}

// copied reports an index of a load that products alone read, from shared memory: copies there compute it from where a thread's elements begin.
func (p *Program) copied(load *ir.Op, index *ir.Value) bool {
	for _, u := range p.Uses[load.Result()] {
		if u.Op.Code.Row().Group != lang.GroupContract || u.Arg > 1 {
			return false
		}
	}
	if _, ok := affineOf(index); ok {
		return true
	}
	loop := p.loopOf(load) // threads hold what was computed before, for the elements that they copy
	return loop != nil && loop.Axis != nil && p.Stages > 1 && p.Target.Has(target.CpAsync) && p.toldBefore(AccessOf(load), loop)
}

// Again reports a value that get may compute again rather than convert.
func (p *Program) Again(v *ir.Value) bool { return p.price(v, true) <= 10 }

// OnDemand reports an operation that is emitted where it is used: cheap ones,
// and loads that every use wants in a layout of its own.
func (p *Program) OnDemand(op *ir.Op) bool {
	if len(op.Results) != 1 {
		return false
	}
	v := op.Result()
	if op.Code == lang.OpConst {
		return true
	}
	if v.Type.IsScalar() {
		return false
	}
	return p.Cheap(v) || p.Again(v) && !p.wantedAtHome(v) || p.PackedCast(op) || op.Code == lang.OpLoad && p.RunsAhead(op)
}

// RunsAhead reports a load that the copies of a loop bring: whoever wants it takes it from shared memory.
func (p *Program) RunsAhead(load *ir.Op) bool {
	for loop := range p.Pipelines {
		if p.runsAhead(loop, load) {
			return true
		}
	}
	return false
}

// PackedCast reports a conversion to a 16-bit float that only tensor cores and stores
// read: packing their operand rounds, so the conversion needs no instructions of its own.
func (p *Program) PackedCast(op *ir.Op) bool {
	if op.Code != lang.OpCast || op.Args[0].Type.DType != lang.F32 {
		return false
	}
	v := op.Result()
	d := v.Type.DType
	if d != lang.F16 && d != lang.BF16 || p.Cheap(op.Args[0]) || p.Yields(v) > 0 {
		return false
	}
	for _, u := range p.Uses[v] {
		c := p.Products[u.Op]
		operand := c != nil && c.MMA != nil && u.Arg < 2
		stored := u.Op.Overwrites() && u.Op.Stored() == v || u.Op.Code == lang.OpStore && u.Op.Stored() == v && !u.Op.Collides()
		if !operand && !stored {
			return false
		}
	}
	return true
}

// wantedAtHome reports a value that some use takes in its home layout.
func (p *Program) wantedAtHome(v *ir.Value) bool {
	for _, u := range p.Uses[v] {
		if row := u.Op.Code.Row(); row.Group == lang.GroupContract && u.Arg < len(row.Operands) {
			continue
		}
		want, ok := p.Wanted(u.Op, u.Arg)
		if !ok {
			return true
		}
		if _, same := p.Homes[v].Permutation(want, v.Type.Axes); same {
			return true
		}
	}
	return false
}

// Wanted is the layout in which an operation takes an operand; false when it has no single one.
func (p *Program) Wanted(op *ir.Op, arg int) (layout.Layout, bool) {
	v := op.Args[arg]
	row := op.Code.Row()
	switch {
	case v.Type.IsScalar():
		return layout.Uniform(p.Warps), true
	case row.Elementwise:
		return p.Homes[op.Result()].Slice(v.Type.Axes), true
	case op.Combines():
		return p.CombineLayout(op).Slice(v.Type.Axes), true
	case row.Group == lang.GroupReduce:
		return p.Homes[v], true
	case op.Code == lang.OpStore:
		return p.StoreLayout(op).Slice(v.Type.Axes), true
	case op.Code.IsAtomic():
		return p.AtomicLayout(op).Slice(v.Type.Axes), true
	case op.Code == lang.OpPrint:
		return p.DebugLayout(v), true
	case op.Code == lang.OpLoad:
		return p.Homes[op.Result()].Slice(v.Type.Axes), true
	case op.Code == lang.OpMma && arg == 2:
		return p.Products[op].Result, true
	case row.Group == lang.GroupContract && arg >= len(row.Operands):
		l, ok := p.wantedByFunction(Use{op, arg})
		return l.Slice(v.Type.Axes), ok
	case op.Code == lang.OpRename:
		return p.Homes[op.Result()].Rename(op.Axis, op.From), true
	case op.Code == lang.OpFull:
		return p.Homes[op.Result()].Slice(v.Type.Axes), true
	case op.Code == lang.OpTake && arg == 0:
		return p.Homes[v], true
	case op.Code == lang.OpTake:
		return p.Homes[op.Result()].Slice(v.Type.Axes), true
	case op.Code == lang.OpJoin:
		return p.Homes[op.Results[0]], true
	case op.Code == lang.OpFor && arg >= 2:
		return p.Homes[op.Blocks[0].Params[arg-1]], true
	}
	return layout.Layout{}, false
}

// Yields counts how often a value is handed back by a region.
func (p *Program) Yields(v *ir.Value) int {
	n := 0
	p.Func.Walk(func(op *ir.Op) bool {
		for _, b := range op.Blocks {
			for _, y := range b.Yield {
				if y == v {
					n++
				}
			}
		}
		return true
	})
	return n
}

// Volume is how many elements registers are kept for: one even along an axis without any.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func Volume(axes []*ir.Axis) int {
	n := 1
	for _, a := range axes {
		n *= max(int(a.Extent), 1)
	}
	return n
}
