//go:build !nodriver

package cuda

import "github.com/ebitengine/purego"

// libraryNames are tried in order: by the loader's own search, then where
// containers and WSL put the driver without telling the loader.
var libraryNames = []string{
	"libcuda.so.1",
	"/usr/local/nvidia/lib64/libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1",
}

func openLibrary() (*library, error) {
	var first error
	for _, name := range libraryNames {
		lib, err := loadLibrary(name)
		if err == nil {
			return lib, nil
		}
		if first == nil {
			first = err // the loader's own search says the most
		}
	}
	return nil, errNotFound(libraryNames, first)
}

func loadLibrary(name string) (*library, error) {
	h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	return lookUp(func(name string) uintptr {
		p, err := purego.Dlsym(h, name)
		if err != nil {
			return 0
		}
		return p
	}), nil
}

// openCompilerLibrary opens the library of the driver's PTX compiler and gives
// a look-up of its functions, 0 for one that it has not.
func openCompilerLibrary() (func(name string) uintptr, error) {
	var first error
	for _, name := range compilerLibraries {
		h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		return func(name string) uintptr {
			p, err := purego.Dlsym(h, name)
			if err != nil {
				return 0
			}
			return p
		}, nil
	}
	return nil, first
}

// call calls a C function that gives an int. Pointers are passed as library.call has it.
//
//go:uintptrescapes
func call(f uintptr, args ...uintptr) int32 {
	r, _, _ := purego.SyscallN(f, args...)
	return int32(r)
}
