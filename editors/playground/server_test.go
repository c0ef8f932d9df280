package playground

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serve starts a server for a test, and gives its page's address.
func serve(t *testing.T, s *Server) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	address, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l, func(a string) { address <- a }) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-ended)
	})
	return <-address
}

func get(t *testing.T, address string) (int, string) {
	t.Helper()
	r, err := http.Get(address)
	require.NoError(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, string(text)
}

func TestServerServesThePage(t *testing.T) {
	at := serve(t, &Server{Examples: []Example{{Group: "a", Name: "one", File: "0.tile", Text: []byte("kernel")}}})
	code, text := get(t, at)
	assert.Equal(t, 200, code)
	assert.Contains(t, text, `name="backend" content="native"`)
	for name, kind := range map[string]string{"main.js": "text/javascript", "style.css": "text/css"} {
		r, err := http.Get(at + name)
		require.NoError(t, err)
		r.Body.Close()
		assert.Equal(t, 200, r.StatusCode, name)
		assert.Contains(t, r.Header.Get("Content-Type"), kind)
	}
	_, text = get(t, at+"examples/index.json")
	assert.JSONEq(t, `[{"group": "a", "name": "one", "file": "0.tile"}]`, text)
	_, text = get(t, at+"examples/0.tile")
	assert.Equal(t, "kernel", text)
}

// TestServerRefuses tries what another page, or a program that is no browser, could send.
func TestServerRefuses(t *testing.T) {
	at := serve(t, &Server{Run: func(context.Context, Command) int { panic("ran") }})
	u, err := url.Parse(at)
	require.NoError(t, err)
	for _, c := range []struct {
		what, request string
		code          int
	}{
		{"no secret", "GET / HTTP/1.1\r\nHost: HOST\r\n\r\n", 403},
		{"another secret", "POST /AAAAAAAAAAAAAAAAAAAAAAAAAA/start HTTP/1.1\r\nHost: HOST\r\nContent-Length: 2\r\n\r\n{}", 403},
		{"a name that stands for this machine", "GET PATH HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403},
		{"no host", "GET PATH HTTP/1.1\r\n\r\n", 403},
		{"a file outside of the page", "GET PATH../server.go HTTP/1.1\r\nHost: HOST\r\n\r\n", 404},
		{"another method", "DELETE PATH HTTP/1.1\r\nHost: HOST\r\n\r\n", 405},
		{"another protocol", "hello\r\n\r\n", 400},
		{"a body that is too large", "POST PATHstart HTTP/1.1\r\nHost: HOST\r\nContent-Length: 99999999\r\n\r\n", 413},
		{"a body without its length", "POST PATHstart HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n", 411},
		{"a head that is too large", "GET PATH HTTP/1.1\r\nHost: HOST\r\nX: " + strings.Repeat("x", maxHead) + "\r\n\r\n", 431},
		{"a command that is no JSON", "POST PATHstart HTTP/1.1\r\nHost: HOST\r\nContent-Length: 1\r\n\r\n{", 400},
		{"input of nothing", "POST PATHinput/7 HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n", 404},
	} {
		conn, err := net.Dial("tcp", u.Host)
		require.NoError(t, err)
		_, err = io.WriteString(conn, strings.NewReplacer("HOST", u.Host, "PATH", u.Path).Replace(c.request))
		require.NoError(t, err)
		line, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err, c.what)
		assert.Contains(t, line, fmt.Sprintf("HTTP/1.1 %d ", c.code), c.what)
		conn.Close()
	}
}

// said is a line of the answer to start.
type said struct {
	Number string
	FD     int
	Bytes  []byte
	Code   *int
}

func start(t *testing.T, at string, c Command) (*json.Decoder, io.Closer) {
	t.Helper()
	body, err := json.Marshal(c)
	require.NoError(t, err)
	r, err := http.Post(at+"start", "application/json", strings.NewReader(string(body)))
	require.NoError(t, err)
	require.Equal(t, 200, r.StatusCode)
	return json.NewDecoder(r.Body), r.Body
}

func next(t *testing.T, d *json.Decoder) (s said) {
	t.Helper()
	require.NoError(t, d.Decode(&s))
	return s
}

func TestServerRunsACommand(t *testing.T) {
	at := serve(t, &Server{Run: func(_ context.Context, c Command) int {
		line, err := bufio.NewReader(c.Stdin).ReadString('\n')
		assert.NoError(t, err)
		fmt.Fprint(c.Stdout, c.Args, c.Files, line)
		fmt.Fprint(c.Stderr, "\xff")
		return 3
	}})
	answer, body := start(t, at, Command{Args: []string{"check"}, Files: map[string]string{"a.tile": "text"}})
	defer body.Close()
	first := next(t, answer)
	r, err := http.Post(at+"input/"+first.Number, "", strings.NewReader("hello\n"))
	require.NoError(t, err)
	r.Body.Close()
	assert.Equal(t, 200, r.StatusCode)
	assert.Equal(t, "[check] map[a.tile:text]hello\n", string(next(t, answer).Bytes))
	assert.Equal(t, "\xff", string(next(t, answer).Bytes))
	assert.Equal(t, 3, *next(t, answer).Code)
}

// TestServerEndsWhatNobodyWaitsFor closes the page's connection, and ends the server, while a command runs.
func TestServerEndsWhatNobodyWaitsFor(t *testing.T) {
	ended := make(chan struct{}, 2)
	at := serve(t, &Server{Run: func(ctx context.Context, _ Command) int {
		<-ctx.Done()
		ended <- struct{}{}
		return 1
	}})
	answer, body := start(t, at, Command{})
	next(t, answer)
	body.Close()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the command still runs")
	}
	answer, body = start(t, at, Command{})
	defer body.Close()
	next(t, answer) // it ends with the server, which the test waits for
}
