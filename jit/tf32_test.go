package jit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/backend/emulator"
	"tilec/jit/compile"
	"tilec/jit/cuda"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/stdlib"
)

// toTF32 is a number rounded to nearest even at 10 bits of fraction.
func toTF32(x float32) float32 {
	bits := math.Float32bits(x)
	return math.Float32frombits((bits + 0xfff + bits>>13&1) &^ 0x1fff)
}

// Products of f32 by wgmma take operands in either order of memory, but for both across the depth at once, and round each to
// nearest: an operand times a permutation is that operand, rounded.
func TestTF32OperandsAreRounded(t *testing.T) {
	const m, k, n = 152, 96, 132
	on, err := target.Find(target.Default)
	require.NoError(t, err)
	// matrix is stored [rows, columns], or [columns, rows].
	matrix := func(rows, columns int, turned bool, at func(r, c int) float32) *Array {
		values := make([]float32, rows*columns)
		for r := range rows {
			for c := range columns {
				if turned {
					values[c*rows+r] = at(r, c)
				} else {
					values[r*columns+c] = at(r, c)
				}
			}
		}
		if turned {
			rows, columns = columns, rows
		}
		return Converted(lang.F32, values, int64(rows), int64(columns))
	}
	number := func(r, c int) float32 { // never between two numbers of tf32, where mma.sync rounds otherwise
		return (1 + float32((r*7919+c*104729)%8192*2+1)/32768) * float32((1+(r+c)%5)*(1-r%2*2))
	}
	for _, c := range []struct {
		a, b                string // where elements lie
		turnedA, turnedB    bool
		BM, BN, BK          int64
		warps, stages, fits int64
	}{
		{"i, k", "k, j", false, false, 64, 64, 32, 4, 3, 1},
		{"i, k", "k, j", false, false, 256, 128, 32, 8, 3, 1},
		{"i, k", "k, j", false, false, 128, 128, 64, 4, 2, 1},
		{"i, k", "j, k", false, true, 128, 64, 32, 4, 4, 1},
		{"i, k", "j, k", false, true, 128, 128, 16, 8, 3, 1},
		{"k, i", "j, k", true, true, 128, 64, 32, 4, 3, 1},
		{"k, i", "k, j", true, false, 64, 64, 32, 4, 3, 0},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			dims := func(s string) string { return strings.NewReplacer("i", "M", "j", "N", "k", "K").Replace(s) }
			source := fmt.Sprintf(`
kernel product(a: f32[%s], b: f32[%s]) -> c: f32[M, N]
    grid i in M by BM, j in N by BN
{
    c[i, j] = for k in K by BK with acc = zeros(f32, i, j) {
        mma(a[%s], b[%s], acc)
    }
}`, dims(c.a), dims(c.b), c.a, c.b)
			pins := map[string]int64{"BM": c.BM, "BN": c.BN, "BK": c.BK, "warps": c.warps, "stages": c.stages}
			program, ds := Load("product.tile", []byte(source), nil)
			require.Empty(t, ds)
			s, err := Specialise(program.Kernels[0], Options{Dims: map[string]int64{"M": m, "K": k, "N": n}, Pins: pins})
			require.NoError(t, err)
			l, err := compile.Lower(s, on, nil)
			require.NoError(t, err)
			ptx, err := l.PTX()
			require.NoError(t, err)
			assert.Equal(t, c.fits == 1, strings.Contains(ptx, "wgmma.mma_async"))
			module, err := NewCompiler(emulator.New(on), nil).Load("product.tile", []byte(source))
			require.NoError(t, err)
			call := func(a, b *Array) []float64 {
				args := Args{"a": a, "b": b}
				for name, n := range pins {
					args[name] = n
				}
				out, err := module.Call("product", args)
				require.NoError(t, err)
				return out["c"].Floats()
			}
			one := func(p bool) float32 {
				if p {
					return 1
				}
				return 0
			}
			first := call(matrix(m, k, c.turnedA, number), matrix(k, n, c.turnedB, func(r, c int) float32 { return one(r == (c*5+1)%k) }))
			second := call(matrix(m, k, c.turnedA, func(r, c int) float32 { return one(c == (r*7+2)%k) }), matrix(k, n, c.turnedB, number))
			for i := range m {
				for j := range n {
					require.Equal(t, float64(toTF32(number(i, (j*5+1)%k))), first[i*n+j], "rows at %d, %d", i, j)
					require.Equal(t, float64(toTF32(number((i*7+2)%k, j))), second[i*n+j], "columns at %d, %d", i, j)
				}
			}
		})
	}
}

// The layers of language models, in f32, are multiplied by wgmma whichever way the weights are stored, with nothing kept in memory
// for want of registers, and no product waiting for the one before it.
func TestTF32Linears(t *testing.T) {
	sweep.Once(t)
	assembler, err := cuda.FindAssembler()
	if errors.Is(err, cuda.ErrNoAssembler) {
		if os.Getenv(cuda.AssemblerVariable) != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	require.NoError(t, err)
	on, err := target.Find(target.Default)
	require.NoError(t, err)
	text, err := stdlib.FS.ReadFile("nn.tile")
	require.NoError(t, err)
	program, ds := Load("std/nn.tile", text, nil)
	require.Empty(t, ds)
	for _, kernel := range []string{"linear_bias", "head"} { // weights stored [in, out] and [out, in]
		for i, m := range []int64{256, 1024, 8192} {
			if i%sweep.OneIn(2) == 1 {
				continue
			}
			for _, layer := range [][2]int64{{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}, {768, 50304}, {1024, 4096}, {4096, 1024}} {
				dims := map[string]int64{"M": m, "K": layer[0], "N": layer[1]}
				t.Run(fmt.Sprintf("%s %dx%dx%d", kernel, m, layer[0], layer[1]), func(t *testing.T) {
					t.Parallel()
					for _, k := range program.Kernels {
						if k.Name != kernel {
							continue
						}
						s, err := Specialise(k, Options{Dims: dims, Types: map[string]lang.DType{"T": lang.F32}})
						require.NoError(t, err)
						l, err := compile.Lower(s, on, nil)
						require.NoError(t, err)
						ptx, err := l.PTX()
						require.NoError(t, err)
						require.Contains(t, ptx, "wgmma.mma_async", l.Plan)
						if kernel == "linear_bias" { // threads store the sectors that they hold, however far rows lie apart
							assert.NotContains(t, ptx, "cp.async.bulk.tensor.2d.global.shared", l.Plan)
						}
						_, log, err := assembler.Compile(context.Background(), []byte(ptx), on.Name, cuda.CompileOptions{Verbose: true})
						require.NoError(t, err)
						assert.Contains(t, log, ", 0 bytes spill stores, 0 bytes spill loads", l.Plan)
						assert.NotRegexp(t, `C75\d\d`, log, l.Plan)
					}
				})
			}
		}
	}
}
