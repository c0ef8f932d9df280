package jit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/jittest"
	"tilec/jit/target"
	"tilec/lang"
)

const columnsSource = `
kernel product<T: float>(x: T[M, K], w: T[K, N], b: T[N]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    let acc = for k in K by BK with acc = zeros(f32, i, j) { mma(x[i, k], w[k, j], acc) }
    y[i, j] = (acc + b[j] as f32) as T
}

kernel transposed<T: float>(x: T[M, K], w: T[N, K], b: T[N]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    let acc = for k in K by BK with acc = zeros(f32, i, j) { mma(x[i, k], w[j, k], acc) }
    y[i, j] = (acc + b[j] as f32) as T
}`

// pinned is a product with pins, and how many columns its instructions have.
type pinned struct {
	kernel  string
	d       lang.DType
	pins    map[string]int64
	columns int
}

// Of an operand that lies along the depth a block has any multiple of 8 or 16 positions, which are the columns of instructions of as many: of 16 bits the first operand is, where the
// second fills the rows.
func TestProductsOfAnyNumberOfColumns(t *testing.T) {
	checkProducts(t, []pinned{
		{"product", lang.BF16, map[string]int64{"BM": 160, "BN": 128, "BK": 64, "warps": 8, "stages": 4}, 160},
		{"product", lang.BF16, map[string]int64{"BM": 96, "BN": 64, "BK": 32, "warps": 4, "stages": 3}, 96},
		{"product", lang.F16, map[string]int64{"BM": 208, "BN": 128, "BK": 32, "warps": 8, "stages": 4, "persist": 1}, 208},
		{"product", lang.BF16, map[string]int64{"BM": 80, "BN": 256, "BK": 32, "warps": 4, "stages": 4, "persist": 2}, 80},
		{"product", lang.BF16, map[string]int64{"BM": 128, "BN": 96, "BK": 32, "warps": 4, "stages": 3}, 96},
		{"product", lang.BF16, map[string]int64{"BM": 104, "BN": 64, "BK": 32, "warps": 4, "stages": 3}, 64}, // turned matrices are stored by pairs of 8
		{"product", lang.F32, map[string]int64{"BM": 152, "BN": 128, "BK": 32, "warps": 8, "stages": 4}, 152},
		{"product", lang.F32, map[string]int64{"BM": 232, "BN": 128, "BK": 32, "warps": 8, "stages": 4, "persist": 1}, 232},
		{"transposed", lang.BF16, map[string]int64{"BM": 160, "BN": 64, "BK": 64, "warps": 4, "stages": 4}, 160},
		{"transposed", lang.BF16, map[string]int64{"BM": 128, "BN": 144, "BK": 64, "warps": 8, "stages": 4}, 144},
		{"transposed", lang.BF16, map[string]int64{"BM": 128, "BN": 208, "BK": 32, "warps": 8, "stages": 4, "persist": 1}, 208},
		{"transposed", lang.F32, map[string]int64{"BM": 128, "BN": 104, "BK": 32, "warps": 4, "stages": 4}, 104},
		{"transposed", lang.F32, map[string]int64{"BM": 128, "BN": 200, "BK": 32, "warps": 4, "stages": 4, "persist": 2}, 200},
	})
}

// Blocks of a cluster read their operands by descriptors from their own shared memory, in which the columns' operand has a panel behind the first: a descriptor has no room
// for the rank of the block, which an address has.
func TestProductsInClusters(t *testing.T) {
	checkProducts(t, []pinned{
		{"product", lang.BF16, map[string]int64{"BM": 64, "BN": 128, "BK": 32, "warps": 4, "stages": 4, "persist": 1, "cluster": 2}, 128},
		{"product", lang.BF16, map[string]int64{"BM": 128, "BN": 192, "BK": 32, "warps": 4, "stages": 4, "persist": 2, "cluster": 2}, 192},
		{"product", lang.BF16, map[string]int64{"BM": 64, "BN": 128, "BK": 32, "warps": 4, "stages": 3, "split": 2}, 128},
		{"transposed", lang.BF16, map[string]int64{"BM": 64, "BN": 128, "BK": 32, "warps": 4, "stages": 3, "split": 2}, 128},
		{"product", lang.F32, map[string]int64{"BM": 64, "BN": 128, "BK": 32, "warps": 4, "stages": 3, "split": 2}, 64},
	})
}

