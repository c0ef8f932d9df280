package kernel

import (
	"tilec/lang"
	"tilec/typecheck/rules"
	"tilec/typecheck/typed"
)

// CheckFn types the body of a fn with arguments of which nothing is known, so
// that errors show that no argument could mend.
func CheckFn(c *rules.Checker, m *rules.Module, d *lang.FnDecl) {
	c.Attributes(d.Attrs, "a fn", lang.Nowhere, nil)
	if c.Recursive[d] || d.Body == nil {
		return
	}
	b := newBody(c, &typed.Kernel{}, m.Scope)
	c.FnGenerics(b.scope, d, func(g *lang.Generic) *rules.Entity {
		if !g.IsConst {
			return &rules.Entity{Kind: rules.EntTypeParam, DType: typed.DType{Param: &typed.TypeParam{Name: g.Name.Name, Bound: g.Bound.Name, At: g.Place}}}
		}
		return &rules.Entity{Kind: rules.EntInvalid}
	})
	seen := map[string]lang.Span{}
	for _, p := range d.Params {
		if old, dup := seen[p.Name.Name]; dup && p.Name.Name != "_" {
			c.Errorf(lang.ErrDuplicate, p.Name.Place, "the parameter %s is declared twice", p.Name.Name).LabelAt(old, "first declared here")
			continue
		}
		seen[p.Name.Name] = p.Name.Place
		c.FnType(b.scope, p.Type)
		b.Declare(b.scope, &rules.Entity{Kind: rules.EntInvalid, Name: p.Name.Name, At: p.Name.Place, IsAxis: p.IsAxis}, true)
	}
	c.FnType(b.scope, d.Result)
	b.Frames = []rules.Frame{{Fn: d}}
	b.FnBody(d.Body)
}
