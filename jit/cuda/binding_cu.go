//go:build cu

package cuda

import (
	"reflect"
	"runtime"
	"time"
	"unsafe"

	"gorgonia.org/cu"
)

// Implementation names what this build reaches the driver with.
const Implementation = "gorgonia.org/cu"

// newBinding chooses the implementation of this build. Importing gorgonia.org/cu
// initialises the driver before main and ends the process where there is none, so
// this build is for machines with a GPU only.
func newBinding(lib *library) binding { return gorgonia{lib} }

// gorgonia is the binding through gorgonia.org/cu. That package hides the driver's
// handles in structures of one pointer each; [wrap] and [unwrap] see through them.
type gorgonia struct{ lib *library }

// wrap makes a handle one of the package's structures.
func wrap[T cu.CUContext | cu.Module | cu.Function | cu.Stream | cu.Event](h handle) T {
	return *(*T)(unsafe.Pointer(&h))
}

// unwrap is the inverse of wrap.
func unwrap[T cu.CUContext | cu.Module | cu.Function | cu.Stream | cu.Event](v T) handle {
	return *(*handle)(unsafe.Pointer(&v))
}

// check makes an [*Error] of an error of the package, whose type is an integer
// that it does not export.
func (g gorgonia) check(s symbol, err error) error {
	if err == nil {
		return nil
	}
	code := Code(999) // CUDA_ERROR_UNKNOWN
	if v := reflect.ValueOf(err); v.CanInt() {
		code = Code(v.Int())
	}
	return g.lib.check(symbolNames[s], code)
}

func (g gorgonia) driverVersion() (int, error) { return cu.Version(), nil }

func (g gorgonia) deviceCount() (int, error) {
	n, err := cu.NumDevices()
	return n, g.check(cuDeviceGetCount, err)
}

func (g gorgonia) device(ordinal int) (int32, error) {
	d, err := cu.GetDevice(ordinal)
	return int32(d), g.check(cuDeviceGet, err)
}

func (g gorgonia) deviceName(dev int32) (string, error) {
	name, err := cu.Device(dev).Name()
	return name, g.check(cuDeviceGetName, err)
}

func (g gorgonia) deviceUUID(dev int32) (UUID, error) {
	u, err := cu.Device(dev).UUID()
	return UUID(u), g.check(cuDeviceGetUuid, err)
}

func (g gorgonia) deviceMemory(dev int32) (uint64, error) {
	n, err := cu.Device(dev).TotalMem()
	return uint64(n), g.check(cuDeviceTotalMem, err)
}

func (g gorgonia) deviceAttribute(attribute, dev int32) (int, error) {
	v, err := cu.Device(dev).Attribute(cu.DeviceAttribute(attribute))
	return v, g.check(cuDeviceGetAttribute, err)
}

func (g gorgonia) retainContext(dev int32) (handle, error) {
	ctx, err := cu.Device(dev).RetainPrimaryCtx()
	return unwrap(ctx), g.check(cuDevicePrimaryCtxRetain, err)
}

func (g gorgonia) releaseContext(dev int32) error {
	return g.check(cuDevicePrimaryCtxRelease, cu.Device(dev).ReleasePrimaryCtx())
}

func (g gorgonia) setCurrent(ctx handle) error {
	return g.check(cuCtxSetCurrent, cu.SetCurrentContext(wrap[cu.CUContext](ctx)))
}

func (g gorgonia) synchronize() error { return g.check(cuCtxSynchronize, cu.Synchronize()) }

func (g gorgonia) loadModule(image []byte, opts CompileOptions) (handle, string, error) {
	info, fault := make([]byte, logSize), make([]byte, logSize)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&info[0])
	pin.Pin(&fault[0])
	m, err := cu.LoadDataEx(string(image), opts.options(info, fault)...)
	return unwrap(m), joinLogs(info, fault), g.check(cuModuleLoadDataEx, err)
}

// options are what [CompileOptions.encode] gives, in the package's terms.
func (o CompileOptions) options(info, fault []byte) []cu.JITOption {
	list := []cu.JITOption{
		&cu.JITInfoLogBuffer{Buffer: info},
		&cu.JITErrorLogBuffer{Buffer: fault},
	}
	if o.MaxRegisters > 0 {
		list = append(list, &cu.JITMaxRegisters{Value: uint(o.MaxRegisters)})
	}
	if o.OptLevel > 0 {
		list = append(list, &cu.JITOptimizationLevel{Value: uint(o.OptLevel)})
	}
	if o.Debug {
		list = append(list, &cu.JITGenerateDebugInfo{Enabled: true})
	}
	if o.LineInfo {
		list = append(list, &cu.JITGenerateLineInfo{Enabled: true})
	}
	if o.Verbose {
		list = append(list, &cu.JITLogVerbose{Enabled: true})
	}
	return list
}

func (g gorgonia) unloadModule(m handle) error {
	return g.check(cuModuleUnload, wrap[cu.Module](m).Unload())
}

func (g gorgonia) function(m handle, name string) (handle, error) {
	f, err := wrap[cu.Module](m).Function(name)
	return unwrap(f), g.check(cuModuleGetFunction, err)
}

func (g gorgonia) global(m handle, name string) (Ptr, int, error) {
	p, size, err := wrap[cu.Module](m).Global(name)
	return Ptr(p), int(size), g.check(cuModuleGetGlobal, err)
}

