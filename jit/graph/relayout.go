package graph

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tilec/jit/block"
	"tilec/jit/bug"
	"tilec/jit/build"
	"tilec/jit/compile"
	"tilec/jit/ir"
	"tilec/jit/pass"
	"tilec/jit/plan"
	"tilec/jit/spec"
	"tilec/jit/target"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/load"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file puts launches before those of products whose operands lie where no matrix unit reads them well: each copies an operand to a temporary, with
// the depth of the product innermost, as convolutions of images with their channels first want it (block.Relayouts), or with rows that
// begin at whole lines, where they are too long or too short by some elements for the TMA (block.Misaligned), or of 8 bits as wgmma takes such
// best (block.Narrow). It is the last that is done to a graph, and is
// done to a kernel that is launched by itself too.

const (
	// relayoutStays and relayoutAlways are what the setting `relayout` asks for.
	relayoutStays, relayoutAlways = 1, 2
	// slowerUnlaid is by how much of its time at the full rate a product takes longer where it reads element by element, and
	// busyRate the part of the full rate that it has otherwise: both seen roughly, on an H200.
	slowerUnlaid, busyRate = 2, 0.5
	// copiedRun is how many neighbours of a row a block copies where the row has them: runs begin anywhere, and share their first and last
	// sector with other blocks' runs, which the planner does not see.
	copiedRun = 256
)

// relayout puts copies before the launches that gain by them.
func (b *Bound) relayout(env *compile.Compiler, opts *Options) error {
	t := env.Device.Target()
	if !t.Has(target.TMA) {
		return nil
	}
	changed := false
	var calls []Call
	known := map[spec.Key][]relaid{}
	held := map[copyOf]View{}
	for _, c := range b.Calls {
		key := c.Spec.Key()
		found, seen := known[key]
		if !seen {
			found = relayoutsOf(c.Spec, t)
		}
		temps := len(b.Temps)
		laid, err := b.layAnew(c, found, held, opts.Guard)
		if err != nil {
			return err
		}
		if !seen && predicted(c.Spec, found) && !pays(env, LaidAnew, c.Spec, specsOf(laid)...) {
			b.Temps, laid, found = b.Temps[:temps], []Call{c}, nil
			maps.DeleteFunc(held, func(_ copyOf, v View) bool { return v.Slot.Index >= temps })
		}
		known[key] = found
		calls, changed = append(calls, laid...), changed || found != nil
		for i, o := range c.Spec.Operands() {
			if o.IsTensor && o.Mode != lang.In {
				maps.DeleteFunc(held, func(of copyOf, _ View) bool { return of.slot == c.Tensors[i].Slot })
			}
		}
	}
	if !changed {
		return nil
	}
	b.Calls = calls
	if !opts.Deterministic { // of which no prediction knows all numbers of rows
		b.storeAsRead(env)
	}
	b.live()
	if opts.Dump != nil {
		opts.Dump("relayout", b.Listing())
	}
	return nil
}

// layAnew is a launch behind those that copy what was found of its operands; what another launch has had copied is held.
func (b *Bound) layAnew(c Call, found []relaid, held map[copyOf]View, guard int64) ([]Call, error) {
	var laid []Call
	for _, at := range found {
		copies, err := b.copyAnew(&c, at, held, guard)
		if err != nil {
			return nil, err
		}
		if copies != nil {
			copies.At = c.At
			laid = append(laid, *copies)
		}
	}
	return append(laid, c), nil
}

// Relaid gives the launches of a kernel that is launched by itself, on tensors without gaps, where operands are laid out anew first: the copies, and the kernel as it reads them; nil where there
// are none. Judged says that this is done where it is predicted to take less time than the one launch.
func Relaid(s *spec.Spec, t target.Machine) (launches []*spec.Spec, judged bool, err error) {
	if !t.Has(target.TMA) {
		return nil, false, nil
	}
	found := relayoutsOf(s, t)
	if len(found) == 0 {
		return nil, false, nil
	}
	b, c := &Bound{}, Call{Spec: s}
	for i, o := range s.Operands() {
		v := View{Slot: Slot{Made: true, Index: i}}
		if o.IsTensor {
			v.DType = o.Held()
			for _, d := range o.Shape {
				n, err := d.Eval(o.Of.Value)
				if err != nil {
					return nil, false, err
				}
				v.Shape = append(v.Shape, n)
			}
			v.Strides = tensor.Contiguous(v.Shape)
		}
		c.Tensors = append(c.Tensors, v)
	}
	laid, err := b.layAnew(c, found, map[copyOf]View{}, 0)
	return specsOf(laid), predicted(s, found), err
}

