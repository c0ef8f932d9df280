package main

import (
	"fmt"
	"strings"

	"tilec/cmd/tilec/report"
	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// laidOut is values that have one layout over the same axes.
type laidOut struct {
	names  []string
	axes   []*ir.Axis
	layout layout.Layout
}

// viewLayouts draws each layout that values of a block have, and those in which products take operands from registers and results are stored, once.
func viewLayouts(w *reporting, x *reportedLaunch) (report.Part, error) {
	if x.decided == nil {
		return report.Part{Missing: w.notGPU()}, nil
	}
	var part report.Part
	for _, l := range layoutsOf(x.decided) {
		picture := report.Layout(l.layout, l.axes)
		picture.Title, picture.About = strings.Join(l.names, ", "), l.layout.String()
		part.Pictures = append(part.Pictures, picture)
	}
	if part.Pictures == nil {
		part.Missing = "Threads of the kernel hold scalars alone."
	}
	return part, nil
}

// layoutsOf are the layouts of a block program, in the order of the values that have them.
func layoutsOf(p *block.Program) []*laidOut {
	var all []*laidOut
	known := map[string]*laidOut{}
	add := func(name string, axes []*ir.Axis, l layout.Layout) {
		if len(axes) == 0 || l.Regs() == 0 {
			return
		}
		key := fmt.Sprint(l)
		for _, a := range axes {
			key += fmt.Sprintf(" %s %d", a.Name, a.Extent)
		}
		of := known[key]
		if of == nil {
			of = &laidOut{axes: axes, layout: l}
			known[key] = of
			all = append(all, of)
		}
		of.names = append(of.names, name)
	}
	home := func(v *ir.Value) {
		if l, ok := p.Homes[v]; ok {
			add(fmt.Sprintf("%s %s", block.ValueName(v), v.Type), v.Type.Axes, l)
		}
	}
	p.Func.Walk(func(op *ir.Op) bool {
		if c := p.Products[op]; c != nil && c.MMA != nil {
			for arg, v := range op.Args[:2] {
				if !c.Wgmma {
					add(fmt.Sprintf("%s as an operand of %s", block.ValueName(v), op.Code), v.Type.Axes, c.FragmentLayout(arg))
				}
			}
		}
		switch {
		case op.Code == lang.OpStore:
			add(op.Tensor.Name+" as it is stored", block.IndexAxes(op), p.StoreLayout(op))
		case op.Code.IsAtomic():
			add(op.Tensor.Name+" as atomics change it", block.IndexAxes(op), p.AtomicLayout(op))
		}
		if !p.OnDemand(op) {
			for _, v := range op.Results {
				home(v)
			}
		}
		for _, b := range op.Blocks {
			for _, v := range b.Params {
				home(v)
			}
		}
		return true
	})
	return all
}
