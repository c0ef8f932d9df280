package ptx

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/jit/plan"
)

// A mean and the squares of what is off it, of numbers that are more by an offset.
const momentsText = `kernel @moments {
  dim M = ?
  dim N = %d
  tensor %%x : in f32[M, N]
  tensor %%m : out f32[M]
  tensor %%s : out f32[M]
  axis i : grid M by BM = ?
  axis j : whole N[0 .. %[1]d]
body:
  %%0 = index i : i32{i}
  %%1 = index j : i32{j}
  %%2 = load %%x[%%0, %%1] : f32{i, j}
  %%3 = const %[2]v : f32
  %%4 = add %%2, %%3 : f32{i, j}
  %%5 = mean %%4 over j : f32{i}
  %%6 = sub %%4, %%5 : f32{i, j}
  %%7 = mul %%6, %%6 : f32{i, j}
  %%8 = %[3]s %%7 over j : f32{i}
  store %%m[%%0] = %%5
  store %%s[%%0] = %%8
}
`

// A mean and the squares of what is off it are found together, whether warps share a row or have one each, and have as many elements as each other or not.
func TestMomentsAreFoundTogether(t *testing.T) {
	for _, c := range []struct {
		n, rows  int64
		warps    int
		together bool
	}{
		{768, 1, 8, true}, // half of the warps have twice as many elements
		{768, 4, 4, true}, // a row a warp
		{4096, 1, 8, true},
		{4096, 2, 16, true},
		{32, 1, 4, true}, // fewer elements than threads
		{1, 2, 4, true},
		{100, 1, 4, false}, // some lanes of a warp have one more than others
		{1000, 3, 4, false},
	} {
		for _, offset := range []float64{0, 1000} {
			for _, squares := range []string{"mean", "sum"} {
				t.Run(fmt.Sprint(c, offset, squares), func(t *testing.T) {
					text := fmt.Sprintf(momentsText, c.n, offset, squares)
					p := plan.Plan{Extents: map[string]int64{"i": c.rows}, Warps: c.warps, Stages: 1}
					// A number is off by so many roundings of its size, r, so the square of what it is off the mean by 2 r |x - m| at most. Of numbers between -1
					// and 1, |x - m| is 1.5 times its square in the mean, so relative to the squares that is 3 r: r is u times the offset, and what the numbers' own size adds is below 2 u.
					roundings := 8 + math.Log2(float64(c.n))
					differ(t, parse(t, text), p, map[string]int64{"M": 5}, roundings*0x1p-24*(2+3*offset), 1)
					var codes []string
					for _, form := range []int64{1, 2} {
						p.Forms = map[string]int64{"moments": form}
						_, code, _ := strings.Cut(compile(t, parse(t, text), &p, "sm_90a").Text, ".version")
						codes = append(codes, code)
					}
					if !c.together {
						assert.Equal(t, codes[0], codes[1])
						return
					}
					assert.NotEqual(t, codes[0], codes[1])
					if apart := strings.Count(codes[0], "bar.sync"); int64(c.warps) > c.rows && apart > 0 {
						assert.Less(t, strings.Count(codes[1], "bar.sync"), apart, "warps meet once, not twice")
					}
				})
			}
		}
	}
}

// What is no number stays none, an infinite number has an infinite mean, and of equal numbers nothing is off.
func TestMomentsOfUnusualNumbers(t *testing.T) {
	for _, c := range []struct{ op, with string }{{"add", "nan"}, {"add", "inf"}, {"add", "-inf"}, {"mul", "0.0"}, {"max", "3.0"}, {"max", "7.7e-42"}} {
		text := strings.Replace(fmt.Sprintf(momentsText, 768, c.with, "mean"), "add %2, %3", c.op+" %2, %3", 1)
		t.Run(c.op+" "+c.with, func(t *testing.T) {
			differ(t, parse(t, text), plan.Plan{Extents: map[string]int64{"i": 1}, Warps: 8, Stages: 1}, map[string]int64{"M": 2}, 0x1p-24, 1)
		})
	}
}
