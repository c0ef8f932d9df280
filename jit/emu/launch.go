package emu

import (
	"context"
	"fmt"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"

	"tilec/jit/bug"
	"tilec/jit/emu/number"
	"tilec/jit/emu/race"
	"tilec/jit/emu/syntax"
)

// Options change how a launch runs; the zero value is good.
type Options struct {
	// Workers is how many blocks run at once; 0 for one a core.
	Workers int
	// MaxSteps is after how many warp instructions a launch counts as running for ever; 0 for 2^34.
	MaxSteps int64
	// First is the number of the first block, or of the first block of a cluster, that runs: those before it
	// do not. A test looks at the end of a large launch so.
	First int
	// Context ends the launch when it is done, with its cause as the error; nil for never.
	Context context.Context
	// Progress, where it is set, is called when blocks have ended, with how many have; by several goroutines at once.
	Progress func(blocks int64)
	// Profile counts traffic, sectors and bank conflicts by access, which takes time.
	Profile bool
	// Cluster is the shape of a cluster in blocks, where the kernel does not say it itself.
	Cluster [3]int
	// TensorMaps are the tensor maps among the parameters, by the parameter's name;
	// the bytes of such a parameter do not matter.
	TensorMaps map[string]*TensorMap
	// Registers is how many registers a thread has, where an assembler told; the
	// figure of occupancy needs it.
	Registers int
	// Unfinished is memory that the launches before may still write or read: a thread touches it behind its
	// griddepcontrol.wait.
	Unfinished []Range
	// Seed orders asynchronous operations: they end at random moments drawn from it,
	// or as late as they can when it is 0.
	Seed int64
}

// A Range is global memory: an address and a number of bytes.
type Range struct{ Address, Bytes uint64 }

// Limits of a launch.
const (
	maxBlockThreads = 1024
	defaultSteps    = 1 << 34
)

type launch struct {
	kernel      *Kernel
	grid, block [3]int
	dynamic     int // bytes of dynamic shared memory
	params      []byte
	memory      *Memory
	options     Options
	variables   map[*syntax.Variable]uint64 // addresses of .global and .const variables
	findings    findings
	traces      race.Traces
	steps       atomic.Int64
	ended       atomic.Bool // the context is done
	serial      int64
	began       uint64                // when, in steps: see Memory
	cluster     [3]int                // blocks of a cluster by axis
	maps        map[uint64]*TensorMap // by offset in the parameter space
}

var launches atomic.Int64

