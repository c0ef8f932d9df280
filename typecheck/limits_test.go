package typecheck

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
	"tilec/parser"
	"tilec/typecheck/size"
)

func TestSizesDoNotWrap(t *testing.T) {
	n := &size.Symbol{Name: "N"}
	s := size.Of(n)
	four := s.Mul(s).Mul(s).Mul(s)
	_, err := four.Eval(func(*size.Symbol) (int64, bool) { return 65536, true })
	assert.ErrorContains(t, err, "larger than 64 bits")
	_, err = s.Add(s).Eval(func(*size.Symbol) (int64, bool) { return math.MaxInt64, true })
	assert.ErrorContains(t, err, "larger than 64 bits")
	v, err := four.Eval(func(*size.Symbol) (int64, bool) { return 1000, true })
	require.NoError(t, err)
	assert.Equal(t, int64(1e12), v)
}

func TestFunctionsThatDouble(t *testing.T) {
	var b strings.Builder
	b.WriteString("fn twice0(x) = x + x\n")
	for i := range 40 {
		fmt.Fprintf(&b, "fn twice%d(x) = twice%d(x) + twice%d(x)\n", i+1, i, i)
	}
	b.WriteString("kernel k(x: f32[N]) -> y: f32[N]\n    grid i in N by B\n{\n    y[i] = twice40(x[i])\n}\n")
	m, ds := parser.Parse(lang.NewSource("double.tile", b.String()))
	require.Empty(t, ds)
	_, ds = Check(m, nil)
	require.Len(t, ds, 1)
	assert.Equal(t, lang.ErrNesting, ds[0].Code)
}

func TestManyUnknownNames(t *testing.T) {
	var b strings.Builder
	const many = 20_000
	for i := range many {
		fmt.Fprintf(&b, "const known%d = unknown%d\n", i, i)
	}
	m, ds := parser.Parse(lang.NewSource("many.tile", b.String()))
	require.Empty(t, ds)
	_, ds = Check(m, nil) // seconds; without a limit of proposals, minutes
	require.Len(t, ds, many)
	assert.NotNil(t, ds[0].Fix)
	assert.Nil(t, ds[many-1].Fix)
}
