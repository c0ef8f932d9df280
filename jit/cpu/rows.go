package cpu

import (
	"math"
	"unsafe"

	"tilec/jit/ir/eval"
	"tilec/lang"
	"tilec/lang/elementary"
)

// row computes a run of n elements of an elementwise operation: d from a, b
// and c, all contiguous. d may be one of the operands.
type row func(d, a, b, c unsafe.Pointer, n int)

// rows is the table of elementwise implementations, by the kind of the last
// operand. Casts have a table of their own.
var rows = [numKinds]map[lang.Op]row{
	kBool: boolRows(),
	kI8:   signedRows[int8](), kU8: unsignedRows[uint8](),
	kI16: signedRows[int16](), kU16: unsignedRows[uint16](),
	kI32: signedRows[int32](), kU32: unsignedRows[uint32](),
	kI64: signedRows[int64](), kU64: with(unsignedRows[uint64](), map[lang.Op]row{lang.OpRandomBits: ternary(eval.RandomRow)}),
	kF32: with(float32Rows(), vectorRows()), kF64: float64Rows(),
}

func unary[T any](f func(d, a []T)) row {
	return func(d, a, _, _ unsafe.Pointer, n int) { f(slice[T](d, n), slice[T](a, n)) }
}

func binary[T any](f func(d, a, b []T)) row {
	return func(d, a, b, _ unsafe.Pointer, n int) { f(slice[T](d, n), slice[T](a, n), slice[T](b, n)) }
}

func ternary[T any](f func(d, a, b, c []T)) row {
	return func(d, a, b, c unsafe.Pointer, n int) {
		f(slice[T](d, n), slice[T](a, n), slice[T](b, n), slice[T](c, n))
	}
}

func test[T any](f func(d []uint8, a, b []T)) row {
	return func(d, a, b, _ unsafe.Pointer, n int) { f(slice[uint8](d, n), slice[T](a, n), slice[T](b, n)) }
}

// each applies a function of one element; for operations whose own cost hides the call.
func each[T any](f func(T) T) row {
	return unary(func(d, a []T) {
		for i, v := range a {
			d[i] = f(v)
		}
	})
}

func each2[T any](f func(a, b T) T) row {
	return binary(func(d, a, b []T) {
		for i, v := range a {
			d[i] = f(v, b[i])
		}
	})
}

func flag(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// Rows that every kind has.

func selectRow[T any](d, c, a, b unsafe.Pointer, n int) {
	cond, x, y, out := slice[uint8](c, n), slice[T](a, n), slice[T](b, n), slice[T](d, n)
	for i := range out {
		v := y[i]
		if cond[i] != 0 {
			v = x[i]
		}
		out[i] = v
	}
}

func eqRow[T comparable](d []uint8, a, b []T) {
	for i, v := range a {
		d[i] = flag(v == b[i])
	}
}

func neRow[T comparable](d []uint8, a, b []T) {
	for i, v := range a {
		d[i] = flag(v != b[i])
	}
}

func ltRow[T number](d []uint8, a, b []T) {
	for i, v := range a {
		d[i] = flag(v < b[i])
	}
}

func leRow[T number](d []uint8, a, b []T) {
	for i, v := range a {
		d[i] = flag(v <= b[i])
	}
}

func gtRow[T number](d []uint8, a, b []T) {
	for i, v := range a {
		d[i] = flag(v > b[i])
	}
}

func geRow[T number](d []uint8, a, b []T) {
	for i, v := range a {
		d[i] = flag(v >= b[i])
	}
}

// Rows of every number.

func addRow[T number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] + b[i]
	}
}

func subRow[T number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] - b[i]
	}
}

func mulRow[T number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] * b[i]
	}
}

func negRow[T number](d, a []T) {
	for i, v := range a {
		d[i] = -v
	}
}

func minRow[T number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = min(a[i], b[i])
	}
}

func maxRow[T number](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = max(a[i], b[i])
	}
}

func clampRow[T number](d, x, lo, hi []T) {
	for i, v := range x {
		d[i] = min(max(v, lo[i]), hi[i])
	}
}

func numberRows[T number]() map[lang.Op]row {
	return map[lang.Op]row{
		lang.OpAdd:   binary(addRow[T]),
		lang.OpSub:   binary(subRow[T]),
		lang.OpMul:   binary(mulRow[T]),
		lang.OpNeg:   unary(negRow[T]),
		lang.OpMin:   binary(minRow[T]),
		lang.OpMax:   binary(maxRow[T]),
		lang.OpClamp: ternary(clampRow[T]),
		lang.OpEq:    test(eqRow[T]),
		lang.OpNe:    test(neRow[T]),
		lang.OpLt:    test(ltRow[T]),
		lang.OpLe:    test(leRow[T]),
		lang.OpGt:    test(gtRow[T]),
		lang.OpGe:    test(geRow[T]),
		lang.OpWhere: selectRow[T],
	}
}

