package cuda

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// CompileOptions steer the compilation of PTX. Everything but Verbose is ignored
// for a cubin. The zero value compiles with full optimisation.
type CompileOptions struct {
	MaxRegisters int  // a thread; 0 leaves it to the compiler
	OptLevel     int  // 1 to 4; 0 means 4
	Debug        bool // full debug information; switches optimisation off
	LineInfo     bool // line table for profilers and sanitizers, from .loc
	Verbose      bool // registers, spills and wgmma warnings in the log
}

// The driver's numbers for its compiler options (CUjit_option).
const (
	jitMaxRegisters int32 = 0
	jitInfoLog      int32 = 3
	jitInfoLogSize  int32 = 4
	jitErrorLog     int32 = 5
	jitErrorLogSize int32 = 6
	jitOptLevel     int32 = 7
	jitDebugInfo    int32 = 11
	jitVerbose      int32 = 12
	jitLineInfo     int32 = 13
	logSize               = 64 << 10 // bytes for each of the compiler's two logs
	maxOptLevel           = 4
)

// encode gives the parallel arrays of cuModuleLoadDataEx. A value is a scalar or
// an address in the width of a pointer. The collector does not see such an address,
// so the caller pins the logs.
func (o CompileOptions) encode(info, fault []byte) (options []int32, values []uintptr) {
	add := func(option int32, value uintptr) {
		options = append(options, option)
		values = append(values, value)
	}
	add(jitInfoLog, uintptr(unsafe.Pointer(&info[0])))
	add(jitInfoLogSize, uintptr(len(info)))
	add(jitErrorLog, uintptr(unsafe.Pointer(&fault[0])))
	add(jitErrorLogSize, uintptr(len(fault)))
	if o.MaxRegisters > 0 {
		add(jitMaxRegisters, uintptr(o.MaxRegisters))
	}
	if o.OptLevel > 0 {
		add(jitOptLevel, uintptr(o.OptLevel))
	}
	if o.Debug {
		add(jitDebugInfo, 1)
	}
	if o.LineInfo {
		add(jitLineInfo, 1)
	}
	if o.Verbose {
		add(jitVerbose, 1)
	}
	return options, values
}

func (o CompileOptions) check() error {
	if o.OptLevel < 0 || o.OptLevel > maxOptLevel {
		return fmt.Errorf("optimisation level %d is out of range: it must be 0 (default) to %d", o.OptLevel, maxOptLevel)
	}
	if o.MaxRegisters < 0 || o.MaxRegisters > 255 {
		return fmt.Errorf("register limit %d is out of range: it must be 0 (none) to 255", o.MaxRegisters)
	}
	return nil
}

// joinLogs is the text of the two logs, each ended by a NUL.
func joinLogs(info, fault []byte) string {
	text := func(b []byte) []byte {
		b, _, _ = bytes.Cut(b, []byte{0})
		return bytes.TrimSpace(b)
	}
	return string(bytes.TrimSpace(bytes.Join([][]byte{text(fault), text(info)}, []byte("\n"))))
}

// A Module is loaded code.
type Module struct {
	ctx    *Context
	handle handle
	log    string
}

