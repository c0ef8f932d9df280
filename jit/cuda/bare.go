package cuda

import (
	"fmt"
	"slices"
)

// BareCalls are the driver's functions by their addresses, and a context by its handle, for C code that launches without this package.
type BareCalls struct {
	LaunchKernel, Fill, GraphLaunch     uintptr // cuLaunchKernel, cuMemsetD8Async, cuGraphLaunch
	GetCurrent, SetCurrent              uintptr // cuCtxGetCurrent, cuCtxSetCurrent
	WaitEvent, RecordEvent, IsCapturing uintptr // cuStreamWaitEvent, cuEventRecord, cuStreamIsCapturing
	EncodeTiled                         uintptr // cuTensorMapEncodeTiled; 0 where the driver is too old for it
	Context                             uintptr // the CUcontext
}

// BareCalls gives them for launches in the context.
func (c *Context) BareCalls() (*BareCalls, error) {
	lib := c.driver.lib
	b := &BareCalls{EncodeTiled: lib.address[cuTensorMapEncodeTiled], Context: uintptr(c.handle)}
	for s, at := range map[symbol]*uintptr{
		cuLaunchKernel: &b.LaunchKernel, cuMemsetD8Async: &b.Fill, cuGraphLaunch: &b.GraphLaunch, cuCtxGetCurrent: &b.GetCurrent, cuCtxSetCurrent: &b.SetCurrent,
		cuStreamWaitEvent: &b.WaitEvent, cuEventRecord: &b.RecordEvent, cuStreamIsCapturing: &b.IsCapturing,
	} {
		if *at = lib.address[s]; *at == 0 {
			return nil, lib.missing(s)
		}
	}
	return b, nil
}

// Handle is the CUevent.
func (e *Event) Handle() uintptr { return uintptr(e.handle) }

// Handle is the CUgraphExec.
func (g *Graph) Handle() uintptr { return uintptr(g.exec) }

// A BareLaunch is a launch as data, for C code that makes it again and again without this package: the driver's objects by their handles, and the
// parameters, into which that code writes what changes from launch to launch. It can be used until the context is closed.
type BareLaunch struct {
	// Function is the CUfunction.
	Function uintptr
	// Grid counts blocks, Block the threads of one; Shared is the bytes of dynamic shared memory of a block, which are opted in to.
	Grid, Block Dim3
	Shared      int
	// Parameters are those of the kernel, packed as in its parameter space, and Offsets where in them each begins, in bytes.
	Parameters []byte
	Offsets    []int
	// Maps are the last parameters, tensor maps that are encoded for each launch.
	Maps []BareMap
}

// A BareMap is what cuTensorMapEncodeTiled is called with, but for the address.
type BareMap struct {
	TensorMapDesc
	// Of is the number of the parameter whose value is the address.
	Of int
	// SmallTensor: bit SmallTensorBit of word SmallTensorWord of the encoded map has to be cleared, which this driver sets in error.
	SmallTensor bool
}

// The bit that BareMap.SmallTensor is about, counted from the lowest one of the word of 64 bits.
const (
	SmallTensorWord = smallTensorWord
	SmallTensorBit  = smallTensorBit
)

// Bare gives a launch of the kernel as data. The launch has no attributes; behind params come maps, which are of the parameters that of counts.
func (f *Function) Bare(cfg LaunchConfig, params *Params, maps []TensorMapDesc, of []int) (*BareLaunch, error) {
	if cfg.extended() {
		return nil, fmt.Errorf("kernel %q is launched with attributes, which a bare launch has not", f.name)
	}
	if err := f.ctx.enter(); err != nil {
		return nil, err
	}
	defer f.ctx.leave()
	if err := f.allowShared(cfg.Shared); err != nil {
		return nil, err
	}
	d := f.ctx.driver
	b := &BareLaunch{Function: uintptr(f.handle), Grid: cfg.Grid.filled(), Block: cfg.Block.filled(), Shared: cfg.Shared}
	for i := range maps {
		if err := maps[i].check(); err != nil {
			return nil, err
		}
		if !d.lib.has(cuTensorMapEncodeTiled) {
			return nil, d.lib.missing(cuTensorMapEncodeTiled)
		}
		b.Maps = append(b.Maps, BareMap{maps[i], of[i], d.setsSmallTensorBit(&maps[i])})
		params.TensorMap(new(TensorMap))
	}
	if f.paramsKnown {
		if err := params.match(f.params); err != nil {
			return nil, fmt.Errorf("cannot launch kernel %q: %w", f.name, err)
		}
	}
	b.Parameters = slices.Clone(params.data)
	for _, p := range params.layout {
		b.Offsets = append(b.Offsets, p.offset)
	}
	return b, nil
}
