package cpu

import (
	"tilec/jit/ir"
	"tilec/lang"
)

// estimate gives a rough time of one block in nanoseconds: enough to decide
// whether waking another core pays.
func (c *compiler) estimate() func(l *launch) float64 {
	return c.blockCost(c.f.Body)
}

func (c *compiler) blockCost(b *ir.Block) func(l *launch) float64 {
	fixed := 0.0
	var parts []func(l *launch) float64
	for _, op := range b.Ops {
		if !c.live[op] || c.isAlias(op) {
			continue
		}
		if len(op.Blocks) > 0 {
			trips := c.trips(op)
			for _, inner := range op.Blocks {
				cost := c.blockCost(inner)
				parts = append(parts, func(l *launch) float64 { return trips(l) * cost(l) })
			}
			continue
		}
		parts = append(parts, c.opCost(op))
		fixed += 20
	}
	return func(l *launch) float64 {
		sum := fixed
		for _, p := range parts {
			sum += p(l)
		}
		return sum
	}
}

// trips estimates how often a region runs.
func (c *compiler) trips(op *ir.Op) func(l *launch) float64 {
	if op.Code != lang.OpFor || op.Axis == nil || op.Axis.Dim == nil {
		return func(*launch) float64 { return 1 }
	}
	d, extent := c.dimNumber(op.Axis.Dim), float64(op.Axis.Extent)
	return func(l *launch) float64 { return max(1, float64(l.dims[d])/extent) }
}

// Nanoseconds an element, or a multiplication of a contraction.
const (
	costElement  = 0.4
	costFunction = 2
	costMultiply = 0.05
	costSorted   = 40
)

func (c *compiler) opCost(op *ir.Op) func(l *launch) float64 {
	var axes []*ir.Axis
	for _, a := range op.Args {
		axes = ir.Union(ir.Type{Axes: axes}, a.Type)
	}
	for _, r := range op.Results {
		axes = ir.Union(ir.Type{Axes: axes}, r.Type)
	}
	weight := costElement
	if row := op.Code.Row(); row.Group == lang.GroupContract {
		weight = costMultiply
	} else if row.Group == lang.GroupSort {
		weight = costSorted
	} else if row.Ulp > 0 {
		weight = costFunction
	}
	type extent struct{ most, dim int }
	var es []extent
	for _, a := range axes {
		e := extent{most(a), -1}
		if a.Kind != ir.Whole && a.Dim != nil {
			e.dim = c.dimNumber(a.Dim)
		}
		es = append(es, e)
	}
	return func(l *launch) float64 {
		n := weight
		for _, e := range es {
			m := e.most
			if e.dim >= 0 {
				m = min(m, l.dims[e.dim])
			}
			n *= float64(m)
		}
		return n
	}
}
