package jit

import (
	"slices"
	"strconv"
	"strings"

	"tilec/jit/bug"
	"tilec/jit/misuse"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Function is a kernel or a graph as a caller sees it.
type Function struct {
	Name string
	// Kernel or Graph is what it is.
	Kernel *typed.Kernel
	Graph  *typed.Graph
	Types  []*typed.TypeParam
	Consts []*size.Symbol
	Dims   []*size.Symbol
	// Params are the inputs and inouts, in order.
	Params []*typed.GParam
	// Outputs are the results' names, in order.
	Outputs []string
	// Tiles names what can be pinned: tile extents, whole axes that may be cut, warps, stages, occupancy, cluster, split.
	Tiles []string
	// SizeHints and TypeHints are the dimensions and the element types of @sizes.
	SizeHints map[*size.Symbol]int64
	TypeHints map[*typed.TypeParam]lang.DType

	compiler *Compiler
}

// FindFunction finds a kernel or a graph of a program; a *NameError when there
// is none. It has no compiler yet: see Function.On.
func FindFunction(p *typed.Program, name string) (*Function, error) {
	if p == nil {
		return nil, misuse.Unset("FindFunction", "there is no program: Load gives one")
	}
	for _, k := range p.Kernels {
		if k.Name == name {
			return KernelFunction(k), nil
		}
	}
	for _, g := range p.Graphs {
		if g.Name == name {
			return graphFunction(g), nil
		}
	}
	own, imported := FunctionNames(p)
	return nil, &misuse.NameError{What: "kernel or graph", Name: name, Known: append(own, imported...)}
}

// FunctionNames lists the kernels and graphs of a source itself, and those that it imports.
func FunctionNames(p *typed.Program) (own, imported []string) {
	if p == nil || len(p.Modules) == 0 {
		return nil, nil
	}
	root := p.Modules[len(p.Modules)-1].Source
	add := func(name lang.Ident) {
		if name.Span().Source == root {
			own = append(own, name.Name)
		} else {
			imported = append(imported, name.Name)
		}
	}
	for _, k := range p.Kernels {
		add(k.Decl.Name)
	}
	for _, g := range p.Graphs {
		add(g.Decl.Name)
	}
	return own, imported
}

// On is the function as another compiler compiles it, for its device.
func (f *Function) On(c *Compiler) *Function {
	if f == nil {
		return nil
	}
	g := *f
	g.compiler = c
	return &g
}

// KernelFunction shows a kernel as a Function; it has no compiler yet.
func KernelFunction(k *typed.Kernel) *Function {
	if k == nil {
		return &Function{}
	}
	f := &Function{Name: k.Name, Kernel: k, Types: k.TypeParams, Consts: k.Consts, Dims: k.Dims, SizeHints: k.SizeHints, TypeHints: k.TypeHints}
	for _, p := range k.Params {
		t := typed.GType{Kind: typed.GScalar, DType: p.DType}
		if p.IsTensor {
			t.Kind, t.Shape = typed.GTensor, p.Shape
		}
		f.Params = append(f.Params, &typed.GParam{Name: p.Name, Mode: p.Mode, Type: t, Default: p.Default, At: p.At})
	}
	for _, o := range k.Outputs {
		f.Outputs = append(f.Outputs, o.Name)
	}
	taken := f.Names()
	add := func(name string) {
		if !slices.Contains(taken, name) && !slices.Contains(f.Tiles, name) {
			f.Tiles = append(f.Tiles, name)
		}
	}
	for _, a := range k.Axes {
		switch {
		case a.Tile != "":
			add(a.Tile)
		case a.Kind == typed.WholeAxis && !a.IsFree: // how much of it at once
			add(a.Name)
		}
	}
	for _, name := range lang.PlanSettings() {
		add(name)
	}
	return f
}

// CanPin reports a name that a launch may pin: one of Tiles, a whole axis, axes of a kernel's grid or whole ones behind one another, as `h_v`, that the compiler may make one, or the number of a loop,
// which may become one over positions.
func (f *Function) CanPin(name string) bool {
	if f == nil {
		return false
	}
	if slices.Contains(f.Tiles, name) {
		return true
	}
	if f.Kernel == nil {
		return false
	}
	for _, kind := range []typed.AxisKind{typed.GridAxis, typed.WholeAxis} {
		var of []string
		for _, a := range f.Kernel.Axes {
			if a.Kind == kind {
				of = append(of, a.Name)
			}
			if a.Kind == typed.WholeAxis && a.Name == name {
				return true
			}
		}
		for i := range of {
			for j := i + 2; j <= len(of); j++ {
				if name == strings.Join(of[i:j], "_") {
					return true
				}
			}
		}
	}
	_, found := typed.Find(f.Kernel, func(l *typed.For) bool { return l.Index != nil && l.Index.Name == name })
	return found
}

func graphFunction(g *typed.Graph) *Function {
	f := &Function{Name: g.Name, Graph: g, Types: g.TypeParams, Consts: g.Consts, Dims: g.Dims, Params: g.Params, SizeHints: g.SizeHints, TypeHints: g.TypeHints}
	for _, o := range g.Outputs {
		f.Outputs = append(f.Outputs, o.Name)
	}
	return f
}

// Leaf finds the type of a parameter, or of a part of one: `w.blocks[0].bias`.
func (f *Function) Leaf(path string) (typed.GType, bool) {
	if f == nil {
		return typed.GType{}, false
	}
	head, rest := path, ""
	if n := strings.IndexAny(path, ".["); n >= 0 {
		head, rest = path[:n], path[n:]
	}
	for _, p := range f.Params {
		if p.Name == head {
			return member(p.Type, rest)
		}
	}
	return typed.GType{}, false
}

func member(t typed.GType, path string) (typed.GType, bool) {
	if path == "" {
		return t, true
	}
	if inner, ok := strings.CutPrefix(path, "["); ok && t.Kind == typed.GArray {
		number, rest, ok := strings.Cut(inner, "]")
		if n, err := strconv.Atoi(number); !ok || err != nil || n < 0 {
			return t, false
		}
		return member(*t.Elem, rest)
	}
	if inner, ok := strings.CutPrefix(path, "."); ok && t.Kind == typed.GStruct {
		for _, f := range t.Fields {
			rest, ok := strings.CutPrefix(inner, f.Name)
			if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				return member(f.Type, rest)
			}
		}
	}
	return t, false
}

