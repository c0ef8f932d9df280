package jit

import (
	"os"
	"strings"
)

// gpu is the device under test where that is a GPU, and the emulator elsewhere: for what the code of GPUs alone has, as clusters.
func gpu() string {
	if name := os.Getenv("TILEC_TEST_DEVICE"); strings.HasPrefix(name, "cuda") {
		return name
	}
	return "emu"
}
