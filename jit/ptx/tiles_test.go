package ptx

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/jittest/sweep"
	"tilec/jit/layout"
	"tilec/jit/plan"
	"tilec/jit/target"
	"tilec/lang"
)

// Blocks that stay give what blocks of one tile give, however many blocks there are and tiles for each.
func TestBlocksGoThroughTiles(t *testing.T) {
	for _, c := range []struct {
		transposed    bool
		tile          [3]int64
		warps, stages int
		persist       int
		sizes         [3]int64
	}{
		{false, [3]int64{64, 64, 64}, 4, 3, 1, [3]int64{150, 136, 200}},
		{false, [3]int64{128, 128, 64}, 8, 3, 1, [3]int64{150, 264, 136}},
		{true, [3]int64{128, 64, 32}, 8, 4, 1, [3]int64{300, 72, 136}},
		{false, [3]int64{64, 64, 64}, 4, 3, 2, [3]int64{150, 136, 200}},
		{true, [3]int64{128, 192, 64}, 4, 4, 2, [3]int64{300, 200, 136}},
		{false, [3]int64{128, 192, 64}, 4, 4, 2, [3]int64{128, 384, 320}},
		{true, [3]int64{64, 128, 64}, 4, 3, 2, [3]int64{70, 72, 16}},
		{true, [3]int64{64, 64, 64}, 4, 4, 2, [3]int64{400, 72, 64}}, // one step, all of it
	} {
		for most := range 3 {
			t.Run(fmt.Sprint(c, " ", most+1), func(t *testing.T) {
				p := plan.Plan{Extents: map[string]int64{"i": c.tile[0], "j": c.tile[1], "k": c.tile[2]}, Warps: c.warps, Stages: c.stages, Persist: c.persist, Wgmma: block.WgmmaAlways}
				f := aligned(parse(t, productText("bf16", "f32", "", c.transposed)))
				sizes := map[string]int64{"M": c.sizes[0], "N": c.sizes[1], "K": c.sizes[2]}
				differWith(t, f, p, sizes, 1e-4, 100, func(m *Module) {
					require.Positive(t, m.Most)
					m.Most = most + 1
				})
				if most > 0 {
					return
				}
				m := compile(t, f, &p, "sm_90a")
				require.Equal(t, c.persist > 1, strings.Contains(m.Text, "bar.arrive"))
				report := requireAssembles(t, m.Text, "sm_90a")
				require.NotContains(t, report, "C75")
				require.NotContains(t, report, "ignored", "of setmaxnreg")
			})
		}
	}
}

// Blocks that stay multiply f32 too, and give the bits of blocks of one tile.
func TestBlocksOfTF32GoThroughTiles(t *testing.T) {
	for _, c := range []struct {
		transposed    bool
		tile          [3]int64
		warps, stages int
		persist       int
		sizes         [3]int64
		held          bool // threads store what they hold, as they do where they know the strides
	}{
		{false, [3]int64{128, 64, 32}, 4, 3, 1, [3]int64{150, 136, 200}, false},
		{false, [3]int64{128, 128, 32}, 4, 3, 2, [3]int64{300, 264, 136}, false},
		{false, [3]int64{192, 128, 32}, 4, 4, 2, [3]int64{400, 256, 64}, true},
		{true, [3]int64{64, 128, 32}, 4, 4, 2, [3]int64{300, 200, 72}, false},
	} {
		sizes := map[string]int64{"M": c.sizes[0], "N": c.sizes[1], "K": c.sizes[2]}
		result := func(persist, most int) []byte {
			p := plan.Plan{Extents: map[string]int64{"i": c.tile[0], "j": c.tile[1], "k": c.tile[2]}, Warps: c.warps, Stages: c.stages, Persist: persist, Wgmma: block.WgmmaAlways}
			text := productText("f32", "f32", "", c.transposed)
			if c.held {
				text = strings.NewReplacer("N = ?", fmt.Sprint("N = ", c.sizes[1]), "K = ?", fmt.Sprint("K = ", c.sizes[2])).Replace(text)
			}
			f := aligned(parse(t, text))
			m := compile(t, f, &p, "sm_90a")
			require.Equal(t, persist > 0, m.Most > 0)
			if persist > 0 {
				m.Most = most
				report := requireAssembles(t, m.Text, "sm_90a")
				require.Equal(t, c.held, strings.Contains(m.Text, "st.global"))
				require.NotContains(t, report, "C75")
				require.NotContains(t, report, "ignored", "of setmaxnreg")
			}
			r := rand.New(rand.NewSource(1))
			tensors := [][]byte{make([]byte, 4*c.sizes[0]*c.sizes[2]), make([]byte, 4*c.sizes[2]*c.sizes[1]), make([]byte, 4*c.sizes[0]*c.sizes[1])}
			for _, x := range tensors[:2] {
				random(r, lang.F32, x, 100)
			}
			emulate(t, m, tensors, nil, func(d *ir.Dim) int64 {
				if d.Known() {
					return d.Value
				}
				return sizes[d.Name]
			})
			return tensors[2]
		}
		want := result(0, 0)
		for most := 1; most <= 3; most += 2 {
			require.Equal(t, want, result(c.persist, most), "%v, %d blocks", c, most)
		}
	}
}

