package target

import "strings"

// Capability is something that a machine can do, or several of them together (MmaSync | CpAsync).
type Capability uint32

// What GPUs can do and others of them cannot, or only by more instructions.
const (
	// MmaSync: a warp multiplies tiles of 8- and 16-bit elements, and of f32 as tf32 (mma.sync, ldmatrix).
	MmaSync Capability = 1 << iota
	// MmaF64: a warp multiplies tiles of f64, faster than threads do by themselves.
	MmaF64
	// LongMmaF64: one instruction multiplies 16 rows of 8 f64 each, where others take four of 8 rows of 4.
	LongMmaF64
	// CpAsync: a thread copies from global to shared memory and goes on (cp.async).
	CpAsync
	// Wgmma: four warps multiply what lies in shared memory (wgmma).
	Wgmma
	// TMA: one thread copies boxes of a tensor between global and shared memory, and mbarriers count what came.
	TMA
	// Clusters: blocks work together in clusters, and read one another's shared memory.
	Clusters
	// VectorAtomics: one instruction adds to several neighbours of f32, each by itself an atomic.
	VectorAtomics
	// ConvertPairsE4M3: one instruction converts two neighbours of f8e4m3.
	ConvertPairsE4M3
	// DependentLaunch: a kernel may begin before the one before it has ended, and wait for that end (griddepcontrol).
	DependentLaunch
	numCapabilities = iota
)

// capabilityNames are how the capabilities are called in text.
var capabilityNames = [numCapabilities]string{
	"mma.sync", "mma.sync of f64", "mma.sync of 16x8x8 f64", "cp.async", "wgmma", "TMA", "clusters", "vector atomics", "pairs of f8e4m3 converted", "dependent launches",
}

// String lists the capabilities, "mma.sync, cp.async".
func (c Capability) String() string {
	var names []string
	for i, name := range capabilityNames {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
