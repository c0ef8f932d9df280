package emu

// A relation says for which orders of the operands a comparison holds.
type relation struct{ less, equal, greater, unordered bool }

// relations are the comparison operators; those of unsigned values have names of their own.
var relations = map[string]relation{
	"eq": {equal: true}, "ne": {less: true, greater: true},
	"lt": {less: true}, "le": {less: true, equal: true},
	"gt": {greater: true}, "ge": {greater: true, equal: true},
	"lo": {less: true}, "ls": {less: true, equal: true},
	"hi": {greater: true}, "hs": {greater: true, equal: true},
	"equ": {equal: true, unordered: true}, "neu": {less: true, greater: true, unordered: true},
	"ltu": {less: true, unordered: true}, "leu": {less: true, equal: true, unordered: true},
	"gtu": {greater: true, unordered: true}, "geu": {greater: true, equal: true, unordered: true},
	"num": {less: true, equal: true, greater: true}, "nan": {unordered: true},
}

// holds gives the test of a relation on values of a type; ftz takes subnormal f32 as zero.
func (r relation) holds(t dtype, ftz bool) func(a, b uint64) bool {
	if t.isFloat() {
		f := t.format
		return func(a, b uint64) bool {
			if ftz {
				a, b = flush(a), flush(b)
			}
			x, y := f.value(a), f.value(b)
			return x < y && r.less || x == y && r.equal || x > y && r.greater || (x != x || y != y) && r.unordered
		}
	}
	if t.kind == kindSigned {
		return func(a, b uint64) bool {
			x, y := t.read(a), t.read(b)
			return x < y && r.less || x == y && r.equal || x > y && r.greater
		}
	}
	mask := t.mask()
	return func(a, b uint64) bool {
		x, y := a&mask, b&mask
		return x < y && r.less || x == y && r.equal || x > y && r.greater
	}
}
