package playground

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Server serves the page to the browser of the same machine, and runs what the page asks for.
//
// It speaks the little HTTP that a browser needs for that, a request a connection: net/http would make tilec a third larger. Another page in
// the same browser can reach the port too, so every address begins with a secret, and the Host must be ours: a name that is made to
// stand for 127.0.0.1 is refused.
type Server struct {
	// Examples are texts by name, to begin with.
	Examples []Example
	// Run runs one command until it ends or the context does.
	Run func(ctx context.Context, c Command) (code int)

	secret string
	host   string

	mu     sync.Mutex
	inputs map[string]io.WriteCloser // of what runs, by its number
	last   int
}

// Example is a program of the page's list.
type Example struct {
	Group string `json:"group"`
	Name  string `json:"name"`
	// File is where the page reads the text.
	File string `json:"file"`
	Text []byte `json:"-"`
}

// Command is a command line with the files beside it.
type Command struct {
	Args  []string          `json:"args"`
	Files map[string]string `json:"files"`

	Stdin          io.Reader `json:"-"`
	Stdout, Stderr io.Writer `json:"-"`
}

const (
	maxHead    = 16 << 10
	maxBody    = 8 << 20
	maxRunning = 16
	// patience is how long a request may take to arrive.
	patience = 10 * time.Second
)

// Serve answers on a listener of this machine until the context ends; ready is told the address of the page.
func (s *Server) Serve(ctx context.Context, l net.Listener, ready func(address string)) error {
	s.secret, s.host, s.inputs = rand.Text(), l.Addr().String(), map[string]io.WriteCloser{}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	ready("http://" + s.host + "/" + s.secret + "/")
	var open sync.WaitGroup
	defer open.Wait()
	for {
		c, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		open.Go(func() {
			defer c.Close()
			s.answer(ctx, c)
		})
	}
}

// request is what is read of a connection.
type request struct {
	method, path string
	host         string
	body         []byte
}

// status is an answer that is no success.
type status struct {
	code int
	text string
}

// Error says what a browser shows.
func (s status) Error() string { return s.text }

func (s *Server) answer(ctx context.Context, c net.Conn) {
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return
	}
	r, err := readRequest(c)
	if err == nil {
		err = s.handle(ctx, c, r)
	}
	if err == nil {
		return
	}
	refused := status{500, err.Error()}
	errors.As(err, &refused)
	_ = reply(c, refused.code, "text/plain; charset=utf-8", []byte(refused.text+"\n"))
	// To close while something is unread would take the answer back.
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil && c.SetDeadline(time.Now().Add(time.Second)) == nil {
		_, _ = io.CopyN(io.Discard, c, maxHead+maxBody)
	}
}

// readRequest reads a request; one that is too large or makes no sense is a status.
func readRequest(from io.Reader) (request, error) {
	var r request
	head := bufio.NewReader(io.LimitReader(from, maxHead+maxBody))
	line, size := "", 0
	next := func() (err error) {
		line, err = head.ReadString('\n')
		if size += len(line); size > maxHead {
			return status{431, "the head of the request is too large"}
		}
		line = strings.TrimRight(line, "\r\n")
		return err
	}
	if err := next(); err != nil {
		return r, err
	}
	words := strings.Split(line, " ")
	if len(words) != 3 || !strings.HasPrefix(words[2], "HTTP/1.") {
		return r, status{400, "no request of HTTP/1.1"}
	}
	r.method = words[0]
	r.path, _, _ = strings.Cut(words[1], "?")
	length := 0
	for {
		if err := next(); err != nil {
			return r, err
		}
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.ToLower(name) {
		case "host":
			r.host = value
		case "content-length":
			n, err := strconv.ParseUint(value, 10, 31)
			if err != nil || n > maxBody {
				return r, status{413, fmt.Sprintf("the body has %s bytes, must have at most %d", value, maxBody)}
			}
			length = int(n)
		case "transfer-encoding":
			return r, status{411, "the body needs its length"}
		}
	}
	r.body = make([]byte, length)
	_, err := io.ReadFull(head, r.body)
	return r, err
}

