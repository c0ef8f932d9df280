package pass

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A mean of products of f32 is no contraction, whose factors may be rounded to tf32; nor does a kernel that asks for ieee have its sums made another way.
func TestMeansOfF32Stay(t *testing.T) {
	const narrow, wide = "%3 = load %a[%0, %2] : bf16{i, k}\n  %4 = cast %3 : f32{i, k}", "%4 = load %a[%0, %2] : f32{i, k}"
	require.Contains(t, factors.Before, narrow)
	for _, text := range []string{
		strings.NewReplacer("tensor %a : in bf16", "tensor %a : in f32", narrow, wide).Replace(factors.Before),
		strings.Replace(factors.Before, "mean %9 over k", "mean %9 over k precision ieee", 1),
	} {
		changed, err := factors.Run(parse(t, text), &Options{})
		require.NoError(t, err)
		assert.False(t, changed)
	}
}
