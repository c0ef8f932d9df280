package jit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// chains are graphs whose launches may store what the next one reads laid out anew.
const chains = `
@relayout(2)
kernel conv<T: float>(x: T[N, C, H, W], w: T[O, C, R, S]) -> y: T[N, O, H, W] {
    y[n, o, h, v] = sum((x[n, c, h + r - R / 2, v + s - S / 2] else 0) * w[o, c, r, s], over (c, r, s)) as T
}

kernel pool<T: float>(x: T[N, C, H, W]) -> y: T[N, C, H / 2, W / 2] {
    y[n, c, h, v] = max(max(x[n, c, 2 * h, 2 * v], x[n, c, 2 * h, 2 * v + 1]), max(x[n, c, 2 * h + 1, 2 * v], x[n, c, 2 * h + 1, 2 * v + 1]))
}

kernel capped<T: float>(x: T[N, C, H, W]) -> y: T[N, C, H, W] { y[n, c, h, w] = max(min(x[n, c, h, w], 3), -2) }

@relayout(2)
kernel product(x: bf16[M, K], w: bf16[K, N]) -> y: bf16[M, N] { y[i, j] = sum(x[i, k] * w[k, j], over k) as bf16 }

kernel most(x: bf16[M, N]) -> y: bf16[M, N] { y[i, j] = max(min(x[i, j], max(x[i, k], over k) - 3), -2) }

graph two<T: float>(x: T[N, C, H, W], w: T[C, C, 3, 3]) -> y: T[N, C, H, W] { y = capped(conv(capped(conv(x, w)), w)) }

graph pooled<T: float>(x: T[N, C, H, W], w: T[C, C, 3, 3]) -> y: T[N, C, H / 2, W / 2] { y = conv(pool(capped(conv(x, w))), w) }

graph residual<T: float>(x: T[N, C, H, W], w: T[C, C, 3, 3]) -> y: T[N, C, H, W] {
    let h = capped(conv(x, w) + x)
    let h = capped(conv(h, w) + h)
    y = conv(h, w) + h
}

graph kept<T: float>(x: T[N, C, H, W], w: T[C, C, 3, 3]) -> (y: T[N, C, H, W], z: T[N, C, H, W]) {
    let h = conv(x, w)
    let g = capped(h)
    y = conv(g, w)
    z = h + g
}

graph given<T: float>(x: T[N, C, H, W], w: T[C, C, 3, 3]) -> (y: T[N, C, H, W], z: T[N, C, H, W]) {
    let h = capped(conv(x, w))
    y = conv(h, w)
    z = h
}

graph flat<T: float>(x: T[N, C, H, W], w: T[C, C, 3, 3]) -> (y: T[N, C, H, W], z: T[N, C]) {
    let h = capped(conv(x, w))
    y = conv(h, w)
    z = sums(view(h, [N, C, H * W]))
}

kernel sums<T: float>(x: T[N, C, P]) -> y: T[N, C] { y[n, c] = sum(x[n, c, p] as f32, over p) as T }

kernel norm<T: float>(x: T[N, C, P]) -> y: T[N, C, P] {
    let m = max(x[n, c, p], over (n, p))
    y[n, c, p] = x[n, c, p] - m + 2
}

graph normed<T: float>(x: T[N, C, H, W], w: T[C, C, 3, 3]) -> y: T[N, C, H, W] {
    let h = capped(conv(x, w))
    let h = capped(view(norm(view(h, [N, C, H * W])), [N, C, H, W]))
    y = conv(h, w)
}

graph rows(x: bf16[M, K], w: bf16[K, K]) -> y: bf16[M, K] { y = product(most(product(most(x), w)), w) }
`

// Launches store what the next ones read laid out anew, so that one copy is left of an image and one of the weights, and what comes out is what it was: of convolutions one behind the other,
// with pooling between them, and with what is added to a result that the convolution has read too. What a graph gives, and what it sees in another shape, stays as it is declared; so do results
// that are read so as well.
func TestLaunchesStoreAsIsRead(t *testing.T) {
	sweep.OnceEmulated(t)
	d := jittest.Device(t)
	if !d.Target().Has(target.TMA) {
		emulator, err := jit.OpenDevice("emu")
		require.NoError(t, err)
		defer emulator.Close()
		d = emulator
	}
	cpu, err := jit.OpenDevice("cpu")
	require.NoError(t, err)
	defer cpu.Close()
	compiler := jit.NewCompiler(d, nil)
	module, err := compiler.Load("chains.tile", []byte(chains))
	require.NoError(t, err)
	onCPU, err := jit.NewCompiler(cpu, nil).Load("chains.tile", []byte(chains))
	require.NoError(t, err)
	program, problems := jit.Load("chains.tile", []byte(chains), nil)
	require.Empty(t, problems)
	for _, c := range []struct {
		graph  string
		copies int
	}{{"two", 2}, {"pooled", 2}, {"residual", 2}, {"kept", 2}, {"given", 3}, {"flat", 2}, {"normed", 2}, {"rows", 1}} {
		of := []lang.DType{lang.F32, lang.BF16}
		x, w := []int64{2, 32, 12, 16}, []int64{32, 32, 3, 3}
		if c.graph == "rows" {
			of, x, w = of[1:], []int64{70, 75}, []int64{75, 75}
		}
		for _, dtype := range of[:max(1, len(of)/sweep.OneIn(2))] {
			args := jit.Args{"x": small(dtype, x...), "w": small(dtype, w...)}
			text := ""
			g := program.Graphs[slices.IndexFunc(program.Graphs, func(g *typed.Graph) bool { return g.Name == c.graph })]
			p, err := compiler.BindGraph(g, []jit.Value{valueOf(t, d, args["x"].(*jit.Array)), valueOf(t, d, args["w"].(*jit.Array))}, jit.Options{Dump: func(pass string, after lang.Listing) { text = after.String() }})
			require.NoError(t, err)
			p.Close()
			assert.Equal(t, c.copies, strings.Count(text, "= relayout("), "%s of %s: %s", c.graph, dtype, text)
			got, err := module.Call(c.graph, args)
			require.NoError(t, err)
			want, err := onCPU.Call(c.graph, args)
			require.NoError(t, err)
			for name := range want {
				assert.Equal(t, want[name].Data, got[name].Data, "%s of %s: %s", c.graph, dtype, name)
			}
		}
	}
}
