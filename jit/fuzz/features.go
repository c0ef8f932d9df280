package fuzz

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"tilec/jit"
	"tilec/jit/build"
	"tilec/jit/ir"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file says what a program is made of, so that a session can report how
// often each part of the language was generated, and findings can be told apart.

// Features lists what a case has, each part once, as "group name": operations,
// element types, forms of axes and accesses, attributes, inputs.
func Features(cs *Case) []string {
	if len(cs.Trials) == 0 || cs.isChain() {
		return graphFeatures(cs)
	}
	k, p := load(cs.Source)
	if p != nil {
		return nil
	}
	has := map[string]bool{}
	for _, a := range k.Decl.Attrs {
		has["attribute "+a.Name.Name] = true
	}
	if len(k.Decl.Tunes) > 0 {
		has["attribute tune"] = true
	}
	if len(k.TypeParams) > 0 {
		has["attribute generic"] = true
	}
	if len(k.Consts) > 0 {
		has["attribute const"] = true
	}
	for _, r := range cs.Trials {
		has["input "+string(r.Style)] = true
		for name := range r.Pins {
			if _, known := lang.FindSetting(name, lang.AtLaunch); !known {
				name = "extent"
			}
			has["pin "+name] = true
		}
	}
	fs := irOf(k, cs.Trials[0])
	if len(fs) > 1 {
		has["formula of several parts"] = true
	}
	for _, f := range fs {
		featuresOf(f, has)
	}
	return slices.Sorted(maps.Keys(has))
}

// graphFeatures are the parts of graphs that a case without launches has, and the kernels that it calls.
func graphFeatures(cs *Case) []string {
	p, ds := jit.Load("fuzz.tile", []byte(cs.Source), nil)
	if len(ds) > 0 {
		return nil
	}
	has := map[string]bool{}
	for _, g := range p.Graphs {
		typed.Walk(g, func(n typed.Node) bool {
			name := strings.TrimPrefix(fmt.Sprintf("%T", n), "*typed.")
			if rest, ok := strings.CutPrefix(name, "G"); ok && rest != "raph" {
				has["graph "+strings.ToLower(rest)] = true
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(has))
}

// featuresOf adds what the tile IR of a launch has.
func featuresOf(f *ir.Func, has map[string]bool) {
	for _, a := range f.Axes {
		has["axis "+axisForm(a)] = true
	}
	f.Walk(func(op *ir.Op) bool {
		has["operation "+op.Code.String()] = true
		for _, v := range op.Results {
			has["type "+v.Type.DType.String()] = true
		}
		switch {
		case op.Tensor != nil:
			has["access "+accessForm(op)] = true
			if strings.Contains(op.Tensor.Name, ".") {
				has["access view"] = true
			}
		case op.Code.Row().Group == lang.GroupContract:
			has["contraction "+op.Args[0].Type.DType.String()] = true
		}
		return true
	})
}

// irOf is the tile IR of a kernel's launches, before any pass; nil where it has none.
func irOf(k *typed.Kernel, r Trial) (fs []*ir.Func) {
	defer func() {
		if recover() != nil {
			fs = nil // the check of the program meets that, too, and tells
		}
	}()
	opts, err := r.options(k)
	if err != nil {
		return nil
	}
	spec, err := jit.Specialise(k, opts)
	if err != nil {
		return nil
	}
	for _, launch := range spec.Launches() {
		f, _, err := build.IR(launch)
		if err != nil {
			return nil
		}
		fs = append(fs, f)
	}
	return fs
}

func axisForm(a *ir.Axis) string {
	form := a.Kind.String()
	switch {
	case a.Ranges != nil:
		form += " ranges"
	case a.Scalar:
		form += " scalar"
	case a.Dim == nil:
		form += " free"
	case a.Kind == ir.Whole && a.Dim.Known() && a.Len < a.Dim.Value:
		form += " part"
	case len(a.Choices) == 1:
		form += " pinned"
	}
	return form
}

// accessForm is how an operation reaches its tensor.
func accessForm(op *ir.Op) string {
	var words []string
	for _, x := range op.Indices() {
		switch {
		case x.Def == nil: // a position of a loop, or a parameter
			words = append(words, "scalar")
		case x.Def.Code == lang.OpLoad:
			words = append(words, "gather")
		case x.Def.Code == lang.OpIndex:
		case x.Type.IsScalar():
			words = append(words, "scalar")
		default:
			words = append(words, "computed")
		}
	}
	if op.Else() != nil {
		words = append(words, "else")
	}
	slices.Sort(words)
	return strings.Join(append([]string{op.Code.String()}, slices.Compact(words)...), " ")
}

// plumbing are the operations that nearly every program has.
var plumbing = map[lang.Op]bool{lang.OpConst: true, lang.OpFull: true, lang.OpIndex: true, lang.OpSize: true, lang.OpLoad: true, lang.OpStore: true}

// causeOf tells findings apart: the check that failed, and the operations at
// the place that it names, or those of the whole program.
func causeOf(p *Problem, cs *Case) string {
	words := []string{string(p.Kind)}
	if p.Kind == Hang { // to look at the program could hang again
		return words[0]
	}
	if p.Kind != Wrong {
		text := p.Text
		if _, found, ok := strings.Cut(text, "the emulator found:"); ok {
			text = found
		}
		letters := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
		letters = slices.DeleteFunc(letters, func(w string) bool { return len(w) < 2 || w == "fuzz" || w == "tile" })
		words = append(words, letters[:min(len(letters), 8)]...)
	}
	line := 0
	if _, at, ok := strings.Cut(p.Text, "fuzz.tile:"); ok {
		fmt.Sscan(at, &line)
	}
	if ops := operations(cs, line); len(ops) > 0 {
		words = append(words, "in", strings.Join(ops, ", "))
	}
	return strings.Join(words, " ")
}

// operations are those of a case's source line, of all lines when there are
// none there; among them those that are more than elementwise, if there are any.
func operations(cs *Case, line int) []string {
	if len(cs.Trials) == 0 {
		return nil
	}
	k, p := load(cs.Source)
	if p != nil {
		return nil
	}
	here, all := map[string]bool{}, map[string]bool{}
	for _, f := range irOf(k, cs.Trials[0]) {
		f.Walk(func(op *ir.Op) bool {
			if plumbing[op.Code] {
				return true
			}
			all[op.Code.String()] = true
			if op.At.IsValid() {
				if n, _ := op.At.Position(); n == line {
					here[op.Code.String()] = true
				}
			}
			return true
		})
	}
	if len(here) > 0 {
		all = here
	}
	names := slices.Sorted(maps.Keys(all))
	if structural := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		op, _ := lang.OpByName(name)
		return op.Row().Elementwise
	}); len(structural) > 0 {
		return structural
	}
	return names
}
