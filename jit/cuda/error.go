package cuda

import (
	"fmt"
	"strings"
)

// A Code is a CUDA driver result (CUresult). It is an error, so that
// errors.Is(err, cuda.OutOfMemory) works.
type Code int32

// The results that callers tell apart.
const (
	Success               Code = 0
	InvalidValue          Code = 1
	OutOfMemory           Code = 2
	NoDevice              Code = 100
	InvalidImage          Code = 200
	InvalidContext        Code = 201
	NoBinaryForGPU        Code = 209
	InvalidPTX            Code = 218
	JITCompilerNotFound   Code = 221
	UnsupportedPTXVersion Code = 222
	InvalidHandle         Code = 400
	NotFound              Code = 500
	NotReady              Code = 600
	IllegalAddress        Code = 700
	LaunchOutOfResources  Code = 701
	LaunchTimeout         Code = 702
	MisalignedAddress     Code = 716
	LaunchFailed          Code = 719
	NotSupported          Code = 801
	InvalidClusterSize    Code = 912
)

// Error is the driver's number.
func (c Code) Error() string { return fmt.Sprintf("CUDA error %d", int32(c)) }

// An Error is a driver call that failed.
type Error struct {
	Code        Code
	Name        string // CUDA_ERROR_OUT_OF_MEMORY
	Description string // out of memory
	Call        string // the driver's function: cuMemAlloc_v2
	Detail      string // what was being done, or the compiler's log; may be empty
}

// Error is the call, the reason and what was asked for.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s failed: ", e.Call)
	if e.Description != "" {
		fmt.Fprintf(&b, "%s ", e.Description)
	}
	if e.Name != "" {
		fmt.Fprintf(&b, "(%s, %d)", e.Name, int32(e.Code))
	} else {
		fmt.Fprintf(&b, "(CUDA error %d)", int32(e.Code))
	}
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	return b.String()
}

// Unwrap gives the code, for errors.Is.
func (e *Error) Unwrap() error { return e.Code }

// withDetail adds to a driver error what was being done.
func withDetail(err error, format string, args ...any) error {
	if e, ok := err.(*Error); ok {
		e.Detail = fmt.Sprintf(format, args...)
	}
	return err
}
