package pass

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
)

// Small whole powers are products, quotients by powers of two products with their inverses; others stay, and so do those of narrow floats, which would
// round more often.
func TestPowersAndQuotients(t *testing.T) {
	for _, c := range []struct{ dtype, op, constant, want string }{
		{"f32", "pow", "2", "mul"},
		{"f32", "pow", "3", "mul mul"},
		{"f32", "pow", "4", "mul mul"},
		{"f32", "pow", "-1", "div"},
		{"f32", "pow", "5", "pow"},
		{"f32", "pow", "0.5", "pow"},
		{"bf16", "pow", "2", "mul"},
		{"bf16", "pow", "3", "pow"},
		{"f32", "div", "4096", "mul"},
		{"f32", "div", "-0.125", "mul"},
		{"f16", "div", "64", "mul"},
		{"f32", "div", "3", "div"},
		{"f32", "div", "0", "div"},
		{"f32", "div", "1e-45", "div"}, // whose inverse is beyond f32
	} {
		f, err := ir.Parse("k", fmt.Sprintf(`kernel @k {
  dim N = 8
  tensor %%x : in %[1]s[N]
  tensor %%y : out %[1]s[N]
  axis i : grid N by B = ?
body:
  %%0 = index i : i32{i}
  %%1 = load %%x[%%0] : %[1]s{i}
  %%2 = const %[3]s : %[1]s
  %%3 = %[2]s %%1, %%2 : %[1]s{i}
  store %%y[%%0] = %%3
}
`, c.dtype, c.op, c.constant))
		require.NoError(t, err)
		require.NoError(t, Run(f, Options{Verify: true}))
		var got []string
		for _, op := range f.Body.Ops {
			if name := op.Code.String(); name == "mul" || name == "div" || name == "pow" {
				got = append(got, name)
			}
		}
		assert.Equal(t, c.want, strings.Join(got, " "), "%s %s %s", c.dtype, c.op, c.constant)
	}
}
