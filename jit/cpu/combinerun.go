package cpu

import (
	"unsafe"

	"tilec/jit/ir"
	"tilec/lang"
)

// runner combines one run of n elements by one operation: a scan in place, or,
// for a reduce, what is left at the end, in the first place that it looks at.
// Rows of one element would cost a call each.
type runner func(x unsafe.Pointer, n int, reverse, reduce bool)

// runnerOf is the runner of a function that is one operation on its two parameters; nil for others.
func runnerOf(fn *ir.Block) runner {
	if len(fn.Params) != 2 || len(fn.Ops) != 1 || fn.Yield[0] != fn.Ops[0].Result() {
		return nil
	}
	op := fn.Ops[0]
	if len(op.Args) != 2 || op.Args[0] != fn.Params[0] || op.Args[1] != fn.Params[1] {
		return nil
	}
	d := fn.Params[0].Type.DType
	if narrowFloat(d) {
		return nil // each step rounds
	}
	switch kindOfDType[d] {
	case kI32:
		return runs[int32](op.Code)
	case kI64:
		return runs[int64](op.Code)
	case kF32:
		return runs[float32](op.Code)
	case kF64:
		return runs[float64](op.Code)
	}
	return nil
}

func runs[T number](op lang.Op) runner {
	switch op {
	case lang.OpAdd:
		return runBy(func(a, b T) T { return a + b })
	case lang.OpMul:
		return runBy(func(a, b T) T { return a * b })
	case lang.OpMax:
		return runBy(func(a, b T) T { return max(a, b) })
	case lang.OpMin:
		return runBy(func(a, b T) T { return min(a, b) })
	}
	return nil
}

func runBy[T number](f func(a, b T) T) runner {
	return func(p unsafe.Pointer, n int, reverse, reduce bool) {
		x := slice[T](p, n)
		switch {
		case reduce:
			acc := x[0]
			for _, v := range x[1:] {
				acc = f(acc, v)
			}
			x[0] = acc
		case reverse:
			for i := n - 2; i >= 0; i-- {
				x[i] = f(x[i+1], x[i])
			}
		default:
			for i := 1; i < n; i++ {
				x[i] = f(x[i-1], x[i])
			}
		}
	}
}
