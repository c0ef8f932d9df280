package emu

import (
	"fmt"
	"math"

	"tilec/jit/emu/number"
)

// A fragmentLayout says where element i of a lane's fragment lies in its matrix.
// With g = lane/4 and t = lane%4.
type fragmentLayout func(g, t, i int) (row, col int)

// An mmaShape is a shape of mma for element types of one width: m is 8 or 16, n is 8.
type mmaShape struct {
	m, k    int
	a, b, c fragmentLayout
}

// Accumulators of all shapes: two neighbours in row g, then two in row g+8.
func accumulatorLayout(g, t, i int) (row, col int) { return g + i/2*8, 2*t + i%2 }

// The layouts of A and B for elements held p to a 32-bit register (f16: 2, 8 bits:
// 4, tf32: 1): a register is p neighbours along k; the registers of A are rows g
// and g+8, then the same p*4 further along k.
func aLayout(p int) fragmentLayout {
	return func(g, t, i int) (row, col int) {
		register := i / p
		return g + register%2*8, t*p + i%p + register/2*4*p
	}
}

func bLayout(p int) fragmentLayout {
	return func(g, t, i int) (row, col int) { return t*p + i%p + i/p*4*p, g }
}

// Shapes with m = 8 have no rows g+8.
func aLayout8(p int) fragmentLayout {
	return func(g, t, i int) (row, col int) { return g, t*p + i }
}

// The f64 shapes hold one element a register.
func aLayout64(g, t, i int) (row, col int) { return g + i%2*8, t + i/2*4 }

// mmaShapes are the shapes by name and by the width of the elements of A in bits.
var mmaShapes = map[string]map[int]mmaShape{
	"m8n8k4":   {64: {8, 4, aLayout8(1), bLayout(1), accumulatorLayout}},
	"m16n8k4":  {32: {16, 4, aLayout(1), bLayout(1), accumulatorLayout}, 64: {16, 4, aLayout64, bLayout(1), accumulatorLayout}},
	"m16n8k8":  {16: {16, 8, aLayout(2), bLayout(2), accumulatorLayout}, 32: {16, 8, aLayout(1), bLayout(1), accumulatorLayout}, 64: {16, 8, aLayout64, bLayout(1), accumulatorLayout}},
	"m16n8k16": {16: {16, 16, aLayout(2), bLayout(2), accumulatorLayout}, 8: {16, 16, aLayout(4), bLayout(4), accumulatorLayout}, 64: {16, 16, aLayout64, bLayout(1), accumulatorLayout}},
	"m16n8k32": {8: {16, 32, aLayout(4), bLayout(4), accumulatorLayout}},
	"m8n8k16":  {8: {8, 16, aLayout8(4), bLayout(4), accumulatorLayout}},
}

// A fragmentPart finds the elements of one register of a fragment: where element e of lane l lies in the matrix, by rows.
type fragmentPiece struct {
	reg row
	at  [][warpSize]int // by element
}

// pieces prepares the registers of a fragment; width is the number of columns of the matrix in memory.
func pieces(regs []row, perRegister, width int, l fragmentLayout) []fragmentPiece {
	out := make([]fragmentPiece, len(regs))
	for r, reg := range regs {
		out[r] = fragmentPiece{reg, make([][warpSize]int, perRegister)}
		for e := range perRegister {
			for lane := range warpSize {
				i, j := l(lane/4, lane%4, r*perRegister+e)
				out[r].at[e][lane] = i*width + j
			}
		}
	}
	return out
}

const (
	mmaN    = 8
	mostMMA = 16 * 32
)

// gather reads a fragment into a matrix.
func gather(w *warp, fragment []fragmentPiece, bits int, value func(uint64) float64, into *[mostMMA]float64) {
	mask := number.Mask(bits)
	for i := range fragment {
		p := &fragment[i]
		regs := &w.regs[p.reg]
		for e := range p.at {
			at := &p.at[e]
			for lane, v := range regs {
				into[at[lane]&(mostMMA-1)] = value(v >> (e * bits) & mask)
			}
		}
	}
}

