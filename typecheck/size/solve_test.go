package size

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/lang"
)

// A size tells the one dimension in it that is not known where it is a multiple of that and more.
func TestSizesTell(t *testing.T) {
	d := dims("N", "K", "C")
	n, k, c := d[0], d[1], d[2]
	g := Of(&Symbol{Name: "G", Kind: ConstSymbol, DType: lang.I32})
	two := Const(2)
	for _, x := range []struct {
		size       Size
		n, g, k    int64 // the size, G and K
		told, fail string
		is         int64
	}{
		{size: n, n: 7, told: "N", is: 7},
		{size: n.Mul(two).Add(Const(1)), n: 7, told: "N", is: 3},
		{size: n.Mul(two).Add(Const(1)), n: 8, told: "N", fail: "no N makes 8 of 2 * N + 1"},
		{size: n.Add(Const(9)), n: 8, told: "N", fail: "no N makes 8 of N + 9"},
		{size: g.Mul(n), n: 12, g: 4, told: "N", is: 3},
		{size: g.Mul(n), n: 12, g: 0, told: "N", fail: "G is 0, so that G * N tells no N"},
		{size: g.Mul(n), n: 12, g: -4, told: "N", fail: "no N makes 12 of G * N"},
		{size: g.Mul(n).Mul(k).Add(n).Sub(k), n: 13, g: 2, k: 2, told: "N", is: 3},
		{size: k.Sub(n), n: 3, k: 5, told: "N", is: 2},
		{size: k.Sub(n), n: 6, k: 5, told: "N", fail: "no N makes 6 of K - N"},
		{size: k.FloorDiv(two).Mul(n), n: 6, k: 5, told: "N", is: 3},
		{size: n.FloorDiv(two), n: 7},
		{size: n.Mul(n), n: 9},
		{size: n.Mul(c), n: 9},
		{size: g.Add(k), n: 9, g: 4, k: 5},
	} {
		value := func(s *Symbol) (int64, bool) {
			switch s.Name {
			case "G":
				return x.g, true
			case "K":
				return x.k, true
			}
			return 0, false
		}
		told, is, err := x.size.Tell(x.n, value)
		name := ""
		if told != nil {
			name = told.Name
		}
		assert.Equal(t, x.told, name, "%s", x.size)
		assert.Equal(t, x.is, is, "%s", x.size)
		if x.fail == "" {
			assert.NoError(t, err, "%s", x.size)
		} else {
			assert.EqualError(t, err, x.fail, "%s", x.size)
		}
	}
	told := Told([]Size{n.Mul(c), g.Mul(c).Add(k), k.FloorDiv(two), k.Mul(two)}, nil)
	for _, s := range d {
		assert.True(t, told[s.Symbol()], "%s is told by what others tell", s)
	}
	assert.Len(t, Told([]Size{n.Mul(c), n.Add(k)}, nil), 0)
}
