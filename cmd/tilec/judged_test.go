package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/fuzz"
	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// judged binds a function to sizes, runs it and gives what the witness found; an error says that the sizes do not fit.
func judged(t *testing.T, f *jit.Function, compiler *jit.Compiler, d lang.DType, size func(n int) int64, seed uint64) (*fuzz.Witness, error) {
	t.Helper()
	b := newBinding(f, seed, func(string, ...any) {})
	var args []*argument
	give := func(name, text string) {
		parsed, err := parseArguments([]string{name + "=" + text})
		require.NoError(t, err)
		args = append(args, parsed...)
	}
	for i, s := range f.Dims {
		give(s.Name, fmt.Sprint(size(i)))
	}
	for i, s := range f.Consts {
		if s.Default == nil {
			give(s.Name, fmt.Sprint(size(i)))
		}
	}
	for _, p := range f.Types {
		if p.Accepts(d) {
			give(p.Name, d.String())
		}
	}
	for _, p := range f.Params {
		switch {
		case p.Type.Kind != typed.GScalar || p.Default != nil:
		case b.resolve(p.Type.DType).IsFloat():
			give(p.Name, "0.3")
		case b.resolve(p.Type.DType) == lang.Bool:
			give(p.Name, "true")
		default:
			give(p.Name, "2")
		}
	}
	return witnessed(f, compiler, args, seed)
}

// witnessed binds a function to arguments, runs it and gives what the witness found; an error says that the arguments do not fit.
func witnessed(f *jit.Function, compiler *jit.Compiler, args []*argument, seed uint64) (*fuzz.Witness, error) {
	b := newBinding(f, seed, func(string, ...any) {})
	if err := b.give(args); err != nil {
		return nil, err
	}
	values, err := b.args("")
	if err != nil {
		return nil, err
	}
	launch, err := f.On(compiler).Bind(values)
	if err != nil {
		return nil, err
	}
	defer launch.Close()
	w := fuzz.NewWitness(compiler.Device, seed)
	launch.Program.Observe(w)
	_, err = runOnce(launch)
	return w, err
}

// sizesToTry are sizes of dimensions, by their place: those that divide nothing first, then those that assumes ask for.
var sizesToTry = []func(n int) int64{
	func(n int) int64 { return []int64{3, 37, 17, 5, 2}[n%5] },
	func(n int) int64 { return []int64{4, 64, 32, 16}[n%4] },
	func(int) int64 { return 16 },
	func(int) int64 { return 128 },
	func(n int) int64 { return []int64{1, 128, 256}[n%3] },
}

// What the compiler does right is never called wrong: on two devices, for every kernel and graph that the repository has.
func TestCheckRaisesNoFalseAlarm(t *testing.T) {
	var files []string
	for _, name := range embeddedNames() {
		if strings.HasPrefix(name, "std/") {
			files = append(files, name)
		}
	}
	for _, pattern := range []string{"../../testdata/examples/*.tile", "../../docs/tutorial/*.tile"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	seeds := uint64(3 / sweep.OneIn(3))
	types := []lang.DType{lang.F32, lang.BF16}
	if testing.Short() {
		seeds, types = 1, types[:1]
	}
	devices := []string{"cpu", "emu"}
	if id := os.Getenv(jittest.DeviceVariable); id != "" && !slices.Contains(devices, id) {
		devices = append(devices, id)
	}
	for _, id := range devices {
		t.Run(id, func(t *testing.T) {
			device, err := openDevice(id)
			require.NoError(t, err)
			defer device.Close()
			device.Poison()
			functions, judgedElements, unknown := 0, int64(0), int64(0)
			seeds, types, each, seen := seeds, types, 1, 0
			if id == "emu" { // which takes seven times as long for the same numbers
				seeds, types, each = 1, types[:max(1, len(types)/sweep.OneIn(2))], sweep.OneIn(2)
			}
			for _, file := range files {
				a := &app{sources: map[string][]byte{}}
				program, err := a.load(file)
				require.NoError(t, err)
				compiler := jit.NewCompiler(device, nil)
				compiler.Output = t.Output()
				own, _ := jit.FunctionNames(program)
				for _, name := range own {
					if seen++; seen%each != 0 {
						continue
					}
					f, err := jit.FindFunction(program, name)
					require.NoError(t, err)
					var reasons []string
					ran := false
					for _, d := range types {
						for n := 0; n < len(sizesToTry); n++ {
							w, err := judged(t, f, compiler, d, sizesToTry[n], 1)
							for seed := uint64(2); err == nil && seed <= seeds; seed++ {
								assert.Nil(t, w.First, "%s %s of %s, seed %d: %v", file, name, d, seed-1, w.First)
								w, err = judged(t, f, compiler, d, sizesToTry[n], seed)
							}
							if err != nil {
								reasons = append(reasons, err.Error())
								continue
							}
							assert.Nil(t, w.First, "%s %s of %s: %v", file, name, d, w.First)
							for _, j := range w.Judgements {
								judgedElements += j.Judged
								unknown += j.Unknown
								if j.Left > 0 || j.Unknown > j.Judged/2 {
									t.Logf("%s %s of %s: %s: %s", file, name, d, j.Result, &j)
								}
							}
							ran = true
							break
						}
					}
					if ran {
						functions++
					} else {
						t.Logf("%s %s was not run: %s", file, name, strings.Join(reasons, "; "))
					}
				}
			}
			t.Logf("%d functions, %d elements, %d unknown", functions, judgedElements, unknown)
			assert.GreaterOrEqual(t, functions, 110/each)
			assert.Less(t, unknown, judgedElements/10)
		})
	}
}
