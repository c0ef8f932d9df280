package pass

import (
	"fmt"
	"slices"
	"strings"

	"tilec/jit/ir"
	"tilec/lang"
)

var cse = Pass{
	Name:  "cse",
	Doc:   "computes equal things once",
	Cheap: true,
	Run: func(f *ir.Func, _ *Options) (bool, error) {
		return eliminate(f.Body, nil, map[*ir.Value]*ir.Value{}), nil
	},
	Before: `kernel @k {
  dim N = 8
  tensor %x : in f32[N]
  tensor %y : out f32[N]
  axis i : grid N by B = ?
body:
  %0 = index i : i32{i}
  %1 = load %x[%0] : f32{i}
  %2 = index i : i32{i}
  %3 = load %x[%2] : f32{i}
  %4 = mul %1, %3 : f32{i}
  store %y[%0] = %4
}
`,
	After: `kernel @k {
  dim N = 8
  tensor %x : in f32[N]
  tensor %y : out f32[N]
  axis i : grid N by B = ?
body:
  %0 = index i : i32{i}
  %1 = load %x[%0] : f32{i}
  %4 = mul %1, %1 : f32{i}
  store %y[%0] = %4
}
`,
}

// seen is what is computed already at a place: by key, in this region and those around it.
type seen struct {
	values map[string]*ir.Op
	outer  *seen
}

func (s *seen) find(key string) *ir.Op {
	for ; s != nil; s = s.outer {
		if op := s.values[key]; op != nil {
			return op
		}
	}
	return nil
}

func eliminate(b *ir.Block, outer *seen, m map[*ir.Value]*ir.Value) bool {
	s := &seen{map[string]*ir.Op{}, outer}
	changed := false
	b.Ops = slices.DeleteFunc(b.Ops, func(op *ir.Op) bool {
		replace(op.Args, m)
		for _, inner := range op.Blocks {
			changed = eliminate(inner, s, m) || changed
		}
		if !op.Pure() || len(op.Results) == 0 {
			return false
		}
		k := key(op)
		if same := s.find(k); same != nil {
			for i, v := range same.Results {
				if v.Name == "" {
					v.Name = op.Results[i].Name
				}
				m[op.Results[i]] = v
			}
			changed = true
			return true
		}
		s.values[k] = op
		return false
	})
	replace(b.Yield, m)
	return changed
}

// key is the same for two pure operations that give the same. The order of
// axes has no meaning, but in a take, whose positions go along them; nor has
// that of the operands of a commutative operation.
func key(op *ir.Op) string {
	ids := make([]int, len(op.Args))
	for i, a := range op.Args {
		ids[i] = a.ID
	}
	if op.Code.Row().Commutative && op.Code.Row().Elementwise {
		slices.Sort(ids)
	}
	names := func(axes []*ir.Axis) string {
		ns := make([]string, len(axes))
		for i, a := range axes {
			ns[i] = fmt.Sprintf("%q", a.Name)
		}
		if op.Code != lang.OpTake {
			slices.Sort(ns)
		}
		return strings.Join(ns, ",")
	}
	k := fmt.Sprintf("%s %v %s %s %s %v", op.Code, ids, names(op.Over), names(op.Axes), op.Precision+op.Hint.String(), op.Checked)
	if op.Fn != nil {
		k += fmt.Sprintf(" %v %v by %s", op.Reverse, op.Exclusive, op.Fn.Text())
	}
	if op.Descending {
		k += " descending"
	}
	if op.Coarse {
		k += " coarse"
	}
	if op.Relative {
		k += " relative"
	}
	for _, a := range []*ir.Axis{op.Axis, op.From} {
		if a != nil {
			k += fmt.Sprintf(" %q", a.Name)
		}
	}
	if op.Span != 0 {
		k += fmt.Sprintf(" span %d", op.Span)
	}
	if op.Dim != nil {
		k += fmt.Sprintf(" dim %q", op.Dim.Name)
	}
	if op.Tensor != nil {
		k += fmt.Sprintf(" tensor %q", op.Tensor.Name)
	}
	switch op.Code {
	case lang.OpConst, lang.OpCast, lang.OpBitcast: // their type is their own; the text form tells -0 from 0
		_, text, _ := strings.Cut(op.String(), " = ")
		k += " " + text
	}
	return k
}
