package cpu

import (
	"math"
	"unsafe"

	"tilec/jit/ir"
	"tilec/lang"
)

// reducer reduces, for each of inner columns, n elements that lie inner apart:
// x is [n, inner], the result [inner]. start is the first position of the
// reduced axis, for argmax.
type reducer func(dst, x unsafe.Pointer, n, inner, start int)

// reduce compiles a reduction. The tile is seen as [outer, reduced, inner];
// one whose reduced axes are apart is put in that order first.
func (c *compiler) reduce(op *ir.Op) func(*frame) {
	x, r := op.Args[0], op.Result()
	over := ir.Type{Axes: op.Over}
	var outer, reduced, inner []*ir.Axis
	adjacent := true
	for _, a := range x.Type.Axes {
		switch {
		case over.Has(a):
			adjacent = adjacent && len(inner) == 0
			reduced = append(reduced, a)
		case len(reduced) == 0:
			outer = append(outer, a)
		default:
			inner = append(inner, a)
		}
	}
	var arrange func(fr *frame, dst, src unsafe.Pointer)
	order := append(append(append([]*ir.Axis(nil), outer...), reduced...), inner...)
	if kept := append(outer[:len(outer):len(outer)], inner...); !adjacent || !sameOrder(kept, r.Type.Axes) {
		// Keep the order of the result, reduce the rest last.
		outer, inner = r.Type.Axes, nil
		order = append(outer[:len(outer):len(outer)], reduced...)
		arrange = c.spread(ir.Type{DType: x.Type.DType, Axes: order}, x.Type)
	}
	f := reducers[kindOfDType[x.Type.DType]][op.Code]
	if f == nil {
		panic(bug("no reduction " + op.Code.String() + " of " + x.Type.String()))
	}
	if op.Code.Row().Rule == lang.RuleArg && r.Type.DType == lang.I64 {
		f = widePositions(f)
	}
	round := rounder(r.Type.DType)
	if op.Code.Row().Rule == lang.RuleSame && (r.Type.DType.HasInfinity() || !r.Type.DType.IsFloat()) {
		round = nil // an operand, or the infinity that stands for none, where there is one
	}
	src, dst := c.off(x), c.off(r)
	ssize, dsize := kindOfDType[x.Type.DType].size(), kindOfDType[r.Type.DType].size()
	outers, reduceds, inners := c.axisNumbers(outer), c.axisNumbers(reduced), c.axisNumbers(inner)
	all, first := c.axisNumbers(x.Type.Axes), reduceds[0]
	return func(fr *frame) {
		from := fr.at(src)
		if arrange != nil {
			t := fr.temp(tempA, fr.count(all)*ssize)
			arrange(fr, t, from)
			from = t
		}
		o, n, i := fr.count(outers), fr.count(reduceds), fr.count(inners)
		to := fr.at(dst)
		for q := range o {
			f(unsafe.Add(to, q*i*dsize), unsafe.Add(from, q*n*i*ssize), n, i, fr.axes[first].start)
		}
		if round != nil {
			round(slice[float32](fr.at(dst), o*i))
		}
	}
}

// reducers is the table of reductions, by the kind of the operand.
var reducers = [numKinds]map[lang.Op]reducer{
	kBool: {
		lang.OpAny: foldReducer(0, func(a, b uint8) uint8 { return a | b }),
		lang.OpAll: foldReducer(1, func(a, b uint8) uint8 { return a & b }),
	},
	kI8: intReducers[int8, int32](math.MinInt8, math.MaxInt8), kU8: intReducers[uint8, int32](0, math.MaxUint8),
	kI16: intReducers[int16, int32](math.MinInt16, math.MaxInt16), kU16: intReducers[uint16, int32](0, math.MaxUint16),
	kI32: intReducers[int32, int32](math.MinInt32, math.MaxInt32), kU32: intReducers[uint32, uint32](0, math.MaxUint32),
	kI64: intReducers[int64, int64](math.MinInt64, math.MaxInt64), kU64: intReducers[uint64, uint64](0, math.MaxUint64),
	kF32: with(floatReducers[float32](), map[lang.Op]reducer{lang.OpSum: sum32(false), lang.OpMean: sum32(true), lang.OpReduceMax: max32}),
	kF64: with(floatReducers[float64](), map[lang.Op]reducer{lang.OpSum: sum64(false), lang.OpMean: sum64(true)}),
}

func intReducers[T integer, A integer](least, most T) map[lang.Op]reducer {
	return map[lang.Op]reducer{
		lang.OpSum:       accumulate(0, func(a A, x T) A { return a + A(x) }),
		lang.OpProd:      accumulate(1, func(a A, x T) A { return a * A(x) }),
		lang.OpReduceMax: maxReducer(least),
		lang.OpReduceMin: minReducer(most),
		lang.OpArgMax:    argReducer(func(x, best T) bool { return x > best }),
		lang.OpArgMin:    argReducer(func(x, best T) bool { return x < best }),
	}
}

func floatReducers[T float]() map[lang.Op]reducer {
	inf := T(math.Inf(1))
	return map[lang.Op]reducer{
		// The product is accumulated in float64 and rounded once.
		lang.OpProd: func(dst, x unsafe.Pointer, n, inner, _ int) {
			d, s := slice[T](dst, inner), slice[T](x, n*inner)
			for j := range d {
				p := 1.0
				for i := j; i < len(s); i += inner {
					p *= float64(s[i])
				}
				d[j] = T(p)
			}
		},
		lang.OpReduceMax: maxReducer(-inf),
		lang.OpReduceMin: minReducer(inf),
		lang.OpArgMax:    argReducer(func(x, best T) bool { return best == best && (x > best || x != x) }),
		lang.OpArgMin:    argReducer(func(x, best T) bool { return best == best && (x < best || x != x) }),
	}
}

