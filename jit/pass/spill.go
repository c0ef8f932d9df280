package pass

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// A tile over an axis that is cut in chunks is computed again where it is
// needed, chunk by chunk. What cannot be computed again, or is read at other
// places than it is computed, is kept in a scratch tensor: a store where it is
// defined, loads where it is used, both of which the pass `stream` then cuts.
// That is what a loop carries, what an `if` gives, what atomics give and what
// is loaded from a tensor that the kernel writes; and what is renamed, taken
// from, sorted or printed.
var spill = Pass{
	Name: "spill",
	Doc:  "keeps in scratch memory what is too long for a block and cannot be computed again",
	Run: func(f *ir.Func, o *Options) (bool, error) {
		if !f.Spill {
			return false, nil
		}
		return keepLong(f, o, longAxes(f, o)), nil
	},
	Chunks: map[string]int64{"j": 1024},
	Before: `kernel @last {
  dim M = ?
  dim N = 50257
  tensor %x : in f32[M, N]
  tensor %y : out f32[M]
  axis i : grid M by BM = 2
  axis j : whole N[0 .. 50257]
  spill
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = const 0 : f32
  %4 = scan %2 from %3 over j by (%5, %6) : (f32{i, j}) {
    %7 = add %5, %6 : f32
    yield %7
  }
  %8 = const 50256 : i32
  %9 = take %4[j = %8] : f32{i}
  store %y[%0] = %9
}
`,
	After: `kernel @last {
  dim M = ?
  dim N = 50257
  dim n2 = 2
  dim n50257 = 50257
  tensor %x : in f32[M, N]
  tensor %y : out f32[M]
  tensor %kept : scratch f32[n2, n50257] align 256
  axis i : grid M by BM = 2
  axis j : whole N[0 .. 50257]
  spill
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = const 0 : f32
  %4 = scan %2 from %3 over j by (%5, %6) : (f32{i, j}) {
    %7 = add %5, %6 : f32
    yield %7
  }
  %10 = index i : i32{i}
  %11 = start i : i32
  %12 = sub %10, %11 : i32{i}
  %13 = index j : i32{j}
  store %kept[%12, %13] = %4
  %14 = index i : i32{i}
  %15 = start i : i32
  %16 = sub %14, %15 : i32{i}
  %17 = index j : i32{j}
  %18 = load %kept[%16, %17] : f32{i, j}
  %8 = const 50256 : i32
  %19 = index i : i32{i}
  %20 = start i : i32
  %21 = sub %19, %20 : i32{i}
  %22 = load %kept[%21, %8] : f32{i}
  store %y[%0] = %22
}
`,
}

// longAxes are the Whole axes that are to be cut.
func longAxes(f *ir.Func, o *Options) []*ir.Axis {
	var axes []*ir.Axis
	for _, a := range f.Axes {
		if c := o.Chunks[a.Name]; a.Kind == ir.Whole && c > 0 && c <= a.Len {
			axes = append(axes, a)
		}
	}
	return axes
}

// keepLong keeps what cannot be computed again in chunks of the axes, and reports whether there was something.
func keepLong(f *ir.Func, o *Options, long []*ir.Axis) bool {
	if len(long) == 0 {
		return false
	}
	s := &spiller{f: f, o: o, long: map[*ir.Axis]bool{}, needed: map[*ir.Value]bool{},
		instead: map[*ir.Value]*ir.Value{}, scratch: map[*ir.Value]*place{}}
	for _, a := range long {
		s.long[a] = true
	}
	s.need(f.Body)
	uses := f.Uses()
	f.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpStore && op.Tensor.Scratch && uses[op.Stored()] == 1 {
			delete(s.needed, op.Stored()) // kept already
		}
		return true
	})
	s.block(f.Body, nil, nil)
	return s.changed
}

// spiller keeps the tiles of one kernel.
type spiller struct {
	f    *ir.Func
	o    *Options
	long map[*ir.Axis]bool
	// needed are the values that are to be kept.
	needed map[*ir.Value]bool
	// instead has what stands for values from where they are kept on: loads, whose places scratch has.
	instead map[*ir.Value]*ir.Value
	scratch map[*ir.Value]*place
	changed bool
}

