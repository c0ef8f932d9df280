package dense

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/lang"
)

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		dtype lang.DType
		shape []int
		want  int
	}{
		{lang.F32, nil, 4},
		{lang.F32, []int{2, 3}, 24},
		{lang.BF16, []int{7}, 14},
		{lang.F8E4M3, []int{5, 5}, 25},
		{lang.F64, []int{3, 0, 9}, 0},
		{lang.U8, []int{math.MaxInt}, math.MaxInt},
	} {
		got, err := Bytes(c.dtype, c.shape)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%s%v", c.dtype, c.shape)
	}
}

func TestBytesRefuses(t *testing.T) {
	for _, c := range []struct {
		dtype lang.DType
		shape []int
		want  string
	}{
		{lang.Invalid, []int{1}, "no element type is given"},
		{lang.F32, []int{2, -3}, "dimension 1 of shape [2 -3] is -3, required 0 or more"},
		{lang.U16, []int{math.MaxInt}, "can be addressed"},
		{lang.F32, []int{1 << 31, 1 << 31, 1 << 31}, "can be addressed"},
		{lang.F32, []int{0, 1 << 31, 1 << 31}, "can be addressed"},
	} {
		_, err := Bytes(c.dtype, c.shape)
		require.ErrorContains(t, err, c.want)
	}
}
