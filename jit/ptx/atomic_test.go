package ptx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/plan"
)

// No run tells a missing barrier around an atomic from luck: only another block
// sees in which order a block's threads wrote. So the text is looked at.
func TestOrderOfAtomics(t *testing.T) {
	for _, c := range []struct {
		order, scope  string
		instruction   string
		before, after bool // whether the block waits for all its threads
	}{
		{"relaxed", "device", "red.relaxed.gpu.global.add", false, false},
		{"release", "device", "red.release.gpu.global.add", true, false},
		{"release", "system", "red.release.sys.global.add", true, false},
		{"acquire", "block", "atom.acquire.cta.global.add", false, true},
		{"acq_rel", "device", "atom.acq_rel.gpu.global.add", true, true},
	} {
		t.Run(c.order+" "+c.scope, func(t *testing.T) {
			f := parse(t, fmt.Sprintf(`kernel @k {
  dim N = 64
  dim 1 = 1
  tensor %%y : out i32[N] align 16
  tensor %%n : inout i32[1] align 16
  axis p : whole N[0 .. 64]
body:
  %%0 = const 0 : i32
  %%1 = const 1 : i32
  %%2 = index p : i32{p}
  store %%y[%%2] = %%2
  atomic_add %%n[%%0] = %%1 order %s scope %s
}`, c.order, c.scope))
			text := compile(t, f, &plan.Plan{Extents: map[string]int64{}, Warps: 2}, "sm_90a").Text
			before, after, found := strings.Cut(text, c.instruction)
			require.True(t, found, text)
			_, before, _ = strings.Cut(before, "st.global")
			require.Equal(t, c.before, strings.Contains(before, "bar.sync"), text)
			require.Equal(t, c.after, strings.Contains(after, "bar.sync"), text)
		})
	}
}

// An exchange of which nobody takes what was there is a store of neighbours at once, a strong one, for other blocks may store there too; with an
// order, or of elements that share bytes, it stays what it is.
func TestExchangesThatAreStores(t *testing.T) {
	for _, c := range []struct{ dtype, order, has, hasNot string }{
		{"bf16", "", "st.relaxed.gpu.global.v2.b32", "atom."},
		{"f32", "", "st.relaxed.gpu.global.v4.f32", "atom."},
		{"u8", " order relaxed scope system", "st.relaxed.sys.global.b32", "atom."},
		{"f32", " order release", "atom.release.gpu.global.exch", "st.relaxed"},
		{"f4e2m1", "", "atom.global.cas.b32", "st.relaxed"},
	} {
		t.Run(c.dtype+c.order, func(t *testing.T) {
			f := parse(t, fmt.Sprintf(`kernel @k {
  dim N = 256
  tensor %%x : in %[1]s[N] align 16
  tensor %%y : inout %[1]s[N] align 16
  axis p : whole N[0 .. 256]
body:
  %%0 = index p : i32{p}
  %%1 = load %%x[%%0] : %[1]s{p}
  atomic_xchg %%y[%%0] = %%1%[2]s
}`, c.dtype, c.order))
			text := compile(t, f, &plan.Plan{Extents: map[string]int64{}, Warps: 2}, "sm_90a").Text
			require.Contains(t, text, c.has)
			require.NotContains(t, text, c.hasNot)
		})
	}
}
