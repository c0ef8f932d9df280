package size

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPrimitive(t *testing.T) {
	dim := func(name string, serial int) Size {
		return Of(&Symbol{Name: name, Kind: DimSymbol, Serial: serial})
	}
	b, c, h := dim("B", 1), dim("C", 2), dim("H", 3)
	n := Of(&Symbol{Name: "n", Kind: PositionSymbol, Serial: 4}) // may be 0
	for _, x := range []struct {
		name    string
		of, got Size
	}{
		{"a shared dimension", b.Mul(c).Sub(b.Mul(h)), c.Sub(h)},
		{"shared twice", b.Mul(b).Mul(c).Sub(b.Mul(b).Mul(b)), c.Sub(b)},
		{"beside a quotient", b.Mul(c).Sub(b.Mul(h).Mul(c.FloorDiv(h))), c.Sub(h.Mul(c.FloorDiv(h)))},
		{"a constant term shares nothing", b.Mul(c).Sub(Const(4)), b.Mul(c).Sub(Const(4))},
		{"what may be 0 stays", n.Mul(c).Sub(n.Mul(h)), n.Mul(c).Sub(n.Mul(h))},
		{"nothing", Size{}, Size{}},
	} {
		got := new(Prover).primitive(x.of)
		assert.True(t, got.Equal(x.got), "%s: %s gives %s, want %s", x.name, x.of, got, x.got)
	}
	assert.True(t, new(Prover).Different(b.Mul(c), b.Mul(c).Add(b)))
	assert.False(t, new(Prover).Different(b.Mul(c), b.Mul(h)))
}
