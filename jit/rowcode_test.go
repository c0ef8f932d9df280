package jit

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/compile"
	"tilec/jit/cuda"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/stdlib"
	"tilec/typecheck/typed"
)

// machineCode gives the instructions of a kernel as ptxas makes them for sm_90a, each with its operands, and skips the test where there
// is no assembler or no disassembler beside it.
func machineCode(t *testing.T, ptx string) []string {
	t.Helper()
	assembler, err := cuda.FindAssembler()
	if errors.Is(err, cuda.ErrNoAssembler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	disassembler, err := exec.LookPath("nvdisasm")
	if err != nil {
		if disassembler = filepath.Join(filepath.Dir(os.Getenv(cuda.AssemblerVariable)), "nvdisasm"); os.Getenv(cuda.AssemblerVariable) == "" {
			t.Skip("no nvdisasm in PATH")
		}
		if _, err := os.Stat(disassembler); err != nil {
			t.Skip("no nvdisasm beside the assembler: ", err)
		}
	}
	code, _, err := assembler.Compile(context.Background(), []byte(ptx), "sm_90a", cuda.CompileOptions{})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "kernel.cubin")
	require.NoError(t, os.WriteFile(file, code, 0o600))
	text, err := exec.Command(disassembler, "-c", file).Output()
	require.NoError(t, err)
	var instructions []string
	for _, m := range instruction.FindAllStringSubmatch(string(text), -1) {
		if !strings.HasPrefix(m[1], "NOP") {
			instructions = append(instructions, m[1])
		}
	}
	require.NotEmpty(t, instructions)
	return instructions
}

var (
	instruction = regexp.MustCompile(`/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P[0-9T]+\s+)?([A-Z][^;]*);`)
	slowWay     = regexp.MustCompile(`^(CALL|FCHK)`)
)

// How many instructions kernels of rows have: golden figures of ptxas 12.4, an element of the row counted for each of the forms of code that a kernel has
// (one for blocks all of whose rows exist, one for the others). More than a twentieth above is a form that was lost; far below, write
// the figure anew. Where what is computed is rounded to bf16, nothing has a slow way.
func TestRowsTakeFewInstructions(t *testing.T) {
	sweep.Once(t)
	for _, c := range []struct {
		file, kernel string
		d            lang.DType
		dims         map[string]int64
		// elements are those of a thread, in all forms of the code; most is instructions for each.
		elements int
		most     float64
		slow     bool
	}{
		{"nn.tile", "softmax", lang.BF16, map[string]int64{"M": 8192, "N": 768}, 2 * 48, 9.2, false},
		{"nn.tile", "softmax", lang.F16, map[string]int64{"M": 8192, "N": 768}, 2 * 24, 15.7, false},
		{"nn.tile", "softmax", lang.F32, map[string]int64{"M": 8192, "N": 768}, 2 * 24, 38.7, true},
		{"nn.tile", "softmax", lang.BF16, map[string]int64{"M": 65536, "N": 1024}, 2 * 32, 9.1, false},
		{"nn.tile", "layernorm", lang.BF16, map[string]int64{"M": 8192, "N": 768}, 2 * 48, 11.9, false},
		{"nn.tile", "layernorm", lang.F32, map[string]int64{"M": 8192, "N": 768}, 2 * 48, 9.9, false},
		{"math.tile", "gelu_map", lang.BF16, map[string]int64{"M": 65536, "N": 1024}, 8, 13.9, false},
		{"math.tile", "gelu_map", lang.F32, map[string]int64{"M": 65536, "N": 1024}, 4, 38, false},
	} {
		t.Run(c.kernel+" "+c.d.String(), func(t *testing.T) {
			text, err := stdlib.FS.ReadFile(c.file)
			require.NoError(t, err)
			program, ds := Load("std/"+c.file, text, nil)
			require.Empty(t, ds)
			at := slices.IndexFunc(program.Kernels, func(k *typed.Kernel) bool { return k.Name == c.kernel })
			require.GreaterOrEqual(t, at, 0)
			s, err := Specialise(program.Kernels[at], Options{Dims: c.dims, Types: map[string]lang.DType{"T": c.d}})
			require.NoError(t, err)
			m, err := target.Find("sm_90a")
			require.NoError(t, err)
			l, err := compile.Lower(s, m, nil)
			require.NoError(t, err)
			ptx, err := l.PTX()
			require.NoError(t, err)
			code := machineCode(t, ptx)
			each := float64(len(code)) / float64(c.elements)
			t.Logf("%.1f instructions an element: %s", each, l.Plan)
			assert.LessOrEqual(t, each, 1.05*c.most, "%s", l.Plan)
			assert.GreaterOrEqual(t, each, 0.7*c.most, "%s", l.Plan)
			slow := 0
			for _, i := range code {
				if slowWay.MatchString(i) {
					slow++
				}
			}
			assert.Equal(t, c.slow, slow > 0, "slow ways of divisions and roots")
		})
	}
}