func specsOf(calls []Call) (all []*spec.Spec) {
	for _, c := range calls {
		all = append(all, c.Spec)
	}
	return all
}

// copyOf is what a copy holds: which part of a tensor, and how it lies now. It holds as long as no launch writes the tensor.
type copyOf struct {
	slot Slot
	part string
}

// relaid is an operand of a launch and the order in which it is to lie; nil for its own, with rows at whole lines.
type relaid struct {
	// place is among what the launch passes, param that of the kernel whose operand it is, and path where that is (spec.Operand).
	place       int
	param       *typed.Param
	path, order []int
	// as is the type that the elements are to have, where they are to have another.
	as lang.DType
	// judged: the copy is made where the plan with it is predicted to be faster.
	judged bool
}

// summed reports a kernel that may have a product of operands that relayout has to do with: it sums over several axes at once, or products of f32, rows are misaligned, or
// elements have 8 bits.
func summed(f *ir.Func) bool {
	least := 2
	if slices.ContainsFunc(f.Tensors, func(t *ir.Tensor) bool { return t.ReadOnly() && (t.DType.Bits() == 8 || block.RowsMisaligned(t)) }) {
		least = 1
	}
	found := false
	f.Walk(func(op *ir.Op) bool {
		product := op.Code.Row().Group == lang.GroupContract || op.Code == lang.OpSum && op.Args[0].Def != nil && op.Args[0].Def.Code == lang.OpMul
		found = found || len(op.Over) >= least && (op.Code == lang.OpSum || product) || product && len(op.Over) == 1 && op.Args[0].Type.DType == lang.F32
		return !found
	})
	return found
}

// builtOf is the tile IR of a launch that may be of a kind, after the passes that run before there is a plan; nil of others. An error is for the
// compiler to say.
func builtOf(s *spec.Spec, t target.Machine, kind func(*ir.Func) bool) (*ir.Func, *spec.LaunchDims) {
	f, dims, err := build.Kernel(s.Whole(), t.Name)
	if err != nil {
		return nil, nil
	}
	build.Simplify(f, dims, func(a *ir.Axis) bool { return s.Pins[plan.Parameter(a)] > 0 })
	if !kind(f) || pass.Run(f, pass.Options{Matrix: t.Has(target.MmaSync)}) != nil {
		return nil, nil
	}
	return f, dims
}

// relayoutAsked is what the setting `relayout` asks for, 0 where nothing is said.
func relayoutAsked(s *spec.Spec) int64 {
	if n, ok := s.Pins["relayout"]; ok {
		return n
	}
	return s.Kernel.Hints["relayout"]
}

// predicted reports operands of which the planner says whether their copies pay.
func predicted(s *spec.Spec, found []relaid) bool {
	return relayoutAsked(s) != relayoutAlways && slices.ContainsFunc(found, func(r relaid) bool { return r.judged })
}

// relayoutsOf finds the operands of a launch that are to lie otherwise.
func relayoutsOf(s *spec.Spec, t target.Machine) []relaid {
	asked := relayoutAsked(s)
	if asked == relayoutStays || s.Cut != nil || slices.ContainsFunc(s.Layouts, func(l spec.Layout) bool { return l.Order != nil || l.As.IsValid() }) {
		return nil
	}
	var retyped []*ir.Tensor
	f, dims := builtOf(s, t, func(f *ir.Func) bool {
		retyped = block.Retypable(f) // before passes take away what else the source does with the elements
		return summed(f)
	})
	if f == nil {
		return nil
	}
	sizeOf := func(d *ir.Dim) float64 {
		if d.Known() {
			return float64(d.Value)
		}
		n, err := dims.Size(d, s)
		switch {
		case err != nil:
			return 1
		case s.Deterministic: // one code for all of them
			n = s.Reckoned(n)
		}
		return float64(n)
	}
	// The tensors of the tile IR are the operands in order, views of one not counted: where there are views, nothing is found.
	var operands []int
	all := s.Operands()
	for i, o := range all {
		if o.IsTensor {
			operands = append(operands, i)
		}
	}
	if len(operands) != len(f.Tensors) {
		return nil
	}
	anew, judged := block.Relayouts(f), false
	if len(anew) > 0 && oneDepth(s, t) {
		anew = nil
	}
	mayJudge := s.Vary == nil && !s.Debug
	if len(anew) == 0 && (asked == relayoutAlways || mayJudge) {
		anew, judged = append(oneOfTwo(append(block.Narrow(f, t), block.Across(f, t)...), sizeOf), block.Misaligned(f)...), true
	}
	rowsFit := func(r block.Relayout) bool { // which boxes copy then
		return r.Order == nil || int64(sizeOf(r.Tensor.Shape[r.Order[len(r.Order)-1]]))*int64(r.Tensor.DType.Bits())%(8*block.RowUnit) == 0
	}
	var found []relaid
	for _, r := range anew {
		if slices.ContainsFunc(anew, func(o block.Relayout) bool { return o.Product == r.Product && !rowsFit(o) }) {
			continue
		}
		place := operands[slices.Index(f.Tensors, r.Tensor)]
		if slices.ContainsFunc(found, func(r relaid) bool { return r.place == place }) {
			continue
		}
		o := all[place]
		if r.As.IsValid() && !slices.Contains(retyped, r.Tensor) || o.Flat || len(o.Shape) != len(r.Tensor.Shape) || r.Order != nil && !o.Layout.Contiguous {
			continue
		}
		unsure := asked != relayoutAlways && !relayoutPays(f, &r, t, sizeOf)
		if unsure && (judged || !mayJudge) {
			continue
		}
		found = append(found, relaid{place: place, param: o.Param, path: o.Path, order: r.Order, as: r.As, judged: judged || unsure})
	}
	if !judged && slices.ContainsFunc(found, func(r relaid) bool { return !r.judged }) {
		for i := range found { // a product whose one operand lies well gains little (an H200, 32 images of 32 groups of 8 channels, bf16: 152 us with both laid out anew, 220 with the weights)
			found[i].judged = false
		}
	}
	return found
}

