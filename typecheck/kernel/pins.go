package kernel

import (
	"maps"
	"slices"
	"strings"

	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file reads what a source takes from the planner: @warps(8), @target(sm_90a, BM = 128, split(k, 2)), @split(k, 4).

// checkSetting reports a number that a setting cannot be, with one that it can. What one machine has is for the planner to say.
func checkSetting(c *rules.Checker, l lang.Setting, at lang.Span, n int64) bool {
	f := l.Check(n)
	switch {
	case f == nil:
		return true
	case n < 1:
		c.Errorf(lang.ErrAttribute, at, "@%s is %d; the least is 1", l.Name, n)
	case f.Next > 0:
		c.Errorf(lang.ErrAttribute, at, "@%s is %d, which is no power of two", l.Name, n).
			Replace(at, size.Const(f.Fits).String(), "use %d or %d", f.Fits, f.Next)
	default:
		c.Errorf(lang.ErrAttribute, at, "@%s is %d: at most %d %s are possible, %d fewer", l.Name, n, l.Most, l.Unit, n-l.Most).
			Replace(at, size.Const(f.Fits).String(), "use %d", f.Fits)
	}
	return false
}

// pinValue reads `@warps(8)`.
func pinValue(c *rules.Checker, s *rules.Scope, a *lang.Attr, l lang.Setting) (int64, bool) {
	if len(a.Args) != 1 || a.Args[0].Name != nil {
		c.Errorf(lang.ErrAttribute, a.Place, "@%s takes one number, as in `@%s(4)`", l.Name, l.Name)
		return 0, false
	}
	lit, ok := c.LiteralOf(s, a.Args[0].Value, lang.I32, "the argument of @"+l.Name)
	if !ok {
		return 0, false
	}
	return lit.Int, checkSetting(c, l, a.Args[0].Place, lit.Int)
}

// targetRule reads `@target(sm_90a, BM = 128, warps = 8)`. Extents are known
// when the body has been typed: see targetExtents.
func targetRule(c *rules.Checker, s *rules.Signature, k *typed.Kernel) rules.AttrRule {
	return func(a *lang.Attr) {
		name, ok := (*lang.NameExpr)(nil), false
		if len(a.Args) > 0 && a.Args[0].Name == nil {
			name, ok = a.Args[0].Value.(*lang.NameExpr)
		}
		if !ok || len(a.Args) < 2 {
			c.Errorf(lang.ErrAttribute, a.Place, "@target takes a target and what holds for it, as in `@target(sm_90a, BM = 128, warps = 8)`")
			return
		}
		if targets := target.Names(); !slices.Contains(targets, name.Name) {
			r := c.Errorf(lang.ErrAttribute, name.Place, "unknown target %s: known are %s", name.Name, strings.Join(targets, ", ")).
				Suggest(name.Place, name.Name, targets)
			for _, t := range targets {
				if strings.HasPrefix(t, name.Name) { // sm_90, of which there is only sm_90a
					r.Replace(name.Place, t, "did you mean `%s`?", t)
				}
			}
			return
		}
		for _, t := range k.Targets {
			if t.Target == name.Name {
				c.Errorf(lang.ErrAttribute, name.Place, "@target(%s) is given twice", name.Name).LabelAt(t.At, "first here").
					Help("write all that holds for %s in one", name.Name)
				return
			}
		}
		t := typed.TargetPins{Target: name.Name, At: a.Place}
		seen := map[string]lang.Span{}
		for _, arg := range a.Args[1:] {
			if isSplit(arg) { // its axis is declared in the body: see splits
				continue
			}
			if arg.Name == nil {
				c.Errorf(lang.ErrAttribute, arg.Place, "what holds for %s has a name, as in `BM = 128` or `warps = 8`", name.Name)
				continue
			}
			if old, dup := seen[arg.Name.Name]; dup {
				c.Errorf(lang.ErrAttribute, arg.Name.Place, "%s is given twice", arg.Name.Name).LabelAt(old, "first here")
				continue
			}
			seen[arg.Name.Name] = arg.Name.Place
			lit, ok := c.LiteralOf(s.Scope, arg.Value, lang.I32, arg.Name.Name)
			if !ok {
				continue
			}
			pin, isSetting := lang.FindSetting(arg.Name.Name, lang.InTarget)
			switch {
			case isSetting && pin.Takes == lang.TakesNumber:
				ok = checkSetting(c, pin, arg.Value.Span(), lit.Int)
			case lit.Int < 1:
				c.Errorf(lang.ErrTune, arg.Value.Span(), "the extent %d of %s; the least is 1", lit.Int, arg.Name.Name)
				ok = false
			}
			if ok {
				t.Pins = append(t.Pins, typed.Pin{Name: arg.Name.Name, Value: lit.Int, At: arg.Name.Place})
			}
		}
		k.Targets = append(k.Targets, t)
	}
}

// targetExtents reports pins of @target that are the extent of no axis.
func (b *bodyChecker) targetExtents() {
	known := map[string]bool{}
	for _, l := range lang.Settings(lang.InTarget) {
		if l.Takes == lang.TakesNumber {
			known[l.Name] = true
		}
	}
	for _, a := range b.Kernel.Axes {
		switch {
		case a.Tile != "":
			known[a.Tile] = true
		case a.Kind == typed.WholeAxis: // how much of it at once
			known[a.Name] = true
		}
	}
	for _, t := range b.Kernel.Targets {
		for _, p := range t.Pins {
			if !known[p.Name] {
				b.Errorf(lang.ErrTune, p.At, "%s is the extent of no axis, and nothing else that can be pinned", p.Name).
					Suggest(p.At, p.Name, slices.Sorted(maps.Keys(known))).Note("it may be %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
			}
		}
	}
}

// isSplit reports the split(k, 4) of `@target(sm_90a, split(k, 4))`.
func isSplit(arg lang.Arg) bool {
	call, ok := arg.Value.(*lang.CallExpr)
	if !ok || arg.Name != nil {
		return false
	}
	name, ok := call.Fn.(*lang.NameExpr)
	return ok && name.Name == "split"
}

// splits reads `@split(k, 4)` and `@target(sm_90a, split(k, 4))`, when the axes of the body are known.
func (b *bodyChecker) splits(d *lang.KernelDecl) {
	seen := map[string]lang.Span{}
	for _, a := range d.Attrs {
		switch a.Name.Name {
		case "split":
			b.split(seen, "", a.Place, a.Args)
		case "target":
			if !slices.ContainsFunc(b.Kernel.Targets, func(t typed.TargetPins) bool { return t.At == a.Place }) {
				continue // of no target, or of one that has been
			}
			for _, arg := range a.Args[1:] {
				if isSplit(arg) {
					b.split(seen, a.Args[0].Value.(*lang.NameExpr).Name, arg.Place, arg.Value.(*lang.CallExpr).Args)
				}
			}
		}
	}
}

// split reads one of them: an axis, and how many blocks share it.
func (b *bodyChecker) split(seen map[string]lang.Span, target string, place lang.Span, args []lang.Arg) {
	name, ok := (*lang.NameExpr)(nil), false
	if len(args) == 2 && args[0].Name == nil && args[1].Name == nil {
		name, ok = args[0].Value.(*lang.NameExpr)
	}
	if !ok {
		b.Errorf(lang.ErrAttribute, place, "@split takes an axis and a number of blocks, as in `@split(k, 4)`")
		return
	}
	key := target + " " + name.Name
	if old, dup := seen[key]; dup {
		b.Errorf(lang.ErrAttribute, place, "%s is split twice", name.Name).LabelAt(old, "first here")
		return
	}
	seen[key] = place
	lit, ok := b.LiteralOf(b.scope.File().Scope, args[1].Value, lang.I32, "the number of blocks")
	if !ok {
		return
	}
	limit, _ := lang.FindSetting("split", lang.OnKernel)
	if at := args[1].Place; lit.Int < 1 {
		b.Errorf(lang.ErrAttribute, at, "@split is over %d blocks; the least is 1", lit.Int)
		return
	} else if most := limit.Most; lit.Int > most {
		b.Errorf(lang.ErrAttribute, at, "@split is over %d blocks: a cluster, whose blocks reach each other's memory, has at most %d, %d fewer", lit.Int, most, lit.Int-most).
			Replace(at, size.Const(most).String(), "use %d", most).
			Note("for more parts, make each of them a row of a tensor with an axis of the grid, and reduce the rows in a second kernel")
		return
	}
	found := false
	grid := (*typed.Axis)(nil)
	names := map[string]bool{}
	for _, x := range b.Kernel.Axes {
		switch {
		case x.Kind == typed.GridAxis:
			if x.Name == name.Name {
				grid = x
			}
		case x.Scalar:
		default:
			names[x.Name] = true
			if x.Name == name.Name {
				found = true
				b.Kernel.Splits = append(b.Kernel.Splits, typed.Split{Axis: x, Blocks: lit.Int, At: place, Target: target})
			}
		}
	}
	switch {
	case found:
	case grid != nil:
		b.Errorf(lang.ErrAttribute, name.Place, "%s is an axis of the grid, which blocks share already", name.Name).LabelAt(grid.At, "declared here").
			Help("split an axis that one block goes through: a `for`, an `axis`, or one that a formula reduces over")
	default:
		b.Errorf(lang.ErrAttribute, name.Place, "there is no axis %s to split", name.Name).Suggest(name.Place, name.Name, slices.Sorted(maps.Keys(names)))
	}
}

// kernelAttrs reads the attributes of a kernel.
func kernelAttrs(c *rules.Checker, k *typed.Kernel, d *lang.KernelDecl, s *rules.Signature) {
	rules := map[string]rules.AttrRule{
		"approx":    c.NoArgs(func() { k.Approx = true }),
		"precision": c.WordArg(lang.Precisions(), func(w string) { k.Precision, _ = lang.Precision(w) }),
		"sizes":     c.SizesRule(s, k.SizeHints, k.TypeHints),
		"target":    targetRule(c, s, k),
		"split":     func(*lang.Attr) {}, // its axis is declared in the body: see splits
	}
	for _, l := range lang.Settings(lang.OnKernel) {
		if l.Takes != lang.TakesNumber {
			continue
		}
		rules[l.Name] = func(a *lang.Attr) {
			if n, ok := pinValue(c, s.Scope, a, l); ok {
				k.Hints[l.Name], k.HintAt[l.Name] = n, a.Place
			}
		}
	}
	c.Attributes(d.Attrs, "a kernel", lang.OnKernel, rules)
}
