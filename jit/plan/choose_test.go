package plan_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/pass"
	"tilec/jit/plan"
	"tilec/jit/target"
	"tilec/lang"
)

var update = flag.Bool("update", false, "write the golden files anew")

// kernel reads a kernel of the IR's test data with some of its dimensions and ranges replaced, and runs the passes.
func kernel(t testing.TB, name string, replace ...string) *ir.Func {
	t.Helper()
	text, err := os.ReadFile("../ir/testdata/" + name + ".tir")
	require.NoError(t, err)
	f, err := ir.Parse(name, strings.NewReplacer(replace...).Replace(string(text)))
	require.NoError(t, err)
	require.NoError(t, pass.Run(f, pass.Options{Verify: true}))
	return f
}

func on(t testing.TB, name string) target.Machine {
	tg, err := target.Find(name)
	require.NoError(t, err)
	return tg
}

func sizes(m map[string]int64) func(*ir.Dim) int64 {
	return func(d *ir.Dim) int64 { return m[d.Name] }
}

type planCase struct {
	name    string
	kernel  string
	replace []string
	sizes   map[string]int64
}

func cases() []planCase {
	row := func(n int64) []string {
		return []string{"dim N = 768", fmt.Sprintf("dim N = %d", n), "N[0 .. 768]", fmt.Sprintf("N[0 .. %d]", n)}
	}
	var cs []planCase
	for _, n := range []int64{1 << 12, 1 << 26} {
		cs = append(cs, planCase{fmt.Sprintf("add %d", n), "add", nil, map[string]int64{"N": n}})
	}
	for _, s := range [][2]int64{{8192, 768}, {8192, 4096}, {65536, 1024}, {4096, 50304}, {4096, 50257}, {1, 768}} {
		for _, k := range []string{"softmax", "layernorm"} {
			cs = append(cs, planCase{fmt.Sprintf("%s %dx%d", k, s[0], s[1]), k, row(s[1]), map[string]int64{"M": s[0]}})
		}
	}
	for _, m := range []int64{1, 256, 1024, 8192} {
		for _, s := range [][2]int64{{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}, {768, 50304}, {1024, 4096}, {4096, 1024}} {
			// Without the source's limits on the extents.
			free := []string{"dim K = 768", fmt.Sprintf("dim K = %d", s[0]), "dim N = 3072", fmt.Sprintf("dim N = %d", s[1]),
				" in {64, 128, 256}", "", " in {32, 64, 128}", ""}
			cs = append(cs, planCase{fmt.Sprintf("linear %d %d to %d", m, s[0], s[1]), "linear_gelu", free, map[string]int64{"M": m}})
		}
	}
	// Too few blocks for the machine, and much for each: several share it.
	cs = append(cs, planCase{"softmax 4x262144", "softmax", row(262144), map[string]int64{"M": 4}})
	cs = append(cs, planCase{"linear 16 16384 to 16", "linear_gelu", []string{"dim K = 768", "dim K = 16384", "dim N = 3072", "dim N = 16",
		" in {64, 128, 256}", "", " in {32, 64, 128}", ""}, map[string]int64{"M": 16}})
	for _, s := range [][3]int64{{8, 12, 128}, {8, 12, 1024}, {4, 16, 4096}, {2, 16, 16384}} {
		cs = append(cs, planCase{fmt.Sprintf("attention %dx%dx%dx64", s[0], s[1], s[2]), "attention",
			[]string{"dim H = 12", fmt.Sprintf("dim H = %d", s[1])}, map[string]int64{"B": s[0], "S": s[2]}})
	}
	cs = append(cs, planCase{"attention 4x16x4096x128", "attention", []string{"dim H = 12", "dim H = 16", "dim D = 64", "dim D = 128", "[0 .. 64]", "[0 .. 128]"}, map[string]int64{"B": 4, "S": 4096}})
	cs = append(cs, planCase{"embed 8x1024x768", "embed", nil, map[string]int64{"B": 8, "S": 1024}})
	return cs
}

