//go:build !linux || nodriver

package cuda

import (
	"errors"
	"fmt"
	"runtime"
)

// errNoDriver says why this build reaches no driver. With the tag nodriver the
// program opens no library, so that it needs none: it is static.
func errNoDriver(what string) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%s is reached on linux only, this is %s", what, runtime.GOOS)
	}
	return errors.New(what + " is left out of this build, which was made with -tags nodriver")
}

func openLibrary() (*library, error) { return nil, errNoDriver("the driver") }

func openCompilerLibrary() (func(name string) uintptr, error) {
	return nil, errNoDriver("the driver's compiler")
}

func loadLibrary(string) (*library, error) { return openLibrary() }

// call is of functions of a library, and no library can be opened.
func call(uintptr, ...uintptr) int32 { panic("a function of a library that was not opened") }
