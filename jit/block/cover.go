package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file finds where what a thread has of a load lies side by side in memory without being neighbours along one axis alone: the positions of a window,
// which overlap from one element to the next (x[v + s]), every second element (x[2 * v]), and the fields of records (x[i, 0] and x[i, 1]). A thread
// then loads whole words that cover what it has, each once.

// Cover is how a load reaches memory by words.
type Cover struct {
	// Elements a word has, a power of two.
	Elements int64
	// From is the first of the dimensions that words go through: the last one, or the last two where rows are no multiples of words.
	From int
	// Added is by how many elements the numbers that are added to the positions move all of them.
	Added int64
}

// Cover gives the words by which an access in a layout may go through memory: the longest such that all threads begin as far behind the beginning of one, and that exist
// where an element of theirs exists. Where whole holds, all positions of an axis exist that the block has. ok is false where there are no words of more than one element.
func (p *Program) Cover(op *ir.Op, l layout.Layout, whole func(a *ir.Axis) bool) (c Cover, ok bool) {
	t := op.Tensor
	if t.Shared || t.Held().Bits() < 8 || t.DType.Packed() || p.Words != nil || len(t.Shape) == 0 {
		return Cover{}, false
	}
	dims := p.Access(op)
	last := len(dims) - 1
	if d := dims[last]; d.Stride != 1 || d.Span > 1 || d.Gather && (d.Clamped == nil || !d.Clamped.Ends || d.Checked || len(d.Clamped.Affine.Scalars) > 0) {
		return Cover{}, false
	}
	size := int64(t.Held().Size())
	for n := gcd(max(t.Align, size), bulkUnit) / size; n > 1; n /= 2 {
		for from := last; from >= max(last-1, 0) && !(from < last && dims[last].Gather); from-- {
			if added, ok := p.covers(op, dims, l, from, n, whole); ok {
				return Cover{n, from, added}, true
			}
		}
	}
	return Cover{}, false
}

// Unclamped is how an access walks its dimensions if those that words go through were not clamped, and from where words begin, when nothing is added to its positions there.
func (c Cover) Unclamped(dims []DimAccess) (walks, begins []DimAccess) {
	walks = slices.Clone(dims)
	for i := c.From; i < len(walks); i++ {
		walks[i].Affine, walks[i].Gather = walks[i].along(), false
	}
	begins = slices.Clone(walks)
	for i := c.From; i < len(begins); i++ {
		begins[i].Affine.Offset = 0
	}
	return walks, begins
}

// BeyondRow reports whether a word of a load that begins so many elements behind where those of a thread would, if nothing were added to their positions, may lie before or behind the row: its elements
// are then the first or the last of the row.
func BeyondRow(op *ir.Op, by int64) (before, behind bool) {
	last := len(op.Tensor.Shape) - 1
	d := AccessOf(op)[last].Clamped
	if d == nil {
		return false, false
	}
	within := true // what threads begin with lies in the row
	from0 := true
	for _, t := range d.Affine.Terms {
		switch whole := t.Axis.Kind == ir.Whole; {
		case whole:
			from0 = from0 && t.Axis.Lo == 0
			within = within && t.Coef*(t.Axis.Lo+t.Axis.Len-1) < op.Tensor.Shape[last].Value
		default:
			from0 = from0 && t.Coef > 0
			within = within && t.Coef == 1 && t.Axis.Dim == op.Tensor.Shape[last]
		}
	}
	return d.Low && (by < 0 || !from0), d.High && (by > 0 || !from0 || !within)
}

