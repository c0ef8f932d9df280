package reference

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/lang"
)

func TestEveryOperationHasAChapter(t *testing.T) {
	known := map[lang.Group]bool{}
	for _, c := range chapters {
		known[c.group] = true
	}
	for _, op := range lang.Ops() {
		r := op.Row()
		assert.True(t, known[r.Group], "operation %s is in group %q, which has no chapter", r.Name, r.Group)
		assert.Contains(t, rules, r.Rule, "operation %s has a type rule that there are no words for", r.Name)
	}
}

// A word that stands for several operations gives all of them.
func TestFindOperations(t *testing.T) {
	var written []string
	for _, o := range FindOperations("max") {
		written = append(written, o.Written)
	}
	assert.Equal(t, []string{"max(x, over k)", "max(a, b)"}, written)
	exp := FindOperations("exp")
	require.Len(t, exp, 1)
	assert.Equal(t, "2", exp[0].Ulp)
	assert.Equal(t, "a // b", FindOperations("//")[0].Written)
	assert.Empty(t, FindOperations("nothing"))
}

func TestOf(t *testing.T) {
	program, problems := jit.Load("my.tile", []byte(`// What is mine.
//
// And more.

/// Twice each.
@sizes(N = 4)
kernel twice(x: f32[N]) -> y: f32[N]
    tune B in {32, 64}
    grid i in N by B
{
    y[i] = half(x[i]) * 4
}

fn half(x) = x / 2

test "twice" {
    check twice([1.0]) == [2.0]
}
`), nil)
	require.Empty(t, problems)
	m := Of(program)
	assert.Equal(t, "my", m.Name)
	assert.Equal(t, "What is mine.\n\nAnd more.", m.About)
	require.Len(t, m.Entries, 2)
	k := m.Find("twice")
	require.NotNil(t, k)
	assert.Equal(t, Entry{
		Name: "twice", Kind: "kernel", Doc: "Twice each.",
		Signature: "kernel twice(x: f32[N]) -> y: f32[N]\n    tune B in {32, 64}\n    grid i in N by B",
		Axes:      []Axis{{Name: "i", Is: "grid", Over: "N", Extent: "B", Chosen: true, Choices: []int64{32, 64}}},
		Tests:     []Test{{"twice", "test \"twice\" {\n    check twice([1.0]) == [2.0]\n}"}},
	}, *k)
	assert.Equal(t, "fn half(x) = x / 2", m.Find("half").Signature)
	assert.Nil(t, m.Find("third"))
}
