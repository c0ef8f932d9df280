package jit

import (
	"cmp"
	"slices"
)

// This file gives the temporaries of a graph places in one arena: first fit, a
// place being free before its temporary's first step and after its last.

const tempAlign = 256

// planMemory places the temporaries, and gives the size of the arena.
func (p *bound) planMemory() int64 {
	order := make([]*temp, len(p.temps))
	for i := range p.temps {
		order[i] = &p.temps[i]
	}
	slices.SortStableFunc(order, func(a, b *temp) int { return cmp.Compare(a.first, b.first) })
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
	live []*temp
	size int64
}

func (k *packing) place(t *temp) {
	k.live = slices.DeleteFunc(k.live, func(u *temp) bool { return u.last < t.first })
	at, i := int64(0), 0
	for ; i < len(k.live) && at+t.size > k.live[i].offset; i++ {
		at = max(at, k.live[i].offset+k.live[i].size)
	}
	t.offset = at
	k.live = slices.Insert(k.live, i, t)
	k.size = max(k.size, at+t.size)
}
