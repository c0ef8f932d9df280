package pass

import (
	"fmt"
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// A Whole axis that is too long for a block at once becomes loops over it in
// chunks. Tiles over the axis are not kept from one loop to the next: each
// operation that consumes the axis (a reduction or a contraction over it, a
// store through it) gets a loop that computes again, chunk by chunk, what the
// operation needs. Softmax becomes three loops: the maximum, the sum, the store.
// Consumers that do not wait for one another share a loop.
var stream = Pass{
	Name: "stream",
	Doc:  "makes loops of whole axes that are too long for a block",
	Run: func(f *ir.Func, o *Options) (bool, error) {
		axes := longAxes(f, o)
		if len(axes) == 0 {
			return false, nil
		}
		return true, streamAll(f, axes, o)
	},
	Chunks: map[string]int64{"j": 1024},
	Before: `kernel @softmax {
  dim M = ?
  dim N = 50257
  tensor %x : in f32[M, N]
  tensor %y : out f32[M, N]
  axis i : grid M by BM = ?
  axis j : whole N[0 .. 50257]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = reduce_max %2 over j : f32{i}
  %4 = sub %2, %3 : f32{i, j}
  %5 = exp %4 : f32{i, j}
  %6 = sum %5 over j : f32{i}
  %7 = div %5, %6 : f32{i, j}
  store %y[%0, %1] = %7
}
`,
	After: `kernel @softmax {
  dim M = ?
  dim N = 50257
  tensor %x : in f32[M, N]
  tensor %y : out f32[M, N]
  axis i : grid M by BM = ?
  axis j : loop N by 1024
  axis j.1 : loop N by 1024
  axis j.2 : loop N by 1024
body:
  %0 = index i : i32{i}
  %8 = const 0 : i32
  %9 = const 50257 : i32
  %13 = const -inf : f32
  %14 = full %13 : f32{i}
  %18 = for j from %8 to %9 with (%15 = %14) pos %10 : (f32{i}) {
    %11 = index j : i32{j}
    %12 = load %x[%0, %11] : f32{i, j}
    %16 = reduce_max %12 over j : f32{i}
    %17 = max %15, %16 : f32{i}
    yield %17
  }
  %19 = const 0 : i32
  %20 = const 50257 : i32
  %26 = const 0 : f32
  %27 = full %26 : f32{i}
  %31 = for j.1 from %19 to %20 with (%28 = %27) pos %21 : (f32{i}) {
    %22 = index j.1 : i32{j.1}
    %23 = load %x[%0, %22] : f32{i, j.1}
    %24 = sub %23, %18 : f32{i, j.1}
    %25 = exp %24 : f32{i, j.1}
    %29 = sum %25 over j.1 : f32{i}
    %30 = add %28, %29 : f32{i}
    yield %30
  }
  %32 = const 0 : i32
  %33 = const 50257 : i32
  for j.2 from %32 to %33 pos %34 {
    %35 = index j.2 : i32{j.2}
    %36 = load %x[%0, %35] : f32{i, j.2}
    %37 = sub %36, %18 : f32{i, j.2}
    %38 = exp %37 : f32{i, j.2}
    %39 = div %38, %31 : f32{i, j.2}
    store %y[%0, %35] = %39
  }
}
`,
}

// streamAll streams the axes one after the other. A reduction over one of them
// that keeps another can only be streamed in one order, so every order is
// tried; the first that works wins. Where none does, reductions may be put off,
// and, where the kernel permits it, what the loops over one axis carry over
// another is kept.
func streamAll(f *ir.Func, axes []*ir.Axis, o *Options) error {
	var first error
	ways := []way{carried, putOff}
	if f.Spill {
		ways = append(ways, kept)
	}
	for _, w := range ways {
		for _, order := range permutations(axes) {
			names := make([]string, len(order))
			for i, a := range order {
				names[i] = a.Name
			}
			c := ir.Clone(f)
			err := streamOrder(c, names, o, w)
			if err == nil {
				*f = *c
				return nil
			}
			if first == nil {
				first = err
			}
		}
		if len(axes) == 1 {
			break
		}
	}
	return first
}

// way is what becomes of a reduction over one of the axes whose result is over another.
type way int

const (
	// carried: a loop carries it, and the other axis must have been streamed before.
	carried way = iota
	// putOff: it waits until the other axis has taken it into a loop of its own.
	putOff
	// kept: a loop carries it in scratch memory.
	kept
)

// maxStreamed bounds the axes whose orders are tried: 24 orders of 4.
const maxStreamed = 4

func permutations(axes []*ir.Axis) [][]*ir.Axis {
	if len(axes) <= 1 || len(axes) > maxStreamed {
		return [][]*ir.Axis{axes}
	}
	var all [][]*ir.Axis
	for i, a := range axes {
		for _, rest := range permutations(slices.Delete(slices.Clone(axes), i, i+1)) {
			all = append(all, append([]*ir.Axis{a}, rest...))
		}
	}
	return all
}

// streamOrder streams the axes of these names, in order. Putting off serves kernels such as this: of two sums of one tile, each over
// another axis, one is a loop over rows around one over columns, the other the
// reverse. What a later round finds again is computed again.
func streamOrder(f *ir.Func, names []string, o *Options, w way) error {
	chunks := o.Chunks
	left := make([]*ir.Axis, len(names))
	for i, name := range names {
		left[i] = f.Axis(name)
	}
	whole := slices.Clone(left)
	order := map[string]int{}
	for i, a := range f.Axes {
		order[a.Name] = i
	}
	for round := 0; len(left) > 0; round++ {
		before := len(left)
		for _, axis := range slices.Clone(left) {
			s := &streamer{f: f, axis: axis, chunk: chunks[axis.Name], order: order, extents: o.Extents, results: map[*ir.Value]*ir.Value{}}
			if w == kept {
				keepLong(f, o, []*ir.Axis{axis})
			}
			if w == putOff {
				s.later = slices.DeleteFunc(slices.Clone(left), func(a *ir.Axis) bool { return a == axis })
			}
			// The first loop takes over the axis's name.
			f.Axes = slices.DeleteFunc(f.Axes, func(a *ir.Axis) bool { return a == axis })
			if err := s.block(f.Body); err != nil {
				return fmt.Errorf("streaming axis %s by %d: %w", axis.Name, s.chunk, err)
			}
			f.Body.Replace(s.results)
			liveness(f).sweep(f.Body)
			op := mention(f, axis)
			if op == nil {
				left = slices.DeleteFunc(left, func(a *ir.Axis) bool { return a == axis })
				continue
			}
			if w != putOff || round > len(whole) {
				return fmt.Errorf("streaming axis %s by %d: `%s` keeps the axis", axis.Name, s.chunk, op)
			}
		}
		if len(left) == before && round > 0 {
			return fmt.Errorf("streaming axis %s by %d: `%s` keeps the axis", left[0].Name, chunks[left[0].Name], mention(f, left[0]))
		}
	}
	return nil
}

func mention(f *ir.Func, a *ir.Axis) (found *ir.Op) {
	f.Walk(func(op *ir.Op) bool {
		if op.Mentions(a) {
			found = op
		}
		return found == nil
	})
	return found
}

// streamer streams one axis.
type streamer struct {
	f     *ir.Func
	axis  *ir.Axis
	chunk int64
	// later is the other axes that are still to be streamed, for which a reduction over one of them is put off.
	later []*ir.Axis
	// order is where axes were declared, by name, and extents the elements at once of those that no loop was made of.
	order   map[string]int
	extents map[string]int64
	// results is what stands for the results of consumers.
	results map[*ir.Value]*ir.Value
}

// group is consumers that share a loop, at the place of the first.
type group struct {
	at      int
	members []*ir.Op
	way     ir.Way // in which the loop goes through the chunks
}

func (s *streamer) overAxis(v *ir.Value) bool { return v.Type.Has(s.axis) }

// consumes reports an operation that needs tiles over the axis and gives none, or stores through it.
func (s *streamer) consumes(op *ir.Op) bool {
	return slices.ContainsFunc(op.Args, s.overAxis) && !slices.ContainsFunc(op.Results, s.overAxis)
}

// putsOff reports a consumer whose result is over an axis that is still to be streamed.
func (s *streamer) putsOff(op *ir.Op) bool {
	return slices.ContainsFunc(op.Results, func(v *ir.Value) bool { return slices.ContainsFunc(s.later, v.Type.Has) })
}

func (s *streamer) block(b *ir.Block) error {
	for _, op := range b.Ops {
		for _, inner := range op.Blocks {
			if err := s.block(inner); err != nil {
				return err
			}
		}
	}
	groups, err := s.groups(b)
	if err != nil {
		return err
	}
	if len(groups) > 1 { // what keeps consumers apart may be behind the first and wait for nothing
		ahead := s.ahead(b)
		if fewer, err := s.groups(ahead); err == nil && len(fewer) < len(groups) {
			b.Ops, groups = ahead.Ops, fewer
		}
	}
	if len(groups) == 0 {
		return nil
	}
	at := map[int]*group{}
	consumed := map[*ir.Op]bool{}
	for _, g := range groups {
		at[g.at] = g
		for _, op := range g.members {
			consumed[op] = true
			if old := s.keepsOld(op); old != nil {
				consumed[old] = true
			}
		}
	}
	out := &ir.Builder{Func: s.f, Block: &ir.Block{}}
	for i, op := range b.Ops {
		if g := at[i]; g != nil {
			s.loop(out, g)
		}
		if !consumed[op] {
			out.Block.Ops = append(out.Block.Ops, op)
		}
	}
	b.Ops = out.Block.Ops
	return nil
}

// ahead is a block with what its consumers need beside tiles over the axis before the first of them, where that waits for none of them: positions,
// constants, and what products are added to, as the biases of gates.
func (s *streamer) ahead(b *ir.Block) *ir.Block {
	free, needed := map[*ir.Op]bool{}, map[*ir.Op]bool{}
	here := map[*ir.Op]bool{}
	for _, op := range b.Ops {
		here[op] = true
		waits := slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return here[v.Def] && !free[v.Def] })
		loads := op.Code == lang.OpLoad && op.Tensor.ReadOnly()
		free[op] = !waits && len(op.Blocks) == 0 && !slices.ContainsFunc(op.Results, s.overAxis) && (loads || op.Code.Row().Effect == lang.Pure)
	}
	seen := map[*ir.Value]bool{}
	var need func(v *ir.Value)
	need = func(v *ir.Value) {
		if seen[v] || !here[v.Def] {
			return
		}
		seen[v] = true
		needed[v.Def] = free[v.Def]
		for _, a := range v.Def.Args {
			need(a)
		}
	}
	for _, op := range b.Ops {
		if s.consumes(op) && !s.putsOff(op) {
			for _, a := range op.Args {
				need(a)
			}
		}
	}
	first := slices.DeleteFunc(slices.Clone(b.Ops), func(op *ir.Op) bool { return !needed[op] })
	rest := slices.DeleteFunc(slices.Clone(b.Ops), func(op *ir.Op) bool { return needed[op] })
	return &ir.Block{Ops: append(first, rest...)}
}