// checkProducts runs products and looks for instructions of so many columns. Sums of small integers are exact in any order.
func checkProducts(t *testing.T, cases []pinned) {
	machine, err := target.Find(target.Default)
	require.NoError(t, err)
	program, ds := jit.Load("columns.tile", []byte(columnsSource), nil)
	require.Empty(t, ds)
	k := jittest.Load(t, "columns.tile", columnsSource)
	for _, c := range cases {
		t.Run(fmt.Sprint(c.kernel, " ", c.d, " ", c.pins), func(t *testing.T) {
			t.Parallel()
			const m, n, depth = 424, 264, 96
			kernel := program.Kernels[0]
			if c.kernel == "transposed" {
				kernel = program.Kernels[1]
			}
			s, err := jit.Specialise(kernel, jit.Options{Types: map[string]lang.DType{"T": c.d}, Dims: map[string]int64{"M": m, "K": depth, "N": n}, Pins: c.pins})
			require.NoError(t, err)
			l, err := compile.Lower(s, machine, nil)
			require.NoError(t, err)
			ptx, err := l.PTX()
			require.NoError(t, err)
			assert.Contains(t, ptx, fmt.Sprintf("wgmma.mma_async.sync.aligned.m64n%dk", c.columns))
			assert.Equal(t, c.pins["persist"] > 0, strings.Contains(l.Plan.String(), "persist"), l.Plan.String())

			x, w := func(i, k int) float64 { return float64((i*7+k*5)%5 - 2) }, func(k, j int) float64 { return float64((k*3+j*11)%7 - 3) }
			first, second, bias := make([]float32, m*depth), make([]float32, depth*n), make([]float32, n)
			shape := []int64{depth, n}
			if c.kernel == "transposed" {
				shape = []int64{n, depth}
			}
			for p := range depth {
				for i := range m {
					first[i*depth+p] = float32(x(i, p))
				}
				for j := range n {
					at := p*n + j
					if c.kernel == "transposed" {
						at = j*depth + p
					}
					second[at], bias[j] = float32(w(p, j)), float32(j%3)
				}
			}
			y := k.Run(t, c.kernel, jit.Options{Pins: c.pins}, jit.Converted(c.d, first, m, depth), jit.Converted(c.d, second, shape...), jit.Converted(c.d, bias, n))[0]
			want := make([]float32, m*n)
			for i := range m {
				for j := range n {
					sum := float64(j % 3)
					for p := range depth {
						sum += x(i, p) * w(p, j)
					}
					want[i*n+j] = float32(sum)
				}
			}
			rounded := jit.Converted(c.d, want, m, n)
			jittest.Same(t, y, func(i int) float64 { return rounded.Float(i) })
		})
	}
}

// A product of such sizes as are planned for pairs of blocks is planned without where the blocks cannot be told apart by pairs, as those of more than 2^31 rows.
func TestWideRowsHaveNoPairs(t *testing.T) {
	machine, err := target.Find(target.Default)
	require.NoError(t, err)
	program, ds := jit.Load("columns.tile", []byte(columnsSource), nil)
	require.Empty(t, ds)
	for _, wide := range []bool{false, true} {
		s, err := jit.Specialise(program.Kernels[0], jit.Options{Types: map[string]lang.DType{"T": lang.BF16}, Dims: map[string]int64{"M": 1024, "K": 1000, "N": 1000}})
		require.NoError(t, err)
		s.Wide = wide
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		assert.Equal(t, !wide, l.Plan.Cluster == 2, "%s", l.Plan)
	}
}
