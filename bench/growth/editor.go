package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"go.lsp.dev/jsonrpc2"

	"tilec/cmd/tilec/lsp"
)

// edited are programs that somebody writes in an editor, who asks about the last part of them.
var edited = []program{
	{name: "editor: kernels", least: 100, text: func(n int) string { return each(n, strings.Replace(scale, "scale", "scale#", 1)) }, asks: "x[i]"},
	{name: "editor: lets", least: 400, text: func(n int) string {
		return kernel(each(n, "    let a# = x[i] * #\n") + "    y[i] = a0\n")
	}, asks: "a0"},
	{name: "editor: lets of lets", least: 100, text: func(n int) string {
		return kernel("    let a0 = x[i]\n" + chain(n, "    let a% = a# + 1\n", "") + "    y[i] = a1\n")
	}, asks: "a1"},
	{name: "editor: sum of terms", least: 300, text: func(n int) string { return value("x[i]" + strings.Repeat(" + x[i]", n)) }, asks: "x["},
	{name: "editor: functions", least: 250, text: func(n int) string {
		return each(n, "/// doc\nfn f_#(x) = x + 1\n") + kernel(each(n, "    let a# = f_#(x[i])\n")+"    y[i] = f_0(a0)\n")
	}, asks: "f_0"},
	{name: "editor: constants", least: 500, text: func(n int) string { return each(n, "const A# = #\n") + "const B = A0\n" }, asks: "A0"},
	{name: "editor: fields", least: 400, text: func(n int) string {
		return "struct W { " + list(n, "f_#: f32[N]") + " }\ngraph g(x: f32[N], w: W) -> y: f32[N] {\n    y = x + w.f_0\n}\n"
	}, asks: "f_0"},
	{name: "editor: graph of calls", least: 60, text: func(n int) string {
		return scale + graph("    let a0 = x\n"+chain(n, "    let a% = scale(a#)\n", "")+"    y = scale(a1)\n")
	}, asks: "a1"},
	{name: "editor: comments", least: 2000, text: func(n int) string { return each(n, "// comment #\n") + scale }, asks: "x[i]"},
	{name: "editor: one long line", least: 4000, text: func(n int) string { return "const A = 1 // " + strings.Repeat("comment ", n) + "\n" }, asks: "A"},
	{name: "editor: unknown names", least: 200, text: func(n int) string { return each(n, "const A# = B#\n") }, asks: "B"},
	{name: "editor: errors with fixes", least: 100, text: func(n int) string {
		return kernel(each(n, "    let a# = x[i] + i.start\n") + "    y[i] = x[i]\n")
	}, asks: "x[i]"},
	{name: "editor: half statements", least: 200, text: func(n int) string { return kernel(each(n, "    let a# =\n")) }, asks: "let"},
	{name: "editor: unused names", least: 250, text: func(n int) string {
		return kernel(each(n, "    let a# = x[i]\n") + "    y[i] = x[i]\n")
	}, asks: "x[i]"},
	{name: "editor: fan of imports", least: 250, text: func(n int) string { return each(n, "import \"f#\"\n") + uses(n) },
		files: func(n int) map[string]string { return files(n, func(int) string { return "fn f_#(x) = x + #\n" }) }, asks: "a0"},
	{name: "editor: chain of imports", least: 400, text: func(int) string { return "import \"f0\"\n" + uses(1) },
		files: func(n int) map[string]string {
			return files(n, func(i int) string { return following(i, n) + "fn f_#(x) = x + #\n" })
		}, asks: "f_0"},
}

// object is a part of a message.
type object = map[string]any

// asked is a session about a text whose imports lie on disk: it opens the text, waits for its errors, changes its last line, waits
// again, and asks once for whatever an editor asks. It gives the number of errors.
func asked(p program, text string, files map[string]string) int {
	dir, err := os.MkdirTemp("", "growth-")
	check(err)
	defer os.RemoveAll(dir)
	for name, text := range files {
		check(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	e := openEditor()
	uri := (&url.URL{Scheme: "file", Path: filepath.Join(dir, "a.tile")}).String()
	document := object{"uri": uri}
	e.call("initialize", object{"capabilities": object{}})
	e.notify("initialized", object{})
	e.notify("textDocument/didOpen", object{"textDocument": object{"uri": uri, "languageId": "tile", "version": 1, "text": text}})
	e.errors(1)
	end := place(text, len(text))
	e.notify("textDocument/didChange", object{"textDocument": object{"uri": uri, "version": 2},
		"contentChanges": []object{{"range": object{"start": end, "end": end}, "text": "// more\n"}}})
	errors := e.errors(2)
	at := object{"textDocument": document, "position": place(text, strings.LastIndex(text, p.asks))}
	for _, method := range []string{"hover", "definition", "completion"} {
		e.call("textDocument/"+method, at)
	}
	e.call("textDocument/documentSymbol", object{"textDocument": document})
	e.call("textDocument/formatting", object{"textDocument": document, "options": object{"tabSize": 4, "insertSpaces": true}})
	all := object{"start": place(text, 0), "end": end}
	e.call("textDocument/codeAction", object{"textDocument": document, "range": all, "context": object{"diagnostics": []object{}}})
	e.call("shutdown", nil)
	e.notify("exit", nil)
	check(<-e.ended)
	return errors
}

// place is the position of an offset in a text of ASCII.
func place(text string, offset int) object {
	before := text[:offset]
	return object{"line": strings.Count(before, "\n"), "character": offset - 1 - strings.LastIndexByte(before, '\n')}
}

// editor is one that talks to a language server.
type editor struct {
	conn  jsonrpc2.Conn
	ended chan error
	// published is what the server says of versions of the text.
	published chan published
}

type published struct {
	Version     int               `json:"version"`
	Diagnostics []json.RawMessage `json:"diagnostics"`
}

// pipes are the two directions of a talk.
type pipes struct {
	io.Reader
	io.WriteCloser
	in io.Closer
}

// Close closes both ends.
func (p pipes) Close() error { return errors.Join(p.in.Close(), p.WriteCloser.Close()) }

func openEditor() *editor {
	toServer, fromEditor := io.Pipe()
	toEditor, fromServer := io.Pipe()
	e := &editor{ended: make(chan error, 1), published: make(chan published, 10)}
	go func() {
		e.ended <- lsp.Serve(context.Background(), pipes{toServer, fromServer, toServer}, lsp.Options{Log: os.Stderr})
	}()
	e.conn = jsonrpc2.NewConn(jsonrpc2.NewHeaderStream(pipes{toEditor, fromEditor, toEditor}))
	e.conn.Go(context.Background(), func(_ context.Context, r *jsonrpc2.Request) (any, error) {
		var p published
		if r.Method() == "textDocument/publishDiagnostics" {
			check(json.Unmarshal(r.Params(), &p))
			e.published <- p
		}
		return nil, nil
	})
	return e
}

// call asks, and waits for the answer.
func (e *editor) call(method string, params any) {
	var answer json.RawMessage
	if _, err := e.conn.Call(context.Background(), method, params, &answer); err != nil {
		check(fmt.Errorf("%s: %w", method, err))
	}
}

func (e *editor) notify(method string, params any) {
	check(e.conn.Notify(context.Background(), method, params))
}

// errors waits for those of a version of the text, and gives their number.
func (e *editor) errors(version int) int {
	for p := range e.published {
		if p.Version == version {
			return len(p.Diagnostics)
		}
	}
	return 0
}
