package ptx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/block"
	"tilec/jit/jittest/sweep"
	"tilec/jit/plan"
)

// Products of bytes with each operand along the depth and across it.
func TestByteProducts(t *testing.T) {
	number := 0
	for _, d := range []struct{ a, b string }{{"i8", "i8"}, {"u8", "u8"}, {"u8", "i8"}} {
		for _, across := range []struct{ a, b bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
			for _, c := range []struct {
				m, n, k int64
				tile    [3]int64
				warps   int
				pure    bool // the tiles are large enough for ldmatrix
			}{
				{64, 64, 64, [3]int64{32, 32, 32}, 4, true},
				{80, 176, 112, [3]int64{64, 128, 64}, 8, true},
				{33, 50, 40, [3]int64{16, 48, 96}, 2, true}, // a third of a warp's columns
				{7, 64, 64, [3]int64{4, 64, 64}, 4, false},  // few rows: the columns play them
				{30, 20, 50, [3]int64{12, 10, 20}, 4, true}, // part of a tile
				{20, 9, 33, [3]int64{20, 3, 5}, 1, false},
			} {
				if number++; number%sweep.OneIn(5) > 1 { // of six shapes two of each pair of types, in turn
					continue
				}
				name := fmt.Sprintf("%v/across=%v,%v/%dx%dx%d", d, across.a, across.b, c.m, c.n, c.k)
				t.Run(name, func(t *testing.T) {
					text := productText(d.a, "i32", "", !across.b)
					text = strings.NewReplacer("%b : in "+d.a, "%b : in "+d.b, d.a+"{j, k}", d.b+"{j, k}", d.a+"{k, j}", d.b+"{k, j}").Replace(text)
					if across.a {
						text = strings.NewReplacer("[M, K]", "[K, M]", "%a[%0, %8]", "%a[%8, %0]", "{i, k}", "{k, i}").Replace(text)
					}
					f := parse(t, text)
					for _, dim := range f.Dims {
						if size := map[string]int64{"M": c.m, "N": c.n, "K": c.k}[dim.Name]; size%16 == 0 {
							dim.Divisor = 16 // so that loads may run ahead
						}
					}
					p := plan.Plan{Extents: map[string]int64{"i": c.tile[0], "j": c.tile[1], "k": c.tile[2]}, Warps: c.warps, Stages: 3, Wgmma: block.WgmmaNever}
					differ(t, f, p, map[string]int64{"M": c.m, "N": c.n, "K": c.k}, 0, 100)
					for _, target := range []string{"sm_80", "sm_90a"} {
						ptx := compile(t, f, &p, target).Text
						require.Contains(t, ptx, "mma.sync.aligned.m16n8k32")
						if c.pure {
							product, _, _ := strings.Cut(ptx, "// store c")
							require.NotContains(t, product, "ld.shared", "an operand is read element by element")
							require.Equal(t, across.a || across.b, strings.Contains(ptx, ".trans"))
						}
						requireAssembles(t, ptx, target)
					}
				})
			}
		}
	}
}
