package lang

import "reflect"

var (
	spanType   = reflect.TypeFor[Span]()
	sourceType = reflect.TypeFor[*Source]()
)

// Places gives every place that a node, or a diagnostic, has in itself and below, for who moves the text that they are
// of. Each is given once.
func Places(of any) []*Span {
	c := placeFinder{seen: map[any]bool{}}
	c.in(reflect.ValueOf(of))
	return c.all
}

// placeFinder collects the places in what is made of structs, slices, interfaces and pointers.
type placeFinder struct {
	all  []*Span
	seen map[any]bool // pointers
}

func (c *placeFinder) in(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		c.in(v.Elem())
	case reflect.Pointer:
		if p := v.Interface(); !v.IsNil() && v.Type() != sourceType && !c.seen[p] {
			c.seen[p] = true
			c.in(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.in(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == spanType {
			c.all = append(c.all, v.Addr().Interface().(*Span))
			return
		}
		for i := range v.NumField() {
			c.in(v.Field(i))
		}
	}
}
