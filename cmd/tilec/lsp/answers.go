package lsp

import (
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// The answers here are those of package protocol with the fields that we give. The package's own know how to read
// themselves too, which together takes a quarter of a megabyte of the program.

// fields is an object by the names of the protocol.
type fields = map[string]any

// initialized is protocol.InitializeResult.
type initialized struct {
	Capabilities fields `json:"capabilities"`
	ServerInfo   fields `json:"serverInfo"`
}

// messageShown is protocol.ShowMessageParams.
type messageShown struct {
	Type    protocol.MessageType `json:"type"`
	Message string               `json:"message"`
}

// highlight is protocol.DocumentHighlight.
type highlight struct {
	Range protocol.Range                 `json:"range"`
	Kind  protocol.DocumentHighlightKind `json:"kind"`
}

// foundSymbol is protocol.SymbolInformation.
type foundSymbol struct {
	Name          string              `json:"name"`
	Kind          protocol.SymbolKind `json:"kind"`
	Location      protocol.Location   `json:"location"`
	ContainerName string              `json:"containerName"`
}

// link is protocol.DocumentLink.
type link struct {
	Range  protocol.Range `json:"range"`
	Target uri.URI        `json:"target"`
}

// signatures is protocol.SignatureHelp.
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

// semanticData is protocol.SemanticTokens.
type semanticData struct {
	Data []uint32 `json:"data"`
}

// hint is protocol.InlayHint.
type hint struct {
	Position protocol.Position      `json:"position"`
	Label    string                 `json:"label"`
	Kind     protocol.InlayHintKind `json:"kind"`
}

// fold is protocol.FoldingRange.
type fold struct {
	StartLine uint32                    `json:"startLine"`
	EndLine   uint32                    `json:"endLine"`
	Kind      protocol.FoldingRangeKind `json:"kind,omitzero"`
}

// selection is protocol.SelectionRange.
type selection struct {
	Range  protocol.Range `json:"range"`
	Parent *selection     `json:"parent,omitzero"`
}