func (s *spiller) overLong(v *ir.Value) bool { return s.anyLong(v.Type.Axes) }

func (s *spiller) anyLong(axes []*ir.Axis) bool {
	return slices.ContainsFunc(axes, func(a *ir.Axis) bool { return s.long[a] })
}

// need finds the values that are kept, beside those that regions carry and give.
func (s *spiller) need(b *ir.Block) {
	for _, op := range b.Ops {
		switch {
		case op.Code == lang.OpTake && s.anyLong(op.Axes), op.Code == lang.OpSort && s.long[op.Over[0]], op.Code == lang.OpPrint:
			for _, v := range op.Args {
				s.needed[v] = s.needed[v] || s.overLong(v) && !isReadOnlyLoad(v)
				if op.Code != lang.OpPrint {
					break // the others are positions
				}
			}
		case op.Code == lang.OpRename && (s.long[op.From] || s.long[op.Axis]):
			s.needed[op.Args[0]] = s.needed[op.Args[0]] || !isReadOnlyLoad(op.Args[0])
		case op.Code == lang.OpLoad && !op.Tensor.ReadOnly() && !op.Tensor.Scratch, op.Old:
			s.needed[op.Result()] = s.overLong(op.Result())
		}
		for _, inner := range op.Blocks {
			s.need(inner)
		}
	}
}

func isReadOnlyLoad(v *ir.Value) bool {
	return v.Def != nil && v.Def.Code == lang.OpLoad && v.Def.Tensor.ReadOnly()
}

// block rewrites a block; begin and end, where given, add to it.
func (s *spiller) block(b *ir.Block, begin, end func(*ir.Builder)) {
	out := &ir.Builder{Func: s.f, Block: &ir.Block{}}
	if begin != nil {
		begin(out)
	}
	for _, op := range b.Ops {
		replace(op.Args, s.instead)
		out.At = op.At
		s.op(out, op)
	}
	replace(b.Yield, s.instead)
	if end != nil {
		end(out)
	}
	b.Ops = out.Block.Ops
}

// op emits what becomes of an operation, whose arguments are rewritten already.
func (s *spiller) op(b *ir.Builder, op *ir.Op) {
	before := len(b.Block.Ops)
	switch {
	case op.Code == lang.OpFor:
		s.loop(b, op)
	case op.Code == lang.OpIf:
		s.choice(b, op)
	case op.Code == lang.OpTake && s.anyLong(op.Axes):
		s.instead[op.Result()] = s.at(b, op.Args[0], op.Axes, op.Taken())
	case op.Code == lang.OpRename && (s.long[op.From] || s.long[op.Axis]):
		position := b.Emit(&ir.Op{Code: lang.OpIndex, Axis: op.Axis})[0]
		if by := op.From.Lo - op.Axis.Lo; by != 0 {
			position = b.Op(lang.OpAdd, position, b.Position(op.Axis, by))
		}
		position = b.Cast(position, op.From.Counts())
		s.instead[op.Result()] = s.at(b, op.Args[0], []*ir.Axis{op.From}, []*ir.Value{position})
	case op.Code == lang.OpSort && s.long[op.Over[0]]:
		s.instead[op.Result()] = s.sort(b, op.Args[0], op.Over[0], op.Descending)
	case op.Code == lang.OpPrint && slices.ContainsFunc(op.Args, s.overLong):
		s.print(b, op)
	default:
		b.Block.Ops = append(b.Block.Ops, op)
	}
	for _, r := range op.Results {
		v := r
		if w := s.instead[r]; w != nil {
			v = w
		}
		if s.needed[r] && s.scratch[v] == nil {
			b.At = op.At
			s.instead[r] = s.keep(b, v)
		}
	}
	s.changed = s.changed || len(b.Block.Ops) != before+1 || b.Block.Ops[before] != op
}