// Blocks that stay multiply floats of 8 bits too, each step with a sum of its own, and give the bits of blocks of one tile.
func TestBlocksOfF8GoThroughTiles(t *testing.T) {
	for _, c := range []struct {
		transposed bool
		columns    int64
	}{{true, 128}, {true, 192}, {false, 128}} {
		sizes := map[string]int64{"M": 150, "N": 272, "K": 208}
		result := func(persist, most int) []byte {
			p := plan.Plan{Extents: map[string]int64{"i": 128, "j": c.columns, "k": 64}, Warps: 8, Stages: 3, Persist: persist, Wgmma: block.WgmmaAlways}
			f := parse(t, productText("f8e4m3", "f32", "", c.transposed))
			f.Approx = true
			for _, d := range f.Dims {
				if d.Name != "M" {
					d.Divisor = 16
				}
			}
			m := compile(t, f, &p, "sm_90a")
			require.Equal(t, persist > 0, m.Most > 0)
			require.Contains(t, m.Text, "wgmma.mma_async")
			if persist > 0 {
				m.Most = most
				if c.columns < 192 { // of 192, the masks of sizes as odd as these take registers that are not there: 12 bytes of a thread are spilled
					require.NotContains(t, requireAssembles(t, m.Text, "sm_90a"), "C75")
				}
			}
			r := rand.New(rand.NewSource(1))
			tensors := [][]byte{make([]byte, sizes["M"]*sizes["K"]), make([]byte, sizes["K"]*sizes["N"]), make([]byte, 4*sizes["M"]*sizes["N"])}
			for _, x := range tensors[:2] {
				random(r, lang.F8E4M3, x, 100)
			}
			emulate(t, m, tensors, nil, func(d *ir.Dim) int64 {
				if d.Known() {
					return d.Value
				}
				return sizes[d.Name]
			})
			return tensors[2]
		}
		want := result(0, 0)
		for most := 1; most <= 3; most++ {
			require.Equal(t, want, result(1, most), "%v, %d blocks", c, most)
		}
	}
}

