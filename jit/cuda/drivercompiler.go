package cuda

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// The driver's own PTX compiler lies in a library beside it, which exports the
// PTX Compiler API (nvPTXCompilerCreate and so on: "PTX Compiler APIs" in the
// CUDA documentation, there for the static library; seen exported by driver
// 580). It gives machine code that can be kept, which cuModuleLoadData does
// not. A driver without the symbols is used through cuModuleLoadData.

// compilerLibraries are tried in order, like libraryNames.
var compilerLibraries = []string{
	"libnvidia-ptxjitcompiler.so.1",
	"/usr/local/nvidia/lib64/libnvidia-ptxjitcompiler.so.1",
	"/usr/lib/wsl/lib/libnvidia-ptxjitcompiler.so.1",
}

// DriverCompiler makes cubins with the driver's own PTX compiler. It is safe for concurrent use.
type DriverCompiler struct {
	create, compile, destroy uintptr
	program, programSize     uintptr
	errorLog, errorSize      uintptr
	infoLog, infoSize        uintptr
	driverVersion            int
}

// FindDriverCompiler looks for the compiler beside the driver.
func (d *Driver) FindDriverCompiler() (*DriverCompiler, error) {
	lookUp, err := openCompilerLibrary()
	if err != nil {
		return nil, err
	}
	c := &DriverCompiler{driverVersion: d.Version()}
	for name, at := range map[string]*uintptr{
		"Create": &c.create, "Compile": &c.compile, "Destroy": &c.destroy,
		"GetCompiledProgram": &c.program, "GetCompiledProgramSize": &c.programSize,
		"GetErrorLog": &c.errorLog, "GetErrorLogSize": &c.errorSize,
		"GetInfoLog": &c.infoLog, "GetInfoLogSize": &c.infoSize,
	} {
		if *at = lookUp("nvPTXCompiler" + name); *at == 0 {
			return nil, fmt.Errorf("the driver's PTX compiler has no nvPTXCompiler%s", name)
		}
	}
	return c, nil
}

// Version tells compilers apart, for keys of caches.
func (c *DriverCompiler) Version() string { return fmt.Sprintf("driver %d", c.driverVersion) }

// Compile makes a cubin for a target, as in "sm_90a". The log is what the
// compiler said; when it fails, the error has it too.
func (c *DriverCompiler) Compile(_ context.Context, ptx []byte, target string, opts CompileOptions) (cubin []byte, log string, err error) {
	if err := opts.check(); err != nil {
		return nil, "", err
	}
	text := append(bytes.Clone(ptx), 0)
	var h uintptr
	if r := call(c.create, uintptr(unsafe.Pointer(&h)), uintptr(len(text)), uintptr(unsafe.Pointer(&text[0]))); r != 0 {
		return nil, "", fmt.Errorf("nvPTXCompilerCreate failed with %d", r)
	}
	defer call(c.destroy, uintptr(unsafe.Pointer(&h)))
	var keep runtime.Pinner
	defer keep.Unpin()
	flags := opts.flags(target)
	pointers := make([]uintptr, len(flags))
	for i, f := range flags {
		b := append([]byte(f), 0)
		keep.Pin(&b[0])
		pointers[i] = uintptr(unsafe.Pointer(&b[0]))
	}
	r := call(c.compile, h, uintptr(len(pointers)), uintptr(unsafe.Pointer(unsafe.SliceData(pointers))))
	runtime.KeepAlive(text)
	if r != 0 {
		log = c.text(h, c.errorLog, c.errorSize)
		return nil, log, fmt.Errorf("the driver's PTX compiler for %s failed with %d: %s", target, r, log)
	}
	log = c.text(h, c.infoLog, c.infoSize)
	var n uintptr
	if r := call(c.programSize, h, uintptr(unsafe.Pointer(&n))); r != 0 || n == 0 {
		return nil, log, fmt.Errorf("nvPTXCompilerGetCompiledProgramSize failed with %d, %d bytes", r, n)
	}
	cubin = make([]byte, n)
	if r := call(c.program, h, uintptr(unsafe.Pointer(&cubin[0]))); r != 0 {
		return nil, log, fmt.Errorf("nvPTXCompilerGetCompiledProgram failed with %d", r)
	}
	return cubin, log, nil
}

// text reads one of the compiler's logs.
func (c *DriverCompiler) text(h, get, size uintptr) string {
	var n uintptr
	if call(size, h, uintptr(unsafe.Pointer(&n))) != 0 || n == 0 {
		return ""
	}
	b := make([]byte, n+1)
	if call(get, h, uintptr(unsafe.Pointer(&b[0]))) != 0 {
		return ""
	}
	b, _, _ = bytes.Cut(b, []byte{0})
	return strings.TrimSpace(string(b))
}
