package sample

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// bigExp is e to the power x to far more digits than a float64 has.
func bigExp(x float64) *big.Float {
	const precision, halvings = 200, 12
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }
	r := number(math.Ldexp(x, -halvings))
	sum, term := number(1), number(1)
	for n := 1; n < 40; n++ {
		term.Quo(term.Mul(term, r), number(float64(n)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

func TestExpIsWithinOneULP(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	points := []float64{0, -1e-300, -1e-17, -math.Ln2 / 2, -math.Ln2, -1, -707.9, -708}
	for range 3000 {
		points = append(points, -708*random.Float64(), -2*random.Float64())
	}
	worst := 0.0
	for _, x := range points {
		want := bigExp(x)
		nearest, _ := want.Float64()
		ulp := math.Nextafter(nearest, 2) - nearest
		off := new(big.Float).Sub(new(big.Float).SetPrec(200).SetFloat64(exp(x)), want)
		ulps, _ := off.Quo(off, big.NewFloat(ulp)).Float64()
		worst = max(worst, math.Abs(ulps))
	}
	require.LessOrEqual(t, worst, 1.0)
	t.Logf("%.3f ulp", worst)
}

func TestExpEnds(t *testing.T) {
	require.Equal(t, 1.0, exp(0))
	require.Zero(t, exp(-708.1))
	require.Zero(t, exp(math.Inf(-1)))
}
