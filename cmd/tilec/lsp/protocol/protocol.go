// Package protocol has the words of the language server protocol (version 3.17) that tilec uses: methods, kinds, and the structures that
// requests and answers have in common. A package of all of the protocol takes half a megabyte of the program, for it can read and
// write every structure that there is.
package protocol

import "go.lsp.dev/uri"

// Position is a place between two characters: a line from 0 on, and how many UTF-16 units come before on it.
type Position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"`
}

// Range is from one position to before another.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Location is a range in a document.
type Location struct {
	URI   uri.URI `json:"uri"`
	Range Range   `json:"range"`
}

// TextEdit puts a text in the place of a range.
type TextEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

// MarkupContent is a text that an editor lays out.
type MarkupContent struct {
	Kind  MarkupKind `json:"kind"`
	Value string     `json:"value"`
}

// TextDocumentIdentifier names a document.
type TextDocumentIdentifier struct {
	URI uri.URI `json:"uri"`
}

// VersionedTextDocumentIdentifier names a version of a document.
type VersionedTextDocumentIdentifier struct {
	URI     uri.URI `json:"uri"`
	Version int32   `json:"version"`
}

// TextDocumentItem is a document with its text.
type TextDocumentItem struct {
	URI     uri.URI `json:"uri"`
	Version int32   `json:"version"`
	Text    string  `json:"text"`
}

// DidOpenTextDocumentParams says that the editor has opened a document.
type DidOpenTextDocumentParams struct {
	TextDocument TextDocumentItem `json:"textDocument"`
}

// TextDocumentPositionParams asks about a position in a document.
type TextDocumentPositionParams struct {
	TextDocument TextDocumentIdentifier `json:"textDocument"`
	Position     Position               `json:"position"`
}

// Methods of requests and notifications.
const (
	MethodInitialize                       = "initialize"
	MethodInitialized                      = "initialized"
	MethodShutdown                         = "shutdown"
	MethodExit                             = "exit"
	MethodTextDocumentDidOpen              = "textDocument/didOpen"
	MethodTextDocumentDidChange            = "textDocument/didChange"
	MethodTextDocumentDidClose             = "textDocument/didClose"
	MethodTextDocumentDidSave              = "textDocument/didSave"
	MethodTextDocumentHover                = "textDocument/hover"
	MethodTextDocumentDefinition           = "textDocument/definition"
	MethodTextDocumentCompletion           = "textDocument/completion"
	MethodTextDocumentDocumentSymbol       = "textDocument/documentSymbol"
	MethodTextDocumentSignatureHelp        = "textDocument/signatureHelp"
	MethodTextDocumentRangeFormatting      = "textDocument/rangeFormatting"
	MethodTextDocumentFoldingRange         = "textDocument/foldingRange"
	MethodTextDocumentSelectionRange       = "textDocument/selectionRange"
	MethodTextDocumentInlayHint            = "textDocument/inlayHint"
	MethodTextDocumentSemanticTokensFull   = "textDocument/semanticTokens/full"
	MethodTextDocumentSemanticTokensRange  = "textDocument/semanticTokens/range"
	MethodTextDocumentCodeLens             = "textDocument/codeLens"
	MethodTextDocumentDocumentLink         = "textDocument/documentLink"
	MethodTextDocumentReferences           = "textDocument/references"
	MethodTextDocumentPrepareRename        = "textDocument/prepareRename"
	MethodTextDocumentRename               = "textDocument/rename"
	MethodTextDocumentPrepareCallHierarchy = "textDocument/prepareCallHierarchy"
	MethodCallHierarchyIncomingCalls       = "callHierarchy/incomingCalls"
	MethodCallHierarchyOutgoingCalls       = "callHierarchy/outgoingCalls"
	MethodTextDocumentDocumentHighlight    = "textDocument/documentHighlight"
	MethodTextDocumentFormatting           = "textDocument/formatting"
	MethodTextDocumentCodeAction           = "textDocument/codeAction"
	MethodTextDocumentPublishDiagnostics   = "textDocument/publishDiagnostics"
	MethodWorkspaceSymbol                  = "workspace/symbol"
	MethodWorkspaceExecuteCommand          = "workspace/executeCommand"
	MethodWorkspaceDidChangeWatchedFiles   = "workspace/didChangeWatchedFiles"
	MethodWindowShowMessage                = "window/showMessage"
	MethodWindowShowDocument               = "window/showDocument"
	MethodWorkspaceInlayHintRefresh        = "workspace/inlayHint/refresh"
)

