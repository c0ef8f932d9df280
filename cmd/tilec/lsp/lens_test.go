package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.lsp.dev/uri"
)

// TestCodeLens: what is offered above tests and kernels, and what the commands run.
func TestCodeLens(t *testing.T) {
	text := "@sizes(N = 8)\nkernel k(x: f32[N]) -> y: f32[N] {\n    y[i] = x[i]\n}\nkernel h(x: f32[N]) -> y: f32[N] {\n    y[i] = x[i]\n}\ntest \"a+b\" {\n    check true\n}\n"
	dir := folder(t, map[string]string{"a.tile": text})
	path := filepath.Join(dir, "a.tile")
	doc := string(uri.File(path))
	began := make(chan []string, 1)
	s := beginWith(t, Options{Run: func(ctx context.Context, args ...string) (string, error) {
		began <- args
		switch args[0] {
		case "explain":
			return "k on sm_90a\n\npredicted  planned  next\nchoice     BM=8     BM=4\ntime       4 us     5 us\n  l2       0 us     0 us\n\nroofline: 60 %\n", nil
		case "build":
			return "// the code\n", nil
		case "test":
			<-ctx.Done()
		}
		return "", errors.New("ended")
	}})
	s.call("initialize", object{"processId": nil, "rootUri": nil, "capabilities": object{"window": object{"showDocument": object{"support": true}}}}, nil)
	s.open(doc, text)
	var all []struct {
		Range   span
		Command struct {
			Title, Command string
			Arguments      []string
		}
	}
	s.call("textDocument/codeLens", object{"textDocument": object{"uri": doc}}, &all)
	require.Len(t, all, 3)
	require.Equal(t, "1:7-1:8", all[0].Range.String())
	require.Equal(t, []string{path, "k"}, all[0].Command.Arguments)
	// asked starts a command, and waits for the message of the server that comes before the answer.
	asked := func(command string, method string) (id int, params json.RawMessage, to int) {
		s.ids++
		s.send(object{"id": s.ids, "method": "workspace/executeCommand", "params": object{"command": command, "arguments": []string{path, "k"}}})
		for {
			if m := s.next(); m.Method == method {
				if m.ID != nil {
					to = *m.ID
				}
				return s.ids, m.Params, to
			}
		}
	}
	answer := func(id int) (printed string) {
		m := s.next()
		for m.ID == nil || *m.ID != id || m.Method != "" {
			m = s.next()
		}
		require.Nil(t, m.Error)
		require.NoError(t, json.Unmarshal(m.Result, &printed))
		return printed
	}
	id, params, _ := asked(all[0].Command.Command, "window/showMessage")
	require.JSONEq(t, `{"type": 3, "message": "k on sm_90a\nchoice BM=8\ntime 4 us\nroofline: 60 %"}`, string(params))
	require.Contains(t, answer(id), "  l2       0 us")
	require.Equal(t, []string{"explain", path, "k"}, <-began)

	require.Equal(t, "Show PTX", all[1].Command.Title)
	id, params, to := asked(all[1].Command.Command, "window/showDocument")
	require.Equal(t, []string{"build", path, "--emit=ptx", "--kernel", "k"}, <-began)
	var shown struct{ URI uri.URI }
	require.NoError(t, json.Unmarshal(params, &shown))
	code, err := os.ReadFile(shown.URI.FsPath())
	require.NoError(t, err)
	require.Equal(t, "// the code\n", string(code))
	s.send(object{"id": to, "result": object{"success": true}})
	require.Equal(t, "// the code\n", answer(id))

	// A test runs beside other requests, until the editor takes it back.
	s.ids++
	running := s.ids
	s.send(object{"id": running, "method": "workspace/executeCommand", "params": object{"command": all[2].Command.Command, "arguments": all[2].Command.Arguments}})
	require.Equal(t, []string{"test", path, "--device", "cpu", "--verbose", "--run", `^a\+b$`}, <-began)
	require.Equal(t, "```tile\nx: f32[N]\n```\nparameter", s.hover(doc, placeOf(t, text, "|x[i]")))
	s.notify("$/cancelRequest", object{"id": running})
	m := s.next()
	for m.ID == nil || *m.ID != running {
		m = s.next()
	}
	require.Equal(t, requestCancelled, m.Error.Code)

	refuses := func(why, command string, arguments ...string) {
		t.Helper()
		m := s.request("workspace/executeCommand", object{"command": command, "arguments": arguments})
		require.NotNil(t, m.Error)
		require.Contains(t, m.Error.Message, why)
	}
	refuses("there is no command", "rm", path, "k")
	refuses("takes the path", planCommand, path)
	require.NoError(t, os.WriteFile(path, []byte("another text"), 0o666))
	refuses("save "+path+" first", planCommand, path, "k")
	s.leave()
}

// TestPlannedExtents: once a kernel's plan is known, its extents stand beside their names, until the kernel changes.
func TestPlannedExtents(t *testing.T) {
	text := "@sizes(M = 8, N = 8)\nkernel k(x: f32[M, N]) -> y: f32[M]\n    grid i in M by BM\n{\n    y[i] = for j in N by BN with s = zeros(f32, i) { s + sum(x[i, j], over j) }\n}\n"
	dir := folder(t, map[string]string{"a.tile": text})
	path := filepath.Join(dir, "a.tile")
	doc := string(uri.File(path))
	s := beginWith(t, Options{Run: func(context.Context, ...string) (string, error) {
		return "k on sm_90a\n\npredicted  planned            next\nchoice     BM=64 BN=8 warps=4  BM=32 BN=8 warps=4\ntime       4 us     5 us\n", nil
	}})
	s.call("initialize", object{"capabilities": object{"workspace": object{"inlayHint": object{"refreshSupport": true}}}}, nil)
	s.open(doc, text)
	hints := func() (all []string) {
		var found []struct {
			Position place
			Label    string
		}
		s.call("textDocument/inlayHint", object{"textDocument": object{"uri": doc}, "range": span{End: place{Line: 100}}}, &found)
		for _, h := range found {
			if strings.HasPrefix(h.Label, " = ") {
				all = append(all, fmt.Sprintf("%d:%d%s", h.Position.Line, h.Position.Character, h.Label))
			}
		}
		return all
	}
	require.Empty(t, hints())
	s.ids++
	id := s.ids
	s.send(object{"id": id, "method": "workspace/executeCommand", "params": object{"command": planCommand, "arguments": []string{path, "k"}}})
	m := s.next()
	for m.Method != "workspace/inlayHint/refresh" {
		m = s.next()
	}
	s.send(object{"id": *m.ID, "result": nil})
	for m.ID == nil || *m.ID != id || m.Method != "" {
		m = s.next()
	}
	require.Nil(t, m.Error)
	require.Equal(t, []string{"2:21 = 64", "4:27 = 8"}, hints())
	s.edit(doc, 2, span{}, "// above\n")
	require.Equal(t, []string{"3:21 = 64", "5:27 = 8"}, hints())
	p := place{5, 4}
	s.edit(doc, 3, span{p, p}, " ")
	require.Empty(t, hints())
	s.leave()
}