// tensorFor declares a scratch tensor for a value: the long axes come last, so that neighbours along them are neighbours in it.
func (s *spiller) tensorFor(v *ir.Value, t ir.Type) (*ir.Tensor, []*ir.Axis) {
	axes := slices.Clone(t.Axes)
	slices.SortStableFunc(axes, func(a, b *ir.Axis) int {
		switch {
		case s.long[b] && !s.long[a]:
			return -1
		case s.long[a] && !s.long[b]:
			return 1
		}
		return 0
	})
	name := "kept"
	if v.Name != "" {
		name += "." + v.Name
	}
	shape := make([]int64, len(axes))
	for i, a := range axes {
		shape[i] = s.extent(a)
	}
	return s.f.AddScratch(name, t.DType, shape), axes
}

// extent is how many positions of an axis a block or a step has.
func (s *spiller) extent(a *ir.Axis) int64 {
	switch {
	case a.Kind == ir.Whole:
		return a.Len
	case a.Extent > 0:
		return a.Extent
	}
	return s.o.Extents[a.Name]
}

// within emits positions along an axis as the block counts them, from 0.
func within(b *ir.Builder, a *ir.Axis, position *ir.Value) *ir.Value {
	switch {
	case a.Kind != ir.Whole:
		return b.Op(lang.OpSub, position, b.Emit(&ir.Op{Code: lang.OpStart, Axis: a})[0])
	case a.Lo != 0:
		return b.Op(lang.OpSub, position, b.Const(position.Type.DType, ir.Const{Int: a.Lo}))
	}
	return position
}

// place is a scratch tensor with the axes of the tile that it holds.
type place struct {
	tensor *ir.Tensor
	axes   []*ir.Axis
}

// access emits an access of a place: along the axes given at positions, along the others where the axis stands.
func (p place) access(b *ir.Builder, axes []*ir.Axis, positions []*ir.Value) *ir.Op {
	op := &ir.Op{Code: lang.OpLoad, Tensor: p.tensor, Checked: make([]bool, len(p.axes)), At: b.At}
	for _, a := range p.axes {
		var at *ir.Value
		if i := slices.Index(axes, a); i >= 0 {
			at = positions[i]
		} else {
			at = b.Emit(&ir.Op{Code: lang.OpIndex, Axis: a})[0]
		}
		op.Args = append(op.Args, within(b, a, at))
	}
	return op
}

// put emits a store of a tile in a place.
func (p place) put(b *ir.Builder, v *ir.Value) {
	op := p.access(b, nil, nil)
	op.Code, op.Args = lang.OpStore, append(op.Args, v)
	b.Emit(op)
}

// room declares a place for tiles of v's type.
func (s *spiller) room(v *ir.Value) place {
	t, axes := s.tensorFor(v, v.Type)
	return place{t, axes}
}

// load emits a load of the tile in a place.
func (s *spiller) load(b *ir.Builder, p place) *ir.Value {
	v := b.Emit(p.access(b, nil, nil))[0]
	s.scratch[v] = &p
	return v
}

// keep emits the store of a value in a place of its own, and the load that stands for it.
func (s *spiller) keep(b *ir.Builder, v *ir.Value) *ir.Value {
	p := s.room(v)
	p.put(b, v)
	return s.load(b, p)
}

// at emits what a tile has at positions along axes.
func (s *spiller) at(b *ir.Builder, x *ir.Value, axes []*ir.Axis, positions []*ir.Value) *ir.Value {
	if p := s.scratch[x]; p != nil {
		return b.Emit(p.access(b, axes, positions))[0]
	}
	return b.Take(x, axes, positions)
}

