// Package dense says how many bytes a dense, row-major tensor takes.
package dense

import (
	"fmt"
	"math"
	"math/bits"

	"tilec/lang"
)

// Bytes is the size in bytes of a dense tensor of the given element type and
// shape; an empty shape is a scalar. An invalid type, a negative dimension,
// a size past the address space and elements of a packed type that do not fill bytes are errors. Zero dimensions do not hide an
// overflow of the others, so that no partial product of an accepted shape
// overflows either.
func Bytes(d lang.DType, shape []int) (int, error) {
	if d == lang.Invalid {
		return 0, fmt.Errorf("no element type is given")
	}
	size, count, empty := uint64(d.Size()), int64(1), false
	for i, n := range shape {
		if n < 0 {
			return 0, fmt.Errorf("dimension %d of shape %v is %d, required 0 or more", i, shape, n)
		}
		if n == 0 {
			empty = true
			continue
		}
		hi, lo := bits.Mul64(size, uint64(n))
		if hi != 0 || lo > math.MaxInt {
			return 0, fmt.Errorf("shape %v of %s takes more than the %d bytes that can be addressed", shape, d, math.MaxInt)
		}
		size, count = lo, count*int64(n)
	}
	if empty {
		return 0, nil
	}
	if !d.WholeAt(count) {
		return 0, fmt.Errorf("shape %v of %s ends within a byte, and a file holds whole ones: give it an even number of elements, or convert to %s", shape, d, d.WholeBytes())
	}
	return int(d.Bytes(count)), nil
}
