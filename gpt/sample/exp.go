package sample

import "math"

// exp is e to the power x for x up to 0, within 1 ulp, and 0 where that would
// be below 1e-307. math.Exp has assembly of its own on some machines and may
// be fused on others; here every operation is rounded by itself (the
// conversions forbid fusing), so that all machines agree on every bit.
func exp(x float64) float64 {
	if x < -708 {
		return 0
	}
	const (
		// ln 2 in two parts; multiples of the first by up to 2^20 are exact.
		ln2Hi = 6.93147180369123816490e-01
		ln2Lo = 1.90821492927058770002e-10
	)
	// x = k ln 2 + r with |r| <= ln(2)/2, and r = hi - lo.
	k := math.RoundToEven(x * math.Log2E)
	hi := x - float64(k*ln2Hi)
	lo := float64(k * ln2Lo)
	r := hi - lo
	// e^r = 1 + r + r^2 q, where q is a polynomial, its even and its odd terms
	// apart so that a processor can work on both at once.
	square := float64(r * r)
	even, odd := evenTerms[0], oddTerms[0]
	for i := 1; i < terms; i++ {
		even = float64(even*square) + evenTerms[i]
		odd = float64(odd*square) + oddTerms[i]
	}
	q := even + float64(odd*r)
	// The small parts first, so that what r lost in rounding is made good.
	sum := 1 + (hi + (float64(square*q) - lo))
	scale := math.Float64frombits(uint64(1023+int64(k)) << 52) // 2^k
	return sum * scale
}

// The terms of q, 1/(n+2)! for n of 11 down to 0: what follows is below 2^-57
// of the sum for |r| <= ln(2)/2.
const terms = 6

var evenTerms, oddTerms = func() (even, odd [terms]float64) {
	factorial := 2.0
	for n := range terms {
		even[terms-1-n] = 1 / factorial
		factorial *= float64(2*n + 3)
		odd[terms-1-n] = 1 / factorial
		factorial *= float64(2*n + 4)
	}
	return even, odd
}()