// loop keeps what a loop carries over a long axis. The next value is put in a
// place of its own first: what is computed there may need the old one anywhere.
func (s *spiller) loop(b *ir.Builder, op *ir.Op) {
	body := op.Blocks[0]
	type carried struct {
		param, old, next *ir.Value
		place            place
	}
	var all []*carried
	for i := len(body.Params) - 1; i >= 1; i-- {
		p := body.Params[i]
		if !s.overLong(p) {
			continue
		}
		c := &carried{param: p, place: s.room(p), next: body.Yield[i-1]}
		c.place.put(b, op.Args[1+i])
		all = append(all, c)
		op.Args = slices.Delete(op.Args, 1+i, 2+i)
		body.Params = slices.Delete(body.Params, i, i+1)
		body.Yield = slices.Delete(body.Yield, i-1, i)
	}
	results := slices.Clone(op.Results)
	op.Results = slices.DeleteFunc(op.Results, s.overLong)
	slices.Reverse(all)
	s.block(body, func(in *ir.Builder) {
		for _, c := range all {
			c.old = s.load(in, c.place)
			s.instead[c.param] = c.old
		}
	}, func(in *ir.Builder) {
		var fresh []place
		for _, c := range all {
			next := []*ir.Value{c.next}
			replace(next, s.instead)
			c.next = next[0]
			if c.next != c.old {
				p := s.room(c.param)
				p.put(in, c.next)
				fresh = append(fresh, p)
			}
		}
		for _, c := range all {
			if c.next != c.old {
				c.place.put(in, s.load(in, fresh[0]))
				fresh = fresh[1:]
			}
		}
	})
	b.Block.Ops = append(b.Block.Ops, op)
	wide := all
	for _, r := range results {
		if s.overLong(r) {
			s.instead[r] = s.load(b, wide[0].place)
			wide = wide[1:]
		}
	}
}

// choice keeps what an if gives over a long axis: each of its blocks stores what it gives.
func (s *spiller) choice(b *ir.Builder, op *ir.Op) {
	var wide []int
	var places []place
	for i, r := range op.Results {
		if s.overLong(r) {
			wide, places = append(wide, i), append(places, s.room(r))
		}
	}
	for _, inner := range op.Blocks {
		s.block(inner, nil, func(in *ir.Builder) {
			for n, i := range wide {
				places[n].put(in, inner.Yield[i])
			}
		})
		for _, i := range slices.Backward(wide) {
			inner.Yield = slices.Delete(inner.Yield, i, i+1)
		}
	}
	results := op.Results
	op.Results = slices.DeleteFunc(slices.Clone(results), s.overLong)
	b.Block.Ops = append(b.Block.Ops, op)
	for n, i := range wide {
		s.instead[results[i]] = s.load(b, places[n])
	}
}

// print prints of a long axis what is shown: its edges, or all where it may be so short.
func (s *spiller) print(b *ir.Builder, op *ir.Op) {
	c := *op
	c.Args = slices.Clone(op.Args)
	shown := map[*ir.Axis]*ir.Axis{}
	for i, v := range c.Args {
		var axes []*ir.Axis
		var positions []*ir.Value
		for _, a := range v.Type.Axes {
			if !s.long[a] {
				continue
			}
			if shown[a] == nil {
				shown[a] = s.shown(a)
			}
			at := b.Emit(&ir.Op{Code: lang.OpIndex, Axis: shown[a]})[0]
			if shown[a].Edges > 0 {
				last := b.Op(lang.OpAdd, at, b.Int(a.Len-2*ir.ShownEdge))
				at = b.Op(lang.OpWhere, b.Op(lang.OpLt, at, b.Int(ir.ShownEdge)), at, last)
				if a.Lo != 0 {
					at = b.Op(lang.OpAdd, at, b.Int(a.Lo))
				}
			}
			axes, positions = append(axes, a), append(positions, b.Cast(at, a.Counts()))
		}
		if len(axes) > 0 {
			c.Args[i] = s.at(b, v, axes, positions)
		}
	}
	b.Emit(&c)
}

// shown declares the axis that stands for a long one in prints, at its place in the order of declaration.
func (s *spiller) shown(a *ir.Axis) *ir.Axis {
	of := ir.Axis{Name: a.Name, Kind: ir.Whole, Dim: a.Dim, Lo: a.Lo, Len: a.Len, Extent: a.Len}
	if a.Len > ir.ShownElements {
		of = ir.Axis{Name: a.Name, Kind: ir.Whole, Len: 2 * ir.ShownEdge, Extent: 2 * ir.ShownEdge, Edges: a.Len}
	}
	s.f.AddAxis(of)
	last := len(s.f.Axes) - 1
	x := s.f.Axes[last]
	s.f.Axes = slices.Insert(s.f.Axes[:last:last], slices.Index(s.f.Axes, a), x)
	return x
}
