package backend

import (
	"fmt"
	"strings"
)

// MemoryError says that a device has too little memory for what is asked for.
type MemoryError struct {
	// Need is what is asked for, in bytes, Have what the device has in all, and Free what of it is left; 0 for what is not known.
	Need, Have, Free int64
	// Err is what the driver said; nil where nobody was asked.
	Err error
}

// Error has the numbers that are known.
func (e *MemoryError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cannot allocate %d bytes", e.Need)
	if e.Have > 0 {
		fmt.Fprintf(&b, ": the device has %d", e.Have)
		if e.Free > 0 {
			fmt.Fprintf(&b, ", of which %d are free", e.Free)
		}
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap is what the driver said.
func (e *MemoryError) Unwrap() error { return e.Err }
