package jit

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/compile"
	"tilec/jit/cuda"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

var updatePins = flag.Bool("update.pins", false, "write testdata/pins.txt anew")

// pinCases are lowerings of testdata/pins.tile: a kernel, a target, sizes and pins of the launch.
var pinCases = []struct {
	kernel, target string
	dims           map[string]int64
	pins           map[string]int64
}{
	{"product", "sm_90a", map[string]int64{"M": 4096, "N": 4096, "K": 4096}, nil},
	{"product", "sm_80", map[string]int64{"M": 4096, "N": 4096, "K": 4096}, nil},
	{"product", "cpu", map[string]int64{"M": 4096, "N": 4096, "K": 4096}, nil},
	{"product", "sm_90a", map[string]int64{"M": 4096, "N": 4096, "K": 4096}, map[string]int64{"BM": 32, "occupancy": 1}},
	{"product", "sm_90a", map[string]int64{"M": 40, "N": 33, "K": 17}, nil},
	{"soft", "sm_90a", map[string]int64{"M": 100, "N": 1000}, nil},
	{"soft", "cpu", map[string]int64{"M": 100, "N": 1000}, nil},
	{"soft", "sm_80", map[string]int64{"M": 100, "N": 1000}, nil},
	{"skinny", "sm_90a", map[string]int64{"M": 16, "N": 64, "K": 8000}, nil},
	{"skinny", "sm_90a", map[string]int64{"M": 16, "N": 64, "K": 3}, nil},
	{"skinny", "sm_89", map[string]int64{"M": 16, "N": 64, "K": 8000}, nil},
	{"skinny", "cpu", map[string]int64{"M": 16, "N": 64, "K": 8000}, nil},
	{"shared", "sm_90a", map[string]int64{"M": 5, "N": 5000}, nil},
	{"shared", "sm_89", map[string]int64{"M": 5, "N": 5000}, nil},
	{"shared", "sm_80", map[string]int64{"M": 5, "N": 5000}, nil},
	{"scanned", "sm_90a", map[string]int64{"M": 5, "N": 5000}, nil},
	{"best", "sm_90a", map[string]int64{"M": 5, "N": 5000}, nil},
	{"online", "sm_90a", map[string]int64{"M": 5, "N": 5000}, nil},
	{"narrow", "sm_90a", map[string]int64{"M": 16, "N": 16, "K": 16384}, nil},
	{"narrow", "sm_90a", map[string]int64{"M": 16, "N": 16, "K": 16384}, map[string]int64{"split": 2}},
	{"narrow", "sm_90a", map[string]int64{"M": 16, "N": 16, "K": 16384}, map[string]int64{"split": 9}},
	{"narrow", "sm_90a", map[string]int64{"M": 16, "N": 16, "K": 1}, map[string]int64{"split": 2}},
	{"narrow", "sm_80", map[string]int64{"M": 16, "N": 16, "K": 16384}, map[string]int64{"split": 2}},
	{"narrow", "cpu", map[string]int64{"M": 16, "N": 16, "K": 16384}, map[string]int64{"split": 2}},
	{"alone", "sm_90a", map[string]int64{"M": 16, "N": 16, "K": 16384}, nil},
	{"alone", "sm_90a", map[string]int64{"M": 16, "N": 16, "K": 16384}, map[string]int64{"split": 2}},
	{"batched", "sm_90a", map[string]int64{"B": 32, "N": 64, "K": 1024}, nil},
	{"batched", "sm_90a", map[string]int64{"B": 32, "N": 64, "K": 1024}, map[string]int64{"BB": 2}},
	{"deep", "sm_90a", map[string]int64{"M": 4096, "N": 4096, "K": 4096}, nil},
	{"deep", "sm_90a", map[string]int64{"M": 4096, "N": 4096, "K": 4096}, map[string]int64{"BM": 256, "stages": 2}},
	{"deep", "sm_90a", map[string]int64{"M": 4096, "N": 4096, "K": 4096}, map[string]int64{"warps": 5}},
	{"deep", "sm_90a", map[string]int64{"M": 4096, "N": 4096, "K": 4096}, map[string]int64{"BQ": 5}},
	{"position", "sm_90a", map[string]int64{"M": 5, "N": 500}, nil},
	{"rows", "sm_90a", map[string]int64{"M": 5, "N": 500}, nil},
	{"crowd", "sm_90a", map[string]int64{"M": 5, "N": 500}, nil},
	{"renamed", "sm_90a", map[string]int64{"N": 64}, nil},
	{"renamed", "sm_90a", map[string]int64{"N": 4096}, nil},
	{"said", "sm_90a", map[string]int64{"M": 8, "K": 1}, nil},
}

func pinKernels(t *testing.T) map[string]*typed.Kernel {
	text, err := os.ReadFile("testdata/pins.tile")
	require.NoError(t, err)
	program, ds := Load("pins.tile", text, nil)
	require.Empty(t, ds)
	ks := map[string]*typed.Kernel{}
	for _, k := range program.Kernels {
		ks[k.Name] = k
	}
	return ks
}

