package cpu

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// onAllLoops runs a test with the loops of every set of instructions that this machine has, and with those in Go.
func onAllLoops(t *testing.T, f func(t *testing.T)) {
	for _, m := range []struct {
		name          string
		vectors, wide bool
	}{{"Go", false, false}, {"AVX2", true, false}, {"AVX-512", true, true}} {
		t.Run(m.name, func(t *testing.T) {
			defer UseVectors(UseVectors(m.vectors))
			defer UseWide(UseWide(m.wide))
			if vectors != m.vectors || wide != m.wide {
				t.Skip("this machine has not these instructions")
			}
			f(t)
		})
	}
}

// TestMultiplyRows compares the innermost loops with the chains that they are to be, of every number of rows and columns, and
// sees that they write nothing else.
func TestMultiplyRows(t *testing.T) {
	onAllLoops(t, func(t *testing.T) {
		var r noise
		for _, rows := range []int{1, 2, 4, 6} {
			for n := 1; n < 140; n += 1 + n/50 {
				for _, k := range []int{1, 2, 7} {
					for _, fresh := range []bool{false, true} {
						stride := n + 3
						a, b, c := r.floats(rows*k), r.floats(k*stride), r.floats(rows*stride)
						got := append([]float32(nil), c...)
						multiplyRows(rows, n, k, ptr(got), stride*4, ptr(a), ptr(b), stride*4, 0, fresh, false)
						for i := range rows {
							for j := range n {
								s := c[i*stride+j]
								if fresh {
									s = 0
								}
								for p := range k {
									s = fma32(a[p*rows+i], b[p*stride+j], s)
								}
								if fresh {
									s = c[i*stride+j] + s
								}
								c[i*stride+j] = s
							}
						}
						require.Equal(t, c, got, "%d rows, %d columns, %d steps, fresh: %t", rows, n, k, fresh)
					}
				}
			}
		}
	})
}

// TestProductBits compares products of every form with the chains that multiply32 promises: they depend neither on the number
// of rows, nor on how the operands lie in memory, nor on the instructions.
func TestProductBits(t *testing.T) {
	const most, n = 40, 150
	for _, k := range []int{603, 544, 24} { // chains with an end of any length, and of whole registers
		for _, d := range []lang.DType{lang.F32, lang.BF16, lang.F16} {
			t.Run(fmt.Sprintf("%s %d", d, k), func(t *testing.T) { testProductBits(t, d, most, n, k) })
		}
	}
}

func testProductBits(t *testing.T, d lang.DType, most, n, k int) {
	var r noise
	a, b, c := r.floats(most*k), r.floats(k*n), r.floats(most*n)
	for _, x := range [][]float32{a, b} {
		for i := range x {
			x[i] = d.Round(x[i])
		}
	}
	want := append([]float32(nil), c...)
	for i := range most {
		for j := range n {
			for p := 0; p < k; p += blockK {
				s := float32(0)
				for q := p; q < min(p+blockK, k); q++ {
					s = fma32(a[i*k+q], b[q*n+j], s)
				}
				want[i*n+j] += s
			}
		}
	}
	stored := func(x []float32, rows, cols int, transposed bool) matrix {
		m := matrix{row: cols, col: 1, size: d.Size(), bf16: d == lang.BF16}
		if transposed {
			m.row, m.col = 1, rows
		}
		data, store := make([]byte, len(x)*m.size), storer(d)
		for i := range rows {
			for j := range cols {
				store(unsafe.Pointer(&data[(i*m.row+j*m.col)*m.size]), 1, unsafe.Pointer(&x[i*cols+j]), 1, 1)
			}
		}
		if m.p = ptr(data); d != lang.F32 {
			m.load = loader(d)
		}
		return m
	}
	onAllLoops(t, func(t *testing.T) {
		for form := range 8 {
			for _, m := range []int{1, 2, 3, 5, 6, 7, 16, 17, most} {
				fr := newFrame(0, 0)
				got := append([]float32(nil), c[:m*n]...)
				to := matrix{p: ptr(got), row: n, col: 1, size: 4}
				x, y := stored(a[:m*k], m, k, form&1 != 0), stored(b, k, n, form&2 != 0)
				if form&4 == 0 {
					multiply32(fr, m, n, k, x, y, to)
				} else { // what is computed is the transposed product
					multiply32(fr, n, m, k, y.transpose(), x.transpose(), to.transpose())
				}
				fr.release()
				for i, g := range got {
					if math.Float32bits(g) != math.Float32bits(want[i]) {
						t.Fatalf("form %d, %d rows: element %d is %v, want %v", form, m, i, g, want[i])
					}
				}
			}
		}
	})
}
