package size

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// dims are some dimensions to build sizes of.
func dims(names ...string) []Size {
	out := make([]Size, len(names))
	for i, n := range names {
		out[i] = Of(&Symbol{Name: n, Kind: DimSymbol, DType: lang.I32, Serial: i})
	}
	return out
}

func TestSizeText(t *testing.T) {
	d := dims("N", "D", "H")
	n, dd, h := d[0], d[1], d[2]
	two := Const(2)
	for _, x := range []struct {
		size Size
		text string
	}{
		{Size{}, "0"},
		{n.Sub(n), "0"},
		{n.Add(n), "2 * N"},
		{n.Mul(two).Add(Const(1)), "2 * N + 1"},
		{Const(1).Sub(n), "-N + 1"},
		{n.Sub(dd.Mul(Const(3))), "-3 * D + N"},
		{n.Mul(dd).Mul(n), "D * N * N"},
		{dd.FloorDiv(two), "D // 2"},
		{dd.Mul(Const(6)).Add(Const(5)).FloorDiv(two), "3 * D + 2"},
		{dd.FloorDiv(two).FloorDiv(Const(3)), "D // 6"},
		{dd.Mod(two), "D % 2"},
		{dd.Mul(Const(4)).Mod(two), "0"},
		{dd.Mul(h).FloorDiv(h), "D"},
		{dd.FloorDiv(h), "D // H"},
		{h.Mul(dd.FloorDiv(h)), "H * (D // H)"},
		{n.Add(dd).FloorDiv(two), "(D + N) // 2"},
	} {
		assert.Equal(t, x.text, x.size.String())
	}
	assert.True(t, n.Mul(dd.Add(h)).Equal(h.Mul(n).Add(dd.Mul(n))))
	assert.False(t, n.Equal(dd))
	assert.Nil(t, n.Add(n).Symbol())
	assert.NotNil(t, n.Symbol())
}

// TestSizeArithmetic compares canonical arithmetic with that of the numbers.
func TestSizeArithmetic(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	ds := dims("A", "B", "C")
	for range 3000 {
		values := map[*Symbol]int64{}
		for _, d := range ds {
			values[d.Symbol()] = 1 + rng.Int63n(40)
		}
		value := func(s *Symbol) (int64, bool) { v, ok := values[s]; return v, ok }
		var build func(depth int) (Size, int64)
		build = func(depth int) (Size, int64) {
			if depth == 0 {
				if rng.Intn(2) == 0 {
					n := rng.Int63n(13) - 4
					return Const(n), n
				}
				d := ds[rng.Intn(len(ds))]
				return d, values[d.Symbol()]
			}
			x, a := build(depth - 1)
			y, b := build(depth - 1)
			switch rng.Intn(5) {
			case 0:
				return x.Add(y), a + b
			case 1:
				return x.Sub(y), a - b
			case 2:
				return x.Mul(y), a * b
			}
			if b == 0 {
				return x, a
			}
			if rng.Intn(2) == 0 {
				return x.FloorDiv(y), FloorDiv(a, b)
			}
			return x.Mod(y), a - FloorDiv(a, b)*b
		}
		s, want := build(1 + rng.Intn(3))
		got, err := s.Eval(value)
		if err != nil {
			continue // a divisor that is 0 for these values, inside what was multiplied by 0
		}
		require.Equal(t, want, got, "%s with %v", s, values)
		half, err := s.Subst(func(sym *Symbol) (Size, bool) {
			return Const(values[sym]), sym != ds[0].Symbol()
		}).Eval(value)
		if err == nil {
			require.Equal(t, want, half, "%s after substitution", s)
		}
	}
}

