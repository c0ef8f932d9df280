package lang

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWalk(t *testing.T) {
	name := func(s string) *NameExpr { return &NameExpr{Name: s} }
	loop := &ForExpr{
		Axis:    &AxisClause{Name: Ident{Name: "k"}, Over: name("K")},
		Carried: []Ident{{Name: "acc"}},
		Body:    &Block{Stmts: []Stmt{&ExprStmt{X: &CallExpr{Fn: name("f"), Args: []Arg{{Value: name("a")}}, Over: []Ident{{Name: "k"}}}}}},
	}
	var seen []string
	visit := func(n Node) bool {
		switch n := n.(type) {
		case *NameExpr:
			seen = append(seen, n.Name)
		case *Ident:
			seen = append(seen, "."+n.Name)
		}
		_, call := n.(*CallExpr)
		return !call
	}
	Walk(loop, visit)
	assert.Equal(t, []string{".k", "K", ".acc"}, seen, "nothing below a node that visit refuses, and no nil parts")
	seen = nil
	Walk(loop.Body.Stmts[0].(*ExprStmt).X.(*CallExpr).Args[0].Value, visit)
	assert.Equal(t, []string{"a"}, seen)
	Walk(nil, visit)
	Walk((*Block)(nil), visit)
	assert.Equal(t, []string{"a"}, seen)
}
