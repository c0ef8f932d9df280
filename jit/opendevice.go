package jit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"tilec/jit/cuda"
	"tilec/jit/misuse"
)

// OpenDevice opens a device by its name on the command line: "cpu", "cuda",
// "cuda:1", "emu" or "emu:sm_80" for the emulator of a GPU target, or "auto" for
// the first GPU and, without one, the CPU. Any other name is a *NameError.
func OpenDevice(name string) (Device, error) {
	ordinal, isGPU := 0, name == "cuda"
	if rest, ok := strings.CutPrefix(name, "cuda:"); ok {
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 {
			return nil, unknownDevice(name)
		}
		ordinal, isGPU = n, true
	}
	if target, ok := strings.CutPrefix(name, "emu:"); ok {
		e, err := OpenEmulator(target)
		if err != nil {
			return nil, fmt.Errorf("device %s: %w", name, err)
		}
		return e, nil
	}
	switch {
	case isGPU:
		return OpenGPU(ordinal)
	case name == "emu":
		return OpenEmulator(DefaultEmulatorTarget)
	case name == "cpu":
		return OpenCPU(), nil
	case name == "auto":
		g, err := OpenGPU(0)
		if errors.Is(err, cuda.ErrNoDriver) || errors.Is(err, errNoDevice) {
			return OpenCPU(), nil
		}
		if err != nil {
			// A GPU that does not work is worth knowing of; a silent fall to the CPU would hide it.
			return nil, fmt.Errorf("%w; choose --device cpu to do without the GPU", err)
		}
		return g, nil
	}
	return nil, unknownDevice(name)
}

func unknownDevice(name string) error {
	return &misuse.NameError{What: "device", Name: name, Known: []string{"auto", "cpu", "cuda", "cuda:N", "emu", "emu:TARGET"}, Unlike: true}
}
