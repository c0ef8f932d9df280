package asm

import "fmt"

// A region is code that is not always executed, or more than once: a branch, the body of a loop. What is computed there
// does not hold behind it, and what does not depend on it may be computed before it.
type region struct {
	parent *region
	level  int // how deep the region is nested; 0 is the entry section, 1 the body
	begin  Point
	memo   map[value]Reg
}

// Point is a place in a section, between two lines.
type Point int

// Here is where the next line goes.
func (a *Builder) Here() Point { return Point(len(*a.body)) }

// Begin is where the region that is being emitted begins: code that goes before it moves that place.
func (a *Builder) Begin() Point { return a.region.begin }

// Level is how deep the region that is being emitted is nested; 0 is the entry section, 1 the body.
func (a *Builder) Level() int { return a.region.level }

// Open begins a region: what it computes from outside alone goes before begin.
func (a *Builder) Open(begin Point) {
	a.region = &region{parent: a.region, level: a.region.level + 1, begin: begin}
}

// Close ends the region.
func (a *Builder) Close() { a.region = a.region.parent }

// Aside emits to another section of the code, which knows the entry section and nothing else.
func (a *Builder) Aside(section *Code, emit func()) {
	body, here := a.body, a.region
	a.body, a.region = section, a.root
	a.Open(a.Here())
	emit()
	a.body, a.region = body, here
}

// LevelOf is how deep a register is defined.
func (a *Builder) LevelOf(r Reg) int { return int(a.levels[r.Class][r.id-1]) }

// Changes says that the region writes registers: what depends on them is not computed before it.
func (a *Builder) Changes(rs ...Reg) {
	for _, r := range rs {
		a.levels[r.Class][r.id-1] = int32(a.region.level)
	}
}

// value is a pure instruction as data: two that are equal give the same.
type value struct {
	class Class
	name  string
	count int
	src   [maxSources]Operand
}

// maxSources is the most operands of a pure instruction.
const maxSources = 3

// Calc is a pure instruction, computed once for equal operands in reach: before the loops and branches that its operands
// do not depend on.
func (a *Builder) Calc(c Class, name string, src ...Operand) Reg {
	if a.inEntry > 0 {
		return a.Op(c, name, src...)
	}
	v := valueOf(c, name, src)
	level := 1
	for _, x := range src {
		if r, ok := x.(Reg); ok {
			level = max(level, a.LevelOf(r))
		}
	}
	if r, ok := a.find(v); ok {
		return r
	}
	// The outermost region where all operands are defined, and the point in the code before the region inside it.
	home, at := a.region, a.Here()
	for home.level > level {
		at = home.begin
		home = home.parent
	}
	r := a.Reg(c)
	a.levels[c][r.id-1] = int32(level)
	a.insert(at, &Instr{Name: name, Dst: r, Src: src})
	home.remember(v, r)
	for s := a.region; s != home; s = s.parent {
		s.begin++
	}
	return r
}

// valueOf is a pure instruction as data.
func valueOf(c Class, name string, src []Operand) value {
	v := value{class: c, name: name, count: len(src)}
	if copy(v.src[:], src) < len(src) || EffectsOf(name) != 0 {
		panic(fmt.Sprintf("asm: %s with %d operands is not a pure instruction", name, len(src)))
	}
	return v
}

// find is the register that has what a pure instruction computes, of those in reach.
func (a *Builder) find(v value) (r Reg, ok bool) {
	for s := a.region; s != nil; s = s.parent {
		if r, ok = s.memo[v]; ok {
			return r, true
		}
	}
	return r, false
}

func (s *region) remember(v value, r Reg) {
	if s.memo == nil {
		s.memo = map[value]Reg{}
	}
	s.memo[v] = r
}

// Known says that a register of the region has what a pure instruction would compute, so that Found need not.
func (a *Builder) Known(r Reg, name string, src ...Operand) {
	if a.inEntry == 0 {
		a.region.remember(valueOf(r.Class, name, src), r)
	}
}

// Found is the register that has what a pure instruction would compute; where none is known, the instruction is emitted.
func (a *Builder) Found(c Class, name string, src ...Operand) Reg {
	if r, ok := a.find(valueOf(c, name, src)); ok && a.inEntry == 0 {
		return r
	}
	return a.Op(c, name, src...)
}

// byteOf is one of the four bytes of a word.
type byteOf struct {
	word  Reg
	place int
}

// IsByte says that a register has a byte of a word, given its place from the low end, extended.
func (a *Builder) IsByte(r, word Reg, place int) { a.bytes[r] = byteOf{word, place} }

// span is all integers between two.
type span struct{ lo, hi int64 }

// Within says that a register of 32 bits, extended, has an integer from lo to hi.
func (a *Builder) Within(r Reg, lo, hi int64) { a.spans[r] = span{lo, hi} }

// SpanOf is from and to which integer a register lies; ok is false where nothing is known.
func (a *Builder) SpanOf(r Reg) (lo, hi int64, ok bool) {
	s, ok := a.spans[r]
	return s.lo, s.hi, ok
}

// ByteOf is the word of which a register has a byte, and that byte's place; ok is false where nothing is known.
func (a *Builder) ByteOf(r Reg) (word Reg, place int, ok bool) {
	b, ok := a.bytes[r]
	return b.word, b.place, ok
}

// insert puts a line at a point of the section.
func (a *Builder) insert(at Point, l Line) {
	code := append(*a.body, nil)
	copy(code[at+1:], code[at:])
	code[at] = l
	*a.body = code
}
