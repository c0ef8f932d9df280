package rules

import (
	"maps"
	"slices"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// AttrRule handles one attribute of a declaration.
type AttrRule func(*lang.Attr)

// Attributes checks the attributes of a declaration against the settings that may stand there. There is a rule for each of them.
func (c *Checker) Attributes(attrs []*lang.Attr, what string, at lang.SettingPlace, rules map[string]AttrRule) {
	seen := map[string]lang.Span{}
	for _, a := range attrs {
		name := a.Name.Name
		s, ok := lang.FindSetting(name, at)
		if !ok {
			r := c.Errorf(lang.ErrAttribute, a.Name.Place, "%s has no attribute @%s", what, name).
				Suggest(a.Name.Place, name, slices.Sorted(maps.Keys(rules)))
			if len(rules) > 0 {
				r.Note("it may have %s", attrList(rules))
			}
			continue
		}
		if old, dup := seen[name]; dup && !s.Repeats {
			c.Errorf(lang.ErrAttribute, a.Name.Place, "@%s is given twice", name).LabelAt(old, "first here")
			continue
		}
		seen[name] = a.Name.Place
		rules[name](a)
	}
}

func attrList(rules map[string]AttrRule) string {
	text := ""
	for i, n := range slices.Sorted(maps.Keys(rules)) {
		if i > 0 {
			text += ", "
		}
		text += "@" + n
	}
	return text
}

// NoArgs is the rule of an attribute that is only there or not.
func (c *Checker) NoArgs(set func()) AttrRule {
	return func(a *lang.Attr) {
		if len(a.Args) > 0 {
			c.Errorf(lang.ErrAttribute, a.Place, "@%s takes no arguments", a.Name.Name).RemoveArgs(a)
			return
		}
		set()
	}
}

// WordArg is the rule of an attribute that takes one of some words.
func (c *Checker) WordArg(words []string, set func(string)) AttrRule {
	slices.Sort(words)
	return func(a *lang.Attr) {
		if len(a.Args) == 1 && a.Args[0].Name == nil {
			if n, ok := a.Args[0].Value.(*lang.NameExpr); ok {
				for _, w := range words {
					if w == n.Name {
						set(w)
						return
					}
				}
				c.Errorf(lang.ErrAttribute, n.Place, "@%s is one of %s, not %s", a.Name.Name, wordList(words), n.Name).Suggest(n.Place, n.Name, words)
				return
			}
		}
		c.Errorf(lang.ErrAttribute, a.Place, "@%s takes one of %s", a.Name.Name, wordList(words))
	}
}

func wordList(words []string) string {
	text := ""
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			text += " or "
		case i > 0:
			text += ", "
		}
		text += w
	}
	return text
}

// SizesRule reads `@sizes(M = 8192, T = bf16)`.
func (c *Checker) SizesRule(s *Signature, sizes map[*size.Symbol]int64, types map[*typed.TypeParam]lang.DType) AttrRule {
	return func(a *lang.Attr) {
		names := map[string]*Entity{}
		for n, e := range s.Scope.Names {
			if e.Kind == EntSymbol || e.Kind == EntTypeParam {
				names[n] = e
			}
		}
		for _, arg := range a.Args {
			if arg.Name == nil {
				c.Errorf(lang.ErrAttribute, arg.Place, "@sizes names dimensions and type parameters, as in `@sizes(M = 8192, T = bf16)`")
				continue
			}
			e := names[arg.Name.Name]
			switch {
			case e == nil:
				if s.OK {
					c.Errorf(lang.ErrAttribute, arg.Name.Place, "there is no dimension or type parameter %s", arg.Name.Name).
						Suggest(arg.Name.Place, arg.Name.Name, slices.Sorted(maps.Keys(names)))
				}
			case e.Kind == EntTypeParam:
				n, ok := arg.Value.(*lang.NameExpr)
				if !ok {
					c.Errorf(lang.ErrAttribute, arg.Value.Span(), "%s stands for an element type, as in `%s = bf16`", e.Name, e.Name)
					continue
				}
				dt, ok := lang.ParseDType(n.Name)
				if !ok {
					c.Errorf(lang.ErrUnknownType, n.Place, "unknown type %s", n.Name).Suggest(n.Place, n.Name, typeNames())
					continue
				}
				if p := e.DType.Param; !p.Accepts(dt) {
					c.Errorf(lang.ErrTypeParam, n.Place, "%s: %s does not stand for %s", p.Name, p.Bound, dt).LabelAt(p.At, "declared here")
				} else {
					types[p] = dt
				}
			default:
				lit, ok := c.LiteralOf(s.Scope, arg.Value, e.Symbol.DType, "the size of "+e.Name)
				if ok && e.Symbol.Kind == size.DimSymbol && lit.Int < 1 {
					c.Errorf(lang.ErrAttribute, arg.Value.Span(), "the size of %s is %d; the least is 1", e.Name, lit.Int)
				} else if ok {
					sizes[e.Symbol] = lit.Int
				}
			}
		}
	}
}
