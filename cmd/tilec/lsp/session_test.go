package lsp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

// session is an editor that talks to a server, as bytes over two pipes. It
// knows no more of the protocol than its messages.
type session struct {
	t    *testing.T
	in   io.Writer
	ids  int
	read chan message
	// diagnostics is what the server published, by URI.
	diagnostics map[string]published
	ended       chan error
	log         *bytes.Buffer
}

type message struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

type published struct {
	URI         string       `json:"uri"`
	Version     int          `json:"version"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type diagnostic struct {
	Range    span   `json:"range"`
	Code     string `json:"code"`
	Severity int    `json:"severity"`
	Tags     []int  `json:"tags"`
	Message  string `json:"message"`
	Related  []struct {
		Location location `json:"location"`
		Message  string   `json:"message"`
	} `json:"relatedInformation"`
}

type location struct {
	URI   string `json:"uri"`
	Range span   `json:"range"`
}

type span struct {
	Start place `json:"start"`
	End   place `json:"end"`
}

type place struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

func (s span) String() string {
	return fmt.Sprintf("%d:%d-%d:%d", s.Start.Line, s.Start.Character, s.End.Line, s.End.Character)
}

type object = map[string]any

type pipes struct {
	io.Reader
	io.WriteCloser
	in io.Closer
}

func (p pipes) Close() error {
	p.in.Close()
	return p.WriteCloser.Close()
}

// start begins a session, initialised.
func start(t *testing.T) *session {
	s := begin(t)
	var result struct {
		Capabilities map[string]any
	}
	s.call("initialize", object{"processId": nil, "rootUri": nil, "capabilities": object{}}, &result)
	require.Equal(t, "utf-16", result.Capabilities["positionEncoding"])
	s.notify("initialized", object{})
	return s
}

// begin starts a server, to which nothing has been said.
func begin(t *testing.T) *session { return beginWith(t, Options{}) }

// beginWith starts a server with some options; those that every session has are set here.
func beginWith(t *testing.T, opts Options) *session {
	toServer, fromEditor := io.Pipe()
	toEditor, fromServer := io.Pipe()
	s := &session{t: t, in: fromEditor, read: make(chan message, 100), diagnostics: map[string]published{}, ended: make(chan error, 1), log: &bytes.Buffer{}}
	opts.Version, opts.LibraryDir, opts.Log = "test", t.TempDir(), s.log
	go func() {
		s.ended <- Serve(context.Background(), pipes{toServer, fromServer, toServer}, opts)
		fromServer.Close()
	}()
	go readMessages(toEditor, s.read)
	return s
}

func readMessages(from io.Reader, to chan<- message) {
	defer close(to)
	r := bufio.NewReader(from)
	for {
		header, err := textproto.NewReader(r).ReadMIMEHeader()
		if err != nil {
			return
		}
		n, _ := strconv.Atoi(header.Get("Content-Length"))
		body := make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			return
		}
		to <- m
	}
}

func (s *session) send(m object) {
	m["jsonrpc"] = "2.0"
	body, err := json.Marshal(m)
	require.NoError(s.t, err)
	s.raw(string(body))
}

// raw sends the text of a message.
func (s *session) raw(body string) {
	_, err := fmt.Fprintf(s.in, "Content-Length: %d\r\n\r\n%s", len(body), body)
	require.NoError(s.t, err)
}

func (s *session) notify(method string, params any) {
	s.send(object{"method": method, "params": params})
}

// hang is how long a test waits before it says that the server does not answer: no load takes as much.
const hang = 5 * time.Minute

// next is the next message of the server; what it publishes is noted.
func (s *session) next() message {
	select {
	case m, ok := <-s.read:
		require.True(s.t, ok, "the server ended the session: %s", s.log)
		if m.Method == "textDocument/publishDiagnostics" {
			var p published
			require.NoError(s.t, json.Unmarshal(m.Params, &p))
			s.diagnostics[p.URI] = p
		}
		return m
	case <-time.After(hang):
		require.Fail(s.t, "no message of the server", s.log.String())
	}
	return message{}
}

// call makes a request and reads its answer.
func (s *session) call(method string, params, result any) {
	s.t.Helper()
	m := s.request(method, params)
	require.Nil(s.t, m.Error, method)
	if result != nil {
		require.NoError(s.t, json.Unmarshal(m.Result, result), "%s", m.Result)
	}
}

func (s *session) request(method string, params any) message {
	s.ids++
	s.send(object{"id": s.ids, "method": method, "params": params})
	for {
		if m := s.next(); m.ID != nil && *m.ID == s.ids {
			return m
		}
	}
}

// published waits for the errors of a version of a document.
func (s *session) published(uri string, version int) []diagnostic {
	s.t.Helper()
	for s.diagnostics[uri].Version < version {
		s.next()
	}
	return s.diagnostics[uri].Diagnostics
}

func (s *session) open(uri, text string) {
	s.notify("textDocument/didOpen", object{"textDocument": object{"uri": uri, "languageId": "tile", "version": 1, "text": text}})
}

// change replaces the whole text.
func (s *session) change(uri string, version int, text string) {
	s.notify("textDocument/didChange", object{"textDocument": object{"uri": uri, "version": version}, "contentChanges": []object{{"text": text}}})
}

// edit replaces a part of the text.
func (s *session) edit(uri string, version int, at span, text string) {
	s.notify("textDocument/didChange", object{"textDocument": object{"uri": uri, "version": version},
		"contentChanges": []object{{"range": at, "text": text}}})
}

// leave ends the session as an editor does.
func (s *session) leave() {
	s.call("shutdown", nil, nil)
	s.notify("exit", nil)
	select {
	case err := <-s.ended:
		require.NoError(s.t, err)
	case <-time.After(hang):
		require.Fail(s.t, "the server did not end")
	}
	require.Empty(s.t, s.log.String())
}

func at(uri string, p place) object {
	return object{"textDocument": object{"uri": uri}, "position": p}
}

func (s *session) hover(uri string, p place) string {
	s.t.Helper()
	var h *struct{ Contents struct{ Value string } }
	s.call("textDocument/hover", at(uri, p), &h)
	if h == nil {
		return ""
	}
	return h.Contents.Value
}

func (s *session) definition(uri string, p place) location {
	s.t.Helper()
	var all []location
	s.call("textDocument/definition", at(uri, p), &all)
	require.Len(s.t, all, 1)
	return all[0]
}

func (s *session) complete(uri string, p place) []string {
	s.t.Helper()
	var items []struct{ Label string }
	s.call("textDocument/completion", at(uri, p), &items)
	var labels []string
	for _, i := range items {
		labels = append(labels, i.Label)
	}
	return labels
}

// placeOf is the place of a piece of a text, by its first occurrence; `|` in the
// piece is the place itself.
func placeOf(t *testing.T, text, piece string) place {
	t.Helper()
	before, after, marked := strings.Cut(piece, "|")
	i := strings.Index(text, before+after)
	require.GreaterOrEqual(t, i, 0, "no %q in the text", before+after)
	if marked {
		i += len(before)
	}
	line := strings.LastIndexByte(text[:i], '\n') + 1
	return place{strings.Count(text[:i], "\n"), len(utf16.Encode([]rune(text[line:i])))}
}
