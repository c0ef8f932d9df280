package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestLanguageServer runs the command as an editor does: a session over its stdin and stdout.
func TestLanguageServer(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var in, out, errs bytes.Buffer
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}`,
		`{"jsonrpc":"2.0","method":"initialized","params":{}}`,
		`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///nowhere/a.tile","languageId":"tile","version":1,"text":"fn f(x) = exp(x)\n"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///nowhere/a.tile"},"position":{"line":0,"character":11}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"shutdown"}`,
		`{"jsonrpc":"2.0","method":"exit"}`,
	} {
		fmt.Fprintf(&in, "Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	cmd := &exec.Cmd{Path: exe, Args: []string{"tilec", "lsp", "--stdio"}, Stdin: &in, Stdout: &out, Stderr: &errs}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	for _, want := range []string{`"id":1,"result":{"capabilities"`, `"positionEncoding":"utf-16"`, "exp(a)", `"id":3,"result":null`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	if errs.Len() > 0 {
		t.Errorf("on stderr: %s", errs.String())
	}
}