// The results of products go to shared memory by matrices, and from there by boxes, whether blocks stay or not.
func TestResultsByMatrices(t *testing.T) {
	for i, c := range []struct {
		tile                   [3]int64
		warps, stages, persist int
	}{
		{[3]int64{64, 64, 64}, 4, 3, 0},
		{[3]int64{128, 128, 64}, 4, 3, 0},
		{[3]int64{128, 128, 32}, 8, 3, 0},
		{[3]int64{128, 128, 32}, 8, 3, 1},
		{[3]int64{64, 256, 32}, 4, 3, 1},
		{[3]int64{128, 128, 64}, 4, 4, 2},
		{[3]int64{128, 192, 64}, 4, 4, 2},
		{[3]int64{128, 192, 64}, 4, 5, 2}, // in three parts
		{[3]int64{128, 256, 64}, 8, 4, 1}, // in two
		{[3]int64{128, 160, 64}, 4, 4, 2}, // by panels of 64 bytes
		{[3]int64{128, 176, 32}, 4, 5, 2}, // of 32 bytes
	} {
		if i%sweep.OneIn(2) == 1 {
			continue
		}
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			p := plan.Plan{Extents: map[string]int64{"i": c.tile[0], "j": c.tile[1], "k": c.tile[2]}, Warps: c.warps, Stages: c.stages, Persist: c.persist, Wgmma: block.WgmmaAlways}
			f := shorter(example(t, "linear_gelu"), "K", 136)
			f = shorter(f, "N", 264)
			report := differWith(t, f, p, map[string]int64{"M": 200}, 1.0/64, 100, func(m *Module) {
				require.Contains(t, m.Text, "stmatrix")
				require.Equal(t, c.persist > 0, m.Most > 0)
				m.Most = min(m.Most, 2)
			})
			require.NotEmpty(t, report.Accesses)
			for _, a := range report.Accesses {
				if a.Space == "shared" {
					require.Equal(t, a.Ideal, a.Wavefronts, "%s: conflicts of banks", a.Instruction)
				}
			}
			m := compile(t, f, &p, "sm_90a")
			require.NotContains(t, requireAssembles(t, m.Text, "sm_90a"), "C75")
		})
	}
}

// residualText is y = r + x w, where the sums begin with r: it is on its way before a team's turn to multiply.
const residualText = `kernel @residual {
  dim M = ?
  dim K = 200
  dim N = 392
  tensor %x : in bf16[M, K] align 16
  tensor %w : in bf16[K, N] align 16
  tensor %r : in bf16[M, N] align 16
  tensor %y : out bf16[M, N] align 16
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis k : loop K by BK = ?
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = const 0 : i32
  %3 = size K : i32
  %4 = load %r[%0, %1] : bf16{i, j}
  %5 = cast %4 : f32{i, j}
  %12 = for k from %2 to %3 with (%6 = %5) pos %7 : (f32{i, j}) {
    %8 = index k : i32{k}
    %9 = load %x[%0, %8] : bf16{i, k}
    %10 = load %w[%8, %1] : bf16{k, j}
    %11 = mma %9, %10, %6 over k : f32{i, j}
    yield %11
  }
  %13 = cast %12 : bf16{i, j}
  store %y[%0, %1] = %13
}
`

// Two blocks that share copies give what one block gives, with an odd number of rows of tiles too.
func TestPairsOfBlocksShareCopies(t *testing.T) {
	for _, c := range []struct {
		transposed             bool
		tile                   [3]int64
		warps, stages, persist int
		sizes                  [3]int64
	}{
		{false, [3]int64{64, 64, 64}, 4, 3, 1, [3]int64{150, 136, 200}},
		{true, [3]int64{128, 128, 64}, 8, 3, 1, [3]int64{500, 264, 136}},
		{false, [3]int64{128, 192, 64}, 4, 4, 2, [3]int64{300, 384, 200}},
		{true, [3]int64{64, 192, 64}, 4, 4, 2, [3]int64{300, 200, 136}},
	} {
		for _, most := range []int{2, 4} {
			t.Run(fmt.Sprint(c, " ", most), func(t *testing.T) {
				p := plan.Plan{Extents: map[string]int64{"i": c.tile[0], "j": c.tile[1], "k": c.tile[2]}, Warps: c.warps, Stages: c.stages, Persist: c.persist, Cluster: 2, Wgmma: block.WgmmaAlways}
				f := aligned(parse(t, productText("bf16", "f32", "", c.transposed)))
				sizes := map[string]int64{"M": c.sizes[0], "N": c.sizes[1], "K": c.sizes[2]}
				differWith(t, f, p, sizes, 1e-4, 100, func(m *Module) {
					require.Contains(t, m.Text, "multicast")
					m.Most = most
				})
				if most > 2 {
					return
				}
				m := compile(t, f, &p, "sm_90a")
				require.NotContains(t, m.Text, "barrier.cluster.arrive.release", "which waits for a fence of the whole GPU")
				require.NotContains(t, requireAssembles(t, m.Text, "sm_90a"), "C75")
			})
		}
	}
}

