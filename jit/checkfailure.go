package jit

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tilec/jit/graph"
	"tilec/jit/run"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// CheckFailure is a check of a test that does not hold: the first element that
// is wrong, and how wrong the others are.
type CheckFailure struct {
	Check *typed.GCheck
	// Round is which rounds of the loops around the check it is of, "n = 2"; "" outside loops.
	Round string
	DType lang.DType
	Shape []int64
	// Index is the place of the first wrong element.
	Index     []int64
	Got, Want lang.Literal
	// Wrong of Elements elements are wrong.
	Wrong, Elements int64
	// Largest is the largest difference of all, in value, and LargestAt its place; NaN against a number is infinite.
	Largest   float64
	LargestAt []int64
}

// compareCheck gives what is wrong; nil when the check holds.
func compareCheck(c *typed.GCheck, got, want elements) *CheckFailure {
	f := &CheckFailure{Check: c, DType: got.dtype, Shape: got.shape}
	if got.isScalar && c.B != nil {
		f.Shape = want.shape
	}
	f.Elements = tensor.Elements(f.Shape)
	for i := range f.Elements {
		g, w := got.at(i), lang.Literal{DType: lang.Bool, Int: 1}
		if c.B != nil {
			w = want.at(i)
		}
		off, ok := 0.0, false
		if c.Op == lang.OpEq {
			off, ok = difference(c, g, w)
		} else {
			ok = holds(c.Op, g, w)
		}
		if ok {
			continue
		}
		if f.Wrong++; f.Wrong == 1 {
			f.Index, f.Got, f.Want = position(i, f.Shape), g, w
		}
		if f.LargestAt == nil || off > f.Largest {
			f.Largest, f.LargestAt = off, position(i, f.Shape)
		}
	}
	if f.Wrong == 0 {
		return nil
	}
	return f
}

// holds compares two elements by another operation than equality.
func holds(op lang.Op, got, want lang.Literal) bool {
	return graph.EvalScalar(op, lang.Bool, []lang.Literal{got, want}).Int != 0
}

// difference is how far two elements are apart, and whether a check allows it.
// NaN equals NaN, and 0 equals -0.
func difference(c *typed.GCheck, got, want lang.Literal) (float64, bool) {
	if !got.DType.IsFloat() {
		off := math.Abs(float64(got.Int) - float64(want.Int))
		return off, got.Int == want.Int
	}
	g, w := got.Float, want.Float
	switch {
	case g == w, g != g && w != w:
		return 0, true
	case g != g || w != w || math.IsInf(g, 0) || math.IsInf(w, 0):
		return math.Inf(1), false
	}
	off := math.Abs(g - w)
	limit := c.Abs + float64(c.Rel*math.Abs(w))
	if c.Ulps > 0 {
		limit += float64(c.Ulps * spacing(got.DType, w))
	}
	return off, off <= limit
}

// spacing is a unit in the last place of v: the distance to the next larger number of its type.
func spacing(d lang.DType, v float64) float64 {
	bits := graph.ScalarBits(lang.Literal{DType: d, Float: math.Abs(v)})
	up := literalOf(d, bits+1).Float
	if math.IsInf(up, 0) || up != up { // the largest number: as far as the one below
		return math.Abs(v) - literalOf(d, bits-1).Float
	}
	return up - math.Abs(v)
}

// ulpDistance is how many numbers of the type lie between two; false when one is NaN.
func ulpDistance(d lang.DType, a, b float64) (uint64, bool) {
	if a != a || b != b {
		return 0, false
	}
	// Bits of floats are sign and magnitude: as signed numbers they count from 0 in both directions.
	order := func(v float64) int64 {
		n := int64(graph.ScalarBits(lang.Literal{DType: d, Float: math.Abs(v)}))
		if math.Signbit(v) {
			return -n
		}
		return n
	}
	x, y := order(a), order(b)
	if x < y {
		x, y = y, x
	}
	return uint64(x) - uint64(y), true
}

// literalOf is the scalar that memory holds as bits.
func literalOf(d lang.DType, bits uint64) lang.Literal {
	if d.IsFloat() {
		return lang.Literal{DType: d, Float: d.FloatValue(bits)}
	}
	return lang.Literal{DType: d, Int: d.IntValue(bits)}
}