// multiplyMatrices is mma.sync.
func multiplyMatrices(d *decoder) {
	if !d.has("sync") || !d.has("aligned") {
		d.fail("need .sync.aligned")
	}
	name := d.must("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32", "m8n8k16")
	if !d.has("row") || !d.has("col") {
		d.fail("need .row.col")
	}
	saturate := d.has("satfinite")
	dt := d.typeOf("f16", "f32", "s32", "f64")
	at := d.typeOf("f16", "bf16", "tf32", "e4m3", "e5m2", "u8", "s8", "f64")
	bt := d.typeOf(at.Name, map[string]string{"u8": "s8", "s8": "u8", "e4m3": "e5m2", "e5m2": "e4m3"}[at.Name])
	ct := d.typeOf(dt.Name)
	if err := mmaTypes(dt, at); err != nil || saturate && dt.Name != "s32" {
		d.fail("types .%s and .%s do not go together", dt.Name, at.Name)
	}
	mode, _ := d.rounding("rn", "rz", "rm", "rp")
	shape, ok := mmaShapes[name][at.Bits]
	if !ok {
		d.fail("shape .%s does not go with type .%s", name, at.Name)
	}

	word := number.Types["b32"]
	if at.Bits == 64 {
		word = number.Types["b64"]
	}
	per := word.Bits / at.Bits // elements of A and B in a register
	accWord, accPer := number.Types["b32"], 1
	switch dt.Name {
	case "f64":
		accWord = number.Types["b64"]
	case "f16":
		accPer = 2
	}
	accumulators := shape.m * mmaN / warpSize / accPer
	dsts := d.dests(accumulators, accWord, false)
	a := pieces(d.sources(shape.m*shape.k/warpSize/per, word), per, shape.k, shape.a)
	b := pieces(d.sources(shape.k*mmaN/warpSize/per, word), per, mmaN, shape.b)
	c := pieces(d.sources(accumulators, accWord), accPer, mmaN, shape.c)
	valueA, valueB, valueC := reader(at), reader(bt), reader(ct)
	finish := mmaResult(dt, saturate)
	d.in.spread = func(w *warp) []uint32 { return spreadProduct(w.undefined, a, b, c, shape) }
	d.aligned(func(w *warp) {
		var x, y, z [mostMMA]float64
		gather(w, a, at.Bits, valueA, &x)
		gather(w, b, bt.Bits, valueB, &y)
		gather(w, c, accWord.Bits/accPer, valueC, &z)
		if at.Bits == 64 {
			for i := range shape.m {
				for j := range mmaN {
					s := z[i*mmaN+j]
					for k := range shape.k {
						s = number.FMA64(x[i*shape.k+k], y[k*mmaN+j], s, mode)
					}
					z[i*mmaN+j] = s
				}
			}
		} else {
			for i := range shape.m {
				sums := (*[mmaN]float64)(z[i*mmaN:])
				for k := range shape.k {
					f, col := x[i*shape.k+k], (*[mmaN]float64)(y[k*mmaN:])
					for j, v := range col {
						sums[j] += float64(f * v)
					}
				}
			}
		}
		for r := range dsts {
			out := w.out(dsts[r])
			for lane := range out {
				v := finish(z[c[r].at[0][lane]])
				if accPer == 2 {
					v |= finish(z[c[r].at[1][lane]]) << 16
				}
				out[lane] = v
			}
		}
	})
}

// spreadProduct gives the undefined lanes of the results: an undefined element of A
// makes its row undefined, one of B its column.
func spreadProduct(u *undefinedValues, a, b, c []fragmentPiece, shape mmaShape) []uint32 {
	var bad [16][mmaN]bool
	each := func(fragment []fragmentPiece, visit func(at int)) {
		for _, p := range fragment {
			for m := u.rows[p.reg]; m != 0; m &= m - 1 {
				for e := range p.at {
					visit(p.at[e][first(m)])
				}
			}
		}
	}
	each(a, func(at int) {
		for j := range mmaN {
			bad[at/shape.k][j] = true
		}
	})
	each(b, func(at int) {
		for i := range shape.m {
			bad[i][at%mmaN] = true
		}
	})
	each(c, func(at int) { bad[at/mmaN][at%mmaN] = true })
	spread := make([]uint32, len(c))
	for r, p := range c {
		for e := range p.at {
			for lane, at := range p.at[e] {
				if bad[at/mmaN][at%mmaN] {
					spread[r] |= 1 << lane
				}
			}
		}
	}
	return spread
}

// mmaTypes checks that results of type d go with factors of type a.
func mmaTypes(d, a number.Type) error {
	ok := false
	switch d.Name {
	case "f64":
		ok = a.Name == "f64"
	case "s32":
		ok = a.IsInt()
	case "f16":
		ok = a.Name == "f16" || a.Bits == 8 && a.IsFloat()
	case "f32":
		ok = a.IsFloat() && a.Bits < 64
	}
	if !ok {
		return fmt.Errorf("a product of .%s cannot be .%s", a.Name, d.Name)
	}
	return nil
}

// reader gives the number that an element stands for. Sums of integers stay below 2^53, where float64 is exact.
func reader(t number.Type) func(uint64) float64 {
	if t.IsFloat() {
		f := t.Format
		if f == &number.BF16 {
			return func(v uint64) float64 { return float64(math.Float32frombits(uint32(v) << 16)) }
		}
		return f.Value
	}
	return func(v uint64) float64 { return float64(t.Read(v)) }
}

// mmaResult turns a sum into the bits of an accumulator.
func mmaResult(t number.Type, saturate bool) func(float64) uint64 {
	switch {
	case t.Name == "f32":
		return func(v float64) uint64 { return number.Bits32(float32(v)) }
	case t.IsFloat():
		f := t.Format
		return func(v float64) uint64 { return f.Round(v, number.NearestEven, false) }
	case saturate:
		return func(v float64) uint64 { return number.Saturate32(int64(v)) & 0xffffffff }
	}
	return func(v float64) uint64 { return uint64(uint32(int64(v))) }
}
