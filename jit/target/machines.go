package target

import (
	"fmt"
	"strings"
)

// Machine describes a machine to compile for: what the cost model and the
// limits need. Its coefficients belong to the machine, never to a kernel.
type Machine struct {
	// Name is "cpu" or the PTX target, "sm_90a".
	Name string
	// Arch is the compute capability times ten (90); 0 for the CPU.
	Arch int
	// SMs is the number of multiprocessors. Of the CPU it is the cores that plans are balanced for, however many
	// a machine has: sums are added up as plans cut them, and must not depend on the machine.
	SMs int
	// SharedPerBlock is the largest shared memory of a block, in bytes.
	SharedPerBlock int
	// RegistersPerSM counts 32-bit registers.
	RegistersPerSM int
	// DRAM and L2 are bandwidths in bytes a second, L2Boxes is that of copies by the TMA of what several
	// blocks read at the same time; L2Size is in bytes.
	DRAM, L2, L2Boxes float64
	L2Size            int64
	// Tensor8 is the rate of i8 and u8 contractions, Tensor16 of f16 and bf16, Tensor32 of tf32, Tensor64 of f64 (0
	// where its tensor cores are no faster than the others), FMA32 of plain f32: in FLOP/s, or as many operations of integers.
	Tensor8, Tensor16, Tensor32, Tensor64, FMA32 float64
	// Launch is the cost of one kernel launch, in seconds.
	Launch float64
	// Clock is the rate of the multiprocessors in cycles a second.
	Clock float64
}

// The figures of sm_90a are those of an H200 (measured copy bandwidth, 16-bit products and reads that blocks share, data
// sheet rates); of sm_80, an A100.
var machines = []Machine{
	{Name: "cpu", SMs: 2, L2Size: 1 << 20},
	{Name: "sm_80", Arch: 80, SMs: 108, SharedPerBlock: 166912, RegistersPerSM: 65536, DRAM: 1.4e12, L2: 4e12, L2Size: 40 << 20, Tensor8: 624e12, Tensor16: 312e12, Tensor32: 156e12, Tensor64: 19.5e12, FMA32: 19.5e12, Launch: 2.5e-6, Clock: 1.41e9},
	{Name: "sm_86", Arch: 86, SMs: 84, SharedPerBlock: 101376, RegistersPerSM: 65536, DRAM: 0.7e12, L2: 3e12, L2Size: 6 << 20, Tensor8: 284e12, Tensor16: 142e12, Tensor32: 35e12, FMA32: 35e12, Launch: 2.5e-6, Clock: 1.7e9},
	{Name: "sm_89", Arch: 89, SMs: 128, SharedPerBlock: 101376, RegistersPerSM: 65536, DRAM: 0.95e12, L2: 5e12, L2Size: 72 << 20, Tensor8: 660e12, Tensor16: 330e12, Tensor32: 82e12, FMA32: 82e12, Launch: 2.5e-6, Clock: 2.5e9},
	{Name: "sm_90a", Arch: 90, SMs: 132, SharedPerBlock: 232448, RegistersPerSM: 65536, DRAM: 4.28e12, L2: 7e12, L2Boxes: 12.5e12, L2Size: 60 << 20, Tensor8: 1600e12, Tensor16: 800e12, Tensor32: 495e12, Tensor64: 67e12, FMA32: 67e12, Launch: 2.1e-6, Clock: 1.98e9},
}

// Find gives a target by name.
func Find(name string) (Machine, error) {
	known := make([]string, len(machines))
	for i, t := range machines {
		if t.Name == name {
			return t, nil
		}
		known[i] = t.Name
	}
	return Machine{}, fmt.Errorf("unknown target %q: known are %s", name, strings.Join(known, ", "))
}

// HasClusters reports a target whose blocks can work together in clusters.
func (m Machine) HasClusters() bool { return m.Arch >= clusterArch }

// clusterArch is the first compute capability with clusters.
const clusterArch = 90

// BlocksPerSM is how many blocks a multiprocessor of the target holds at most.
func (m Machine) BlocksPerSM() int {
	switch m.Arch {
	case 86:
		return 16
	case 89:
		return 24
	}
	return 32
}

// ThreadsPerSM is how many threads a multiprocessor of the target holds at most.
func (m Machine) ThreadsPerSM() int64 {
	if m.Arch == 86 || m.Arch == 89 {
		return 1536
	}
	return 2048
}

// SharedShare is the shared memory of a block when so many share a
// multiprocessor; each has some reserved beside what it can use.
func (m Machine) SharedShare(blocks int) int64 {
	if blocks <= 1 {
		return int64(m.SharedPerBlock)
	}
	return max(int64(m.SharedPerBlock+SharedReserved)/int64(blocks)-SharedReserved, 0)
}

// SharedReserved is what the system takes of shared memory for each block.
const SharedReserved = 1024
