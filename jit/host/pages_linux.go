package host

import (
	"syscall"
	"unsafe"
)

// pageSize is that of the pages that LargePages asks for.
const pageSize = 2 << 20

// LargePages asks for large pages behind memory that has not been touched: the processor then finds the addresses of a large
// array faster, and the system fills fewer pages. It is a wish, of which nothing but time depends.
func LargePages(memory []byte) {
	begin := -uintptr(unsafe.Pointer(unsafe.SliceData(memory))) & (pageSize - 1)
	if n := uintptr(len(memory)); begin < n && n-begin >= pageSize {
		_ = syscall.Madvise(memory[begin:begin+(n-begin)&^(pageSize-1)], syscall.MADV_HUGEPAGE)
	}
}
