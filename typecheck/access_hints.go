package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// cacheHints are the words that say how long what an access touches is wanted.
var cacheHints = map[string]bool{"evict_first": true, "evict_last": true, "evict_normal": true, "no_allocate": true}

// maxLatency is the most stages that a load runs ahead.
const maxLatency = 8

// accessHints reads the attributes of an access: `x[i, k] @latency(4) @evict_first`.
func (b *bodyChecker) accessHints(e *lang.IndexExpr, op lang.Op) typed.AccessHints {
	var h typed.AccessHints
	known := []string{"evict_first", "evict_last", "evict_normal", "latency", "no_allocate"}
	var cache, latency lang.Span
	for _, a := range e.Attrs {
		name := a.Name.Name
		if !h.At.IsValid() {
			h.At = a.Place
		}
		switch {
		case !cacheHints[name] && name != "latency":
			b.errorf(lang.ErrAttribute, a.Name.Place, "an access has no attribute @%s", name).
				suggest(a.Name.Place, name, known)
		case op != lang.OpLoad && op != lang.OpStore:
			b.errorf(lang.ErrAttribute, a.Place, "an atomic goes to the L2 cache, and takes no @%s", name)
		case name == "latency" && op != lang.OpLoad:
			b.errorf(lang.ErrAttribute, a.Place, "@latency says how far a load runs ahead, and a store does not")
		case name == "latency":
			if latency.IsValid() {
				b.errorf(lang.ErrAttribute, a.Place, "@latency is given twice").label(latency, "first here")
				continue
			}
			latency = a.Place
			if n, ok := b.pinValue(b.scope.file().scope, a, pinLimit{"latency", maxLatency, "stages", false}); ok {
				h.Latency = n
			}
		case len(a.Args) > 0:
			b.errorf(lang.ErrAttribute, a.Place, "@%s takes no arguments", name).removeArgs(a)
		case cache.IsValid():
			b.errorf(lang.ErrAttribute, a.Place, "@%s and @%s cannot both hold of one access", h.Cache, name).label(cache, "first here")
		default:
			h.Cache, cache = name, a.Place
		}
	}
	return h
}
