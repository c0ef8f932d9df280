package jit_test

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/jit/spec"
	"tilec/jit/target"
	"tilec/lang"
)

const narrow = `
kernel exact<A: float>(x: A[M, K], w: A[K, N], s: f32[M]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    let acc = for k in K by BK with acc = zeros(f32, i, j) {
        mma(x[i, k], w[k, j], acc)
    }
    y[i, j] = acc * s[i]
}

kernel formula(x: f8e4m3[M, K], w: f8e4m3[N, K], s: f32[M]) -> y: f32[M, N] { y[i, j] = sum(x[i, k] * w[j, k], over k) * s[i] }

kernel shifted(x: f8e4m3[M, K], w: f8e4m3[K, N], s: f32[M]) -> y: f32[M, N] {
    y[i, j] = sum((x[i, k + 1] else 2) * w[k, j], over k) * s[i]
}

kernel both(x: f8e4m3[M, K], w: f8e4m3[K, N], s: f32[M]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    y[i, j] = dot(x[i, k], w[k, j]) + sum(x[i, k] as f32, over k) * s[i]
}

@approx
kernel fast(x: f8e5m2[M, K], w: f8e5m2[K, N], s: f32[M]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    let acc = for k in K by BK with acc = zeros(f32, i, j) {
        mma(x[i, k], w[k, j], acc)
    }
    y[i, j] = acc * s[i]
}

kernel ints(x: i8[M, K], w: i8[K, N], s: f32[M]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    let acc = for k in K by BK with acc = zeros(i32, i, j) {
        mma(x[i, k], w[k, j], acc)
    }
    y[i, j] = acc as f32 * s[i]
}

kernel turned(x: f8e5m2[K, M], w: f8e5m2[N, K], s: f32[M]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    let acc = for k in K by BK with acc = zeros(f32, i, j) {
        mma(x[k, i], w[j, k], acc)
    }
    y[i, j] = acc * s[i]
}

kernel across(x: u8[K, M], w: u8[N, K], s: f32[M]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    let acc = for k in K by BK with acc = zeros(i32, i, j) {
        mma(x[k, i], w[j, k], acc)
    }
    y[i, j] = acc as f32 * s[i]
}
`

// Products of 8 bits give the same with operands that were copied first, as f16 or turned, as with those that lie as they were given, and as the CPU.
func TestNarrowOperandsAreCopied(t *testing.T) {
	sweep.Once(t)
	d, err := jit.OpenDevice("emu")
	require.NoError(t, err)
	defer d.Close()
	module, err := jit.NewCompiler(d, nil).Load("narrow.tile", []byte(narrow))
	require.NoError(t, err)
	cpu, err := jit.OpenDevice("cpu")
	require.NoError(t, err)
	defer cpu.Close()
	onCPU, err := jit.NewCompiler(cpu, nil).Load("narrow.tile", []byte(narrow))
	require.NoError(t, err)
	tiles := jit.Args{"BM": 64, "BN": 64, "BK": 32, "warps": 4, "stages": 3}
	e4, e5 := lang.F8E4M3, lang.F8E5M2
	for _, c := range []struct {
		name, kernel string
		xs, ws       lang.DType
		x, w         []int64
		pins         jit.Args
		copies       int
	}{
		{"f8", "exact", e4, e4, []int64{70, 96}, []int64{96, 80}, tiles, 1},
		{"f8e5m2", "exact", e5, e5, []int64{70, 96}, []int64{96, 80}, tiles, 1},
		{"both turned", "turned", e5, e5, []int64{96, 70}, []int64{80, 96}, tiles, 1},
		{"of 16 rows", "exact", e4, e4, []int64{9, 64}, []int64{64, 80}, jit.Args{"BM": 16, "BN": 32, "BK": 64, "warps": 2, "stages": 2}, 1},
		{"misaligned", "exact", e4, e4, []int64{37, 45}, []int64{45, 51}, tiles, 2},
		{"formula", "formula", e4, e4, []int64{37, 48}, []int64{51, 48}, jit.Args{}, 1},
		{"beyond the end", "shifted", e4, e4, []int64{37, 48}, []int64{48, 64}, jit.Args{}, 1},
		{"read for more than products", "both", e4, e4, []int64{37, 48}, []int64{48, 64}, jit.Args{"BM": 64, "BN": 64, "warps": 4}, 0},
		{"f8 as they are", "fast", e5, e5, []int64{70, 96}, []int64{96, 80}, tiles, 1},
		{"integers", "ints", lang.I8, lang.I8, []int64{70, 96}, []int64{96, 80}, tiles, 1},
		{"integers, the depth is odd", "ints", lang.I8, lang.I8, []int64{70, 95}, []int64{95, 80}, tiles, 1},
		{"rows across", "across", lang.U8, lang.U8, []int64{96, 70}, []int64{80, 96}, tiles, 1},
	} {
		rows := c.x[0]
		if c.kernel == "across" || c.kernel == "turned" {
			rows = c.x[1]
		}
		args := jit.Args{"x": small(c.xs, c.x...), "w": small(c.ws, c.w...), "s": small(lang.F32, rows)}
		want, err := onCPU.Call(c.kernel, args)
		require.NoError(t, err, c.name)
		for name, n := range c.pins {
			args[name] = n
		}
		for _, relayout := range []int{1, 2} {
			args["relayout"] = relayout
			got, err := module.Call(c.kernel, args)
			require.NoError(t, err, c.name)
			assert.Equal(t, want["y"].Data, got["y"].Data, "%s, relayout=%d", c.name, relayout)
		}
		text := launchesOf(t, narrow, c.kernel, map[string]int64{"relayout": 2}, jittest.NewArray(c.xs, c.x...), jittest.NewArray(c.ws, c.w...), jittest.NewArray(lang.F32, rows))
		assert.Equal(t, c.copies, strings.Count(text, "= relayout("), "%s: %s", c.name, text)
	}
}