func (s *Server) handle(ctx context.Context, c net.Conn, r request) error {
	if port := s.host[strings.LastIndex(s.host, ":"):]; r.host != s.host && r.host != "localhost"+port {
		return status{403, fmt.Sprintf("the host is %q, must be %q", r.host, s.host)}
	}
	secret, rest, _ := strings.Cut(strings.TrimPrefix(r.path, "/"), "/")
	if subtle.ConstantTimeCompare([]byte(secret), []byte(s.secret)) != 1 {
		return status{403, "open the address that tilec playground printed: it has a secret that keeps other pages away"}
	}
	switch {
	case r.method == "GET":
		return s.get(c, rest)
	case r.method != "POST":
		return status{405, r.method + ": only GET and POST are answered"}
	case rest == "start":
		return s.start(ctx, c, r.body)
	case strings.HasPrefix(rest, "input/"):
		s.mu.Lock()
		w := s.inputs[strings.TrimPrefix(rest, "input/")]
		s.mu.Unlock()
		if w == nil {
			return status{404, "nothing of that number runs"}
		}
		if _, err := w.Write(r.body); err != nil {
			return status{410, "what ran has ended"}
		}
		return reply(c, 200, "text/plain", nil)
	}
	return status{404, "there is nothing at " + rest}
}

// get answers with the page's files, and with the examples.
func (s *Server) get(c net.Conn, name string) error {
	if name == "examples/index.json" {
		list, err := json.Marshal(s.Examples)
		if err != nil {
			return err
		}
		return reply(c, 200, "application/json", list)
	}
	for _, e := range s.Examples {
		if "examples/"+e.File == name {
			return reply(c, 200, "text/plain; charset=utf-8", e.Text)
		}
	}
	data, kind, err := pageFile(name)
	if err != nil {
		return status{404, "there is no file " + name}
	}
	return reply(c, 200, kind, data)
}

// start runs a command. The answer is an object a line, as it comes: its number, then what it prints, its exit code at the end. The command
// ends when the page closes the connection.
func (s *Server) start(ctx context.Context, c net.Conn, body []byte) error {
	var command Command
	if err := json.Unmarshal(body, &command); err != nil {
		return status{400, "the command is no JSON: " + err.Error()}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stdin, input := io.Pipe()
	defer stdin.Close()
	s.mu.Lock()
	if len(s.inputs) >= maxRunning {
		s.mu.Unlock()
		return status{429, fmt.Sprintf("%d commands run already: stop one", maxRunning)}
	}
	s.last++
	number := strconv.Itoa(s.last)
	s.inputs[number] = input
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.inputs, number)
		s.mu.Unlock()
	}()
	if err := c.SetDeadline(time.Time{}); err != nil {
		return err
	}
	if err := head(c, 200, "application/x-ndjson", -1); err != nil {
		return nil // nobody is there any more
	}
	go func() { // a page says nothing more on this connection: what ends the wait is that it has closed it
		_, _ = c.Read(make([]byte, 1))
		stop()
	}()
	lines := &lines{to: json.NewEncoder(c), gone: stop}
	lines.print(map[string]any{"number": number})
	command.Stdin, command.Stdout, command.Stderr = stdin, stream{lines, 1}, stream{lines, 2}
	code := s.Run(ctx, command)
	lines.print(map[string]any{"code": code})
	return nil
}

// lines are the objects of an answer, written one at a time.
type lines struct {
	mu   sync.Mutex
	to   *json.Encoder
	gone func() // called when nobody reads them
}

func (l *lines) print(v any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to.Encode(v) != nil {
		l.gone()
	}
}

// stream is stdout or stderr of a command: its bytes, as JSON has them, in base64.
type stream struct {
	lines *lines
	fd    int
}

// Write makes an object of p.
func (s stream) Write(p []byte) (int, error) {
	s.lines.print(map[string]any{"fd": s.fd, "bytes": p})
	return len(p), nil
}

func reply(c net.Conn, code int, kind string, body []byte) error {
	if err := head(c, code, kind, len(body)); err != nil {
		return nil // nobody is there any more
	}
	_, _ = c.Write(body)
	return nil
}

// head writes the head of an answer; a length below 0 is that of all until the end.
func head(c net.Conn, code int, kind string, length int) error {
	size := ""
	if length >= 0 {
		size = fmt.Sprintf("Content-Length: %d\r\n", length)
	}
	_, err := fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n%sConnection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\r\n", code, reasons[code], kind, size)
	return err
}

var reasons = map[int]string{
	200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 410: "Gone", 411: "Length Required",
	413: "Content Too Large", 429: "Too Many Requests", 431: "Request Header Fields Too Large", 500: "Internal Server Error",
}
