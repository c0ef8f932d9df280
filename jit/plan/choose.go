package plan

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tilec/jit/ir"
	"tilec/jit/target"
)

// pipelineStages is the depth of the load pipeline where a loop feeds a contraction.
const pipelineStages = 3

// bytesStages are depths for products of elements of 8 bits, of which a stage has half the bytes: what few rows need of a long matrix is then on its way in time, so that of equals
// the deepest is the first (an H200, 64x8192x8192 of i8: 31.4 us with 6, 28.8 with 8).
var bytesStages = []int{8, 6}

// deepStages are depths for products of other elements of which no multiprocessor has more than one tile: short steps and many of them begin early what nothing else covers (an
// H200, 1024x4096x1024: of bf16 by 64x128 17.8 us with 8 stages of 64, 19.6 with 4 of 128; of f32 34.7 with 8 of 32, 38.7 with 4 of 64).
var deepStages = []int{6, 8}

// Choose decides the extents, chunks, warps and stages of a kernel for a
// target: the candidate of least predicted time within the target's limits.
//
// sizes gives the typical size of a dimension that is only known at launch, 0
// where nothing is said, and may be nil; it guides the choice, which is correct
// for every size. pins fixes parameters by name: those of the axes (BM), warps
// and stages; a pin wins over what the source allows. The same arguments give
// the same plan always.
//
// It is an error if no candidate fits; the error says which limit is broken and
// by how much: a *PinError where one pin is impossible whatever the others are,
// else a *FitError.
func Choose(f *ir.Func, t target.Machine, sizes func(*ir.Dim) int64, pins map[string]int64) (*Plan, error) {
	return ChooseAt(Fast, f, t, sizes, pins)
}

// Effort is how far a plan may go from what is fast.
type Effort int

const (
	// Deep plans are fast ones for products of few rows: all of a product's depth is in shared memory at once, and the warps of a
	// block share it.
	Deep Effort = iota - 1
	// Fast plans have extents that are worth while.
	Fast
	// Small plans may have any powers of two as extents, down to 1.
	Small
	// Beyond plans may need more registers than a thread has, up to maxKept, of which the assembler keeps some in memory; and
	// of shared memory, which the planner only estimates, they take as little as can be.
	Beyond
)

// ChooseAt is Choose for a kernel that has no plan with less effort.
func ChooseAt(e Effort, f *ir.Func, t target.Machine, sizes func(*ir.Dim) int64, pins map[string]int64) (*Plan, error) {
	m := newModel(f, t, sizes)
	m.deep, m.fine, m.beyond = e == Deep, e >= Small, e >= Beyond
	fail := func(err error) error { return fmt.Errorf("plan for %s on %s: %w", f.Name, t.Name, err) }
	if err := m.share(pins); err != nil {
		return nil, fail(err)
	}
	m.findPrivate()
	ks, err := m.knobs(pins)
	if err != nil {
		return nil, fail(err)
	}
	threads := []int{4, 8}
	if len(m.sorts()) > 0 || m.hasLongRows() || m.reducesColumns() { // long rows, and long columns by whole lines, spread over more registers
		threads = append(threads, 16)
	}
	if m.short != nil {
		threads = append(threads, 2)
	}
	if len(m.ranged) > 0 && !m.contracts { // a short range is not enough for many warps
		threads = append([]int{1, 2}, threads...)
	}
	warps, err := m.setting("warps", pins, threads...)
	if err != nil {
		return nil, fail(err)
	}
	stages, err := m.setting("stages", pins, 1)
	if err != nil {
		return nil, fail(err)
	}
	if _, pinned := pins["stages"]; !pinned && f.Hints["stages"] == 0 && m.canPipeline() {
		stages = []int{pipelineStages, pipelineStages + 1, pipelineStages - 1}
		if m.ofBytes || m.mixed {
			stages = append(stages, bytesStages...)
		} else {
			stages = append(stages, deepStages...)
		}
		if m.latency > 0 { // every other load of the loop waits with the one that says so
			stages = []int{m.latency}
		}
	}
	if !t.IsGPU() {
		warps, stages = []int{0}, []int{0}
	}
	parts, err := m.sharings(pins)
	if err != nil {
		return nil, fail(err)
	}
	persists, err := m.persists(pins)
	if err != nil {
		return nil, fail(err)
	}

	found := &search{model: m, warps: warps, stages: stages, parts: parts, persists: persists}
	found.over(ks)
	best, second := found.chosen()
	if best.e == nil && found.worst == nil && m.shared < 0 { // only parts that a store would go through out of order
		return nil, fail(ErrUncut)
	}
	if best.e == nil && found.worst == nil { // the split that is asked for leaves no candidate
		return nil, fail(m.tooShort(parts[0]))
	}
	if best.e == nil {
		return nil, fail(&FitError{found.where, *found.worst})
	}
	p := best.plan(m)
	p.Estimate, p.Next = best.estimate(m), second.estimate(m)
	if n := (at{m, best.c, 0}).beyondRegisters(best.e); n > 0 {
		p.Why = append(p.Why, fmt.Sprintf("no smaller tiles: the assembler keeps %d registers a thread in memory", n))
	}
	if len(p.Once) > 0 {
		p.Why = append(p.Why, fmt.Sprintf("read once, and first to leave the L2: %s", strings.Join(p.Once, ", ")))
	}
	p.Why = append(p.Why, fmt.Sprintf("chosen %s: %s", at{m, best.c, 0}.describe(), best.e))
	if second.e != nil {
		p.Why = append(p.Why, fmt.Sprintf("next %s: %s", at{m, second.c, 0}.describe(), second.e))
	}
	return p, nil
}

