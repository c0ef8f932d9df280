package jit

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"tilec/jit/misuse"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Args are what a call gives, by name:
//
//   - a tensor parameter: an *Array; a *Tensor, used where it lies; or a slice of numbers, which has one dimension
//   - a scalar parameter or a constant: a Go number or bool, or a lang.Literal
//   - a struct: Args of its fields; an array of structs: []Args
//   - a dimension that no tensor tells: an int or int64
//   - an element type parameter that no tensor tells: a lang.DType
//   - a tile extent, "warps" or "stages", to pin it: an int or int64
//   - "@precision", of f32 contractions that do not say their own: "tf32", "tf32x3" or "ieee"
type Args map[string]any

// precisionKey is the name of the precision among the arguments. No name of the language begins so.
const precisionKey = "@precision"

// options sorts out the arguments that are not parameters.
func (f *Function) options(args Args) (Options, error) {
	o := Options{Dims: map[string]int64{}, Consts: map[string]lang.Literal{}, Types: map[string]lang.DType{}, Pins: map[string]int64{}}
	for name, value := range args {
		fail := func(format string, a ...any) (Options, error) {
			return o, &misuse.ArgError{Function: f.Name, Name: name, Reason: fmt.Sprintf(format, a...)}
		}
		if slices.ContainsFunc(f.Params, func(p *typed.GParam) bool { return p.Name == name }) {
			continue
		}
		symbol := func(s *size.Symbol) bool { return s.Name == name }
		typeParam := func(p *typed.TypeParam) bool { return p.Name == name }
		switch {
		case name == precisionKey:
			text, isText := value.(string)
			p, ok := lang.Precision(text)
			if !ok || !isText {
				return fail(`is %v, must be "tf32", "tf32x3" or "ieee"`, value)
			}
			o.Precision = p
		case slices.ContainsFunc(f.Consts, symbol):
			c := f.Consts[slices.IndexFunc(f.Consts, symbol)]
			l, err := scalarOf(c.DType, value)
			if err != nil {
				return fail("%v", err)
			}
			o.Consts[name] = l
		case slices.ContainsFunc(f.Types, typeParam):
			d, ok := value.(lang.DType)
			if p := f.Types[slices.IndexFunc(f.Types, typeParam)]; !ok || !p.Accepts(d) {
				return fail("is %v, must be a lang.DType that %s: %s allows", value, name, p.Bound)
			}
			o.Types[name] = d
		case slices.ContainsFunc(f.Dims, symbol), f.CanPin(name):
			l, err := scalarOf(lang.I64, value)
			if err != nil {
				return fail("%v", err)
			}
			if !slices.ContainsFunc(f.Dims, symbol) {
				if least := lang.LeastPin(name); l.Int < least {
					return fail("a pin is an integer of %d or more, not %d", least, l.Int)
				}
				o.Pins[name] = l.Int
				continue
			}
			if l.Int < 0 {
				return fail("a dimension is an integer of 0 or more, not %d", l.Int)
			}
			o.Dims[name] = l.Int
		default:
			return o, &misuse.NameError{What: "argument of " + f.Name, Name: name, Known: f.Names()}
		}
	}
	return o, nil
}

// scalarOf makes a scalar of an element type of a Go value.
func scalarOf(d lang.DType, value any) (lang.Literal, error) {
	l := lang.Literal{DType: d}
	if given, ok := value.(lang.Literal); ok {
		if given.DType != d {
			return l, fmt.Errorf("is %s, must be %s", given.DType, d)
		}
		return given, nil
	}
	v := reflect.ValueOf(value)
	switch {
	case value == nil:
		return l, fmt.Errorf("is nil, must be a number of type %s", d)
	case d == lang.Bool:
		if v.Kind() != reflect.Bool {
			return l, fmt.Errorf("is %v of type %T, must be a bool", value, value)
		}
		if v.Bool() {
			l.Int = 1
		}
	case v.CanInt():
		l.Int, l.Float = v.Int(), float64(v.Int())
	case v.CanUint():
		if v.Uint() > math.MaxInt64 && d != lang.U64 {
			return l, fmt.Errorf("is %d, beyond the range of %s", v.Uint(), d)
		}
		l.Int, l.Float = int64(v.Uint()), float64(v.Uint())
	case v.CanFloat() && d.IsFloat():
		l.Float = v.Float()
	default:
		return l, fmt.Errorf("is %v of type %T, must be a number of type %s", value, value, d)
	}
	if d.IsFloat() {
		l.Int = 0
		element := make([]byte, d.Size())
		d.PutElement(element, l.Float)
		if math.IsInf(d.Element(element), 0) && !math.IsInf(l.Float, 0) {
			return l, fmt.Errorf("is %v, beyond the range of %s", value, d)
		}
		return l, nil
	}
	l.Float = 0
	unsigned := v.CanUint()
	if bits := d.Bits(); d.IsInt() && bits < 64 {
		low, high := int64(0), int64(1)<<bits-1
		if d.IsSigned() {
			low, high = -1<<(bits-1), 1<<(bits-1)-1
		}
		if l.Int < low || l.Int > high {
			return l, fmt.Errorf("is %v, beyond the range of %s, %d to %d", value, d, low, high)
		}
	} else if d == lang.U64 && !unsigned && l.Int < 0 {
		return l, fmt.Errorf("is %d, beyond the range of %s", l.Int, d)
	}
	return l, nil
}

// array makes an Array of what may stand for a tensor in the host's memory; nil for anything else.
func array(value any) *Array {
	switch s := value.(type) {
	case *Array:
		return s
	case []bool:
		return ArrayOf(s)
	case []int8:
		return ArrayOf(s)
	case []uint8:
		return ArrayOf(s)
	case []int16:
		return ArrayOf(s)
	case []uint16:
		return ArrayOf(s)
	case []int32:
		return ArrayOf(s)
	case []uint32:
		return ArrayOf(s)
	case []int64:
		return ArrayOf(s)
	case []uint64:
		return ArrayOf(s)
	case []float32:
		return ArrayOf(s)
	case []float64:
		return ArrayOf(s)
	}
	return nil
}
