package size

import "tilec/lang"

// Hidden makes symbols that no source declares, for proofs and for what the checker makes itself: each has a serial of its own.
type Hidden struct{ serial int }

// Position makes a symbol that stands for an integer of the program in proofs.
func (h *Hidden) Position(name string) *Symbol { return h.symbol(name, PositionSymbol) }

// Dim makes a dimension.
func (h *Hidden) Dim(name string) *Symbol { return h.symbol(name, DimSymbol) }

func (h *Hidden) symbol(name string, kind SymbolKind) *Symbol {
	h.serial++
	return &Symbol{Name: name, Kind: kind, DType: lang.I32, Serial: h.serial}
}
