package kernel

import (
	"maps"
	"slices"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// accessHints reads the attributes of an access: `x[i, k] @latency(4) @evict_first`.
func (b *bodyChecker) accessHints(e *lang.IndexExpr, op lang.Op) typed.AccessHints {
	var h typed.AccessHints
	var cache, latency lang.Span
	for _, a := range e.Attrs {
		name := a.Name.Name
		s, ok := lang.FindSetting(name, lang.OnAccess)
		if !h.At.IsValid() {
			h.At = a.Place
		}
		switch {
		case !ok:
			known := map[string]bool{}
			for _, s := range lang.Settings(lang.OnAccess) {
				known[s.Name] = true
			}
			b.Errorf(lang.ErrAttribute, a.Name.Place, "an access has no attribute @%s", name).
				Suggest(a.Name.Place, name, slices.Sorted(maps.Keys(known)))
		case op != lang.OpLoad && op != lang.OpStore:
			b.Errorf(lang.ErrAttribute, a.Place, "an atomic goes to the L2 cache, and takes no @%s", name)
		case name == "latency" && op != lang.OpLoad:
			b.Errorf(lang.ErrAttribute, a.Place, "@latency says how far a load runs ahead, and a store does not")
		case name == "latency":
			if latency.IsValid() {
				b.Errorf(lang.ErrAttribute, a.Place, "@latency is given twice").LabelAt(latency, "first here")
				continue
			}
			latency = a.Place
			if n, ok := pinValue(b.Checker, b.scope.File().Scope, a, s); ok {
				h.Latency = n
			}
		case len(a.Args) > 0:
			b.Errorf(lang.ErrAttribute, a.Place, "@%s takes no arguments", name).RemoveArgs(a)
		case cache.IsValid():
			b.Errorf(lang.ErrAttribute, a.Place, "@%s and @%s cannot both hold of one access", h.Cache, name).LabelAt(cache, "first here")
		default:
			h.Cache, cache = name, a.Place
		}
	}
	return h
}
