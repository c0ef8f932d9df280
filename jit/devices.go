package jit

import (
	"errors"
	"fmt"

	"tilec/jit/backend"
	"tilec/jit/backend/cpu"
	"tilec/jit/backend/emulator"
	"tilec/jit/backend/nvidia"
	"tilec/jit/cuda"
)

// backends are the back ends whose devices OpenDevice finds, in the order in which they are asked. This is the one
// place that knows them all.
var backends = []backend.Opener{
	{Names: []string{"auto"}, Open: openAuto},
	cpu.Opener,
	nvidia.Opener,
	emulator.Opener,
}

// OpenDevice opens a device by its name on the command line: "cpu", "cuda",
// "cuda:1", "emu" or "emu:sm_80" for the emulator of a GPU target, or "auto" for
// the first GPU and, without one, the CPU. Any other name is a *NameError.
func OpenDevice(name string) (Device, error) { return backend.Open(backends, name) }

// openAuto is the first GPU or, where there is none, the CPU.
func openAuto(name string) (Device, error) {
	if name != "auto" {
		return nil, nil
	}
	g, err := nvidia.Open(0)
	if errors.Is(err, cuda.ErrNoDriver) || errors.Is(err, nvidia.ErrNoDevice) {
		return cpu.Open(), nil
	}
	if err != nil {
		// A GPU that does not work is worth knowing of; a silent fall to the CPU would hide it.
		return nil, fmt.Errorf("%w; choose --device cpu to do without the GPU", err)
	}
	return g, nil
}
