package build

import (
	"math"

	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// sort builds a topk, or a sort: the positions that put the key in order, and
// from every tile that moves its elements at them.
func (b *builder) sort(x *typed.Sort) []*ir.Value {
	args := b.indices(x.Args)
	b.At = x.At
	over := []*ir.Axis{b.axes[x.Over]}
	if over[0].Counts() == lang.I64 {
		c := spec.CountedSize{Size: ends(x.Over), Most: math.MaxInt32, At: x.At, What: "the position that this gives is an i32, which"}
		if n, ok := b.known(c.Size); ok && n > c.Most { // no pass counts so far
			panic(c.TooMany(b.spec, n))
		}
	}
	if x.Op == lang.OpTopK {
		return b.Emit(&ir.Op{Code: lang.OpTopK, Args: args, Over: over, Axis: b.axes[x.Into]})
	}
	sort := &ir.Op{Code: lang.OpSort, Args: args[:1], Over: over}
	if x.Descending != nil {
		descending, known := constBool(b.value(x.Descending))
		if !known {
			panic("the order of a sort is not constant")
		}
		sort.Descending = descending
	}
	positions := []*ir.Value{b.Cast(b.Emit(sort)[0], over[0].Counts())}
	sorted := make([]*ir.Value, len(args))
	for i, v := range args {
		sorted[i] = b.Take(v, over, positions)
	}
	return sorted
}
