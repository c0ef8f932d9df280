package block

import (
	"fmt"
	"slices"
	"strings"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/target"
	"tilec/lang"
)

// This file is what the text of a program is made of: words, numbers, names, layouts. Each has one function, which writes or reads it, so
// that what is printed reads back.

// text is a program's text on its way: read where r is there, else written.
type text struct {
	*Program
	r *ir.Reader
	// lines are those that are written, the last one still growing.
	lines []string
	// tiles are the names of the tiles that have been written, byName the tiles that have been read.
	tiles  map[*Tile]string
	byName map[string]*Tile
	// later is what is done when the whole kernel is read, the last one first, so that what stands inside of an operation comes before it.
	later []func()
	// last is the note that was read last, and about what: of one operation, or of the kernel, notes follow one another in the order of the table.
	last    int
	lastFor *ir.Op
}

// The limits of what is read; no program comes near them.
const (
	mostNumber    = 1 << 24
	mostRegisters = 1 << 16
	mostStages    = 1 << 10
)

// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (t *text) reading() bool { return t.r != nil }

// put writes a word, with a space before it where one belongs.
func (t *text) put(word string) {
	line := &t.lines[len(t.lines)-1]
	if *line != "" && !strings.HasSuffix(*line, " ") && !strings.HasSuffix(*line, "{") && !strings.Contains(",;:}", word) {
		*line += " "
	}
	*line += word
}

// word is a word that always stands there.
func (t *text) word(w string) {
	if t.reading() {
		t.r.Word(w)
	} else {
		t.put(w)
	}
}

// row begins a line of the same note by a word.
func (t *text) row(word string) {
	if !t.reading() {
		t.lines = append(t.lines, "  ")
	}
	t.word(word)
}

// rowHere is a row that may be missing.
func (t *text) rowHere(word string, has bool) bool {
	if t.reading() {
		return t.r.AcceptWord(word)
	}
	if has {
		t.row(word)
	}
	return has
}

// punct is punctuation that always stands there.
func (t *text) punct(s string) {
	if t.reading() {
		t.r.Punct(s)
	} else {
		t.put(s)
	}
}

// flag is a word that stands there where something is so.
func (t *text) flag(word string, is *bool) {
	if t.reading() {
		*is = t.r.AcceptWord(word)
	} else if *is {
		t.put(word)
	}
}

// here tells whether something that a word begins is there: it has to be written, or is read.
func (t *text) here(word string, has bool) bool {
	t.flag(word, &has)
	return has
}

// choice is one of several words.
func choice[T comparable](t *text, what string, x *T, words map[string]T) {
	if !t.reading() {
		for word, value := range words {
			if value == *x {
				t.put(word)
			}
		}
		return
	}
	at, next := t.r.Here(), t.r.Next()
	for word, value := range words {
		if t.r.AcceptWord(word) {
			*x = value
			return
		}
	}
	t.r.FailAt(at, "%s where %s belongs: %s", next, what, strings.Join(sortedKeys(words), ", "))
}

// number is a number of at least 0.
func number[T ~int | ~int64](t *text, n *T) {
	if !t.reading() {
		t.put(fmt.Sprint(*n))
		return
	}
	at := t.r.Here()
	x := t.r.Size()
	if x > mostNumber {
		t.r.FailAt(at, "%d is more than anything in a block has, %d", x, mostNumber)
	}
	*n = T(x)
}

// named is a number behind a word.
func named[T ~int | ~int64](t *text, word string, n *T) {
	if t.reading() {
		t.r.Word(word)
	} else {
		t.put(word)
	}
	number(t, n)
}

// unless is a number behind a word, both of which are left out where it is the usual one.
func unless[T ~int | ~int64](t *text, word string, n *T, usual T) {
	if t.reading() {
		*n = usual
	}
	if t.here(word, *n != usual) {
		number(t, n)
	}
}

