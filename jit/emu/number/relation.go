package number

// A Relation says for which orders of the operands a comparison holds.
type Relation struct{ Less, Equal, Greater, Unordered bool }

// Relations are the comparison operators; those of unsigned values have names of their own.
var Relations = map[string]Relation{
	"eq": {Equal: true}, "ne": {Less: true, Greater: true},
	"lt": {Less: true}, "le": {Less: true, Equal: true},
	"gt": {Greater: true}, "ge": {Greater: true, Equal: true},
	"lo": {Less: true}, "ls": {Less: true, Equal: true},
	"hi": {Greater: true}, "hs": {Greater: true, Equal: true},
	"equ": {Equal: true, Unordered: true}, "neu": {Less: true, Greater: true, Unordered: true},
	"ltu": {Less: true, Unordered: true}, "leu": {Less: true, Equal: true, Unordered: true},
	"gtu": {Greater: true, Unordered: true}, "geu": {Greater: true, Equal: true, Unordered: true},
	"num": {Less: true, Equal: true, Greater: true}, "nan": {Unordered: true},
}

// Test gives the test of a relation on values of a type; ftz takes subnormal f32 as zero.
func (r Relation) Test(t Type, ftz bool) func(a, b uint64) bool {
	if t.IsFloat() {
		f := t.Format
		return func(a, b uint64) bool {
			if ftz {
				a, b = Flush(a), Flush(b)
			}
			x, y := f.Value(a), f.Value(b)
			return x < y && r.Less || x == y && r.Equal || x > y && r.Greater || (x != x || y != y) && r.Unordered
		}
	}
	if t.Kind == KindSigned {
		return func(a, b uint64) bool {
			x, y := t.Read(a), t.Read(b)
			return x < y && r.Less || x == y && r.Equal || x > y && r.Greater
		}
	}
	mask := t.Mask()
	return func(a, b uint64) bool {
		x, y := a&mask, b&mask
		return x < y && r.Less || x == y && r.Equal || x > y && r.Greater
	}
}
