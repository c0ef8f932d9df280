package typecheck_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
	"tilec/parser"
	"tilec/typecheck"
	"tilec/typecheck/typed"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestWorks types programs that are right, and compares what they are with the dump beside them.
func TestWorks(t *testing.T) {
	paths, err := filepath.Glob("testdata/accepted/*.tile")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			p, ds := check(t, string(text))
			require.Empty(t, ds)
			golden(t, strings.TrimSuffix(path, ".tile")+".typed", p)
		})
	}
}

func golden(t *testing.T, path string, p *typed.Program) {
	var got bytes.Buffer
	require.NoError(t, typed.Write(&got, p))
	if *update {
		require.NoError(t, os.WriteFile(path, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run with -update to write it")
	assert.Equal(t, string(want), got.String())
}

// TestLanguageExamples types every example of the language's description.
func TestLanguageExamples(t *testing.T) {
	text, err := os.ReadFile("testdata/language.tile")
	require.NoError(t, err)
	p, ds := check(t, string(text))
	require.Empty(t, ds)
	golden(t, "testdata/language.typed", p)
}

// TestLibrary types the standard library and the language model.
func TestLibrary(t *testing.T) {
	read := func(path string) *lang.Module {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		m, ds := parser.Parse(lang.NewSource(path, string(text)))
		require.NoError(t, ds.Err())
		return m
	}
	load := func(path string, _ *lang.Module, _ lang.Span) (*lang.Module, lang.Diagnostics) {
		return read(filepath.Join("..", "stdlib", strings.TrimPrefix(path, "std/")+".tile")), nil
	}
	paths, err := filepath.Glob("../stdlib/*.tile")
	require.NoError(t, err)
	for _, path := range append(paths, "../gpt/gpt.tile") {
		_, ds := typecheck.Check(read(path), load)
		assert.Empty(t, ds, path)
	}
}

// TestRepeatable checks that typing twice says the same, in the same order.
func TestRepeatable(t *testing.T) {
	for _, text := range sources(t) {
		m, ds := parser.Parse(lang.NewSource("x.tile", text))
		if len(ds) > 0 {
			continue
		}
		_, first := typecheck.Check(m, nil)
		for range 3 {
			_, again := typecheck.Check(m, nil)
			require.Equal(t, first.Error(), again.Error())
		}
	}
}

// TestTypedProgram spells out what the IR builder relies on.
func TestTypedProgram(t *testing.T) {
	p, ds := check(t, `
kernel k<T: float, const C: bool = true>(x: T[B, N], s: f32 = 1e-5, inout z: f32[N]) -> y: T[B, N]
    tune BN in {64, 128}
    grid b in B, i in N by BN
{
    z[i] = x[0, i] as f32
    y[b, i] = x[b, i + 1] else 0
}
kernel loop(x: f32[M, K]) -> y: f32[M]
    grid i in M by 32
{
    y[i] = for k in K[4 ..] by BK with a = zeros(f32, i) { a + sum(x[i, k], over k) }
}
`)
	require.Len(t, ds, 1) // z[i] is written by every b
	require.Equal(t, lang.ErrRace, ds[0].Code)
	k := p.Kernels[0]
	require.Len(t, k.Params, 3)
	require.Len(t, k.Outputs, 1)
	assert.Equal(t, lang.Out, k.Outputs[0].Mode)
	assert.Equal(t, lang.InOut, k.Params[2].Mode)
	assert.False(t, k.Params[1].IsTensor)
	assert.Equal(t, 1e-5, k.Params[1].Default.Float)
	assert.Equal(t, int64(1), k.Consts[0].Default.Int)
	require.Len(t, k.Dims, 2)
	assert.True(t, k.Axes[0].Scalar)
	assert.Equal(t, "BN", k.Axes[1].Tile)
	assert.Equal(t, []int64{64, 128}, k.Axes[1].Choices)

	store := k.Body.Stmts[1].(*typed.Store)
	assert.Equal(t, []bool{false, false}, store.Checked)
	b := store.Indices[0].(*typed.Apply)
	assert.Equal(t, lang.OpStart, b.Op, "a scalar axis's position is its start")
	i := store.Indices[1].(*typed.Apply)
	assert.Equal(t, lang.OpIndex, i.Op)
	assert.Same(t, k.Axes[1], i.Axis)
	load := store.Value.(*typed.Load)
	assert.Equal(t, []bool{false, true}, load.Checked)
	assert.NotNil(t, load.Else)
	assert.Equal(t, k.TypeParams[0], load.Else.Types()[0].DType.Param)

	l := p.Kernels[1]
	f := l.Body.Stmts[0].(*typed.Store).Value.(*typed.For)
	assert.Equal(t, typed.LoopAxis, f.Axis.Kind)
	assert.Equal(t, int64(4), f.Lo.(*typed.Const).Int)
	assert.Equal(t, "K", f.Hi.(*typed.SizeExpr).Size.String())
	assert.Equal(t, []int64{32}, l.Axes[0].Choices)
	assert.Empty(t, l.Axes[0].Tile)
	assert.Same(t, f.Axis, l.Axes[1])
}
