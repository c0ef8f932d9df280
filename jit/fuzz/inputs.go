package fuzz

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/lang"
)

// Style is what the elements of the inputs are like.
type Style string

// The styles.
const (
	// Small has quarters between -4 and 4 and small integers: most arithmetic on them is exact.
	Small Style = "small"
	// Normal has normally distributed floats, and integers of every magnitude.
	Normal Style = "normal"
	// Special has among them zeros of both signs, denormals, infinities, NaN and the ends of the integers.
	Special Style = "special"
	// Bits has any bit pattern.
	Bits Style = "bits"
)

var styles = []Style{Small, Normal, Special, Bits}

// random gives numbers that depend on a seed and a name alone.
func random(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// element draws one element of a type.
func (s Style) element(d lang.DType, r *rand.Rand) ir.Const {
	if d == lang.Bool {
		return ir.Const{Int: int64(r.Uint64() & 1)}
	}
	switch {
	case s == Bits && r.IntN(2) == 0:
		return decode(d, binary.LittleEndian.AppendUint64(nil, r.Uint64()), 0)
	case s == Special && r.IntN(6) == 0:
		all := specialValues(d)
		return all[r.IntN(len(all))]
	}
	if d.IsFloat() {
		v := r.NormFloat64()
		if s == Small {
			v = float64(r.IntN(33)-16) / 4
		}
		return ir.Const{Float: eval.Round(v, d)}
	}
	n := int64(r.IntN(24)) - 4
	if s != Small && r.IntN(3) == 0 {
		n = int64(r.Uint64()) >> r.IntN(64)
	}
	return ir.Const{Int: eval.Wrap(n, d)}
}

// specialValues are the values at which arithmetic goes wrong.
func specialValues(d lang.DType) []ir.Const {
	var cs []ir.Const
	if !d.IsFloat() {
		lo, hi := eval.Limits(d)
		for _, n := range []int64{0, 1, 2, -1, 31, 32, 63, 64, lo, hi, lo + 1, hi - 1} {
			cs = append(cs, ir.Const{Int: eval.Wrap(n, d)})
		}
		return cs
	}
	tiny, most := d.Spacing(0), d.Largest()
	for _, v := range []float64{0, math.Copysign(0, -1), 1, -1, tiny, -tiny, 3 * tiny, most, -most, most / 2, 0.5, 1e-3, -2.5, infinity, -infinity, math.NaN()} {
		cs = append(cs, ir.Const{Float: eval.Round(v, d)})
	}
	return cs
}

// fill makes the bytes of a tensor.
func (s Style) fill(d lang.DType, n int64, r *rand.Rand) []byte {
	data := make([]byte, d.Bytes(n))
	for i := range int(n) {
		encode(d, s.element(d, r), data, i)
	}
	return data
}

// decode reads element i.
func decode(d lang.DType, data []byte, i int) ir.Const {
	bits := d.RawBitsAt(data, int64(i))
	switch {
	case d.IsFloat():
		return ir.Const{Float: d.FloatValue(bits)}
	case d == lang.Bool: // any byte but 0 and 1 is no bool; it stays visible
		return ir.Const{Int: int64(bits)}
	}
	return ir.Const{Int: d.IntValue(bits)}
}

// encode writes element i.
func encode(d lang.DType, c ir.Const, data []byte, i int) {
	bits := uint64(c.Int)
	if d.IsFloat() {
		bits = d.FloatBits(c.Float)
	}
	d.PutRawBitsAt(data, int64(i), bits)
}
