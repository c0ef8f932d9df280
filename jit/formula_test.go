package jit

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/target"
)

// A formula is planned and compiled as the kernels that somebody would write for it by hand.
func TestFormulasAreAsGoodAsKernels(t *testing.T) {
	names := regexp.MustCompile(`(?m)^\s*(//|\.loc|\.file|\.visible \.entry).*\n`)
	bare := func(text string) string { return names.ReplaceAllString(text, "") }
	for _, c := range []struct{ name, formula, hand string }{
		{"product", `kernel f(a: bf16[M, K], b: bf16[K, N], c: bf16[N]) -> y: bf16[M, N] {
    y[i, j] = max(sum(a[i, k] * b[k, j], over k) + (c[j] as f32), 0) as bf16
}`, `kernel f(a: bf16[M, K], b: bf16[K, N], c: bf16[N]) -> y: bf16[M, N]
    grid i in M by BM, j in N by BN
{
    let acc = for k in K by BK with acc = zeros(f32, i, j) { mma(a[i, k], b[k, j], acc) }
    y[i, j] = max(acc + (c[j] as f32), 0) as bf16
}`},
		{"softmax", `kernel f(a: f32[M, K]) -> y: f32[M, K] {
    let e = exp(a[i, k] - max(a[i, k], over k))
    y[i, k] = e / sum(e, over k)
}`, `kernel f(a: f32[M, K]) -> y: f32[M, K]
    grid i in M by BM
{
    axis k in K
    let e = exp(a[i, k] - max(a[i, k], over k))
    y[i, k] = e / sum(e, over k)
}`},
		{"batched", `kernel f(a: f32[B, M, K], b: f32[B, N, K]) -> y: f32[B, M, N] {
    y[z, i, j] = sum(a[z, i, k] * b[z, j, k], over k)
}`, `kernel f(a: f32[B, M, K], b: f32[B, N, K]) -> y: f32[B, M, N]
    grid z in B by BB, i in M by BM, j in N by BN
{
    axis k in K
    y[z, i, j] = dot(a[z, i, k], b[z, j, k], over k)
}`},
		{"transpose", `kernel f(a: f32[M, K]) -> y: f32[K, M] { y[k, i] = a[i, k] + 1 }`,
			`kernel f(a: f32[M, K]) -> y: f32[K, M]
    grid k in K by BK, i in M by BM
{
    y[k, i] = a[i, k] + 1
}`},
		{"parts", `kernel f(a: f32[M, K]) -> (r: f32[M], c: f32[K], y: f32[M, K]) {
    r[i] = sum(a[i, k], over k)
    c[k] = sum(a[i, k], over i)
    y[i, k] = r[i] * c[k]
}`, `kernel f1(a: f32[M, K]) -> r: f32[M]
    grid i in M by BI
{
    axis k in K
    r[i] = sum(a[i, k], over k)
}
kernel f2(a: f32[M, K]) -> c: f32[K]
    grid k in K by BK
{
    axis i in M
    c[k] = sum(a[i, k], over i)
}
kernel f3(r: f32[M], c: f32[K]) -> y: f32[M, K]
    grid i in M by BI, k in K by BK
{
    y[i, k] = r[i] * c[k]
}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, machine := range []string{"sm_90a", "sm_80", "cpu"} {
				to, err := target.Find(machine)
				require.NoError(t, err)
				lowered := func(source string) (ls []*Lowered) {
					program, ds := Load("f.tile", []byte(source), nil)
					require.Empty(t, ds)
					for _, k := range program.Kernels {
						s, err := Specialise(k, Options{Dims: map[string]int64{"B": 4, "M": 1000, "N": 768, "K": 30000}})
						require.NoError(t, err)
						for _, launch := range s.Launches() {
							l, err := Lower(launch, to, nil)
							require.NoError(t, err)
							ls = append(ls, l)
						}
					}
					return ls
				}
				formulas, hands := lowered(c.formula), lowered(c.hand)
				require.Equal(t, len(hands), len(formulas))
				for i, hand := range hands {
					formula := formulas[i]
					assert.Equal(t, hand.Plan.String(), formula.Plan.String())
					if !to.IsGPU() {
						continue
					}
					f, err := formula.PTX()
					require.NoError(t, err)
					h, err := hand.PTX()
					require.NoError(t, err)
					same := bare(f) == bare(h)
					assert.True(t, same, "%s: the code differs, %d lines and %d by hand", machine, strings.Count(f, "\n"), strings.Count(h, "\n"))
				}
			}
		})
	}
}
