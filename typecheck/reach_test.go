package typecheck

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestManyParts: what it costs to put parts together grows with their number, and not with its square.
func TestManyParts(t *testing.T) {
	const n = 20_000
	at := func(i int) Size { return ConstSize(int64(i)) }
	dim := &Symbol{Name: "N", Kind: DimSymbol}
	v := &coverage{bodyChecker: &bodyChecker{}, known: &prover{zeros: true}, of: &Param{Name: "y", Shape: []Size{SymbolSize(dim), at(n)}}}
	var stored []reach
	for i := range n {
		stored = append(stored, reach{{width: SymbolSize(dim)}, {first: at(i * 7919 % n), width: at(1)}})
	}
	begin := time.Now()
	require.True(t, v.complete(v.merged(stored)))
	require.False(t, v.complete(v.merged(stored[1:])))
	require.Less(t, time.Since(begin), 20*time.Second, "its square would take minutes")
}