// oneDepth reports a launch of products over several axes that are over one each once those are one that are neighbours everywhere.
func oneDepth(s *spec.Spec, t target.Machine) bool {
	f, dims := builtOf(s, t, summed)
	if f == nil {
		return false
	}
	deep := func() (found bool) {
		f.Walk(func(op *ir.Op) bool {
			found = found || op.Code.Row().Group == lang.GroupContract && len(op.Over) > 1
			return !found
		})
		return found
	}
	if !deep() {
		return false
	}
	build.CollapseSums(f, dims, func(slow, fast *ir.Axis) bool { return slow.Len*fast.Len <= ir.NarrowSize })
	return !deep()
}

// oneOfTwo keeps, of the two operands of a product of which one is enough, that with fewer elements: beside it the product takes the other as it lies.
func oneOfTwo(anew []block.Relayout, sizeOf func(*ir.Dim) float64) []block.Relayout {
	elements := func(r block.Relayout) float64 {
		n := 1.0
		for _, d := range r.Tensor.Shape {
			n *= sizeOf(d)
		}
		return n
	}
	return slices.DeleteFunc(slices.Clone(anew), func(r block.Relayout) bool {
		return r.Either && slices.ContainsFunc(anew, func(o block.Relayout) bool {
			return o.Either && o.Product == r.Product && o.Tensor != r.Tensor && (elements(o) < elements(r) || elements(o) == elements(r) && o.Tensor == o.Product.Args[0].Def.Tensor)
		})
	})
}

// relayoutPays reports a product that takes longer with its operand as it lies than the copy does, as far as can be said without a plan.
func relayoutPays(f *ir.Func, r *block.Relayout, t target.Machine, sizeOf func(*ir.Dim) float64) bool {
	flops, bytes := 2.0, 2*float64(r.Tensor.DType.Bits())/8
	of := ir.Union(r.Product.Args[0].Type, r.Product.Args[1].Type)
	for _, a := range f.Axes {
		switch has := slices.Contains(of, a); {
		case has && a.Kind == ir.Whole:
			flops *= float64(a.Len)
		case has, r.Repeated && a.Kind == ir.Grid: // blocks at other positions have products of their own
			flops *= sizeOf(a.Dim)
		}
	}
	for _, d := range r.Tensor.Shape {
		bytes *= sizeOf(d)
	}
	rate := t.Tensor16
	if r.Tensor.DType.Bits() > 16 {
		rate = t.Tensor32
	}
	return slowerUnlaid*flops/float64(rate*busyRate) > bytes/t.DRAM+t.Launch
}

