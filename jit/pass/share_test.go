package pass

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
)

// onlineSoftmax has blocks share the loop of an online softmax.
const onlineSoftmax = `kernel @k {
  dim M = ?
  dim N = ?
  tensor %x : in f32[M, N]
  tensor %v : in f32[N]
  tensor %y : out f32[M]
  scalar %0 c : f32
  axis i : grid M by BM = ?
  axis j : loop N by BN = ? split 4
body:
  %1 = const 0 : i32
  %2 = size N : i32
  %3 = index i : i32{i}
  %4 = const 0 : f32
  %5 = const -inf : f32
  %6 = full %4 : f32{i}
  %7 = full %5 : f32{i}
  %8 m, %9 l, %10 a = for j from %1 to %2 with (%11 m = %7, %12 l = %6, %13 a = %6) pos %14 : (f32{i}, f32{i}, f32{i}) {
    %15 = index j : i32{j}
    %16 = load %x[%3, %15] : f32{i, j}
    %17 = reduce_max %16 over j : f32{i}
    %18 = max %11, %17 : f32{i}
    %19 = eq %18, %5 : bool{i}
    %20 = where %19, %4, %18 : f32{i}
    %21 = mul %20, %0 : f32{i}
    %22 = mul %16, %0 : f32{i, j}
    %23 = sub %22, %21 : f32{i, j}
    %24 = exp2 %23 : f32{i, j}
    %25 = mul %11, %0 : f32{i}
    %26 = sub %25, %21 : f32{i}
    %27 = exp2 %26 : f32{i}
    %28 = sum %24 over j : f32{i}
    %29 = mul %12, %27 : f32{i}
    %30 = add %29, %28 : f32{i}
    %31 = load %v[%15] : f32{j}
    %32 = mul %13, %27 : f32{i}
    %33 = mma %24, %31, %32 over j : f32{i}
    yield %18, %30, %33
  }
  %34 = div %10, %9 : f32{i}
  store %y[%3] = %34
}
`

// The largest is joined first, and what each block has added up is rescaled to it.
func TestShareOnlineSoftmax(t *testing.T) {
	f := parse(t, onlineSoftmax)
	changed, err := share.Run(f, &Options{})
	require.NoError(t, err)
	assert.True(t, changed)
	require.NoError(t, ir.Verify(f))
	text := f.String()
	loop, rest, found := strings.Cut(text, "    yield %18, %30, %33\n  }\n")
	require.True(t, found, text)
	assert.True(t, strings.HasPrefix(onlineSoftmax, loop), "the loop is as it was")
	assert.Equal(t, `  %38 m = join %8 of j from %1 to %2 by (%35, %36) : (f32{i}) {
    %37 = max %35, %36 : f32
    yield %37
  }
  %39 = mul %8, %0 : f32{i}
  %40 = eq %38, %5 : bool{i}
  %41 = where %40, %4, %38 : f32{i}
  %42 = mul %41, %0 : f32{i}
  %43 = sub %39, %42 : f32{i}
  %44 = exp2 %43 : f32{i}
  %45 = eq %8, %38 : bool{i}
  %46 = const 1 : f32
  %47 = where %45, %46, %44 : f32{i}
  %48 = mul %9, %47 : f32{i}
  %49 = mul %10, %47 : f32{i}
  %53 l = join %48 of j from %1 to %2 by (%50, %51) : (f32{i}) {
    %52 = add %50, %51 : f32
    yield %52
  }
  %57 a = join %49 of j from %1 to %2 by (%54, %55) : (f32{i}) {
    %56 = add %54, %55 : f32
    yield %56
  }
  %34 = div %57, %53 : f32{i}
  store %y[%3] = %34
}
`, rest)
	changed, err = share.Run(f, &Options{})
	require.NoError(t, err)
	assert.False(t, changed)
}

