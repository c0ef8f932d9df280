package size

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The tests of this file notice faults that bench/mutate put into this package and nothing else saw.

// D >= 1 says nothing about D * n - n where n may be negative.
func TestFactsAreMultipliedByWhatIsNotNegative(t *testing.T) {
	d := dims("D")[0]
	sym := &Symbol{Name: "n", Kind: PositionSymbol, Serial: 9}
	n := Of(sym)
	p := &Prover{}
	assert.False(t, p.NonNegative(d.Mul(n).Sub(n)), "n may be negative")
	p.Where(sym, n)
	assert.True(t, p.NonNegative(d.Mul(n).Sub(n)))
}