// firstDifference gives the first line in which two texts differ; equal ones where they do not.
func firstDifference(want, got string) (w, g string) {
	ws, gs := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(ws), len(gs)) {
		if ws[i] != gs[i] {
			return ws[i], gs[i]
		}
	}
	if len(ws) != len(gs) {
		return fmt.Sprintf("%d lines", len(ws)), fmt.Sprintf("%d lines", len(gs))
	}
	return "", ""
}

// The plans are golden, so that a change of the planner shows in review.
func TestPlans(t *testing.T) {
	for _, name := range []string{"sm_90a", "sm_80", "cpu"} {
		var b strings.Builder
		for _, c := range cases() {
			p, err := plan.Choose(kernel(t, c.kernel, c.replace...), on(t, name), sizes(c.sizes), nil)
			require.NoError(t, err, c.name)
			fmt.Fprintf(&b, "%s\n  %s\n", c.name, p)
			for _, line := range p.Why {
				fmt.Fprintf(&b, "    %s\n", line)
			}
		}
		file := "testdata/" + name + ".txt"
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		if w, g := firstDifference(string(want), b.String()); w != g {
			t.Errorf("%s: run with -update where the change is meant\nwant %s\ngot  %s", file, w, g)
		}
	}
}

func TestPinsWinAndImpossibleOnesSayWhy(t *testing.T) {
	f := kernel(t, "linear_gelu")
	h200 := on(t, "sm_90a")
	choose := func(pins map[string]int64) (*plan.Plan, error) {
		return plan.Choose(f, h200, sizes(map[string]int64{"M": 8192}), pins)
	}
	p, err := choose(map[string]int64{"BM": 32, "BN": 64, "BK": 16, "warps": 4, "stages": 4})
	require.NoError(t, err) // 32 and 16 are not among the source's choices: a launch wins
	assert.Equal(t, "sm_90a: i=32 j=64 stream k=16 warps=4 stages=4", p.String())

	for want, pins := range map[string]map[string]int64{
		"plan for linear_gelu on sm_90a: nothing fits: with BM=512 BN=512 BK=32 warps=8 stages=3 it needs 1025 registers a thread, the limit is 160: 865 too many":                                                                                                              {"BM": 512, "BN": 512},
		"it needs 786432 bytes of shared memory a block, the limit is 231424: 555008 too many":                                                                                                                                                                                  {"BM": 128, "BN": 128, "BK": 512, "stages": 3},
		"BX = 4: kernel linear_gelu has no such parameter; it has BK, BM, BN, chains, cluster, cut, deferred, kept, longest, moments, occupancy, online, overlap, persist, phases, private, producer, ranges, relayout, selection, split, stages, stagger, warps, wgmma, words": {"BX": 4},
		"BM = 0: an extent is at least 1":                                             {"BM": 0},
		"warps = 6: must be a power of two: 4 or 8":                                   {"warps": 6},
		"stages = 9: must be 1 to 8 stages: 1 too many":                               {"stages": 9},
		"warps = 64: must be 1 to 32 warps in a block: 32 too many":                   {"warps": 64},
		"cluster = 9: must be 1 to 8 blocks in a cluster: 1 too many":                 {"cluster": 9},
		"occupancy = 40: must be 1 to 32 blocks on a multiprocessor: 8 too many":      {"occupancy": 40},
		"producer = 2: one warp only copies, or 4, which are a warpgroup":             {"producer": 2},
		"it needs 4096 threads on a multiprocessor, the limit is 2048: 2048 too many": {"occupancy": 4, "warps": 32},
	} {
		_, err := choose(pins)
		if assert.Error(t, err, want) {
			assert.Contains(t, err.Error(), want)
		}
	}
}

