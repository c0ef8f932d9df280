package jittest

import (
	"math"
	"testing"

	"tilec/lang"
)

// Contraction is the arithmetic of sums of products on a device.
type Contraction struct {
	// Product is by how much a product may be off, relative to it, before it is added.
	Product float64
	// Unit is the relative error of one addition in the accumulator.
	Unit float64
	// Additions is through how many additions a product may go, for each product of the sum.
	Additions float64
}

// ContractionOf gives the arithmetic of the device under test for contractions
// of a type at a precision ("" is tf32 for f32).
//
// CPU: products and sums are f32's, rounded to nearest; with the product's own
// rounding a number goes through at most as many roundings as there are
// products, and one more, in whatever order.
//
// GPU: a tensor core adds a few products and the accumulator at once, each cut
// off below the 24th bit of the largest, so that an addition is off by at most
// 2^-23 of the sum of magnitudes (Fasi, Higham, Mikaitis and Pranesh 2021). A
// step of k products has k+1 such cuts, so there are at most two for a product
// (k = 1). Products of f16, bf16, f8 (as f16) and tf32 numbers are exact. That
// holds for normal factors (docs/language.md, Numbers), which tests have. Small
// contractions that use FMA instead err less.
//
// tf32 has 11 bits: rounding both operands puts a product off by 2^-11 twice,
// and the square of that. tf32x3 splits each operand in two tf32 numbers and
// adds three products: what the second part rounds away is 2^-22 of an operand,
// and the product of the two second parts, left out, is 2^-22 of the product.
func ContractionOf(t testing.TB, d lang.DType, precision string) Contraction {
	if !OnGPU(t) {
		return Contraction{Unit: unit, Additions: 1}
	}
	tensor := Contraction{Unit: 0x1p-23, Additions: 2}
	if d != lang.F32 {
		return tensor
	}
	switch precision {
	case "ieee":
		return Contraction{Unit: unit, Additions: 1}
	case "tf32x3":
		return Contraction{Product: 3 * 0x1p-22, Unit: tensor.Unit, Additions: 3 * tensor.Additions}
	}
	return Contraction{Product: 2*0x1p-11 + 0x1p-22, Unit: tensor.Unit, Additions: tensor.Additions}
}

// Precisions are those that a contraction of a type is tested with.
func Precisions(t testing.TB, d lang.DType) []string {
	if OnGPU(t) && d == lang.F32 {
		return []string{"", "tf32x3", "ieee"}
	}
	return []string{""}
}

// Dot is the sum of n products.
func (c Contraction) Dot(n int, a, b func(int) Bounded) Bounded {
	var sum Bounded
	size := 0.0
	for i := range n {
		x, y := a(i), b(i)
		sum.V += x.V * y.V
		sum.E += math.Abs(x.V)*y.E + math.Abs(y.V)*x.E + x.E*y.E
		size += x.most() * y.most()
	}
	sum.E += (c.Product + (1+c.Product)*growth(c.Additions*float64(n)+1, c.Unit)) * size
	return sum
}
