package block

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/target"
	"tilec/lang"
)

var update = flag.Bool("update", false, "write the golden files anew")

// examples are the IR's example kernels with extents and settings.
var examples = []struct {
	name     string
	extents  map[string]int64
	settings Settings
}{
	{"add", map[string]int64{"i": 1024}, Settings{Warps: 4, Stages: 1}},
	{"softmax", map[string]int64{"i": 4}, Settings{Warps: 4, Stages: 1}},
	{"layernorm", map[string]int64{"i": 2}, Settings{Warps: 4, Stages: 1}},
	{"embed", map[string]int64{"s": 4, "c": 256}, Settings{Warps: 4, Stages: 1}},
	{"linear_gelu", map[string]int64{"i": 128, "j": 128, "k": 64}, Settings{Warps: 8, Stages: 4}},
	{"attention", map[string]int64{"i": 64, "j": 64}, Settings{Warps: 4, Stages: 3}},
	{"step", map[string]int64{"i": 1, "j": 32}, Settings{Warps: 8, Stages: 1}}, // whose warps share the depth
}

// decide decides an example for a machine.
func decide(t *testing.T, n int, machine string) *Program {
	t.Helper()
	e := examples[n]
	text, err := os.ReadFile(filepath.Join("testdata", e.name+".tir"))
	if err != nil {
		text, err = os.ReadFile(filepath.Join("..", "ir", "testdata", e.name+".tir"))
	}
	require.NoError(t, err)
	return decided(t, string(text), e.extents, e.settings, machine)
}

// What is decided of the example kernels, for a machine with wgmma and the TMA and for one without.
func TestDecisionsAreThoseOfTheGoldenFiles(t *testing.T) {
	for _, machine := range []string{"sm_80", "sm_90a"} {
		text := ""
		for n := range examples {
			text += decide(t, n, machine).String() + "\n"
		}
		file := filepath.Join("testdata", machine+".txt")
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), text, machine)
	}
}

// Whoever decides again decides the same.
func TestDecisionsArePure(t *testing.T) {
	for n, e := range examples {
		first := decide(t, n, "sm_90a").String()
		for range 5 {
			require.Equal(t, first, decide(t, n, "sm_90a").String(), e.name)
		}
	}
}

// Every element of every value has a register in some thread, and every operand of a product fits its tile.
func TestHomesHoldEveryElement(t *testing.T) {
	for _, machine := range []string{"sm_80", "sm_89", "sm_90a"} {
		for n, e := range examples {
			p := decide(t, n, machine)
			for v, l := range p.Homes {
				require.Equal(t, p.Warps, l.Warps(), "%s of %s", ValueName(v), e.name)
				require.Equal(t, layout.Lanes, layout.Product(l.Lane))
				for _, a := range v.Type.Axes {
					require.GreaterOrEqual(t, l.Physical(a), int(a.Extent), "%s of %s along %s: %s", ValueName(v), e.name, a.Name, l)
				}
			}
			for op, c := range p.Products {
				for arg, tile := range c.Tiles {
					for i, a := range tile.Axes {
						require.GreaterOrEqual(t, tile.Extents[i], int(a.Extent), "operand %d of %s in %s", arg, op.Code, e.name)
					}
					if c.MMA == nil {
						continue
					}
					for _, a := range op.Args[arg].Type.Axes {
						require.GreaterOrEqual(t, c.FragmentLayout(arg).Physical(a), int(a.Extent), "operand %d of %s in %s", arg, op.Code, e.name)
					}
				}
			}
			for _, x := range p.Pipelines {
				require.Less(t, x.Ahead, x.Stages)
				require.Positive(t, x.Bytes())
				for _, c := range x.Copies {
					require.Equal(t, x.Produced, c.Box != nil, "a warp of its own copies boxes alone")
				}
			}
		}
	}
}

// Settings and extents that no block can have are refused.
func TestDecideRefuses(t *testing.T) {
	m, err := target.Find("sm_80")
	require.NoError(t, err)
	f := decide(t, 0, "sm_80").Func
	_, err = Decide(f, Settings{Warps: 33, Stages: 1}, m)
	require.EqualError(t, err, "plan has 33 warps, a block has 1 to 32")
	f.Axes[0].Extent = 0
	_, err = Decide(f, Settings{Warps: 4, Stages: 1}, m)
	require.EqualError(t, err, "axis i has no extent; apply the plan first")
}

// Rows begin at multiples of 16 bytes, whatever their length, so that one access moves 16 bytes of any of them.
func TestRowsOfTilesAreWholeVectors(t *testing.T) {
	row, column := &ir.Axis{Name: "i"}, &ir.Axis{Name: "j"}
	for _, d := range []lang.DType{lang.I8, lang.BF16, lang.F32, lang.F64} {
		for length := 2; length <= 40; length++ {
			tile := NewTile(d, []*ir.Axis{column, row}, []int{length, 4}, true)
			assert.GreaterOrEqual(t, tile.Extents[0], length)
			assert.Equal(t, 16/d.Size(), tile.Vector(), "%d of %v", length, d)
			assert.Zero(t, tile.RowBytes()%16, "%d of %v", length, d)
		}
	}
}