// The source's limits hold where no pin says otherwise, and so do its hints.
func TestChoicesAndHints(t *testing.T) {
	f := kernel(t, "linear_gelu", "body:", "hint warps = 4 hint stages = 2 body:")
	for _, m := range []int64{1, 100, 8192} {
		p, err := plan.Choose(f, on(t, "sm_90a"), sizes(map[string]int64{"M": m}), nil)
		require.NoError(t, err)
		assert.Contains(t, []int64{64, 128, 256}, p.Extents["i"])
		assert.Contains(t, []int64{64, 128, 256}, p.Extents["j"])
		assert.Contains(t, []int64{32, 64, 128}, p.Chunks["k"])
		assert.Equal(t, 4, p.Warps)
		assert.Equal(t, 2, p.Stages)
	}
}

// Every plan applies: what it streams can be streamed, and every axis gets an extent.
func TestPlansApply(t *testing.T) {
	for _, name := range []string{"sm_90a", "sm_80", "sm_86", "sm_89", "cpu"} {
		for _, c := range cases() {
			f := kernel(t, c.kernel, c.replace...)
			p, err := plan.Choose(f, on(t, name), sizes(c.sizes), nil)
			require.NoError(t, err, c.name)
			require.NoError(t, pass.Run(f, pass.Options{Verify: true, Chunks: p.Chunks}), c.name)
			require.NoError(t, p.Apply(f), c.name)
			for _, a := range f.Axes {
				assert.Positive(t, a.Extent, "%s: axis %s", c.name, a.Name)
			}
			require.NoError(t, ir.Verify(f))
		}
	}
}

func TestPlansAreDeterministic(t *testing.T) {
	f := kernel(t, "attention")
	size := sizes(map[string]int64{"B": 8, "S": 1000})
	first, err := plan.Choose(f, on(t, "sm_90a"), size, nil)
	require.NoError(t, err)
	for range 20 {
		p, err := plan.Choose(ir.Clone(f), on(t, "sm_90a"), size, nil)
		require.NoError(t, err)
		assert.Equal(t, first, p)
	}
}

// Nothing said about a size, or a size of nothing, is no error.
func TestSizesAreOnlyGuides(t *testing.T) {
	for _, size := range []func(*ir.Dim) int64{nil, sizes(nil), sizes(map[string]int64{"M": -1}), sizes(map[string]int64{"M": 1 << 40})} {
		for _, k := range []string{"softmax", "linear_gelu", "embed", "attention", "add"} {
			_, err := plan.Choose(kernel(t, k), on(t, "sm_90a"), size, nil)
			assert.NoError(t, err)
		}
	}
}

// A launch has fewer than 2^31 blocks, so that a long dimension has larger ones.
func TestBlocksFitALaunch(t *testing.T) {
	f := kernel(t, "softmax", "768", "16384")
	few, err := plan.Choose(f, on(t, "sm_90a"), sizes(map[string]int64{"M": 1 << 31}), nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, few.Extents["i"])
	many, err := plan.Choose(f, on(t, "sm_90a"), sizes(map[string]int64{"M": 1 << 32}), nil)
	require.NoError(t, err)
	require.Greater(t, many.Extents["i"], int64(1))
}

func TestApplyNeedsEveryExtent(t *testing.T) {
	f := kernel(t, "add")
	err := (&plan.Plan{}).Apply(f)
	assert.EqualError(t, err, "plan for add gives no extent for axis i")
}

// Axes that share a parameter get the same extent; an axis without one is pinned by its name.
func TestSharedAndUnnamedParameters(t *testing.T) {
	f := kernel(t, "attention", "by BN", "by BM")
	p, err := plan.Choose(f, on(t, "sm_90a"), sizes(map[string]int64{"B": 8, "S": 1024}), nil)
	require.NoError(t, err)
	assert.Equal(t, p.Extents["i"], p.Extents["j"])
	p, err = plan.Choose(f, on(t, "sm_90a"), nil, map[string]int64{"BM": 32})
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{"i": 32, "j": 32}, p.Extents)

	f = kernel(t, "softmax")
	p, err = plan.Choose(f, on(t, "sm_90a"), nil, map[string]int64{"j": 256})
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{"j": 256}, p.Chunks)
	// What a loop carries along an axis has to be kept where a pin cuts the axis.
	f = kernel(t, "attention")
	_, err = plan.Choose(f, on(t, "sm_90a"), nil, map[string]int64{"e": 16})
	assert.ErrorIs(t, err, plan.ErrUncut)
	f.Spill = true
	p, err = plan.Choose(f, on(t, "sm_90a"), nil, map[string]int64{"e": 16})
	require.NoError(t, err)
	assert.Equal(t, int64(16), p.Chunks["e"])
}

