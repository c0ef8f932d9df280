package jit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/lang"
)

// A name of the standard library that is not imported is found there, and the edit imports it.
func TestUnknownNamesOfTheLibrary(t *testing.T) {
	for source, message := range map[string]string{
		"graph g(x: f32[M, N]) -> y: f32[M, N] {\n    y = softmax(x)\n}\n":                          "it is a kernel of the standard library, which graphs call: `import \"std/nn\"`",
		"import \"std/math\"\n\ngraph g(x: f32[M, N]) -> y: f32[N, M] {\n    y = transpose(x)\n}\n": "it is a kernel of the standard library, which graphs call: `import \"std/array\"`",
		"kernel k(x: f32[N]) -> y: f32[N] {\n    y[i] = gelu(x[i])\n}\n":                            "it is a function of the standard library: `import \"std/math\"`",
	} {
		_, ds := jit.Load("k.tile", []byte(source), nil)
		require.Len(t, ds, 1, source)
		require.NotNil(t, ds[0].Fix)
		assert.Equal(t, message, ds[0].Fix.Message)
		require.Len(t, ds[0].Fix.Edits, 1)
		e := ds[0].Fix.Edits[0]
		fixed := source[:e.At.Start] + e.New + source[e.At.End:]
		_, ds = jit.Load("k.tile", []byte(fixed), nil)
		assert.Empty(t, ds, fixed)
	}
	_, ds := jit.Load("k.tile", []byte("kernel k(x: f32[N]) -> y: f32[N] {\n    y[i] = zzyzx(x[i])\n}\n"), nil)
	require.Len(t, ds, 1)
	assert.Nil(t, ds[0].Fix)
}

// A view that memory cannot show says what to do instead.
func TestAViewThatNeedsACopy(t *testing.T) {
	module := loadExample(`graph g(x: f32[M, N]) -> y: f32[M, 2] {
    y = view(view(x[.., 0 .. 2], [2 * M]), [M, 2])
}
`)
	_, err := module.Call("g", jit.Args{"x": jit.ArrayOf(make([]float32, 12), 4, 3)})
	d := &lang.Diagnostic{}
	require.ErrorAs(t, err, &d)
	assert.Equal(t, lang.ErrArgShape, d.Code)
	require.NotNil(t, d.Fix)
	assert.Contains(t, d.Fix.Message, "take the view first")

	module = loadExample(`graph g(x: f32[M, N]) -> y: f32[M, 2] {
    y = view(x[.., 0 .. 2], [M, 2])
}
`)
	_, err = module.Call("g", jit.Args{"x": jit.ArrayOf(make([]float32, 4), 4, 1)})
	require.ErrorAs(t, err, &d)
	require.NotNil(t, d.Fix)
	assert.Contains(t, d.Fix.Message, "ends at 1 or before")
}

// The import that an unknown name needs is put where it may stand, and only where the name may be used.
func TestImportsThatAreProposed(t *testing.T) {
	for _, c := range []struct {
		name, text string
		edits      bool
	}{
		{"first", "fn f(x) = gelu(x)\n", true},
		{"under a comment", "// A file.\n\n/// f.\nfn f(x) = gelu(x)\n", true},
		{"behind another", "import \"std/math\"  // gelu is elsewhere\n\ngraph g(x: f32[M, N]) -> y: f32[M, N] { y = softmax(x) }\n", true},
		{"under a byte order mark", "\ufefffn f(x) = gelu(x)\n", true},
		{"on the line of the declaration", "import \"std/math\"\ngraph g(x: f32[M, N]) -> y: f32[M, N] { y = softmax(x) }\n", true},
		{"of a kernel in a kernel", "kernel k(x: f32[M, N]) -> y: f32[M, N] { y[i, j] = softmax(x[i, j]) }\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, ds := jit.Load("f.tile", []byte(c.text), nil)
			require.Len(t, ds, 1)
			require.NotNil(t, ds[0].Fix)
			if !c.edits {
				assert.Empty(t, ds[0].Fix.Edits)
				return
			}
			require.Len(t, ds[0].Fix.Edits, 1)
			e := ds[0].Fix.Edits[0]
			_, ds = jit.Load("f.tile", []byte(c.text[:e.At.Start]+e.New+c.text[e.At.End:]), nil)
			assert.Empty(t, ds)
		})
	}
}
