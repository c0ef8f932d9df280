package ptx

import (
	"encoding/binary"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/plan"
)

const sortText = `kernel @sorted {
  dim M = ?
  dim N = 1024
  tensor %x : in i32[M, N]
  tensor %y : out i32[M, N]
  axis i : grid M by BM = ?
  axis j : whole N[0 .. 1024]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : i32{i, j}
  %3 = sort %2 over j : i32{i, j}
  store %y[%0, %1] = %3
}
`

// The words of a sort do not meet in banks, whether the words of a thread are neighbours or far apart.
func TestSortedWordsMeetInNoBank(t *testing.T) {
	const rows, columns = 2, 1024
	m := compile(t, parse(t, sortText), &plan.Plan{Extents: map[string]int64{"i": rows}, Warps: 4, Stages: 1}, "sm_90a")
	tensors := [][]byte{make([]byte, 4*rows*columns), make([]byte, 4*rows*columns)}
	values := make([]int32, rows*columns)
	r := rand.New(rand.NewSource(1))
	for i := range values {
		values[i] = int32(r.Intn(500))
		binary.LittleEndian.PutUint32(tensors[0][4*i:], uint32(values[i]))
	}
	report := emulate(t, m, tensors, nil, func(d *ir.Dim) int64 { return max(d.Value, rows) })
	for i := range rows {
		order := make([]int, columns)
		for j := range order {
			order[j] = j
		}
		slices.SortStableFunc(order, func(a, b int) int { return int(values[i*columns+a] - values[i*columns+b]) })
		for j, from := range order {
			require.Equal(t, uint32(from), binary.LittleEndian.Uint32(tensors[1][4*(i*columns+j):]), "row %d, place %d", i, j)
		}
	}
	passes, ideal := int64(0), int64(0)
	for _, a := range report.Accesses {
		if a.Space == "shared" {
			t.Logf("%s: %d, ideal %d", a.Instruction, a.Wavefronts, a.Ideal)
			passes, ideal = passes+a.Wavefronts, ideal+a.Ideal
		}
	}
	require.Positive(t, ideal)
	require.LessOrEqual(t, float64(passes), 1.05*float64(ideal), "passes over the banks")
}