// An axis that is renamed to another, or that another is renamed to, goes through a block at once: a part of it would
// need the same part of the other.
func TestRenamedAxesAreNotCut(t *testing.T) {
	f, err := ir.Parse("renamed", `kernel @r {
  dim M = 128
  dim N = 4096
  tensor %x : in f32[M, N] align 16
  tensor %y : out f32[M] align 16
  axis i : grid M by BM = ?
  axis j : whole N[0 .. 4096]
  axis k : whole N[0 .. 4096]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = cast %1 : f32{j}
  %4 = mul %2, %3 : f32{i, j}
  %5 = rename %4 from j to k : f32{i, k}
  %6 = sum %5 over k : f32{i}
  store %y[%0] = %6
}
`)
	require.NoError(t, err)
	p, err := plan.Choose(f, on(t, "sm_90a"), nil, nil)
	require.NoError(t, err)
	assert.Empty(t, p.Chunks)
	for _, axis := range []string{"j", "k"} {
		_, err := plan.Choose(f, on(t, "sm_90a"), nil, map[string]int64{axis: 256})
		assert.ErrorIs(t, err, plan.ErrUncut, axis)
	}
}

// A step of a cut axis would read what an earlier one has stored.
func TestAxesOfTensorsThatAreWrittenAreNotCut(t *testing.T) {
	for mode, cut := range map[string]bool{"in": true, "inout": false} {
		f, err := ir.Parse("written", `kernel @w {
  dim M = 128
  dim N = 4096
  tensor %x : `+mode+` f32[M, N] align 16
  tensor %y : out f32[M] align 16
  axis i : grid M by BM = ?
  axis j : whole N[0 .. 4096]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = sum %2 over j : f32{i}
  store %y[%0] = %3
}
`)
		require.NoError(t, err)
		_, err = plan.Choose(f, on(t, "sm_90a"), nil, map[string]int64{"j": 256})
		if cut {
			assert.NoError(t, err)
		} else {
			assert.ErrorIs(t, err, plan.ErrUncut)
		}
	}
}

// Blocks that share a multiprocessor share its registers and its memory; those that share an axis need a loop over it.
func TestSharing(t *testing.T) {
	h200 := on(t, "sm_90a")
	size := sizes(map[string]int64{"M": 8192})
	alone, err := plan.Choose(kernel(t, "linear_gelu"), h200, size, nil)
	require.NoError(t, err)
	assert.Equal(t, h200.SharedPerBlock, alone.SharedLimit(h200))
	p, err := plan.Choose(kernel(t, "linear_gelu"), h200, size, map[string]int64{"occupancy": 4})
	require.NoError(t, err)
	assert.Equal(t, 4, p.Occupancy)
	assert.Equal(t, (h200.SharedPerBlock+1024)/4-1024, p.SharedLimit(h200))
	assert.LessOrEqual(t, 4*p.Warps*32, 2048)

	p, err = plan.Choose(kernel(t, "softmax", "N[0 .. 768]", "N[0 .. 768] split 4"), h200, nil, nil)
	require.NoError(t, err)
	assert.LessOrEqual(t, p.Chunks["j"], int64(192))
	assert.Equal(t, 4, p.Cluster)
	for want, pins := range map[string]map[string]int64{
		"cluster = 2: axis j is split over 4 blocks, which are a cluster": {"cluster": 2},
	} {
		_, err = plan.Choose(kernel(t, "softmax", "N[0 .. 768]", "N[0 .. 768] split 4"), h200, nil, pins)
		assert.ErrorContains(t, err, want)
	}
	// An axis that is shorter than that many blocks leaves some of them with nothing to do.
	p, err = plan.Choose(kernel(t, "softmax", "dim N = 768", "dim N = 3", "N[0 .. 768]", "N[0 .. 3] split 4"), h200, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{"j": 1}, p.Chunks)
	_, err = plan.Choose(kernel(t, "softmax", "N[0 .. 768]", "N[0 .. 768] split 4"), on(t, "sm_80"), nil, nil)
	assert.ErrorContains(t, err, "sm_80 has no clusters")
}

