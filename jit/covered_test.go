package jit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/typecheck/typed"
)

const coveredSource = `
kernel fir(x: f32[M, N], w: f32[7]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis r in 7
    y[i, j] = sum(w[r] * (x[i, j + r - 3] else 0), over r)
}

kernel erode(x: u8[H, W]) -> y: u8[H, W]
    grid i in H by BH, j in W by BW
{
    axis r in 3
    axis s in 3
    y[i, j] = min(x[clamp(i + index(r) - 1, 0, H - 1), clamp(j + index(s) - 1, 0, W - 1)], over (r, s))
}

kernel complex(a: f32[N, 2]) -> c: f32[N, 2]
    grid i in N by B
{
    c[i, 0] = a[i, 0] * a[i, 0] - a[i, 1] * a[i, 1]
    c[i, 1] = 2 * a[i, 0] * a[i, 1]
}

kernel grey(x: u8[N, 3]) -> y: u8[N]
    grid i in N by B
{
    y[i] = ((x[i, 0] as i32 + x[i, 1] as i32 + x[i, 2] as i32) / 3) as u8
}`

// A thread loads the words that cover its windows and its records once, and stores records by words; so the planner gives it several. Code for the last block is written beside the
// rest where blocks do not divide an axis.
func TestWindowsAndRecordsByWords(t *testing.T) {
	kernels := map[string]*typed.Kernel{}
	program, ds := Load("covered.tile", []byte(coveredSource), nil)
	require.Empty(t, ds)
	for _, k := range program.Kernels {
		kernels[k.Name] = k
	}
	for _, c := range []struct {
		kernel string
		dims   map[string]int64
		pins   map[string]int64
		counts map[string]int
	}{
		// Four results of a window of seven are in three words of four.
		{"fir", map[string]int64{"M": 4096, "N": 4096}, map[string]int64{"BM": 1, "BN": 512, "warps": 4}, map[string]int{"ld.global.nc.v4.f32": 3, "ld.global.nc.f32": 7, "st.global.v4.f32": 1}},
		{"fir", map[string]int64{"M": 64, "N": 4095}, map[string]int64{"BM": 1, "BN": 512, "warps": 4}, map[string]int{"ld.global.nc.v4.f32": 0}}, // rows begin anywhere
		// Sixteen results of rows of three are in three words of sixteen for each row.
		{"erode", map[string]int64{"H": 4096, "W": 4096}, map[string]int64{"BH": 1, "BW": 2048, "warps": 4}, map[string]int{"ld.global.nc.v4.b32": 9, "st.global.v4.b32": 1}},
		{"complex", map[string]int64{"N": 1 << 22}, map[string]int64{"B": 256, "warps": 4}, map[string]int{"ld.global.nc.v4.f32": 1, "st.global.v4.f32": 1}},
		// Four records of three bytes are three words.
		{"grey", map[string]int64{"N": 1 << 24}, map[string]int64{"B": 512, "warps": 4}, map[string]int{"ld.global.nc.b32": 3, "st.global.b32": 1}},
	} {
		l, err := lowerCase(t, kernels[c.kernel], "sm_90a", c.dims, c.pins)
		require.NoError(t, err)
		text, err := l.PTX()
		require.NoError(t, err)
		for instruction, n := range c.counts {
			assert.Equal(t, n, strings.Count(text, instruction+" "), "%s %v: %s", c.kernel, c.dims, instruction)
		}
		planned, err := lowerCase(t, kernels[c.kernel], "sm_90a", c.dims, nil)
		require.NoError(t, err)
		text, err = planned.PTX()
		require.NoError(t, err)
		if c.dims["N"] != 4095 {
			assert.NotContains(t, text, "ld.global.nc.u8", "%s %v", c.kernel, c.dims)
			assert.NotContains(t, text, "st.global.f32 ", "%s %v", c.kernel, c.dims)
		}
	}
}
