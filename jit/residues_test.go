package jit_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/lang"
)

// Transposed convolutions in steps of 2, of channels first and last.
const residuesSource = `
kernel first(x: f32[B, C, H, W], w: f32[C, O, R, S]) -> y: f32[B, O, 2 * H - 3 + R, 2 * W - 3 + S] {
    y[n, o, h, v] = sum(
        where((index(h) + 1 - index(r)) % 2 == 0 and (index(v) + 1 - index(s)) % 2 == 0,
        (x[n, c, (index(h) + 1 - index(r)) / 2, (index(v) + 1 - index(s)) / 2] else 0) * w[c, o, r, s], 0), over (c, r, s))
}

kernel last(x: bf16[B, H, W, C], w: bf16[R, S, O, C]) -> y: f32[B, 2 * H - 3 + R, 2 * W - 3 + S, O] {
    y[n, h, v, o] = sum(
        where((index(h) + 1 - index(r)) % 2 == 0 and (index(v) + 1 - index(s)) % 2 == 0,
        (x[n, (index(h) + 1 - index(r)) / 2, (index(v) + 1 - index(s)) / 2, c] else 0) * w[r, s, o, c], 0), over (r, s, c))
}

kernel factors(x: f32[B, C, H, W], w: f32[C, O, R, S]) -> y: f32[B, O, 2 * H - 3 + R, 2 * W - 3 + S] {
    y[n, o, h, v] = sum(
        where((index(h) + 1 - index(r)) % 2 == 0 and (index(v) + 1 - index(s)) % 2 == 0,
        x[n, c, (index(h) + 1 - index(r)) / 2, (index(v) + 1 - index(s)) / 2] else 0, 0) * w[c, o, r, s], over (c, r, s))
}

// With what else is at a place, and where only the least of all channels is stored.
kernel behind(x: f32[B, C, H, W], w: f32[C, O, R, S], z: f32[2 * W - 3 + S]) -> y: f32[B, O, 2 * H - 3 + R, 2 * W - 3 + S] {
    y[n, o, h, v] = 2 * max(sum(
        where((index(h) + 1 - index(r)) % 2 == 0 and (index(v) + 1 - index(s)) % 2 == 0,
        (x[n, c, (index(h) + 1 - index(r)) / 2, (index(v) + 1 - index(s)) / 2] else 0) * w[c, o, r, s], 0), over (c, r, s)), z[v]) + index(v) as f32
}

kernel behind_factors(x: f32[B, C, H, W], w: f32[C, O, R, S], z: f32[2 * W - 3 + S]) -> y: f32[B, O, 2 * H - 3 + R, 2 * W - 3 + S] {
    y[n, o, h, v] = 2 * max(sum(
        where((index(h) + 1 - index(r)) % 2 == 0 and (index(v) + 1 - index(s)) % 2 == 0,
        x[n, c, (index(h) + 1 - index(r)) / 2, (index(v) + 1 - index(s)) / 2] else 0, 0) * w[c, o, r, s], over (c, r, s)), z[v]) + index(v) as f32
}

kernel least(x: f32[B, C, H, W], w: f32[C, O, R, S]) -> y: f32[B, 2 * H - 3 + R, 2 * W - 3 + S] {
    y[n, h, v] = min(sum(
        where((index(h) + 1 - index(r)) % 2 == 0 and (index(v) + 1 - index(s)) % 2 == 0,
        (x[n, c, (index(h) + 1 - index(r)) / 2, (index(v) + 1 - index(s)) / 2] else 0) * w[c, o, r, s], 0), over (c, r, s)), over o)
}

kernel least_factors(x: f32[B, C, H, W], w: f32[C, O, R, S]) -> y: f32[B, 2 * H - 3 + R, 2 * W - 3 + S] {
    y[n, h, v] = min(sum(
        where((index(h) + 1 - index(r)) % 2 == 0 and (index(v) + 1 - index(s)) % 2 == 0,
        x[n, c, (index(h) + 1 - index(r)) / 2, (index(v) + 1 - index(s)) / 2] else 0, 0) * w[c, o, r, s], over (c, r, s)), over o)
}

kernel columns(x: f32[M, N, 1], w: f32[N]) -> y: f32[M, N, 1]
    grid n in N by BN
{
    axis m in M
    axis p in 1
    y[m, n, p] = (x[m, n, p] - mean(x[m, n, p], over (m, p))) * w[n]
}
`

