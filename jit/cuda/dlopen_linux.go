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
	var last error
	for _, name := range libraryNames {
		h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			last = err
			continue
		}
		return lookUp(func(name string) uintptr {
			p, err := purego.Dlsym(h, name)
			if err != nil {
				return 0
			}
			return p
		}), nil
	}
	return nil, errNotFound(libraryNames, last)
}
