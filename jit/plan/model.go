package plan

import (
	"maps"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// model is what the cost of a kernel depends on, gathered from its IR once:
// every figure of a candidate is a product of extents over the axes listed here.
type model struct {
	f      *ir.Func
	target target.Machine
	// sizes gives the typical size of a dimension, 0 where nothing is said; it may be nil.
	sizes func(*ir.Dim) int64
	place map[*ir.Axis]int
	// By place of the axis: its elements in all; whether a contraction sums
	// over it, and over another axis together with it; whether it is a free axis of a contraction; whether it can be streamed.
	size       []int64
	contracted []bool
	together   []bool
	matrix     []bool
	streamable []bool
	// spans is, by place of the axis, the run of positions that its extent has to divide, for the program
	// uses where it begins or ends; 0 where any extent will do.
	spans []int64
	// passes is, by operation and streamed axis, how many loops compute the operation.
	passes map[*ir.Op]map[int]int
	// loopsAround are, by operation and streamed axis, of each level of these loops the axes whose steps, where they are streamed too, go around one: each of these steps computes the operation
	// again. Nothing is there where no loop has any.
	loopsAround map[*ir.Op]map[int][][][]int
	// scanned are, by streamed axis, the operations that a scan along it needs.
	scanned map[*ir.Op]map[int]bool

	// ordered are, of each store that has to be in the order of several axes, their places in this order.
	ordered [][]int
	// fed are the values that contractions read, used those that anything else does.
	fed, used map[*ir.Value]bool
	// multiplied are the contractions that take a value.
	multiplied map[*ir.Value][]*ir.Op
	// freeOf remembers the places of the axes that one value has and another has not: each candidate asks.
	freeOf map[[2]*ir.Value][]int
	// rowValuesAre is what is computed of several loads that nothing else needs, where they have been asked for: see keep.go.
	rowValuesAre   []value
	rowValuesFound bool

	ops      []step
	live     [][]tile // at each moment that matters, the tiles that are live in registers
	operands []operand
	results  map[*ir.Op]bool // stores of the result of a contraction
	stored   []storedTile    // tiles with the result of a contraction, which stores arrange anew
	taken    []tile          // tiles that are read at computed positions, from shared memory
	// turned are the loads along other neighbours than those along which stores have what is loaded.
	turned map[*ir.Op]bool
	loops  []*ir.Op
	// runsOf are the accesses that threads make by words (see cover.go).
	runsOf map[*ir.Op]*covering
	// rowsHeld is how many rows of a window a thread has at most at a time.
	rowsHeld int64
	// softmax: a loop with products is an online softmax.
	softmax bool
	// chainsF32 says that it has products of f32 by the matrix unit, and takes what one gives for another, or reduces it.
	chainsF32 bool
	// visited is how many candidates searches have gone through, and facts what is known of each product.
	visited int
	facts   map[*ir.Op]*facts
	// roles are those of the operands of products, as block.WgmmaRoles gives them.
	roles map[*ir.Op]block.Roles
	// windowed are the products whose steps may have several taps of a window.
	windowed []ofWindow
	// taps are the places of the axes of such taps.
	taps []int
	// ranged are the loops over ranges that are read from memory (see ranges.go).
	ranged map[*ir.Op]span
	// occupancy and cluster are the blocks that are to share a multiprocessor and a cluster, 0 where nothing is
	// asked; split is the blocks that share an axis, 0 or 1 for none.
	occupancy, cluster int
	// producer is the warps that only copy, where it is pinned.
	producer int
	split    int64
	// named: a list names the rows or the columns of a product. Threads copy them from places that are not near each other, some sooner and some later (an H200, 4,608 rows of
	// 4,096 in blocks of 128 by experts' 4,096 x 3,584: 299 us with a step of copies under way, 237 with two).
	named bool
	// made: a product takes what is computed of loads along its depth, which no copy brings ahead.
	made bool
	// relayout is what is asked of the operands' layout in memory, 0 for nothing: the launch has seen to it.
	relayout int
	// cut is in how many launches the kernel is asked to be cut, 0 for nothing: the launch has seen to it.
	cut int
	// online is how a softmax is asked to go through its scores, 0 for nothing: the passes have seen to it.
	online int
	// mostPrivate is up to how many elements a tensor is private, 0 where nothing is pinned; privates are those that may be.
	mostPrivate int64
	privates    []block.Private
	// stencils are the loads that lie beside others of their tensor.
	stencils map[*ir.Op]*stencil
	// neighbours are, by load, those that take elements of its tensor at places computed of the same axes, itself included.
	neighbours map[*ir.Op]int
	// short is the rows that are reduced whole, where they are short; nil where there are none.
	short *short
	// misaligned are the tensors whose rows no box can copy: see misalignedOf.
	misaligned map[*ir.Tensor]int64
	// piecewise are the loads of windows that are copied in short pieces, and the axes along which their neighbours lie: see block.Piecewise.
	piecewise map[*ir.Op][][]*ir.Axis
	// wgmma is what is asked of products: see Plan.Wgmma.
	wgmma int
	// forms are those that are asked for, by name.
	forms map[string]int64
	// depth is the place of the axis over which blocks that stay have a loop, be it of one step; -1 where there is none.
	depth int
	// shared is the place of the axis that the planner may spread over the blocks of a cluster, -1 where there is none.
	shared int
	// repeats: loops that blocks share, or may share, are such as all blocks along the grid's last axis would go through.
	repeats bool
	// latency is the most stages that a load of a contraction asks for; 0 where none does.
	latency int
	// deep: products are not cut along their depth (see Deep).
	deep bool
	// fine: extents are chosen from all powers of two (see Small).
	fine bool
	// beyond: estimates beyond the limits of registers and shared memory are no violation (see Beyond).
	beyond bool
	// products is how many contractions there are, stepwise reports some that may have a sum of their own in each step.
	// ofBytes: all are of elements of 8 bits.
	products          int
	stepwise, ofBytes bool
	// mixed reports one of two types.
	mixed bool
	// alikes is what alike.go has counted.
	alikes map[along]int64
	// contracts reports a contraction; pipelined, in a loop, whose loads can run ahead.
	contracts, pipelined bool
}

// tile is the axes of a value, by place, and the bytes of an element.
type tile struct {
	axes  []int
	bytes int64
	// alike is along which axes neighbours have one element (see alike.go).
	alike []alike
}

// storedTile is a tile that a store arranges anew, in a loop or outside of any.
type storedTile struct {
	tile
	inLoop bool
}

// step is an operation with the loops around it.
type step struct {
	op    *ir.Op
	axes  []int // of all arguments and results
	loops []*ir.Op
	// once are the grid axes along which only the first block does it.
	once []int
	// alike is along which axes neighbours of its result have one element (see alike.go).
	alike []alike
}

// operand is a tile that a contraction reads from shared memory. A staged one
// is loaded anew at each step of a loop over one of the axes in over.
type operand struct {
	tile
	value *ir.Value
	// name is what a person calls it: the tensor that it is loaded from, or the value.
	name   string
	inLoop bool
	// looped says that the contraction is in a loop, constant that the tensor is loaded as it is and nothing writes it: a launch that
	// follows others asks for such ahead.
	looped, constant bool
	over             []int
	// op is the contraction, loops what is around it.
	op    *ir.Op
	loops []*ir.Op
}

func newModel(f *ir.Func, t target.Machine, sizes func(*ir.Dim) int64) *model {
	n := len(f.Axes)
	m := &model{f: f, target: t, sizes: sizes, place: map[*ir.Axis]int{}, size: make([]int64, n), contracted: make([]bool, n),
		together: make([]bool, n), matrix: make([]bool, n), streamable: make([]bool, n), spans: make([]int64, n), passes: map[*ir.Op]map[int]int{}, loopsAround: map[*ir.Op]map[int][][][]int{}, scanned: map[*ir.Op]map[int]bool{}, freeOf: map[[2]*ir.Value][]int{}, roles: map[*ir.Op]block.Roles{}, facts: map[*ir.Op]*facts{}, results: map[*ir.Op]bool{}, alikes: map[along]int64{}, depth: -1}
	m.misaligned = misalignedOf(f, t)
	if t.Has(target.TMA) {
		m.piecewise = block.Piecewise(f)
	}
	for i, a := range f.Axes {
		m.place[a] = i
		switch {
		case a.Kind == ir.Whole:
			m.size[i] = a.Len
		default:
			m.size[i] = dimSize(a.Dim, sizes)
		}
	}
	f.Walk(func(op *ir.Op) bool {
		if op.Span > 0 {
			m.spans[m.place[op.Axis]] = op.Span
		}
		if axes := op.Ordered(); len(axes) > 0 {
			places := m.places(axes)
			slices.Sort(places) // axes are declared in order
			m.ordered = append(m.ordered, places)
		}
		return true
	})
	m.uses()
	m.gather(f.Body, nil, nil)
	m.softmax, m.chainsF32 = m.isSoftmax(), m.chainsProducts()
	m.findRanges()
	m.findStencils()
	m.findRuns()
	m.findTurned()
	m.liveness(f.Body, nil)
	for i, a := range f.Axes {
		if a.Kind == ir.Whole {
			m.streamable[i] = m.stream(i) || f.Spill // what cannot be computed again is kept
		}
	}
	m.short = m.findShort()
	return m
}

func dimSize(d *ir.Dim, sizes func(*ir.Dim) int64) int64 {
	if d.Known() {
		return d.Value
	}
	if sizes != nil {
		if n := sizes(d); n > 0 {
			return n
		}
	}
	return unknownSize
}

func (m *model) places(axes []*ir.Axis) []int {
	ps := make([]int, len(axes))
	for i, a := range axes {
		ps[i] = m.place[a]
	}
	return ps
}

func (m *model) tile(v *ir.Value) tile {
	return tile{m.places(v.Type.Axes), int64(v.Type.DType.Size()), m.alike(v)}
}

// gather lists the operations with the loops around them, and the axes along which only the first block does them.
func (m *model) gather(b *ir.Block, loops []*ir.Op, once []int) {
	for _, op := range b.Ops {
		var types []ir.Type
		for _, v := range op.Args {
			types = append(types, v.Type)
		}
		for _, v := range op.Results {
			types = append(types, v.Type)
		}
		inside := loops
		if op.Code == lang.OpTake { // moves the elements of its result
			types = []ir.Type{op.Result().Type}
			m.taken = append(m.taken, m.tile(op.Args[0]))
		}
		if op.Code == lang.OpTopK { // goes through the tile; what its results take is in the weight of an element
			types = types[:1]
		}
		if op.Code == lang.OpFor {
			m.loops = append(m.loops, op)
			inside = append(slices.Clone(loops), op)
		} else {
			var alike []alike
			if len(op.Results) == 1 {
				alike = m.alike(op.Result())
			}
			m.ops = append(m.ops, step{op, m.places(ir.Union(types...)), loops, once, alike})
		}
		if isContraction(op) {
			m.contraction(op, b, loops)
		}
		if op.Code == lang.OpStore && m.fromContraction(op.Stored(), map[*ir.Value]bool{}) {
			m.stored = append(m.stored, storedTile{m.tile(op.Stored()), len(loops) > 0})
			m.results[op] = true
		}
		for i, inner := range op.Blocks {
			if op.Code == lang.OpIf && i == 0 {
				m.gather(inner, inside, append(slices.Clone(once), m.firstOnly(op.Args[0])...))
				continue
			}
			m.gather(inner, inside, once)
		}
	}
}

// firstOnly is the grid axes at whose first position a condition holds alone, of `start(j) == 0` j, or at another of positions that blocks have one of.
func (m *model) firstOnly(cond *ir.Value) []int {
	def := cond.Def
	switch {
	case def == nil:
		return nil
	case def.Code == lang.OpLogicAnd:
		return append(m.firstOnly(def.Args[0]), m.firstOnly(def.Args[1])...)
	case def.Code != lang.OpEq:
		return nil
	}
	at, zero := def.Args[0].Def, def.Args[1].Def
	if at == nil || zero == nil || at.Code != lang.OpStart || zero.Code != lang.OpConst || zero.Const.Int != 0 && !at.Axis.Scalar || at.Axis.Kind != ir.Grid {
		return nil
	}
	return []int{m.place[at.Axis]}
}

func (m *model) contraction(op *ir.Op, b *ir.Block, loops []*ir.Op) {
	inLoop := len(loops) > 0
	x, y := op.Args[0].Type, op.Args[1].Type
	m.contracts = true
	m.products++
	m.ofBytes = (m.ofBytes || m.products == 1) && x.DType.Bits() == 8 && y.DType.Bits() == 8
	m.mixed = m.mixed || op.Mixed()
	m.stepwise = m.stepwise || block.F8(m.f, op, m.target)
	m.facts[op] = &facts{deep: [2]bool{deep(op, 0), deep(op, 1)}}
	if roles, ok := block.WgmmaRoles(op); ok {
		m.roles[op] = roles
	}
	if m.target.Has(target.Wgmma) {
		if w := block.MultipliedWindow(op); w != nil {
			m.windowed = append(m.windowed, ofWindow{op, w})
			for _, tap := range w.Taps {
				if tap != nil {
					m.taps = append(m.taps, m.place[tap])
				}
			}
		}
	}
	for _, a := range op.Over {
		m.contracted[m.place[a]] = true
		m.together[m.place[a]] = m.together[m.place[a]] || len(op.Over) > 1
		m.pipelined = m.pipelined || a.Kind == ir.Loop
	}
	for _, a := range append(ir.Without(x.Axes, y.Axes), ir.Without(y.Axes, x.Axes)...) {
		m.matrix[m.place[a]] = true
		m.pipelined = m.pipelined || a.Kind == ir.Loop
	}
	if n := len(loops); n > 0 && loops[n-1].Axis != nil && loops[n-1].Axis.Scalar { // a loop over numbers
		m.pipelined = true
	}
	for _, v := range op.Args[:2] {
		m.made = m.made || madeOfLoads(v, op.Over)
		m.named = m.named || v.Def != nil && v.Def.Code == lang.OpLoad && slices.ContainsFunc(v.Def.Indices(), fromMemory)
		loaded := v.Def != nil && v.Def.Code == lang.OpLoad && slices.Contains(b.Ops, v.Def)
		constant := v.Def != nil && v.Def.Code == lang.OpLoad && v.Def.Tensor.Constant
		m.operands = append(m.operands, operand{m.tile(v), v, operandName(v), loaded && inLoop, inLoop, constant, m.places(op.Over), op, loops})
		if v.Def != nil && v.Def.Code == lang.OpLoad {
			m.latency = max(m.latency, int(v.Def.Hint.Latency))
		}
	}
}

// madeOfLoads reports a value that is computed elementwise of loads along some axes.
func madeOfLoads(v *ir.Value, over []*ir.Axis) bool {
	return v.Def != nil && v.Def.Code.Row().Elementwise && slices.ContainsFunc(v.Def.Args, func(a *ir.Value) bool {
		load := a.Def != nil && a.Def.Code == lang.OpLoad && slices.ContainsFunc(over, a.Type.Has)
		return load || madeOfLoads(a, over)
	})
}

func operandName(v *ir.Value) string {
	switch {
	case v.Def != nil && v.Def.Tensor != nil:
		return "the operand from " + v.Def.Tensor.Name
	case v.Name != "":
		return "the operand " + v.Name
	}
	return "an operand that is computed"
}

// fromContraction reports a value that is computed elementwise from a contraction's result.
func (m *model) fromContraction(v *ir.Value, seen map[*ir.Value]bool) bool {
	if seen[v] || v.Def == nil || v.Type.IsScalar() {
		return false
	}
	seen[v] = true
	def := v.Def
	if isContraction(def) {
		return true
	}
	if def.Code == lang.OpFor {
		for i, r := range def.Results {
			if r == v {
				return m.fromContraction(def.Blocks[0].Yield[i], seen)
			}
		}
	}
	return def.Code.Row().Elementwise && slices.ContainsFunc(def.Args, func(a *ir.Value) bool { return m.fromContraction(a, seen) })
}

// liveness finds the tiles that are in registers at once. Elementwise chains
// are computed a few elements at a time, so between two operations that need
// whole tiles (reductions, contractions, loops) only what crosses them counts,
// and what loads have in flight. A result may take the place of an operand that
// nothing needs any more, as an accumulator's does: so each run of elementwise
// operations is looked at as it begins and as it ends.
func (m *model) liveness(b *ir.Block, outside []tile) {
	phase := make([]int, len(b.Ops))
	defined, last, lastWhole := map[*ir.Value]int{}, map[*ir.Value]int{}, map[*ir.Value]int{}
	p := 0
	for i, op := range b.Ops {
		region := len(op.Blocks) > 0
		if region {
			p++
		}
		phase[i] = p
		whole := isReduction(op) || isContraction(op) || op.Code == lang.OpTake
		use := func(v *ir.Value) {
			last[v] = p
			if whole || region {
				lastWhole[v] = p + 1 // 0 is never
			}
		}
		eachUse(op, use)
		if op.Code == lang.OpFor { // what it carries takes the place of what it begins with
			for _, v := range op.Args[2:] {
				if lastWhole[v] == p+1 && v.Def != nil && v.Def.Code == lang.OpFor {
					delete(lastWhole, v)
				}
			}
			for _, inner := range op.Blocks {
				for _, x := range inner.Ops {
					eachUse(x, use)
				}
				for _, y := range inner.Yield {
					use(y)
				}
			}
		}
		if whole {
			p++
		}
		for _, r := range op.Results {
			defined[r] = p
		}
		if region {
			p++
		}
	}
	for _, y := range b.Yield {
		last[y], lastWhole[y] = p, p+1
	}
	for q := 0; q <= p; q++ {
		begin, live := slices.Clone(outside), slices.Clone(outside)
		add := func(v *ir.Value, from int) {
			// What a load has in flight, and the result of what came before, is there from the beginning.
			early := v.Def != nil && (v.Def.Code == lang.OpLoad || isReduction(v.Def) || isContraction(v.Def))
			if from <= q && q <= last[v] && (from < q || early) {
				begin = append(begin, m.registers(v)...)
			}
			if from <= q && (q < last[v] || q < lastWhole[v]) {
				live = append(live, m.registers(v)...)
			}
		}
		for _, x := range b.Params {
			add(x, -1)
		}
		for _, op := range b.Ops {
			for _, r := range op.Results {
				if m.materialised(r, defined[r] < last[r]) {
					add(r, defined[r])
				}
			}
		}
		m.live = append(m.live, begin, live)
		for i, op := range b.Ops {
			if phase[i] != q {
				continue
			}
			for _, inner := range op.Blocks {
				// The loop's results are its carried values: count them once.
				m.liveness(inner, m.without(live, op.Results))
			}
		}
	}
}

func (m *model) without(live []tile, vs []*ir.Value) []tile {
	rest := slices.Clone(live)
	for _, v := range vs {
		for _, t := range m.registers(v) {
			for i, l := range rest {
				if slices.Equal(l.axes, t.axes) && l.bytes == t.bytes {
					rest = slices.Delete(rest, i, i+1)
					break
				}
			}
		}
	}
	return rest
}

// eachUse calls visit for the operands of op and of everything inside it.
func eachUse(op *ir.Op, visit func(*ir.Value)) {
	for _, a := range op.Args {
		visit(a)
	}
	for _, b := range op.Blocks {
		for _, inner := range b.Ops {
			eachUse(inner, visit)
		}
		for _, y := range b.Yield {
			visit(y)
		}
	}
}

// materialised reports a value that takes registers: not one that is cheap to
// compute again, and an elementwise one only where something comes between.
func (m *model) materialised(v *ir.Value, crosses bool) bool {
	if v.Type.IsScalar() {
		return false
	}
	switch op := v.Def; {
	case op.Code == lang.OpIndex || op.Code == lang.OpFull:
		return false
	case op.Code == lang.OpLoad:
		return !m.onlyContracted(v)
	case op.Code.Row().Elementwise:
		return crosses
	}
	return true
}

// onlyContracted reports a loaded tile that goes to shared memory, since all that uses it are contractions.
func (m *model) onlyContracted(v *ir.Value) bool { return m.fed[v] && !m.used[v] }

// uses notes which values are operands of contractions, and which are used otherwise.
func (m *model) uses() {
	m.fed, m.used, m.multiplied = map[*ir.Value]bool{}, map[*ir.Value]bool{}, map[*ir.Value][]*ir.Op{}
	m.f.Walk(func(op *ir.Op) bool {
		for i, a := range op.Args {
			if isContraction(op) && i < 2 {
				m.fed[a], m.multiplied[a] = true, append(m.multiplied[a], op)
			} else {
				m.used[a] = true
			}
		}
		return true
	})
}

// registers is v as it is held in registers: loads as they are in memory, others in at least 32 bits an element.
func (m *model) registers(v *ir.Value) []tile {
	if v.Type.IsScalar() {
		return nil
	}
	t := m.tile(v)
	if v.Def == nil || v.Def.Code != lang.OpLoad {
		t.bytes = max(t.bytes, 4)
	}
	return []tile{t}
}

// stream reports whether the Whole axis can be streamed, and counts the passes over what it needs.
func (m *model) stream(i int) bool {
	w := m.f.Axes[i]
	wide := func(v *ir.Value) bool { return v.Type.Has(w) }
	ok := true
	level := map[*ir.Value]int{} // of a value: how many loops over w come before it
	levels := map[*ir.Op]map[int][][]int{}
	// slice goes through what is computed in the loop at a level for an operation; along are the axes whose steps go around that loop.
	var slice func(op *ir.Op, at int, along []int)
	slice = func(of *ir.Op, at int, along []int) {
		for _, v := range of.Args {
			if !wide(v) {
				continue
			}
			op := v.Def
			if op == nil || !op.Pure() {
				ok = false
				continue
			}
			along := m.with(slices.Clone(along), of, v, w)
			if levels[op] == nil {
				levels[op] = map[int][][]int{}
			}
			if slices.ContainsFunc(levels[op][at], func(seen []int) bool { return slices.Equal(seen, along) }) {
				continue
			}
			levels[op][at] = append(levels[op][at], along)
			slice(op, at, along)
		}
	}
	var scanned func(v *ir.Value)
	scanned = func(v *ir.Value) {
		if op := v.Def; op != nil && wide(v) && !m.scanned[op][i] {
			if m.scanned[op] == nil {
				m.scanned[op] = map[int]bool{}
			}
			m.scanned[op][i] = true
			for _, a := range op.Args {
				scanned(a)
			}
		}
	}
	m.f.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpScan && slices.Contains(op.Over, w) {
			for _, a := range op.Args {
				scanned(a)
			}
		}
		if op.Code == lang.OpRename && (op.From == w || op.Axis == w) || op.Code == lang.OpTake && slices.Contains(op.Axes, w) ||
			op.Code == lang.OpSort && slices.Contains(op.Over, w) || op.Code == lang.OpTopK && op.Axis == w {
			ok = false
		}
		at := 0
		for _, a := range op.Args {
			at = max(at, level[a])
		}
		consumes := slices.ContainsFunc(op.Args, wide) && !slices.ContainsFunc(op.Results, wide)
		if consumes {
			ok = ok && !op.Code.IsDebug() // it shows whole tiles
			slice(op, at, nil)
			at++
		}
		for _, r := range op.Results {
			level[r] = at
		}
		return true
	})
	for op, at := range levels {
		if m.passes[op] == nil {
			m.passes[op] = map[int]int{}
		}
		m.passes[op][i] = len(at)
		if slices.ContainsFunc(slices.Collect(maps.Values(at)), func(loops [][]int) bool { return len(loops) > 1 || len(loops[0]) > 0 }) {
			if m.loopsAround[op] == nil {
				m.loopsAround[op] = map[int][][][]int{}
			}
			m.loopsAround[op][i] = slices.Collect(maps.Values(at))
		}
	}
	return ok
}

// with adds to axes, in order, the Whole ones that what an operation gives has and one of its operands has not, but for the one that is streamed.
func (m *model) with(axes []int, op *ir.Op, operand *ir.Value, streamed *ir.Axis) []int {
	for _, r := range op.Results {
		for _, a := range r.Type.Axes {
			if i := m.place[a]; a.Kind == ir.Whole && a != streamed && !operand.Type.Has(a) && !slices.Contains(axes, i) {
				axes = append(slices.Clip(axes), i)
			}
		}
	}
	slices.Sort(axes)
	return axes
}
