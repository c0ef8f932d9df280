package graph

import (
	"cmp"
	"slices"
)

// This file gives the temporaries of a graph places in one arena: first fit, a
// place being free before its temporary's first step and after its last.

const tempAlign = 256

// PlanMemory places the temporaries, and gives the size of the arena.
func (p *Bound) PlanMemory() int64 {
	order := make([]*Temp, len(p.Temps))
	for i := range p.Temps {
		order[i] = &p.Temps[i]
	}
	slices.SortStableFunc(order, func(a, b *Temp) int { return cmp.Compare(a.First, b.First) })
	var k packing
	for _, t := range order {
		k.place(t)
	}
	return k.size
}

// packing places temporaries in the order of their first steps.
type packing struct {
	// live are the temporaries that the last one placed lies beside, by their places: those whose last
	// step is over are left out, so that a long chain takes no longer for each of its links.
	live []*Temp
	size int64
}

func (k *packing) place(t *Temp) {
	k.live = slices.DeleteFunc(k.live, func(u *Temp) bool { return u.last < t.First })
	at, i := int64(0), 0
	for ; i < len(k.live) && at+t.Size > k.live[i].Offset; i++ {
		at = max(at, k.live[i].Offset+k.live[i].Size)
	}
	t.Offset = at
	k.live = slices.Insert(k.live, i, t)
	k.size = max(k.size, at+t.Size)
}