// position is the index of element i, in row-major order, of a shape.
func position(i int64, shape []int64) []int64 {
	at := make([]int64, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		at[d] = i % shape[d]
		i /= shape[d]
	}
	return at
}

// Text is what a person should see, a line each, without the place in the source.
func (f *CheckFailure) Text() []string {
	if f == nil || f.Check == nil {
		return nil
	}
	var out []string
	line := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if f.Round != "" {
		line("in the loop, with %s:", f.Round)
	}
	where := ""
	if len(f.Shape) > 0 {
		where = " at " + f.place(f.Index)
	}
	if f.Check.B == nil {
		if len(f.Shape) == 0 {
			line("it is false")
		} else {
			line("it is false%s, at %d of %d elements", where, f.Wrong, f.Elements)
		}
		return out
	}
	if f.Check.Op != lang.OpEq {
		line("it does not hold%s:", where)
		line("    left   %s", literalText(f.Got))
		line("    right  %s", literalText(f.Want))
		if f.Elements > 1 {
			line("nor at %s of %d elements of %s%s", count(uint64(f.Wrong-1), "other"), f.Elements, f.DType, tensor.FormatShape(f.Shape))
		}
		return out
	}
	line("the first difference is%s:", orHere(where))
	line("    got   %s", literalText(f.Got))
	want := "    want  " + literalText(f.Want)
	if f.DType.IsFloat() {
		if n, ok := ulpDistance(f.DType, f.Got.Float, f.Want.Float); ok {
			want += fmt.Sprintf("   (%s away%s)", count(n, "ulp"), f.allowed())
		}
	}
	line("%s", want)
	if f.Elements > 1 {
		line("%d of %d elements of %s%s differ; the largest difference is %s, at %s", f.Wrong, f.Elements, f.DType, tensor.FormatShape(f.Shape), run.FloatText(f.Largest, 6, 64), f.place(f.LargestAt))
	}
	return out
}

func orHere(where string) string {
	if where == "" {
		return " here"
	}
	return where
}

func count(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// allowed is what the check allows, in words.
func (f *CheckFailure) allowed() string {
	var words []string
	c := f.Check
	if c.Ulps > 0 {
		words = append(words, fmt.Sprintf("%g ulps", c.Ulps))
	}
	if c.Abs > 0 {
		words = append(words, fmt.Sprintf("%g", c.Abs))
	}
	if c.Rel > 0 {
		words = append(words, fmt.Sprintf("%g of the value", c.Rel))
	}
	if words == nil {
		if math.Abs(f.Got.Float-f.Want.Float) < 0.01*math.Abs(f.Want.Float) { // rounding, or a text of few digits
			return "; allowed: none, `close(a, b, rel = 1e-4)` allows some"
		}
		return ""
	}
	return "; allowed: " + strings.Join(words, " + ")
}

// place is an index with the names of its dimensions: `i = 3, j = 17`.
func (f *CheckFailure) place(index []int64) string {
	if len(index) == 0 {
		return "the one element"
	}
	words := make([]string, len(index))
	for i, n := range index {
		if len(f.Check.Names) == len(index) && !isNumber(f.Check.Names[i]) {
			words[i] = fmt.Sprintf("%s = %d", f.Check.Names[i], n)
		} else {
			words[i] = fmt.Sprint(n)
		}
	}
	if len(f.Check.Names) != len(index) {
		return "[" + strings.Join(words, ", ") + "]"
	}
	return strings.Join(words, ", ")
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

// literalText is a scalar as the source would write it.
func literalText(l lang.Literal) string {
	switch {
	case l.DType == lang.Bool:
		return fmt.Sprint(l.Int != 0)
	case l.DType == lang.F64:
		return run.FloatText(l.Float, -1, 64)
	case l.DType.IsFloat():
		return run.FloatText(l.Float, -1, 32)
	case l.DType == lang.U64:
		return fmt.Sprint(uint64(l.Int))
	}
	return fmt.Sprint(l.Int)
}
