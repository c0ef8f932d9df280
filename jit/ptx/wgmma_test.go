package ptx

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/jittest/sweep"
	"tilec/jit/plan"
	"tilec/lang"
)

var wideProducts = []struct {
	d          string
	transposed bool
	tile       [3]int64
	warps      int
	stages     int
}{
	{"bf16", false, [3]int64{64, 64, 64}, 4, 2},
	{"bf16", true, [3]int64{64, 64, 64}, 4, 3},
	{"f16", false, [3]int64{64, 128, 32}, 4, 4},
	{"f16", true, [3]int64{128, 24, 32}, 4, 2},
	{"bf16", false, [3]int64{128, 32, 16}, 8, 3},
	{"bf16", true, [3]int64{128, 40, 128}, 8, 1},
	{"bf16", false, [3]int64{256, 128, 64}, 8, 3},
	{"bf16", true, [3]int64{128, 256, 64}, 8, 4},
	{"bf16", false, [3]int64{128, 160, 64}, 4, 3}, // panels of 64 bytes
	{"bf16", true, [3]int64{64, 160, 48}, 4, 3},
	{"f16", false, [3]int64{64, 208, 96}, 4, 3}, // of 32 bytes
	{"bf16", false, [3]int64{128, 224, 64}, 8, 4},
	{"f16", false, [3]int64{64, 112, 80}, 4, 1},
	{"bf16", false, [3]int64{8, 64, 64}, 4, 3}, // few rows: the columns play them
	{"bf16", true, [3]int64{8, 128, 64}, 8, 3},
	{"f16", false, [3]int64{5, 128, 32}, 8, 3},
	{"f16", false, [3]int64{5, 256, 32}, 8, 3},
	{"i8", true, [3]int64{64, 128, 128}, 4, 3},
	{"i8", true, [3]int64{64, 64, 32}, 4, 3},
	{"u8", true, [3]int64{128, 24, 64}, 4, 1},
	{"i8", true, [3]int64{128, 256, 128}, 8, 4},
	{"u8", true, [3]int64{256, 48, 256}, 8, 2},
	{"i8", true, [3]int64{8, 128, 64}, 8, 3},
	{"u8 i8", true, [3]int64{64, 128, 64}, 4, 3},
	{"i8", false, [3]int64{64, 64, 64}, 4, 3}, // weights across the depth: they are the rows, in registers
	{"u8 i8", false, [3]int64{128, 128, 128}, 8, 4},
	{"i8", false, [3]int64{128, 128, 64}, 4, 2},
	{"u8", false, [3]int64{64, 256, 32}, 8, 3},
	{"f8e4m3", true, [3]int64{64, 64, 128}, 4, 3}, // where the kernel is @approx
	{"f8e5m2", true, [3]int64{128, 128, 64}, 8, 4},
	{"f8e5m2", false, [3]int64{64, 64, 64}, 4, 3},
	{"f8e4m3", false, [3]int64{128, 128, 128}, 8, 3},
	{"f8e4m3", false, [3]int64{64, 256, 32}, 8, 2},
	{"f32", true, [3]int64{64, 64, 32}, 4, 3}, // both operands along the depth: both in shared memory
	{"f32", true, [3]int64{128, 128, 32}, 8, 4},
	{"f32", true, [3]int64{128, 72, 64}, 4, 2},
	{"f32", true, [3]int64{64, 256, 16}, 4, 3},
	{"f32", false, [3]int64{64, 64, 32}, 4, 3}, // the weights across the depth: they are the rows, in registers
	{"f32", false, [3]int64{256, 128, 32}, 8, 4},
	{"f32", false, [3]int64{64, 256, 32}, 8, 3},
	{"f32", false, [3]int64{128, 128, 64}, 4, 2},
	{"f32", false, [3]int64{96, 64, 16}, 4, 2},
}