// groups finds which consumers of a block share a loop, in order.
func (s *streamer) groups(b *ir.Block) (groups []*group, err error) {
	place := map[*ir.Op]int{}
	for i, op := range b.Ops {
		place[op] = i
	}
	for i, op := range b.Ops {
		if !s.consumes(op) || s.putsOff(op) {
			continue
		}
		needs := op.Direction(s.axis)
		if err := s.check(op); err != nil {
			return nil, err
		}
		joined := false
		for _, g := range groups {
			if (g.way == needs || g.way|needs != ir.BothWays) && s.joins(b, g, op, place) {
				g.members = append(g.members, op)
				g.way |= needs
				joined = true
				break
			}
		}
		if !joined {
			groups = append(groups, &group{i, []*ir.Op{op}, needs})
		}
	}
	return groups, nil
}

// inOrder reports that a store goes through its positions in order, chunk by chunk.
func (s *streamer) inOrder(op *ir.Op) bool {
	for _, a := range op.Ordered() {
		n := a.Extent
		if n == 0 {
			n = s.extents[a.Name]
		}
		if before := s.order[a.Name] < s.order[s.axis.Name]; a != s.axis && n != 1 && (before || s.chunk > 1) {
			return false
		}
	}
	return true
}

// check refuses a consumer that cannot be computed chunk by chunk.
func (s *streamer) check(op *ir.Op) error {
	switch {
	case !s.inOrder(op):
		return fmt.Errorf("`%s` stores in the order of positions along several axes", op)
	case op.Code.IsDebug():
		return fmt.Errorf("`%s` shows whole tiles", op)
	case combiners[op.Code] == nil && op.Code.Row().Effect != lang.Writes:
		return fmt.Errorf("`%s` cannot be computed in chunks", op)
	case op.Code.Row().Effect == lang.Writes:
	case s.axis.Split > 1 && combiners[op.Code].join == nil:
		return &SplitError{s.axis.Name, fmt.Sprintf("%s keeps several elements of it in order, and blocks put their parts together element by element", op.Code)}
	case !slices.Contains(op.Over, s.axis):
		return fmt.Errorf("`%s` loses the axis without reducing over it", op)
	}
	seen := map[*ir.Value]bool{}
	var visit func(v *ir.Value) error
	visit = func(v *ir.Value) error {
		if !s.overAxis(v) || seen[v] {
			return nil
		}
		seen[v] = true
		def := v.Def
		switch {
		case def == nil || len(def.Blocks) > 0:
			return fmt.Errorf("`%s` needs %%%d, which a loop or a choice carries over the axis", op, v.ID)
		case def.Code == lang.OpLoad && def.Tensor.Scratch: // nothing writes there again before the last use
		case keeps(op) && v == op.Stored() && def.Tensor != nil: // computed once, here
		case def.Code == lang.OpLoad && !def.Tensor.ReadOnly():
			return fmt.Errorf("`%s` would read %s again, which the kernel writes", op, def.Tensor.Name)
		case def.Code.Row().Effect == lang.Writes:
			return fmt.Errorf("`%s` would run `%s` again, which has an effect", op, def)
		case def.Code == lang.OpRename:
			return fmt.Errorf("`%s` needs `%s`, which ties the axis to another", op, def)
		case def.Code == lang.OpTake && slices.Contains(def.Axes, s.axis):
			return fmt.Errorf("`%s` needs `%s`, which reads anywhere along the axis", op, def)
		case def.Code == lang.OpSort && slices.Contains(def.Over, s.axis), def.Code == lang.OpTopK && def.Axis == s.axis:
			return fmt.Errorf("`%s` needs `%s`, which orders the whole axis", op, def)
		}
		for _, a := range def.Args {
			if err := visit(a); err != nil {
				return err
			}
		}
		return nil
	}
	for _, a := range op.Args {
		if err := visit(a); err != nil {
			return err
		}
	}
	return nil
}