func TestSumsOfTilesBeginWithResiduals(t *testing.T) {
	for _, persist := range []int{0, 1, 2} {
		p := plan.Plan{Extents: map[string]int64{"i": 128, "j": 128, "k": 64}, Warps: 4, Stages: 4, Persist: persist}
		f := parse(t, residualText)
		differWith(t, f, p, map[string]int64{"M": 300}, 1.0/64, 100, func(m *Module) {
			require.Equal(t, persist > 0, m.Most > 0)
			m.Most = min(m.Most, 2)
		})
		m := compile(t, f, &p, "sm_90a")
		require.NotContains(t, requireAssembles(t, m.Text, "sm_90a"), "C75")
	}
	// Of three rows of tiles, the last has no neighbour, whose residuals do not exist.
	for rows, pairs := range map[string]bool{"384": false, "512": true, "?": true} {
		p := plan.Plan{Extents: map[string]int64{"i": 128, "j": 128, "k": 64}, Warps: 4, Stages: 4, Persist: 2, Cluster: 2}
		f := parse(t, strings.Replace(residualText, "M = ?", "M = "+rows, 1))
		differWith(t, f, p, map[string]int64{"M": 384}, 1.0/64, 100, func(m *Module) {
			require.Equal(t, pairs, strings.Contains(m.Text, "multicast"), rows)
			m.Most = min(m.Most, 4)
		})
	}
}

// A residual that is added behind the product is read as its elements are stored, and the L2 is asked for it before the loop.
func TestResidualsBehindTheProduct(t *testing.T) {
	text := strings.NewReplacer("(%6 = %5)", "(%6 = %15)", "  %4 = load %r[%0, %1] : bf16{i, j}\n  %5 = cast %4 : f32{i, j}\n", "  %14 = const 0 : f32\n  %15 = full %14 : f32{i, j}\n",
		"  %13 = cast %12 : bf16{i, j}\n", "  %4 = load %r[%0, %1] : bf16{i, j}\n  %5 = cast %4 : f32{i, j}\n  %16 = add %5, %12 : f32{i, j}\n  %13 = cast %16 : bf16{i, j}\n").Replace(residualText)
	for _, persist := range []int{0, 2} {
		p := plan.Plan{Extents: map[string]int64{"i": 128, "j": 128, "k": 64}, Warps: 4, Stages: 4, Persist: persist}
		f := parse(t, text)
		differWith(t, f, p, map[string]int64{"M": 300}, 1.0/64, 100, func(m *Module) {
			require.Contains(t, m.Text, "prefetch.global.L2")
			m.Most = min(m.Most, 2)
		})
		m := compile(t, f, &p, "sm_90a")
		require.NotContains(t, requireAssembles(t, m.Text, "sm_90a"), "C75")
	}
}

// What two stores take is computed once, before both; what one of them takes alone, as it stores.
func TestTwoStoresOfOneProduct(t *testing.T) {
	text := strings.NewReplacer("  tensor %y : out bf16[M, N] align 16\n", "  tensor %y : out bf16[M, N] align 16\n  tensor %z : out bf16[M, N] align 16\n",
		"  %13 = cast %12 : bf16{i, j}\n", "  %16 = exp %12 : f32{i, j}\n  %13 = cast %16 : bf16{i, j}\n  %17 = add %16, %16 : f32{i, j}\n  %18 = cast %17 : bf16{i, j}\n",
		"store %y[%0, %1] = %13", "store %y[%0, %1] = %13\n  store %z[%0, %1] = %18").Replace(residualText)
	for _, persist := range []int{0, 1, 2} {
		p := plan.Plan{Extents: map[string]int64{"i": 64, "j": 64, "k": 64}, Warps: 4, Stages: 4, Persist: persist}
		differWith(t, shorter(parse(t, text), "K", 16), p, map[string]int64{"M": 150}, 1.0/64, 100, func(m *Module) {
			require.Equal(t, 64*64/128, strings.Count(m.Text, "ex2.approx"), "an exponential for each element of a thread")
			m.Most = min(m.Most, 2)
		})
	}
}

