package cuda

// ExternalStream is a stream that another library made in the device's primary context, by its CUstream. It is not to be closed here.
func (c *Context) ExternalStream(stream uintptr) *Stream {
	return &Stream{ctx: c, handle: handle(stream)}
}
