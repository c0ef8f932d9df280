package nvidia

import (
	"slices"

	"tilec/jit/backend"
	"tilec/jit/cuda"
	"tilec/jit/ir"
)

// BareLaunch is the launch as data, as backend.BareLauncher says.
func (k *gpuKernel) BareLaunch(args []backend.Arg) (*cuda.BareLaunch, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	blocks, _, err := k.blocks(args)
	if err != nil {
		return nil, err
	}
	var of []int
	for _, m := range k.module.Maps {
		of = append(of, slices.IndexFunc(k.params, func(p ir.Param) bool { return p.Kind == ir.ParamPointer && p.Tensor == m.Tensor }))
	}
	k.device.between.elsewhere.Store(true)
	return k.fn.Bare(k.config(blocks), k.pack(args, 0, nil), k.tensorMapDescs(args), of)
}