// wgmma takes fewer widths of bytes, and transposes none: what lies across the depth is taken from registers. mma.sync takes the others.
func TestWgmmaOfBytes(t *testing.T) {
	for _, c := range []struct {
		transposed bool
		columns    int64
		wide       bool
	}{{true, 128, true}, {false, 128, true}, {true, 40, false}, {true, 32, true}} {
		p := plan.Plan{Extents: map[string]int64{"i": 64, "j": c.columns, "k": 64}, Warps: 4, Stages: 3, Wgmma: block.WgmmaAlways}
		text := compile(t, aligned(parse(t, productText("i8", "i32", "", c.transposed))), &p, "sm_90a").Text
		require.Equal(t, c.wide, strings.Contains(text, "wgmma.mma_async"), c)
		require.Equal(t, !c.wide, strings.Contains(text, "mma.sync"), c)
	}
}

// aligned promises that the depth and the columns are multiples of 8.
func aligned(f *ir.Func) *ir.Func {
	for _, d := range f.Dims {
		if d.Name != "M" {
			d.Divisor = 8
		}
	}
	return f
}

func TestWgmmaProducts(t *testing.T) {
	for i, c := range wideProducts {
		if i%sweep.OneIn(2) == 1 {
			continue
		}
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			p := plan.Plan{Extents: map[string]int64{"i": c.tile[0], "j": c.tile[1], "k": c.tile[2]}, Warps: c.warps, Stages: c.stages, Wgmma: block.WgmmaAlways}
			a, b, mixed := strings.Cut(c.d, " ")
			d, _ := lang.ParseDType(a)
			text := productText(a, d.Accumulator().String(), "", c.transposed)
			if mixed {
				text = strings.NewReplacer("%b : in "+a, "%b : in "+b, a+"{j, k}", b+"{j, k}", a+"{k, j}", b+"{k, j}").Replace(text)
			}
			f := aligned(parse(t, text))
			f.Approx = d.Bits() == 8
			tolerance := 1e-4
			switch {
			case d.IsInt():
				tolerance = 0
			case d == lang.F32:
				tolerance = 0.05 // tf32 keeps 11 bits
			}
			differ(t, f, p, map[string]int64{"M": 70, "N": max(72, c.tile[1]+8), "K": 136}, tolerance, 100)
			m := compile(t, f, &p, "sm_90a")
			require.Contains(t, m.Text, "wgmma.mma_async")
			if d.IsFloat() && d.Bits() == 8 {
				f.Approx = false
				require.NotContains(t, compile(t, f, &p, "sm_90a").Text, "wgmma.mma_async", "its sums keep less than the language promises")
			}
			require.NotContains(t, requireAssembles(t, m.Text, "sm_90a"), "C75")
		})
	}
}

// Of more than four instructions, what the next step waits for, with both operands in shared memory, has those once that lie alike: all of a panel, or the whole
// depth where that is not contiguous. Others have each of their own.
func TestPasses(t *testing.T) {
	for _, c := range []struct {
		d                    string
		transposed           bool
		rows, depth          int64
		stages, instructions int
	}{
		{"bf16", true, 64, 64, 3, 4}, // few
		{"bf16", true, 128, 64, 3, 2},
		{"bf16", true, 64, 128, 3, 4}, // two panels
		{"bf16", true, 128, 128, 3, 8},
		{"bf16", false, 128, 64, 3, 2},
		{"bf16", false, 64, 128, 3, 4}, // the rows have two panels
		{"i8", true, 192, 64, 3, 3},
		{"f32", true, 128, 32, 3, 2},
		{"bf16", true, 128, 64, 2, 8}, // waited for in its own step
		{"f32", false, 128, 32, 3, 4}, // rows in registers: 64 of them
	} {
		p := plan.Plan{Extents: map[string]int64{"i": c.rows, "j": 64, "k": c.depth}, Warps: 4, Stages: c.stages, Wgmma: block.WgmmaAlways}
		d, _ := lang.ParseDType(c.d)
		m := compile(t, aligned(parse(t, productText(c.d, d.Accumulator().String(), "", c.transposed))), &p, "sm_90a")
		const codes = 2 // of whole steps, and of the last one
		require.Equal(t, codes*c.instructions, strings.Count(m.Text, "wgmma.mma_async"), "%v", c)
	}
}

