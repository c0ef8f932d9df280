package block

import (
	"fmt"
	"slices"
	"strings"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file prints a program, a line a decision, in the order of the kernel.

// String is what has been decided, a line each.
func (p *Program) String() string { return p.print().b.String() }

// Listing is String, with the place in the source of each line that has one.
func (p *Program) Listing() lang.Listing {
	w := p.print()
	return lang.NewListing(w.b.String(), w.places)
}

func (p *Program) print() *printer {
	w := &printer{Program: p}
	w.line("kernel %s for %s: %d threads, warps=%d stages=%d", p.Func.Name, p.Target.Name, p.Threads(), p.Warps, p.Stages)
	if d := p.Donation; d != nil {
		w.line("  the producer is a warpgroup: %d registers a thread, of those that compute %d", d.Producer, d.Consumer)
	}
	if x := p.Tiles; x != nil {
		who := "all warps compute each"
		if x.Teams > 1 {
			who = fmt.Sprintf("%d teams of warps take turns", x.Teams)
		}
		if x.Along != nil {
			who += fmt.Sprintf(", two blocks have neighbours along %s", x.Along.Name)
		}
		w.line("  at most %d blocks, which go through the tiles of the grid: %s", x.Blocks, who)
	}
	if n := p.ClusterSize(); n > 1 {
		w.line("  clusters of %d blocks", n)
	}
	if p.Split > 1 {
		w.line("  axes divided over %d blocks", p.Split)
	}
	if p.Grouped {
		w.line("  blocks numbered in groups that share rows and columns")
	}
	if o := p.LongestFirst; o != nil {
		w.line("  blocks numbered with the last along %s first, of %d blocks of the other axes at a time", o.Axis.Name, o.Together)
	}
	if p.Dependent() {
		w.line("  begins before the launch before it has ended")
	}
	for _, c := range p.Constants {
		to := ""
		if c.Tile != nil {
			to = ", for a product"
		}
		w.line("  meanwhile %s loads %s, %d bytes a thread at once%s", ValueName(c.Load.Result()), c.Load.Tensor.Name, c.GroupBytes, to)
	}
	for _, op := range p.Ahead {
		w.line("  meanwhile computes %s", ValueName(op.Result()))
	}
	for _, x := range p.Prefetches {
		w.line("  meanwhile asks the L2 for %s of %s", ValueName(x.Load.Result()), x.Load.Tensor.Name)
	}
	for _, op := range p.Early {
		w.line("  first of all then loads %s of %s", ValueName(op.Result()), op.Tensor.Name)
	}
	for _, op := range p.Soon {
		w.line("  the L2 is asked at the start, by the first %d blocks, for %s of %s", p.Target.SMs, ValueName(op.Result()), op.Tensor.Name)
	}
	for _, x := range p.Privates {
		copies := ""
		if x.Copies > 1 {
			copies = ", a copy for each lane"
		}
		w.line("  %s of %s in shared memory, %d elements%s, put to the tensor once a block", x.Op, x.Tensor.Name, x.Elements, copies)
	}
	p.Func.Walk(func(op *ir.Op) bool {
		for _, x := range p.First[op] {
			w.line("  each step over %s begins with the load of %s of %s", op.Axis.Name, ValueName(x.Result()), x.Tensor.Name)
		}
		return true
	})
	for _, a := range p.Func.Axes {
		w.at = a.At
		switch {
		case a.Ranges != nil:
			w.line("  axis %s: ranges of %s that lie in memory, whose last blocks may be partial", a.Name, a.Ranges.Of.Name)
		case !p.Ragged(a):
		case p.LoopsByWords(a):
			w.line("  axis %s: by words of %d elements of %s, from where the word begins in which the row does; the last step is partial", a.Name, p.Words.Unit, p.Words.Row.Tensor.Name)
		case slices.Contains(p.RaggedGrid, a):
			w.line("  axis %s: the last block may be partial, and has code of its own", a.Name)
		default:
			w.line("  axis %s: the last block or step may be partial", a.Name)
		}
	}
	w.block(p.Func.Body)
	return w
}

type printer struct {
	*Program
	b strings.Builder
	// at is where the lines come from that are printed now, places where each line does.
	at     lang.Span
	places []lang.Span
}

func (w *printer) line(format string, args ...any) {
	fmt.Fprintf(&w.b, format+"\n", args...)
	w.places = append(w.places, w.at)
}

func (w *printer) block(b *ir.Block) {
	for _, op := range b.Ops {
		w.at = op.At
		w.op(op)
		for _, inner := range op.Blocks {
			for _, v := range inner.Params {
				w.value(v)
			}
			w.block(inner)
		}
	}
}

func (w *printer) op(op *ir.Op) {
	if x := w.Pipelines[op]; x != nil {
		w.pipeline(x)
	}
	if f := w.Phases[op]; f != nil {
		w.line("  loop over %s: steps in which all of %s holds have code of their own", op.Axis.Name, ValueName(f.Holds))
	}
	for _, d := range w.Deferred[op] {
		w.line("  loop: %s is joined behind it", ValueName(d.Reduce.Result()))
	}
	if c := w.Products[op]; c != nil {
		w.product(c)
	}
	if x := w.Loads[op]; x != nil {
		w.line("  load %s by the TMA: %s, %s", op.Tensor.Name, x.Tile, x.Box.Map)
	}
	if w.Late[op] != nil {
		from := ""
		for _, b := range w.Beside {
			if b.Load == op {
				from = fmt.Sprintf(" from shared memory, %s, where it is brought before the loop", b.Tile)
			}
		}
		if slices.Contains(w.Fetched, op) {
			from = ", the L2 asked for it before the loop"
		}
		w.line("  %s %s: as it is stored%s", ValueName(op.Result()), op.Result().Type, from)
		return
	}
	if s := w.Stores[op]; s != nil {
		how := ""
		if s.Matrices != nil {
			how = ", brought there by four matrices of 8x8 at a time"
		}
		if s.Turned {
			how += ", turned"
		}
		if s.Parts > 1 {
			how += fmt.Sprintf(", in %d parts", s.Parts)
		}
		if s.Lines != nil {
			w.line("  store %s in lines, through shared memory: %s, %s%s", op.Tensor.Name, s.Tile, s.Lines, how)
		} else {
			w.line("  store %s by the TMA: %s, %s%s", op.Tensor.Name, s.Tile, s.Box.Map, how)
		}
	}
	for _, c := range w.RowCopies[op] {
		ahead := ""
		if c.Parts > 0 {
			ahead = fmt.Sprintf(", in parts of %d positions", c.Step)
		}
		if w.Tiles != nil {
			ahead = fmt.Sprintf(", the next one's parts of %d positions as this one's are done with", c.Step)
		}
		if w.Staggered > 0 {
			ahead += fmt.Sprintf("; every second of the first %d blocks asks for its first one part after part", w.Staggered)
		}
		w.line("  copies a row of %s to %s, %d bytes%s", c.Load.Tensor.Name, c.Store.Tensor.Name, c.Bytes, ahead)
	}
	form := ""
	if op.Coarse {
		form = ", to as many digits as are stored"
	}
	if n := w.Quotients[op]; n > 0 {
		w.line("  %s: %d quotients by one reciprocal of %s%s", ValueName(op.Result()), n, ValueName(op.Args[1]), form)
	} else if op.Coarse {
		w.line("  %s: %s%s", ValueName(op.Result()), op.Code, form)
	}
	for _, v := range op.Results {
		if !w.OnDemand(op) {
			w.value(v)
		}
	}
}

// value prints where a tile is held. Scalars are in every thread.
func (w *printer) value(v *ir.Value) {
	if !v.Type.IsScalar() {
		w.line("  %s %s: %s", ValueName(v), v.Type, w.Homes[v])
	}
}

func (w *printer) pipeline(x *Pipeline) {
	by := "cp.async"
	if x.Produced {
		by = "a warp of its own"
	}
	late := ""
	if x.Overlapped {
		late = ", a step's product awaited in the next step"
	}
	w.line("  loop over %s: loads run %d steps ahead in %d stages, copied by %s%s", x.Op.Axis.Name, x.Ahead, x.Stages, by, late)
	if o := x.Overlap; o != nil {
		turns := ""
		if o.Turns {
			turns = ", in turns of two warpgroups"
		}
		w.line("    %s of the next step is under way beside %s of a step%s", ValueName(o.First.Op.Result()), ValueName(o.Last.Op.Result()), turns)
	}
	for i, c := range x.Copies {
		how := fmt.Sprintf("%d elements a copy, %s", c.Vector, c.Layout)
		if c.Box != nil {
			how = c.Box.Map.String()
		}
		if slices.Contains(x.Early, i) {
			how += fmt.Sprintf(", of the first %d steps before the launches before have ended", x.Stages)
		}
		if c.Shared {
			how += ", half of it by each of the two blocks of a cluster"
		}
		w.line("    load %s: %s, %s", c.Load.Tensor.Name, c.Tile, how)
	}
	s := x.Schedule
	for _, run := range []struct {
		when string
		acts []Act
	}{{"the producer, each step", s.Producer}, {"before", s.Begin}, {"before the first step", s.First}, {"each step", s.Step}, {"if a step follows", s.Next}, {"if none does", s.Last}, {"behind", s.End}} {
		if len(run.acts) > 0 {
			w.line("    %s: %s", run.when, actsText(run.acts))
		}
	}
}

func (w *printer) product(c *Product) {
	w.line("  %s of %s and %s: rows %s, columns %s, depth %s, by %s", c.Op.Code, ValueName(c.Op.Args[0]), ValueName(c.Op.Args[1]),
		axisNames(c.M), axisNames(c.N), axisNames(c.K), c.instruction())
	if c.Parts > 1 {
		w.line("    the depth in parts of %d warps, added up in %s", c.Parts, c.Joined)
	}
	for arg := range c.Tiles {
		if c.MMA == nil {
			w.line("    operand %s: in shared memory %s", ValueName(c.Op.Args[arg]), c.Tiles[arg])
			continue
		}
		w.line("    operand %s: %s, or in shared memory %s", ValueName(c.Op.Args[arg]), c.FragmentLayout(arg), c.Tiles[arg])
	}
}

// instruction is the form of the product.
func (c *Product) instruction() string {
	switch {
	case c.Wgmma:
		s := fmt.Sprintf("wgmma m64n%dk%d", 8*layout.Product(c.NReps), c.MMA.Depth)
		if c.RowsInRegisters {
			s += fmt.Sprintf(" with the rows from registers, in %d groups a step", c.Groups)
		}
		if c.Stepwise {
			s += fmt.Sprintf(" of %s, each step added up by itself", c.MMA.Elements[0])
		}
		return s
	case c.MMA != nil && c.MMA.Widened:
		return fmt.Sprintf("mma.sync m16n8k%d, twice, of %s made f16", c.MMA.Depth/2, c.MMA.Elements[0])
	case c.MMA != nil:
		return fmt.Sprintf("mma.sync m16n8k%d", c.MMA.Depth)
	}
	return "multiply-add"
}

// String is the shape of the tile.
func (t *Tile) String() string {
	var sides []string
	for i, a := range t.Axes {
		sides = append(sides, fmt.Sprintf("%s %d", a.Name, t.Extents[i]))
	}
	s := fmt.Sprintf("{%s} of %s in %d bytes", strings.Join(sides, ", "), t.DType, t.Bytes())
	if t.Swizzle > 1 {
		s += fmt.Sprintf(", swizzled by %d", t.Swizzle)
	}
	if t.Panels > 0 {
		s += fmt.Sprintf(", panels of %d rows", t.Panels)
		if t.Width() < PanelBytes {
			s += fmt.Sprintf(" of %d bytes", t.Width())
		}
	}
	return s
}

// String is the box that a copy moves.
func (m *TensorMap) String() string {
	var sides []string
	for i, d := range m.Order {
		sides = append(sides, fmt.Sprintf("%s %d", m.Tensor.Shape[d].Name, m.Box[i]))
	}
	s := fmt.Sprintf("boxes {%s} of %s", strings.Join(sides, ", "), m.Name)
	if m.TF32 {
		s += ", rounded to tf32"
	}
	return s
}

// ValueName is the name of a value in comments and messages.
func ValueName(v *ir.Value) string {
	if v.Name != "" {
		return fmt.Sprintf("%%%d(%s)", v.ID, v.Name)
	}
	return fmt.Sprintf("%%%d", v.ID)
}

func axisNames(axes []*ir.Axis) string {
	if len(axes) == 0 {
		return "none"
	}
	names := make([]string, len(axes))
	for i, a := range axes {
		names[i] = a.Name
	}
	return strings.Join(names, ", ")
}
