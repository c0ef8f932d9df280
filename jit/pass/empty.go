package pass

import (
	"tilec/jit/ir"
	"tilec/lang"
)

// empty lets backends take for granted that every axis has an element: a kernel
// is specialised to a whole axis's length, so a length of 0 is known here.
var empty = Pass{
	Name: "empty",
	Doc:  "computes what reductions and contractions over a whole axis without elements give, and drops stores along one",
	Run: func(f *ir.Func, _ *Options) (bool, error) {
		return rewrite(f, func(b *ir.Builder, op *ir.Op) ([]*ir.Value, bool) {
			if op.Code.Row().Effect == lang.Writes && !op.Code.IsDebug() {
				for _, v := range op.Args {
					if !hasEmpty(v.Type.Axes) {
						continue
					}
					if len(op.Results) == 0 {
						return nil, true
					}
					t := op.Result().Type // of an atomic: old elements, of which there are none
					zero := b.Const(t.DType, ir.Const{})
					return b.Emit(&ir.Op{Code: lang.OpFull, Args: []*ir.Value{zero}, Axes: t.Axes}), true
				}
			}
			c := combiners[op.Code]
			if c == nil || !hasEmpty(op.Over) {
				return nil, false
			}
			lo := int64(0)
			if op.Over[0].Kind == ir.Whole {
				lo = op.Over[0].Lo
			}
			carried := c.init(b, op, lo)
			if c.finish != nil {
				return []*ir.Value{c.finish(b, op, carried)}, true
			}
			return carried[:len(op.Results)], true
		}), nil
	},
	Before: `kernel @k {
  dim N = 0
  tensor %x : in f32[N]
  tensor %y : out f32[]
  axis j : whole N[0 .. 0]
body:
  %0 = index j : i32{j}
  %1 = load %x[%0] : f32{j}
  %2 = reduce_max %1 over j : f32
  store %y[] = %2
}
`,
	After: `kernel @k {
  dim N = 0
  tensor %x : in f32[N]
  tensor %y : out f32[]
  axis j : whole N[0 .. 0]
body:
  %0 = index j : i32{j}
  %1 = load %x[%0] : f32{j}
  %3 = const -inf : f32
  store %y[] = %3
}
`,
}

func hasEmpty(axes []*ir.Axis) bool {
	for _, a := range axes {
		if a.Kind == ir.Whole && a.Len == 0 {
			return true
		}
	}
	return false
}
