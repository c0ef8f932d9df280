package cuda

import (
	"runtime"
	"time"
	"unsafe"
)

// direct is the binding through the library opened at run time.
type direct struct{ *library }

func (d direct) driverVersion() (int, error) {
	var v int32
	err := d.do(cuDriverGetVersion, uintptr(unsafe.Pointer(&v)))
	return int(v), err
}

func (d direct) deviceCount() (int, error) {
	var n int32
	err := d.do(cuDeviceGetCount, uintptr(unsafe.Pointer(&n)))
	return int(n), err
}

func (d direct) device(ordinal int) (int32, error) {
	var dev int32
	err := d.do(cuDeviceGet, uintptr(unsafe.Pointer(&dev)), uintptr(ordinal))
	return dev, err
}

func (d direct) deviceName(dev int32) (string, error) {
	var name [256]byte
	err := d.do(cuDeviceGetName, uintptr(unsafe.Pointer(&name)), uintptr(len(name)-1), uintptr(dev))
	return goString(unsafe.Pointer(&name)), err
}

func (d direct) deviceUUID(dev int32) (UUID, error) {
	var u UUID
	err := d.do(cuDeviceGetUuid, uintptr(unsafe.Pointer(&u)), uintptr(dev))
	return u, err
}

func (d direct) deviceMemory(dev int32) (uint64, error) {
	var n uint64
	err := d.do(cuDeviceTotalMem, uintptr(unsafe.Pointer(&n)), uintptr(dev))
	return n, err
}

func (d direct) deviceAttribute(attribute, dev int32) (int, error) {
	var v int32
	err := d.do(cuDeviceGetAttribute, uintptr(unsafe.Pointer(&v)), uintptr(attribute), uintptr(dev))
	return int(v), err
}

func (d direct) retainContext(dev int32) (handle, error) {
	var ctx handle
	err := d.do(cuDevicePrimaryCtxRetain, uintptr(unsafe.Pointer(&ctx)), uintptr(dev))
	return ctx, err
}

func (d direct) releaseContext(dev int32) error {
	return d.do(cuDevicePrimaryCtxRelease, uintptr(dev))
}

func (d direct) setCurrent(ctx handle) error { return d.do(cuCtxSetCurrent, uintptr(ctx)) }

func (d direct) synchronize() error { return d.do(cuCtxSynchronize) }

func (d direct) loadModule(image []byte, opts CompileOptions) (handle, string, error) {
	info, fault := make([]byte, logSize), make([]byte, logSize)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&info[0])
	pin.Pin(&fault[0])
	options, values := opts.encode(info, fault)
	var m handle
	err := d.do(cuModuleLoadDataEx, uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&image[0])),
		uintptr(len(options)), uintptr(unsafe.Pointer(&options[0])), uintptr(unsafe.Pointer(&values[0])))
	return m, joinLogs(info, fault), err
}

func (d direct) unloadModule(m handle) error { return d.do(cuModuleUnload, uintptr(m)) }

func (d direct) function(m handle, name string) (handle, error) {
	cname := append([]byte(name), 0)
	var f handle
	err := d.do(cuModuleGetFunction, uintptr(unsafe.Pointer(&f)), uintptr(m), uintptr(unsafe.Pointer(&cname[0])))
	return f, err
}

func (d direct) global(m handle, name string) (Ptr, int, error) {
	cname := append([]byte(name), 0)
	var p Ptr
	var size uint64
	err := d.do(cuModuleGetGlobal, uintptr(unsafe.Pointer(&p)), uintptr(unsafe.Pointer(&size)),
		uintptr(m), uintptr(unsafe.Pointer(&cname[0])))
	return p, int(size), err
}

func (d direct) functionAttribute(f handle, a Attribute) (int, error) {
	var v int32
	err := d.do(cuFuncGetAttribute, uintptr(unsafe.Pointer(&v)), uintptr(a), uintptr(f))
	return int(v), err
}

