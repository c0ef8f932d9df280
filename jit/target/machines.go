package target

// machines is one row a machine: the CPU, then GPUs, the oldest first. Figures of a data sheet are those of the
// vendor's for the chip that is named; what a device itself tells (multiprocessors, shared memory, registers, the
// L2's size) replaces the row's on that device.
var machines = []Machine{
	// Two cores, whatever the machine has, and a cache of a core's own as is common.
	{Name: "cpu", Limits: Limits{SMs: 2, L2Size: 1 << 20}, HostTimes: hostTimes},

	// A100 of 40 GB. Limits and rates: its data sheet. DRAM: nine tenths of the sheet's 1.555 TB/s, as large copies
	// reach. L2: assumed, not measured.
	{
		Name: "sm_80", compute: 80, PTX: 70, has: MmaSync | MmaF64 | CpAsync,
		Limits: Limits{SMs: 108, SharedPerBlock: 166912, RegistersPerSM: 65536, WarpsPerBlock: 32, ThreadsPerSM: 2048, BlocksPerSM: 32, L2Size: 40 << 20},
		Rates:  Rates{DRAM: 1.4e12, L2: 4e12, Tensor8: 624e12, Tensor16: 312e12, Tensor32: 156e12, Tensor64: 19.5e12, FMA32: 19.5e12, Clock: 1.41e9},
		Times:  gpuTimes.launchedIn(2.5e-6),
	},

	// The chip GA102, of which RTX 3090 and RTX A6000 are. Limits: the table of compute capabilities of the CUDA
	// programming guide. Rates: the data sheets', rounded. DRAM: nine tenths of 768 GB/s. L2: assumed, not measured.
	{
		Name: "sm_86", compute: 86, PTX: 71, has: MmaSync | CpAsync,
		Limits: Limits{SMs: 84, SharedPerBlock: 101376, RegistersPerSM: 65536, WarpsPerBlock: 32, ThreadsPerSM: 1536, BlocksPerSM: 16, L2Size: 6 << 20},
		Rates:  Rates{DRAM: 0.7e12, L2: 3e12, Tensor8: 284e12, Tensor16: 142e12, Tensor32: 35e12, FMA32: 35e12, Clock: 1.7e9},
		Times:  gpuTimes.launchedIn(2.5e-6),
	},

	// RTX 4090. Limits: the table of compute capabilities of the CUDA programming guide. Rates: its data sheet.
	// DRAM: 94 of 100 of the sheet's 1.008 TB/s. L2: assumed, not measured. (It converts pairs of f8e4m3 too, from PTX 8.1 on; nothing uses that yet.)
	{
		Name: "sm_89", compute: 89, PTX: 78, has: MmaSync | CpAsync,
		Limits: Limits{SMs: 128, SharedPerBlock: 101376, RegistersPerSM: 65536, WarpsPerBlock: 32, ThreadsPerSM: 1536, BlocksPerSM: 24, L2Size: 72 << 20},
		Rates:  Rates{DRAM: 0.95e12, L2: 5e12, Tensor8: 660e12, Tensor16: 330e12, Tensor32: 82e12, FMA32: 82e12, Clock: 2.5e9},
		Times:  gpuTimes.launchedIn(2.5e-6),
	},

	// H200. Limits: the device's own. Measured on it: DRAM (a device copy, 4,282 GB/s), L2Boxes (blocks that read the same
	// tiles by the TMA), Tensor16 and Tensor32 (products), MmaSync16, MmaSync32, OneWarpgroup, Turned8 (8192x4096x4096: 288 us of i8 and 280 of f8, of which 275 and 240 multiply), Launch. The other rates: its data sheet. Groups: those of
	// the chip; 128 blocks in clusters of 4 took as long as two waves, so such clusters do not fill 128 of the 132 multiprocessors.
	{
		Name: "sm_90a", compute: 90, only: true, PTX: 80,
		has:    MmaSync | MmaF64 | LongMmaF64 | CpAsync | Wgmma | TMA | Clusters | VectorAtomics | ConvertPairsE4M3 | DependentLaunch,
		Limits: Limits{SMs: 132, SharedPerBlock: 232448, RegistersPerSM: 65536, WarpsPerBlock: 32, ThreadsPerSM: 2048, BlocksPerSM: 32, Groups: 8, L2Size: 60 << 20},
		Rates: Rates{
			DRAM: 4.28e12, L2: 7e12, L2Boxes: 12.5e12, Tensor8: 1600e12, Tensor16: 800e12, Tensor32: 430e12, Tensor64: 67e12, FMA32: 67e12,
			MmaSync16: 0.5, MmaSync32: 0.4, OneWarpgroup: 0.88, Turned8: 0.7, Clock: 1.98e9,
		},
		Times: gpuTimes.launchedIn(2.1e-6).behindOthers(1.1e-6),
	},

	// RTX 5090, which has the matrix instructions of sm_80 and no wgmma. Limits: the table of compute capabilities of the
	// CUDA programming guide. Rates: its data sheet, products added up in f32. DRAM: 94 of 100 of the sheet's 1.792 TB/s.
	// L2: assumed, not measured. (It has the TMA and clusters too; what we do with them rests on wgmma.)
	{
		Name: "sm_120", compute: 120, PTX: 87, has: MmaSync | CpAsync,
		Limits: Limits{SMs: 170, SharedPerBlock: 101376, RegistersPerSM: 65536, WarpsPerBlock: 32, ThreadsPerSM: 1536, BlocksPerSM: 24, L2Size: 96 << 20},
		Rates:  Rates{DRAM: 1.68e12, L2: 6e12, Tensor8: 419e12, Tensor16: 209e12, Tensor32: 104e12, FMA32: 104e12, Clock: 2.4e9},
		Times:  gpuTimes.launchedIn(2.5e-6),
	},
}