// shorter is the kernel with another size of a dimension.
func shorter(f *ir.Func, dim string, size int64) *ir.Func {
	for _, d := range f.Dims {
		if d.Name == dim {
			d.Value = size
		}
	}
	return f
}

// Rows of a result that begin anywhere are stored element by element: a warp then takes as many neighbours as it has lanes, and not, in several
// accesses, parts of the same sectors of many rows.
func TestMisalignedResultsAreStoredInRows(t *testing.T) {
	p := plan.Plan{Extents: map[string]int64{"i": 64, "j": 64, "k": 64}, Warps: 4, Stages: 3, Wgmma: block.WgmmaAlways}
	f := aligned(parse(t, strings.Replace(productText("bf16", "f32", "", true), "N = ?", "N = 201", 1)))
	differ(t, f, p, map[string]int64{"M": 70, "K": 64}, 1e-4, 100)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	program, err := Decide(f, &p, machine)
	require.NoError(t, err)
	store := f.Body.Ops[len(f.Body.Ops)-1]
	require.Equal(t, layout.Lanes, layout.Reach(f.Axis("j"), program.StoreLayout(store).Lane))
}

// Blocks that stay store results whose rows begin anywhere in lines, through shared memory, and give what blocks of one tile give.
func TestBlocksThatStayStoreLines(t *testing.T) {
	for _, c := range []struct {
		operands, result    string
		rows, columns       int64
		tile                [2]int64
		warps, most, stages int
		persist             int
	}{
		{"bf16", "f32", 300, 201, [2]int64{128, 128}, 4, 1, 3, 2}, {"bf16", "f32", 300, 457, [2]int64{128, 192}, 4, 2, 4, 2}, {"bf16", "f32", 70, 131, [2]int64{64, 48}, 4, 3, 3, 1},
		{"bf16", "bf16", 300, 201, [2]int64{128, 128}, 4, 1, 3, 2}, {"bf16", "bf16", 5, 203, [2]int64{128, 192}, 4, 2, 4, 2}, {"bf16", "f32", 258, 198, [2]int64{128, 128}, 8, 2, 3, 1},
		{"bf16", "bf16", 300, 117, [2]int64{64, 64}, 4, 2, 4, 1}, {"bf16", "bf16", 300, 117, [2]int64{64, 64}, 4, 2, 4, 2}, // one panel
		{"f32", "f32", 300, 201, [2]int64{192, 128}, 4, 2, 4, 2},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			d, _ := lang.ParseDType(c.operands)
			p := plan.Plan{Extents: map[string]int64{"i": c.tile[0], "j": c.tile[1], "k": int64(128 / d.Size())}, Warps: c.warps, Stages: c.stages, Persist: c.persist, Wgmma: block.WgmmaAlways}
			text := strings.NewReplacer("N = ?", fmt.Sprint("N = ", c.columns), "K = ?", "K = 136").Replace(productText(c.operands, "f32", "", true))
			if c.result == "bf16" {
				text = strings.NewReplacer("%c : out f32", "%c : out bf16", "  store %c[%0, %1] = %12", "  %13 = cast %12 : bf16{i, j}\n  store %c[%0, %1] = %13").Replace(text)
			}
			f := aligned(parse(t, text))
			tolerance := 1.0 / 128
			if d == lang.F32 { // each of 136 products has two operands that are rounded to tf32
				tolerance = 136 * 2.0 / (1 << 11)
			}
			differWith(t, f, p, map[string]int64{"M": c.rows}, tolerance, 100, func(m *Module) {
				require.Positive(t, m.Most)
				m.Most = c.most
			})
			m := compile(t, f, &p, "sm_90a")
			require.Contains(t, m.Text, "st.global")
			report := requireAssembles(t, m.Text, "sm_90a")
			require.NotContains(t, report, "C75")
			require.NotContains(t, report, "ignored", "of setmaxnreg")
		})
	}
}
