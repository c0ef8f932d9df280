package jit

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/backend"
	"tilec/jit/compile"
	"tilec/jit/ir"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/lang"
)

// longTiles are the kernels of testdata/long.txtar, by name.
func longTiles(t *testing.T) map[string]string {
	archive, err := txtar.ParseFile("testdata/long.txtar")
	require.NoError(t, err)
	kernels := map[string]string{}
	for _, f := range archive.Files {
		kernels[strings.TrimSuffix(f.Name, ".tile")] = string(f.Data)
	}
	return kernels
}

// callLong runs a kernel of longTiles on fresh arguments, with what is pinned.
func callLong(t *testing.T, device, source string, m, n, at int64, pins Args) map[string]*Array {
	r := rand.New(rand.NewPCG(uint64(m), uint64(n)))
	values := make([]float64, m*n)
	for i := range values {
		values[i] = float64(r.IntN(9) - 4)
	}
	args := Args{"x": Converted(lang.F32, values, m, n)}
	maps.Copy(args, pins)
	d, err := OpenDevice(device)
	require.NoError(t, err)
	defer d.Close()
	module, err := NewCompiler(d, nil).Load("f.tile", []byte(source))
	require.NoError(t, err, source)
	for _, p := range module.Program.Kernels[0].Params {
		switch p.Name {
		case "n":
			args["n"] = at
		case "z":
			args["z"] = Converted(lang.F32, values[:n], n)
		}
	}
	out, err := module.Call("f", args)
	require.NoError(t, err, source)
	return out
}

// Whatever is done with tiles that are too long for a block, the results are those of a block that holds them.
func TestLongTilesAreKept(t *testing.T) {
	sweep.Once(t)
	for name, source := range longTiles(t) {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(2) {
				r := rand.New(rand.NewPCG(seed, 8))
				m, n := int64(1+r.IntN(3)), int64(5+r.IntN(20))
				at := int64(r.IntN(int(n)))
				want := callLong(t, "cpu", source, m, n, at, nil)
				cut := Args{"j": 2 + r.IntN(3)}
				for _, device := range []string{"cpu", "emu"} {
					for name, got := range callLong(t, device, source, m, n, at, cut) {
						assert.Equal(t, want[name].Floats(), got.Floats(), "%s on %s by %v of [%d, %d]", name, device, cut["j"], m, n)
					}
				}
			}
		})
	}
}

// Blocks for which there is no scratch memory at once run one after the other.
func TestBlocksShareScratchMemory(t *testing.T) {
	limit := backend.ScratchLimit
	defer func() { backend.ScratchLimit = limit }()
	source := longTiles(t)["gathered_from_a_scan"]
	want := callLong(t, "cpu", source, 9, 20, 0, nil)
	for _, backend.ScratchLimit = range []int64{1, 1000, limit} {
		assert.Equal(t, want["y"].Floats(), callLong(t, "emu", source, 9, 20, 0, Args{"j": 8})["y"].Floats(), "%d bytes", backend.ScratchLimit)
	}
}

// What a block cannot hold, it keeps; nothing is refused because it is long.
func TestLongTilesHavePlans(t *testing.T) {
	sweep.Once(t)
	for name, source := range longTiles(t) {
		module, problems := Load("f.tile", []byte(source), nil)
		require.Empty(t, problems)
		for _, machine := range []string{"sm_80", "sm_90a"} {
			if machine == "sm_80" && strings.HasPrefix(source, "@") { // it has no clusters
				continue
			}
			target, err := target.Find(machine)
			require.NoError(t, err)
			s, err := Specialise(module.Kernels[0], Options{Dims: map[string]int64{"M": 64, "N": 100_000}})
			require.NoError(t, err)
			l, err := compile.Lower(s, target, nil)
			require.NoError(t, err, name)
			assert.Positive(t, l.Func.ScratchBytes(), name)
			again, err := ir.Parse(name, l.Func.String())
			require.NoError(t, err)
			assert.Equal(t, l.Func.String(), again.String())
		}
	}
}
