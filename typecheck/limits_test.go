package typecheck

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
	"tilec/parser"
	"tilec/typecheck/blocks"
	"tilec/typecheck/rules"
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

// limited checks a program that is refused with one error of a code, whose message has the limit.
func limited(t *testing.T, code lang.Code, limit int, text string) {
	t.Helper()
	m, ds := parser.Parse(lang.NewSource("limit.tile", text))
	require.Empty(t, ds)
	_, ds = Check(m, nil)
	require.Len(t, ds, 1)
	assert.Equal(t, code, ds[0].Code)
	assert.Contains(t, ds[0].Message, strconv.Itoa(limit))
	assert.NotNil(t, ds[0].Fix)
}

// repeated is a text for each number from 0 to n - 1, `#`, and the one behind it, `%`.
func repeated(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.NewReplacer("#", strconv.Itoa(i), "%", strconv.Itoa(i+1)).Replace(text))
	}
	return b.String()
}

func TestStructsThatDouble(t *testing.T) {
	limited(t, lang.ErrLimit, rules.MaxTensors, "struct S0 { f: f32[N] }\n"+repeated(24, "struct S% { a: S#\n b: S# }\n"))
	limited(t, lang.ErrLimit, rules.MaxTensors, "struct S0 { f: f32[N] }\n"+repeated(24, "struct S% { a: [2]S#\n b: [2]S# }\n"))
	limited(t, lang.ErrLimit, rules.MaxStructs, "struct S0 { f: f32[N] }\n"+repeated(rules.MaxStructs+1, "struct S% { s: S# }\n"))
}

func TestSizesThatAreMultipliedOut(t *testing.T) {
	product := strings.TrimSuffix(repeated(40, "(N# + M#) * "), " * ")
	limited(t, lang.ErrLimit, size.MaxLength, "kernel k("+repeated(40, "x#: f32[N#, M#], ")+") -> y: f32["+product+"]\n    grid i in N0 by B\n{\n    y[i] = 1\n}\n")
	limited(t, lang.ErrLimit, size.MaxLength, "kernel k(x: f32[N, M]) -> y: f32[N] {\n    let a = N + M\n"+strings.Repeat("    let a = a * a\n", 40)+"    y[i] = x[i, 0] * a\n}\n")
}

// A chain of functions is deep, and no recursion; the last link of as many as are allowed is typed.
func TestChainsOfFunctions(t *testing.T) {
	chain := func(n int) string {
		return "fn f_0(x) = x\n" + repeated(n, "fn f_%(x) = f_#(x) + 1\n") + fmt.Sprintf("kernel k(x: f32[N]) -> y: f32[N] { y[i] = f_%d(x[i]) }\n", n)
	}
	limited(t, lang.ErrNesting, rules.MaxInlining, chain(rules.MaxInlining))
	limited(t, lang.ErrNesting, rules.MaxInlining, "fn f_0(x) = x\n"+repeated(rules.MaxInlining, "fn f_%(x) = f_#(x) + 1\n")+fmt.Sprintf("graph g(x: f32[N]) -> y: f32[N] { y = f_%d(x) }\n", rules.MaxInlining))
	m, ds := parser.Parse(lang.NewSource("chain.tile", chain(rules.MaxInlining-1)))
	require.Empty(t, ds)
	_, ds = Check(m, nil)
	assert.Empty(t, ds)
}

func TestStoresThatAreComparedInPairs(t *testing.T) {
	limited(t, lang.ErrLimit, blocks.MaxPairs, "kernel k(x: f32[N]) -> y: f32[200 * N]\n    grid i in N by B\n{\n"+repeated(200, "    y[i + # * N] = x[i]\n")+"}\n")
}

// Stores that differ by constants are compared as one: what is proven of 2000 takes no more pairs than what is proven of two.
func TestFamiliesAreComparedAsOne(t *testing.T) {
	for _, store := range []string{"y[i, #]", "y[i, 1999 - #]", "z[2000 * i + #]", "inout_[i, #]"} {
		text := "kernel k(x: f32[N], inout inout_: f32[N, 2000]) -> (y: f32[N, 2000], z: f32[2000 * N])\n    grid i in N by B\n{\n" +
			"    inout_[i, 0] = inout_[i, 1]\n    y[i, 0] = 1\n    z[i * 2000] = 1\n" + repeated(2000, "    "+store+" = x[i]\n") + "}\n"
		m, ds := parser.Parse(lang.NewSource("stores.tile", text))
		require.Empty(t, ds)
		_, ds = Check(m, nil)
		assert.Empty(t, ds, store)
	}
}

// What is refused is so for what the stores do: members of a family that share elements, and those that only seem to.
func TestFamiliesThatMeet(t *testing.T) {
	for stores, errors := range map[string]int{
		"    y[2 * i] = x[i]\n    y[2 * i + 1] = x[i]\n":      0,
		"    y[2 * i] = x[i]\n    y[2 * i + 2] = x[i]\n":      1,
		"    y[4 * i] = x[i]\n    y[4 * i + 2] = x[i]\n":      0,
		"    y[i] = x[i]\n    y[i + N] = x[i]\n":              0,
		"    y[i] = x[i]\n    y[i + 1] = x[i]\n":              1,
		"    y[i] = x[i]\n    y[i] = x[i]\n    y[i] = x[i]\n": 0,
		"    y[0] = x[i]\n    y[1] = x[i]\n":                  2,
	} {
		m, ds := parser.Parse(lang.NewSource("stores.tile", "kernel k(x: f32[N]) -> y: f32[4 * N]\n    grid i in N\n{\n"+stores+"}\n"))
		require.Empty(t, ds)
		_, ds = Check(m, nil)
		assert.Len(t, ds, errors, stores)
		for _, d := range ds {
			assert.Equal(t, lang.ErrRace, d.Code)
		}
	}
}

// Loops in loops are followed in rounds of all of them, in place of two of each for every one of those around it.
func TestLoopsInLoopsAreFollowedTogether(t *testing.T) {
	text := "x[i]"
	for i := range 60 {
		text = fmt.Sprintf("for k%d in M with s = zeros(f32, i) { s + %s }", i, text)
	}
	m, ds := parser.Parse(lang.NewSource("loops.tile", "kernel k(x: f32[N], z: f32[M]) -> y: f32[N] { y[i] = "+text+" }\n"))
	require.Empty(t, ds)
	_, ds = Check(m, nil)
	assert.Empty(t, ds)
}
