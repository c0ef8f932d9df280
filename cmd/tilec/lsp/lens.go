package lsp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/uri"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/jit/file"
	"tilec/lang"
)

// The commands that the server runs when the editor asks. Both take the path of a file and a name in it.
const (
	// testCommand runs a test, on the CPU.
	testCommand = "tilec.lsp.test"
	// planCommand says which plan a kernel has for the sizes of its @sizes, and what time is predicted for it.
	planCommand = "tilec.lsp.plan"
	// ptxCommand shows the PTX of a kernel, with that plan.
	ptxCommand = "tilec.lsp.ptx"
)

// lens is the protocol's CodeLens with arguments that are texts.
type lens struct {
	Range   protocol.Range `json:"range"`
	Command command        `json:"command"`
}

type command struct {
	Title     string   `json:"title"`
	Command   string   `json:"command"`
	Arguments []string `json:"arguments"`
}

// codeLens offers to run each test, and to plan each kernel that has @sizes and to show its PTX. Files that are not on disk have none: the
// commands are those of the command line.
func (s *server) codeLens(p *documentParams) ([]lens, error) {
	out := []lens{}
	a := s.treeOf(p.TextDocument.URI)
	if a == nil || s.opts.Run == nil || !p.TextDocument.URI.IsFile() {
		return out, nil
	}
	for _, d := range a.module.Decls {
		n := d.DeclName()
		if !n.Place.IsValid() || n.Name == "" {
			continue
		}
		c := command{Arguments: []string{a.doc.path, n.Name}}
		switch d := d.(type) {
		case *lang.TestDecl:
			c.Title, c.Command = "Run test", testCommand
		case *lang.KernelDecl:
			if !hasSizes(d) {
				continue
			}
			out = append(out, lens{a.doc.lines.spanRange(n.Place), command{"Plan and predicted time", planCommand, c.Arguments}})
			c.Title, c.Command = "Show PTX", ptxCommand
		default:
			continue
		}
		out = append(out, lens{a.doc.lines.spanRange(n.Place), c})
	}
	return out, nil
}

func hasSizes(d *lang.KernelDecl) bool {
	for _, a := range d.Attrs {
		if a.Name.Name == "sizes" {
			return true
		}
	}
	return false
}

// executeCommand runs a command on a file as it is on disk. It holds no lock while that runs. The answer is what the
// command line prints; the editor shows the gist of it.
func (s *server) executeCommand(ctx context.Context, params []byte) (any, error) {
	var p struct {
		Command   string   `json:"command"`
		Arguments []string `json:"arguments"`
	}
	if err := json.Unmarshal(params, &p, lenient); err != nil || len(p.Arguments) != 2 {
		return nil, jsonrpc2.NewError(jsonrpc2.ErrInvalidParams.Code, "a command takes the path of a file and a name in it")
	}
	path, name := p.Arguments[0], p.Arguments[1]
	var args []string
	switch p.Command {
	case testCommand:
		args = []string{"test", path, "--device", "cpu", "--verbose", "--run", "^" + regexp.QuoteMeta(name) + "$"}
	case planCommand:
		args = []string{"explain", path, name}
	case ptxCommand:
		args = []string{"build", path, "--emit=ptx", "--kernel", name}
	default:
		return nil, jsonrpc2.NewError(jsonrpc2.ErrInvalidParams.Code, "there is no command "+p.Command)
	}
	if s.opts.Run == nil {
		return nil, refused("this server runs no commands")
	}
	if err := s.saved(path); err != nil {
		return nil, err
	}
	text, err := s.opts.Run(ctx, args...)
	switch {
	case ctx.Err() != nil:
		return nil, jsonrpc2.NewError(requestCancelled, "the editor took the request back")
	case err != nil && text == "":
		return nil, refused("%v", err)
	}
	kind := protocol.MessageTypeInfo
	if err != nil {
		kind = protocol.MessageTypeError
	}
	gist := strings.TrimSpace(text)
	switch {
	case err != nil:
	case p.Command == planCommand:
		gist = planGist(gist)
		if err := s.keepExtents(ctx, path, name, text); err != nil {
			return nil, err
		}
	case p.Command == ptxCommand:
		if gist, err = s.showPTX(ctx, path, name, text); err != nil {
			return nil, err
		} else if gist == "" { // it is on the screen
			return text, nil
		}
	}
	if err := s.notify(ctx, protocol.MethodWindowShowMessage, &messageShown{Type: kind, Message: gist}); err != nil {
		return nil, err
	}
	return text, nil
}

// planGist is the plan, its predicted time and what share of the roofline that is, from what `tilec explain` says: of its
// table, the column of the plan.
func planGist(explained string) string {
	var rows []string
	for i, line := range strings.Split(explained, "\n") {
		columns := betweenColumns.Split(line, 3)
		switch {
		case i == 0 || strings.HasPrefix(line, "roofline:"):
			rows = append(rows, line)
		case columns[0] == "choice" || columns[0] == "time":
			rows = append(rows, strings.Join(columns[:min(len(columns), 2)], " "))
		}
	}
	return strings.Join(rows, "\n")
}

var betweenColumns = regexp.MustCompile(` {2,}`)

// showPTX writes the PTX of a kernel beside the library and asks the editor to show that. Where the editor cannot, it gives
// what to tell instead.
func (s *server) showPTX(ctx context.Context, path, name, text string) (instead string, err error) {
	s.mu.Lock()
	shows := s.showsDocuments
	s.mu.Unlock()
	if !shows || s.opts.LibraryDir == "" {
		return fmt.Sprintf("this editor opens no documents when it is asked to; the PTX is what `tilec build %s --emit=ptx --kernel %s` prints", filepath.Base(path), name), nil
	}
	dir := filepath.Join(s.opts.LibraryDir, "ptx")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("a folder for the PTX: %w", err)
	}
	shown := filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), ".tile")+"-"+name+".ptx")
	if err := file.WriteBytes(shown, []byte(text)); err != nil {
		return "", err
	}
	return "", s.ask(ctx, protocol.MethodWindowShowDocument, &documentShown{URI: uri.File(shown)})
}

// saved refuses a file whose text in the editor is not the one on disk, which the command would read.
func (s *server) saved(path string) error {
	s.mu.Lock()
	d := s.documentOf(path)
	text := ""
	if d != nil {
		text = d.lines.text
	}
	s.mu.Unlock()
	if d == nil {
		return nil
	}
	onDisk, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && string(onDisk) != text {
		return refused("save %s first: the command reads the file", path)
	}
	if err != nil {
		return fmt.Errorf("reading the file of the command: %w", err)
	}
	return nil
}
