package jit_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/lang"
)

// Softmaxes of whole axes.
const onlineSource = `
kernel attend<T: float>(q: T[B, S, D], k: T[B, P, D], v: T[B, P, E], scale: f32) -> y: T[B, S, E] {
    let t = where(index(p) <= index(s), scale * sum(q[b, s, d] * k[b, p, d], over d), -inf)
    let e = exp(t - max(t, over p))
    y[b, s, c] = (sum((e / sum(e, over p)) as T * v[b, p, c], over p)) as T
}

@precision(ieee)
kernel strict<T: float>(q: T[B, S, D], k: T[B, P, D], v: T[B, P, E], scale: f32) -> y: T[B, S, E] {
    let t = scale * sum(q[b, s, d] * k[b, p, d], over d)
    let e = exp(t - max(t, over p))
    y[b, s, c] = (sum(e as T * v[b, p, c], over p) / sum(e, over p)) as T
}

@online(1)
kernel apart<T: float>(q: T[B, S, D], k: T[B, P, D], v: T[B, P, D]) -> y: T[B, S, D]
    grid b in B, s in S by BM
{
    axis d in D
    axis p in P
    let t = dot(q[b, s, d], k[b, p, d], over d)
    let e = exp(t - max(t, over p))
    y[b, s, d] = (dot(e as T, v[b, p, d], over p) / sum(e, over p)) as T
}

kernel logs(x: f32[M, N]) -> y: f32[M, N]
    grid i in M by BM
{
    axis j in N
    let d = x[i, j] - max(x[i, j], over j)
    y[i, j] = d - log(sum(exp(d), over j))
}
`

// A softmax is one loop where its rows do not fit a block, or are a product; of attention with columns for two blocks' instructions too. Rows that a block has at once, and weights whose
// rounding is to be as it is written, keep their passes.
func TestSoftmaxesAreOneLoop(t *testing.T) {
	sweep.Once(t)
	program, problems := jit.Load("online.tile", []byte(onlineSource), nil)
	require.Empty(t, problems)
	machine, err := target.Find(target.Default)
	require.NoError(t, err)
	lowered := func(kernel int, d lang.DType, dims map[string]int64) *compile.Lowered {
		o := jit.Options{Dims: dims}
		if d.IsValid() {
			o.Types = map[string]lang.DType{"T": d}
		}
		s, err := jit.Specialise(program.Kernels[kernel], o)
		require.NoError(t, err)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		return l
	}
	for _, size := range []int64{64, 128, 256} {
		l := lowered(0, lang.BF16, map[string]int64{"B": 32, "S": 2048, "P": 2048, "D": size, "E": size})
		assert.Equal(t, 2, l.Plan.Online, "%d channels", size)
		assert.Empty(t, l.Plan.Chunks, "%d channels are a product's depth at once", size)
		text, err := l.Block()
		require.NoError(t, err)
		assert.Equal(t, 2, strings.Count(text, "@product by wgmma"), "the scores are made once")
	}
	assert.NotContains(t, lowered(2, lang.BF16, map[string]int64{"B": 32, "S": 2048, "P": 2048, "D": 128}).Plan.Chunks, "d", "which would make the scores anew for each step of it")
	assert.Zero(t, lowered(1, lang.BF16, map[string]int64{"B": 32, "S": 2048, "P": 2048, "D": 64, "E": 64}).Plan.Online)
	assert.Equal(t, 2, lowered(3, lang.Invalid, map[string]int64{"M": 256, "N": 1 << 22}).Plan.Online)
	assert.Zero(t, lowered(3, lang.Invalid, map[string]int64{"M": 4096, "N": 1024}).Plan.Online)
	assert.Zero(t, lowered(3, lang.Invalid, map[string]int64{"M": 4096, "N": 50304}).Plan.Online)
}
