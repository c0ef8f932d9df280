package ptx

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/plan"
	"tilec/lang"
)

// wide asks for wgmma.
func Wgmma(f *ir.Func) *ir.Func {
	if f.Hints == nil {
		f.Hints = map[string]int64{}
	}
	f.Hints["wgmma"] = 1
	return f
}

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
}

// wgmma transposes no bytes, and takes fewer widths of them: mma.sync takes the others.
func TestWgmmaOfBytesNeedsTheDepthContiguous(t *testing.T) {
	for _, c := range []struct {
		transposed bool
		columns    int64
		wide       bool
	}{{true, 128, true}, {false, 128, false}, {true, 40, false}, {true, 32, true}} {
		p := plan.Plan{Extents: map[string]int64{"i": 64, "j": c.columns, "k": 64}, Warps: 4, Stages: 3}
		text := compile(t, aligned(Wgmma(parse(t, productText("i8", "i32", "", c.transposed)))), &p, "sm_90a").Text
		require.Equal(t, c.wide, strings.Contains(text, "wgmma"), c)
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
	for _, c := range wideProducts {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			p := plan.Plan{Extents: map[string]int64{"i": c.tile[0], "j": c.tile[1], "k": c.tile[2]}, Warps: c.warps, Stages: c.stages}
			a, b, mixed := strings.Cut(c.d, " ")
			d, _ := lang.ParseDType(a)
			text := productText(a, d.Accumulator().String(), "", c.transposed)
			if mixed {
				text = strings.NewReplacer("%b : in "+a, "%b : in "+b, a+"{j, k}", b+"{j, k}").Replace(text)
			}
			f := aligned(Wgmma(parse(t, text)))
			tolerance := 1e-4
			if d.IsInt() {
				tolerance = 0
			}
			differ(t, f, p, map[string]int64{"M": 70, "N": max(72, c.tile[1]+8), "K": 136}, tolerance, 100)
			m := compile(t, f, &p, "sm_90a")
			require.Contains(t, m.Text, "wgmma.mma_async")
			require.NotContains(t, requireAssembles(t, m.Text, "sm_90a"), "C75")
		})
	}
}

func TestWgmmaAttention(t *testing.T) {
	for _, e := range []plan.Plan{
		{Extents: map[string]int64{"i": 64, "j": 64}, Warps: 4, Stages: 2},
		{Extents: map[string]int64{"i": 128, "j": 32}, Warps: 4, Stages: 3},
	} {
		t.Run(e.String(), func(t *testing.T) {
			f := Wgmma(example(t, "attention"))
			differ(t, f, e, map[string]int64{"B": 1, "S": 150}, 1.0/64, 0, uint64(math.Float32bits(0.125)))
			m := compile(t, f, &e, "sm_90a")
			require.Contains(t, m.Text, "wgmma.mma_async")
			require.NotContains(t, requireAssembles(t, m.Text, "sm_90a"), "C75")
		})
	}
}
