package block

import "tilec/jit/layout"

// This file shares several products at once, as those of a batch are, out to the warps of a block.

// spreadBatch gives each warp products of its own, as far as there are as many at once, and the number of those that it shares nothing with.
// What is left are the repetitions.
func (c *Product) spreadBatch(warps int) (warp []layout.Digit, among int) {
	among = 1
	for _, a := range c.Batch {
		n, left := int(a.Extent), warps/among
		f := min(n&-n, left&-left) // of three warps, none can have half of what there is
		if f > 1 {
			warp = append(warp, layout.Digit{Axis: a, Stride: 1, Size: f})
			among *= f
		}
		if n > f {
			c.BatchReps = append(c.BatchReps, layout.Digit{Axis: a, Stride: max(f, 1), Size: n / max(f, 1)})
		}
	}
	return warp, among
}

// Batches is how many products a warp computes one after the other.
func (c *Product) Batches() int { return layout.Product(c.BatchReps) }
