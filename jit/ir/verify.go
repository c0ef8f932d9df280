package ir

import (
	"fmt"

	"tilec/lang"
)

// Verify checks every rule of the IR: declarations are sound and names unique;
// every value is defined once, before its uses and in a region around them;
// every result has the type that Infer gives; tiles over a Loop axis stay inside
// the one `for` that walks it. The error names the operation and prints it.
func Verify(f *Func) error {
	v := &verifier{f: f, dims: map[*Dim]bool{}, axes: map[*Axis]bool{}, tensors: map[*Tensor]bool{},
		ids: map[int]bool{}, scope: map[*Value]bool{}, open: map[*Axis]*Op{}, walked: map[*Axis]bool{}}
	if err := v.declarations(); err != nil {
		return fmt.Errorf("kernel %s: %w", f.Name, err)
	}
	if f.Body == nil {
		return fmt.Errorf("kernel %s: no body", f.Name)
	}
	if len(f.Body.Params)+len(f.Body.Yield) > 0 {
		return fmt.Errorf("kernel %s: its body has parameters or yields values", f.Name)
	}
	if err := v.block(f.Body); err != nil {
		return fmt.Errorf("kernel %s: %w", f.Name, err)
	}
	return nil
}

type verifier struct {
	f       *Func
	dims    map[*Dim]bool
	axes    map[*Axis]bool
	tensors map[*Tensor]bool
	ids     map[int]bool
	scope   map[*Value]bool
	// open has the `for` of the Loop axes that are walked around the present place; walked, all axes seen so far.
	open   map[*Axis]*Op
	walked map[*Axis]bool
}

func (v *verifier) declarations() error {
	names := map[string]bool{}
	unique := func(what, name string) error {
		key := what + " " + name
		if name == "" || names[key] {
			return fmt.Errorf("%s %q: name is empty or used twice", what, name)
		}
		names[key] = true
		return nil
	}
	for _, d := range v.f.Dims {
		if err := unique("dimension", d.Name); err != nil {
			return err
		}
		v.dims[d] = true
	}
	for _, d := range v.f.strideDims() {
		if err := unique("dimension", d.Name); err != nil {
			return err
		}
	}
	for _, d := range v.f.Dims {
		if d.Value > NarrowSize && !d.Wide {
			return fmt.Errorf("dimension %s has %d elements and is not wide", d.Name, d.Value)
		}
	}
	for _, t := range v.f.Tensors {
		if err := unique("tensor", t.Name); err != nil {
			return err
		}
		if err := v.tensor(t); err != nil {
			return fmt.Errorf("tensor %s: %w", t.Name, err)
		}
		v.tensors[t] = true
	}
	for _, s := range v.f.Scalars {
		if !s.Type.IsScalar() || s.Type.DType == lang.Invalid || s.Def != nil {
			return fmt.Errorf("scalar %s is %s and has a definition: %v", define(s), s.Type, s.Def != nil)
		}
		if err := v.define(s); err != nil {
			return err
		}
	}
	grid := true
	for _, a := range v.f.Axes {
		if err := unique("axis", a.Name); err != nil {
			return err
		}
		if err := v.axis(a); err != nil {
			return fmt.Errorf("axis %s: %w", a.Name, err)
		}
		if a.Kind == Grid && !grid {
			return fmt.Errorf("axis %s: grid axes must come before the others", a.Name)
		}
		grid = grid && a.Kind == Grid
		v.axes[a] = true
	}
	return nil
}