// covers reports that words of n elements go through the dimensions from the given one on, and what is added to the positions.
func (p *Program) covers(op *ir.Op, dims []DimAccess, l layout.Layout, from int, n int64, whole func(a *ir.Axis) bool) (added int64, ok bool) {
	for i, d := range dims {
		unit := multipleOf(d.multiple)
		if d.Stride >= 0 {
			unit = multipleOf(d.Stride)
		}
		if i < from { // rows begin with words
			if unit%n != 0 {
				return 0, false
			}
			continue
		}
		if d.Gather && i < len(dims)-1 || d.Stride < 0 {
			return 0, false
		}
		f := d.along()
		added += f.Offset * d.Stride
		for _, s := range f.Scalars {
			if multipleOf(s.Coef)*min(p.multiple(s.Value), 1<<20)*d.Stride%n != 0 {
				return 0, false
			}
		}
		for _, term := range f.Terms {
			by := term.Coef * d.Stride
			if p.StartMultiple(term.Axis)%(1<<20)*by%n != 0 || !threadsBegin(l, term.Axis, by, n) {
				return 0, false
			}
		}
	}
	if from == len(dims)-1 {
		return added, max(op.Tensor.Shape[from].Multiple(), 1)%n == 0 // what is checked lies in the row as a whole or not at all
	}
	return added, p.wholeRecords(dims, from, n, whole)
}

// threadsBegin reports that the threads' positions along an axis, times a factor, are multiples of n.
func threadsBegin(l layout.Layout, a *ir.Axis, by, n int64) bool {
	for _, ds := range [][]layout.Digit{l.Lane, l.Warp} {
		for _, d := range ds {
			if d.Axis == a && int64(d.Stride)*by%n != 0 {
				return false
			}
		}
	}
	return true
}

// wholeRecords reports records, rows of the last dimension, that exist together as many as words of n elements lie across: those of one axis as they follow one
// another.
func (p *Program) wholeRecords(dims []DimAccess, from int, n int64, whole func(a *ir.Axis) bool) bool {
	record, field := dims[from], dims[from+1]
	if record.Checked || field.Checked || len(record.Affine.Terms) != 1 || record.Affine.Terms[0].Coef != 1 || len(record.Affine.Scalars) > 0 || record.Affine.Offset != 0 {
		return false
	}
	a := record.Affine.Terms[0].Axis
	if len(field.Affine.Scalars) > 0 || field.Affine.coef(a) != 0 {
		return false
	}
	together := n / gcd(n, max(record.Stride, 1))
	return p.StartMultiple(a)%together == 0 && (whole(a) && a.Extent%together == 0 || p.endMultiple(a)%together == 0)
}

// Run is how threads best go through memory with a load or a store of which neighbours lie side by side without being neighbours along one axis.
type Run struct {
	Axis *ir.Axis
	// Most is how many positions along the axis a thread should have at most, a power of two.
	Most int64
	// Each is by how many elements one position lies behind the other, Reach how many elements all lie across that a thread has of one.
	Each, Reach int64
	// Inside are the axes of which a thread has all positions.
	Inside []*ir.Axis
	// Record reports fields of records, of which Each is the size.
	Record bool
}

// The limits of a run: the longest axis of a window along the innermost dimension, the elements that a thread has of the tensor, and the longest record.
const (
	mostReach  = 64
	mostOfRun  = 128
	mostRecord = 16 // bytes
)

// RunOf gives the run of an access; ok is false for one that goes along an axis as it is, or in no order.
func RunOf(op *ir.Op) (Run, bool) {
	t := op.Tensor
	last := len(t.Shape) - 1
	if t.Shared || t.Held().Bits() < 8 || t.DType.Packed() || last < 0 {
		return Run{}, false
	}
	dims := AccessOf(op)
	if d := dims[last]; d.Stride != 1 || d.Gather && (d.Clamped == nil || !d.Clamped.Ends || len(d.Clamped.Affine.Scalars) > 0) {
		return Run{}, false
	}
	if r, ok := recordRun(op, dims); ok {
		return r, true
	}
	if op.Code != lang.OpLoad {
		return Run{}, false
	}
	return windowRun(op, dims)
}

