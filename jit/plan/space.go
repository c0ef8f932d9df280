package plan

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// knob is one thing to choose: the extent of an axis, or the chunk of a Whole
// one, or of all axes that share a parameter.
type knob struct {
	axes []int // places in Func.Axes
	// values to choose from, in increasing order. Of a Whole axis, its length stands for "not streamed".
	values []int64
}

// candidate is one point of the space, with the settings beside extents.
type candidate struct {
	// extent is, by place of the axis, the elements at once: of a streamed Whole axis, its chunk.
	extent []int64
	warps  int
	stages int
	// sharers is over how many blocks of a cluster the planner spreads the model's shared axis; 1 is none.
	sharers int
	// persist is with how many teams of warps blocks stay; 0 for a block for each tile.
	persist int
	// paired are blocks that stay of which two share what they copy.
	paired bool
}

func (c candidate) same(o candidate) bool {
	return c.warps == o.warps && c.stages == o.stages && c.sharers == o.sharers && c.persist == o.persist && c.paired == o.paired && slices.Equal(c.extent, o.extent)
}

// DeepRows is the most rows of a product of which warps share the depth. A block may have half of them, where all of a depth of 3,072 do not fit into its shared memory
// beside the weights.
const DeepRows = 32

// unknownSize stands for a dimension about whose size nothing is said.
const unknownSize = 1024

var (
	contractExtents = []int64{16, 32, 64, 128, 192, 256}
	contractSteps   = []int64{16, 32, 64, 128}
	fewSteps        = []int64{16, 32, 64, 128, 256} // of products of which each step begins a sum anew, or to widen rows: the fewer the better
	cpuExtents      = []int64{1, 4, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384}
	cpuContract     = []int64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}
)

// nextPow2 is the least power of two that is at least n.
func nextPow2(n int64) int64 {
	p := int64(1)
	for p < n {
		p *= 2
	}
	return p
}

func powersOfTwo(lo, hi int64) []int64 {
	var ps []int64
	for p := lo; p <= hi; p *= 2 {
		ps = append(ps, p)
	}
	return ps
}

// Parameter is the name by which an axis's extent, or how much of a Whole one is handled at once, can be pinned.
func Parameter(a *ir.Axis) string {
	if a.Tile != "" {
		return a.Tile
	}
	return a.Name
}

// knobs lists what is open in the kernel, given the pins.
func (m *model) knobs(pins map[string]int64) ([]knob, error) {
	byName := map[string]int{}
	var ks []knob
	for i, a := range m.f.Axes {
		if a.Scalar {
			ks = append(ks, knob{[]int{i}, []int64{1}})
			continue
		}
		name := Parameter(a)
		values, err := m.values(i, pins)
		if err != nil {
			return nil, err
		}
		if at, shared := byName[name]; shared {
			k := &ks[at]
			k.axes = append(k.axes, i)
			both := slices.DeleteFunc(slices.Clone(k.values), func(v int64) bool { return !slices.Contains(values, v) })
			switch {
			case len(both) > 0:
				k.values = both
			case m.spans[i] > 0 || len(a.Choices) > 0: // the program binds this one
				k.values = values
			}
			continue
		}
		byName[name] = len(ks)
		ks = append(ks, knob{[]int{i}, values})
	}
	for _, name := range sortedKeys(pins) {
		if _, ok := byName[name]; !ok && !slices.Contains(lang.PlanSettings(), name) {
			known := lang.PlanSettings()
			for n := range byName {
				known = append(known, n)
			}
			sort.Strings(known)
			return nil, &PinError{name, pins[name], fmt.Sprintf("kernel %s has no such parameter; it has %s", m.f.Name, strings.Join(known, ", ")), 0, ""}
		}
	}
	return ks, nil
}

// Open gives, by parameter, the extents among which Choose chooses where there is more than one.
func Open(f *ir.Func, t target.Machine, sizes func(*ir.Dim) int64, pins map[string]int64) (map[string][]int64, error) {
	m := newModel(f, t, sizes)
	ks, err := m.knobs(pins)
	if err != nil {
		return nil, err
	}
	open := map[string][]int64{}
	for _, k := range ks {
		if a := f.Axes[k.axes[0]]; len(k.values) > 1 {
			open[Parameter(a)] = k.values
		}
	}
	return open, nil
}

// maxExtent is the most that an extent may be pinned to: products of three fit an int64.
const maxExtent = 1 << 20