// accumulate folds into an accumulator of another type.
func accumulate[T, A any](identity A, f func(A, T) A) reducer {
	return func(dst, x unsafe.Pointer, n, inner, _ int) {
		d, s := slice[A](dst, inner), slice[T](x, n*inner)
		for j := range d {
			a := identity
			for i := j; i < len(s); i += inner {
				a = f(a, s[i])
			}
			d[j] = a
		}
	}
}

func foldReducer[T any](identity T, f func(a, b T) T) reducer { return accumulate(identity, f) }

func maxReducer[T number](identity T) reducer {
	return func(dst, x unsafe.Pointer, n, inner, _ int) {
		d, s := slice[T](dst, inner), slice[T](x, n*inner)
		if inner == 1 {
			a, b := identity, identity // two chains hide the latency
			i := 0
			for ; i+1 < len(s); i += 2 {
				a, b = max(a, s[i]), max(b, s[i+1])
			}
			if i < len(s) {
				a = max(a, s[i])
			}
			d[0] = max(a, b)
			return
		}
		for j := range d {
			d[j] = identity
		}
		for i := range n {
			maxRow(d, d, s[i*inner:])
		}
	}
}

// max32 takes contiguous runs at once. Of a zero, whose sign the vector loop does not order, the plain loop decides.
func max32(dst, x unsafe.Pointer, n, inner, start int) {
	if whole := n &^ 15; vectors && inner == 1 && whole > 0 {
		m := maxAVX(whole, x)
		for _, v := range slice[float32](x, n)[whole:] {
			m = max(m, v)
		}
		if m != 0 {
			*(*float32)(dst) = m
			return
		}
	}
	max32Go(dst, x, n, inner, start)
}

var max32Go = maxReducer(float32(math.Inf(-1)))

func minReducer[T number](identity T) reducer {
	return func(dst, x unsafe.Pointer, n, inner, _ int) {
		d, s := slice[T](dst, inner), slice[T](x, n*inner)
		if inner == 1 {
			a := identity
			for _, v := range s {
				a = min(a, v)
			}
			d[0] = a
			return
		}
		for j := range d {
			d[j] = identity
		}
		for i := range n {
			minRow(d, d, s[i*inner:])
		}
	}
}

// argReducer gives the position of the first element that beats all before it; of nothing, the first position.
func argReducer[T any](beats func(x, best T) bool) reducer {
	return func(dst, x unsafe.Pointer, n, inner, start int) {
		d, s := slice[int32](dst, inner), slice[T](x, n*inner)
		for j := range d {
			at := 0
			if n > 0 {
				best := s[j]
				for i := 1; i < n; i++ {
					if v := s[i*inner+j]; beats(v, best) {
						best, at = v, i
					}
				}
			}
			d[j] = int32(start + at)
		}
	}
}

// widePositions gives the positions of f as i64. Those of f lie in the same memory, so the last is widened first.
func widePositions(f reducer) reducer {
	return func(dst, x unsafe.Pointer, n, inner, start int) {
		f(dst, x, n, inner, 0)
		narrow, wide := slice[int32](dst, inner), slice[int64](dst, inner)
		for j := inner - 1; j >= 0; j-- {
			wide[j] = int64(start) + int64(narrow[j])
		}
	}
}

// sum32 adds float32 in float64, in chains: the order is fixed, and the
// only rounding that counts is the last.
func sum32(mean bool) reducer {
	return func(dst, x unsafe.Pointer, n, inner, _ int) {
		d, s := slice[float32](dst, inner), slice[float32](x, n*inner)
		if inner > 1 {
			sumColumns(d, s, mean)
			return
		}
		for j := range d {
			i := n &^ 15
			a := sum16(s[:i])
			var b, c, e float64
			for ; i+3 < len(s); i += 4 {
				a += float64(s[i])
				b += float64(s[i+1])
				c += float64(s[i+2])
				e += float64(s[i+3])
			}
			for ; i < len(s); i++ {
				a += float64(s[i])
			}
			sum := (a + b) + (c + e)
			if mean {
				sum /= float64(n)
			}
			d[j] = float32(sum)
		}
	}
}

// sumColumns adds the rows of s, each as long as d, in float64.
func sumColumns(d, s []float32, mean bool) {
	var sums [256]float64
	n := len(s) / len(d)
	for first := 0; first < len(d); first += len(sums) {
		out := d[first:min(first+len(sums), len(d))]
		acc := sums[:len(out)]
		clear(acc)
		for i := range n {
			row := s[i*len(d)+first:][:len(acc)]
			for j, v := range row {
				acc[j] += float64(v)
			}
		}
		for j, v := range acc {
			if mean {
				v /= float64(n)
			}
			out[j] = float32(v)
		}
	}
}

// sum64 adds float64 with a running compensation (Neumaier): its error does not grow with the length.
func sum64(mean bool) reducer {
	return func(dst, x unsafe.Pointer, n, inner, _ int) {
		d, s := slice[float64](dst, inner), slice[float64](x, n*inner)
		for j := range d {
			sum, lost := 0.0, 0.0
			for i := j; i < len(s); i += inner {
				v := s[i]
				t := sum + v
				if math.Abs(sum) >= math.Abs(v) {
					lost += (sum - t) + v
				} else {
					lost += (v - t) + sum
				}
				sum = t
			}
			if total := sum + lost; total == total {
				sum = total // the compensation of an infinite sum is not a number
			}
			if mean {
				sum /= float64(n)
			}
			d[j] = sum
		}
	}
}
