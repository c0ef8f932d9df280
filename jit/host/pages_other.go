//go:build !linux

package host

// LargePages asks for large pages where the system has a way to.
func LargePages([]byte) {}