func (g gorgonia) functionAttribute(f handle, a Attribute) (int, error) {
	v, err := wrap[cu.Function](f).Attribute(cu.FunctionAttribute(a))
	return v, g.check(cuFuncGetAttribute, err)
}

func (g gorgonia) memInfo() (free, total uint64, err error) {
	f, t, err := cu.MemInfo()
	return uint64(f), uint64(t), g.check(cuMemGetInfo, err)
}

func (g gorgonia) alloc(size int) (Ptr, error) {
	p, err := cu.MemAlloc(int64(size))
	return Ptr(p), g.check(cuMemAlloc, err)
}

func (g gorgonia) free(p Ptr) error { return g.check(cuMemFree, cu.MemFree(cu.DevicePtr(p))) }

func (g gorgonia) copyToDevice(dst Ptr, src unsafe.Pointer, size int) error {
	return g.check(cuMemcpyHtoD, cu.MemcpyHtoD(cu.DevicePtr(dst), src, int64(size)))
}

func (g gorgonia) copyToHost(dst unsafe.Pointer, src Ptr, size int) error {
	return g.check(cuMemcpyDtoH, cu.MemcpyDtoH(dst, cu.DevicePtr(src), int64(size)))
}

func (g gorgonia) copyOnDevice(dst, src Ptr, size int) error {
	return g.check(cuMemcpyDtoD, cu.MemcpyDtoD(cu.DevicePtr(dst), cu.DevicePtr(src), int64(size)))
}

func (g gorgonia) copyToDeviceAsync(dst Ptr, src unsafe.Pointer, size int, s handle) error {
	return g.check(cuMemcpyHtoDAsync, cu.MemcpyHtoDAsync(cu.DevicePtr(dst), src, int64(size), wrap[cu.Stream](s)))
}

func (g gorgonia) copyToHostAsync(dst unsafe.Pointer, src Ptr, size int, s handle) error {
	return g.check(cuMemcpyDtoHAsync, cu.MemcpyDtoHAsync(dst, cu.DevicePtr(src), int64(size), wrap[cu.Stream](s)))
}

func (g gorgonia) copyOnDeviceAsync(dst, src Ptr, size int, s handle) error {
	return g.check(cuMemcpyDtoDAsync, cu.MemcpyDtoDAsync(cu.DevicePtr(dst), cu.DevicePtr(src), int64(size), wrap[cu.Stream](s)))
}

func (g gorgonia) fill8(dst Ptr, value byte, n int) error {
	return g.check(cuMemsetD8, cu.MemsetD8(cu.DevicePtr(dst), value, int64(n)))
}

func (g gorgonia) fill8Async(dst Ptr, value byte, n int, s handle) error {
	return g.check(cuMemsetD8Async, cu.MemsetD8Async(cu.DevicePtr(dst), value, int64(n), wrap[cu.Stream](s)))
}

func (g gorgonia) fill32Async(dst Ptr, value uint32, n int, s handle) error {
	return g.check(cuMemsetD32Async, cu.MemsetD32Async(cu.DevicePtr(dst), uint(value), int64(n), wrap[cu.Stream](s)))
}

func (g gorgonia) newStream() (handle, error) {
	s, err := cu.MakeStream(cu.StreamFlags(streamDefault))
	return unwrap(s), g.check(cuStreamCreate, err)
}

func (g gorgonia) destroyStream(s handle) error {
	stream := wrap[cu.Stream](s)
	return g.check(cuStreamDestroy, stream.Destroy())
}

func (g gorgonia) syncStream(s handle) error {
	return g.check(cuStreamSynchronize, wrap[cu.Stream](s).Synchronize())
}

func (g gorgonia) waitEvent(s, e handle) error {
	return g.check(cuStreamWaitEvent, wrap[cu.Stream](s).Wait(wrap[cu.Event](e), 0))
}

func (g gorgonia) newEvent(timing bool) (handle, error) {
	e, err := cu.MakeEvent(cu.EventFlags(eventFlags(timing)))
	return unwrap(e), g.check(cuEventCreate, err)
}

func (g gorgonia) destroyEvent(e handle) error {
	event := wrap[cu.Event](e)
	return g.check(cuEventDestroy, cu.DestroyEvent(&event))
}

func (g gorgonia) record(e, s handle) error {
	return g.check(cuEventRecord, wrap[cu.Event](e).Record(wrap[cu.Stream](s)))
}

func (g gorgonia) syncEvent(e handle) error {
	return g.check(cuEventSynchronize, wrap[cu.Event](e).Synchronize())
}

func (g gorgonia) elapsed(start, end handle) (time.Duration, error) {
	ms, err := wrap[cu.Event](start).Elapsed(wrap[cu.Event](end))
	return milliseconds(ms), g.check(cuEventElapsedTime, err)
}

// launch goes through the package where it can: it copies eight bytes of every
// parameter, which a tensor map or a structure exceeds.
func (g gorgonia) launch(f handle, grid, block Dim3, shared int, s handle, p *Params) error {
	if !p.words() {
		return direct{g.lib}.launch(f, grid, block, shared, s, p)
	}
	return g.check(cuLaunchKernel, wrap[cu.Function](f).Launch(
		int(grid.X), int(grid.Y), int(grid.Z), int(block.X), int(block.Y), int(block.Z),
		shared, wrap[cu.Stream](s), p.addresses()))
}