func boolRows() map[lang.Op]row {
	return map[lang.Op]row{
		lang.OpLogicAnd: each2(func(a, b uint8) uint8 { return a & b }),
		lang.OpLogicOr:  each2(func(a, b uint8) uint8 { return a | b }),
		lang.OpLogicNot: each(func(a uint8) uint8 { return a ^ 1 }),
		lang.OpEq:       test(eqRow[uint8]),
		lang.OpNe:       test(neRow[uint8]),
		lang.OpLt:       test(ltRow[uint8]),
		lang.OpLe:       test(leRow[uint8]),
		lang.OpGt:       test(gtRow[uint8]),
		lang.OpGe:       test(geRow[uint8]),
		lang.OpWhere:    selectRow[uint8],
	}
}

// with adds entries to a table, over those that it has.
func with[T any](m, more map[lang.Op]T) map[lang.Op]T {
	for op, r := range more {
		m[op] = r
	}
	return m
}

func floatRows[T float]() map[lang.Op]row {
	// wide lifts a function of float64; its result is rounded once more.
	wide := func(f func(float64) float64) row {
		return each(func(x T) T { return T(f(float64(x))) })
	}
	wide2 := func(f func(a, b float64) float64) row {
		return each2(func(a, b T) T { return T(f(float64(a), float64(b))) })
	}
	tests := func(f func(float64) bool) row {
		return func(d, a, _, _ unsafe.Pointer, n int) {
			out := slice[uint8](d, n)
			for i, v := range slice[T](a, n) {
				out[i] = flag(f(float64(v)))
			}
		}
	}
	return with(numberRows[T](), map[lang.Op]row{
		lang.OpDiv: binary(func(d, a, b []T) {
			for i, v := range a {
				d[i] = v / b[i]
			}
		}),
		lang.OpFloorDiv: each2(func(a, b T) T { return T(math.Floor(float64(a / b))) }),
		lang.OpMod:      wide2(math.Mod),
		lang.OpPow:      wide2(elementary.Pow),
		lang.OpAbs:      wide(math.Abs),
		lang.OpSign: each(func(x T) T {
			switch {
			case x > 0:
				return 1
			case x < 0:
				return -1
			}
			return x // zero or NaN
		}),
		lang.OpExp:     wide(elementary.Exp),
		lang.OpExp2:    wide(elementary.Exp2),
		lang.OpExpm1:   wide(elementary.Expm1),
		lang.OpLog:     wide(elementary.Log),
		lang.OpLog2:    wide(elementary.Log2),
		lang.OpLog1p:   wide(elementary.Log1p),
		lang.OpSqrt:    wide(math.Sqrt),
		lang.OpRsqrt:   wide(func(x float64) float64 { return 1 / math.Sqrt(x) }),
		lang.OpSin:     wide(elementary.Sin),
		lang.OpCos:     wide(elementary.Cos),
		lang.OpTan:     wide(elementary.Tan),
		lang.OpSinh:    wide(elementary.Sinh),
		lang.OpCosh:    wide(elementary.Cosh),
		lang.OpTanh:    wide(elementary.Tanh),
		lang.OpAtan2:   wide2(elementary.Atan2),
		lang.OpErf:     wide(elementary.Erf),
		lang.OpSigmoid: wide(elementary.Sigmoid),
		lang.OpFloor:   wide(math.Floor),
		lang.OpCeil:    wide(math.Ceil),
		lang.OpTrunc:   wide(math.Trunc),
		lang.OpRound:   wide(math.RoundToEven),
		lang.OpIsNaN:   tests(math.IsNaN),
		lang.OpIsInf:   tests(func(x float64) bool { return math.IsInf(x, 0) }),
	})
}

func float64Rows() map[lang.Op]row {
	return with(floatRows[float64](), map[lang.Op]row{
		lang.OpFma: ternary(func(d, a, b, c []float64) {
			for i, v := range a {
				d[i] = math.FMA(v, b[i], c[i])
			}
		}),
	})
}

func float32Rows() map[lang.Op]row {
	return with(floatRows[float32](), map[lang.Op]row{
		lang.OpFma: ternary(func(d, a, b, c []float32) {
			for i, v := range a {
				d[i] = float32(fmaOdd(v, b[i], c[i]))
			}
		}),
		lang.OpExp:     each(exp32),
		lang.OpExp2:    each(exp2of32),
		lang.OpTanh:    each(tanh32),
		lang.OpSigmoid: each(sigmoid32),
	})
}

// narrowRows are the rows of the floats below 32 bits that are more than the
// float32 row and a rounding.
var narrowRows = map[lang.Op]row{
	lang.OpFma: ternary(func(d, a, b, c []float32) {
		for i, v := range a {
			d[i] = lang.OddF32(fmaOdd(v, b[i], c[i]))
		}
	}),
}

// elementwise finds the row of an operation whose last operand has element
// type d, rounding included. Nil when the type rules do not allow the pair.
func elementwise(op lang.Op, d lang.DType) row {
	r := rows[kindOfDType[d]][op]
	if r == nil || !narrowFloat(d) {
		return r
	}
	if n := narrowRows[op]; n != nil {
		r = n
	}
	if rule := op.Row().Rule; rule == lang.RuleCompare || rule == lang.RuleTest || !op.Rounds() {
		return r // gives no new number
	}
	round := rounder(d)
	return func(d, a, b, c unsafe.Pointer, n int) {
		r(d, a, b, c, n)
		round(slice[float32](d, n))
	}
}