// Kinds, by the numbers and words of the protocol.
type (
	// InsertTextFormat is how what a proposal writes is meant.
	InsertTextFormat uint32
	// CompletionItemKind is what a proposal is.
	CompletionItemKind uint32
	// SymbolKind is what a declaration is.
	SymbolKind uint32
	// DiagnosticSeverity is how bad a diagnostic is, DiagnosticTag how it may be shown.
	DiagnosticSeverity uint32
	DiagnosticTag      uint32
	// MessageType is what a message to the user is.
	MessageType uint32
	// InlayHintKind is what a hint says.
	InlayHintKind uint32
	// DocumentHighlightKind tells reads from writes.
	DocumentHighlightKind uint32
	// TextDocumentSyncKind is how changes of a text are told.
	TextDocumentSyncKind uint32
	// FoldingRangeKind is what can be folded, CodeActionKind what an action does, MarkupKind how a text is written.
	FoldingRangeKind string
	CodeActionKind   string
	MarkupKind       string
	// PositionEncodingKind is what is counted in a line.
	PositionEncodingKind string
)

// InsertTextFormatSnippet is a text with places to fill in.
const InsertTextFormatSnippet InsertTextFormat = 2

// The kinds that tilec uses.
const (
	CompletionItemKindFunction      CompletionItemKind = 3
	CompletionItemKindField         CompletionItemKind = 5
	CompletionItemKindVariable      CompletionItemKind = 6
	CompletionItemKindModule        CompletionItemKind = 9
	CompletionItemKindProperty      CompletionItemKind = 10
	CompletionItemKindKeyword       CompletionItemKind = 14
	CompletionItemKindSnippet       CompletionItemKind = 15
	CompletionItemKindFile          CompletionItemKind = 17
	CompletionItemKindReference     CompletionItemKind = 18
	CompletionItemKindFolder        CompletionItemKind = 19
	CompletionItemKindConstant      CompletionItemKind = 21
	CompletionItemKindStruct        CompletionItemKind = 22
	CompletionItemKindTypeParameter CompletionItemKind = 25

	SymbolKindModule   SymbolKind = 2
	SymbolKindField    SymbolKind = 8
	SymbolKindFunction SymbolKind = 12
	SymbolKindConstant SymbolKind = 14
	SymbolKindStruct   SymbolKind = 23
	SymbolKindEvent    SymbolKind = 24

	DiagnosticSeverityError       DiagnosticSeverity = 1
	DiagnosticSeverityWarning     DiagnosticSeverity = 2
	DiagnosticSeverityInformation DiagnosticSeverity = 3
	DiagnosticTagUnnecessary      DiagnosticTag      = 1

	MessageTypeError MessageType = 1
	MessageTypeInfo  MessageType = 3

	InlayHintKindType InlayHintKind = 1

	DocumentHighlightKindRead  DocumentHighlightKind = 2
	DocumentHighlightKindWrite DocumentHighlightKind = 3

	TextDocumentSyncKindIncremental TextDocumentSyncKind = 2

	FoldingRangeKindComment FoldingRangeKind = "comment"
	FoldingRangeKindImports FoldingRangeKind = "imports"

	CodeActionKindQuickFix CodeActionKind = "quickfix"

	MarkupKindMarkdown MarkupKind = "markdown"

	PositionEncodingKindUTF16 PositionEncodingKind = "utf-16"
)
