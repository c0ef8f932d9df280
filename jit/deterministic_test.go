package jit_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/stdlib"
	"tilec/typecheck/typed"
)

// A deterministic launch of any number of rows, up to SameRows, is of one code: its plan and its text are those of SameRows rows.
func TestDeterministicCodeIsOfNoNumberOfRows(t *testing.T) {
	sweep.Once(t)
	var kernels []*typed.Kernel
	for _, file := range []string{"nn.tile", "sample.tile"} {
		source, err := stdlib.FS.ReadFile(file)
		require.NoError(t, err)
		program, problems := jit.Load("std/"+file, source, nil)
		require.Empty(t, problems)
		kernels = append(kernels, program.Kernels...)
	}
	differ := 0
	for _, machine := range []string{"sm_80", "sm_90a", "cpu"} {
		to, err := target.Find(machine)
		require.NoError(t, err)
		for _, k := range kernels {
			var rows []string
			switch k.Name {
			case "linear", "head", "layernorm":
				rows = []string{"M"}
			case "attention":
				rows = []string{"B", "S"}
			case "embedding": // which adds nothing up along S, the dimension of an id in its row
				rows = []string{"B"}
			case "keep_likeliest", "weigh_parts", "draw":
				rows = []string{"B"}
			}
			for _, row := range rows {
				code := func(n int64, deterministic bool) string {
					dims := map[string]int64{row: n}
					if row == "S" {
						dims["B"] = 1
					}
					if row == "B" {
						dims["S"] = 1
					}
					s, err := jit.Specialise(k, jit.Options{Dims: dims, Types: map[string]lang.DType{"T": lang.BF16}, Deterministic: deterministic})
					require.NoError(t, err)
					l, err := compile.Lower(s, to, nil)
					require.NoError(t, err)
					text := l.Plan.String() + "\n" + l.Func.String()
					if deterministic && to.IsGPU() {
						assert.Equal(t, int64(1), l.Plan.Setting("words"), "a row's sums follow where in a word it begins")
					}
					if to.IsGPU() {
						ptx, err := l.PTX()
						require.NoError(t, err)
						text += ptx
					}
					return text
				}
				want, free := code(jit.SameRows, true), code(jit.SameRows, false)
				for _, n := range []int64{1, 2, 4, 5, 33} {
					assert.True(t, want == code(n, true), fmt.Sprintf("%s for %s, %s = %d", k.Name, machine, row, n))
					if code(n, false) != free {
						differ++
					}
				}
			}
		}
	}
	require.NotZero(t, differ, "otherwise there is other code for few rows")
}

// Which launches become one does not depend on the number of rows either.
func TestDeterministicFusionIsOfNoNumberOfRows(t *testing.T) {
	sweep.Once(t)
	device, err := jit.OpenEmulator("sm_80")
	require.NoError(t, err)
	compiler := jit.NewCompiler(device, nil)
	program, problems := jit.Load("rows.tile", []byte(`import "std/nn"
graph g(x: bf16[M, 64], w: bf16[64, 32]) -> y: bf16[M, 32] { y = linear(x * 2.0, w) }
`), nil)
	require.Empty(t, problems)
	launches := func(rows int64, deterministic bool) string {
		text := ""
		var args []jit.Value
		for _, shape := range [][]int64{{rows, 64}, {64, 32}} {
			x := &jit.Tensor{DType: lang.BF16, Shape: shape}
			x.Memory, err = device.Alloc(x.Bytes())
			require.NoError(t, err)
			defer device.Free(x.Memory)
			args = append(args, jit.TensorValue(x))
		}
		p, err := compiler.BindGraph(graphNamed(t, program, "g"), args,
			jit.Options{Deterministic: deterministic, Dump: func(_ string, after lang.Listing) { text = after.String() }})
		require.NoError(t, err)
		p.Close()
		return regexp.MustCompile(`\[[0-9, ]*\]`).ReplaceAllString(text, "")
	}
	many := launches(64, true)
	require.NotEqual(t, launches(64, false), launches(1, false), "otherwise few rows are fused in another way")
	for _, rows := range []int64{1, 2, 4, 5, 33} {
		require.Equal(t, many, launches(rows, true), "%d rows", rows)
	}
}