func (v *verifier) tensor(t *Tensor) error {
	if t.DType == lang.Invalid {
		return fmt.Errorf("has no element type")
	}
	for _, d := range t.Shape {
		if !v.dims[d] {
			return fmt.Errorf("dimension %s is not declared", d.Name)
		}
	}
	if t.Scratch {
		for _, d := range t.Shape {
			if !d.Known() {
				return fmt.Errorf("dimension %s of scratch memory is only known at launch", d.Name)
			}
		}
		if t.Strides != nil || t.Mode != lang.InOut {
			return fmt.Errorf("scratch memory has strides, or is not both read and written")
		}
	}
	if t.Split > 1 && (!t.Shared || len(t.Shape) == 0) {
		return fmt.Errorf("is split over blocks, and not shared memory with dimensions")
	}
	if t.Strides != nil && len(t.Strides) != len(t.Shape) {
		return fmt.Errorf("%d strides for %d dimensions", len(t.Strides), len(t.Shape))
	}
	if t.Align < 0 || t.Align&(t.Align-1) != 0 {
		return fmt.Errorf("alignment %d is not a power of two", t.Align)
	}
	return nil
}

func (v *verifier) axis(a *Axis) error {
	if a.Dim != nil && !v.dims[a.Dim] {
		return fmt.Errorf("dimension %s is not declared", a.Dim.Name)
	}
	for _, c := range a.Choices {
		if c <= 0 {
			return fmt.Errorf("extent %d to choose from is not positive", c)
		}
	}
	switch {
	case a.Kind > Whole:
		return fmt.Errorf("kind %d does not exist", a.Kind)
	case a.Edges != 0 && (a.Kind != Whole || a.Len != 2*ShownEdge || a.Edges <= ShownElements):
		return fmt.Errorf("the edges of %d positions in a print are a whole axis of %d, and only more than %d are abbreviated for sure", a.Edges, 2*ShownEdge, ShownElements)
	case a.Kind != Whole && a.Dim == nil:
		return fmt.Errorf("a %s axis needs a dimension", a.Kind)
	case a.Extent < 0:
		return fmt.Errorf("extent %d is negative", a.Extent)
	case a.Scalar && a.Kind == Whole:
		return fmt.Errorf("a whole axis cannot be scalar")
	case a.Scalar && a.Extent > 1:
		return fmt.Errorf("a scalar axis has extent %d", a.Extent)
	case a.Ranges != nil:
		return v.ranges(a)
	case a.Kind != Whole:
		return nil
	case a.Lo < 0 || a.Len < 0:
		return fmt.Errorf("range [%d .. %d] is not one", a.Lo, a.Lo+a.Len)
	case a.Extent != 0 && a.Extent != a.Len:
		return fmt.Errorf("a whole axis of %d elements has extent %d", a.Len, a.Extent)
	case a.Dim != nil && !a.Dim.Known():
		return fmt.Errorf("a whole axis needs a known dimension, %s is not", a.Dim.Name)
	case a.Dim != nil && a.Lo+a.Len > a.Dim.Value:
		return fmt.Errorf("range [%d .. %d] leaves dimension %s of %d", a.Lo, a.Lo+a.Len, a.Dim.Name, a.Dim.Value)
	}
	return nil
}

func (v *verifier) ranges(a *Axis) error {
	of := a.Ranges.Of
	switch {
	case a.Kind != Grid || a.Dim.Wide:
		return fmt.Errorf("ranges in memory are of grid axes whose positions are i32")
	case !v.axes[of] || of.Kind != Grid || !of.Scalar || of.Ranges != nil:
		return fmt.Errorf("ranges in memory are those of the positions of a scalar grid axis that is declared before")
	}
	for b := range v.axes {
		if b.Ranges != nil {
			return fmt.Errorf("axis %s goes through ranges in memory already", b.Name)
		}
	}
	for _, e := range []*Element{a.Ranges.Lo, a.Ranges.Hi} {
		if e == nil {
			continue
		}
		if t := e.Tensor; !v.tensors[t] || len(t.Shape) != 1 || t.DType != lang.I32 || !t.ReadOnly() {
			return fmt.Errorf("ranges are read from tensors of one dimension, of i32, that are only read")
		}
	}
	for _, t := range a.Ranges.Outside {
		if !v.tensors[t] || t.Mode != lang.Out || t.Strides != nil || len(t.Shape) == 0 || t.Shape[0] != a.Dim || t.DType.Packed() {
			return fmt.Errorf("outside of ranges are zeros in outputs without gaps whose first dimension is that of the axis, of elements of whole bytes")
		}
	}
	return nil
}