func (d direct) memInfo() (free, total uint64, err error) {
	err = d.do(cuMemGetInfo, uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	return free, total, err
}

func (d direct) alloc(size int) (Ptr, error) {
	var p Ptr
	err := d.do(cuMemAlloc, uintptr(unsafe.Pointer(&p)), uintptr(size))
	return p, err
}

func (d direct) free(p Ptr) error { return d.do(cuMemFree, uintptr(p)) }

func (d direct) copyToDevice(dst Ptr, src unsafe.Pointer, size int) error {
	return d.do(cuMemcpyHtoD, uintptr(dst), uintptr(src), uintptr(size))
}

func (d direct) copyToHost(dst unsafe.Pointer, src Ptr, size int) error {
	return d.do(cuMemcpyDtoH, uintptr(dst), uintptr(src), uintptr(size))
}

func (d direct) copyOnDevice(dst, src Ptr, size int) error {
	return d.do(cuMemcpyDtoD, uintptr(dst), uintptr(src), uintptr(size))
}

func (d direct) copyToDeviceAsync(dst Ptr, src unsafe.Pointer, size int, s handle) error {
	return d.do(cuMemcpyHtoDAsync, uintptr(dst), uintptr(src), uintptr(size), uintptr(s))
}

func (d direct) copyToHostAsync(dst unsafe.Pointer, src Ptr, size int, s handle) error {
	return d.do(cuMemcpyDtoHAsync, uintptr(dst), uintptr(src), uintptr(size), uintptr(s))
}

func (d direct) copyOnDeviceAsync(dst, src Ptr, size int, s handle) error {
	return d.do(cuMemcpyDtoDAsync, uintptr(dst), uintptr(src), uintptr(size), uintptr(s))
}

func (d direct) fill8(dst Ptr, value byte, n int) error {
	return d.do(cuMemsetD8, uintptr(dst), uintptr(value), uintptr(n))
}

func (d direct) fill8Async(dst Ptr, value byte, n int, s handle) error {
	return d.do(cuMemsetD8Async, uintptr(dst), uintptr(value), uintptr(n), uintptr(s))
}

func (d direct) fill32Async(dst Ptr, value uint32, n int, s handle) error {
	return d.do(cuMemsetD32Async, uintptr(dst), uintptr(value), uintptr(n), uintptr(s))
}

func (d direct) newStream() (handle, error) {
	var s handle
	err := d.do(cuStreamCreate, uintptr(unsafe.Pointer(&s)), streamDefault)
	return s, err
}

func (d direct) destroyStream(s handle) error { return d.do(cuStreamDestroy, uintptr(s)) }

func (d direct) syncStream(s handle) error { return d.do(cuStreamSynchronize, uintptr(s)) }

func (d direct) waitEvent(s, e handle) error {
	return d.do(cuStreamWaitEvent, uintptr(s), uintptr(e), 0)
}

func (d direct) newEvent(timing bool) (handle, error) {
	var e handle
	err := d.do(cuEventCreate, uintptr(unsafe.Pointer(&e)), uintptr(eventFlags(timing)))
	return e, err
}

func (d direct) destroyEvent(e handle) error { return d.do(cuEventDestroy, uintptr(e)) }

func (d direct) record(e, s handle) error { return d.do(cuEventRecord, uintptr(e), uintptr(s)) }

func (d direct) syncEvent(e handle) error { return d.do(cuEventSynchronize, uintptr(e)) }

func (d direct) elapsed(start, end handle) (time.Duration, error) {
	var ms float32
	err := d.do(cuEventElapsedTime, uintptr(unsafe.Pointer(&ms)), uintptr(start), uintptr(end))
	return milliseconds(float64(ms)), err
}

func (d direct) launch(f handle, grid, block Dim3, shared int, s handle, p *Params) error {
	return d.do(cuLaunchKernel, uintptr(f),
		uintptr(grid.X), uintptr(grid.Y), uintptr(grid.Z),
		uintptr(block.X), uintptr(block.Y), uintptr(block.Z),
		uintptr(shared), uintptr(s), uintptr(p.pointers()), 0)
}
