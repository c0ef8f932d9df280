package pass

import (
	"tilec/jit/ir"
	"tilec/lang"
)

// A topk takes a step for each of its results. One of many results is made of a
// sort, with which it begins, and so is one whose results are too long for a
// block: those can be taken from the order in chunks.
var topk = Pass{
	Name:  "topk",
	Doc:   "makes a topk of many results of a sort",
	Cheap: true,
	Run: func(f *ir.Func, o *Options) (bool, error) {
		return rewrite(f, func(b *ir.Builder, op *ir.Op) ([]*ir.Value, bool) {
			if op.Code != lang.OpTopK || op.Axis.Len <= fewResults && o.Chunks[op.Axis.Name] == 0 || len(op.Args) > 1 || op.Over[0].Len == 0 {
				return nil, false
			}
			return topOf(b, op), true
		}), nil
	},
	Before: `kernel @k {
  dim N = 1000
  tensor %x : in f32[N]
  tensor %y : out f32[N]
  axis j : whole N[0 .. 1000]
  axis r : whole [0 .. 100]
body:
  %0 = index j : i32{j}
  %1 = load %x[%0] : f32{j}
  %2, %3 = topk %1 into r over j : (f32{r}, i32{r})
  %4 = index r : i32{r}
  store %y[%4] = %2
}
`,
	After: `kernel @k {
  dim N = 1000
  tensor %x : in f32[N]
  tensor %y : out f32[N]
  axis j : whole N[0 .. 1000]
  axis r : whole [0 .. 100]
body:
  %0 = index j : i32{j}
  %1 = load %x[%0] : f32{j}
  %5 = sort %1 over j descending : i32{j}
  %6 = index r : i32{r}
  %7 = take %5[j = %6] : i32{r}
  %8 = take %1[j = %7] : f32{r}
  %4 = index r : i32{r}
  store %y[%4] = %8
}
`,
}

// fewResults is up to how many results a topk finds one after the other.
const fewResults = 64

// topOf emits the values and the positions of a topk, as a sort in descending order begins.
func topOf(b *ir.Builder, op *ir.Op) []*ir.Value {
	x, over, kept := op.Args[0], op.Over[0], op.Axis
	order := b.Emit(&ir.Op{Code: lang.OpSort, Args: []*ir.Value{x}, Over: op.Over, Descending: true})[0]
	rank := b.Cast(b.Emit(&ir.Op{Code: lang.OpIndex, Axis: kept})[0], lang.I32)
	at := rank
	if kept.Len > over.Len {
		at = b.Op(lang.OpMin, rank, b.Int(over.Len-1))
	}
	if over.Lo != 0 {
		at = b.Op(lang.OpAdd, at, b.Int(over.Lo))
	}
	position := b.Take(order, op.Over, []*ir.Value{b.Cast(at, over.Counts())})
	value := b.Take(x, op.Over, []*ir.Value{b.Cast(position, over.Counts())})
	if kept.Len > over.Len {
		exists := b.Op(lang.OpLt, rank, b.Int(over.Len))
		value = b.Op(lang.OpWhere, exists, value, first(b, value.Type, lowest))
		position = b.Op(lang.OpWhere, exists, position, b.Int(-1))
	}
	return []*ir.Value{value, position}
}