func (v *verifier) define(x *Value) error {
	switch {
	case x == nil:
		return fmt.Errorf("defines no value")
	case v.ids[x.ID]:
		return fmt.Errorf("%%%d is defined twice", x.ID)
	case x.ID < 0 || x.ID >= v.f.nextID:
		return fmt.Errorf("%%%d was not made by NewValue", x.ID)
	}
	v.ids[x.ID] = true
	v.scope[x] = true
	return v.inScope(x.Type.Axes)
}

// inScope checks axes at the present place: declared, with elements, and, for a Loop axis, inside its `for`.
func (v *verifier) inScope(axes []*Axis) error {
	for i, a := range axes {
		switch {
		case a == nil || !v.axes[a]:
			return fmt.Errorf("uses an axis that is not declared")
		case a.Scalar:
			return fmt.Errorf("has scalar axis %s in a tile", a.Name)
		case a.Kind == Loop && v.open[a] == nil:
			return fmt.Errorf("uses loop axis %s outside its for", a.Name)
		case Type{Axes: axes[:i]}.Has(a):
			return fmt.Errorf("has axis %s twice", a.Name)
		}
	}
	return nil
}

func (v *verifier) block(b *Block) error {
	var local []*Value
	for _, op := range b.Ops {
		if err := v.op(op); err != nil {
			return err
		}
		local = append(local, op.Results...)
	}
	for _, y := range b.Yield {
		if !v.scope[y] {
			return fmt.Errorf("yields %s, which is not defined here", use(y))
		}
	}
	for _, x := range local {
		delete(v.scope, x)
	}
	return nil
}

func (v *verifier) op(op *Op) error {
	if op == nil || op.Code == lang.OpInvalid || op.Code.Row().Name == "" {
		return fmt.Errorf("operation without a code")
	}
	err := v.attributes(op)
	if err == nil {
		err = v.regions(op)
	}
	if err == nil {
		err = v.results(op)
	}
	if err != nil && !nested(err) {
		return opError{op, err}
	}
	return err
}

// opError is an error of one operation, which it prints.
type opError struct {
	op  *Op
	err error
}

// Error names the operation, and prints it.
func (e opError) Error() string { return fmt.Sprintf("%s: %v in `%s`", e.op.Code, e.err, e.op) }

// Unwrap is what is wrong with it.
func (e opError) Unwrap() error { return e.err }

// nested reports an error that an operation inside has claimed already.
func nested(err error) bool {
	_, ok := err.(opError)
	return ok
}

