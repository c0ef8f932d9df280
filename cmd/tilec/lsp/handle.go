package lsp

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/uri"

	"tilec/cmd/tilec/lsp/protocol"
)

// The dispatch and the codec here are our own: those of package protocol know
// every message of the protocol, and with them the binary is 3 MB larger.

// lenient takes and gives text that is no UTF-8, such as half of a surrogate pair.
var lenient = jsontext.AllowInvalidUTF8(true)

// handler answers a request, or takes a notification, from its parameters.
type handler func(s *server, params []byte) (any, error)

// request is the handler of a method with an answer.
func request[P, R any](answer func(*server, *P) (R, error)) handler {
	return func(s *server, params []byte) (any, error) {
		p := new(P)
		if len(params) > 0 {
			if err := json.Unmarshal(params, p, lenient); err != nil {
				return nil, jsonrpc2.NewError(jsonrpc2.ErrInvalidParams.Code, err.Error())
			}
		}
		return answer(s, p)
	}
}

// notification is the handler of a method without one.
func notification[P any](take func(*server, *P) error) handler {
	return request(func(s *server, p *P) (any, error) { return nil, take(s, p) })
}

// none is the parameters of a method that needs none of what it gets.
type none struct{}

// handlers is all that the server knows of the protocol, but for workspace/executeCommand, which is answered beside the others.
var handlers = map[string]handler{
	protocol.MethodInitialize:                       request((*server).initialize),
	protocol.MethodInitialized:                      notification(func(*server, *none) error { return nil }),
	protocol.MethodShutdown:                         request((*server).shutDown),
	protocol.MethodExit:                             notification((*server).leave),
	protocol.MethodTextDocumentDidOpen:              notification((*server).didOpen),
	protocol.MethodTextDocumentDidChange:            notification((*server).didChange),
	protocol.MethodTextDocumentDidClose:             notification((*server).didClose),
	protocol.MethodTextDocumentDidSave:              notification((*server).filesChanged),
	protocol.MethodWorkspaceDidChangeWatchedFiles:   notification((*server).filesChanged),
	protocol.MethodTextDocumentHover:                request((*server).hover),
	protocol.MethodTextDocumentDefinition:           request((*server).definition),
	protocol.MethodTextDocumentCompletion:           request((*server).completion),
	protocol.MethodTextDocumentDocumentSymbol:       request((*server).documentSymbol),
	protocol.MethodTextDocumentSignatureHelp:        request((*server).signatureHelp),
	protocol.MethodTextDocumentRangeFormatting:      request((*server).rangeFormatting),
	protocol.MethodTextDocumentFoldingRange:         request((*server).foldingRange),
	protocol.MethodTextDocumentSelectionRange:       request((*server).selectionRange),
	protocol.MethodTextDocumentInlayHint:            request((*server).inlayHint),
	protocol.MethodTextDocumentSemanticTokensFull:   request((*server).semanticTokens),
	protocol.MethodTextDocumentSemanticTokensRange:  request((*server).semanticTokensRange),
	protocol.MethodTextDocumentCodeLens:             request((*server).codeLens),
	protocol.MethodTextDocumentDocumentLink:         request((*server).documentLink),
	protocol.MethodWorkspaceSymbol:                  request((*server).workspaceSymbol),
	protocol.MethodTextDocumentReferences:           request((*server).references),
	protocol.MethodTextDocumentPrepareRename:        request((*server).prepareRename),
	protocol.MethodTextDocumentRename:               request((*server).rename),
	protocol.MethodTextDocumentPrepareCallHierarchy: request((*server).prepareCallHierarchy),
	protocol.MethodCallHierarchyIncomingCalls:       request((*server).incomingCalls),
	protocol.MethodCallHierarchyOutgoingCalls:       request((*server).outgoingCalls),
	protocol.MethodTextDocumentDocumentHighlight:    request((*server).documentHighlight),
	protocol.MethodTextDocumentFormatting:           request((*server).formatting),
	protocol.MethodTextDocumentCodeAction:           request((*server).codeAction),
}