// Load loads PTX text, which the driver compiles and keeps in its own cache, or a
// cubin. When compilation fails, the error is an [*Error] whose Detail is the
// compiler's log.
func (c *Context) Load(image []byte, opts CompileOptions) (*Module, error) {
	if len(image) == 0 {
		return nil, fmt.Errorf("the module is empty: it must be PTX text or a cubin")
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	terminated := make([]byte, len(image)+1) // PTX has to end with a NUL; a cubin does not mind
	copy(terminated, image)
	h, log, err := c.driver.bind.loadModule(terminated, opts)
	if err != nil {
		return nil, withDetail(err, "%s", log)
	}
	return &Module{ctx: c, handle: h, log: log}, nil
}

// Log is what the compiler had to say; with [CompileOptions].Verbose it counts
// registers and spills. It may be empty when the driver's cache had the code.
func (m *Module) Log() string { return m.log }

// Close unloads the module; its functions must not be used afterwards.
func (m *Module) Close() error {
	if err := m.ctx.enter(); err != nil {
		return err
	}
	defer m.ctx.leave()
	return m.ctx.driver.bind.unloadModule(m.handle)
}

// Global gives the address and the size in bytes of a global variable.
func (m *Module) Global(name string) (Ptr, int, error) {
	if err := m.ctx.enter(); err != nil {
		return 0, 0, err
	}
	defer m.ctx.leave()
	p, size, err := m.ctx.driver.bind.global(m.handle, name)
	return p, size, withDetail(err, "global %q", name)
}

// A Function is a kernel of a module.
type Function struct {
	ctx    *Context
	handle handle
	name   string
	// params is the signature, where the driver can tell it (CUDA 12.4).
	params      []paramInfo
	paramsKnown bool
	// shared is the dynamic shared memory that a launch may ask for.
	shared atomic.Int64
}

// defaultShared is the dynamic shared memory that needs no opting in, in bytes.
const defaultShared = 48 << 10

// Function finds a kernel by its entry name.
func (m *Module) Function(name string) (*Function, error) {
	if err := m.ctx.enter(); err != nil {
		return nil, err
	}
	defer m.ctx.leave()
	h, err := m.ctx.driver.bind.function(m.handle, name)
	if err != nil {
		return nil, withDetail(err, "kernel %q", name)
	}
	f := &Function{ctx: m.ctx, handle: h, name: name}
	f.params, f.paramsKnown = m.ctx.driver.lib.signature(h)
	// Static and dynamic shared memory come out of the same allowance.
	static, err := m.ctx.driver.bind.functionAttribute(h, AttrStaticShared)
	if err != nil {
		return nil, withDetail(err, "kernel %q", name)
	}
	f.shared.Store(int64(max(0, defaultShared-static)))
	return f, nil
}

// signature asks for the offset and size of each parameter of a kernel. The
// driver has no call for their number: an index too far is an invalid value.
func (l *library) signature(f handle) (params []paramInfo, known bool) {
	if !l.has(cuFuncGetParamInfo) {
		return nil, false
	}
	for i := uintptr(0); ; i++ {
		var offset, size uint64
		switch l.call(cuFuncGetParamInfo, uintptr(f), i, uintptr(unsafe.Pointer(&offset)), uintptr(unsafe.Pointer(&size))) {
		case Success:
			params = append(params, paramInfo{int(offset), int(size)})
		case InvalidValue:
			return params, true
		default:
			return nil, false
		}
	}
}

// Name is the entry name.
func (f *Function) Name() string { return f.name }

// An Attribute is a property of a kernel (CUfunction_attribute).
type Attribute int32

// The attributes of a kernel; sizes are in bytes. The last two can be set.
const (
	AttrMaxThreads         Attribute = 0 // most threads a block may have
	AttrStaticShared       Attribute = 1
	AttrConstant           Attribute = 2
	AttrLocal              Attribute = 3 // a thread: spills and arrays
	AttrRegisters          Attribute = 4 // a thread
	AttrPTXVersion         Attribute = 5 // 10·major + minor
	AttrBinaryVersion      Attribute = 6 // 10·major + minor
	AttrMaxDynamicShared   Attribute = 8
	AttrNonPortableCluster Attribute = 14 // 1 allows clusters of more than 8 blocks
)

// Attribute reads a property of the kernel.
func (f *Function) Attribute(a Attribute) (int, error) {
	if err := f.ctx.enter(); err != nil {
		return 0, err
	}
	defer f.ctx.leave()
	v, err := f.ctx.driver.bind.functionAttribute(f.handle, a)
	return v, withDetail(err, "kernel %q, attribute %d", f.name, a)
}

// SetAttribute sets a property of the kernel.
func (f *Function) SetAttribute(a Attribute, value int) error {
	if err := f.ctx.enter(); err != nil {
		return err
	}
	defer f.ctx.leave()
	return f.setAttribute(a, value)
}

func (f *Function) setAttribute(a Attribute, value int) error {
	err := f.ctx.driver.lib.do(cuFuncSetAttribute, uintptr(f.handle), uintptr(a), uintptr(value))
	if err != nil {
		return withDetail(err, "kernel %q, attribute %d = %d", f.name, a, value)
	}
	if a == AttrMaxDynamicShared {
		f.shared.Store(int64(value))
	}
	return nil
}

// Resources are what the compiler gave a kernel.
type Resources struct {
	Registers    int // a thread
	Local        int // bytes a thread; not zero means spills, or arrays indexed at run time
	StaticShared int // bytes a block
	MaxThreads   int // a block, given the registers
}

// Resources reads what the kernel uses.
func (f *Function) Resources() (Resources, error) {
	var r Resources
	for _, row := range []struct {
		a Attribute
		v *int
	}{
		{AttrRegisters, &r.Registers},
		{AttrLocal, &r.Local},
		{AttrStaticShared, &r.StaticShared},
		{AttrMaxThreads, &r.MaxThreads},
	} {
		v, err := f.Attribute(row.a)
		if err != nil {
			return Resources{}, err
		}
		*row.v = v
	}
	return r, nil
}

// allowShared opts in to a size of dynamic shared memory, unless it is allowed
// already.
func (f *Function) allowShared(size int) error {
	if int64(size) <= f.shared.Load() {
		return nil
	}
	return f.setAttribute(AttrMaxDynamicShared, size)
}

// BlocksPerSM is how many blocks of a size fit on a multiprocessor at a time,
// with the given dynamic shared memory in bytes, which is opted in to as needed.
func (f *Function) BlocksPerSM(threads, shared int) (int, error) {
	if err := f.ctx.enter(); err != nil {
		return 0, err
	}
	defer f.ctx.leave()
	if err := f.allowShared(shared); err != nil {
		return 0, err
	}
	var n int32
	err := f.ctx.driver.lib.do(cuOccupancyMaxActiveBlocksPerMultiprocessor,
		uintptr(unsafe.Pointer(&n)), uintptr(f.handle), uintptr(threads), uintptr(shared))
	return int(n), withDetail(err, "kernel %q", f.name)
}