func lowerCase(t *testing.T, k *typed.Kernel, machine string, dims, pins map[string]int64) (*compile.Lowered, error) {
	to, err := target.Find(machine)
	require.NoError(t, err)
	s, err := Specialise(k, Options{Dims: dims, Pins: pins})
	require.NoError(t, err)
	return compile.Lower(s, to, nil)
}

// What became of every pin and hint is golden, and so is each error of one that cannot be.
func TestPins(t *testing.T) {
	sweep.Once(t)
	kernels := pinKernels(t)
	var b strings.Builder
	for _, c := range pinCases {
		fmt.Fprintf(&b, "%s on %s %v %v\n", c.kernel, c.target, c.dims, c.pins)
		l, err := lowerCase(t, kernels[c.kernel], c.target, c.dims, c.pins)
		var d *lang.Diagnostic
		switch {
		case errors.As(err, &d):
			var text strings.Builder
			require.NoError(t, lang.Render(&text, lang.Diagnostics{d}, lang.RenderOptions{}))
			fmt.Fprintf(&b, "%s", text.String())
		case err != nil:
			t.Errorf("%s on %s: %v is no diagnostic", c.kernel, c.target, err)
		default:
			fmt.Fprintf(&b, "  %s\n", l.Plan)
			for _, line := range append(l.Pins, l.Memory()...) {
				fmt.Fprintf(&b, "  %s\n", line)
			}
		}
		b.WriteString("\n")
	}
	const file = "testdata/pins.txt"
	if *updatePins {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	golden, got := strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")
	for i := range min(len(golden), len(got)) {
		require.Equal(t, golden[i], got[i], "%s:%d: run with -update.pins where the change is meant", file, i+1)
	}
	assert.Len(t, got, len(golden))
}

// Every hint changes the code that it is about, which assembles.
func TestPinsShowInPTX(t *testing.T) {
	kernels := pinKernels(t)
	assembler, noAssembler := cuda.FindAssembler()
	for _, c := range []struct {
		kernel, target string
		dims           map[string]int64
		want, not      []string
	}{
		{"product", "sm_90a", map[string]int64{"M": 4096, "N": 4096, "K": 4096},
			[]string{".minnctapersm 2", "st.global.L1::evict_last", "cp.async.bulk.tensor.2d.shared::cluster"}, []string{"cache_hint"}},
		{"product", "sm_80", map[string]int64{"M": 4096, "N": 4096, "K": 4096}, []string{"cp.async.wait_group          2"}, []string{"cache_hint"}},
		{"product", "sm_90a", map[string]int64{"M": 40, "N": 33, "K": 17}, []string{"ld.global.nc.L1::evict_first", "ld.global.nc.L1::no_allocate"}, nil},
		{"soft", "sm_90a", map[string]int64{"M": 100, "N": 1000},
			[]string{".reqnctapercluster 4, 1, 1", "ex2.approx", "ld.global.nc.L1::evict_last", "st.global.L1::no_allocate"}, []string{"mapa"}},
		{"skinny", "sm_90a", map[string]int64{"M": 16, "N": 64, "K": 8000},
			[]string{".reqnctapercluster 4, 1, 1", "%cluster_ctarank", "mapa.shared::cluster.u32", "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32", "barrier.cluster.arrive.relaxed.aligned"}, []string{"atom.", " red."}},
	} {
		t.Run(c.kernel+" "+c.target, func(t *testing.T) {
			l, err := lowerCase(t, kernels[c.kernel], c.target, c.dims, nil)
			require.NoError(t, err)
			text, err := l.PTX()
			require.NoError(t, err)
			for _, want := range c.want {
				assert.True(t, strings.Contains(text, want), "no %s", want)
			}
			for _, not := range c.not {
				assert.False(t, strings.Contains(text, not), "there is %s", not)
			}
			if noAssembler == nil {
				_, _, err = assembler.Compile(context.Background(), []byte(text), c.target, cuda.CompileOptions{})
				assert.NoError(t, err)
			}
		})
	}
}

// The largest number of blocks in a cluster that is not a divisor of the grid: the launch is rounded up.
func TestClusterRoundsTheGridUp(t *testing.T) {
	l, err := lowerCase(t, pinKernels(t)["soft"], "sm_90a", map[string]int64{"M": 101, "N": 1000}, map[string]int64{"BM": 1, "cluster": 8})
	require.NoError(t, err)
	for _, d := range l.Func.Dims {
		if d.Name == "M" && !d.Known() {
			d.Value = 101
		}
	}
	assert.EqualValues(t, 104, l.Code.PTX.Blocks(nil))
	l, err = lowerCase(t, pinKernels(t)["skinny"], "sm_90a", map[string]int64{"M": 33, "N": 64, "K": 999}, map[string]int64{"BI": 32, "BJ": 32})
	require.NoError(t, err)
	for _, d := range l.Func.Dims {
		if d.Name == "M" && !d.Known() {
			d.Value = 33
		}
	}
	assert.EqualValues(t, 2*2*4, l.Code.PTX.Blocks(nil))
}
