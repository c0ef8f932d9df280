//go:build !unix

package safetensors

// load reads the file at path; there is nothing to undo.
func load(path string) ([]byte, func() error, error) { return readWhole(path) }
