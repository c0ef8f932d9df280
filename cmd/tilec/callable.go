package main

import (
	"fmt"
	"strconv"
	"strings"

	"tilec/lang"
	"tilec/typecheck"
)

// callable is a kernel or a graph, as the command line sees both.
type callable struct {
	name    string
	kernel  *typecheck.Kernel
	graph   *typecheck.Graph
	types   []*typecheck.TypeParam
	consts  []*typecheck.Symbol
	dims    []*typecheck.Symbol
	params  []*typecheck.GParam
	outputs []string
	// tiles names what can be pinned.
	tiles []string
	// hints are the dimensions of @sizes.
	hints map[*typecheck.Symbol]int64
}

// findCallable finds a kernel or graph by name.
func findCallable(p *typecheck.Program, name string) (*callable, error) {
	for _, k := range p.Kernels {
		if k.Name == name {
			return kernelCallable(k), nil
		}
	}
	for _, g := range p.Graphs {
		if g.Name == name {
			return graphCallable(g), nil
		}
	}
	names := runnable(p)
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no kernel or graph %s: the file declares none", name)
	}
	if near := lang.Nearest(name, names); near != "" {
		return nil, fmt.Errorf("there is no kernel or graph %s: did you mean %s?", name, near)
	}
	return nil, fmt.Errorf("there is no kernel or graph %s: there are %s", name, strings.Join(names, ", "))
}

func kernelCallable(k *typecheck.Kernel) *callable {
	c := &callable{name: k.Name, kernel: k, types: k.TypeParams, consts: k.Consts, dims: k.Dims, tiles: tileNames(k), hints: k.SizeHints}
	for _, p := range k.Params {
		t := typecheck.GType{Kind: typecheck.GScalar, DType: p.DType}
		if p.IsTensor {
			t.Kind, t.Shape = typecheck.GTensor, p.Shape
		}
		c.params = append(c.params, &typecheck.GParam{Name: p.Name, Mode: p.Mode, Type: t, Default: p.Default, At: p.At})
	}
	for _, o := range k.Outputs {
		c.outputs = append(c.outputs, o.Name)
	}
	return c
}

func graphCallable(g *typecheck.Graph) *callable {
	c := &callable{name: g.Name, graph: g, types: g.TypeParams, consts: g.Consts, dims: g.Dims, params: g.Params, hints: g.SizeHints}
	for _, o := range g.Outputs {
		c.outputs = append(c.outputs, o.Name)
	}
	return c
}

// tileNames are what can be pinned of a kernel's plan: its extents, warps and stages.
func tileNames(k *typecheck.Kernel) []string {
	var names []string
	for _, a := range k.Axes {
		if a.Tile != "" {
			names = append(names, a.Tile)
		}
	}
	return append(names, "warps", "stages")
}

// leaf finds the type of a parameter, or of a part of one: `w.blocks[0].bias`.
func (c *callable) leaf(path string) (typecheck.GType, bool) {
	head, rest := path, ""
	if n := strings.IndexAny(path, ".["); n >= 0 {
		head, rest = path[:n], path[n:]
	}
	for _, p := range c.params {
		if p.Name == head {
			return part(p.Type, rest)
		}
	}
	return typecheck.GType{}, false
}

func part(t typecheck.GType, path string) (typecheck.GType, bool) {
	if path == "" {
		return t, true
	}
	if inner, ok := strings.CutPrefix(path, "["); ok && t.Kind == typecheck.GArray {
		number, rest, ok := strings.Cut(inner, "]")
		if n, err := strconv.Atoi(number); !ok || err != nil || n < 0 {
			return t, false
		}
		return part(*t.Elem, rest)
	}
	if inner, ok := strings.CutPrefix(path, "."); ok && t.Kind == typecheck.GStruct {
		for _, f := range t.Fields {
			rest, ok := strings.CutPrefix(inner, f.Name)
			if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				return part(f.Type, rest)
			}
		}
	}
	return t, false
}

// names lists all that the command line may give.
func (c *callable) names() []string {
	var names []string
	for _, p := range c.params {
		names = append(names, p.Name)
	}
	for _, s := range append(append([]*typecheck.Symbol{}, c.dims...), c.consts...) {
		names = append(names, s.Name)
	}
	for _, t := range c.types {
		names = append(names, t.Name)
	}
	return append(names, c.tiles...)
}
