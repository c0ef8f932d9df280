package fuzz

import (
	"slices"
	"strings"
)

// This file chooses the launches of a program: sizes, pins and inputs.

// runs chooses sizes, pins and inputs.
func (g *generator) runs(seed uint64) []Trial {
	var runs []Trial
	for n := range 3 {
		r := g.trial(seed, n)
		for _, d := range g.dims {
			if !g.named(d) {
				continue
			}
			r.Dims[d] = pick[int64](g.r, 1, 2, 3, 5, 8, 16, 17, 31, 32, 33, 64, 65, 100, 128, 129, 257)
		}
		limit := int64(4000)
		if g.topic == Splits { // each part of an axis costs the emulator a block
			limit = 1000
		}
		if g.topic != Splits && g.chance(10) {
			limit = 60000
		}
		if g.chance(4) { // more than a block holds at once
			if d := pick(g.r, g.dims...); g.named(d) {
				r.Dims[d] = pick[int64](g.r, 1000, 1023, 2049, 4099)
			}
		}
		g.fit(r.Dims, limit)
		g.fitted(r.Dims)
		runs = append(runs, r)
	}
	return runs
}

// trial is the n-th launch of a program but for its sizes.
func (g *generator) trial(seed uint64, n int) Trial {
	r := Trial{Dims: map[string]int64{}, Style: styles[(n+g.r.IntN(2))%len(styles)], Seed: seed + uint64(n)<<32}
	if g.generic != nil {
		r.Types = map[string]string{"T": g.generic.d.String()}
	}
	if g.moved != nil {
		r.Types["U"] = g.moved.d.String()
	}
	for _, c := range g.consts {
		if !c.hasDefault || g.chance(50) {
			if r.Consts == nil {
				r.Consts = map[string]int64{}
			}
			r.Consts[c.name] = int64(g.r.IntN(6))
		}
	}
	if g.topic == Generics {
		r.Inferred = g.chance(50)
	}
	if g.chance(60) {
		r.Pins = map[string]int64{}
		area := g.area
		for _, t := range g.tiles {
			if g.chance(60) {
				n := pick[int64](g.r, 1, 2, 3, 4, 7, 8, 16, 20, 32, 33, 64, 96, 128)
				for !g.matrix && area*n > g.mostArea() {
					n = (n + 1) / 2
				}
				area *= n
				r.Pins[t] = n
			}
		}
		if used := g.usedWholes(); len(used) > 0 && g.chance(40) {
			r.Pins[pick(g.r, used...)] = pick[int64](g.r, 1, 3, 4, 16, 32)
			if g.chance(40) { // another too, most of the time
				r.Pins[pick(g.r, used...)] = pick[int64](g.r, 1, 3, 4, 16, 32)
			}
			if (seed+uint64(n))%3 == 0 { // blocks that share one of them
				r.Pins["split"] = 2 + int64(seed/3%7)
			}
		}
		if g.chance(20) {
			r.Pins["warps"] = pick[int64](g.r, 1, 2, 4, 8)
		}
		if g.chance(20) {
			r.Pins["stages"] = 1 + g.r.Int64N(4)
		}
		if g.chance(8) {
			r.Pins["occupancy"] = 1 + g.r.Int64N(4)
		}
		if g.chance(8) {
			r.Pins["cluster"] = 1 + g.r.Int64N(8)
		}
		if (seed+uint64(n))%5 == 0 { // products by wgmma wherever one can be, or nowhere
			r.Pins["wgmma"] = 1 + int64((seed+uint64(n))/5%2)
		}
	}
	if (seed+uint64(n))%11 == 0 && r.Pins != nil { // the largest of a row one after the other, or by a threshold
		r.Pins["selection"] = 1 + int64((seed+uint64(n))/11%2)
	}
	if (seed+uint64(n))%7 == 0 && r.Pins != nil { // atomics on memory, or on shared memory first
		r.Pins["private"] = []int64{1, 16, 32768}[(seed+uint64(n))/7%3]
	}
	if g.chance(20) {
		r.Precision = pick(g.r, "ieee", "tf32x3")
	}
	return r
}

// usedWholes are the whole axes that more than their declaration names: others are gone before there is a plan.
func (g *generator) usedWholes() []string {
	text := strings.Join(g.lines, "\n")
	return slices.DeleteFunc(slices.Clone(g.wholes), func(name string) bool { return strings.Count(text, name) < 2 })
}

// fit makes dimensions smaller until nothing that is computed has more elements than the limit.
func (g *generator) fit(dims map[string]int64, limit int64) {
	for {
		over := false
		for _, w := range g.works {
			n, widest := int64(1), ""
			for _, d := range w {
				size, name := g.size(d, dims)
				if name != "" && (widest == "" || dims[name] > dims[widest]) {
					widest = name
				}
				n *= max(size, 1)
			}
			if n > limit && widest != "" && dims[widest] > 1 {
				dims[widest] /= 2
				if dims[widest] > 4 && dims[widest]%2 == 0 && g.chance(50) {
					dims[widest]++
				}
				over = true
			}
		}
		if !over {
			return
		}
	}
}
