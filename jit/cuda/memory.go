package cuda

import (
	"fmt"
	"unsafe"
)

// A Ptr is an address in device memory; offsets are added as to any integer.
type Ptr uint64

// String is the address in hexadecimal.
func (p Ptr) String() string { return fmt.Sprintf("%#x", uint64(p)) }

// Bytes is the memory of a slice of numbers, for copying.
func Bytes[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}

// MemInfo says how many bytes of device memory are free, and how many there are.
func (c *Context) MemInfo() (free, total uint64, err error) {
	if err := c.enter(); err != nil {
		return 0, 0, err
	}
	defer c.leave()
	return c.driver.bind.memInfo()
}

// Alloc allocates device memory of a size in bytes, aligned to at least 256. The
// content is undetermined. Where there is too little, the error is [OutOfMemory].
func (c *Context) Alloc(size int) (Ptr, error) {
	if size <= 0 {
		return 0, fmt.Errorf("cannot allocate %d bytes of device memory: the size must be positive", size)
	}
	if err := c.enter(); err != nil {
		return 0, err
	}
	defer c.leave()
	p, err := c.driver.bind.alloc(size)
	return p, withDetail(err, "%d bytes", size)
}

// Free releases device memory. It waits for work that may use it.
func (c *Context) Free(p Ptr) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	return withDetail(c.driver.bind.free(p), "address %v", p)
}

// CopyToDevice copies host memory to the device. It is ordered after the work
// already queued on every stream of the context, and before what follows.
func (c *Context) CopyToDevice(dst Ptr, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	err := c.driver.bind.copyToDevice(dst, unsafe.Pointer(&src[0]), len(src))
	return withDetail(err, "%d bytes to %v", len(src), dst)
}

// CopyToHost copies device memory to the host and waits for it. It is ordered as
// CopyToDevice is.
func (c *Context) CopyToHost(dst []byte, src Ptr) error {
	if len(dst) == 0 {
		return nil
	}
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	err := c.driver.bind.copyToHost(unsafe.Pointer(&dst[0]), src, len(dst))
	return withDetail(err, "%d bytes from %v", len(dst), src)
}

// CopyOnDevice copies size bytes between two places in device memory.
func (c *Context) CopyOnDevice(dst, src Ptr, size int) error {
	if size == 0 {
		return nil
	}
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	return withDetail(c.driver.bind.copyOnDevice(dst, src, size), "%d bytes from %v to %v", size, src, dst)
}

// Fill sets n bytes of device memory to a value.
func (c *Context) Fill(dst Ptr, value byte, n int) error {
	if n == 0 {
		return nil
	}
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	return withDetail(c.driver.bind.fill8(dst, value, n), "%d bytes at %v", n, dst)
}

// hostPortable makes pinned memory usable from every context.
const hostPortable = 1

// AllocHost allocates pinned host memory: copies to and from it run at full
// speed and without the host. FreeHost releases it; the collector does not.
func (c *Context) AllocHost(size int) ([]byte, error) {
	if size <= 0 {
		return nil, fmt.Errorf("cannot allocate %d bytes of pinned memory: the size must be positive", size)
	}
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	var p unsafe.Pointer
	err := c.driver.lib.do(cuMemHostAlloc, uintptr(unsafe.Pointer(&p)), uintptr(size), hostPortable)
	if err != nil {
		return nil, withDetail(err, "%d bytes", size)
	}
	return unsafe.Slice((*byte)(p), size), nil
}

// FreeHost releases memory of AllocHost, given the same slice.
func (c *Context) FreeHost(b []byte) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	return c.driver.lib.do(cuMemFreeHost, uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}

// Alloc allocates device memory in the order of the stream, from the driver's
// pool: cheap, and free of the device-wide wait that [Context.Free] makes. Free on
// a stream releases it.
func (s *Stream) Alloc(size int) (Ptr, error) {
	if size <= 0 {
		return 0, fmt.Errorf("cannot allocate %d bytes of device memory: the size must be positive", size)
	}
	if err := s.ctx.enter(); err != nil {
		return 0, err
	}
	defer s.ctx.leave()
	var p Ptr
	err := s.ctx.driver.lib.do(cuMemAllocAsync, uintptr(unsafe.Pointer(&p)), uintptr(size), uintptr(s.handle))
	return p, withDetail(err, "%d bytes", size)
}

// Free releases memory of [Stream.Alloc] once the stream gets there.
func (s *Stream) Free(p Ptr) error {
	if err := s.ctx.enter(); err != nil {
		return err
	}
	defer s.ctx.leave()
	err := s.ctx.driver.lib.do(cuMemFreeAsync, uintptr(p), uintptr(s.handle))
	return withDetail(err, "address %v", p)
}

// CopyToDevice queues a copy. Ordinary Go memory is read before the call returns;
// pinned memory is read when the stream gets there, so it must stay as it is until
// then. A captured copy must be from pinned memory, for each replay reads it again.
func (s *Stream) CopyToDevice(dst Ptr, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	if err := s.ctx.enter(); err != nil {
		return err
	}
	defer s.ctx.leave()
	err := s.ctx.driver.bind.copyToDeviceAsync(dst, unsafe.Pointer(&src[0]), len(src), s.handle)
	return withDetail(err, "%d bytes to %v", len(src), dst)
}

// CopyToHost queues a copy. For ordinary Go memory the call waits until the
// content is there; for pinned memory it returns at once, and the content is there
// once the stream has been synchronised. A captured copy must be to pinned memory.
func (s *Stream) CopyToHost(dst []byte, src Ptr) error {
	if len(dst) == 0 {
		return nil
	}
	if err := s.ctx.enter(); err != nil {
		return err
	}
	defer s.ctx.leave()
	err := s.ctx.driver.bind.copyToHostAsync(unsafe.Pointer(&dst[0]), src, len(dst), s.handle)
	return withDetail(err, "%d bytes from %v", len(dst), src)
}

// CopyOnDevice queues a copy of size bytes within device memory.
func (s *Stream) CopyOnDevice(dst, src Ptr, size int) error {
	if size == 0 {
		return nil
	}
	if err := s.ctx.enter(); err != nil {
		return err
	}
	defer s.ctx.leave()
	err := s.ctx.driver.bind.copyOnDeviceAsync(dst, src, size, s.handle)
	return withDetail(err, "%d bytes from %v to %v", size, src, dst)
}

// Fill queues setting n bytes to a value.
func (s *Stream) Fill(dst Ptr, value byte, n int) error {
	if n == 0 {
		return nil
	}
	if err := s.ctx.enter(); err != nil {
		return err
	}
	defer s.ctx.leave()
	return withDetail(s.ctx.driver.bind.fill8Async(dst, value, n, s.handle), "%d bytes at %v", n, dst)
}

// Fill32 queues setting n 32-bit words to a value; dst is a multiple of 4.
func (s *Stream) Fill32(dst Ptr, value uint32, n int) error {
	if n == 0 {
		return nil
	}
	if err := s.ctx.enter(); err != nil {
		return err
	}
	defer s.ctx.leave()
	return withDetail(s.ctx.driver.bind.fill32Async(dst, value, n, s.handle), "%d words at %v", n, dst)
}
