package cpu

import (
	"math"
	"slices"
	"unsafe"

	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/lang"
)

// compareNumbers compares keys: ascending, zeros equal, NaN above every number.
func compareNumbers[T number](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b || a != a && b != b:
		return 0
	case a != a:
		return 1
	}
	return -1
}

// sorter gives the positions of n keys in order; of equal keys the first stands first.
type sorter func(keys unsafe.Pointer, positions []int32, descending bool)

func sortKeys[T number](keys unsafe.Pointer, positions []int32, descending bool) {
	k := slice[T](keys, len(positions))
	for i := range positions {
		positions[i] = int32(i)
	}
	slices.SortFunc(positions, func(i, j int32) int {
		o := compareNumbers(k[i], k[j])
		if descending {
			o = -o
		}
		if o == 0 {
			o = int(i - j)
		}
		return o
	})
}

// leading puts the largest of n keys, the first one at position start, in
// front of those found so far: of len(values), found are in use. Keys at lower
// positions come first among equals. It gives how many are in use then.
type leading func(keys unsafe.Pointer, n, start int, values unsafe.Pointer, positions []int32, found int) int

func leadKeys[T number](keys unsafe.Pointer, n, start int, values unsafe.Pointer, positions []int32, found int) int {
	k, v := slice[T](keys, n), slice[T](values, len(positions))
	for i, x := range k {
		found = insert(v, positions, found, x, int32(start+i))
	}
	return found
}

// insert puts a key with its position in its place, when that is among those there is room for.
func insert[T number](values []T, positions []int32, found int, x T, position int32) int {
	at := found
	for at > 0 {
		if o := compareNumbers(x, values[at-1]); o < 0 || o == 0 && position > positions[at-1] {
			break
		}
		at--
	}
	if at == len(values) {
		return found
	}
	found = min(found+1, len(values))
	copy(values[at+1:found], values[at:])
	copy(positions[at+1:found], positions[at:])
	values[at], positions[at] = x, position
	return found
}

var sorters = [numKinds]sorter{
	kI8: sortKeys[int8], kU8: sortKeys[uint8], kI16: sortKeys[int16], kU16: sortKeys[uint16], kI32: sortKeys[int32], kU32: sortKeys[uint32],
	kI64: sortKeys[int64], kU64: sortKeys[uint64], kF32: sortKeys[float32], kF64: sortKeys[float64],
}

var leaders = [numKinds]leading{
	kI8: leadKeys[int8], kU8: leadKeys[uint8], kI16: leadKeys[int16], kU16: leadKeys[uint16], kI32: leadKeys[int32], kU32: leadKeys[uint32],
	kI64: leadKeys[int64], kU64: leadKeys[uint64], kF32: leadKeys[float32], kF64: leadKeys[float64],
}

// sort compiles a sort: the positions that put each row in order.
func (c *compiler) sort(op *ir.Op) func(*frame) {
	x, r := op.Args[0], op.Result()
	sort, size := sorters[kindOfDType[x.Type.DType]], kindOfDType[x.Type.DType].size()
	axes := r.Type.Axes
	rows, sorted := c.axisNumbers(axes[:len(axes)-1]), c.axisNumbers(op.Over)[0]
	arrange := c.spread(r.Type.With(x.Type.DType), x.Type)
	src, dst := c.off(x), c.off(r)
	return func(fr *frame) {
		m, n := fr.count(rows), fr.axes[sorted].n
		keys := fr.temp(tempA, m*n*size)
		arrange(fr, keys, fr.at(src))
		positions := slice[int32](fr.at(dst), m*n)
		for i := range m {
			row := positions[i*n : (i+1)*n]
			sort(unsafe.Add(keys, i*n*size), row, op.Descending)
			for j := range row {
				row[j] += int32(fr.axes[sorted].start)
			}
		}
	}
}

// topk compiles a topk: each row goes through the keys once and keeps the largest so far.
func (c *compiler) topk(op *ir.Op) func(*frame) {
	x, values, positions := op.Args[0], op.Results[0], op.Results[1]
	d := x.Type.DType
	lead, size := leaders[kindOfDType[d]], kindOfDType[d].size()
	axes := values.Type.Axes
	rowAxes := axes[: len(axes)-1 : len(axes)-1]
	rows, kept, over := c.axisNumbers(rowAxes), c.axisNumbers(axes[len(axes)-1:])[0], c.axisNumbers(op.Over)[0]
	arrange := c.spread(ir.Type{DType: d, Axes: append(rowAxes, op.Over[0])}, x.Type)
	src, toValues, toPositions := c.off(x), c.off(values), c.off(positions)
	fillLeast := filler(d)
	// What other elements have given so far is where the result goes on from.
	var before [2]func(*frame)
	for i, v := range op.Args[1:] {
		before[i] = c.spreadTo(op.Results[i], v)
	}
	return func(fr *frame) {
		m, n, r := fr.count(rows), fr.axes[over].n, fr.axes[kept].n
		start := fr.axes[over].start
		keys := fr.temp(tempA, m*n*size)
		arrange(fr, keys, fr.at(src))
		pos := slice[int32](fr.at(toPositions), m*r)
		resumed := before[0] != nil
		if resumed {
			before[0](fr)
			before[1](fr)
		}
		for i := range m {
			p := pos[i*r : (i+1)*r]
			v := unsafe.Add(fr.at(toValues), i*r*size)
			found := 0
			for resumed && found < r && p[found] >= 0 {
				found++
			}
			found = lead(unsafe.Add(keys, i*n*size), n, start, v, p, found)
			fillLeast(unsafe.Add(v, found*size), r-found)
			for j := range p[found:] {
				p[found+j] = -1
			}
		}
	}
}

// filler writes the least value of a type n times.
func filler(d lang.DType) func(p unsafe.Pointer, n int) {
	switch k := kindOfDType[d]; k {
	case kF32:
		least := float32(math.Inf(-1))
		if !d.HasInfinity() {
			least = -float32(d.Largest())
		}
		return func(p unsafe.Pointer, n int) { fillWith(p, n, least) }
	case kF64:
		return func(p unsafe.Pointer, n int) { fillWith(p, n, math.Inf(-1)) }
	default:
		least, _ := eval.Limits(d)
		return func(p unsafe.Pointer, n int) {
			switch k.size() {
			case 1:
				fillWith(p, n, uint8(least))
			case 2:
				fillWith(p, n, uint16(least))
			case 4:
				fillWith(p, n, uint32(least))
			default:
				fillWith(p, n, uint64(least))
			}
		}
	}
}

func fillWith[T any](p unsafe.Pointer, n int, v T) {
	s := slice[T](p, n)
	for i := range s {
		s[i] = v
	}
}
