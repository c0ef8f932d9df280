package blocks

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// leaves is an interpreter for which a constant means its number, and no other kind means anything.
type leaves struct{ *flow[[]int64] }

func (leaves) stmtMeans(typed.Stmt) bool { return false }

func (leaves) exprMeans(x typed.Expr) ([][]int64, bool) {
	if c, ok := x.(*typed.Const); ok {
		return [][]int64{{c.Int}}, true
	}
	return nil, false
}

func (leaves) dependent(_ lang.Span, on [][]int64) []int64 { return slices.Concat(on...) }

func (leaves) ofType(of []int64, _ typed.Type) []int64 { return of }

// What means nothing to an interpreter depends on all of its children, and so do the names that it binds.
func TestFlowTakesAllParts(t *testing.T) {
	number := func(n int64) typed.Expr { return &typed.Const{Int: n} }
	numbers := func(ns ...int64) (xs []typed.Expr) {
		for _, n := range ns {
			xs = append(xs, number(n))
		}
		return xs
	}
	of := func(x typed.Expr) [][]int64 {
		l := leaves{}
		l.flow = &flow[[]int64]{l, map[*typed.Local][]int64{}}
		return l.expr(x)
	}
	i32 := typed.Type{DType: typed.Concrete(lang.I32)}
	for _, x := range []typed.Expr{
		&typed.Apply{Args: numbers(1, 2, 3)},
		&typed.Load{Indices: numbers(1, 2), Else: number(3)},
		&typed.Take{X: number(1), Positions: numbers(2), Else: number(3)},
		&typed.Sort{Of: []typed.Type{i32}, Args: numbers(1, 2), Descending: number(3)},
		&typed.Combine{Of: []typed.Type{i32}, Args: numbers(1), Identity: numbers(2), Reverse: number(3)},
	} {
		assert.Equal(t, [][]int64{{1, 2, 3}}, of(x), "%T", x)
	}
	assert.Equal(t, [][]int64{{1}, {2}}, of(&typed.Tuple{Elems: numbers(1, 2)}))
	assert.Equal(t, [][]int64{nil}, of(&typed.LocalRef{Local: &typed.Local{}}), "bound outside")

	a, b, old := &typed.Local{Name: "a"}, &typed.Local{Name: "b"}, &typed.Local{Name: "old"}
	assert.Equal(t, [][]int64{{2}, {1}, {3, 4, 5, 6}}, of(&typed.Inline{Body: &typed.Body{
		Stmts: []typed.Stmt{
			&typed.Let{Locals: []*typed.Local{a, nil, b}, Value: &typed.Tuple{Elems: numbers(1, 9, 2)}},
			&typed.Print{Args: numbers(8)},
			&typed.Store{Indices: numbers(3), Value: number(4), New: number(5), Else: number(6), Old: old},
		},
		Results: []typed.Expr{&typed.LocalRef{Local: b}, &typed.LocalRef{Local: a}, &typed.LocalRef{Local: old}},
	}}))

	// What is known of a body that may not run, or run again, only an interpreter can say.
	assert.PanicsWithError(t, "no case for a node of the kind *typed.If", func() {
		of(&typed.If{Cond: number(1), Then: &typed.Body{Results: numbers(2)}, Else: &typed.Body{Results: numbers(3)}})
	})
}
