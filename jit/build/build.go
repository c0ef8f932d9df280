// Package build makes the tile IR of a typed kernel for a specialisation. It knows typed programs, specialisations and tile
// IR; it must not know passes, plans and targets.
package build

import (
	"fmt"
	"slices"

	"tilec/jit/bug"
	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/jit/spec"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Kernel makes the tile IR of a specialisation: types, constants and the
// dimensions of static become concrete, conditions on constants are decided.
// Extents are left to the planner. Kernels that are fused into it are joined with it; where they cannot be, that is an *Unfit.
func Kernel(s *spec.Spec, target string) (*ir.Func, *spec.LaunchDims, error) {
	f, dims, err := joined(s, target)
	if err == nil {
		err = order(f, dims, s.Operands())
	}
	return f, dims, err
}

// joined makes the tile IR of a specialisation whose tensors all have their dimensions in the order of declaration: so kernels agree on them that are joined.
func joined(s *spec.Spec, target string) (*ir.Func, *spec.LaunchDims, error) {
	f, dims, err := kernel(s, target)
	if err == nil && len(s.Fused) > 0 {
		err = fuse(s, f, dims, target)
	}
	return f, dims, err
}

// kernel makes the tile IR of the specialisation's own kernel.
func kernel(s *spec.Spec, target string) (f *ir.Func, dims *spec.LaunchDims, err error) {
	k := s.Kernel
	if len(k.Parts) > 0 {
		return nil, nil, bug.New("build", "kernel %s is launched in parts, and has no code of its own", k.Name)
	}
	fixed := s.FixedDims()
	b := &builder{
		spec:    s,
		fixed:   fixed,
		divides: s.Multiples(fixed),
		dims:    map[string]*ir.Dim{},
		launch:  &spec.LaunchDims{Sizes: map[string]size.Size{}, Strides: map[string]spec.Stride{}, Ranges: map[string]spec.GridRange{}},
		axes:    map[*typed.Axis]*ir.Axis{},
		tensors: map[*typed.Param]*ir.Tensor{},
		places:  map[*typed.Param]int{},
		scalars: map[*typed.Param]*ir.Value{},
		locals:  map[*typed.Local]*ir.Value{},
		begins:  map[*typed.Axis]*ir.Dim{},
	}
	b.f = &ir.Func{Name: k.Name, Body: &ir.Block{}, Hints: k.Hints, Approx: k.Approx, Dependent: b.spec.Dependent, Timed: b.spec.Timed}
	b.Builder = ir.Builder{Func: b.f, Block: b.f.Body}
	b.precision = k.Precision
	if b.precision == "" {
		b.precision = s.Precision
	}
	defer func() {
		// The IR builder refuses what typecheck should have: a bug of ours, reported as one.
		switch r := recover().(type) {
		case nil:
		case *lang.Diagnostic: // sizes that the kernel cannot have
			err = r
		default:
			b := bug.Recovered("build", r)
			s.About(b)
			err = b
		}
	}()
	for i, p := range spec.Params(k) {
		if !p.IsTensor {
			v := b.f.NewValue(ir.Scalar(p.DType.Resolve(s.Types)), nil)
			v.Name = p.Name
			b.f.Scalars = append(b.f.Scalars, v)
			b.scalars[p] = v
			continue
		}
		b.declareTensor(i, p)
	}
	names := map[string]int{}
	for _, a := range k.Axes {
		b.declare(a, names)
	}
	for _, split := range k.SplitsOn(target) {
		b.axes[split.Axis].Split = split.Blocks
	}
	b.body(k.Body)
	mergeParts(b.f)
	if b.precision != "ieee" && !k.Approx {
		own := *s
		own.Fused = nil
		coarsen(b.f, own.Operands())
		ir.MarkWeights(b.f)
	}
	return b.f, b.launch, checkRank(b.f)
}

type builder struct {
	ir.Builder
	f         *ir.Func
	spec      *spec.Spec
	fixed     map[*size.Symbol]bool
	divides   map[*size.Symbol]int64 // of dimensions that are not fixed: spec.Multiples
	precision string
	dims      map[string]*ir.Dim // by Size.String()
	launch    *spec.LaunchDims
	axes      map[*typed.Axis]*ir.Axis
	tensors   map[*typed.Param]*ir.Tensor
	places    map[*typed.Param]int // of tensors among the kernel's parameters
	scalars   map[*typed.Param]*ir.Value
	locals    map[*typed.Local]*ir.Value
	begins    map[*typed.Axis]*ir.Dim // where grid axes over a part of their dimension begin
	combining bool                    // the function of a reduce or a scan is being built
	loops     []enclosing             // those around what is being built, the outermost first
}

// enclosing is a loop around what is being built: its axis, nil for one that counts, and where it is.
type enclosing struct {
	axis     *ir.Axis
	position *ir.Value
}

// known evaluates a size that depends only on what the specialisation fixes.
func (b *builder) known(s size.Size) (int64, bool) {
	for _, sym := range s.Symbols() {
		if _, isConst := b.spec.Consts[sym]; !isConst && !b.fixed[sym] {
			return 0, false
		}
	}
	n, err := s.Eval(b.spec.Value)
	if err != nil {
		k := b.spec.Kernel
		panic(&lang.Diagnostic{Code: lang.ErrArgShape, At: k.Decl.Name.Span(), Message: fmt.Sprintf("the size %s in %s has no value: %v", s, k.Name, err)})
	}
	return n, true
}

// fixedSize is the value of a dimension or a constant that the specialisation fixes.
func (b *builder) fixedSize(sym *size.Symbol) (size.Size, bool) {
	n, ok := b.spec.Value(sym)
	_, isConst := b.spec.Consts[sym]
	return size.Const(n), ok && (isConst || b.fixed[sym])
}

// dim is the IR dimension of a size; sizes that are equal for what the specialisation fixes share one, as H and H - R + 1 do of a window of one place.
func (b *builder) dim(s size.Size) *ir.Dim {
	fixed := s.Subst(b.fixedSize)
	if _, isConst := fixed.Const(); !isConst {
		s = fixed
	}
	name := s.String()
	if d, ok := b.dims[name]; ok {
		return d
	}
	d := &ir.Dim{Name: name, Value: -1, Divisor: 1}
	if n, ok := b.known(s); ok {
		if n < 0 {
			k := b.spec.Kernel
			panic(&lang.Diagnostic{Code: lang.ErrArgShape, At: k.Decl.Name.Span(), Message: fmt.Sprintf("%s walks or accesses a dimension %s, which is %d and must be 0 or more", k.Name, s, n)})
		}
		d.Value = n
	} else {
		b.launch.Sizes[name] = s
		if sym := s.Symbol(); sym != nil {
			d.Divisor = max(b.spec.Kernel.Divisors[sym], b.divides[sym], 1)
		}
	}
	d.Wide = b.wide(s)
	b.dims[name] = d
	b.f.Dims = append(b.f.Dims, d)
	return d
}

func (b *builder) declare(a *typed.Axis, names map[string]int) {
	x := &ir.Axis{Name: a.Name, Scalar: a.Scalar, Tile: a.Tile, Choices: a.Choices, At: a.At}
	if n := b.spec.Extent(a); n > 0 {
		x.Choices = []int64{n}
	}
	// Inlining and separate scopes may declare one name twice; the IR's are unique.
	if n := names[a.Name]; n > 0 {
		x.Name = fmt.Sprintf("%s_%d", a.Name, n)
	}
	names[a.Name]++
	switch a.Kind {
	case typed.GridAxis:
		x.Kind = ir.Grid
	case typed.LoopAxis:
		x.Kind = ir.Loop
	case typed.WholeAxis:
		x.Kind = ir.Whole
		x.Lo, _ = b.known(a.Lo)
		x.Len, _ = b.known(a.Len)
		x.Extent = x.Len
	}
	if a.Scalar {
		x.Extent = 1
	}
	switch {
	case a.Of != nil:
		x.Dim, x.Ranges = b.dim(a.Dim), b.rangesInMemory(a)
	case a.From != nil:
		x.Dim = b.gridRange(a, x.Name)
	case !a.IsFree:
		x.Dim = b.dim(a.Dim)
		if end := x.Lo + x.Len; x.Kind == ir.Whole && (x.Lo < 0 || x.Len < 0 || end > x.Dim.Value) {
			panic(&lang.Diagnostic{Code: lang.ErrArgShape, At: a.At, Message: fmt.Sprintf(
				"axis %s of %s covers positions %d to %d of dimension %s, which has %d", a.Name, b.f.Name, x.Lo, end, x.Dim.Name, x.Dim.Value)})
		}
	case x.Lo+x.Len > ir.NarrowSize || b.spec.Wide: // its positions are counted as those of a dimension are
		x.Dim = b.dim(a.Lo.Add(a.Len))
	}
	b.axes[a] = x
	b.f.Axes = append(b.f.Axes, x)
}

// in runs build with operations going to a new block.
func (b *builder) in(build func()) *ir.Block {
	outer := b.Block
	block := &ir.Block{}
	b.Block = block
	build()
	b.Block = outer
	return block
}

// body builds a run of statements and gives its values.
func (b *builder) body(body *typed.Body) []*ir.Value {
	for _, s := range body.Stmts {
		switch s := s.(type) {
		case *typed.Let:
			values := b.values(s.Value)
			for i, l := range s.Locals {
				if l == nil {
					continue
				}
				if values[i].Name == "" {
					values[i].Name = l.Name
				}
				b.locals[l] = values[i]
			}
		case *typed.Store:
			b.store(s)
		case *typed.Print:
			b.print(s)
		case *typed.Assert:
			b.assert(s)
		case *typed.StaticAssert: // checkConditions has decided it
		case *typed.Do:
			b.values(s.X)
		default:
			panic(typed.Unknown(s))
		}
	}
	return b.all(body.Results)
}

// store builds a store or an atomic.
func (b *builder) store(s *typed.Store) {
	args := b.positions(s.Indices, s.Checked, s.Needs)
	indices := args
	args = append(args, b.value(s.Value))
	if s.New != nil {
		args = append(args, b.value(s.New))
	}
	b.At = s.At
	op := &ir.Op{Code: s.Op, Args: args, Tensor: b.tensors[s.Param], Checked: s.Checked, Order: s.Order, Scope: s.Scope, Old: s.Old != nil, Hint: accessHint(s.Hints)}
	old := b.Emit(op)
	if s.Old == nil {
		return
	}
	v := old[0]
	if s.Else != nil {
		inside := b.inside(op.Tensor, indices, s.Checked)
		v = b.Op(lang.OpWhere, inside, v, b.value(s.Else))
	}
	b.locals[s.Old] = v
}

// inside is whether the checked indices of an access lie in its tensor.
func (b *builder) inside(t *ir.Tensor, indices []*ir.Value, checked []bool) *ir.Value {
	var all *ir.Value
	and := func(c *ir.Value) {
		if all != nil {
			c = b.Op(lang.OpLogicAnd, all, c)
		}
		all = c
	}
	for i, x := range indices {
		if checked[i] {
			if t.Shape[i].Wide {
				x = b.Cast(x, lang.I64)
			}
			d := x.Type.DType
			and(b.Op(lang.OpGe, x, b.constant(d, 0, 0)))
			and(b.Op(lang.OpLt, x, b.Cast(b.sizeOf(t.Shape[i]), d)))
		}
	}
	return all
}

func (b *builder) all(xs []typed.Expr) []*ir.Value {
	var out []*ir.Value
	for _, x := range xs {
		out = append(out, b.values(x)...)
	}
	return out
}

func (b *builder) indices(xs []typed.Expr) []*ir.Value {
	out := make([]*ir.Value, len(xs))
	for i, x := range xs {
		out[i] = b.value(x)
	}
	return out
}

// positions builds the indices of an access. What an axis gives is inside its
// dimension whatever the size; other unchecked indices may need dimensions of 1 or more.
func (b *builder) positions(xs []typed.Expr, checked []bool, needs [][]*size.Symbol) []*ir.Value {
	out := make([]*ir.Value, len(xs))
	for i, x := range xs {
		out[i] = b.exact(x)
	}
	for i, v := range out {
		byAxis := v.Def == nil || v.Def.Code == lang.OpIndex || v.Def.Code == lang.OpStart || ofGridRange(xs[i])
		if i < len(needs) && !byAxis && !nowhere(v) {
			b.launch.Needs(xs[i].Span(), needs[i])
		}
	}
	return out
}

// nowhere reports positions along an axis without elements, which are none.
func nowhere(v *ir.Value) bool {
	return slices.ContainsFunc(v.Type.Axes, func(a *ir.Axis) bool { return a.Kind == ir.Whole && a.Len == 0 })
}

// value builds an expression that gives one value.
func (b *builder) value(x typed.Expr) *ir.Value {
	vs := b.values(x)
	if len(vs) != 1 {
		panic(fmt.Sprintf("expression gives %d values where one is needed", len(vs)))
	}
	return vs[0]
}

func (b *builder) dtype(t typed.Type) lang.DType { return t.DType.Resolve(b.spec.Types) }

// values builds an expression.
func (b *builder) values(x typed.Expr) []*ir.Value {
	b.At = x.Span()
	switch x := x.(type) {
	case *typed.Const:
		return one(b.constant(b.dtype(x.Type), x.Int, x.Float))
	case *typed.SizeExpr:
		return one(b.narrow(b.size(x), x.Type, x.Size, x.At))
	case *typed.ConstRef:
		c := b.spec.Consts[x.Symbol]
		return one(b.constant(b.dtype(x.Type), c.Int, c.Float))
	case *typed.ScalarRef:
		return one(b.scalars[x.Param])
	case *typed.LocalRef:
		v := b.locals[x.Local]
		if v == nil {
			panic(fmt.Sprintf("%s is used before it is bound", x.Local.Name))
		}
		return one(v)
	case *typed.Apply:
		v := b.apply(x)
		if a := counts(x); a != nil {
			v = b.narrow(v, x.Type, ends(a), x.At)
		}
		return one(v)
	case *typed.Combine:
		return b.combine(x)
	case *typed.Sort:
		return b.sort(x)
	case *typed.Load:
		args := b.positions(x.Indices, x.Checked, x.Needs)
		t := b.tensor(x.Param)
		if x.Else != nil {
			args = append(args, b.Cast(b.value(x.Else), t.DType))
		}
		b.At = x.At
		return b.Emit(&ir.Op{Code: lang.OpLoad, Args: args, Tensor: t, Checked: x.Checked, Hint: accessHint(x.Hints)})
	case *typed.Take:
		return one(b.take(x))
	case *typed.For:
		return b.loop(x)
	case *typed.If:
		return b.choice(x)
	case *typed.Tuple:
		return b.all(x.Elems)
	case *typed.Inline:
		return b.body(x.Body)
	}
	panic(typed.Unknown(x))
}

func accessHint(h typed.AccessHints) ir.AccessHint {
	return ir.AccessHint{Latency: h.Latency, Cache: h.Cache, At: h.At}
}

func one(v *ir.Value) []*ir.Value { return []*ir.Value{v} }

// constant rounds a literal to its type.
func (b *builder) constant(d lang.DType, n int64, f float64) *ir.Value {
	if d.IsFloat() {
		return b.Const(d, ir.Const{Float: eval.Round(f, d)})
	}
	return b.Const(d, ir.Const{Int: n})
}

func (b *builder) apply(x *typed.Apply) *ir.Value {
	args := b.operands(x)
	b.At = x.At
	switch x.Op {
	case lang.OpCast:
		return b.Cast(args[0], b.dtype(x.Type))
	case lang.OpBitcast:
		return b.Bitcast(args[0], b.dtype(x.Type))
	case lang.OpRandomBits:
		b.randomPositions(args, x.At)
	}
	if r := x.Op.Row().Rule; r == lang.RuleSum || r == lang.RuleMean {
		args[0] = b.summand(args[0])
	}
	if x.Op == lang.OpMul || x.Op.Row().Group == lang.GroupContract {
		b.widenBeside(args[:2])
	}
	op := &ir.Op{Code: x.Op, Args: args, Axes: b.mapAxes(x.Axes), Over: b.mapAxes(x.Over)}
	if x.Axis != nil {
		op.Axis = b.axes[x.Axis]
		if x.Op == lang.OpStart || x.Op == lang.OpEnd {
			op.Span = b.spec.Span(x.Axis)
		}
	}
	if x.From != nil {
		op.From = b.axes[x.From]
	}
	if mayContract := x.Op == lang.OpSum || x.Op == lang.OpMean || x.Op.Row().Group == lang.GroupContract; mayContract && args[0].Type.DType == lang.F32 {
		op.Precision = b.precision
	}
	return b.moved(b.Emit(op)[0], x.Axis)
}

// widenBeside widens the factor of 8 bits of a product whose other one lies as 16 bits, though both are of 8 in the source: a launch before has made a copy (spec.Layout.As).
func (b *builder) widenBeside(factors []*ir.Value) {
	for i, v := range factors {
		if wide := factors[1-i].Type.DType; ir.Mixes(wide, v.Type.DType) {
			factors[i] = b.Cast(v, wide)
		}
	}
}

func (b *builder) mapAxes(axes []*typed.Axis) []*ir.Axis {
	var out []*ir.Axis
	for _, a := range axes {
		out = append(out, b.axes[a])
	}
	return out
}

func (b *builder) loop(x *typed.For) []*ir.Value {
	lo, hi := b.bounds(x)
	op := &ir.Op{Code: lang.OpFor, At: x.At}
	if x.Axis != nil {
		op.Axis = b.axes[x.Axis]
		lo, hi = b.cut(lo, hi, op.Axis)
	}
	op.Args = append([]*ir.Value{lo, hi}, b.all(x.Init)...)
	body := b.in(func() {
		pos := b.f.NewValue(ir.Scalar(op.Axis.Counts()), nil)
		b.Block.Params = []*ir.Value{pos}
		if x.Index != nil {
			pos.Name = x.Index.Name
			b.locals[x.Index] = pos
		}
		b.loops = append(b.loops, enclosing{op.Axis, pos})
		defer func() { b.loops = b.loops[:len(b.loops)-1] }()
		for i, c := range x.Carried {
			v := b.f.NewValue(op.Args[i+2].Type, nil)
			v.Name = c.Name
			b.Block.Params = append(b.Block.Params, v)
			b.locals[c] = v
		}
		b.Block.Yield = b.body(x.Body)
	})
	op.Blocks = []*ir.Block{body}
	return b.Emit(op)
}

func isConst(v *ir.Value) bool { return v.Def != nil && v.Def.Code == lang.OpConst }

// isSize reports a value that is the size of d.
func (b *builder) isSize(v *ir.Value, d *ir.Dim) bool {
	if v.Def == nil || d == nil {
		return false
	}
	return v.Def.Code == lang.OpSize && v.Def.Dim == d || isConst(v) && d.Known() && v.Def.Const.Int == d.Value
}

func (b *builder) sizeOf(d *ir.Dim) *ir.Value {
	if d.Known() {
		return b.Const(d.Counts(), ir.Const{Int: d.Value})
	}
	return b.Emit(&ir.Op{Code: lang.OpSize, Dim: d})[0]
}

func (b *builder) choice(x *typed.If) []*ir.Value {
	cond := b.value(x.Cond)
	if c, ok := constBool(cond); ok {
		if c {
			return b.body(x.Then)
		}
		return b.body(x.Else)
	}
	if b.combining { // elements, not blocks, choose
		then, other := b.body(x.Then), b.body(x.Else)
		for i := range then {
			then[i] = b.Op(lang.OpWhere, cond, then[i], other[i])
		}
		return then
	}
	op := &ir.Op{Code: lang.OpIf, Args: one(cond), At: x.At}
	for _, branch := range []*typed.Body{x.Then, x.Else} {
		block := b.in(func() {
			if branch != nil {
				b.Block.Yield = b.body(branch)
			}
		})
		op.Blocks = append(op.Blocks, block)
	}
	return b.Emit(op)
}

// constBool decides a condition over constants, as far as building the IR needs
// it: comparisons and logic on literals. The pass `fold` sees to the rest.
func constBool(v *ir.Value) (value, ok bool) {
	if v.Def == nil {
		return false, false
	}
	op := v.Def
	switch op.Code {
	case lang.OpConst:
		return op.Const.Int != 0, op.Results[0].Type.DType == lang.Bool
	case lang.OpLogicNot:
		x, ok := constBool(op.Args[0])
		return !x, ok
	case lang.OpLogicAnd, lang.OpLogicOr:
		x, okx := constBool(op.Args[0])
		y, oky := constBool(op.Args[1])
		if op.Code == lang.OpLogicAnd {
			return x && y, okx && oky || okx && !x || oky && !y
		}
		return x || y, okx && oky || okx && x || oky && y
	case lang.OpEq, lang.OpNe, lang.OpLt, lang.OpLe, lang.OpGt, lang.OpGe:
		x, y := op.Args[0], op.Args[1]
		if !isConst(x) || !isConst(y) || x.Type.DType.IsFloat() {
			return false, false
		}
		return lang.Compare(op.Code, x.Def.Const.Int, y.Def.Const.Int)
	}
	return false, false
}
