package jit_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/block"
	"tilec/jit/bug"
	"tilec/jit/compile"
	"tilec/jit/ir"
	"tilec/jit/jittest/sweep"
	"tilec/jit/ptx"
	"tilec/jit/spec"
	"tilec/jit/target"
	"tilec/stdlib"
)

// specs are specialisations of the kernels of the standard library that say their sizes.
func specs(t *testing.T) map[string]*spec.Spec {
	all := map[string]*spec.Spec{}
	files, err := fs.Glob(stdlib.FS, "*.tile")
	require.NoError(t, err)
	for _, file := range files {
		text, err := stdlib.FS.ReadFile(file)
		require.NoError(t, err)
		p, ds := jit.Load("std/"+file, text, nil)
		require.NoError(t, ds.Err())
		for _, k := range p.Kernels {
			s, err := jit.Specialise(k, jit.Options{})
			if err != nil {
				continue // it has no @sizes
			}
			for i, launch := range s.Launches() {
				all[fmt.Sprintf("%s/%s/%d", file, k.Name, i)] = launch
			}
		}
	}
	require.Greater(t, len(all), 20)
	return all
}

// From every form that a kernel has, as text, the compiler goes on to the end; from the last one to the same code.
func TestGoesOnFromAnyIR(t *testing.T) {
	sweep.Once(t)
	for name, s := range specs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, machine := range []string{"sm_90a", "sm_80", "cpu"} {
				to, err := target.Find(machine)
				require.NoError(t, err)
				if len(s.Kernel.SplitsOn(to.Name)) > 0 && !to.Has(target.Clusters) && to.IsGPU() {
					continue
				}
				direct, err := compile.Lower(s, to, nil)
				if err != nil {
					continue
				}
				forms, err := compile.Forms(s, to)
				require.NoError(t, err)
				require.Greater(t, len(forms), 1)
				if sweep.OneIn(2) > 1 && len(forms) > 3 { // the first, and the last two
					forms = append(forms[:1:1], forms[len(forms)-2:]...)
				}
				sizes := map[string]int64{}
				for _, d := range s.Kernel.Dims {
					sizes[d.Name] = s.Dims[d]
				}
				for i, form := range forms {
					// As --dump-after prints it, among others.
					text := fmt.Sprintf("// ir: %s, after %s\n%s\n", form.Func.Name, form.Pass, form.Func)
					kernels, err := ir.ParseAll("dump", text+text)
					require.NoError(t, err)
					require.Len(t, kernels, 2)
					pins := map[string]int64{}
					if form.Pass == "plan" && to.IsGPU() {
						pins["warps"], pins["stages"] = int64(direct.Plan.Warps), int64(direct.Plan.Stages)
						pins["persist"] = int64(direct.Plan.Persist)
						if n := direct.Plan.Resident; n > 0 && direct.Plan.Persist == 0 { // what the code was held to
							pins["occupancy"] = int64(n)
						}
					}
					l, err := compile.LowerIR(kernels[1], to, sizes, pins, nil)
					require.NoError(t, err, "%s after %q, number %d:\n%s", to.Name, form.Pass, i, form.Func)
					if form.Pass == "plan" {
						assert.Equal(t, renumbered(direct.Func.String()), renumbered(l.Func.String()), to.Name)
						if to.IsGPU() {
							assert.Equal(t, code(t, direct), code(t, l), to.Name)
						}
					}
				}
			}
		})
	}
}

// renumbered is IR with its values numbered in order: what is made anew has other numbers.
func renumbered(text string) string {
	numbers := map[string]string{}
	return regexp.MustCompile(`%[0-9]+`).ReplaceAllStringFunc(text, func(v string) string {
		if numbers[v] == "" {
			numbers[v] = fmt.Sprintf("%%%d", len(numbers))
		}
		return numbers[v]
	})
}

// The text of a block program becomes the code of the kernel that it was printed of, whatever was pinned.
func TestGoesOnFromBlockPrograms(t *testing.T) {
	for name, s := range specs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, machine := range []string{"sm_90a", "sm_80"} {
				to, err := target.Find(machine)
				require.NoError(t, err)
				for _, pins := range []map[string]int64{nil, {"occupancy": 2}, {"persist": 1}} {
					if sweep.OneIn(2) > 1 && machine == "sm_80" && pins != nil {
						continue
					}
					pinned := *s
					pinned.Pins = pins
					direct, err := compile.Lower(&pinned, to, nil)
					if err != nil {
						continue // it has no plan there
					}
					decided, err := direct.BlockProgram()
					require.NoError(t, err)
					text := decided.String()
					programs, err := block.ParseAll("printed", "// block: "+name+"\n"+text+text)
					require.NoError(t, err)
					require.Len(t, programs, 2)
					for _, p := range programs {
						m, err := ptx.Write(p)
						require.NoError(t, err)
						assert.Equal(t, code(t, direct), codeOf(m.Text), "%s with %v", machine, pins)
						assert.Equal(t, text, p.String())
					}
				}
			}
		})
	}
}

// code is PTX without what says where it comes from.
func code(t *testing.T, l *compile.Lowered) string {
	text, err := l.PTX()
	require.NoError(t, err)
	return codeOf(text)
}

func codeOf(text string) string {
	var kept []string
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "//")
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, ".loc") && !strings.HasPrefix(line, ".file") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

func TestSettingsAboveIR(t *testing.T) {
	e := bug.New("pass fold", "wrong")
	e.IR = "kernel @k {\nbody:\n}\n"
	e.Set("target", "%s", "sm_80")
	e.Set("sizes", "%s", `"M + 1"=5 N=4`)
	e.Set("target", "%s", "cpu")
	e.Set("pins", "%s", "")
	assert.Equal(t, []bug.Setting{{Name: "stage", Value: "pass fold"}, {Name: "target", Value: "sm_80"}, {Name: "sizes", Value: `"M + 1"=5 N=4`}}, bug.ParseSettings(e.Text()))
	sizes, err := bug.ParseAssignments(`"M + 1"=5 N=4`)
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{"M + 1": 5, "N": 4}, sizes)
	for _, bad := range []string{"N", "N=", "=4", "N=x", `"N=4`, `"N"`, "N=4 M"} {
		_, err := bug.ParseAssignments(bad)
		assert.Error(t, err, bad)
	}
	assert.Empty(t, bug.ParseSettings(e.IR))
}
