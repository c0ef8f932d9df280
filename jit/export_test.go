package jit

import (
	"fmt"
	"hash/fnv"
)

// Widen compiles every kernel as for dimensions of more than 2^31 elements.
func (c *Compiler) Widen() { c.Wide = true }

// Vary gives every kernel another plan of those that the planner may choose: of the extents of each parameter the first,
// the last, or one that follows from the seed.
func (c *Compiler) Vary(seed int) {
	c.Extents = func(kernel string, open map[string][]int64) map[string]int64 {
		chosen := map[string]int64{}
		for name, values := range open {
			switch seed {
			case 0:
				chosen[name] = values[0]
			case 1:
				chosen[name] = values[len(values)-1]
			default:
				h := fnv.New64a()
				fmt.Fprint(h, seed, kernel, name)
				chosen[name] = values[h.Sum64()%uint64(len(values))]
			}
		}
		return chosen
	}
}
