package fuzz

import (
	"fmt"
	"math"
)

// This file holds what a device gave against what it may be.

// shown is how many wrong elements a problem lists.
const shown = 4

// compare checks every element of a result. One that is not stored is of an output
// that nothing fills, because the checker takes all of it to be stored.
func (a *array) compare(g result, t *Tally) *Problem {
	if a.lost {
		t.Elements += a.size
		t.Unknown += a.size
		return nil
	}
	wrong, text := 0, ""
	for i := range a.size {
		if !a.written(i) {
			return problem(Wrong, "%s is neither stored nor filled at %v", g.name, position(i, a.shape))
		}
		t.Elements++
		if !a.added && a.dtype.RawBitsAt(g.data, i) != a.dtype.RawBitsAt(g.before, i) {
			return problem(Unstable, "%s differs from run to run at %v", g.name, position(i, a.shape))
		}
		if a.unknown(i) {
			t.Unknown++
			continue
		}
		if n := a.measure(i, g.data); n > 1 {
			if wrong++; wrong <= shown {
				text += fmt.Sprintf("\n  %s%v is %s, required %s", g.name, position(i, a.shape), a.got(i, g.data), a.required(i))
			}
		}
	}
	if wrong > 0 {
		return problem(Wrong, "%d of %d elements of %s, %s%v, are wrong:%s", wrong, a.size, g.name, a.dtype, a.shape, text)
	}
	return nil
}

// measure says how far an element of a result is from the middle of what it may be, as a part of how far it may be: 0 where
// only one number is right and it is that, above 1 for what is wrong.
func (a *array) measure(i int64, data []byte) float64 {
	got := decode(a.dtype, data, int(i))
	if !a.dtype.IsFloat() {
		if got.Int == a.whole(i).v {
			return 0
		}
		return infinity
	}
	x := a.float(i)
	if !x.accepts(got.Float) {
		return infinity
	}
	middle, width := x.lo/2+x.hi/2, x.hi/2-x.lo/2
	if got.Float != got.Float || !(width > 0) || math.IsInf(width, 0) {
		return 0
	}
	return min(math.Abs(got.Float-middle)/width, 1)
}

// got is an element of a result for messages.
func (a *array) got(i int64, data []byte) string {
	e := decode(a.dtype, data, int(i))
	if a.dtype.IsFloat() {
		return fmt.Sprint(e.Float)
	}
	return fmt.Sprint(e.Int)
}

// required is what an element may be for messages.
func (a *array) required(i int64) string {
	if a.dtype.IsFloat() {
		return a.float(i).String()
	}
	return fmt.Sprint(a.whole(i).v)
}

// String is the interval for messages.
func (a interval) String() string {
	switch {
	case a.nan == always:
		return "NaN"
	case a.nan == perhaps:
		return fmt.Sprintf("%v to %v, or NaN", a.lo, a.hi)
	case a.lo == a.hi:
		return fmt.Sprint(a.lo)
	}
	return fmt.Sprintf("%v to %v", a.lo, a.hi)
}

func position(i int64, shape []int64) []int64 {
	at := make([]int64, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		at[d] = i % shape[d]
		i /= shape[d]
	}
	return at
}
