package lsp

import (
	"go.lsp.dev/uri"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/lang"
)

// The answers here are those of the protocol with the fields that we give.

// fields is an object by the names of the protocol.
type fields = map[string]any

// initialized is the protocol's InitializeResult.
type initialized struct {
	Capabilities fields `json:"capabilities"`
	ServerInfo   fields `json:"serverInfo"`
}

// messageShown is the protocol's ShowMessageParams.
type messageShown struct {
	Type    protocol.MessageType `json:"type"`
	Message string               `json:"message"`
}

// documentShown is the protocol's ShowDocumentParams.
type documentShown struct {
	URI uri.URI `json:"uri"`
}

// highlight is the protocol's DocumentHighlight.
type highlight struct {
	Range protocol.Range                 `json:"range"`
	Kind  protocol.DocumentHighlightKind `json:"kind"`
}

// foundSymbol is the protocol's SymbolInformation.
type foundSymbol struct {
	Name          string              `json:"name"`
	Kind          protocol.SymbolKind `json:"kind"`
	Location      protocol.Location   `json:"location"`
	ContainerName string              `json:"containerName"`
}

// link is the protocol's DocumentLink.
type link struct {
	Range  protocol.Range `json:"range"`
	Target uri.URI        `json:"target"`
}

// signatures is the protocol's SignatureHelp.
type signatures struct {
	Signatures []signatureShown `json:"signatures"`
}

type signatureShown struct {
	Label           string                 `json:"label"`
	Documentation   protocol.MarkupContent `json:"documentation"`
	Parameters      []parameterShown       `json:"parameters"`
	ActiveParameter *uint32                `json:"activeParameter,omitzero"`
}

// parameterShown is the part of a label that is a parameter, in UTF-16.
type parameterShown struct {
	Label [2]uint32 `json:"label"`
}

// semanticData is the protocol's SemanticTokens.
type semanticData struct {
	Data []uint32 `json:"data"`
}

// hint is the protocol's InlayHint.
type hint struct {
	Position protocol.Position      `json:"position"`
	Label    string                 `json:"label"`
	Kind     protocol.InlayHintKind `json:"kind,omitzero"`
}

// fold is the protocol's FoldingRange.
type fold struct {
	StartLine uint32                    `json:"startLine"`
	EndLine   uint32                    `json:"endLine"`
	Kind      protocol.FoldingRangeKind `json:"kind,omitzero"`
}

// selection is the protocol's SelectionRange.
type selection struct {
	Range  protocol.Range `json:"range"`
	Parent *selection     `json:"parent,omitzero"`
}

// hovered is the protocol's Hover.
type hovered struct {
	Contents protocol.MarkupContent `json:"contents"`
	Range    protocol.Range         `json:"range"`
}

// outlined is the protocol's DocumentSymbol.
type outlined struct {
	Name           string              `json:"name"`
	Detail         string              `json:"detail,omitzero"`
	Kind           protocol.SymbolKind `json:"kind"`
	Range          protocol.Range      `json:"range"`
	SelectionRange protocol.Range      `json:"selectionRange"`
	Children       []outlined          `json:"children,omitzero"`
}

// edited is the protocol's WorkspaceEdit.
type edited struct {
	Changes map[uri.URI][]protocol.TextEdit `json:"changes"`
}

// proposed is the protocol's CodeAction.
type proposed struct {
	Title       string                  `json:"title"`
	Kind        protocol.CodeActionKind `json:"kind"`
	Diagnostics []problem               `json:"diagnostics"`
	IsPreferred bool                    `json:"isPreferred"`
	Edit        edited                  `json:"edit"`
}

// item is the protocol's CompletionItem.
type item struct {
	Label               string                      `json:"label"`
	Kind                protocol.CompletionItemKind `json:"kind"`
	Detail              string                      `json:"detail,omitzero"`
	Documentation       *protocol.MarkupContent     `json:"documentation,omitzero"`
	SortText            string                      `json:"sortText,omitzero"`
	FilterText          string                      `json:"filterText,omitzero"`
	InsertText          string                      `json:"insertText,omitzero"`
	InsertTextFormat    protocol.InsertTextFormat   `json:"insertTextFormat,omitzero"`
	AdditionalTextEdits []protocol.TextEdit         `json:"additionalTextEdits,omitzero"`
}

// problems is the protocol's PublishDiagnosticsParams.
type problems struct {
	URI         uri.URI   `json:"uri"`
	Version     *int32    `json:"version,omitzero"`
	Diagnostics []problem `json:"diagnostics"`
}

// problem is the protocol's Diagnostic.
type problem struct {
	Range              protocol.Range              `json:"range"`
	Severity           protocol.DiagnosticSeverity `json:"severity,omitzero"`
	Code               lang.Code                   `json:"code,omitzero"`
	Source             string                      `json:"source"`
	Message            string                      `json:"message"`
	Tags               []protocol.DiagnosticTag    `json:"tags,omitzero"`
	RelatedInformation []related                   `json:"relatedInformation,omitzero"`
}

// related is the protocol's DiagnosticRelatedInformation.
type related struct {
	Location protocol.Location `json:"location"`
	Message  string            `json:"message"`
}
