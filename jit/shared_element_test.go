package jit_test

import (
	"fmt"
	"testing"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// Loads at quotients of positions, of which several have one element, give each position its own: in blocks and steps that begin in the middle of an element's positions, of ragged ends, beside positions
// of the same axis, of two axes at once, and where the tensor ends before the positions do.
func TestPositionsThatShareAnElement(t *testing.T) {
	const source = `
kernel rows<W: any>(w: W[M, N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = w[i, index(j) // 3] as f32
}

kernel columns<W: any>(w: W[M, N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = w[index(i) // 20, j] as f32
}

kernel both<W: any>(w: W[M, N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = w[index(i) // 2, index(j) // 16] as f32
}

kernel beside<W: any>(w: W[N, N]) -> y: f32[N]
    grid j in N by BN
{
    y[j] = w[index(j) // 2, j] as f32
}

kernel short<W: any>(w: W[M, K], x: f32[N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = (w[i, index(j) // 2] else 3) as f32 + x[j] * 0.0
}

kernel steps<W: any>(w: W[M, N]) -> y: f32[M]
    grid i in M by BM
{
    y[i] = for j in N by BN with acc = zeros(f32, i) { acc + sum(w[i, index(j) // 5] as f32 * (index(j) % 7) as f32, over j) }
}
`
	k := jittest.Load(t, "shared.tile", source)
	type element func(i, j int) float64
	for kernel, want := range map[string]func(w element, n int) element{
		"rows":    func(w element, _ int) element { return func(i, j int) float64 { return w(i, j/3) } },
		"columns": func(w element, _ int) element { return func(i, j int) float64 { return w(i/20, j) } },
		"both":    func(w element, _ int) element { return func(i, j int) float64 { return w(i/2, j>>4) } },
		"beside":  func(w element, _ int) element { return func(_, j int) float64 { return w(j/2, j) } },
		"short": func(w element, n int) element {
			return func(i, j int) float64 {
				if j/2 >= n/4 {
					return 3
				}
				return w(i, j/2)
			}
		},
		"steps": func(w element, n int) element {
			return func(i, _ int) float64 {
				sum := 0.0
				for j := range n {
					sum += w(i, j/5) * float64(j%7)
				}
				return sum
			}
		},
	} {
		for _, d := range []lang.DType{lang.U8, lang.BF16, lang.I32, lang.F4E2M1} {
			for _, size := range [][2]int{{5, 70}, {33, 64}, {64, 37}} {
				for _, pins := range []map[string]int64{nil, {"BM": 8, "BN": 16}, {"BM": 4, "BN": 64}} {
					t.Run(fmt.Sprint(kernel, " ", d, " ", size, " ", pins), func(t *testing.T) {
						m, n, pinned := size[0], size[1], pins
						rows, columns := m, n
						switch kernel {
						case "beside":
							rows = n
							if pins != nil {
								pinned = map[string]int64{"BN": pins["BN"]}
							}
						case "short":
							columns = n / 4
						}
						w := small(d, int64(rows), int64(columns))
						args := []any{w}
						if kernel == "short" {
							args = append(args, small(lang.F32, int64(n)))
						}
						at := want(func(i, j int) float64 { return w.Float(i*columns + j) }, n)
						got := k.Run(t, kernel, jit.Options{Pins: pinned}, args...)[0]
						width := n
						if kernel == "steps" {
							width = 1
						}
						jittest.Same(t, got, func(i int) float64 { return at(i/width, i%width) })
					})
				}
			}
		}
	}
}