// joins reports whether the consumer can be computed at the group's place: all
// that it needs beside tiles over the axis is there, it passes no write of what
// it reads, and nothing that touches what it writes.
func (s *streamer) joins(b *ir.Block, g *group, op *ir.Op, place map[*ir.Op]int) bool {
	seen := map[*ir.Value]bool{}
	var there func(v *ir.Value) bool
	there = func(v *ir.Value) bool {
		if seen[v] {
			return true
		}
		seen[v] = true
		if s.overAxis(v) {
			return !slices.ContainsFunc(v.Def.Args, func(a *ir.Value) bool { return !there(a) })
		}
		if v.Def == nil {
			return true
		}
		i, here := place[v.Def]
		return !here || i < g.at
	}
	for _, a := range op.Args {
		if !there(a) {
			return false
		}
	}
	if s.keepsOld(op) != nil {
		return false
	}
	writes, reads := op.Code.Row().Effect == lang.Writes, s.reads(op)
	if !writes && len(reads) == 0 {
		return true
	}
	for _, between := range b.Ops[g.at:place[op]] {
		switch effect := between.Code.Row().Effect; {
		case len(between.Blocks) > 0,
			writes && between.Tensor == op.Tensor && effect != lang.Pure,
			writes && s.consumes(between) && slices.Contains(s.reads(between), op.Tensor),
			effect == lang.Writes && slices.Contains(reads, between.Tensor),
			s.keepsOld(between) != nil && slices.Contains(reads, s.keepsOld(between).Tensor):
			return false
		}
	}
	return true
}