// What a plan does not use it says, and an axis over nothing is no special case.
func TestUnusedHintsAndEmptyAxes(t *testing.T) {
	p, err := plan.Choose(kernel(t, "softmax", "body:", "hint cluster = 2 hint warps = 8 body:"), on(t, "sm_90a"), nil, nil)
	require.NoError(t, err)
	assert.Equal(t, 8, p.Warps)
	assert.Equal(t, 2, p.Cluster)
	assert.Contains(t, p.String(), "cluster=2")
	_, err = plan.Choose(kernel(t, "softmax", "body:", "hint cluster = 2 body:"), on(t, "sm_80"), nil, nil)
	assert.EqualError(t, err, "plan for softmax on sm_80: cluster = 2: sm_80 has no clusters of blocks; compute capability 9.0 has")
	p, err = plan.Choose(kernel(t, "softmax", "body:", "hint cluster = 2 hint occupancy = 3 body:"), on(t, "cpu"), nil, nil)
	require.NoError(t, err)
	assert.Zero(t, p.Cluster+p.Occupancy)

	for _, name := range []string{"cpu", "sm_90a"} {
		f := kernel(t, "softmax", "dim N = 768", "dim N = 0", "N[0 .. 768]", "N[0 .. 0]")
		p, err = plan.Choose(f, on(t, name), nil, nil)
		require.NoError(t, err)
		assert.Empty(t, p.Chunks)
	}
}

// A plan says each setting that can be pinned, in the order of their table.
func TestPlanSaysItsSettings(t *testing.T) {
	p := &plan.Plan{Target: "sm_90a", Extents: map[string]int64{"i": 64}, Warps: 8, Stages: 3, Occupancy: 2, Cluster: 4, Producer: 1, Persist: 2, Private: 16, Relayout: 2, Cut: 2, Online: 2, Ranges: 4, Wgmma: 2,
		Forms: map[string]int64{"longest": 8, "phases": 2, "overlap": 3, "deferred": 1, "moments": 1, "chains": 1, "kept": 2, "stagger": 2, "words": 1, "selection": 1}}
	assert.Equal(t, "sm_90a: i=64 warps=8 stages=3 occupancy=2 cluster=4 producer=1 persist=2 private=16 relayout=2 cut=2 online=2 ranges=4 longest=8 phases=2 overlap=3 deferred=1 moments=1 chains=1 kept=2 stagger=2 words=1 selection=1 wgmma=2", p.String())
	for _, name := range lang.PlanSettings() {
		if name != "split" { // said of each axis
			assert.Positive(t, p.Setting(name), name)
		}
	}
}

// The steps of a loop over numbers count, by the sizes that are planned for: a recurrence gets blocks for all multiprocessors, however little a step has to do, and one of few steps lanes with
// whole vectors.
func TestStepsOverNumbersCount(t *testing.T) {
	f, err := ir.Parse("ema", `kernel @ema {
  dim B = ?
  dim L = ?
  dim D = 2048
  tensor %x : in f32[B, L, D] align 16
  tensor %y : out f32[B, L, D] align 16
  axis b : grid scalar B
  axis d : grid D by BD = ?
body:
  %0 = const 0 : i32
  %1 = size L : i32
  %2 = const 0 : f32
  %3 = full %2 : f32{d}
  %4 = start b : i32
  %5 = index d : i32{d}
  %10 = for from %0 to %1 with (%6 s = %3) pos %7 t : (f32{d}) {
    %8 = load %x[%4, %7, %5] : f32{d}
    %9 s = add %6, %8 : f32{d}
    store %y[%4, %7, %5] = %9
    yield %9
  }
}
`)
	require.NoError(t, err)
	require.NoError(t, pass.Run(f, pass.Options{Verify: true}))
	blocks := func(l int64) int64 {
		p, err := plan.Choose(f, on(t, "sm_90a"), sizes(map[string]int64{"B": 8, "L": l}), nil)
		require.NoError(t, err)
		return 8 * 2048 / p.Extents["d"]
	}
	assert.GreaterOrEqual(t, blocks(2048), int64(64))
	assert.Less(t, blocks(1), blocks(2048))
}

