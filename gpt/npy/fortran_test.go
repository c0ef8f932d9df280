package npy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// columns is what numpy.save writes for numpy.asfortranarray([[0, 1, 2], [3, 4, 5]]) of the type <i2.
var columns = strings.Replace(numpyFile[:128], "False, ", "True,  ", 1) + "\x00\x00\x03\x00\x01\x00\x04\x00\x02\x00\x05\x00"

func TestFortranOrderIsReadRowByRow(t *testing.T) {
	got, err := Parse("f.npy", []byte(columns))
	require.NoError(t, err)
	require.Equal(t, Array{lang.I16, []int{2, 3}, []byte(numpyFile[128:])}, got)
}

func TestFortranOrderOfAnyShape(t *testing.T) {
	for _, shape := range [][]int{{}, {5}, {0}, {3, 0, 2}, {1, 4}, {4, 1}, {2, 3, 4}, {3, 1, 2, 2}} {
		n := 1
		for _, d := range shape {
			n *= d
		}
		// Each element is the number of its place in row-major order, put where Fortran order has it.
		data, want := make([]byte, n), make([]byte, n)
		for place := range n {
			at, step := 0, 1
			index := make([]int, len(shape))
			for d, rest := len(shape)-1, place; d >= 0; d-- {
				index[d], rest = rest%shape[d], rest/shape[d]
			}
			for d := range shape {
				at += index[d] * step
				step *= shape[d]
			}
			data[at], want[place] = byte(place), byte(place)
		}
		tuple := strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ")
		if len(shape) == 1 {
			tuple += ","
		}
		file := raw("{'descr': '|u1', 'fortran_order': True, 'shape': ("+tuple+")}", 0)
		got, err := Parse("f.npy", append(file, data...))
		require.NoError(t, err, "%v", shape)
		require.Equal(t, string(want), string(got.Data), "%v", shape)
	}
}
