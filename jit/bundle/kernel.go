package bundle

import (
	"fmt"
	"slices"

	"tilec/jit/backend"
	"tilec/jit/compile"
	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/jit/target"
)

// Refusal says why a kernel cannot be launched by what a manifest tells.
type Refusal struct{ Reason string }

// Error is the reason.
func (r *Refusal) Error() string { return r.Reason }

func refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// About describes a kernel that has no launches yet.
func About(s *spec.Spec) Kernel {
	k := Kernel{Name: s.Kernel.Name, Sizes: map[string]int64{}, Types: map[string]string{}, Constants: map[string]string{}}
	for d, n := range s.Dims {
		k.Sizes[d.Name] = n
	}
	for p, d := range s.Types {
		k.Types[p.Name] = d.String()
	}
	for c, v := range s.Consts {
		k.Constants[c.Name] = fmt.Sprint(v.Int)
		if v.DType.IsFloat() {
			k.Constants[c.Name] = fmt.Sprint(v.Float)
		}
	}
	return k
}

// launchOf describes a launch of a lowered kernel. The error is a *Refusal where no manifest can say how to launch the kernel.
func launchOf(s *spec.Spec, l *compile.Lowered) (Launch, error) {
	m := l.Code.PTX
	if m == nil {
		return Launch{}, refuse("its target takes no PTX")
	}
	switch {
	case l.Func.HasDebug():
		return Launch{}, refuse("it prints or asserts, which only tilec can show: build it without")
	case l.ByScalars():
		return Launch{}, refuse("scalars of a launch decide its grid, which a manifest cannot tell")
	}
	if err := l.CheckLaunch(s); err != nil {
		return Launch{}, err
	}
	w := &writer{spec: s, lowered: l}
	sizes := w.sizes()
	if w.err != nil {
		return Launch{}, w.err
	}
	out := Launch{
		Entry: m.Entry, Shared: int64(m.Shared), Parameters: []Parameter{},
		Block: [3]int64{int64(m.Threads), 1, 1}, Cluster: [3]int64{int64(max(m.Cluster, 1)), 1, 1},
	}
	if l.Func.HasRanges() {
		return Launch{}, refuse("tensors decide where its blocks stand, which a manifest cannot tell")
	}
	blocks := int64(1)
	for _, a := range m.Grid {
		axis := Axis{Name: a.Name, Size: sizes(a.Dim), Extent: a.Extent}
		out.Axes = append(out.Axes, axis)
		blocks *= (axis.Size + axis.Extent - 1) / axis.Extent
	}
	launched := m.Blocks(sizes)
	out.Grid, out.Most = [3]int64{launched, 1, 1}, int64(m.Most)
	switch scratch, atOnce := m.ScratchShare(blocks, backend.ScratchLimit); {
	case launched == 0:
		return out, refuse("it has no block to launch for these sizes")
	case launched > target.MaxBlocks:
		return out, refuse("it has %d blocks for these sizes, where a launch has at most %d: give the axes of its grid larger extents", launched, target.MaxBlocks)
	case scratch > 0 && atOnce < launched:
		return out, refuse("its scratch memory has room for %d of its %d blocks, and it would take several launches: give fewer rows", atOnce, launched)
	default:
		w.scratch = scratch
	}
	if err := w.parameters(&out, m.Params); err != nil {
		return out, err
	}
	for _, t := range m.Maps {
		shape := t.Shape(sizes)
		i := slices.IndexFunc(m.Params, func(p ir.Param) bool { return p.Kind == ir.ParamPointer && p.Tensor == t.Tensor })
		if i < 0 {
			return out, refuse("it copies by a tensor map of %s, which is no parameter", t.Tensor.Name)
		}
		out.Parameters = append(out.Parameters, Parameter{
			Name: t.Name, Kind: KindTensorMap, Size: 128, Align: 64,
			Map: &TensorMap{Tensor: out.Parameters[i].Name, ElementBytes: int64(t.Tensor.DType.Size()), Dims: shape.Dims, Strides: shape.Strides, Box: shape.Box, Swizzle: int64(t.Swizzle), TF32: t.TF32},
		})
	}
	return out, w.err
}

// writer has what the parameters of a launch are described by.
type writer struct {
	spec    *spec.Spec
	lowered *compile.Lowered
	scratch int64
	err     error
}

// sizes gives dimensions and strides by value.
func (w *writer) sizes() func(*ir.Dim) int64 {
	strides := map[*ir.Dim]bool{}
	for _, p := range w.lowered.Code.PTX.Params {
		if p.Kind == ir.ParamStride {
			strides[p.Dim] = true
		}
	}
	var shapes [][]int64
	for _, p := range w.spec.Params() {
		var shape []int64
		for _, s := range p.Shape {
			n, err := s.Eval(w.spec.Value)
			w.keep(err)
			shape = append(shape, n)
		}
		shapes = append(shapes, shape)
	}
	return func(d *ir.Dim) int64 {
		if d.Known() {
			return d.Value
		}
		var n int64
		var err error
		if strides[d] {
			n, err = w.lowered.Stride(d, shapes)
		} else {
			n, err = w.lowered.Size(d, w.spec)
		}
		w.keep(err)
		return n
	}
}

// keep keeps the first error.
func (w *writer) keep(err error) {
	if w.err == nil {
		w.err = err
	}
}

// parameters describes those that the kernel declares, but for tensor maps.
func (w *writer) parameters(out *Launch, params []ir.Param) error {
	places, all := w.lowered.Pointers(w.spec), w.spec.Params()
	fills, sizes := w.spec.Fills(), w.sizes()
	tensors := 0
	for _, p := range params {
		var q Parameter
		switch p.Kind {
		case ir.ParamPointer:
			// A view of other elements is a parameter of its own, with the address of the tensor that it is a view of.
			of := all[places[tensors]]
			tensors++
			q = Parameter{Name: of.Name, Kind: KindTensor, Mode: of.Mode.String(), DType: of.DType.Resolve(w.spec.Types).String(), Shape: []int64{}, Align: 16}
			n := int64(1)
			for _, s := range of.Shape {
				size, err := s.Eval(w.spec.Value)
				w.keep(err)
				q.Shape = append(q.Shape, size)
				n *= size
			}
			q.Bytes = of.DType.Resolve(w.spec.Types).Bytes(n)
			q.Zero = slices.Contains(fills, of.Name)
		case ir.ParamScalar:
			d := p.Scalar.Type.DType
			q = Parameter{Name: p.Scalar.Name, Kind: KindScalar, DType: d.String()}
		case ir.ParamDim, ir.ParamStride:
			q = Parameter{Name: p.Dim.Name, Kind: KindConstant, Value: sizes(p.Dim)}
		case ir.ParamScratch:
			q = Parameter{Name: "scratch", Kind: KindScratch, Bytes: w.scratch, Align: 256}
		case ir.ParamFirst:
			q = Parameter{Name: "first", Kind: KindConstant}
		default:
			return refuse("it takes a parameter that no manifest describes")
		}
		q.Size = int64(p.Bytes())
		out.Parameters = append(out.Parameters, q)
	}
	return w.err
}
