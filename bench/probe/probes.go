package main

import (
	"maps"

	"tilec/bench"
	"tilec/jit/target"
)

// probe is a kernel at a size; warm says that what it reads is in the L2.
type probe struct {
	bench.Workload
	warm bool
}

// The probes, by what they show, and their sizes.
const (
	empty, copied, again                    = "a launch", "a copy", "a copy in the L2"
	bf16, f32, bytes                        = "a product of bf16", "a product of f32", "a product of bytes"
	bf16ByMma, f32ByMma, oneWarpgroup       = "a product of bf16 by mma.sync", "a product of f32 by mma.sync", "a product of bf16 by one warpgroup"
	few, inMemory, inL2, side         int64 = 32, 1 << 28, 1 << 22, 8192
)

// kernels are those that are timed.
func kernels() []probe {
	copies := func(name string, n int64, warm bool) probe {
		return probe{bench.Workload{Name: name, Kernel: "twice_and_one", DType: "f32", Sizes: map[string]int64{"N": n}}, warm}
	}
	product := func(name, kernel, dtype string, pins map[string]int64) probe {
		return probe{bench.Workload{Name: name, Kernel: kernel, DType: dtype, Sizes: map[string]int64{"M": side, "K": side, "N": side}, Pins: pins}, false}
	}
	return []probe{
		copies(empty, few, true), copies(copied, inMemory, false), copies(again, inL2, true),
		product(bf16, "linear", "bf16", nil), product(f32, "linear", "f32", nil), product(bytes, "int8_matmul", "bf16", nil),
		product(bf16ByMma, "linear", "bf16", map[string]int64{"wgmma": 1}), product(f32ByMma, "linear", "f32", map[string]int64{"wgmma": 1}),
		product(oneWarpgroup, "linear", "bf16", map[string]int64{"BM": 128, "BN": 128, "BK": 64, "warps": 4, "stages": 6, "persist": 0, "occupancy": 1}),
	}
}

// cut is the kernel at sizes of at most a limit.
func (p probe) cut(limit int64) bench.Workload {
	w := p.Workload
	w.Sizes = maps.Clone(w.Sizes)
	for name, n := range w.Sizes {
		if limit > 0 {
			w.Sizes[name] = min(n, limit)
		}
	}
	return w
}

// figure is a figure of a machine, and how it follows from the seconds of probes.
type figure struct {
	name, from string
	of         func(*target.Machine) *float64
	probes     []string
	value      func(t map[string]float64, m target.Machine) float64
}

// measured is the figure, where all of its probes ran.
func (f figure) measured(t map[string]float64, m target.Machine) (value float64, ok bool) {
	for _, name := range f.probes {
		if t[name] <= 0 {
			return 0, false
		}
	}
	value = f.value(t, m)
	return value, value > 0
}

var figures = []figure{
	{"Launch", "a copy of 32 elements, without a block and a load", func(m *target.Machine) *float64 { return &m.Launch }, []string{empty}, func(t map[string]float64, m target.Machine) float64 {
		return t[empty] - m.BlockOverhead - m.LoadLatency
	}},
	{"DRAM", "a copy of 1 GiB", func(m *target.Machine) *float64 { return &m.DRAM }, []string{empty, copied}, func(t map[string]float64, _ target.Machine) float64 {
		return moved(inMemory) / (t[copied] - t[empty])
	}},
	{"L2", "a copy of 16 MiB in the L2", func(m *target.Machine) *float64 { return &m.L2 }, []string{empty, again}, func(t map[string]float64, _ target.Machine) float64 {
		return moved(inL2) / (t[again] - t[empty])
	}},
	{"Tensor16", "a product of 8192 cubed, bf16", func(m *target.Machine) *float64 { return &m.Tensor16 }, []string{bf16}, rate(bf16)},
	{"Tensor32", "the same, f32 as tf32", func(m *target.Machine) *float64 { return &m.Tensor32 }, []string{f32}, rate(f32)},
	{"Tensor8", "the same, int8", func(m *target.Machine) *float64 { return &m.Tensor8 }, []string{bytes}, rate(bytes)},
	{"MmaSync16", "bf16 by mma.sync", func(m *target.Machine) *float64 { return &m.MmaSync16 }, []string{bf16, bf16ByMma}, part(bf16, bf16ByMma)},
	{"MmaSync32", "f32 by mma.sync", func(m *target.Machine) *float64 { return &m.MmaSync32 }, []string{f32, f32ByMma}, part(f32, f32ByMma)},
	{"OneWarpgroup", "bf16, a block of four warps on each multiprocessor", func(m *target.Machine) *float64 { return &m.OneWarpgroup }, []string{bf16, oneWarpgroup}, part(bf16, oneWarpgroup)},
}

// moved is the bytes of a copy of so many elements of f32: read and written.
func moved(n int64) float64 { return 2 * 4 * float64(n) }

// rate is the operations a second of a product.
func rate(of string) func(map[string]float64, target.Machine) float64 {
	return func(t map[string]float64, _ target.Machine) float64 {
		return 2 * float64(side) * float64(side) * float64(side) / t[of]
	}
}

// part is which part of the rate of one product another reaches.
func part(whole, of string) func(map[string]float64, target.Machine) float64 {
	return func(t map[string]float64, _ target.Machine) float64 { return t[whole] / t[of] }
}