// copyAnew is the launch that copies an operand of another, which reads the copy from then on; nil where there is a copy already.
func (b *Bound) copyAnew(c *Call, r relaid, held map[copyOf]View, guard int64) (*Call, error) {
	from, order := c.Tensors[r.place], r.order
	if order == nil {
		for d := range from.Shape {
			order = append(order, d)
		}
	}
	k, err := copier(order, r.as.IsValid())
	if err != nil {
		return nil, err
	}
	d := cmp.Or(r.as, from.DType)
	shape := make([]int64, len(order))
	for i, d := range order {
		shape[i] = from.Shape[d]
	}
	strides, elements := tensor.Contiguous(shape), tensor.Elements(shape)
	if r.order == nil {
		strides, elements = linedUp(d, shape)
	}
	of := copyOf{from.Slot, fmt.Sprint(from, order, strides, d)}
	to, copied := held[of]
	if !copied {
		bytes := (d.Bytes(elements) + guard + tempAlign - 1) / tempAlign * tempAlign
		b.Temps = append(b.Temps, Temp{Size: bytes})
		to = View{Slot: Slot{Temp: true, Index: len(b.Temps) - 1}, DType: d, Shape: shape, Strides: strides}
		held[of] = to
	}

	s := &spec.Spec{Kernel: k, Types: map[*typed.TypeParam]lang.DType{k.TypeParams[0]: from.DType}, Consts: map[*size.Symbol]lang.Literal{}, Dims: map[*size.Symbol]int64{},
		Debug: c.Spec.Debug, Wide: c.Spec.Wide, Deterministic: c.Spec.Deterministic, Vary: c.Spec.Vary}
	if r.as.IsValid() {
		s.Types[k.TypeParams[1]] = d
	}
	for i, d := range k.Params[0].Shape {
		s.Dims[d.Symbol()] = from.Shape[i]
	}
	s.Layouts = []spec.Layout{b.layout(&from), b.layout(&to)}
	if inner := len(shape) - 1; r.order == nil && !r.as.IsValid() {
		s.Pins = map[string]int64{fmt.Sprintf("BI%d", inner): min(spec.Bucket(shape[inner]), copiedRun)}
	}

	lies := lie{order: r.order, as: r.as, view: View{Slot: to.Slot, DType: to.DType, Shape: from.Shape, Strides: make([]int64, len(order))}}
	for i, d := range order {
		lies.view.Strides[d] = to.Strides[i]
	}
	b.lay(c, r.place, r.param, r.path, &lies)
	if copied {
		return nil, nil
	}
	return &Call{Spec: s, Tensors: []View{from, to}, copies: &lies}, nil
}

// withLayout is a specialisation with another layout of a parameter of the one at a path. A half of a kernel has those of the kernel that others are fused into, and what is fused is the whole's too.
func withLayout(s *spec.Spec, path []int, param *typed.Param, change func(*spec.Layout)) *spec.Spec {
	one := *s
	if len(path) == 0 {
		one.Layouts = slices.Clone(s.Layouts)
		change(&one.Layouts[slices.Index(spec.Params(s.Kernel), param)])
		return &one
	}
	one.Fused = slices.Clone(s.Fused)
	one.Fused[path[0]].Spec = withLayout(s.Fused[path[0]].Spec, path[1:], param, change)
	if s.Cut != nil {
		of := *s.Cut.Of
		of.Fused = one.Fused
		one.Cut = &spec.Cut{Of: &of, Behind: s.Cut.Behind}
	}
	return &one
}

// linedUp gives strides with which the rows of a tensor begin at whole lines of memory, and how many elements that takes.
func linedUp(d lang.DType, shape []int64) (strides []int64, elements int64) {
	const line = 128
	padded, inner := slices.Clone(shape), len(shape)-1
	each := line / int64(d.Size())
	padded[inner] = (shape[inner] + each - 1) / each * each
	return tensor.Contiguous(padded), tensor.Elements(padded)
}

var (
	copiersLock sync.Mutex
	copiers     = map[string]*typed.Kernel{}
)

// copier is the kernel that copies a tensor whose dimensions then lie in an order, and whose elements may have another type.
func copier(order []int, converts bool) (*typed.Kernel, error) {
	copiersLock.Lock()
	defer copiersLock.Unlock()
	key := fmt.Sprint(order, converts)
	if k := copiers[key]; k != nil {
		return k, nil
	}
	dims, at := make([]string, len(order)), make([]string, len(order))
	for i := range order {
		dims[i], at[i] = fmt.Sprintf("D%d", i), fmt.Sprintf("i%d", i)
	}
	turned := func(xs []string) string {
		out := make([]string, len(order))
		for i, d := range order {
			out[i] = xs[d]
		}
		return strings.Join(out, ", ")
	}
	types, made, as := "T: any", "T", ""
	if converts {
		types, made, as = "T: any, U: any", "U", " as U"
	}
	text := fmt.Sprintf("kernel relayout<%s>(x: T[%s]) -> y: %s[%s] {\n    y[%s] = x[%s]%s\n}\n",
		types, strings.Join(dims, ", "), made, turned(dims), turned(at), strings.Join(at, ", "), as)
	p, ds := (&load.Loader{}).Load("relayout.tile", []byte(text))
	if len(ds) > 0 || len(p.Kernels) != 1 {
		return nil, bug.New("bind", "%s does not compile: %v", text, ds)
	}
	copiers[key] = p.Kernels[0]
	return p.Kernels[0], nil
}