// values is what an axis's extent can be.
func (m *model) values(i int, pins map[string]int64) ([]int64, error) {
	a := m.f.Axes[i]
	name := Parameter(a)
	pin, ok := pins[name]
	switch {
	case ok && pin <= 0:
		return nil, &PinError{name, pin, "an extent is at least 1", 1, ""}
	case ok && pin > maxExtent:
		return nil, &PinError{name, pin, fmt.Sprintf("an extent is at most %d, %d less", maxExtent, pin-maxExtent), maxExtent, ""}
	case ok && m.spans[i]%pin != 0:
		return nil, &PinError{name, pin, fmt.Sprintf("the program uses where axis %s begins or ends, in steps of %d, which it does not divide", a.Name, m.spans[i]), m.spans[i], ""}
	case ok && a.Kind == ir.Whole && pin < a.Len && !m.streamable[i]:
		return nil, ErrUncut
	case ok && a.Kind == ir.Whole:
		return []int64{min(pin, a.Len)}, nil
	case ok:
		return []int64{pin}, nil
	case a.Kind != ir.Whole && a.Extent > 0:
		return []int64{a.Extent}, nil
	}
	return m.open(i), nil
}

// open is the extents to choose from for an axis that nothing pins.
func (m *model) open(i int) []int64 {
	a := m.f.Axes[i]
	if a.Kind == ir.Whole {
		return m.chunks(i)
	}
	if len(a.Choices) > 0 {
		vs := m.dividing(i, a.Choices)
		slices.Sort(vs)
		return m.useful(i, slices.Compact(vs))
	}
	var vs []int64
	switch {
	case !m.target.IsGPU() && (m.contracted[i] || m.matrix[i]):
		vs = cpuContract
	case !m.target.IsGPU():
		vs = cpuExtents
	case m.deep && m.matrix[i] && m.size[i] <= DeepRows:
		most := nextPow2(max(m.size[i], 1))
		return powersOfTwo(min(most, DeepRows/2), most)
	case m.fine && m.contracted[i]:
		vs = powersOfTwo(1, contractSteps[len(contractSteps)-1])
	case m.fine && m.matrix[i]:
		vs = powersOfTwo(1, contractExtents[len(contractExtents)-1])
	case m.contracted[i] && (m.stepwise || m.mixed):
		vs = fewSteps
	case m.contracted[i]:
		vs = contractSteps
	case m.matrix[i] && m.manyMatrixAxes():
		vs = powersOfTwo(1, contractExtents[len(contractExtents)-1])
	case m.matrix[i] && a.Ranges != nil && m.target.Has(target.Wgmma): // however short the ranges, warpgroups leave the threads to themselves
		vs = []int64{wgmmaRows, 2 * wgmmaRows, 3 * wgmmaRows, 4 * wgmmaRows}
	case m.matrix[i]:
		vs = append(m.fitting(i), contractExtents...)
		slices.Sort(vs)
	default:
		vs = powersOfTwo(1, 8192)
	}
	if n := m.oneStep(i); m.target.IsGPU() && m.contracted[i] && n > vs[len(vs)-1] && n <= contractExtents[len(contractExtents)-1] {
		vs = append(slices.Clone(vs), n)
	}
	if half := (m.size[i] + 31) / 32 * 16; !m.target.IsGPU() && m.matrix[i] && half > 16 && !slices.Contains(vs, half) && half < vs[len(vs)-1] {
		vs = append(slices.Clone(vs), half) // a half for each of two cores
		slices.Sort(vs)
	}
	vs = m.dividing(i, vs)
	limit := nextPow2(max(m.size[i], 1))
	kept := vs[:1:1]
	for _, v := range vs[1:] {
		if v <= limit {
			kept = append(kept, v)
		}
	}
	return kept
}

// oneStep is the extent at which the loops over an axis have one step, where their bounds tell how many positions they have at most; 0 otherwise.
func (m *model) oneStep(i int) int64 {
	n := int64(0)
	for _, loop := range m.loops {
		if loop.Axis != m.f.Axes[i] {
			continue
		}
		most, known := loop.MostPositions()
		if !known || loop.Axis.Kind != ir.Loop || most > maxExtent {
			return 0
		}
		n = max(n, most)
	}
	return nextPow2(n)
}

// leastFull is what part of a tile has to be there, at least, for a choice of the source that smaller ones could stand for: tiles
// larger than that are for instructions of many rows, of which most would compute nothing.
const leastFull = 4

// useful is those of a source's choices, in order, that are not much larger than the axis: up to the first that is leastFull
// times as large, and at least as large as a matrix unit's instruction.
func (m *model) useful(i int, vs []int64) []int64 {
	enough := max(leastFull*m.size[i], contractExtents[0])
	for n, v := range vs {
		if v >= enough {
			return vs[:n+1]
		}
	}
	return vs
}

// dividing is those of the extents that divide the axis's span, or the span where none does.
func (m *model) dividing(i int, vs []int64) []int64 {
	span := m.spans[i]
	if span == 0 {
		return slices.Clone(vs)
	}
	var kept []int64
	for _, v := range vs {
		if span%v == 0 {
			kept = append(kept, v)
		}
	}
	if len(kept) == 0 {
		return []int64{span}
	}
	return kept
}