// What is not such a loop for certain is refused, and the error says why.
func TestShareRefusesOtherLoops(t *testing.T) {
	for _, c := range []struct{ name, old, new, why string }{
		{"an exponent relative to -inf", "mul %20, %0", "mul %18, %0", "subtracts the new m"},
		{"another number in the place of -inf", "where %19, %4, %18", "where %19, %0, %18", "subtracts the new m"},
		{"a choice the other way", "where %19, %4, %18", "where %19, %18, %4", "subtracts the new m"},
		{"a largest that begins with a number", "%11 m = %7", "%11 m = %6", "m that begins with something else than -inf"},
		{"a sum that begins with a number", "%12 l = %6", "%12 l = %7", "l that begins with something else than 0"},
		{"a sum that is not rescaled", "mul %12, %27", "add %12, %27", "l that each step does not rescale"},
		{"a sum that is rescaled by something else", "mul %12, %27", "mul %12, %20", "l that each step does not rescale"},
		{"a sum of something else than weights", "sum %24", "sum %22", "l that adds up something else"},
		{"a sum of weights of other scores", "sub %22, %21", "sub %16, %21", "l that adds up something else"},
		{"a sum of a function of weights", "sum %24", "sum %23", "l that adds up something else"},
		{"a product with what the loop carries", "mma %24, %31, %32", "mma %24, %24, %32", "a that adds up something else"},
		{"a sum over rows", "sum %24 over j : f32{i}", "sum %24 over i, j : f32", "l that adds up something else"},
		{"another largest", "max %11, %17", "max %12, %17", "m that is something else than the largest"},
		{"a largest of what is carried", "reduce_max %16", "reduce_max %50", "m that is something else than the largest"},
		{"a store of what is carried", "    yield %18", "    store %y[%3] = %30\n    yield %18", "does more with what it carries"},
		{"a minimum", "max %11, %17", "min %11, %17", "a `reduce` of tuples by a function"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Contains(t, onlineSoftmax, c.old)
			text := strings.Replace(onlineSoftmax, c.old, c.new, 1)
			if strings.Contains(c.new, "%50") {
				text = strings.Replace(text, "    %17 =", "    %50 = add %16, %12 : f32{i, j}\n    %17 =", 1)
			}
			f := parse(t, text)
			require.NoError(t, ir.Verify(f))
			_, err := share.Run(f, &Options{})
			var refused *SplitError
			require.ErrorAs(t, err, &refused)
			assert.Contains(t, err.Error(), c.why)
		})
	}
}

// The forms in which the exponent may be written, and multiples of the weights.
func TestShareFormsOfOnlineSoftmax(t *testing.T) {
	for name, replace := range map[string][]string{
		"exp":                       {"exp2 %23", "exp %23", "exp2 %26", "exp %26"},
		"no factor":                 {"sub %22, %21", "sub %16, %20", "sub %25, %21", "sub %11, %20"},
		"the product of difference": {"sub %22, %21", "sub %16, %20", "exp2 %23", "exp2 %51", "%24 =", "%51 = mul %23, %0 : f32{i, j}\n    %24 =", "sub %25, %21", "sub %11, %20", "exp2 %26", "exp2 %52", "%27 =", "%52 = mul %0, %26 : f32{i}\n    %27 ="},
		"operands the other way":    {"mul %12, %27", "mul %27, %12", "add %29, %28", "add %28, %29", "eq %18, %5", "eq %5, %18", "max %11, %17", "max %17, %11"},
		"weights of a mask":         {"sum %24", "sum %51", "%28 =", "%53 = lt %16, %4 : bool{i, j}\n    %51 = where %53, %24, %4 : f32{i, j}\n    %28 ="},
	} {
		t.Run(name, func(t *testing.T) {
			text := onlineSoftmax
			for i := 0; i < len(replace); i += 2 {
				require.Contains(t, text, replace[i])
				text = strings.Replace(text, replace[i], replace[i+1], 1)
			}
			f := parse(t, text)
			require.NoError(t, ir.Verify(f))
			_, err := share.Run(f, &Options{})
			require.NoError(t, err)
			require.NoError(t, ir.Verify(f))
			assert.Equal(t, 3, strings.Count(f.String(), " = join "))
		})
	}
}
