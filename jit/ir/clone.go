package ir

import (
	"maps"
	"slices"
	"strconv"

	"tilec/lang"
)

// Mapping says what stands for what in a copy. What is in none of the maps stands for itself.
type Mapping struct {
	Values  map[*Value]*Value
	Axes    map[*Axis]*Axis
	Dims    map[*Dim]*Dim
	Tensors map[*Tensor]*Tensor
}

func mapped[T comparable](m map[T]T, x T) T {
	if y, ok := m[x]; ok {
		return y
	}
	return x
}

// Value is what stands for v.
func (m *Mapping) Value(v *Value) *Value { return mapped(m.Values, v) }

// Type is t over the axes that stand for its axes.
func (m *Mapping) Type(t Type) Type { return Type{DType: t.DType, Axes: each(t.Axes, m.Axes)} }

func each[T comparable](xs []T, m map[T]T) []T {
	if xs == nil {
		return nil
	}
	ys := make([]T, len(xs))
	for i, x := range xs {
		ys[i] = mapped(m, x)
	}
	return ys
}

// Clone is a deep copy: it shares nothing with f that either may change.
func Clone(f *Func) *Func {
	m := &Mapping{Values: map[*Value]*Value{}, Axes: map[*Axis]*Axis{}, Dims: map[*Dim]*Dim{}, Tensors: map[*Tensor]*Tensor{}}
	c := &Func{Name: f.Name, Hints: maps.Clone(f.Hints), Approx: f.Approx, Spill: f.Spill, Dependent: f.Dependent, Timed: f.Timed, nextID: f.nextID}
	for _, d := range f.Dims {
		c.Dims = append(c.Dims, m.dim(d))
	}
	for _, t := range f.Tensors {
		u := *t
		u.Shape, u.Strides = m.dims(t.Shape), m.dims(t.Strides)
		m.Tensors[t] = &u
		c.Tensors = append(c.Tensors, &u)
	}
	for _, a := range f.Axes {
		b := *a
		if a.Dim != nil {
			b.Dim = m.dim(a.Dim)
		}
		b.Choices, b.Ranges = slices.Clone(a.Choices), m.ranges(a.Ranges)
		m.Axes[a] = &b
		c.Axes = append(c.Axes, &b)
	}
	same := func(v *Value) int { return v.ID }
	for _, s := range f.Scalars {
		c.Scalars = append(c.Scalars, m.newValue(s, nil, same))
	}
	c.Body = m.block(f.Body, same)
	return c
}

func (m *Mapping) dim(d *Dim) *Dim {
	if m.Dims[d] == nil {
		e := *d
		m.Dims[d] = &e
	}
	return m.Dims[d]
}

func (m *Mapping) dims(ds []*Dim) []*Dim {
	if ds == nil {
		return nil
	}
	es := make([]*Dim, len(ds))
	for i, d := range ds {
		es[i] = m.dim(d)
	}
	return es
}

// CopyOp is a deep copy of op under m, with fresh values of f as its results;
// m learns what stands for them. The caller puts it into a block.
func (f *Func) CopyOp(op *Op, m *Mapping) *Op {
	if m.Values == nil {
		m.Values = map[*Value]*Value{}
	}
	return m.op(op, func(*Value) int { f.nextID++; return f.nextID - 1 })
}

// CopyBlock is a deep copy of a block that uses nothing from outside, with fresh values of f.
func (f *Func) CopyBlock(b *Block) *Block {
	m := &Mapping{Values: map[*Value]*Value{}}
	return m.block(b, func(*Value) int { f.nextID++; return f.nextID - 1 })
}

func (m *Mapping) op(op *Op, id func(*Value) int) *Op {
	c := *op
	c.Args = each(op.Args, m.Values)
	c.Axes, c.Over = each(op.Axes, m.Axes), each(op.Over, m.Axes)
	c.Axis, c.From = mapped(m.Axes, op.Axis), mapped(m.Axes, op.From)
	c.Dim, c.Tensor = mapped(m.Dims, op.Dim), mapped(m.Tensors, op.Tensor)
	c.Checked = slices.Clone(op.Checked)
	c.Results, c.Blocks = nil, nil
	if op.Fn != nil {
		c.Fn = m.block(op.Fn, id)
	}
	for _, b := range op.Blocks {
		c.Blocks = append(c.Blocks, m.block(b, id))
	}
	for _, r := range op.Results {
		c.Results = append(c.Results, m.newValue(r, &c, id))
	}
	return &c
}

func (m *Mapping) newValue(v *Value, def *Op, id func(*Value) int) *Value {
	w := &Value{ID: id(v), Type: m.Type(v.Type), Def: def, Name: v.Name}
	m.Values[v] = w
	return w
}

func (m *Mapping) block(b *Block, id func(*Value) int) *Block {
	c := &Block{}
	for _, p := range b.Params {
		c.Params = append(c.Params, m.newValue(p, nil, id))
	}
	for _, op := range b.Ops {
		c.Ops = append(c.Ops, m.op(op, id))
	}
	c.Yield = each(b.Yield, m.Values)
	return c
}

// Uses counts how often each value is an argument or is yielded.
func (f *Func) Uses() map[*Value]int {
	n := map[*Value]int{}
	f.Walk(func(op *Op) bool {
		for _, a := range op.Args {
			n[a]++
		}
		for _, b := range op.Blocks {
			for _, y := range b.Yield {
				n[y]++
			}
		}
		return true
	})
	return n
}

// AddAxis declares a copy of a under a name that no axis has yet: a's own
// where it is free, else with a number. Grid axes stay first.
func (f *Func) AddAxis(a Axis) *Axis {
	base := a.Name
	for n := 1; f.Axis(a.Name) != nil; n++ {
		a.Name = base + "." + strconv.Itoa(n)
	}
	a.Choices = slices.Clone(a.Choices)
	f.Axes = append(f.Axes, &a)
	return &a
}

// Pure reports an operation that only computes its results from its arguments:
// it can be repeated, moved to where its arguments are, or dropped. Loads are
// pure where nothing in the kernel writes their tensor.
func (op *Op) Pure() bool {
	switch e := op.Code.Row().Effect; e {
	case lang.Pure:
		return true
	case lang.Reads:
		return op.Tensor.ReadOnly()
	}
	return false
}

// Mentions reports whether the operation, its blocks aside, names the axis or has it in its result.
func (op *Op) Mentions(a *Axis) bool {
	if op.Axis == a || op.From == a || slices.Contains(op.Over, a) || slices.Contains(op.Axes, a) {
		return true
	}
	for _, r := range op.Results {
		if r.Type.Has(a) {
			return true
		}
	}
	return false
}

// IsConst gives the constant that v is everywhere: v is a const, or a full of one.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (v *Value) IsConst() (Const, bool) {
	for v.Def != nil && v.Def.Code == lang.OpFull {
		v = v.Def.Args[0]
	}
	if v.Def != nil && v.Def.Code == lang.OpConst {
		return v.Def.Const, true
	}
	return Const{}, false
}

// HasOwnType reports an operation whose arguments do not tell the element type
// of its result: whoever makes one gives the result.
func (op *Op) HasOwnType() bool {
	return op.Code == lang.OpConst || op.Code == lang.OpCast || op.Code == lang.OpBitcast
}
