package lsp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
		case "build":
			return "k: BM=8: 4 us\n  next BM=4: 5 us\n", nil
		case "test":
			<-ctx.Done()
		}
		return "", errors.New("ended")
	}})
	s.call("initialize", object{"processId": nil, "rootUri": nil, "capabilities": object{}}, nil)
	s.open(doc, text)
	var all []struct {
		Range   span
		Command struct {
			Title, Command string
			Arguments      []string
		}
	}
	s.call("textDocument/codeLens", object{"textDocument": object{"uri": doc}}, &all)
	require.Len(t, all, 2)
	require.Equal(t, "1:7-1:8", all[0].Range.String())
	require.Equal(t, []string{path, "k"}, all[0].Command.Arguments)
	var printed string
	s.call("workspace/executeCommand", object{"command": all[0].Command.Command, "arguments": all[0].Command.Arguments}, &printed)
	require.Equal(t, "k: BM=8: 4 us\n  next BM=4: 5 us\n", printed)
	require.Equal(t, []string{"build", path, "--emit=plan", "--kernel", "k"}, <-began)

	// A test runs beside other requests, until the editor takes it back.
	s.ids++
	running := s.ids
	s.send(object{"id": running, "method": "workspace/executeCommand", "params": object{"command": all[1].Command.Command, "arguments": all[1].Command.Arguments}})
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