// gpuTimes is what the GPUs share but for the time of a launch. The latencies and the overheads are estimates that were
// set right where runs on an H200 disagreed with them; bytes a clock, lanes and sectors are those of the architectures'
// documents (of sm_86 and later; sm_80 has half as many lanes). The times and bytes of clusters are
// estimates: their barriers and reads have not been measured by themselves; SendLatency is one too, of what a step of GPT-2 took longer with two meetings a layer (an H100: 0.3 us, and some of
// that was the loop's). ReduceLatency is by how much a norm in the blocks
// of a product made these longer, on an H200; StageLatency and ExchangeLatency
// are estimates (barriers, a write and a read of shared memory between them). TurnTime and TurnoverTime fit products of bf16 on an
// H200: two teams of 128x192 with a bias, by PTX written by hand, 59.0 us (8192x768x3072) and 53.9 (8192x3072x768); two blocks of 128x128 a multiprocessor 55.3,
// 66.0, 106.3, 188.2 us where the rest of the model has 46, 58, 99 and 185. TurnTime is a tenth
// more than these say, for teams with tiles of 128 positions by 64 channels are 6 to 10 % faster than with 64 by 64 in pointwise convolutions that the memory bounds.
// RoundedBytesPerClock has 20 of 29 products of f32 by mma.sync within a quarter of what an H200 took, whatever their tiles.
var gpuTimes = Times{
	LoadLatency: 0.7e-6, StepOverhead: 10e-9, DispatchTime: 0.4e-9, BlockOverhead: 0.5e-6,
	L2BytesPerClock: 64, SharedBytesPerClock: 128, RoundedBytesPerClock: 45, Lanes: 128, SectorBytes: 32,
	JoinLatency: 1e-6, SendLatency: 0.35e-6, RemoteBytesPerClock: 32, ReduceLatency: 0.6e-6, PartLatency: 0.3e-6, StageLatency: 0.3e-6, ExchangeLatency: 0.1e-6, TurnTime: 0.44e-6, TurnoverTime: 1.2e-6,
}

// behindOthers is the times of a machine with dependent launches. (H200, `tilec run --trace`: 0.45 to 0.6 us from the end of a launch
// until the next goes on, and 0.5 to 0.7 us of work at least.)
func (t Times) behindOthers(seconds float64) Times {
	t.DependentLaunch = seconds
	return t
}

func (t Times) launchedIn(seconds float64) Times {
	t.Launch = seconds
	return t
}

// hostTimes are coarse: they were set by a few runs on one machine, so that they order the candidates.
var hostTimes = HostTimes{
	OpOverhead: 150e-9, ElementTime: 0.5e-9, FlopTime: 1.0 / 80e9, PackTime: 0.1e-9, RunTime: 4e-9,
	ColdFactor: 3, RemoteFactor: 6, RemoteSets: 16, Alone: 20e-6, BlocksPerCore: 4,
}