// Rows that come to registers from a tile across which the depth lies share no banks, those of f32, and leave in whole sectors.
func TestRowsAcrossAreReadAtFullRate(t *testing.T) {
	for _, c := range []struct {
		d     string
		tile  [3]int64
		warps int
		most  int64 // passes over the banks, for each that is needed
	}{
		{"f32", [3]int64{256, 128, 32}, 8, 1}, {"f32", [3]int64{64, 128, 32}, 4, 1}, {"f32", [3]int64{64, 64, 64}, 4, 1},
		{"i8", [3]int64{128, 128, 128}, 8, 2}, {"i8", [3]int64{64, 64, 64}, 4, 2},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			d, _ := lang.ParseDType(c.d)
			sizes := map[string]int64{"M": c.tile[0], "N": 2 * c.tile[1], "K": 2 * c.tile[2]}
			f := parse(t, productText(c.d, d.Accumulator().String(), "", false))
			for _, dim := range f.Dims {
				dim.Value = sizes[dim.Name]
			}
			p := plan.Plan{Extents: map[string]int64{"i": c.tile[0], "j": c.tile[1], "k": c.tile[2]}, Warps: c.warps, Stages: 3}
			report := differ(t, f, p, sizes, 0.05, 100)
			read, stored := false, false
			for _, a := range report.Accesses {
				switch {
				case strings.HasPrefix(a.Instruction, "ld.shared"), strings.HasPrefix(a.Instruction, "ldmatrix"):
					read = true
					require.LessOrEqual(t, a.Wavefronts, c.most*a.Ideal, a.Instruction)
				case strings.HasPrefix(a.Instruction, "st.shared"): // of bytes, to boxes
					stored = true
					require.LessOrEqual(t, a.Wavefronts, c.most*a.Ideal, a.Instruction)
				case strings.HasPrefix(a.Instruction, "st.global"):
					stored = true
					require.Equal(t, a.Ideal, a.Sectors, a.Instruction)
				}
			}
			require.True(t, read && stored)
		})
	}
}

func TestWgmmaAttention(t *testing.T) {
	for _, e := range []plan.Plan{
		{Extents: map[string]int64{"i": 64, "j": 64}, Warps: 4, Stages: 2, Wgmma: block.WgmmaAlways},
		{Extents: map[string]int64{"i": 128, "j": 32}, Warps: 4, Stages: 3, Wgmma: block.WgmmaAlways},
	} {
		t.Run(e.String(), func(t *testing.T) {
			f := example(t, "attention")
			differ(t, f, e, map[string]int64{"B": 1, "S": 150}, 1.0/64, 0, uint64(math.Float32bits(0.125)))
			m := compile(t, f, &e, "sm_90a")
			require.Contains(t, m.Text, "wgmma.mma_async")
			require.NotContains(t, requireAssembles(t, m.Text, "sm_90a"), "C75")
		})
	}
}

// A product of fewer columns than the smallest wgmma reads is by mma.sync, whatever is asked for: its tile in shared memory ends before.
func TestProductsOfFewColumnsAreNoWgmma(t *testing.T) {
	for columns, wgmma := range map[int64]bool{4: false, 3: false, 5: true, 8: true} {
		p := plan.Plan{Extents: map[string]int64{"i": 128, "j": columns, "k": 16}, Warps: 8, Stages: 1, Wgmma: block.WgmmaAlways}
		f := parse(t, productText("f16", "f32", "", true))
		differ(t, f, p, map[string]int64{"M": 130, "N": 9, "K": 5}, 1e-3, 100)
		require.Equal(t, wgmma, strings.Contains(compile(t, f, &p, "sm_90a").Text, "wgmma.mma_async"), columns)
	}
}

