package cpu

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/lang"
)

// oracle evaluates integer programs one element at a time, by definition.
type oracle struct {
	inputs map[*ir.Tensor][]int32
	memo   map[string]int64
}

func (o *oracle) eval(v *ir.Value, pos map[*ir.Axis]int) int64 {
	key := fmt.Sprint(v.ID)
	for _, a := range v.Type.Axes {
		key += fmt.Sprint(",", a.Name, pos[a])
	}
	if x, ok := o.memo[key]; ok {
		return x
	}
	x := o.compute(v, pos)
	switch v.Type.DType {
	case lang.I32:
		x = int64(int32(x))
	case lang.I16:
		x = int64(int16(x))
	}
	o.memo[key] = x
	return x
}

func (o *oracle) compute(v *ir.Value, pos map[*ir.Axis]int) int64 {
	op := v.Def
	arg := func(i int) int64 { return o.eval(op.Args[i], pos) }
	switch op.Code {
	case lang.OpConst:
		return op.Const.Int
	case lang.OpIndex:
		return int64(pos[op.Axis])
	case lang.OpFull, lang.OpCast:
		return arg(0)
	case lang.OpRename:
		inner := map[*ir.Axis]int{}
		for a, p := range pos {
			inner[a] = p
		}
		inner[op.From] = pos[op.Axis]
		return o.eval(op.Args[0], inner)
	case lang.OpLoad:
		at := 0
		for d, i := range op.Indices() {
			at = at*int(op.Tensor.Shape[d].Value) + int(o.eval(i, pos))
		}
		return int64(o.inputs[op.Tensor][at])
	case lang.OpAdd:
		return arg(0) + arg(1)
	case lang.OpSub:
		return arg(0) - arg(1)
	case lang.OpMul:
		return arg(0) * arg(1)
	case lang.OpMax:
		return max(arg(0), arg(1))
	case lang.OpNeg:
		return -arg(0)
	case lang.OpLt:
		return int64(flag(arg(0) < arg(1)))
	case lang.OpWhere:
		if arg(0) != 0 {
			return arg(1)
		}
		return arg(2)
	case lang.OpSum, lang.OpDot, lang.OpMma:
		inner := map[*ir.Axis]int{}
		for a, p := range pos {
			inner[a] = p
		}
		sum := int64(0)
		eachPosition(op.Over, func(over map[*ir.Axis]int) {
			for a, p := range over {
				inner[a] = p
			}
			x := o.eval(op.Args[0], inner)
			if op.Code != lang.OpSum {
				x *= o.eval(op.Args[1], inner)
			}
			sum += x
		})
		if op.Code == lang.OpMma {
			sum += arg(2)
		}
		return sum
	}
	panic("no reference for " + op.Code.String())
}