// TestProver proves what holds and refuses what does not.
func TestProver(t *testing.T) {
	d := dims("D", "H", "N")
	dd, h, n := d[0], d[1], d[2]
	one, two := Const(1), Const(2)
	pos := func(p *Prover, name string, lo, hi Size) Size { // lo <= pos < hi
		sym := &Symbol{Name: name, Kind: PositionSymbol, Serial: len(name)}
		s := Of(sym)
		p.Where(sym, s.Sub(lo))
		p.Where(sym, hi.Sub(one).Sub(s))
		return s
	}
	p := &Prover{}
	half := dd.FloorDiv(two)
	q := pos(p, "q", Size{}, half)
	i := pos(p, "ii", Size{}, n)
	hh := pos(p, "hhh", Size{}, h)
	e := pos(p, "eeee", Size{}, dd)
	r := pos(p, "rrrrr", Size{}, Const(4))

	holds := []Size{
		dd.Sub(one), half, dd.Sub(half), dd.Sub(half).Sub(half), half.Mul(two).Add(one).Sub(dd),
		q, half.Sub(one).Sub(q), dd.Sub(one).Sub(q.Add(half)), dd.Sub(one).Sub(q.Mul(two).Add(one)),
		dd.Sub(one).Sub(dd.Sub(one).Sub(e)),
		h.Mul(dd).Sub(one).Sub(hh.Mul(dd).Add(e)), hh.Mul(dd).Add(e),
		n.Mul(two).Sub(one).Sub(i.Mul(two)), i.Mod(Const(8)), Const(7).Sub(i.Mod(Const(8))),
		i.FloorDiv(Const(4)), n.Sub(one).Sub(i.FloorDiv(Const(4))),
		n.Mul(Const(4)).Sub(one).Sub(i.Mul(Const(4)).Add(r)),
		i.FloorDiv(h), n.FloorDiv(h).Sub(i.FloorDiv(h)), // by an unknown divisor
		dd.Sub(one).Sub(pos(p, "of D H", Size{}, dd.Mul(h)).FloorDiv(h)),
	}
	for _, s := range holds {
		assert.True(t, p.NonNegative(s), "%s >= 0 holds", s)
	}
	fails := []Size{
		dd.Sub(two), half.Sub(one), // an axis over D // 2 may be empty
		q.Sub(one), dd.Sub(one).Sub(q.Add(half)).Sub(one).Sub(one),
		n.Sub(dd), n.Sub(one).Sub(i.Add(one)), i.Sub(one),
		h.Mul(dd).Sub(one).Sub(hh.Mul(dd.Add(one)).Add(e)),
		n.Sub(one).Sub(r),
	}
	for _, s := range fails {
		assert.False(t, p.NonNegative(s), "%s >= 0 does not hold", s)
	}
	assert.True(t, p.Different(n, n.Add(one)))
	assert.True(t, p.Different(n, n.Mul(two)))
	assert.False(t, p.Different(n, dd))
	assert.False(t, p.Different(h.Mul(dd.FloorDiv(h)), dd))
	// The last group is whole only where the groups divide the dimension.
	groups, last := n.FloorDiv(h), n.FloorDiv(h).Sub(one).Sub(i.FloorDiv(h))
	assert.False(t, p.NonNegative(last))
	p.Assume(n.Mod(h).Neg())
	assert.True(t, p.NonNegative(last))
	assert.True(t, p.NonNegative(groups.Mul(h).Sub(n)))
	// A constant may be anything, until a size divides by it.
	g := Of(&Symbol{Name: "G", Kind: ConstSymbol, DType: lang.I32, Serial: 20})
	assert.False(t, p.NonNegative(i.FloorDiv(g)))
	p.Bound(n.FloorDiv(g))
	assert.True(t, p.NonNegative(i.FloorDiv(g)))
	assert.True(t, NonNegative(n.Mul(dd).Sub(one)))
	assert.False(t, NonNegative(n.Sub(dd)))
}

// TestProverIsSound checks every proof on random small numbers.
func TestProverIsSound(t *testing.T) {
	rng := rand.New(rand.NewSource(5))
	ds := dims("A", "B")
	proven := 0
	for range 1500 {
		p := &Prover{}
		sym := &Symbol{Name: "i", Kind: PositionSymbol, Serial: 9}
		i := Of(sym)
		limit := ds[rng.Intn(2)]
		if rng.Intn(2) == 0 {
			limit = limit.FloorDiv(Const(1 + rng.Int63n(4)))
		}
		p.Where(sym, i)
		p.Where(sym, limit.Sub(Const(1)).Sub(i))
		atoms := []Size{ds[0], ds[1], i, ds[0].Mul(ds[1]), i.Mul(ds[0]), ds[0].FloorDiv(Const(2)), i.Mod(Const(3)), i.FloorDiv(Const(2)), i.FloorDiv(ds[1]), ds[0].Mod(ds[1]), ds[0].FloorDiv(ds[1]), i.Mod(ds[0])}
		s := Const(rng.Int63n(7) - 3)
		for range 1 + rng.Intn(3) {
			s = s.Add(atoms[rng.Intn(len(atoms))].Mul(Const(rng.Int63n(5) - 2)))
		}
		if !p.NonNegative(s) {
			continue
		}
		proven++
		for a := int64(1); a <= 9; a++ {
			for b := int64(1); b <= 9; b++ {
				values := map[*Symbol]int64{ds[0].Symbol(): a, ds[1].Symbol(): b}
				value := func(sym *Symbol) (int64, bool) { v, ok := values[sym]; return v, ok }
				end, err := limit.Eval(value)
				require.NoError(t, err)
				for x := int64(0); x < end; x++ {
					values[i.Symbol()] = x
					got, err := s.Eval(value)
					require.NoError(t, err)
					require.GreaterOrEqual(t, got, int64(0), "%s with i < %s, A=%d B=%d i=%d", s, limit, a, b, x)
				}
			}
		}
	}
	assert.Greater(t, proven, 100)
}