// Two products of the same rows, one of which has few columns, are by warpgroups, and both are waited for in the next step; numbers are those of the products by themselves.
func TestTwoProductsOfTheSameRows(t *testing.T) {
	f := parse(t, `kernel @two {
  dim M = ?
  dim K = ? % 8
  dim N = ? % 8
  dim R = 16
  tensor %x : in bf16[M, K] align 16
  tensor %w : in bf16[K, N] align 16
  tensor %a : in bf16[K, R] align 16
  tensor %y : out f32[M, N] align 16
  tensor %z : out f32[M, R] align 16
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis r : whole R[0 .. 16]
  axis k : loop K by BK = ?
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index r : i32{r}
  %3 = const 0 : i32
  %4 = size K : i32
  %5 = const 0 : f32
  %6 = full %5 : f32{i, j}
  %7 = full %5 : f32{i, r}
  %17, %18 = for k from %3 to %4 with (%8 = %6, %9 = %7) pos %10 : (f32{i, j}, f32{i, r}) {
    %11 = index k : i32{k}
    %12 = load %x[%0, %11] : bf16{i, k}
    %13 = load %w[%11, %1] : bf16{k, j}
    %14 = load %a[%11, %2] : bf16{k, r}
    %15 = mma %12, %13, %8 over k : f32{i, j}
    %16 = mma %12, %14, %9 over k : f32{i, r}
    yield %15, %16
  }
  store %y[%0, %1] = %17
  %19 = start j : i32
  %20 = eq %19, %3 : bool
  if %20 {
    store %z[%0, %2] = %18
  } else {
  }
}
`)
	var texts []string
	for _, c := range []struct {
		stages, wait int
		rows, warps  int64
	}{{4, 2, 64, 4}, {4, 2, 128, 8}, {2, 0, 64, 4}, {4, 8, 128, 4}} { // 128 rows by four warps: four passes of each product
		p := plan.Plan{Extents: map[string]int64{"i": c.rows, "j": 128, "k": 64}, Warps: int(c.warps), Stages: c.stages}
		m := compile(t, f, &p, "sm_90a")
		require.NotContains(t, m.Text, "mma.sync")
		require.Contains(t, m.Text, fmt.Sprintf("wgmma.wait_group.sync.aligned %d;", c.wait), "%v", c)
		differ(t, f, p, map[string]int64{"M": 70, "N": 136, "K": 264}, 1e-4, 100)
		texts = append(texts, m.Text)
	}
	for _, text := range texts {
		require.NotContains(t, requireAssembles(t, text, "sm_90a"), "C75")
	}
}

// A thread stores the same elements wherever stores are of one layout along the same axes: steps of a loop that does several at a time wait for no barrier. Where what was stored is
// read, they do.
func TestStoresOfOwnElements(t *testing.T) {
	const text = `kernel @k {
  dim L = ?
  dim D = 512
  tensor %%x : in f32[L, D] align 16
  tensor %%y : %s f32[L, D] align 16
  axis d : whole D[0 .. 512]
body:
  %%0 = const 0 : i32
  %%1 = size L : i32
  %%3 = index d : i32{d}
  %%4 = const 1 : i32
  for from %%0 to %%1 pos %%5 {
    %%6 = load %%x[%%5, %%3] : f32{d}
    %%7 = mod %%5, %%4 : i32
    store %%y[%%5, %%3] = %%6
    store %%y[%%7, %%3] = %%6
%s  }
}
`
	barriers := func(mode, more string) int {
		m := compile(t, parse(t, fmt.Sprintf(text, mode, more)), &plan.Plan{Extents: map[string]int64{}, Warps: 4, Stages: 1}, "sm_90a")
		return strings.Count(m.Text, "bar.sync")
	}
	require.Zero(t, barriers("out", ""))
	require.NotZero(t, barriers("inout", "    %8 = load %y[%0, %3] : f32{d}\n    store %y[%7, %3] = %8\n"))

	// A product lies in registers as no loaded tile does.
	stores := func(second string) int {
		m := compile(t, parse(t, `kernel @k {
  dim M = 64
  dim N = 64
  tensor %x : in f16[M, N] align 16
  tensor %z : in f32[M, N] align 16
  tensor %y : out f32[M, N] align 16
  axis i : whole M[0 .. 64]
  axis j : whole N[0 .. 64]
  axis k : whole N[0 .. 64]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %x[%0, %2] : f16{i, k}
  %4 = load %x[%1, %2] : f16{j, k}
  %5 = dot %3, %4 over k : f32{i, j}
  %6 = load %z[%0, %1] : f32{i, j}
  store %y[%0, %1] = %5
  store %y[%0, %1] = `+second+`
}
`), &plan.Plan{Extents: map[string]int64{}, Warps: 4, Stages: 1}, "sm_80")
		return strings.Count(m.Text, "bar.sync")
	}
	require.Equal(t, stores("%5")+1, stores("%6"))
}