// Each thread computes the functions of a launch's numbers: where they take hundreds of instructions, threads have more elements.
func TestFunctionsOfNumbersCount(t *testing.T) {
	elements := func(scalar string) int64 {
		f, err := ir.Parse("step", `kernel @step {
  dim N = ?
  tensor %x : in f32[N] align 16
  tensor %y : out f32[N] align 16
  scalar %0 b : f32
  scalar %1 n : f32
  axis i : grid N by B = ?
body:
  %2 = index i : i32{i}
  %3 = load %x[%2] : f32{i}
  %4 = `+scalar+` %0, %1 : f32
  %6 = `+scalar+` %4, %1 : f32
  %7 = `+scalar+` %6, %1 : f32
  %5 = mul %3, %7 : f32{i}
  store %y[%2] = %5
}
`)
		require.NoError(t, err)
		p, err := plan.Choose(f, on(t, "sm_90a"), sizes(map[string]int64{"N": 1 << 26}), nil)
		require.NoError(t, err)
		return p.Extents["i"] / int64(32*p.Warps)
	}
	assert.Greater(t, elements("pow"), elements("add"))
}

// A loop that ends where the block's part of a range does takes half of the range's steps, and so does one that is cut to the dimension.
func TestLoopsUpToTheBlockTakeHalf(t *testing.T) {
	time := func(axis, end string) float64 {
		f, err := ir.Parse("causal", `kernel @causal {
  dim S = 8
  dim "S + 1" = 9
  dim N = ?
  dim D = 64
  tensor %x : in bf16[N, D] align 16
  tensor %first : in i32["S + 1"] align 16
  tensor %y : out f32[N, D] align 16
  axis s : grid scalar S
  axis i : grid N by BI = 64`+axis+`
  axis d : whole D[0 .. 64]
  axis e : whole D[0 .. 64]
  axis j : loop N by BJ = 64
body:
  %0 = index i : i32{i}
  %1 = index d : i32{d}
  %2 = load %x[%0, %1] : bf16{i, d}
  %3 = start s : i32
  %4 = load %first[%3] : i32
  %5 = const 0 : i32
  %6 = max %4, %5 : i32
  %7 = size N : i32
`+end+`
  %10 = min %9, %7 : i32
  %11 = index e : i32{e}
  %12 = const 0 : f32
  %13 = full %12 : f32{i, e}
  %20 = for j from %6 to %10 with (%14 = %13) pos %15 : (f32{i, e}) {
    %16 = index j : i32{j}
    %17 = load %x[%16, %1] : bf16{j, d}
    %18 = dot %2, %17 over d : f32{i, j}
    %19 = cast %18 : bf16{i, j}
    %21 = load %x[%16, %11] : bf16{j, e}
    %22 = mma %19, %21, %14 over j : f32{i, e}
    yield %22
  }
  store %y[%0, %11] = %20
}
`)
		require.NoError(t, err)
		p, err := plan.Choose(f, on(t, "sm_90a"), sizes(map[string]int64{"N": 32768}), map[string]int64{"warps": 4})
		require.NoError(t, err)
		return p.Time
	}
	const ranges = " over ranges of s from %first[0] to %first[1] zero outside in %y"
	all := time(ranges, "  %8 = const 1 : i32\n  %30 = add %3, %8 : i32\n  %9 = load %first[%30] : i32")
	assert.InDelta(t, 0.5, time(ranges, "  %9 = end i : i32")/all, 0.1)
}