// Sums of which conditions on remainders pick the terms give what the CPU gives, by loops over the places of a window that copies run ahead of, flattened with those over channels, and by the TMA and wgmma.
func TestSumsOfResidues(t *testing.T) {
	onCPU := loadOnCPU(t, "residues.tile", residuesSource)
	module, err := jit.NewCompiler(jittest.Device(t), nil).Load("residues.tile", []byte(residuesSource))
	require.NoError(t, err)
	type pins = map[string]int64
	for _, c := range []struct {
		kernel string
		x, w   []int64
		pins   []pins
	}{
		{"first", []int64{2, 5, 7, 6}, []int64{5, 4, 3, 3}, []pins{{}, {"BH": 2, "BV": 4}}},
		{"first", []int64{1, 64, 8, 8}, []int64{64, 64, 3, 3}, []pins{{}, {"relayout": 2}, {"relayout": 2, "BN": 1, "BO": 64, "BH": 8, "BV": 8, "c": 32, "warps": 4, "stages": 3}}},
		{"first", []int64{1, 32, 5, 9}, []int64{32, 64, 4, 4}, []pins{{}, {"relayout": 2, "BN": 1, "BO": 64, "BH": 4, "BV": 16, "c": 16, "warps": 4, "stages": 2}}},
		{"first", []int64{1, 32, 6, 16}, []int64{32, 64, 5, 5}, []pins{{}, {"relayout": 2, "BN": 1, "BO": 64, "BH": 4, "BV": 16, "c": 16, "warps": 4, "stages": 3}, {"relayout": 2, "BN": 1, "BO": 64, "BH": 8, "BV": 16, "c": 16, "warps": 8, "stages": 2}}},
		{"first", []int64{2, 16, 7, 12}, []int64{16, 32, 2, 2}, []pins{{}}},
		{"first", []int64{1, 3, 9, 33}, []int64{3, 16, 3, 3}, []pins{{}}},
		{"behind", []int64{1, 32, 5, 9}, []int64{32, 16, 3, 4}, []pins{{}, {"relayout": 2}}},
		{"least", []int64{1, 32, 5, 9}, []int64{32, 16, 3, 4}, []pins{{}}},
		{"last", []int64{1, 8, 8, 64}, []int64{3, 3, 64, 64}, []pins{{}, {"BN": 1, "BO": 64, "BH": 8, "BV": 8, "c": 64, "warps": 4, "stages": 3}, {"BN": 1, "BO": 64, "BH": 8, "BV": 8, "c": 32, "warps": 4, "stages": 2}}},
		{"last", []int64{2, 3, 5, 16}, []int64{2, 5, 24, 16}, []pins{{}}},
		{"columns", []int64{64, 70, 1}, []int64{70}, []pins{{}, {"BN": 32}}},
	} {
		d := lang.F32
		if c.kernel == "last" {
			d = lang.BF16
		}
		x, w := odd(d, 3, 1, c.x...), odd(d, 3, 2, c.w...)
		reference := c.kernel
		all := map[string]string{"first": "factors", "behind": "behind_factors", "least": "least_factors"} // of which all terms are computed
		if all[c.kernel] != "" {
			reference = all[c.kernel]
		}
		args := jit.Args{"x": x, "w": w}
		if c.kernel == "behind" {
			args["z"] = odd(d, 5, 3, 2*c.x[3]-3+c.w[3])
		}
		want, err := onCPU.Call(reference, args)
		require.NoError(t, err)
		for _, p := range c.pins {
			t.Run(fmt.Sprint(c.kernel, c.x, p), func(t *testing.T) {
				args := maps.Clone(args)
				for name, n := range p {
					args[name] = n
				}
				out, err := module.Call(c.kernel, args)
				require.NoError(t, err)
				require.Equal(t, want["y"].Floats(), out["y"].Floats())
			})
		}
	}
}

// Where a condition picks terms a block has positions of one residue, and goes through the places of the window that these have; where it picks factors, of which the others may be infinite, it computes all. An axis of
// one position is none.
func TestFormsOfResidues(t *testing.T) {
	sweep.Once(t)
	program, problems := jit.Load("residues.tile", []byte(residuesSource), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	lowered := func(name string, dims map[string]int64) *compile.Lowered {
		f, err := jit.FindFunction(program, name)
		require.NoError(t, err)
		s, err := jit.Specialise(f.Kernel, jit.Options{Dims: dims})
		require.NoError(t, err)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		return l
	}
	image := map[string]int64{"B": 4, "C": 64, "H": 32, "W": 32, "O": 64, "R": 3, "S": 3}
	text := lowered("first", image).Func.String()
	assert.Contains(t, text, "for tap")
	// Neighbours of a row are in one block, which reads places of x once for both residues.
	assert.Contains(t, text, "axis h_rest : grid scalar")
	assert.Contains(t, text, "axis v_rest : whole [0 .. 2]")
	assert.Regexp(t, `(?s)for tap_c .*\(f32\{h, v, n, o\}, f32\{h, v, n, o\}\) \{.*load %x.*mma.*mma.*for tap.1_c.1 .*\(f32\{h, v, n, o\}\) \{`, text)
	assert.Contains(t, lowered("least", image).Func.String(), "axis v_rest : grid scalar")
	assert.NotContains(t, lowered("factors", image).Func.String(), "for tap")
	image["C"] = 256
	last := lowered("last", image)
	assert.Contains(t, last.Func.String(), "for tap_c ")
	assert.Contains(t, last.Code.PTX.Text, "wgmma.mma_async")
	assert.Contains(t, last.Code.PTX.Text, "cp.async.bulk.tensor.4d")
	assert.NotContains(t, lowered("columns", map[string]int64{"M": 4096, "N": 4096}).Func.String(), "axis p")
}

// A result whose rows are no whole sectors is stored by blocks of whole rows, and one whose rows are by tiles that read less.
func TestRowsOfResultsStayWhole(t *testing.T) {
	sweep.Once(t)
	program, problems := jit.Load("f.tile", []byte(`kernel conv(x: f32[B, H, W, C], w: f32[3, 3, O, C]) -> y: f32[B, O, H - 2, W - 2] {
    y[n, o, h, v] = sum(x[n, h + r, v + s, c] * w[r, s, o, c], over (r, s, c))
}
`), nil)
	require.Empty(t, problems)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	for width, extent := range map[int64]int64{256: 256, 258: 8} {
		s, err := jit.Specialise(program.Kernels[0], jit.Options{Dims: map[string]int64{"B": 16, "C": 64, "H": width, "W": width, "O": 128}})
		require.NoError(t, err)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		assert.Equal(t, extent, l.Plan.Extents["v"], "rows of %d", width-2)
	}
}