// Launch runs a kernel over a grid of blocks, each of block threads with dynamic
// bytes of dynamic shared memory. params is the parameter space as Kernel.Params
// lays it out. What is wrong with the program is in the report's findings; the
// error is about the launch itself.
func Launch(m *Module, entry string, grid, block [3]int, dynamic int, params []byte, memory *Memory, options Options) (*Report, error) {
	k := m.Kernels[entry]
	if k == nil {
		return nil, fmt.Errorf("the module has no kernel %q", entry)
	}
	l := &launch{kernel: k, grid: grid, block: block, dynamic: dynamic, params: params, memory: memory, options: options}
	if err := l.check(); err != nil {
		return nil, fmt.Errorf("launching %s: %w", entry, err)
	}
	if l.options.MaxSteps == 0 {
		l.options.MaxSteps = defaultSteps
	}
	l.serial, l.began = launches.Add(1), memory.elapsed.Load()
	l.findings.seen = map[findingKey]int{}
	release, err := l.place(m)
	if err != nil {
		return nil, err
	}
	defer release()

	if ctx := options.Context; ctx != nil {
		defer context.AfterFunc(ctx, func() { l.ended.Store(true) })()
	}
	blocks := grid[0] * grid[1] * grid[2]
	clusters := blocks / l.clusterSize()
	workers := options.Workers
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	report := &Report{Blocks: blocks, Threads: block[0] * block[1] * block[2], Registers: k.Registers}
	counts := make([]siteCount, len(k.code))
	var next, done atomic.Int64
	done.Store(int64(options.First))
	next.Store(int64(options.First / l.clusterSize()))
	var mu sync.Mutex
	var group sync.WaitGroup
	var failed atomic.Pointer[bug.Error]
	for range min(workers, clusters) {
		group.Go(func() {
			defer func() {
				if r := recover(); r != nil { // the emulator's own mistake: the launch ends, not the process
					b := bug.Recovered("emulator", r)
					failed.CompareAndSwap(nil, b)
				}
			}()
			c := newCluster(l)
			for {
				id := int(next.Add(1)) - 1
				if id >= clusters || failed.Load() != nil || l.ended.Load() {
					break
				}
				c.start(id)
				c.run()
				if n := done.Add(int64(l.clusterSize())); options.Progress != nil {
					options.Progress(n)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for _, b := range c.blocks {
				for i := range counts {
					counts[i].add(&b.counts[i])
				}
				report.Shared = len(b.shared.data)
				memory.elapsed.Store(max(memory.elapsed.Load(), b.time()))
			}
		})
	}
	group.Wait()
	if b := failed.Load(); b != nil {
		b.Kernel = entry
		return nil, b
	}
	if l.ended.Load() {
		return nil, fmt.Errorf("kernel %s: %w", entry, context.Cause(options.Context))
	}
	report.fill(k, counts)
	report.Occupancy = k.occupancy(report.Threads, report.Shared, options.Registers)
	report.Findings = l.findings.list
	sort.SliceStable(report.Findings, func(i, j int) bool { return report.Findings[i].PTXLine < report.Findings[j].PTXLine })
	return report, nil
}

func (l *launch) check() error {
	k := l.kernel
	blocks := 1
	for i := range 3 {
		if l.grid[i] < 1 || l.grid[i] > 1<<31-1 || l.block[i] < 1 {
			return fmt.Errorf("the grid is %v and the block %v, each needs at least 1", l.grid, l.block)
		}
		if blocks *= l.grid[i]; blocks > 1<<40 {
			return fmt.Errorf("the grid has more than %d blocks", 1<<40)
		}
	}
	threads := l.block[0] * l.block[1] * l.block[2]
	if threads > maxBlockThreads || max(l.block[0], l.block[1], l.block[2]) > maxBlockThreads {
		return fmt.Errorf("%d threads a block, at most %d are possible", threads, maxBlockThreads)
	}
	if most := k.MaxThreads[0] * k.MaxThreads[1] * k.MaxThreads[2]; most > 0 && threads > most {
		return fmt.Errorf("%d threads a block, and .maxntid allows %d", threads, most)
	}
	if k.Threads[0] > 0 && l.block != k.Threads {
		return fmt.Errorf("the block is %v, and .reqntid demands %v", l.block, k.Threads)
	}
	on := k.machine()
	if n := max(k.MaxRegisters, l.options.Registers); n > 0 && number.AlignUp(n, registerUnit)*number.AlignUp(threads, warpSize) > on.RegistersPerSM {
		return fmt.Errorf("%d threads of %d registers, a multiprocessor has %d registers", threads, n, on.RegistersPerSM)
	}
	if l.dynamic < 0 || k.Dynamic+l.dynamic > on.SharedPerBlock {
		return fmt.Errorf("%d bytes of shared memory, at most %d are possible", k.Dynamic+l.dynamic, on.SharedPerBlock)
	}
	if len(l.params) != k.ParamSize {
		return fmt.Errorf("%d bytes of parameters, need %d", len(l.params), k.ParamSize)
	}
	if err := l.checkCluster(); err != nil {
		return err
	}
	return l.checkTensorMaps()
}

// place gives the module's variables addresses for the launch.
func (l *launch) place(m *Module) (release func(), err error) {
	l.variables = map[*syntax.Variable]uint64{}
	for _, v := range m.text.Globals {
		at, err := l.memory.Alloc(int64(v.Size))
		if err != nil {
			return nil, err
		}
		if err := l.memory.Write(at, v.Data); err != nil {
			return nil, err
		}
		l.variables[v] = at
	}
	return func() {
		for _, at := range l.variables {
			l.memory.Free(at)
		}
	}, nil
}

// spend counts instructions and tells whether they are too many.
func (l *launch) spend(n int) bool { return l.steps.Add(int64(n)) > l.options.MaxSteps }
