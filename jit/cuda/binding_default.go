//go:build !cu

package cuda

// newBinding chooses the implementation of this build.
func newBinding(lib *library) binding { return direct{lib} }

// Implementation names what this build reaches the driver with.
const Implementation = "run-time library"
