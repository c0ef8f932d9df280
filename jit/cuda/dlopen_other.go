//go:build !linux

package cuda

import (
	"fmt"
	"runtime"
)

func openLibrary() (*library, error) {
	return nil, fmt.Errorf("the driver is reached on linux only, this is %s", runtime.GOOS)
}