func (v *verifier) attributes(op *Op) error {
	for i, a := range op.Args {
		if a == nil || !v.scope[a] {
			return fmt.Errorf("argument %d, %s, is not defined here", i, use(a))
		}
	}
	if op.Tensor != nil && !v.tensors[op.Tensor] {
		return fmt.Errorf("tensor %s is not declared", op.Tensor.Name)
	}
	if op.Dim != nil && !v.dims[op.Dim] {
		return fmt.Errorf("dimension %s is not declared", op.Dim.Name)
	}
	if err := v.inScope(op.Over); err != nil {
		return err
	}
	if err := v.inScope(op.Axes); err != nil {
		return err
	}
	if op.Code.IsAtomic() {
		if op.Tensor == nil {
			return fmt.Errorf("needs a tensor")
		}
		return v.indicesInBounds(op)
	}
	if op.Coarse && (op.Code.Row().Coarse == 0 || op.Result().Type.DType != lang.F32) {
		return fmt.Errorf("there is no coarse form")
	}
	if op.Relative && !narrows(op) {
		return fmt.Errorf("what rounds nothing cannot round relative to another number")
	}
	switch op.Code {
	case lang.OpLoad, lang.OpStore:
		if op.Tensor == nil {
			return fmt.Errorf("needs a tensor")
		}
		return v.indicesInBounds(op)
	case lang.OpStart, lang.OpEnd:
		a := op.Axis
		switch {
		case a == nil || !v.axes[a] || a.Kind == Loop && v.open[a] == nil:
			return fmt.Errorf("needs a declared axis that is in scope here")
		case op.Span < 0, op.Span > 0 && (a.Kind == Whole || a.Scalar):
			return fmt.Errorf("has a span of %d, and axis %s is not cut in parts", op.Span, a.Name)
		case op.Span > 0 && a.Extent > 0 && op.Span%a.Extent != 0:
			return fmt.Errorf("axis %s by %d does not divide the span of %d", a.Name, a.Extent, op.Span)
		}
	case lang.OpIndex:
		if op.Axis == nil {
			return fmt.Errorf("needs an axis")
		}
		return v.inScope([]*Axis{op.Axis})
	case lang.OpRename:
		if op.Axis == nil || op.From == nil {
			return fmt.Errorf("needs two axes")
		}
		if a, b := op.From, op.Axis; a.Kind != Whole || b.Kind != Whole || a.Len != b.Len {
			return fmt.Errorf("axes %s and %s are not whole axes of one length", a.Name, b.Name)
		}
		return v.inScope([]*Axis{op.From, op.Axis})
	case lang.OpTake:
		return takenInRange(op)
	case lang.OpJoin:
		if !v.axes[op.Axis] {
			return fmt.Errorf("needs a declared axis")
		}
	case lang.OpDot, lang.OpMma:
		if _, ok := lang.Precision(op.Precision); !ok {
			return fmt.Errorf("precision %q is not tf32, ieee or tf32x3", op.Precision)
		}
	}
	return nil
}

// ofPart refuses an index along the last dimension of a tensor of which each block has its part, where that is no position of a loop that is divided so.
func (v *verifier) ofPart(t *Tensor, x *Value) error {
	if x.Def == nil || x.Def.Code != lang.OpIndex || v.open[x.Def.Axis] == nil {
		return fmt.Errorf("of %s, blocks have the parts of a loop, and %%%d is no position of one", t.Name, x.ID)
	}
	a, part := x.Def.Axis, t.Shape[len(t.Shape)-1].Value
	if n := lastOf(v.open[a]) + 1; a.Split != t.Split || a.Extent == 0 || a.PartOf(n) != part {
		return fmt.Errorf("of %s, %d blocks have %d positions each, and not those of the loop over %s", t.Name, t.Split, part, a.Name)
	}
	return nil
}

// indicesInBounds refuses unchecked indices that plainly leave their dimension.
func (v *verifier) indicesInBounds(op *Op) error {
	if len(op.Args) < len(op.Tensor.Shape) || len(op.Checked) != len(op.Tensor.Shape) {
		return nil // Infer says so
	}
	for i, x := range op.Indices() {
		d := op.Tensor.Shape[i]
		if op.Tensor.Split > 1 && i == len(op.Tensor.Shape)-1 {
			if err := v.ofPart(op.Tensor, x); err != nil {
				return err
			}
			continue
		}
		if op.Checked[i] || x.Def == nil || !d.Known() {
			continue
		}
		lo, hi := int64(0), int64(0)
		switch def := x.Def; def.Code {
		case lang.OpConst:
			lo, hi = def.Const.Int, def.Const.Int
		case lang.OpIndex:
			a := def.Axis
			if a.Kind == Whole {
				lo, hi = a.Lo, a.Lo+a.Len-1
			} else if a.Dim.Known() {
				hi = a.Dim.Value - 1
				if walk := v.open[a]; walk != nil { // a loop may go through a part of the dimension
					hi = min(hi, lastOf(walk))
				}
			}
		}
		if hi >= lo && (lo < 0 || hi >= d.Value) && d.Value > 0 {
			return fmt.Errorf("unchecked index %d spans %d to %d, dimension %s has %d", i, lo, hi, d.Name, d.Value)
		}
	}
	return nil
}

