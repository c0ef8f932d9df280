package lsp

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"go.lsp.dev/jsonrpc2"
)

// requestCancelled is the protocol's code for a request that the editor took back.
const requestCancelled = -32800

// mostAhead is how many messages are read before one is taken; then the editor waits.
const mostAhead = 1000

// ahead is a stream that is read while a request is answered, so that the editor can take back what it asked for and
// what has not been begun, or what runs beside the others.
type ahead struct {
	jsonrpc2.Stream
	messages chan readMessage
	closed   chan struct{}
	once     sync.Once

	mu sync.Mutex
	// asked are the requests without an answer: a channel that is closed when the editor takes one back.
	asked map[jsonrpc2.ID]*asked
}

// asked is a request without an answer.
type asked struct {
	cancelled bool
	cancel    context.CancelFunc // of one that runs; nil before
}

// readMessage is what a read of a stream gives.
type readMessage struct {
	m   jsonrpc2.Message
	n   int64
	err error
}

func readAhead(s jsonrpc2.Stream) *ahead {
	a := &ahead{Stream: s, messages: make(chan readMessage, mostAhead), closed: make(chan struct{}), asked: map[jsonrpc2.ID]*asked{}}
	go a.read()
	return a
}

func (a *ahead) read() {
	for {
		m, n, err := a.Stream.Read(context.Background())
		if err == nil {
			m = a.noted(m)
		}
		select {
		case a.messages <- readMessage{m, n, err}:
		case <-a.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// noted keeps account of a request, and of one that is taken back. It gives the message with bytes of its own: what was
// read is overwritten by the next message.
func (a *ahead) noted(m jsonrpc2.Message) jsonrpc2.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch m := m.(type) {
	case *jsonrpc2.Call:
		a.asked[m.ID()] = &asked{}
		return jsonrpc2.NewCall(m.ID(), strings.Clone(m.Method()), slices.Clone(m.Params()))
	case *jsonrpc2.Notification:
		if m.Method() == "$/cancelRequest" {
			if x := a.asked[cancelledID(m.Params())]; x != nil {
				x.cancelled = true
				if x.cancel != nil {
					x.cancel()
				}
			}
		}
		return jsonrpc2.NewNotification(strings.Clone(m.Method()), slices.Clone(m.Params()))
	case *jsonrpc2.Response:
		return jsonrpc2.NewResponse(m.ID(), slices.Clone(m.Result()), m.Err())
	}
	return m
}

// cancelledID is the request that a `$/cancelRequest` names; that of none where it names none.
func cancelledID(params []byte) jsonrpc2.ID {
	var p struct {
		ID any `json:"id"`
	}
	if err := json.Unmarshal(params, &p, lenient); err != nil {
		return jsonrpc2.ID{}
	}
	switch id := p.ID.(type) {
	case float64:
		return jsonrpc2.NewNumberID(int64(id))
	case string:
		return jsonrpc2.NewStringID(id)
	}
	return jsonrpc2.ID{}
}

// begin is the context of a request that is about to be answered, and whether the editor has taken it back already. When it
// is answered, end is to be called.
func (a *ahead) begin(ctx context.Context, id jsonrpc2.ID) (_ context.Context, cancelled bool, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if x := a.asked[id]; x != nil {
		x.cancel, cancelled = cancel, x.cancelled
	}
	return ctx, cancelled, func() {
		cancel()
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.asked, id)
	}
}

// Read gives the next message, in the order of the stream.
func (a *ahead) Read(ctx context.Context) (jsonrpc2.Message, int64, error) {
	select {
	case x := <-a.messages:
		return x.m, x.n, x.err
	case <-a.closed:
		return nil, 0, context.Canceled
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

// Close ends the reading.
func (a *ahead) Close() error {
	a.once.Do(func() { close(a.closed) })
	return a.Stream.Close()
}
