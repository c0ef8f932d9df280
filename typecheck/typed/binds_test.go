package typed_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/typecheck/typed"
)

// Whatever field a node has for a name, Binds or GBinds gives it, but for a mention of one.
func TestBindsLeavesNothingOut(t *testing.T) {
	found := 0
	for _, n := range nodes {
		switch n.(type) {
		case *typed.LocalRef, *typed.GLocalRef:
			continue
		}
		v := reflect.New(reflect.TypeOf(n).Elem()).Elem()
		var names []any
		name := func(f reflect.Value) {
			f.Set(reflect.New(f.Type().Elem()))
			names = append(names, f.Interface())
		}
		for i := range v.NumField() {
			switch f := v.Field(i); f.Type() {
			case reflect.TypeFor[*typed.Local](), reflect.TypeFor[*typed.GLocal]():
				name(f)
			case reflect.TypeFor[[]*typed.Local](), reflect.TypeFor[[]*typed.GLocal]():
				f.Set(reflect.MakeSlice(f.Type(), 3, 3))
				name(f.Index(0))
				name(f.Index(2)) // between them a `_`
			}
		}
		var got []any
		for _, l := range typed.Binds(v.Addr().Interface()) {
			got = append(got, l)
		}
		for _, l := range typed.GBinds(v.Addr().Interface()) {
			got = append(got, l)
		}
		assert.Len(t, got, len(names), "%T", n)
		for i, l := range got {
			assert.Same(t, names[i], l, "%T", n)
		}
		found += len(names)
	}
	assert.Greater(t, found, 8)
}

// stranger is a kind of node that package typed does not know.
type stranger struct{ typed.Typed }

// Nothing goes past a node of a kind that it does not know.
func TestUnknownKinds(t *testing.T) {
	x := &stranger{}
	assert.PanicsWithError(t, "no case for a node of the kind *typed_test.stranger", func() {
		typed.All(&typed.Tuple{Elems: []typed.Expr{x}}, func(typed.Node) bool { return true })
	})
}