// manyMatrixAxes reports contractions of more than a row and a column axis of
// the grid, as a convolution's: only their product has to fill an instruction. An axis that is not divided does not count.
func (m *model) manyMatrixAxes() bool {
	n := 0
	for i, a := range m.f.Axes {
		if m.matrix[i] && a.Kind == ir.Grid && !a.Scalar && !a.Undivided() {
			n++
		}
	}
	return n > 2
}

// matrixAxes is how many axes tell rows and columns of contractions apart.
func (m *model) matrixAxes() int {
	n := 0
	for _, is := range m.matrix {
		if is {
			n++
		}
	}
	return n
}

// chunks is the ways to handle a Whole axis: all at once, or streamed.
func (m *model) chunks(i int) []int64 {
	a := m.f.Axes[i]
	all := []int64{a.Len}
	if m.deep && m.contracted[i] {
		return all
	}
	// The CPU's tiles are in memory and its matrix product is blocked: nothing is gained.
	if !m.streamable[i] || !m.target.IsGPU() && !m.tooLong(a) && !m.fine {
		return all
	}
	vs := a.Choices
	if len(vs) == 0 {
		switch {
		case m.fine && !m.target.IsGPU():
			vs = powersOfTwo(1, 1<<16)
		case m.fine && !m.contracted[i]:
			vs = powersOfTwo(1, easyTile)
		case m.contracted[i] && (m.fine || m.together[i]): // only their product has to fill an instruction
			vs = powersOfTwo(1, contractSteps[len(contractSteps)-1])
		case m.contracted[i] && (m.stepwise || m.mixed):
			vs = fewSteps
		case m.contracted[i]:
			vs = contractSteps
		case !m.target.IsGPU():
			vs = []int64{1 << 14, 1 << 16}
		case m.f.Spill && m.matrix[i] && m.matrixAxes() <= 2: // less would not fill an instruction
			vs = powersOfTwo(contractExtents[0], 8192)
		case m.f.Spill: // as little as it takes
			vs = powersOfTwo(1, 8192)
		default:
			vs = powersOfTwo(m.shortestChunk(a), easyTile)
			if m.hasLongRows() {
				vs = append(vs, longRow)
			}
		}
	}
	if m.oneByOne(i) || m.alongRows(i) || m.rowsOfWindows(i) {
		vs = append(slices.Clone(vs), 1)
	}
	if a.Split > 1 && m.target.IsGPU() { // only a loop can be shared
		share := max(ceilDiv(a.Len, a.Split), 1)
		kept := slices.DeleteFunc(slices.Clone(vs), func(v int64) bool { return v > share })
		if len(kept) == 0 {
			kept = []int64{share}
		}
		slices.Sort(kept)
		return slices.Compact(kept)
	}
	var cut []int64
	longest := int64(0)
	for _, v := range vs {
		longest = max(longest, v)
		if v < a.Len {
			cut = append(cut, v)
		}
	}
	slices.Sort(cut)
	// Without a loop, the whole of a long contraction would be operands at once and one long run of code. But an axis along which another product has columns, as the channels of
	// attention are, makes that product's rows anew for each step of a loop over them.
	if (len(a.Choices) > 0 || m.contracted[i] && m.target.IsGPU() && !((m.matrix[i] || m.softmax) && a.Len <= longestRow)) && longest < a.Len {
		return slices.Compact(cut)
	}
	return append(slices.Compact(cut), a.Len)
}

// longestRow is how many columns a block has at most of an axis that products sum over too.
const longestRow = 512

// oneByOne reports an axis of which a long store in order can only take one position at a time.
func (m *model) oneByOne(i int) bool {
	return slices.ContainsFunc(m.ordered, func(axes []int) bool {
		n := slices.Index(axes, i)
		return n >= 0 && n < len(axes)-1
	})
}

// easyTile is how many elements along Whole axes a block has at once without a second thought.
const easyTile = 8192

// shortestChunk is the least part of a Whole axis that a loop should take. Where
// several axes make a wide tile, as the rows and columns of images, each of them may be short.
func (m *model) shortestChunk(a *ir.Axis) int64 {
	together := int64(1)
	for i, w := range m.f.Axes {
		if w.Kind == ir.Whole && !m.contracted[i] {
			together = min(together*max(w.Len, 1), maxExtent)
		}
	}
	if a.Len <= easyTile && together > easyTile {
		return 1
	}
	return 128
}

// tooLong reports a Whole axis of which not even one row of f32 should be one tile on the CPU.
func (m *model) tooLong(a *ir.Axis) bool { return a.Len*4 > m.target.L2Size }

func sortedKeys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func isContraction(op *ir.Op) bool { return op.Code.Row().Group == lang.GroupContract }

// isReduction reports an operation that needs whole tiles: a reduction, a scan, or what orders elements.
func isReduction(op *ir.Op) bool {
	g := op.Code.Row().Group
	return g == lang.GroupReduce || g == lang.GroupSort || op.Combines()
}