// keeps reports a store to scratch memory.
func keeps(op *ir.Op) bool { return op.Code == lang.OpStore && op.Tensor.Scratch }

// keepsOld is the atomic whose old values a consumer keeps in scratch memory: its loop is the one that does it. nil for other consumers.
func (s *streamer) keepsOld(op *ir.Op) *ir.Op {
	if keeps(op) && s.overAxis(op.Stored()) && op.Stored().Def.Old {
		return op.Stored().Def
	}
	return nil
}

// reads is the tensors that the kernel writes and a consumer's loop loads again.
func (s *streamer) reads(op *ir.Op) []*ir.Tensor {
	var tensors []*ir.Tensor
	seen := map[*ir.Value]bool{}
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		if !s.overAxis(v) || seen[v] || v.Def == nil {
			return
		}
		seen[v] = true
		if t := v.Def.Tensor; t != nil && !t.ReadOnly() {
			tensors = append(tensors, t)
		}
		for _, a := range v.Def.Args {
			visit(a)
		}
	}
	for _, a := range op.Args {
		visit(a)
	}
	return tensors
}

// loop emits the loop that computes the consumers.
func (s *streamer) loop(b *ir.Builder, g *group) {
	consumers := g.members
	k := *s.axis
	k.Kind, k.Extent = ir.Loop, s.chunk
	if k.Dim == nil { // a free axis gets a dimension to walk
		k.Dim = s.freeDim()
	}
	lo, hi := k.Lo, k.Lo+k.Len
	k.Lo, k.Len, k.Choices = 0, 0, nil
	if slices.ContainsFunc(consumers, keeps) {
		k.Split = 0 // each of the blocks that share an axis keeps all of a tile
	}
	axis := s.f.AddAxis(k)

	b.At = consumers[0].At
	loop := &ir.Op{Code: lang.OpFor, Axis: axis, Args: []*ir.Value{b.Position(axis, lo), b.Position(axis, hi)}, Reverse: g.way == ir.Backward, At: b.At}
	body := &ir.Block{Params: []*ir.Value{s.f.NewValue(ir.Scalar(axis.Counts()), nil)}}
	loop.Blocks = []*ir.Block{body}
	c := &chunks{f: s.f, before: b, inside: &ir.Builder{Func: s.f, Block: body}, loop: loop, lo: lo, hi: hi,
		from: s.axis, m: &ir.Mapping{Values: map[*ir.Value]*ir.Value{}, Axes: map[*ir.Axis]*ir.Axis{s.axis: axis}}}

	type pending struct {
		op    *ir.Op
		c     *combiner
		first int // the first of its carried values
		count int
	}
	shared := axis.Split > 1
	if shared && slices.ContainsFunc(consumers, func(op *ir.Op) bool { return op.Code == lang.OpReduce }) {
		c.begin()
	}
	var todo []pending
	for _, op := range consumers {
		for _, a := range op.Args {
			c.recompute(a)
		}
		c.inside.At = op.At
		how := combiners[op.Code]
		if how == nil {
			body.Ops = append(body.Ops, s.f.CopyOp(op, c.m))
			continue
		}
		b.At = op.At
		inits := how.init(b, op, lo)
		if shared && op.Code == lang.OpMma { // what the products are added to counts once
			inits = []*ir.Value{neutral(b, lang.OpAdd, op.Result().Type)}
		}
		todo = append(todo, pending{op, how, len(loop.Args) - 2, len(inits)})
		params := c.carry(inits)
		body.Yield = append(body.Yield, how.step(c.inside, mappedOp(op, c.m), c, params)...)
	}
	results := b.Emit(loop)
	for _, p := range todo {
		b.At = p.op.At
		values := results[p.first:]
		if shared {
			values = join(b, loop, values[:p.count], p.c.join(p.op), captured(p.op))
			if p.op.Code == lang.OpMma {
				values = []*ir.Value{b.Op(lang.OpAdd, p.op.Args[2], values[0])}
			}
		}
		if p.c.finish != nil {
			values = []*ir.Value{p.c.finish(b, p.op, values)}
		}
		for i, r := range p.op.Results {
			if values[i].Name == "" && values[i].Def != nil {
				values[i].Name = r.Name
			}
			s.results[r] = values[i]
		}
	}
}

