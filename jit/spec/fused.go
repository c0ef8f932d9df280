package spec

import (
	"fmt"
	"slices"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file has kernels that are launched as one. The kernel of the specialisation has the grid and the plan; each kernel that
// is fused into it adds what it computes, its parameters and its dimensions.

// Role is where a fused kernel stands.
type Role uint8

// The roles.
const (
	// Source: what it would store is computed where the others load it.
	Source Role = iota
	// Sink: what it computes of a tensor of the others it computes where they store that.
	Sink
	// Beside: it has the same grid, and each block does its work after that of the others.
	Beside
)

// String is the role in the text form of graphs.
func (r Role) String() string { return [...]string{"source", "sink", "beside"}[r] }

// Fusion is a kernel that is fused into another.
type Fusion struct {
	Role Role
	// Spec is that of the fused kernel, which may have kernels of its own fused into it.
	Spec *Spec
	// Into and From are the tensor that is no longer in memory: its place among the parameters of what the kernel is fused
	// into, with those that were fused before, and among those of Spec. Of Beside there is none.
	Into, From int
	// Groups are of a source that is read in another shape: runs of dimensions of as many elements, outermost first. nil where
	// the shapes are the same.
	Groups []Group
	// Kept is of a sink: the tensor stays in memory, for others read it too.
	Kept bool
	// More are of a sink: other tensors of what the kernel is fused into, or the same again, that it reads. Of a source with Parts: the
	// other parts of what it would store, as operands of what the kernel is fused into.
	More []Shared
	// Same are of a source: tensors that it reads as what it is fused into does, by their places there and among the parameters of Spec. They are
	// one operand, so that one load serves both.
	Same []Common
	// Flat are of a sink that reads the tensor in another shape, and is computed in the tensor's own: the places among the parameters of Spec
	// of what lies in the tensor's order, which the launch sees in the tensor's shape. nil where both shapes are the same.
	Flat []int
	// Along are, of such a sink, the dimensions of what it reads that are dimensions of the tensor, one or several: what is not in Flat is read along those.
	Along []Along
	// Split are its parameters with a dimension that is several of the tensor's. The launch sees these with those dimensions in its place.
	Split []Split
	// Separate are, of a source with Groups, the parameters of what the kernel is fused into with a dimension that becomes several, those of what the source stores. The launch sees
	// these with them in its place.
	Separate []Split
	// Parts are of a sink that reads a part of the tensor, which then stays in memory, by the tensor's dimensions, and of a source of which
	// one operand is a part. nil where all of the tensor is read.
	Parts []Part
	// Expand, of a sink with Parts, says which dimensions of the tensor become several before that; Parts are then of the expanded
	// tensor. nil where the tensor stays as it is.
	Expand []Expanded
	// Rest, of a sink with Parts, is what others read of the tensor; the zero Rest where that is more than a run.
	Rest Rest
}

// Along is a dimension of what a flat sink reads, and those of the tensor that it is, outermost first.
type Along struct {
	Read   int
	Stored []int
}

// Split is a parameter, by its place, and for each of its dimensions those of the tensor of a fusion that it is; none for one that stays as it is.
type Split struct {
	Place int
	Dims  [][]int
}

// Shape is that of the parameter, given its own and the tensor's.
func (x *Split) Shape(own, tensor []int64) []int64 {
	var sizes []int64
	for i, dims := range x.Dims {
		if len(dims) == 0 {
			sizes = append(sizes, own[i])
		}
		for _, d := range dims {
			sizes = append(sizes, tensor[d])
		}
	}
	return sizes
}

// AlongOf gives the dimensions of one shape that are one or several of another of as many elements: runs of both agree, and one dimension
// alone of the former is not 1.
func AlongOf(read, stored []int64) []Along {
	groups, _ := GroupShapes(read, stored)
	some := func(sizes []int64, from int) (at []int) { // those that are not 1
		for i, n := range sizes {
			if n != 1 {
				at = append(at, from+i)
			}
		}
		return at
	}
	var along []Along
	i, k := 0, 0
	for _, g := range groups {
		if r := some(read[i:i+g.Read], i); len(r) == 1 {
			along = append(along, Along{r[0], some(stored[k:k+g.Stored], k)})
		}
		i, k = i+g.Read, k+g.Stored
	}
	return along
}

// Common is a tensor that two kernels read, by its places among the operands of both.
type Common struct{ Into, From int }

// Rest is a run of Count positions, from Begin on, along a dimension of a tensor. What lies beside it nothing reads.
type Rest struct {
	Dim          int
	Begin, Count int64
}

// Expanded is what becomes of a dimension of a tensor for a sink that reads a part of it: Outer runs as long as what the sink reads
// along it (0 where it reads the whole), of the dimensions Dims of what it reads, outermost first. One dimension alone stays as it is.
type Expanded struct {
	Outer int64
	Dims  []int
	// Multiple is known to divide the last of Dims, or the dimension that stays as it is.
	Multiple int64
}

// Several reports a dimension that becomes more than one.
func (e Expanded) Several() bool { return e.Outer > 0 || len(e.Dims) > 1 }

// ExpandBy gives what becomes of the dimensions of a tensor for a sink that reads parts of them in a view of a shape, and the shape that
// the tensor has then; false where a part is no whole run of its dimension.
func ExpandBy(shape, viewShape []int64, parts []Part) (expand []Expanded, expanded []int64, ok bool) {
	for k, p := range parts {
		e := Expanded{Dims: p.Dims, Multiple: 1}
		covered := int64(1)
		for _, d := range p.Dims {
			covered *= viewShape[d]
		}
		switch {
		case len(p.Dims) == 0:
			expanded = append(expanded, shape[k])
		case !p.All:
			if shape[k]%covered != 0 || p.Begin%covered != 0 {
				return nil, nil, false
			}
			e.Outer = shape[k] / covered
			expanded = append(expanded, e.Outer)
		}
		for _, d := range p.Dims {
			expanded = append(expanded, viewShape[d])
		}
		expand = append(expand, e)
	}
	return expand, expanded, true
}

// Shared is one more tensor of a fusion: Fusion's Into, From, Kept and Parts.
type Shared struct {
	Into, From int
	Kept       bool
	Parts      []Part
}

// All are the tensors of a fusion, the first of which is the Fusion's own; none of Beside.
func (f *Fusion) All() []Shared {
	if f.Role == Beside {
		return nil
	}
	return append([]Shared{{f.Into, f.From, f.Kept || f.Role == Sink && f.Parts != nil, f.Parts}}, f.More...)
}

// Part is the part of a dimension that a sink reads: from position Begin on, as the dimensions Dims of what it reads, outermost
// first. All says that it is the whole dimension.
type Part struct {
	Begin int64
	Dims  []int
	All   bool
}

// PartOf says which part of a contiguous tensor of a shape a view shows, if that is a run of each of its dimensions.
func PartOf(shape, viewShape, viewStrides []int64, offset int64) (parts []Part, ok bool) {
	stride, strides := int64(1), make([]int64, len(shape))
	for k := len(shape) - 1; k >= 0; k-- {
		strides[k], stride = stride, stride*shape[k]
	}
	parts = make([]Part, len(shape))
	d := 0
	for k, n := range shape {
		p := &parts[k]
		p.Begin, offset = offset/strides[k], offset%strides[k]
		covered := int64(1)
		for ; d < len(viewShape) && (viewShape[d] == 1 || viewStrides[d] >= strides[k]); d++ {
			if viewShape[d] == 1 {
				continue
			}
			if len(p.Dims) > 0 && viewStrides[p.Dims[len(p.Dims)-1]] != viewShape[d]*viewStrides[d] {
				return nil, false
			}
			p.Dims, covered = append(p.Dims, d), covered*viewShape[d]
		}
		if len(p.Dims) > 0 && viewStrides[p.Dims[len(p.Dims)-1]] != strides[k] || p.Begin+covered > n {
			return nil, false
		}
		p.All = covered == n
	}
	return parts, d == len(viewShape)
}

// Group is a run of dimensions that a kernel reads as one of the same elements, and the run that was stored: how many each has.
type Group struct{ Read, Stored int }

// GroupShapes gives the shortest runs of dimensions in which two shapes of as many elements agree; nil where they are the same
// in each dimension, and false where they have no such runs.
func GroupShapes(read, stored []int64) (groups []Group, ok bool) {
	if slices.Equal(read, stored) {
		return nil, true
	}
	i, j := 0, 0
	for i < len(read) && j < len(stored) {
		g := Group{1, 1}
		m, n := read[i], stored[j]
		i, j = i+1, j+1
		for m != n {
			switch {
			case m < n && i < len(read):
				m, i, g.Read = m*read[i], i+1, g.Read+1
			case m > n && j < len(stored):
				n, j, g.Stored = n*stored[j], j+1, g.Stored+1
			default:
				return nil, false
			}
		}
		groups = append(groups, g)
	}
	if len(groups) == 0 {
		return nil, false
	}
	for ; i < len(read); i++ { // ones
		groups[len(groups)-1].Read++
	}
	for ; j < len(stored); j++ {
		groups[len(groups)-1].Stored++
	}
	return groups, true
}

// Gone are the places of tensors that are no longer in memory, among the parameters of what the kernel is fused into, in order.
func (f *Fusion) Gone() []int {
	var gone []int
	for _, s := range f.All() {
		if !s.Kept && !slices.Contains(gone, s.Into) {
			gone = append(gone, s.Into)
		}
	}
	slices.Sort(gone)
	return gone
}

// Known are the places of tensors that the others know, among the parameters of the fused kernel, in order.
func (f *Fusion) Known() []int {
	var known []int
	for _, s := range f.All() {
		known = append(known, s.From)
	}
	for _, s := range f.Same {
		known = append(known, s.From)
	}
	slices.Sort(known)
	return slices.Compact(known)
}

// Left is what is left of a list without some places, which are in order.
func Left[T any](list []T, gone []int) []T {
	var left []T
	for i, x := range list {
		if _, found := slices.BinarySearch(gone, i); !found {
			left = append(left, x)
		}
	}
	return left
}

// Shift is where a place of a list is when others, which are in order, have gone.
func Shift(place int, gone []int) int {
	n, _ := slices.BinarySearch(gone, place)
	return place - n
}

// How says how the kernel is fused, beside its role and the tensor.
func (f *Fusion) How() string {
	return fmt.Sprint(f.Groups, f.Parts, f.Expand, f.Rest, f.Kept, f.More, f.Flat, f.Along, f.Split, f.Separate, f.Same)
}

// Operand is a parameter of a launch.
type Operand struct {
	*typed.Param
	// Layout is where the elements of a tensor lie; scalars have the zero Layout.
	Layout *Layout
	// Of is the specialisation of the kernel whose parameter it is, and Path where that is: its place among those that are fused into the launch's kernel, and into that of each,
	// outermost first; nil for the launch's own.
	Of   *Spec
	Path []int
	// Flat: the launch sees the tensor in the shape of the one that it is computed with, and not in that of the parameter.
	Flat bool
}

// Held is the type that the elements of a tensor have in memory: the declared one, or that of a copy that the launch reads in its place.
func (o *Operand) Held() lang.DType {
	if o.Layout.As.IsValid() {
		return o.Layout.As
	}
	return o.DType.Resolve(o.Of.Types)
}

// Operands are what a launch passes: the parameters of the kernel, and of those that are fused into it, without the tensors
// that are no longer in memory.
func (s *Spec) Operands() []Operand {
	if s.Cut != nil && len(s.Cut.Of.Fused) > 0 {
		return s.operandsOfHalf()
	}
	var all []Operand
	for i, p := range Params(s.Kernel) {
		all = append(all, Operand{Param: p, Layout: &s.Layouts[i], Of: s})
	}
	for i := range s.Fused {
		f := &s.Fused[i]
		others := f.Spec.Operands()
		for k := range others {
			others[k].Path = append([]int{i}, others[k].Path...)
		}
		for _, k := range f.Flat {
			others[k].Flat = true
		}
		for _, x := range f.Split {
			others[x.Place].Flat = true
		}
		others = Left(others, f.Known())
		if f.Expand != nil {
			all[f.Into].Flat = true
		}
		for _, x := range f.Separate {
			all[x.Place].Flat = true
		}
		all = append(Left(all, f.Gone()), others...)
	}
	return all
}

// Params are those of the operands.
func (s *Spec) Params() []*typed.Param {
	if len(s.Fused) == 0 {
		return Params(s.Kernel)
	}
	var params []*typed.Param
	for _, o := range s.Operands() {
		params = append(params, o.Param)
	}
	return params
}

// Name is the kernel's, with those that are fused into it: sources first, as they are computed first.
func (s *Spec) Name() string {
	name := s.Kernel.Name
	for i := range s.Fused {
		switch f := &s.Fused[i]; f.Role {
		case Source:
			name = f.Spec.Name() + " > " + name
		case Sink:
			name += " > " + f.Spec.Name()
		case Beside:
			name += " | " + f.Spec.Name()
		}
	}
	return name
}

// Kernels is how many kernels a launch computes.
func (s *Spec) Kernels() int {
	n := 1
	if s.Cut != nil && !s.Cut.Behind { // the second launch has the same
		return n
	}
	for i := range s.Fused {
		n += s.Fused[i].Spec.Kernels()
	}
	return n
}

// fusedKey is the key of a fusion, with those of the fusions before it.
type fusedKey struct {
	Key
	role       Role
	into, from int
	how        string
	before     any
}

// keyOfFused names the fusions of a specialisation; nil for none.
func (s *Spec) keyOfFused() any {
	var key any
	for i := range s.Fused {
		f := &s.Fused[i]
		key = fusedKey{f.Spec.Key(), f.Role, f.Into, f.From, f.How(), key}
	}
	return key
}

// Join adds the numbers of the launch that a fused kernel's IR takes: those of the dimensions that renamed gives, by their names
// in the joined IR. into and from translate places among the parameters.
func (l *LaunchDims) Join(part *LaunchDims, renamed map[string]string, into, from func(place int) int) {
	n := len(l.parts)
	l.parts = append(l.parts, part)
	for name, at := range l.Strides {
		at.Tensor = into(at.Tensor)
		l.Strides[name] = at
	}
	for i, place := range l.Views {
		l.Views[i] = into(place)
	}
	for name, as := range renamed {
		if at, ok := part.Strides[name]; ok {
			at.Tensor = from(at.Tensor)
			l.Strides[as] = at
			continue
		}
		if l.ofPart == nil {
			l.ofPart = map[string]partDim{}
		}
		l.ofPart[as] = partDim{n, name}
	}
	for _, place := range part.Views {
		l.Views = append(l.Views, from(place))
	}
}

// partDim is a dimension of a fused kernel, by its name there.
type partDim struct {
	part int
	name string
}
