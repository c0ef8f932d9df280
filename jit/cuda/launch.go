package cuda

import (
	"fmt"
	"math"
	"unsafe"
)

// A Dim3 is an extent in three dimensions. Y and Z may be left zero, for one.
type Dim3 struct{ X, Y, Z uint32 }

func (d Dim3) filled() Dim3 {
	d.Y, d.Z = max(d.Y, 1), max(d.Z, 1)
	return d
}

// String is the three counts, as 2×3×1.
func (d Dim3) String() string { return fmt.Sprintf("%d×%d×%d", d.X, d.Y, d.Z) }

// A LaunchConfig says how a kernel is started.
type LaunchConfig struct {
	Grid   Dim3 // blocks
	Block  Dim3 // threads a block
	Shared int  // bytes of dynamic shared memory a block

	// Cluster is the shape of a thread-block cluster, a divisor of Grid; zero for
	// none, or for what the kernel itself requires.
	Cluster Dim3
	// Programmatic lets the kernel start before the one ahead of it in the stream
	// has ended; it waits by griddepcontrol.wait.
	Programmatic bool
	// Cooperative guarantees that all blocks run at once, for a barrier over the
	// grid. The launch fails when they do not fit.
	Cooperative bool
	// Passing is memory whose lines leave the L2 before others, for what the kernel reads once: the attribute is the access policy window
	// of the CUDA documentation. It is nothing for copies by the tensor memory accelerator. At most Device.MostPassing bytes; the zero value is none.
	Passing Passing
}

// Passing is so many bytes of memory from an address on.
type Passing struct {
	From  Ptr
	Bytes int
}

func (c LaunchConfig) extended() bool {
	return c.Cluster != Dim3{} || c.Programmatic || c.Cooperative || c.Passing != Passing{}
}

// The attributes of a launch (CUlaunchAttributeID).
const (
	attrAccessPolicy = 1
	attrCooperative  = 2
	attrCluster      = 4
	attrProgrammatic = 6
)

// launchAttribute is CUlaunchAttribute: a number and a union of 64 bytes.
type launchAttribute struct {
	id    uint32
	_     uint32
	value [16]uint32
}

// launchExtended is CUlaunchConfig with room for its attributes behind it.
type launchExtended struct {
	grid, block Dim3
	shared      uint32
	_           uint32
	stream      handle
	attrs       *launchAttribute
	n           uint32
	_           uint32

	storage [4]launchAttribute
}

func (x *launchExtended) add(id uint32, value ...uint32) {
	a := &x.storage[x.n]
	a.id = id
	copy(a.value[:], value)
	x.n++
}

// extend makes the driver's form of a configuration with attributes.
func (c LaunchConfig) extend(s handle) *launchExtended {
	x := &launchExtended{grid: c.Grid.filled(), block: c.Block.filled(), shared: uint32(c.Shared), stream: s}
	x.attrs = &x.storage[0]
	if c.Cluster != (Dim3{}) {
		k := c.Cluster.filled()
		x.add(attrCluster, k.X, k.Y, k.Z)
	}
	if c.Programmatic {
		x.add(attrProgrammatic, 1)
	}
	if c.Cooperative {
		x.add(attrCooperative, 1)
	}
	if p := c.Passing; p != (Passing{}) {
		const normal, streaming = 0, 1 // CUaccessProperty
		// CUaccessPolicyWindow: all accesses of it are hits.
		x.add(attrAccessPolicy, uint32(p.From), uint32(p.From>>32), uint32(p.Bytes), uint32(p.Bytes>>32), math.Float32bits(1), streaming, normal)
	}
	return x
}

// Launch queues a kernel. Dynamic shared memory beyond 48 KiB is opted in to as
// needed. The parameters are compared with the kernel's signature where the driver
// can tell it (CUDA 12.4); params may be nil for a kernel without parameters.
// A fault while the kernel runs is reported by a later synchronisation.
func (s *Stream) Launch(f *Function, cfg LaunchConfig, params *Params) error {
	if f.paramsKnown {
		if err := params.match(f.params); err != nil {
			return fmt.Errorf("cannot launch kernel %q: %w", f.name, err)
		}
	}
	if err := s.ctx.enter(); err != nil {
		return err
	}
	defer s.ctx.leave()
	if err := f.allowShared(cfg.Shared); err != nil {
		return err
	}
	var err error
	if cfg.extended() {
		x := cfg.extend(s.handle)
		err = s.ctx.driver.lib.do(cuLaunchKernelEx, uintptr(unsafe.Pointer(x)),
			uintptr(f.handle), uintptr(params.pointers()), 0)
	} else {
		err = s.ctx.driver.bind.launch(f.handle, cfg.Grid.filled(), cfg.Block.filled(), cfg.Shared, s.handle, params)
	}
	if err != nil {
		return withDetail(err, "kernel %q, grid %v, block %v, cluster %v, %d bytes of dynamic shared memory",
			f.name, cfg.Grid.filled(), cfg.Block.filled(), cfg.Cluster.filled(), cfg.Shared)
	}
	return nil
}

// ActiveClusters is how many clusters of the configuration run on the device at a
// time; its grid does not matter.
func (f *Function) ActiveClusters(cfg LaunchConfig) (int, error) {
	if err := f.ctx.enter(); err != nil {
		return 0, err
	}
	defer f.ctx.leave()
	if err := f.allowShared(cfg.Shared); err != nil {
		return 0, err
	}
	var n int32
	x := cfg.extend(0)
	err := f.ctx.driver.lib.do(cuOccupancyMaxActiveClusters,
		uintptr(unsafe.Pointer(&n)), uintptr(f.handle), uintptr(unsafe.Pointer(x)))
	return int(n), withDetail(err, "kernel %q", f.name)
}
