package blocks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// TestManyParts: what it costs to put parts together grows with their number, and not with its square.
func TestManyParts(t *testing.T) {
	const n = 20_000
	at := func(i int) size.Size { return size.Const(int64(i)) }
	dim := &size.Symbol{Name: "N", Kind: size.DimSymbol}
	v := &coverage{Facts: &Facts{}, known: new(size.Prover).WithZeros(), of: &typed.Param{Name: "y", Shape: []size.Size{size.Of(dim), at(n)}}}
	var stored []reach
	for i := range n {
		stored = append(stored, reach{{width: size.Of(dim)}, {first: at(i * 7919 % n), width: at(1)}})
	}
	begin := time.Now()
	require.True(t, v.complete(v.merged(stored)))
	require.False(t, v.complete(v.merged(stored[1:])))
	require.Less(t, time.Since(begin), 20*time.Second, "its square would take minutes")
}