// canPipeline reports a contraction in a loop, or one that may be streamed.
func (m *model) canPipeline() bool {
	if m.pipelined {
		return true
	}
	for i, a := range m.f.Axes {
		if a.Kind == ir.Whole && m.contracted[i] && m.streamable[i] {
			return true
		}
	}
	return false
}

func (c at) evaluate() (*estimate, *violation) {
	if !c.target.IsGPU() {
		return c.cpu()
	}
	return c.gpu()
}

// scored is a candidate with its estimate; e is nil where there is none.
type scored struct {
	c candidate
	e *estimate
}

// score keeps the two cheapest; of equals, the first.
func score(c at, e *estimate, best, second *scored) {
	// Whole picoseconds, so that the last bits of a float, which differ between
	// processors that fuse operations and others, decide nothing.
	e.time = math.Round(e.time*1e12) / 1e12
	s := scored{candidate{slices.Clone(c.extent), c.warps, c.stages, c.sharers, c.persist, c.paired}, e}
	switch {
	case best.e != nil && best.c.same(c.candidate): // looked at before
	case best.e == nil || e.time < best.e.time:
		*second, *best = *best, s
	case second.e == nil || e.time < second.e.time:
		*second = s
	}
}

func (s *scored) plan(m *model) *Plan {
	p := &Plan{Target: m.target.Name, Extents: map[string]int64{}, Warps: s.c.warps, Stages: s.c.stages, Time: s.e.time, shared: s.e.sharedBytes}
	if m.target.IsGPU() {
		p.Occupancy, p.Cluster, p.Producer, p.Wgmma = m.occupancy, m.cluster, m.producer, m.wgmma
		p.Private, p.Relayout, p.Cut = int(m.mostPrivate), m.relayout, m.cut
		p.Online = m.online
		p.Forms = maps.Clone(m.forms)
		if n := (at{m, s.c, 0}).longestFirst(s.e); n > 1 && p.Forms["longest"] == 0 {
			p.Forms["longest"] = n
		}
		if (at{m, s.c, 0}).onePhase() && p.Forms["phases"] == 0 {
			p.Forms["phases"] = 1
		}
		if (at{m, s.c, 0}).alternates() && p.Forms["overlap"] == 0 {
			p.Forms["overlap"] = inTurns
		}
	}
	p.Persist = s.c.persist
	if s.c.paired {
		p.Cluster = pair
	}
	if s.c.sharers > 1 {
		p.Split, p.Cluster = map[string]int64{m.f.Axes[m.shared].Name: int64(s.c.sharers)}, s.c.sharers
	}
	c := at{m, s.c, 0}
	p.Once = c.readOnce()
	if told := s.e.perSM; m.target.IsGPU() && m.occupancy == 0 {
		switch windows := !m.contracts && c.busyWarps() == enoughWithWindows; {
		case windows:
			told = c.besideWindows(s.e)
		case !c.allByWarpgroups() && (m.contracts || s.e.registers < manyHeld || told == 1):
			told = 0
		}
		p.Resident = int(min(told, ceilDiv(s.e.blocks, c.sms())))
	}
	staged := false
	for i, a := range m.f.Axes {
		switch {
		case a.Scalar:
		case a.Kind != ir.Whole:
			p.Extents[a.Name] = s.c.extent[i]
			if a.Kind == ir.Grid && Parameter(a) == "ranges" {
				p.Ranges = s.c.extent[i]
			}
		case c.streamed(i):
			if p.Chunks == nil {
				p.Chunks = map[string]int64{}
			}
			p.Chunks[a.Name] = s.c.extent[i]
			staged = staged || m.contracted[i]
		}
	}
	if p.Stages > 1 && !m.pipelined && !staged {
		p.Stages = 1 // the contraction was not streamed after all
	}
	return p
}

// describe is the candidate's values by the names that can be pinned.
func (c at) describe() string {
	var words []string
	for i, a := range c.f.Axes {
		if !a.Scalar && (a.Kind != ir.Whole || c.streamed(i)) {
			words = append(words, fmt.Sprintf("%s=%d", Parameter(a), c.extent[i]))
		}
	}
	if c.warps > 0 {
		words = append(words, fmt.Sprintf("warps=%d stages=%d", c.warps, c.stages))
	}
	if c.sharers > 1 {
		words = append(words, fmt.Sprintf("split=%d", c.sharers))
	}
	if c.persist > 0 {
		words = append(words, fmt.Sprintf("persist=%d", c.persist))
	}
	if c.paired {
		words = append(words, fmt.Sprintf("cluster=%d", pair))
	}
	if len(words) == 0 {
		return "its one form"
	}
	return strings.Join(words, " ")
}
