package cuda

import (
	"time"
	"unsafe"
)

// A binding makes the driver calls that every implementation has. There are two:
// calls through the library opened at run time (the default), and gorgonia.org/cu
// under the build tag "cu". Calls that only the run-time library offers (function
// attributes, launch attributes, graphs, tensor maps, pinned and stream-ordered
// memory) are made through [library] in both builds.
//
// Methods that touch a device's objects are called with the context current on
// the calling thread. Errors are [*Error].
type binding interface {
	driverVersion() (int, error)
	deviceCount() (int, error)
	device(ordinal int) (int32, error)
	deviceName(dev int32) (string, error)
	deviceUUID(dev int32) (UUID, error)
	deviceMemory(dev int32) (uint64, error)
	deviceAttribute(attribute, dev int32) (int, error)

	retainContext(dev int32) (handle, error)
	releaseContext(dev int32) error
	setCurrent(ctx handle) error
	synchronize() error

	// loadModule takes a NUL-terminated PTX text or a cubin. The log holds the
	// compiler's remarks, and on an error its complaints.
	loadModule(image []byte, opts CompileOptions) (module handle, log string, err error)
	unloadModule(module handle) error
	function(module handle, name string) (handle, error)
	global(module handle, name string) (Ptr, int, error)
	functionAttribute(f handle, attribute Attribute) (int, error)

	memInfo() (free, total uint64, err error)
	alloc(size int) (Ptr, error)
	free(p Ptr) error
	copyToDevice(dst Ptr, src unsafe.Pointer, size int) error
	copyToHost(dst unsafe.Pointer, src Ptr, size int) error
	copyOnDevice(dst, src Ptr, size int) error
	copyToDeviceAsync(dst Ptr, src unsafe.Pointer, size int, s handle) error
	copyToHostAsync(dst unsafe.Pointer, src Ptr, size int, s handle) error
	copyOnDeviceAsync(dst, src Ptr, size int, s handle) error
	fill8(dst Ptr, value byte, n int) error
	fill8Async(dst Ptr, value byte, n int, s handle) error
	fill32Async(dst Ptr, value uint32, n int, s handle) error

	newStream() (handle, error)
	destroyStream(s handle) error
	syncStream(s handle) error
	waitEvent(s, e handle) error

	newEvent(timing bool) (handle, error)
	destroyEvent(e handle) error
	record(e, s handle) error
	syncEvent(e handle) error
	elapsed(start, end handle) (time.Duration, error)

	// launch starts a kernel without launch attributes.
	launch(f handle, grid, block Dim3, shared int, s handle, p *Params) error
}

// milliseconds converts the driver's unit of time.
func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
