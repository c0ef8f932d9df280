package cuda

import (
	"fmt"
	"strings"
	"unsafe"
)

// A handle is an object of the driver: a context, module, function, stream,
// event or graph. Zero is none, or the default stream.
type handle uintptr

// A symbol is a driver function that is reached at run time.
type symbol int

const (
	cuInit symbol = iota
	cuGetErrorName
	cuGetErrorString
	cuDriverGetVersion
	cuDeviceGet
	cuDeviceGetCount
	cuDeviceGetName
	cuDeviceGetUuid
	cuDeviceGetAttribute
	cuDeviceTotalMem
	cuDevicePrimaryCtxRetain
	cuDevicePrimaryCtxRelease
	cuCtxGetCurrent
	cuCtxSetCurrent
	cuCtxSynchronize
	cuModuleLoadDataEx
	cuModuleUnload
	cuModuleGetFunction
	cuModuleGetGlobal
	cuFuncGetAttribute
	cuFuncSetAttribute
	cuFuncGetParamInfo
	cuOccupancyMaxActiveBlocksPerMultiprocessor
	cuOccupancyMaxActiveClusters
	cuMemGetInfo
	cuMemAlloc
	cuMemFree
	cuMemAllocAsync
	cuMemFreeAsync
	cuMemHostAlloc
	cuMemFreeHost
	cuMemcpyHtoD
	cuMemcpyDtoH
	cuMemcpyDtoD
	cuMemcpyHtoDAsync
	cuMemcpyDtoHAsync
	cuMemcpyDtoDAsync
	cuMemsetD8
	cuMemsetD32
	cuMemsetD8Async
	cuMemsetD32Async
	cuStreamCreate
	cuStreamDestroy
	cuStreamSynchronize
	cuStreamWaitEvent
	cuStreamBeginCapture
	cuStreamEndCapture
	cuStreamIsCapturing
	cuEventCreate
	cuEventDestroy
	cuEventRecord
	cuEventRecordWithFlags
	cuEventSynchronize
	cuEventElapsedTime
	cuLaunchKernel
	cuLaunchKernelEx
	cuGraphInstantiate
	cuGraphGetNodes
	cuGraphLaunch
	cuGraphDestroy
	cuGraphExecDestroy
	cuTensorMapEncodeTiled
	numSymbols
)

// symbolNames are the exported names. The header renames a function whose
// signature changed (cuMemAlloc is cuMemAlloc_v2); who looks symbols up has to
// ask for the renamed one.
var symbolNames = [numSymbols]string{
	cuInit:                    "cuInit",
	cuGetErrorName:            "cuGetErrorName",
	cuGetErrorString:          "cuGetErrorString",
	cuDriverGetVersion:        "cuDriverGetVersion",
	cuDeviceGet:               "cuDeviceGet",
	cuDeviceGetCount:          "cuDeviceGetCount",
	cuDeviceGetName:           "cuDeviceGetName",
	cuDeviceGetUuid:           "cuDeviceGetUuid",
	cuDeviceGetAttribute:      "cuDeviceGetAttribute",
	cuDeviceTotalMem:          "cuDeviceTotalMem_v2",
	cuDevicePrimaryCtxRetain:  "cuDevicePrimaryCtxRetain",
	cuDevicePrimaryCtxRelease: "cuDevicePrimaryCtxRelease_v2",
	cuCtxGetCurrent:           "cuCtxGetCurrent",
	cuCtxSetCurrent:           "cuCtxSetCurrent",
	cuCtxSynchronize:          "cuCtxSynchronize",
	cuModuleLoadDataEx:        "cuModuleLoadDataEx",
	cuModuleUnload:            "cuModuleUnload",
	cuModuleGetFunction:       "cuModuleGetFunction",
	cuModuleGetGlobal:         "cuModuleGetGlobal_v2",
	cuFuncGetAttribute:        "cuFuncGetAttribute",
	cuFuncSetAttribute:        "cuFuncSetAttribute",
	cuFuncGetParamInfo:        "cuFuncGetParamInfo",
	cuOccupancyMaxActiveBlocksPerMultiprocessor: "cuOccupancyMaxActiveBlocksPerMultiprocessor",
	cuOccupancyMaxActiveClusters:                "cuOccupancyMaxActiveClusters",
	cuMemGetInfo:                                "cuMemGetInfo_v2",
	cuMemAlloc:                                  "cuMemAlloc_v2",
	cuMemFree:                                   "cuMemFree_v2",
	cuMemAllocAsync:                             "cuMemAllocAsync",
	cuMemFreeAsync:                              "cuMemFreeAsync",
	cuMemHostAlloc:                              "cuMemHostAlloc",
	cuMemFreeHost:                               "cuMemFreeHost",
	cuMemcpyHtoD:                                "cuMemcpyHtoD_v2",
	cuMemcpyDtoH:                                "cuMemcpyDtoH_v2",
	cuMemcpyDtoD:                                "cuMemcpyDtoD_v2",
	cuMemcpyHtoDAsync:                           "cuMemcpyHtoDAsync_v2",
	cuMemcpyDtoHAsync:                           "cuMemcpyDtoHAsync_v2",
	cuMemcpyDtoDAsync:                           "cuMemcpyDtoDAsync_v2",
	cuMemsetD8:                                  "cuMemsetD8_v2",
	cuMemsetD32:                                 "cuMemsetD32_v2",
	cuMemsetD8Async:                             "cuMemsetD8Async",
	cuMemsetD32Async:                            "cuMemsetD32Async",
	cuStreamCreate:                              "cuStreamCreate",
	cuStreamDestroy:                             "cuStreamDestroy_v2",
	cuStreamSynchronize:                         "cuStreamSynchronize",
	cuStreamWaitEvent:                           "cuStreamWaitEvent",
	cuStreamBeginCapture:                        "cuStreamBeginCapture_v2",
	cuStreamEndCapture:                          "cuStreamEndCapture",
	cuStreamIsCapturing:                         "cuStreamIsCapturing",
	cuEventCreate:                               "cuEventCreate",
	cuEventDestroy:                              "cuEventDestroy_v2",
	cuEventRecord:                               "cuEventRecord",
	cuEventRecordWithFlags:                      "cuEventRecordWithFlags",
	cuEventSynchronize:                          "cuEventSynchronize",
	cuEventElapsedTime:                          "cuEventElapsedTime",
	cuLaunchKernel:                              "cuLaunchKernel",
	cuLaunchKernelEx:                            "cuLaunchKernelEx",
	cuGraphInstantiate:                          "cuGraphInstantiateWithFlags",
	cuGraphGetNodes:                             "cuGraphGetNodes",
	cuGraphLaunch:                               "cuGraphLaunch",
	cuGraphDestroy:                              "cuGraphDestroy",
	cuGraphExecDestroy:                          "cuGraphExecDestroy",
	cuTensorMapEncodeTiled:                      "cuTensorMapEncodeTiled",
}