// TestRandomPrograms runs straight programs of many operations that share
// values in every way, so that buffers are reused, written in place and grouped.
func TestRandomPrograms(t *testing.T) {
	for trial := range 150 {
		r := noise(trial)
		k := newKernel("random")
		var axes, whole []*ir.Axis
		for i := range 2 + r.below(2) {
			d := k.dim(fmt.Sprint("N", i), int64(1+r.below(70)))
			if i > 0 && r.below(2) == 0 {
				d.Value = axes[0].Dim.Value // so that axes can be renamed to each other
			}
			if d.Value > 8 && i > 1 {
				d.Value = int64(1 + r.below(8))
			}
			if r.below(3) == 0 {
				axes = append(axes, k.grid(fmt.Sprint("g", i), d, int64(1+r.below(40))))
			} else {
				axes = append(axes, k.whole(fmt.Sprint("w", i), d))
				whole = append(whole, axes[len(axes)-1])
			}
		}
		var args Args
		o := &oracle{inputs: map[*ir.Tensor][]int32{}, memo: map[string]int64{}}
		var values []*ir.Value
		load := func() {
			var shape []*ir.Dim
			var indices []any
			n := 1
			for _, a := range r.shuffled(axes, 0) {
				n *= int(a.Dim.Value)
				shape = append(shape, a.Dim)
				indices = append(indices, a)
			}
			x := k.in(fmt.Sprint("x", len(args.Tensors)), lang.I32, shape...)
			data := make([]int32, n)
			for i := range data {
				data[i] = int32(r.below(2000) - 1000)
			}
			o.inputs[x] = data
			args.Tensors = append(args.Tensors, bytesOf(data))
			values = append(values, k.load(x, indices...))
		}
		load()
		load()
		last := func() *ir.Value { // recent values more often
			n := len(values)
			return values[n-1-r.below(min(n, 1+r.below(n)))]
		}
		for range 25 {
			v, w := last(), last()
			switch choice := r.below(12); choice {
			case 0:
				load()
			case 1:
				values = append(values, k.Op(lang.OpNeg, v))
			case 2:
				values = append(values, k.Op(lang.OpWhere, k.Op(lang.OpLt, v, w), w, last()))
			case 3:
				values = append(values, k.Op(lang.OpAdd, k.Int(int64(r.below(9))), v))
			case 4: // through wider and narrower elements
				values = append(values, k.Cast(k.Op(lang.OpMul, k.Cast(v, lang.I64), k.Cast(w, lang.I64)), lang.I32))
			case 5:
				values = append(values, k.Cast(k.Op(lang.OpSub, k.Cast(v, lang.I16), k.Cast(w, lang.I16)), lang.I32))
			case 6:
				var over []*ir.Axis
				for _, a := range whole {
					if v.Type.Has(a) && r.below(2) == 0 {
						over = append(over, a)
					}
				}
				if len(over) > 0 {
					values = append(values, k.reduce(lang.OpSum, v, over...))
				}
			case 7:
				for _, a := range whole {
					if v.Type.Has(a) && w.Type.Has(a) {
						values = append(values, k.dot(v, w, a))
						break
					}
				}
			case 8:
				for _, a := range whole {
					for _, b := range whole {
						if a.Dim.Value == b.Dim.Value && v.Type.Has(a) && !v.Type.Has(b) {
							values = append(values, k.Emit(&ir.Op{Code: lang.OpRename, Args: []*ir.Value{v}, From: a, Axis: b})[0])
						}
					}
				}
			case 9:
				values = append(values, k.Op(lang.OpMax, v, k.index(axes[r.below(len(axes))])))
			default:
				values = append(values, k.Op([]lang.Op{lang.OpAdd, lang.OpSub, lang.OpMul}[r.below(3)], v, w))
			}
		}
		type result struct {
			v    *ir.Value
			axes []*ir.Axis
			data []int32
		}
		var results []result
		for range 3 {
			v := last()
			out := result{v: v, axes: r.shuffled(axes, len(axes))} // missing axes broadcast
			var shape []*ir.Dim
			var indices []any
			n := 1
			for _, a := range out.axes {
				n *= int(a.Dim.Value)
				shape = append(shape, a.Dim)
				indices = append(indices, a)
			}
			out.data = make([]int32, n)
			args.Tensors = append(args.Tensors, bytesOf(out.data))
			k.store(k.out(fmt.Sprint("y", len(args.Tensors)), lang.I32, shape...), v, indices...)
			results = append(results, out)
		}
		require.NoError(t, k.compile(t).Run(args), "trial %d", trial)
		for _, out := range results {
			for range 100 {
				pos, at := map[*ir.Axis]int{}, 0
				for _, a := range out.axes {
					pos[a] = r.below(int(a.Dim.Value))
					at = at*int(a.Dim.Value) + pos[a]
				}
				require.Equal(t, int32(o.eval(out.v, pos)), out.data[at], "trial %d, %v at %v", trial, out.v.Type, pos)
			}
		}
	}
}
