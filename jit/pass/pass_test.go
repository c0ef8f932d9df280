package pass

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
)

func parse(t testing.TB, text string) *ir.Func {
	t.Helper()
	f, err := ir.Parse("kernel", text)
	require.NoError(t, err, text)
	return f
}

// Each row's example is its test, and After is a fixed point.
func TestExamples(t *testing.T) {
	for _, p := range Passes() {
		t.Run(p.Name, func(t *testing.T) {
			f := parse(t, p.Before)
			o := &Options{Verify: true, Chunks: p.Chunks, Few: p.Few, Ranges: p.Ranges, Matrix: p.Matrix, Online: p.Online, Shared: p.Shared, Threads: p.Threads}
			changed, err := p.Run(f, o)
			require.NoError(t, err)
			assert.True(t, changed)
			require.NoError(t, ir.Verify(f))
			assert.Equal(t, p.After, f.String())
			changed, err = p.Run(f, o)
			require.NoError(t, err)
			assert.False(t, changed)
			assert.Equal(t, p.After, f.String())
			assert.NotEmpty(t, p.Doc)
		})
	}
}

func kernels(t testing.TB) map[string]string {
	files, err := filepath.Glob("../ir/testdata/*.tir")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts[filepath.Base(file)] = string(text)
	}
	return texts
}
