// Package kernel types kernels and fns: signatures, axes, tiles, loads and stores, and the parts of a formula. What it proves
// of all blocks together is package blocks'. It must not know graphs.
package kernel
