package cuda

import "unsafe"

// A Graph is captured work, ready to be replayed by one call.
type Graph struct {
	ctx   *Context
	exec  handle
	nodes int
}

// captureRelaxed is the only mode that does not tie a capture to one thread of the
// operating system, which Go's goroutines are not tied to either.
const captureRelaxed = 2

// Capture runs fn, which queues work on the stream, and returns that work as a
// graph instead of doing it. Work on other streams joins through events. Modules
// have to be loaded and memory allocated before, and the synchronous calls of
// [Context] must not be made meanwhile: they would break the capture.
func (s *Stream) Capture(fn func() error) (*Graph, error) {
	if err := s.BeginCapture(); err != nil {
		return nil, err
	}
	failed := fn()
	g, err := s.EndCapture() // also when fn failed: the stream must leave the capture
	if failed != nil {
		if err == nil {
			err = g.Close()
		}
		return nil, failed
	}
	return g, err
}

// BeginCapture starts to record what is queued on the stream instead of running
// it; EndCapture must follow. See [Stream.Capture].
func (s *Stream) BeginCapture() error {
	if err := s.ctx.enter(); err != nil {
		return err
	}
	defer s.ctx.leave()
	return s.ctx.driver.lib.do(cuStreamBeginCapture, uintptr(s.handle), captureRelaxed)
}

// Capturing reports whether what is queued on the stream is recorded instead of done.
func (s *Stream) Capturing() (bool, error) {
	if err := s.ctx.enter(); err != nil {
		return false, err
	}
	defer s.ctx.leave()
	var status uint32 // 0: none; 1: it is recorded; 2: it was, and the recording is broken
	if err := s.ctx.driver.lib.do(cuStreamIsCapturing, uintptr(s.handle), uintptr(unsafe.Pointer(&status))); err != nil {
		return false, err
	}
	return status != 0, nil
}

// EndCapture ends the recording and makes it ready to run.
func (s *Stream) EndCapture() (*Graph, error) {
	if err := s.ctx.enter(); err != nil {
		return nil, err
	}
	defer s.ctx.leave()
	lib := s.ctx.driver.lib
	var template handle
	if err := lib.do(cuStreamEndCapture, uintptr(s.handle), uintptr(unsafe.Pointer(&template))); err != nil {
		return nil, err
	}
	// The executable graph is a copy: the recording is not needed any more.
	defer lib.call(cuGraphDestroy, uintptr(template))
	g := &Graph{ctx: s.ctx}
	var nodes uint64
	if err := lib.do(cuGraphGetNodes, uintptr(template), 0, uintptr(unsafe.Pointer(&nodes))); err != nil {
		return nil, err
	}
	g.nodes = int(nodes)
	if err := lib.do(cuGraphInstantiate, uintptr(unsafe.Pointer(&g.exec)), uintptr(template), 0); err != nil {
		return nil, err
	}
	return g, nil
}

// Nodes is the number of kernels, copies and fills in the graph.
func (g *Graph) Nodes() int { return g.nodes }

// Launch queues the whole graph on a stream.
func (g *Graph) Launch(s *Stream) error {
	if err := s.ctx.enter(); err != nil {
		return err
	}
	defer s.ctx.leave()
	return s.ctx.driver.lib.do(cuGraphLaunch, uintptr(g.exec), uintptr(s.handle))
}

// Close destroys the graph; a replay in flight still completes.
func (g *Graph) Close() error {
	if err := g.ctx.enter(); err != nil {
		return err
	}
	defer g.ctx.leave()
	return g.ctx.driver.lib.do(cuGraphExecDestroy, uintptr(g.exec))
}
