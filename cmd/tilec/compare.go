package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"tilec/jit"
	"tilec/lang"
)

// compare runs on the CPU what ran on another device (or on the CPU with pinned
// extents) and holds the outputs against each other, a line each. Beyond the bounds is an error.
func (a *app) compare(f *jit.Function, args jit.Args, inputs, outputs []*array, device string) (checks []string, err error) {
	args = maps.Clone(args)
	for _, tile := range f.Tiles {
		delete(args, tile)
	}
	compiler := jit.NewCompiler(jit.OpenCPU(), nil)
	compiler.Output = io.Discard // it has been said
	ref, err := f.On(compiler).Bind(args)
	if err != nil {
		return nil, fmt.Errorf("on the CPU: %w", err)
	}
	defer ref.Close()
	want, err := runOnce(ref)
	if err != nil {
		return nil, fmt.Errorf("on the CPU: %w", err)
	}
	unit := math.Exp2(-float64(narrowest(slices.Concat(inputs, outputs)).Precision()))
	if args["@precision"] == "tf32" && device != "cpu" {
		unit = max(unit, math.Exp2(-11)) // f32 contractions round their operands to tf32
	}
	length := longest(inputs)
	failed := 0
	for i, got := range outputs {
		d := difference(got, want[i], unit, length)
		line := fmt.Sprintf("check %s: %s", got.name, d)
		checks = append(checks, line)
		if !a.json {
			fmt.Fprintln(a.stdout, line)
		}
		if d.beyond > 0 {
			failed++
		}
	}
	if failed > 0 {
		return checks, fmt.Errorf("%d of %d outputs differ from the CPU's by more than the bound", failed, len(outputs))
	}
	return checks, nil
}

// deviation says how far one array is from another.
type deviation struct {
	dtype              lang.DType
	absolute, relative float64
	ulps               int64
	beyond             int64 // elements beyond the bound
	elements           int64
	where              int64 // the first of them
	got, want          float64
	bound              string
}

// String names the largest differences and the bound.
func (d deviation) String() string {
	s := "equal"
	if d.dtype.IsFloat() {
		s = fmt.Sprintf("max difference %.3g absolute, %.3g relative, %d ulp; bound %s", d.absolute, d.relative, d.ulps, d.bound)
	}
	if d.beyond > 0 {
		s += fmt.Sprintf("; %d of %d elements are beyond it, first number %d: %s, on the CPU %s", d.beyond, d.elements, d.where, d.dtype.FormatElement(d.got), d.dtype.FormatElement(d.want))
	}
	return s
}

// difference compares element by element. Integers must be equal, NaN and
// infinities stand in the same places. Two correct results of a float kernel
// may differ where they round: by the output's own rounding u(out) of the
// element, and by the rounding of what went into it. A sum of R terms that are
// rounded to a relative u, and added in f32, errs by about (u + sqrt(R) 2^-24)
// times the root of the sum of the terms' squares, which for terms without
// order is the size of the largest sums, max |cpu|. The factor 4 covers two
// results that err in opposite directions, twice over. R is the largest
// dimension of any input, u the unit roundoff of the narrowest float that the
// kernel takes or gives (2^-11 where tf32 contractions are allowed).
func difference(got, want *array, unit float64, length int64) deviation {
	d := deviation{dtype: got.DType, elements: jit.Elements(got.Shape)}
	size := got.DType.Size()
	if !got.DType.IsFloat() {
		for i := range d.elements {
			if at := int(i) * size; !bytes.Equal(got.Data[at:at+size], want.Data[at:at+size]) {
				d.see(i, got.DType.Element(got.Data[at:]), got.DType.Element(want.Data[at:]))
			}
		}
		d.bound = "equality"
		return d
	}
	get := got.DType.Element
	scale := 0.0
	for i := range d.elements {
		if v := math.Abs(get(want.Data[int(i)*size:])); v <= math.MaxFloat64 { // neither NaN nor infinite
			scale = max(scale, v)
		}
	}
	out := math.Exp2(-float64(got.DType.Precision()))
	floor := 4 * (unit + math.Sqrt(float64(length))*math.Exp2(-24)) * scale
	d.bound = fmt.Sprintf("4 u(%s) |x| + 4 (u + sqrt(%d) 2^-24) max|x| = %.3g |x| + %.3g", got.DType, length, 4*out, floor)
	for i := range d.elements {
		at := int(i) * size
		g, w := get(got.Data[at:]), get(want.Data[at:])
		if g == w || math.IsNaN(g) && math.IsNaN(w) {
			continue
		}
		diff := math.Abs(g - w)
		if math.IsNaN(diff) || math.IsInf(diff, 0) {
			d.absolute = math.Inf(1)
			d.see(i, g, w)
			continue
		}
		d.absolute = max(d.absolute, diff)
		if w != 0 {
			d.relative = max(d.relative, diff/math.Abs(w))
		}
		ulps := got.DType.Rank(got.Data[at:]) - got.DType.Rank(want.Data[at:])
		d.ulps = max(d.ulps, ulps, -ulps)
		if diff > 4*out*math.Abs(w)+floor {
			d.see(i, g, w)
		}
	}
	return d
}

// see notes an element beyond the bound.
func (d *deviation) see(i int64, got, want float64) {
	if d.beyond == 0 {
		d.where, d.got, d.want = i, got, want
	}
	d.beyond++
}
