package elem

import (
	goflag "flag"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var quotientPairs = goflag.Int("quotients", 1<<24, "random pairs that TestQuotientsAreDivisions tries")

// quotientOf is what the code of Quotients computes before its test, and whether the test passes.
func quotientOf(a, b float32) (z float32, right bool) {
	y := 1 / b
	q := a * y
	z = fma32(fma32(q, b, -a), -y, q)
	near := b >= leastDivisor && b <= mostDivisor
	return z, near && (math.Abs(float64(z)) >= leastQuotient || a == 0)
}

// Where the test passes, the quotient is the one that division gives: of random pairs (-quotients=200000000 for many), and of all dividends where
// the divisor's mantissa is all ones, whose reciprocal is the hardest.
func TestQuotientsAreDivisions(t *testing.T) {
	same := func(a, b float32) bool {
		z, right := quotientOf(a, b)
		return !right || math.Float32bits(z) == math.Float32bits(a/b)
	}
	count := *quotientPairs
	if testing.Short() {
		count = 1 << 18
	}
	workers := runtime.GOMAXPROCS(0)
	var wait sync.WaitGroup
	var mu sync.Mutex
	tried := 0
	for w := range workers {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(w)))
			passed := 0
			for range count / workers {
				bits := r.Uint64()
				a := math.Float32frombits(uint32(bits))
				// Divisors within the range and a little around it.
				b := math.Float32frombits(uint32(bits>>32)&0x7fffff | uint32(127-10+r.IntN(36))<<23)
				if !same(a, b) {
					t.Errorf("%v / %v", a, b)
					return
				}
				if _, right := quotientOf(a, b); right {
					passed++
				}
			}
			mu.Lock()
			tried += passed
			mu.Unlock()
		})
	}
	wait.Wait()
	require.Greater(t, tried, count/4, "the test refuses too many")
	hardest := math.Float32frombits(127<<23 | 0x7fffff)
	for m := range uint32(1 << 23) {
		if a := math.Float32frombits(120<<23 | m); !same(a, hardest) {
			t.Fatalf("%v / %v", a, hardest)
		}
	}
	special := []float32{0, float32(math.Copysign(0, -1)), 0x1p-149, 0x1p-127, 0x1p-126, 0x1p-100, 0x1p-92, 0x1p-91, 1, 0x1p100, 0x1p127, math.MaxFloat32,
		float32(math.Inf(1)), float32(math.NaN())}
	for _, a := range special {
		for _, b := range special {
			require.True(t, same(a, b) && same(-a, b) && same(a, -b), "%v / %v", a, b)
		}
	}
}
