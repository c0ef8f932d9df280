package jittest

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

// shown is how many wrong elements a failure lists.
const shown = 4

// Near checks every element of a float array against a reference, which gives
// element i in row-major order and its tolerance in the array's type. It is
// called from several goroutines.
func Near(t testing.TB, got *Array, want func(i int) Bounded) {
	t.Helper()
	n := got.Len()
	type tally struct {
		wrong    int
		examples []string
		worst    float64
	}
	workers := min(runtime.GOMAXPROCS(0), n)
	tallies := make([]tally, workers)
	var g errgroup.Group
	for w := range workers {
		g.Go(func() error {
			var mine tally
			for i := w * n / workers; i < (w+1)*n/workers; i++ {
				v, ref := got.Float(i), want(i).As(got.DType)
				off := math.Abs(v - ref.V)
				switch {
				case !(off <= ref.E): // NaN included
					if mine.wrong++; mine.wrong <= shown {
						mine.examples = append(mine.examples, fmt.Sprintf("\n  at %v: %v, required %v within %.3g", position(i, got.Shape), v, ref.V, ref.E))
					}
				case off > 0:
					mine.worst = max(mine.worst, off/ref.E)
				}
			}
			tallies[w] = mine
			return nil
		})
	}
	_ = g.Wait() // no worker fails
	var all tally
	for _, m := range tallies {
		all.wrong += m.wrong
		all.examples = append(all.examples, m.examples...)
		all.worst = max(all.worst, m.worst)
	}
	if all.wrong > 0 {
		t.Errorf("%d of %d elements are wrong:%s", all.wrong, n, strings.Join(all.examples[:min(shown, len(all.examples))], ""))
	}
	t.Logf("largest error is %.2g of its bound", all.worst)
}

// Same checks every element of a float array for equality; NaN equals NaN, and 0 equals -0.
func Same(t testing.TB, got *Array, want func(i int) float64) {
	t.Helper()
	wrong, example := 0, ""
	for i := range got.Len() {
		v, ref := got.Float(i), want(i)
		if v == ref || v != v && ref != ref {
			continue
		}
		if wrong < shown {
			example += fmt.Sprintf("\n  at %v: %v, required %v", position(i, got.Shape), v, ref)
		}
		wrong++
	}
	if wrong > 0 {
		t.Errorf("%d of %d elements are wrong:%s", wrong, got.Len(), example)
	}
}

// position is the index of element i in a shape.
func position(i int, shape []int64) []int {
	at := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		at[d] = i % int(shape[d])
		i /= int(shape[d])
	}
	return at
}