// recordRun is the run of an access to fields of records.
func recordRun(op *ir.Op, dims []DimAccess) (Run, bool) {
	last, size := len(dims)-1, int64(op.Tensor.Held().Size())
	d := op.Tensor.Shape[last]
	if last == 0 || !d.Known() || d.Value < 2 || d.Value*size > mostRecord {
		return Run{}, false
	}
	record, field := dims[last-1], dims[last]
	if record.Gather || field.Gather || record.Checked || field.Checked || len(record.Affine.Terms) != 1 || record.Affine.Terms[0].Coef != 1 || record.Stride != d.Value || len(field.Affine.Scalars) > 0 {
		return Run{}, false
	}
	r := Run{Axis: record.Affine.Terms[0].Axis, Each: d.Value, Reach: 1, Record: true}
	switch terms := field.Affine.Terms; {
	case len(terms) == 1 && terms[0].Coef == 1 && terms[0].Axis.Kind == ir.Whole && terms[0].Axis.Len == d.Value && terms[0].Axis != r.Axis && field.Affine.Offset == 0:
		r.Inside, r.Reach = []*ir.Axis{terms[0].Axis}, d.Value
	case len(terms) > 0:
		return Run{}, false
	}
	r.Most = min(bulkUnit/gcd(bulkUnit, d.Value*size), 4)
	if r.Axis.Kind == ir.Whole || elsewhere(dims[:last-1], r.Axis) {
		return Run{}, false
	}
	return r, r.Most > 1
}

// windowRun is the run of a load of windows that move along the innermost dimension, or of some of its elements.
func windowRun(op *ir.Op, dims []DimAccess) (Run, bool) {
	last, size := len(dims)-1, int64(op.Tensor.Held().Size())
	r := Run{Reach: 1}
	for _, t := range dims[last].Terms() {
		switch a := t.Axis; {
		case a.Kind == ir.Whole && a.Len <= mostReach && !elsewhere(dims[:last], a):
			r.Inside = append(r.Inside, a)
			r.Reach += max(t.Coef, -t.Coef) * (a.Len - 1)
		case r.Axis != nil || t.Coef < 1:
			return Run{}, false
		default:
			r.Axis, r.Each = a, t.Coef
		}
	}
	if r.Axis == nil || r.Each == 1 && r.Reach == 1 || r.Reach > mostReach || elsewhere(dims[:last], r.Axis) {
		return Run{}, false
	}
	rows := int64(1)
	for a := range windowOf(dims) {
		if !slices.Contains(r.Inside, a) {
			rows *= a.Len
		}
	}
	r.Most = 1
	for r.Most*2*r.Each*size <= bulkUnit && rows*((r.Most*2-1)*r.Each+r.Reach) <= mostOfRun {
		r.Most *= 2
	}
	return r, r.Most > 1
}

// elsewhere reports an axis on which the place along some dimension depends.
func elsewhere(dims []DimAccess, a *ir.Axis) bool {
	return slices.ContainsFunc(dims, func(d DimAccess) bool {
		if d.Gather {
			return d.Index.Type.Has(a)
		}
		return d.Affine.coef(a) != 0
	})
}

// Fields are the stores of all fields of a record that threads may store by words where the last of them stands: nothing else of the tensor is done between. nil where there is one alone.
func (p *Program) Fields(op *ir.Op) []*ir.Op {
	if p.fields == nil {
		p.fields = map[*ir.Op][]*ir.Op{}
		p.findFields(p.Func.Body)
	}
	return p.fields[op]
}

func (p *Program) findFields(b *ir.Block) {
	begun := map[*ir.Tensor][]*ir.Op{}
	for _, op := range b.Ops {
		for _, inner := range op.Blocks {
			clear(begun)
			p.findFields(inner)
		}
		t := op.Tensor
		if t == nil {
			continue
		}
		fields := begun[t]
		delete(begun, t)
		run, ok := RunOf(op)
		if op.Code != lang.OpStore || op.Collides() || !ok || !run.Record || len(run.Inside) > 0 || p.Stores[op] != nil {
			continue
		}
		last := len(t.Shape) - 1
		alike := len(fields) > 0 && slices.Equal(fields[0].Indices()[:last], op.Indices()[:last]) && p.StoreLayout(fields[0]).Equal(p.StoreLayout(op))
		at := fieldOf(op)
		if !alike || slices.ContainsFunc(fields, func(f *ir.Op) bool { return fieldOf(f) == at }) {
			fields = nil
		}
		fields = append(fields, op)
		if int64(len(fields)) < t.Shape[last].Value {
			begun[t] = fields
			continue
		}
		for _, f := range fields {
			p.fields[f] = fields
		}
	}
}

// fieldOf is the number of the field that an access has of a record.
func fieldOf(op *ir.Op) int64 {
	dims := AccessOf(op)
	return dims[len(dims)-1].Affine.Offset
}
