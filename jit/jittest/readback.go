package jittest

import (
	"fmt"
	"reflect"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
)

// ReadBack prints a block program and reads its text. The error says where what was read is another program than the one that was printed, or is not
// verified.
func ReadBack(p *block.Program) (*block.Program, error) {
	text := p.String()
	q, err := block.Parse(p.Func.Name, text)
	if err != nil {
		return nil, fmt.Errorf("the block program of %s does not read back: %w\n%s", p.Func.Name, err, text)
	}
	if again := q.String(); again != text {
		return nil, fmt.Errorf("the block program of %s prints otherwise than what was read:\n%s\nand\n%s", p.Func.Name, text, again)
	}
	same := twins{map[place]reflect.Value{}, map[place]place{}}
	if err := same.look(p.Func.Name, reflect.ValueOf(p), reflect.ValueOf(q)); err != nil {
		return nil, fmt.Errorf("the block program reads back as another: %w\n%s", err, text)
	}
	return q, nil
}

// left are the fields in which a program may differ from one that is read: places in sources, which no text has, what is remembered of questions
// about a program, and what deciding it kept for itself.
var left = map[reflect.Type][]string{
	reflect.TypeFor[block.Program](): {"prices", "multiples", "refused"},
	reflect.TypeFor[ir.Func]():       {"nextID"},
	reflect.TypeFor[ir.Op]():         {"At"},
	reflect.TypeFor[ir.Axis]():       {"At"},
	reflect.TypeFor[ir.AccessHint](): {"At"},
}

// last are the fields of a program that are compared behind the others, since their keys are found there.
var last = []string{"Homes"}

// twins compares two data structures, pointer by pointer: each that was met in one has one twin in the other.
type twins struct {
	of   map[place]reflect.Value
	back map[place]place
}

// place is what a pointer points to.
type place struct {
	to uintptr
	as reflect.Type
}

func placeOf(pointer reflect.Value) place { return place{pointer.Pointer(), pointer.Type()} }

// constantStride reports a dimension that is a known stride: a text has its value alone.
func constantStride(v reflect.Value) bool {
	return v.Type() == reflect.TypeFor[ir.Dim]() && v.FieldByName("Name").String() == "" && v.FieldByName("Value").Int() >= 0
}

// look compares two values, which are at a path.
func (s *twins) look(path string, a, b reflect.Value) error {
	differ := func() error { return fmt.Errorf("%s is %v, and was %v", path, b, a) }
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				return differ()
			}
			return nil
		}
		twin, met := s.of[placeOf(a)]
		if of, known := s.back[placeOf(b)]; met != known || met && (placeOf(twin) != placeOf(b) || of != placeOf(a)) {
			return fmt.Errorf("%s is another %s than elsewhere", path, a.Type().Elem().Name())
		} else if met {
			return nil
		}
		s.of[placeOf(a)], s.back[placeOf(b)] = b, placeOf(a)
		return s.look(path, a.Elem(), b.Elem())
	case reflect.Struct:
		var behind []int
		for i := range a.NumField() {
			name := a.Type().Field(i).Name
			switch {
			case slices.Contains(left[a.Type()], name), constantStride(b) && name != "Value":
			case a.Type() == reflect.TypeFor[block.Program]() && slices.Contains(last, name):
				behind = append(behind, i)
			default:
				if err := s.look(path+"."+name, a.Field(i), b.Field(i)); err != nil {
					return err
				}
			}
		}
		for _, i := range behind {
			if err := s.look(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return differ()
		}
		for i := range a.Len() {
			if err := s.look(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.Map:
		if a.Len() != b.Len() {
			return fmt.Errorf("%s has %d entries, and had %d", path, b.Len(), a.Len())
		}
		for _, key := range a.MapKeys() {
			twin := key
			if key.Kind() == reflect.Pointer {
				if twin = s.of[placeOf(key)]; !twin.IsValid() {
					return fmt.Errorf("%s has an entry for something that stands nowhere else", path)
				}
			}
			x := b.MapIndex(twin)
			if !x.IsValid() {
				return fmt.Errorf("%s has no entry for what is %v", path, key)
			}
			if err := s.look(fmt.Sprintf("%s[%v]", path, key), a.MapIndex(key), x); err != nil {
				return err
			}
		}
		return nil
	case reflect.Float64:
		if x, y := a.Float(), b.Float(); x != y && (x == x || y == y) {
			return differ()
		}
		return nil
	}
	if !a.Equal(b) {
		return differ()
	}
	return nil
}
