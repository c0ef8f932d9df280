package cpu

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/lang"
)

// TestExtentsChangeNothing runs the IR's example programs with blocks of many
// sizes: the sizes are the planner's choice, so the results must be the same
// bits; where a contraction is among the operations, the same but for its
// order of summation.
func TestExtentsChangeNothing(t *testing.T) {
	files, err := filepath.Glob("../ir/testdata/*.tir")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		t.Run(strings.TrimSuffix(filepath.Base(file), ".tir"), func(t *testing.T) {
			first, contracts := runText(t, string(text), 1)
			for _, extent := range []int64{3, 16, 1000} {
				got, _ := runText(t, string(text), extent)
				require.Len(t, got, len(first))
				for i := range got {
					bound := 0.0
					if contracts { // an ulp of bf16, to which neighbours may round
						bound = math.Ldexp(max(1, math.Abs(first[i])), -7)
					}
					require.LessOrEqual(t, math.Abs(got[i]-first[i]), bound, "element %d with extent %d", i, extent)
				}
			}
		})
	}
}

// runText runs a program on repeatable inputs, with one extent for every axis that has none.
func runText(t *testing.T, text string, extent int64) (out []float64, contracts bool) {
	f, err := ir.Parse("test", text)
	require.NoError(t, err)
	for _, a := range f.Axes {
		if a.Extent == 0 {
			a.Extent = extent
		}
	}
	f.Walk(func(op *ir.Op) bool {
		contracts = contracts || op.Code.Row().Group == lang.GroupContract
		return true
	})
	whole := map[*ir.Dim]bool{}
	for _, a := range f.Axes {
		whole[a.Dim] = whole[a.Dim] || a.Kind == ir.Whole
	}
	for _, d := range f.Dims { // sizes that no tile depends on need not be real ones
		if !whole[d] && d.Value > 60 {
			d.Value = 60
		}
	}
	p, err := Compile(f)
	require.NoError(t, err)
	var args Args
	size := map[*ir.Dim]int{}
	for i, d := range f.Dims {
		size[d] = int(d.Value)
		if !d.Known() {
			size[d] = (5 + 2*i) * int(d.Multiple())
			args.Dims = append(args.Dims, int64(size[d]))
		}
	}
	var r noise
	for range f.Scalars {
		args.Scalars = append(args.Scalars, 0x3e000000) // 0.125
	}
	for _, x := range f.Tensors {
		require.Nil(t, x.Strides)
		n := 1
		for _, d := range x.Shape {
			n *= size[d]
		}
		var data []byte
		for range n {
			if x.DType.IsFloat() {
				data = append(data, encode(x.DType, num{f: formats[x.DType].round(r.float())})...)
			} else {
				data = append(data, encode(x.DType, num{i: bigInt(r.below(8))})...)
			}
		}
		args.Tensors = append(args.Tensors, data)
	}
	require.NoError(t, p.Run(args))
	for i, x := range f.Tensors {
		if x.Mode == lang.In {
			continue
		}
		for b := args.Tensors[i]; len(b) > 0; b = b[x.DType.Size():] {
			v := decode(x.DType, b).f
			require.False(t, v != v, "%s has NaN", x.Name)
			out = append(out, v)
		}
	}
	return out, contracts
}
