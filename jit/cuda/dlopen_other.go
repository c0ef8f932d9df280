//go:build !linux

package cuda

import (
	"fmt"
	"runtime"
)

func openLibrary() (*library, error) {
	return nil, fmt.Errorf("the driver is reached on linux only, this is %s", runtime.GOOS)
}

func openCompilerLibrary() (func(name string) uintptr, error) {
	return nil, fmt.Errorf("the driver's compiler is reached on linux only, this is %s", runtime.GOOS)
}
