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

// Heads by the heads that share keys are a divisor, where that goes into them; else it may be 0.
func TestQuotientsOfMultiplesAreDivisors(t *testing.T) {
	all := dims("H", "K")
	h, k := all[0], all[1]
	sym := &Symbol{Name: "i", Kind: PositionSymbol, Serial: 9}
	i, one := Of(sym), Const(1)
	shared := i.FloorDiv(h.FloorDiv(k))
	p := &Prover{}
	p.Where(sym, i)
	p.Where(sym, h.Sub(one).Sub(i))
	assert.False(t, p.NonNegative(shared), "H // K may be 0")
	p.Assume(h.Mod(k).Neg())
	assert.True(t, p.NonNegative(shared))
	assert.True(t, p.AtMost(shared, k.Sub(one)))
	assert.False(t, p.AtMost(shared, k.Sub(Const(2))))
	assert.False(t, p.WithZeros().NonNegative(shared), "H may be 0")
}