// Names lists everything that a call may give by name.
func (f *Function) Names() []string {
	if f == nil {
		return nil
	}
	var names []string
	for _, p := range f.Params {
		names = append(names, p.Name)
	}
	for _, s := range slices.Concat(f.Dims, f.Consts) {
		names = append(names, s.Name)
	}
	for _, t := range f.Types {
		names = append(names, t.Name)
	}
	return append(names, f.Tiles...)
}

// Bind compiles the function for the types and shapes of its arguments, on the
// module's device, and puts the arguments there. Errors of the arguments are
// *lang.Diagnostic, *NameError or *ArgError; a function or a device that cannot be
// used is a *UseError, a failure of the compiler a *Bug.
//
// No element of a tensor that the function changes, an inout, may be one of another
// argument: inputs do not change while a kernel runs, and no two blocks write one
// element. Such arguments are an *ArgError of ErrOverlap. Tensors may lie between each
// other, as columns of one matrix do; where the compiler cannot tell, it refuses.
func (f *Function) Bind(args Args) (_ *Launch, err error) {
	const call = "Function.Bind"
	if f == nil || f.Kernel == nil && f.Graph == nil {
		return nil, misuse.Unset(call, "the function is nothing that Module.Function gave")
	}
	if f.compiler == nil {
		return nil, misuse.Unset(call, f.Name+" has no compiler: Module.Function and Function.On give one")
	}
	if f.compiler.Device == nil {
		return nil, misuse.Unset(call, f.Name+" has no device to run on: give NewCompiler what OpenDevice gives")
	}
	if err := f.compiler.usable(call); err != nil {
		return nil, err
	}
	l := &Launch{Function: f, device: f.compiler.Device}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	defer bug.Catch(&err, "bind")
	opts, err := f.options(args)
	if err != nil {
		return nil, err
	}
	for _, p := range f.Params {
		v, err := l.argument(p.Name, p.Type, p, args[p.Name])
		if err != nil {
			return nil, err
		}
		l.args = append(l.args, v)
	}
	if f.Kernel != nil {
		l.Program, err = f.compiler.BindKernel(f.Kernel, l.args, opts)
	} else {
		l.Program, err = f.compiler.BindGraph(f.Graph, l.args, opts)
	}
	return l, err
}

// Call runs the function once on arrays in the host's memory and gives its
// outputs by name. Arrays that it takes as inout are changed in place.
func (f *Function) Call(args Args) (map[string]*Array, error) {
	l, err := f.Bind(args)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if err := l.Run(); err != nil {
		return nil, err
	}
	out := map[string]*Array{}
	for _, name := range f.Outputs {
		if out[name], err = l.Read(name); err != nil {
			return nil, err
		}
	}
	for _, p := range f.Params {
		a, ok := args[p.Name].(*Array)
		if p.Mode != lang.InOut || !ok {
			continue
		}
		changed, err := l.Read(p.Name)
		if err != nil {
			return nil, err
		}
		copy(a.Data, changed.Data)
	}
	return out, nil
}