// captured is the scalars that the function of a consumer takes from outside.
func captured(op *ir.Op) []*ir.Value {
	if op.Combines() {
		return op.Captured()
	}
	return nil
}

// freeDim declares a dimension for a free axis, so that a loop can walk it.
func (s *streamer) freeDim() *ir.Dim {
	d := &ir.Dim{Name: s.axis.Name, Value: s.axis.Lo + s.axis.Len, Divisor: 1}
	for n := 1; slices.ContainsFunc(s.f.Dims, func(e *ir.Dim) bool { return e.Name == d.Name }); n++ {
		d.Name = fmt.Sprintf("%s.%d", s.axis.Name, n)
	}
	s.f.Dims = append(s.f.Dims, d)
	return d
}

// mappedOp is the consumer over the loop's axis, apart from its results.
func mappedOp(op *ir.Op, m *ir.Mapping) *ir.Op {
	c := *op
	c.Results = nil
	c.Args = make([]*ir.Value, len(op.Args))
	for i, a := range op.Args {
		c.Args[i] = m.Value(a)
	}
	c.Over = make([]*ir.Axis, len(op.Over))
	for i, a := range op.Over {
		c.Over[i] = a
		if n := m.Axes[a]; n != nil {
			c.Over[i] = n
		}
	}
	return &c
}
