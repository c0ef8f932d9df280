package ptx

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/plan"
)

// cachedAttention is attention of std/nn: S queries against a cache of P positions, in which they begin at start[b].
const cachedAttention = `kernel @attention {
  dim B = ?
  dim S = ?
  dim H = 2
  dim D = 64
  dim P = ?
  tensor %q : in bf16[B, S, H, D] align 16
  tensor %k : in bf16[B, H, P, D] align 16
  tensor %v : in bf16[B, H, P, D] align 16
  tensor %start : in i32[B] align 16
  tensor %o : out bf16[B, S, H, D] align 16
  scalar %0 scale : f32
  axis b : grid scalar B
  axis h : grid scalar H
  axis i : grid S by BM = ?
  axis d : whole D[0 .. 64]
  axis e : whole D[0 .. 64]
  axis j : loop P by BN = ?
body:
  %1 = start b : i32
  %2 first = load %start[%1] : i32
  %4 = index i : i32{i}
  %5 = start h : i32
  %6 = index d : i32{d}
  %7 qi = load %q[%1, %4, %5, %6] : bf16{i, d}
  %8 = const 0 : i32
  %9 = end i : i32
  %10 = add %2, %9 : i32
  %11 = size P : i32
  %12 = min %10, %11 : i32
  %13 = const -inf : f32
  %14 = full %13 : f32{i}
  %15 = const 0 : f32
  %16 = full %15 : f32{i}
  %18 = full %15 : f32{i, e}
  %32 = add %2, %4 : i32{i}
  %53 = index e : i32{e}
  %57, %58 l, %59 acc = for j from %8 to %12 with (%20 m = %14, %21 l = %16, %22 acc = %18) pos %19 : (f32{i}, f32{i}, f32{i, e}) {
    %25 = index j : i32{j}
    %27 = load %k[%1, %5, %25, %6] : bf16{j, d}
    %28 = dot %7, %27 over d : f32{i, j}
    %29 s = mul %28, %0 : f32{i, j}
    %33 = le %25, %32 : bool{j, i}
    %35 s = where %33, %29, %13 : f32{j, i}
    %36 = reduce_max %35 over j : f32{i}
    %37 m2 = max %20, %36 : f32{i}
    %39 = eq %37, %13 : bool{i}
    %41 u = where %39, %15, %37 : f32{i}
    %42 = sub %35, %41 : f32{j, i}
    %43 p = exp %42 : f32{j, i}
    %44 = sub %20, %41 : f32{i}
    %45 r = exp %44 : f32{i}
    %46 = mul %21, %45 : f32{i}
    %47 = sum %43 over j : f32{i}
    %48 = add %46, %47 : f32{i}
    %49 = cast %43 : bf16{j, i}
    %54 = load %v[%1, %5, %25, %53] : bf16{j, e}
    %55 = mul %22, %45 : f32{i, e}
    %56 = mma %49, %54, %55 over j : f32{i, e}
    yield %37, %48, %56
  }
  %64 = div %59, %58 : f32{i, e}
  %65 = cast %64 : bf16{i, e}
  store %o[%1, %4, %5, %53] = %65
}
`

// attentionPlans are plans for attention as the planner chooses them for long rows.
var attentionPlans = []plan.Plan{
	{Extents: map[string]int64{"i": 64, "j": 64}, Warps: 4, Stages: 3},
	{Extents: map[string]int64{"i": 128, "j": 128}, Warps: 8, Stages: 2},
	{Extents: map[string]int64{"i": 128, "j": 64}, Warps: 8, Stages: 3},
}

var scaleBits = uint64(math.Float32bits(0.125))

func TestCachedAttention(t *testing.T) {
	for _, p := range attentionPlans {
		t.Run(p.String(), func(t *testing.T) {
			differ(t, parse(t, cachedAttention), p, map[string]int64{"B": 2, "S": 130, "P": 300}, 1.0/64, 150, scaleBits)
		})
	}
}

// loopsOf are the bodies of the loops of a text, outer ones with those inside.
func loopsOf(text string) []string {
	var loops []string
	for _, m := range regexp.MustCompile(`(?m)^(\$L\d+):$`).FindAllStringSubmatchIndex(text, -1) {
		behind := text[m[1]:]
		if end := regexp.MustCompile(`(?m)bra(\.uni)? +` + regexp.QuoteMeta(text[m[2]:m[3]]) + `;`).FindStringIndex(behind); end != nil {
			loops = append(loops, behind[:end[0]])
		}
	}
	return loops
}

// Warps that compute do not wait for each other at each step of a loop whose operands come through a ring.
func TestRingLoopsHaveNoBarrierOfTheBlock(t *testing.T) {
	check := func(t *testing.T, f *ir.Func, p plan.Plan) {
		text := compile(t, f, &p, "sm_90a").Text
		rings := 0
		for _, body := range loopsOf(text) {
			if strings.Contains(body, "wgmma.mma_async") && strings.Contains(body, "mbarrier.try_wait") {
				rings++
				require.False(t, regexp.MustCompile(`(?m)^ +bar\.sync +0`).MatchString(body), p.String())
			}
		}
		require.NotZero(t, rings, p.String())
	}
	for _, p := range attentionPlans {
		check(t, parse(t, cachedAttention), p)
		check(t, example(t, "attention"), p)
	}
	for _, c := range wideProducts {
		if c.stages < 2 || c.tile[0] < 64 {
			continue
		}
		d, _, mixed := strings.Cut(c.d, " ")
		if mixed || d[0] == 'i' || d[0] == 'u' || strings.HasPrefix(d, "f8") { // rows of bytes in these sizes are none that boxes take
			continue
		}
		f := aligned(parse(t, productText(d, "f32", "", c.transposed)))
		check(t, f, plan.Plan{Extents: map[string]int64{"i": c.tile[0], "j": c.tile[1], "k": c.tile[2]}, Warps: c.warps, Stages: c.stages, Wgmma: block.WgmmaAlways})
	}
}