// lastOf is the last position that a loop over an axis can have where its range is constant, else -1, which says nothing.
func lastOf(walk *Op) int64 {
	switch end := walk.Args[1].Def; {
	case end == nil:
		return -1
	case end.Code == lang.OpConst:
		return end.Const.Int - 1
	case end.Code == lang.OpSize && end.Dim == walk.Axis.Dim && walk.Axis.Dim.Known():
		return walk.Axis.Dim.Value - 1
	}
	return -1
}

// regions checks the blocks inside an operation.
func (v *verifier) regions(op *Op) error {
	want := map[lang.Op]int{lang.OpFor: 1, lang.OpIf: 2}[op.Code]
	if len(op.Blocks) != want {
		return fmt.Errorf("has %d blocks, needs %d", len(op.Blocks), want)
	}
	if op.Reverse && op.Code != lang.OpFor && op.Code != lang.OpScan && !op.Exclusive || op.Exclusive && op.Code != lang.OpJoin {
		return fmt.Errorf("only a scan, a loop and an exclusive join are reversed")
	}
	if needs := op.Combines() || op.Code == lang.OpJoin; needs != (op.Fn != nil) && (needs || op.Code.Row().Group != lang.GroupContract) {
		return fmt.Errorf("only a reduce, a scan and a join have a function, and they need one, and a contraction may have one")
	}
	if op.Fn != nil {
		return v.combiner(op)
	}
	if op.Code == lang.OpFor {
		if err := v.forHead(op); err != nil {
			return err
		}
		if op.Axis != nil {
			v.open[op.Axis] = op
			defer delete(v.open, op.Axis)
		}
	}
	for _, b := range op.Blocks {
		if op.Code == lang.OpIf && len(b.Params) > 0 {
			return fmt.Errorf("has a block with parameters")
		}
		for _, x := range b.Params {
			if x != nil && x.Def != nil {
				return fmt.Errorf("parameter %s has a definition", use(x))
			}
			if err := v.define(x); err != nil {
				return err
			}
		}
		if err := v.block(b); err != nil {
			return err
		}
		for _, x := range b.Params {
			delete(v.scope, x)
		}
	}
	return nil
}

func (v *verifier) forHead(op *Op) error {
	params := op.Blocks[0].Params
	if len(op.Args) < 2 || len(params) != len(op.Args)-1 || len(op.Results) != len(op.Args)-2 {
		return fmt.Errorf("has %d arguments, %d parameters and %d results", len(op.Args), len(params), len(op.Results))
	}
	a := op.Axis
	if params[0] == nil || !params[0].Type.Same(Scalar(a.Counts())) {
		return fmt.Errorf("position is not an %s", a.Counts())
	}
	if a == nil {
		if op.Reverse {
			return fmt.Errorf("only a loop over an axis is reversed")
		}
		return nil
	}
	switch {
	case !v.axes[a]:
		return fmt.Errorf("axis %s is not declared", a.Name)
	case a.Kind != Loop:
		return fmt.Errorf("walks %s, which is a %s axis", a.Name, a.Kind)
	case v.walked[a]:
		return fmt.Errorf("walks %s, which another for walks", a.Name)
	}
	v.walked[a] = true
	return nil
}

// results compares an operation's results with what Infer says, and brings them into scope.
func (v *verifier) results(op *Op) error {
	types, err := Infer(op)
	if err != nil {
		return err
	}
	if len(types) != len(op.Results) {
		return fmt.Errorf("has %d results, needs %d", len(op.Results), len(types))
	}
	for i, x := range op.Results {
		if err := v.define(x); err != nil {
			return err
		}
		if x.Def != op {
			return fmt.Errorf("%s is defined by another operation", use(x))
		}
		if !x.Type.Same(types[i]) {
			return fmt.Errorf("%s is %s, should be %s", use(x), x.Type, types[i])
		}
	}
	return nil
}