// optional is something behind a word that may be missing.
func optional[T any](t *text, word string, x **T, one func(*T)) {
	if !t.here(word, *x != nil) {
		return
	}
	if t.reading() {
		*x = new(T)
	}
	one(*x)
}

// list is something several times, with commas between, in braces.
func list[T any](t *text, all *[]T, one func(*T)) {
	t.punct("{")
	if !t.reading() {
		for i := range *all {
			if i > 0 {
				t.put(",")
			}
			one(&(*all)[i])
		}
		t.put("}")
		return
	}
	for !t.r.Accept("}") {
		if len(*all) > 0 {
			t.r.Punct(",")
		}
		var x T
		one(&x)
		*all = append(*all, x)
	}
}

func (t *text) axis(a **ir.Axis) {
	if t.reading() {
		*a = t.r.Axis()
	} else {
		t.put(ir.Quoted((*a).Name))
	}
}

func (t *text) axes(all *[]*ir.Axis) { list(t, all, t.axis) }

func (t *text) tensor(x **ir.Tensor) {
	if t.reading() {
		*x = t.r.Tensor()
	} else {
		t.put(ir.TensorName(*x))
	}
}

func (t *text) tensorName(name *string) {
	if t.reading() {
		*name = t.r.Tensor().Name
	} else {
		t.put(ir.TensorName(t.Func.Tensor(*name)))
	}
}

func (t *text) value(v **ir.Value) {
	if t.reading() {
		*v = t.r.Value()
	} else {
		t.put(ir.ValueName(*v))
	}
}

func (t *text) dtype(d *lang.DType) {
	if t.reading() {
		*d = t.r.Type()
	} else {
		t.put(d.String())
	}
}

// digits are those of a layout: `i+8*2`, or `*2` for copies.
func (t *text) digits(all *[]layout.Digit) {
	if !t.reading() {
		for _, d := range *all {
			t.put(d.String())
		}
		return
	}
	for {
		d := layout.Digit{}
		at := t.r.Here()
		switch {
		case t.r.Accept("*"):
		case t.r.IsAxisBefore("+"):
			d.Axis = t.r.Axis()
			t.r.Punct("+")
			number(t, &d.Stride)
			t.r.Punct("*")
		default:
			return
		}
		number(t, &d.Size)
		if *all = append(*all, d); d.Size < 1 || d.Axis != nil && d.Stride < 1 || count(*all) > mostRegisters {
			t.r.FailAt(at, "%s where a digit belongs that counts some of up to %d positions", d, mostRegisters)
		}
	}
}

// count is how many numbers digits count, as far as mostRegisters.
func count(ds []layout.Digit) int {
	n := 1
	for _, d := range ds {
		n = min(n*min(d.Size, mostRegisters+1), mostRegisters+1)
	}
	return n
}

func (t *text) layout(l *layout.Layout) {
	for i, group := range []struct {
		word   string
		digits *[]layout.Digit
	}{{"reg", &l.Reg}, {"lane", &l.Lane}, {"warp", &l.Warp}} {
		if i > 0 {
			t.punct("|")
		}
		t.word(group.word)
		t.digits(group.digits)
	}
}

// held is a layout in which something over axes is held.
func (t *text) held(l *layout.Layout, axes []*ir.Axis) {
	if !t.reading() {
		t.layout(l)
		return
	}
	at := t.r.Here()
	t.layout(l)
	if err := t.holds(*l, axes); err != nil {
		t.r.FailAt(at, "%s, %v", l, err)
	}
}

// machine is a target by its name.
func (t *text) machine(m *target.Machine) {
	if !t.reading() {
		t.put(ir.Quoted(m.Name))
		return
	}
	at := t.r.Here()
	found, err := target.Find(t.r.Name())
	if err == nil && !found.IsGPU() {
		err = fmt.Errorf("target %s is no GPU", found.Name)
	}
	if err != nil {
		t.r.FailAt(at, "%v", err)
	}
	*m = found
}

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
