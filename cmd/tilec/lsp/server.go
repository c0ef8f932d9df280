// Package lsp is the language server: what an editor asks about the sources
// that are open in it, answered by the parser and the type checker.
package lsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/uri"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/jit/bug"
)

// Options is what a server needs to know of the program that it is part of.
type Options struct {
	// Version is shown to the editor.
	Version string
	// LibraryDir is the folder into which the standard library is written, so
	// that an editor can open its files; "" for none.
	LibraryDir string
	// Delay is how long the text must rest before its errors are shown.
	Delay time.Duration
	// Run runs tilec with the arguments of a command line and gives what is printed; with an error where the exit code is not
	// 0. It ends early with the context. nil offers nothing to run.
	Run func(ctx context.Context, args ...string) (output string, err error)
	// Log gets what goes wrong in the server itself; nil for nowhere.
	Log io.Writer
}

// ErrNoShutdown is that of a session which ended without the editor having asked for it.
var ErrNoShutdown = errors.New("the editor left without asking the server to shut down")

// Serve answers an editor over a stream, until it leaves.
func Serve(ctx context.Context, stream io.ReadWriteCloser, opts Options) error {
	s := newServer(opts)
	s.ahead = readAhead(patient{jsonrpc2.NewHeaderStream(stream)})
	conn := jsonrpc2.NewConn(s.ahead, jsonrpc2.WithCodec(codec{}))
	s.notify = func(ctx context.Context, method string, params any) error { return conn.Notify(ctx, method, params) }
	s.ask = func(ctx context.Context, method string, params any) error {
		_, err := conn.Call(ctx, method, params, nil)
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Requests are handled one after the other, in the order in which they were
	// sent: an answer is always about the text that the editor had.
	conn.Go(ctx, s.guarded(ctx, s.handle))
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.publishLoop(ctx)
	}()
	select {
	case <-conn.Done():
	case <-s.exit:
	case <-ctx.Done():
	}
	cancel()
	<-done
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shutdown {
		return nil
	}
	return errors.Join(ErrNoShutdown, conn.Err())
}

// patient is a stream that goes on behind a message that is none: it answers that,
// and reads the next.
type patient struct{ jsonrpc2.Stream }

// Read gives the next message that is one.
func (p patient) Read(ctx context.Context) (jsonrpc2.Message, int64, error) {
	for {
		m, n, err := p.Stream.Read(ctx)
		var wrong *jsonrpc2.Error
		if !errors.As(err, &wrong) {
			return m, n, err
		}
		if _, err := p.Write(ctx, jsonrpc2.NewResponse(jsonrpc2.ID{}, nil, wrong)); err != nil {
			return nil, 0, err
		}
	}
}

// server is the state of a session.
type server struct {
	opts Options
	// notify sends a notification to the editor.
	notify func(ctx context.Context, method string, params any) error
	// ask sends a request to the editor, and waits until it has done that.
	ask func(ctx context.Context, method string, params any) error
	// ahead knows which requests the editor has taken back.
	ahead *ahead
	exit  chan struct{}
	wake  chan struct{}

	// mu guards what follows, and is held while a request is answered.
	mu          sync.Mutex
	initialized bool
	shutdown    bool
	exiting     bool
	// snippets: the editor has places to fill in. showsDocuments: it opens what it is asked to. refreshesHints: it asks for
	// inlay hints again when it is told to.
	snippets, showsDocuments, refreshesHints bool
	docs                                     map[uri.URI]*document
	// trees are the files that are open, and those that they import, by path.
	trees map[string]*tree
	// folders are those of the workspace, and files what was read of them.
	folders []string
	files   map[string]workspaceFile
	// published is the diagnostics that the editor has of each file.
	published map[uri.URI]string
}

func newServer(opts Options) *server {
	return &server{opts: opts, docs: map[uri.URI]*document{}, trees: map[string]*tree{}, files: map[string]workspaceFile{}, published: map[uri.URI]string{}, exit: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// guarded makes an error of a panic, and answers no error to a notification:
// that would end the session.
func (s *server) guarded(session context.Context, handle jsonrpc2.Handler) jsonrpc2.Handler {
	return func(ctx context.Context, req *jsonrpc2.Request) (result any, err error) {
		// That of the request ends with the read that brought it.
		running, cancelled, end := s.ahead.begin(session, req.ID())
		defer end()
		if cancelled {
			return nil, jsonrpc2.NewError(requestCancelled, "the editor took the request back")
		}
		if req.Method() == protocol.MethodWorkspaceExecuteCommand { // it may take long, and holds up nothing
			jsonrpc2.Async(ctx)
		} else {
			s.mu.Lock()
			defer s.mu.Unlock()
		}
		defer func() {
			if r := recover(); r != nil {
				b := bug.Recovered(req.Method(), r)
				s.log("%v\n%s", b, b.Stack)
				err = jsonrpc2.NewError(jsonrpc2.ErrInternal.Code, b.Error())
			}
			if err != nil && !req.IsCall() {
				s.log("%s: %v", req.Method(), err)
				err = nil
			}
		}()
		if err := s.refuses(req); err != nil {
			return nil, err
		}
		return handle(running, req)
	}
}

// refuses is why a message is not for this time of the session: before the editor has said who it is, and after it has said goodbye.
func (s *server) refuses(req *jsonrpc2.Request) error {
	switch m := req.Method(); {
	case m == protocol.MethodExit:
		return nil
	case s.shutdown && req.IsCall():
		return jsonrpc2.NewError(jsonrpc2.ErrInvalidRequest.Code, "the server is shutting down")
	case s.initialized && m == protocol.MethodInitialize:
		return jsonrpc2.NewError(jsonrpc2.ErrInvalidRequest.Code, "the session has been initialized")
	case !s.initialized && m != protocol.MethodInitialize:
		return jsonrpc2.NewError(jsonrpc2.ServerNotInitialized, "the first request of a session is initialize")
	}
	return nil
}

func (s *server) log(format string, args ...any) {
	if s.opts.Log != nil {
		fmt.Fprintf(s.opts.Log, "tilec lsp: "+format+"\n", args...)
	}
}
