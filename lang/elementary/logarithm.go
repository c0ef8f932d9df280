package elementary

import "math"

// The logarithm of x = 2**e m, with m from 0.703125 on and below twice that, is
// e log 2 - log c + log(c m). The table has, for 128 cells of m, a c near 1/m: c m
// is 1 + r with |r| below 2**-7, and its logarithm r - r**2/2 + r**3/3 - ...

// logCell is a part of the range of m.
type logCell struct {
	inverse  float64 // c: it has 11 bits, and is 1 in the two cells beside m = 1
	top, low float64 // -log c in two parts; top is a multiple of 2**-42
}

// logCells is how many cells there are, and logCellBits where their number stands in the bits of m - firstCell.
const logCells, logCellBits = 128, 52 - 7

// firstCell is the bits of the least m: a multiple of a cell, near the root of 1/2.
const firstCell = 0x3fe68 << 44

// ln2 is the logarithm of 2. The product of its first 42 bits, ln2Top, with an exponent is exact.
var ln2 = pair{math.Ln2, 0x1.abc9e3b39803fp-56}

const ln2Top, ln2Low = 0x1.62e42fefa38p-1, 0x1.ef35793c7673p-45

// log2e is 1 / log 2.
var log2e = pair{math.Log2E, 0x1.777d0ffda0d24p-56}

var logTable = func() (table [logCells]logCell) {
	for i := range table {
		c := &table[i]
		first := math.Float64frombits(firstCell + uint64(i)<<logCellBits)
		next := math.Float64frombits(firstCell + uint64(i+1)<<logCellBits)
		c.inverse = 1
		if first != 1 && next != 1 {
			c.inverse = math.RoundToEven(0x1p10/float64((first+next)*0.5)) * 0x1p-10
		}
		l := logSeries(c.inverse)
		c.top = float64(-math.RoundToEven(l.hi*0x1p42) * 0x1p-42)
		c.low = -(l.hi + c.top + l.lo)
	}
	return table
}()

// logSeries is the logarithm of a number near 1, to about 100 bits: log m = 2 atanh((m-1)/(m+1)), by its series.
func logSeries(m float64) pair {
	s := sum(m, -1).div(sum(m, 1))
	square := s.mul(s)
	series := pair{}
	for k := 47; k >= 1; k -= 2 { // s is at most 0.174: the next term is below 2**-119
		series = series.mul(square).plus(pair{1, 0}.div(pair{float64(k), 0}))
	}
	return s.mul(series).times(2)
}

// logarithm is the logarithm of x (1 + ratio), for finite x above 0 and a ratio
// below 2**-52. Its relative error is below 2**-66: that of r**3/3, the largest
// part that is one float64, is 2**-52 of at most 2**-15 of the whole.
func logarithm(x, ratio float64) pair {
	e := 0.0
	if x < 0x1p-1022 {
		x *= 0x1p54
		e = -54
	}
	at := math.Float64bits(x) - firstCell
	exponent := int64(at) >> 52
	e += float64(exponent)
	m := math.Float64frombits(math.Float64bits(x) - uint64(exponent)<<52)
	c := &logTable[at>>logCellBits%logCells]

	product := float64(m * c.inverse)
	r := ordered(product-1, math.FMA(m, c.inverse, -product)+float64(product*ratio))
	square := float64(r.hi * r.hi)
	// What half the square lost, and the terms from r**3/3 to r**10/10; the next is below 2**-73 of r.
	lost := float64(math.FMA(r.hi, r.hi, -square)*0.5) + float64(r.hi*r.lo)
	low := 1.0/3 - float64(r.hi*(1.0/4)) + float64(square*(1.0/5-float64(r.hi*(1.0/6))))
	high := 1.0/7 - float64(r.hi*(1.0/8)) + float64(square*(1.0/9-float64(r.hi*(1.0/10))))
	tail := float64(float64(r.hi*square) * (low + float64(float64(square*square)*high)))

	s := ordered(float64(e*ln2Top)+c.top, r.hi) // the first operand is exact
	t := ordered(s.hi, float64(square*-0.5))
	return ordered(t.hi, (t.lo+s.lo)+(r.lo-lost+(tail+(float64(e*ln2Low)+c.low))))
}

// Log is the natural logarithm, within 0.51 ulp.
func Log(x float64) float64 {
	switch {
	case x > math.MaxFloat64 || x != x:
		return x
	case x <= 0:
		return logOutside(x)
	}
	return logarithm(x, 0).hi
}

// Log2 is the logarithm to base 2, within 0.51 ulp; of a power of two it is exact.
func Log2(x float64) float64 {
	switch {
	case x > math.MaxFloat64 || x != x:
		return x
	case x <= 0:
		return logOutside(x)
	}
	return logarithm(x, 0).mul(log2e).hi
}

// Log1p is the logarithm of 1 + x, within 0.51 ulp.
func Log1p(x float64) float64 {
	switch {
	case x > math.MaxFloat64 || x != x || x == 0:
		return x
	case x <= -1:
		return logOutside(x + 1)
	}
	s := sum(1, x)
	return logarithm(s.hi, s.lo/s.hi).hi
}

// logOutside is what a logarithm is of numbers that are not above 0.
func logOutside(x float64) float64 {
	if x == 0 {
		return math.Inf(-1)
	}
	return math.NaN()
}
