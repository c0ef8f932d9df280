package jit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/compile"
	"tilec/jit/cuda"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/stdlib"
)

var spilled = regexp.MustCompile(`(\d+) bytes spill stores, (\d+) bytes spill loads`)

// knownSpill is what ptxas 12.4 and 13.0 spill at worst, in bytes a thread: linear kernels
// of f32, whose second operand is read element by element (ldmatrix cannot
// transpose 32-bit elements) so that the assembler hoists loads until registers
// run out; attention with 4 warps spills 8. More than that is a layout gone wrong.
const knownSpill = 64

// Every kernel of the standard library assembles for every target, at its own
// @sizes (with knownSpill at most) and at odd ones.
func TestStandardLibraryAssembles(t *testing.T) {
	sweep.Once(t)
	assembler, err := cuda.FindAssembler()
	if errors.Is(err, cuda.ErrNoAssembler) {
		if os.Getenv(cuda.AssemblerVariable) != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	require.NoError(t, err)
	files, err := stdlib.FS.ReadDir(".")
	require.NoError(t, err)
	var machines []string
	for _, m := range target.GPUs() {
		// An assembler that is older than a machine cannot know it.
		empty := fmt.Sprintf(".version %d.%d\n.target %s\n.address_size 64\n", m.PTX/10, m.PTX%10, m.Name)
		if _, _, err := assembler.Compile(context.Background(), []byte(empty), m.Name, cuda.CompileOptions{}); err != nil {
			t.Logf("%s does not know %s", assembler.Version(), m.Name)
			continue
		}
		if m.Name != "sm_86" && m.Name != "sm_89" { // they have the instructions of sm_80
			machines = append(machines, m.Name)
		}
	}
	require.GreaterOrEqual(t, len(machines), 2)
	for _, entry := range files {
		file := entry.Name()
		text, err := stdlib.FS.ReadFile(file)
		require.NoError(t, err)
		program, ds := Load("std/"+file, text, nil)
		require.Empty(t, ds)
		for _, k := range program.Kernels {
			if k.Decl.Name.Place.Source.Path != "std/"+file {
				continue // imported: it has its turn with its own file
			}
			odd := map[string]int64{}
			for _, times := range []int64{1, 2, 128} { // the kernel assumes that a dimension is even, as rope does, or has whole groups of 128, as int4_linear
				for n, d := range k.Dims {
					odd[d.Name] = times * []int64{5, 17, 129, 31, 3}[n%5]
				}
				if _, err := Specialise(k, Options{Dims: odd, Types: map[string]lang.DType{"T": lang.F32}}); err == nil {
					break
				}
			}
			for _, machine := range machines {
				for i, d := range []lang.DType{lang.F32, lang.F16, lang.BF16} {
					if i%sweep.OneIn(2) == 1 { // f16 takes what bf16 takes
						continue
					}
					for name, dims := range map[string]map[string]int64{"sizes": nil, "odd": odd} {
						if name == "odd" && d == lang.F16 {
							continue // differs from bf16 in an instruction's name only
						}
						if len(k.TypeParams) == 0 && d != lang.F32 {
							continue // has no types to choose
						}
						t.Run(fmt.Sprintf("%s/%s/%s/%s", k.Name, machine, d, name), func(t *testing.T) {
							t.Parallel()
							to, err := target.Find(machine)
							require.NoError(t, err)
							s, err := Specialise(k, Options{Dims: dims, Types: map[string]lang.DType{"T": d}})
							require.NoError(t, err)
							l, err := compile.Lower(s, to, nil)
							require.NoError(t, err)
							ptx, err := l.PTX()
							require.NoError(t, err)
							_, log, err := assembler.Compile(context.Background(), []byte(ptx), machine, cuda.CompileOptions{Verbose: true})
							require.NoError(t, err, "%s", l.Plan)
							if name == "sizes" {
								figures := spilled.FindStringSubmatch(log)
								require.NotNil(t, figures, log)
								for _, f := range figures[1:] {
									n, err := strconv.Atoi(f)
									require.NoError(t, err)
									assert.LessOrEqual(t, n, knownSpill, "%s: %s", l.Plan, log)
								}
							}
						})
					}
				}
			}
		}
	}
}