func (s *server) handle(ctx context.Context, req *jsonrpc2.Request) (any, error) {
	h := handlers[req.Method()]
	switch {
	case req.Method() == protocol.MethodWorkspaceExecuteCommand:
		return s.executeCommand(ctx, req.Params())
	case h != nil:
		return h(s, req.Params())
	case !req.IsCall():
		return nil, nil // `$/setTrace` and the like
	}
	return nil, jsonrpc2.NewError(jsonrpc2.ErrMethodNotFound.Code, "there is no method "+req.Method())
}

// codec writes the messages of the protocol.
type codec struct{}

// Marshal writes a message.
func (codec) Marshal(v any) ([]byte, error) {
	if raw, ok := v.(jsonrpc2.RawMessage); ok && raw != nil {
		return raw, nil
	}
	return json.Marshal(v, lenient)
}

// Unmarshal reads a message.
func (codec) Unmarshal(data []byte, v any) error {
	if raw, ok := v.(*jsonrpc2.RawMessage); ok {
		*raw = append(jsonrpc2.RawMessage(nil), data...)
		return nil
	}
	return json.Unmarshal(data, v, lenient)
}

func ref[T any](v T) *T { return &v }

// initializeParams is what we need of the protocol's InitializeParams.
type initializeParams struct {
	RootURI          uri.URI `json:"rootUri"`
	WorkspaceFolders []struct {
		URI uri.URI `json:"uri"`
	} `json:"workspaceFolders"`
	Capabilities struct {
		Workspace struct {
			InlayHint struct {
				RefreshSupport bool `json:"refreshSupport"`
			} `json:"inlayHint"`
		} `json:"workspace"`
		Window struct {
			ShowDocument struct {
				Support bool `json:"support"`
			} `json:"showDocument"`
		} `json:"window"`
		TextDocument struct {
			Completion struct {
				CompletionItem struct {
					SnippetSupport bool `json:"snippetSupport"`
				} `json:"completionItem"`
			} `json:"completion"`
		} `json:"textDocument"`
	} `json:"capabilities"`
}

// initialize says what the server can do.
func (s *server) initialize(p *initializeParams) (*initialized, error) {
	s.initialized = true
	s.folders = p.readFolders()
	s.showsDocuments = p.Capabilities.Window.ShowDocument.Support
	s.refreshesHints = p.Capabilities.Workspace.InlayHint.RefreshSupport
	s.snippets = p.Capabilities.TextDocument.Completion.CompletionItem.SnippetSupport
	commands := []string{}
	if s.opts.Run != nil {
		commands = []string{testCommand, planCommand, ptxCommand}
	}
	return &initialized{
		Capabilities: fields{
			"positionEncoding":                protocol.PositionEncodingKindUTF16,
			"textDocumentSync":                fields{"openClose": true, "change": protocol.TextDocumentSyncKindIncremental, "save": true},
			"completionProvider":              fields{"triggerCharacters": []string{".", "@", "\"", "/"}},
			"signatureHelpProvider":           fields{"triggerCharacters": []string{"(", ","}},
			"hoverProvider":                   true,
			"definitionProvider":              true,
			"referencesProvider":              true,
			"documentHighlightProvider":       true,
			"callHierarchyProvider":           true,
			"renameProvider":                  fields{"prepareProvider": true},
			"semanticTokensProvider":          fields{"legend": fields{"tokenTypes": tokenTypes, "tokenModifiers": tokenModifiers}, "full": true, "range": true},
			"inlayHintProvider":               true,
			"foldingRangeProvider":            true,
			"selectionRangeProvider":          true,
			"documentSymbolProvider":          true,
			"workspaceSymbolProvider":         true,
			"documentLinkProvider":            fields{},
			"documentFormattingProvider":      true,
			"documentRangeFormattingProvider": true,
			"codeActionProvider":              fields{"codeActionKinds": []protocol.CodeActionKind{protocol.CodeActionKindQuickFix}},
			"codeLensProvider":                fields{},
			"executeCommandProvider":          fields{"commands": commands},
		},
		ServerInfo: fields{"name": "tilec", "version": s.opts.Version},
	}, nil
}

// shutDown ends the answers; only leave follows.
func (s *server) shutDown(*none) (any, error) {
	s.shutdown = true
	return nil, nil
}

// leave ends the session.
func (s *server) leave(*none) error {
	if !s.exiting {
		s.exiting = true
		close(s.exit)
	}
	return nil
}
