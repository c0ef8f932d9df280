// Package cuda reaches NVIDIA GPUs through the CUDA driver.
//
// By default the driver library is opened at run time, without cgo, so that one
// binary serves machines with and without a GPU. Under the build tag "cu" the
// calls that gorgonia.org/cu covers go through it instead; both are a [binding],
// and everything exported here is written once on top of that interface.
//
//	driver, err := cuda.Open()          // says why when there is no GPU
//	ctx, err := driver.Context(0)       // the primary context of device 0
//	mod, err := ctx.Load(ptx, cuda.CompileOptions{})
//	f, err := mod.Function("add")
//	err = stream.Launch(f, cuda.LaunchConfig{Grid: cuda.Dim3{X: 8}, Block: cuda.Dim3{X: 256}}, params)
//
// Objects are released by their Close method; nothing is collected behind the
// caller's back, since the order of release matters to the driver.
package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// ErrNoDriver is wrapped by the error of [Open] where no GPU can be used.
var ErrNoDriver = errors.New("no usable CUDA driver")

// A Driver is the CUDA driver of this machine. It is safe for concurrent use.
type Driver struct {
	bind    binding
	lib     *library
	version int
	devices []Device
}

// Open finds and initialises the CUDA driver. Its error wraps [ErrNoDriver] and
// says what is missing; where the driver itself refused, it wraps an [*Error] as well.
// Without a driver it costs a few failed library look-ups.
func Open() (*Driver, error) {
	lib, err := openLibrary()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	if err := lib.check("cuInit", lib.call(cuInit, 0)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	opened.Store(lib)
	d, err := newDriver(newBinding(lib), lib)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	return d, nil
}

// newDriver reads what stays the same while the driver is open.
func newDriver(bind binding, lib *library) (*Driver, error) {
	d := &Driver{bind: bind, lib: lib}
	var err error
	if d.version, err = bind.driverVersion(); err != nil {
		return nil, err
	}
	n, err := bind.deviceCount()
	if err != nil {
		return nil, err
	}
	for i := range n {
		dev, err := readDevice(bind, i)
		if err != nil {
			return nil, err
		}
		d.devices = append(d.devices, dev)
	}
	return d, nil
}

// Version is the newest CUDA version that the driver supports, as
// 1000·major + 10·minor: 12040 is CUDA 12.4.
func (d *Driver) Version() int { return d.version }

// Devices lists the GPUs; a device's index is its ordinal.
func (d *Driver) Devices() []Device { return d.devices }

// Context retains the primary context of a device. Close releases it.
func (d *Driver) Context(ordinal int) (*Context, error) {
	if ordinal < 0 || ordinal >= len(d.devices) {
		return nil, fmt.Errorf("device %d does not exist: this machine has %d", ordinal, len(d.devices))
	}
	dev := d.devices[ordinal]
	h, err := d.bind.retainContext(dev.handle)
	if err != nil {
		return nil, err
	}
	return &Context{driver: d, device: dev, handle: h}, nil
}

// A Context owns a device's memory, modules, streams and events. Memory and
// modules are shared by everybody in the process who uses the primary context.
// It is safe for concurrent use.
//
// To CUDA, the current context is a property of the operating system's thread,
// while a goroutine may be moved to another thread between any two calls. So every
// call that needs the context pins its goroutine to the thread, makes the
// context current and unpins on return ([Context.enter]). Pinning is a counter
// and making a context current that already is takes some tens of nanoseconds,
// against about two microseconds for a launch. The alternatives are worse: a
// thread owned by the context costs two channel hand-overs a call, and setting
// it once is wrong as soon as the scheduler moves the goroutine.
type Context struct {
	driver *Driver
	device Device
	handle handle
}

// enter pins the goroutine and makes the context current; leave must follow when
// it succeeds.
func (c *Context) enter() error {
	runtime.LockOSThread()
	if err := c.driver.bind.setCurrent(c.handle); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	return nil
}

func (c *Context) leave() { runtime.UnlockOSThread() }

// opened is the library of the driver, once one is.
var opened atomic.Pointer[library]

// KeepCurrent notes which context is current to the thread, and gives a function that makes it current again, on the same thread: for work that a thread
// of somebody else's asks for, which has a context of its own, or none. Before a driver is open there is nothing to note.
func KeepCurrent() (again func()) {
	lib := opened.Load()
	var before, after handle
	if lib == nil || lib.call(cuCtxGetCurrent, uintptr(unsafe.Pointer(&before))) != Success {
		return func() {}
	}
	return func() {
		if lib.call(cuCtxGetCurrent, uintptr(unsafe.Pointer(&after))) == Success && after != before {
			lib.call(cuCtxSetCurrent, uintptr(before))
		}
	}
}

// Device is the device that the context lives on.
func (c *Context) Device() Device { return c.device }

// Driver is the driver that the context came from.
func (c *Context) Driver() *Driver { return c.driver }

// Close releases the primary context. What was made in it must not be used
// afterwards.
func (c *Context) Close() error { return c.driver.bind.releaseContext(c.device.handle) }

// Synchronize waits for all work on the device. A fault of an earlier kernel
// (an illegal address, for instance) is reported here.
func (c *Context) Synchronize() error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	return c.driver.bind.synchronize()
}