// A library is the driver's shared library, with its functions looked up. It
// stays loaded until the process ends.
type library struct {
	address [numSymbols]uintptr // 0 where this driver lacks the function
}

// lookUp fills a library from a symbol look-up that gives 0 for what is missing.
func lookUp(find func(name string) uintptr) *library {
	lib := new(library)
	for s, name := range symbolNames {
		lib.address[s] = find(name)
	}
	return lib
}

// has says whether the driver is new enough to have a function.
func (l *library) has(s symbol) bool { return l.address[s] != 0 }

// call calls a driver function. A pointer is passed by converting it in the call
// itself, uintptr(unsafe.Pointer(p)): the directive keeps what it points to on the
// heap and alive until the call returns.
//
//go:uintptrescapes
func (l *library) call(s symbol, args ...uintptr) Code {
	if l.address[s] == 0 {
		return NotFound
	}
	return Code(call(l.address[s], args...))
}

// do calls a driver function and turns its result into an error.
//
//go:uintptrescapes
func (l *library) do(s symbol, args ...uintptr) error {
	if l.address[s] == 0 {
		return l.missing(s)
	}
	if r := Code(call(l.address[s], args...)); r != Success {
		return l.check(symbolNames[s], r)
	}
	return nil
}

func (l *library) missing(s symbol) error {
	return &Error{
		Code:        NotFound,
		Name:        "CUDA_ERROR_NOT_FOUND",
		Description: "the installed driver is too old to have it",
		Call:        symbolNames[s],
	}
}

// check makes an error of a result, with the driver's own words for it.
func (l *library) check(call string, c Code) error {
	if c == Success {
		return nil
	}
	return &Error{
		Code:        c,
		Name:        l.text(cuGetErrorName, c),
		Description: l.text(cuGetErrorString, c),
		Call:        call,
	}
}

// text asks the driver for a string about a result; empty when it knows none.
func (l *library) text(s symbol, c Code) string {
	var p unsafe.Pointer
	if l.call(s, uintptr(c), uintptr(unsafe.Pointer(&p))) != Success {
		return ""
	}
	return goString(p)
}

// goString copies a NUL-terminated string; nil is empty.
func goString(p unsafe.Pointer) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// errNotFound says where the driver library was looked for.
func errNotFound(names []string, cause error) error {
	return fmt.Errorf("the driver library was not found, looked for %s: %w", strings.Join(names, ", "), cause)
}
