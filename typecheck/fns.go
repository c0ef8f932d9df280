package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// checkFn types the body of a fn with arguments of which nothing is known, so
// that errors show that no argument could mend.
func checkFn(c *checker, m *module, d *lang.FnDecl) {
	c.attrs(d.Attrs, "a fn", lang.Nowhere, nil)
	if c.recursive[d] || d.Body == nil {
		return
	}
	b := newBody(c, &typed.Kernel{}, m.scope)
	c.fnGenerics(b.scope, d, func(g *lang.Generic) *entity {
		if !g.IsConst {
			return &entity{kind: entTypeParam, dtype: typed.DType{Param: &typed.TypeParam{Name: g.Name.Name, Bound: g.Bound.Name, At: g.Place}}}
		}
		return &entity{kind: entInvalid}
	})
	seen := map[string]lang.Span{}
	for _, p := range d.Params {
		if old, dup := seen[p.Name.Name]; dup && p.Name.Name != "_" {
			c.Errorf(lang.ErrDuplicate, p.Name.Place, "the parameter %s is declared twice", p.Name.Name).label(old, "first declared here")
			continue
		}
		seen[p.Name.Name] = p.Name.Place
		c.fnType(b.scope, p.Type)
		b.declare(b.scope, &entity{kind: entInvalid, name: p.Name.Name, at: p.Name.Place, isAxis: p.IsAxis}, true)
	}
	c.fnType(b.scope, d.Result)
	b.frames = []frame{{fn: d}}
	b.FnBody(d.Body)
}
