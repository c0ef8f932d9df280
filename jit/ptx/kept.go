package ptx

import "tilec/jit/ir"

// keepRows gives the tensors that are in shared memory their places, which they have as long as the block runs.
func (k *kernel) keepRows() {
	for _, t := range k.Func.Tensors {
		if t.Shared {
			if k.kept == nil {
				k.kept = map[*ir.Tensor]int{}
			}
			k.kept[t] = k.allocate(int(t.Bytes()), t.Name).at
		}
	}
}
