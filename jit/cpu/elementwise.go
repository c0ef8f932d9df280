package cpu

import (
	"fmt"
	"unsafe"

	"tilec/jit/ir"
)

// operand is how an elementwise operation reads one of its operands.
type operand struct {
	off, size int
	// scalar operands have no axes; plain ones have the result's layout.
	scalar, plain bool
	// has says which of the result's axes the operand has.
	has []bool
	// arrange copies an operand whose axes are in another order than the
	// result's to a scratch buffer; nil when they are in order.
	arrange func(fr *frame, dst, src unsafe.Pointer)
	axes    []int
}

// elementwise compiles an operation that works element by element, broadcasting by axis.
func (c *compiler) elementwise(op *ir.Op) func(*frame) {
	r := rowOf(op)
	if r == nil {
		panic(bug(fmt.Sprintf("%s has no implementation for %s", op.Code, op.Args[len(op.Args)-1].Type)))
	}
	result := op.Result().Type
	dst, dsize := c.off(op.Result()), kindOfDType[result.DType].size()
	axes := c.axisNumbers(result.Axes)
	var args [3]operand
	n := len(op.Args)
	flat, scalars := true, false
	for i, v := range op.Args {
		args[i] = c.operand(v, result)
		flat = flat && (args[i].scalar || args[i].plain)
		scalars = scalars || args[i].scalar
	}
	off := [3]int{args[0].off, args[1].off, args[2].off}
	switch {
	case result.IsScalar():
		return func(fr *frame) { r(fr.at(dst), fr.at(off[0]), fr.at(off[1]), fr.at(off[2]), 1) }
	case flat && !scalars:
		return func(fr *frame) { r(fr.at(dst), fr.at(off[0]), fr.at(off[1]), fr.at(off[2]), fr.count(axes)) }
	case flat:
		return func(fr *frame) {
			count := fr.count(axes)
			var p [3]unsafe.Pointer
			for i := range n {
				p[i] = fr.at(off[i])
			}
			var steady [3]bool
			for i := range n {
				steady[i] = args[i].scalar
			}
			runRow(fr, r, fr.at(dst), dsize, p, &args, &steady, n, count)
		}
	}
	return c.broadcast(r, dst, dsize, axes, args, n)
}

func (c *compiler) operand(v *ir.Value, result ir.Type) operand {
	o := operand{off: c.off(v), size: kindOfDType[v.Type.DType].size(), scalar: v.Type.IsScalar(),
		plain: sameOrder(v.Type.Axes, result.Axes), axes: c.axisNumbers(v.Type.Axes)}
	var ordered []*ir.Axis
	for _, a := range result.Axes {
		o.has = append(o.has, v.Type.Has(a))
		if v.Type.Has(a) {
			ordered = append(ordered, a)
		}
	}
	if !sameOrder(ordered, v.Type.Axes) {
		o.arrange = c.spread(ir.Type{DType: v.Type.DType, Axes: ordered}, v.Type)
	}
	return o
}

// runRow applies a row to count elements, spreading the steady operands: those
// that are one element for the whole run.
func runRow(fr *frame, r row, d unsafe.Pointer, dsize int, p [3]unsafe.Pointer, args *[3]operand, steady *[3]bool, n, count int) {
	chunk := min(count, rowChunk)
	for i := range n {
		if steady[i] {
			spread := unsafe.Pointer(&fr.spread[i])
			fill(spread, p[i], args[i].size, chunk)
			p[i] = spread
		}
	}
	for count > 0 {
		m := min(count, chunk)
		r(d, p[0], p[1], p[2], m)
		if count -= m; count == 0 {
			return
		}
		d = unsafe.Add(d, m*dsize)
		for i := range n {
			if !steady[i] {
				p[i] = unsafe.Add(p[i], m*args[i].size)
			}
		}
	}
}

// fill writes n copies of an element.
func fill(dst, src unsafe.Pointer, size, n int) {
	switch size {
	case 1:
		copyRun[uint8](dst, 1, src, 0, n)
	case 2:
		copyRun[uint16](dst, 1, src, 0, n)
	case 4:
		copyRun[uint32](dst, 1, src, 0, n)
	default:
		copyRun[uint64](dst, 1, src, 0, n)
	}
}

// broadcast runs the row over the longest run of trailing axes along which
// every operand is either dense or one element, for each element of the others.
func (c *compiler) broadcast(r row, dst, dsize int, axes []int, args [3]operand, n int) func(*frame) {
	rank := len(axes)
	split := rank - 1
	same := func(a, b int) bool {
		for i := range n {
			if args[i].has[a] != args[i].has[b] {
				return false
			}
		}
		return true
	}
	for split > 0 && same(split-1, rank-1) {
		split--
	}
	var steady [3]bool
	for i := range n {
		steady[i] = !args[i].has[rank-1]
	}
	inner := axes[split:]
	return func(fr *frame) {
		var p [3]unsafe.Pointer
		for i := range n {
			p[i] = fr.at(args[i].off)
			if arrange := args[i].arrange; arrange != nil {
				t := fr.temp(tempA+i, fr.count(args[i].axes)*args[i].size)
				arrange(fr, t, p[i])
				p[i] = t
			}
		}
		run := fr.count(inner)
		// Strides, in bytes, of the outer axes.
		var size, at [maxRank]int
		var step [3][maxRank]int
		var off [3]int // bytes
		for i := range n {
			s := args[i].size
			for a := rank - 1; a >= 0; a-- {
				if args[i].has[a] {
					if a < split {
						step[i][a] = s
					}
					s *= fr.axes[axes[a]].n
				}
			}
		}
		for a := range split {
			size[a] = fr.axes[axes[a]].n
			if size[a] == 0 {
				return
			}
		}
		if run == 0 {
			return
		}
		for d := dst; ; d += run * dsize {
			var q [3]unsafe.Pointer
			for i := range n {
				q[i] = unsafe.Add(p[i], off[i])
			}
			runRow(fr, r, fr.at(d), dsize, q, &args, &steady, n, run)
			a := split - 1
			for ; a >= 0; a-- {
				at[a]++
				for i := range n {
					off[i] += step[i][a]
				}
				if at[a] < size[a] {
					break
				}
				for i := range n {
					off[i] -= size[a] * step[i][a]
				}
				at[a] = 0
			}
			if a < 0 {
				return
			}
		}
	}
}