// Large products of 8 bits are copied first and small ones are not, nor those that the setting keeps as they are.
func TestWhichNarrowOperandsAreCopied(t *testing.T) {
	sweep.Once(t)
	copies := func(kernel string, d lang.DType, pins map[string]int64, m, k, n int64) int {
		text := launchesOf(t, narrow, kernel, pins, jittest.NewArray(d, m, k), jittest.NewArray(d, k, n), jittest.NewArray(lang.F32, m))
		return strings.Count(text, "= relayout(")
	}
	assert.Equal(t, 1, copies("exact", lang.F8E4M3, nil, 8192, 4096, 4096))
	assert.Equal(t, 0, copies("exact", lang.F8E4M3, map[string]int64{"relayout": 1}, 8192, 4096, 4096))
	assert.Equal(t, 1, copies("exact", lang.F8E4M3, nil, 64, 8192, 8192), "the other one is widened as it is read")
	assert.Equal(t, 0, copies("exact", lang.F16, nil, 8192, 4096, 4096))
	assert.Equal(t, 1, copies("ints", lang.I8, nil, 8192, 4096, 4096))
	assert.Equal(t, 0, copies("ints", lang.I8, nil, 64, 8192, 8192))
	assert.Equal(t, 0, copies("ints", lang.I8, nil, 37, 96, 80))
}

// A product that reads copies of floats of 8 bits is one of f16 by wgmma, whose operands the TMA brings.
func TestCopiesOfNarrowFloatsAreMultipliedByWgmma(t *testing.T) {
	program, problems := jit.Load("narrow.tile", []byte(narrow), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	s, err := jit.Specialise(program.Kernels[0], jit.Options{Types: map[string]lang.DType{"A": lang.F8E4M3}, Dims: map[string]int64{"M": 8192, "K": 4096, "N": 4096}})
	require.NoError(t, err)
	for i := range 2 {
		s.Layouts[i] = spec.Layout{Contiguous: true, Align: 16, As: lang.F16}
	}
	l, err := compile.Lower(s, machine, nil)
	require.NoError(t, err)
	text, err := l.Block()
	require.NoError(t, err)
	assert.Contains(t, text, "by wgmma of f16, f16", text)
	assert.Regexp(t, `@ring .* produced`, text)
}

// A product of floats of 8 bits as they lie runs ahead of its steps by copies, as those of other types do: warps make f16 of what they read.
func TestNarrowFloatsRunAhead(t *testing.T) {
	program, problems := jit.Load("narrow.tile", []byte(narrow), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	s, err := jit.Specialise(program.Kernels[0], jit.Options{Types: map[string]lang.DType{"A": lang.F8E4M3}, Dims: map[string]int64{"M": 64, "K": 8192, "N": 8192}})
	require.NoError(t, err)
	l, err := compile.Lower(s, machine, nil)
	require.NoError(t, err)
	text, err := l.Block()
	require.NoError(t, err)
	assert.Contains(t, text, "of f8e4m3, f8e4m3 widened", text)
	assert.Regexp(t, `@ring .* produced`, text)
}

// Infinities and NaNs of 8 bits count in products as they do on the CPU.
func TestNarrowFloatsThatAreNotFinite(t *testing.T) {
	for _, d := range []lang.DType{lang.F8E4M3, lang.F8E5M2} {
		x, w := small(d, 32, 64), small(d, 64, 32)
		x.Data[5], x.Data[64*3+7], w.Data[32*9+4] = 0x7f, 0x7c, 0xfc // of e4m3 NaN, 384, -384; of e5m2 NaN and infinities
		args := jit.Args{"x": x, "w": w, "s": small(lang.F32, 32)}
		results := map[string][]byte{}
		for _, name := range []string{"cpu", "emu"} {
			dev, err := jit.OpenDevice(name)
			require.NoError(t, err)
			m, err := jit.NewCompiler(dev, nil).Load("narrow.tile", []byte(narrow))
			require.NoError(t, err)
			out, err := m.Call("exact", args)
			require.NoError(t, err)
			results[name] = nansAlike(out["y"].Data)
			dev.Close()
		}
		assert.Equal(t, results["cpu"], results["emu"], d)
	}
}

// nansAlike gives all NaNs of f32 the same bits: which one a NaN is, no program can tell.
func nansAlike(data []byte) []byte {
	out := slices.Clone(data)
	for i := 0; i < len(out); i += 4 {
		if f := math.Float32frombits(binary.LittleEndian.Uint32(out[i:])); f != f {
			binary.LittleEndian.PutUint32(out[i:], 0x7fc00000)
		}
	}
	return out
}
