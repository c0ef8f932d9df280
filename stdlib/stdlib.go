// Package stdlib holds the standard library: `.tile` sources, embedded in the binary.
package stdlib

import "embed"

// FS has a file a module: `import "std/nn"` is nn.tile.
//
//go:embed *.tile
var FS embed.FS
