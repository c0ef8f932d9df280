package elem

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ptx/asm"
	"tilec/lang"
)

var halfTypes = []lang.DType{lang.F16, lang.BF16}

// pairOf are the numbers in the halves of a register.
func pairOf(d lang.DType, w uint64) [2]float64 {
	return [2]float64{d.FloatValue(w & 0xffff), d.FloatValue(w >> 16 & 0xffff)}
}

// Two fields of words, in whichever places, are their integers less a number, whatever the words have beside.
func TestFieldsAsNumbers(t *testing.T) {
	t.Parallel()
	for _, d := range halfTypes {
		for _, bits := range []int{1, 3, 4, 7, 10} {
			for _, from := range []int64{0, 8, -3, 127} {
				if !FieldsFit(d, bits, from) {
					continue
				}
				for lo := 0; lo+bits <= 32; lo += 3 {
					for hi := 0; hi+bits <= 32; hi++ {
						for _, words := range []int{1, 2} {
							p := assemble(t, 80, []asm.Class{asm.B32, asm.B32}, func(a *asm.Builder, in []asm.Reg) asm.Reg {
								return Numbers(a, d, Field{in[0], lo, bits}, Field{in[words-1], hi, bits}, from)
							})
							for _, in := range [][2]uint64{{0, 0}, {0xffffffff, 0xffffffff}, {0x12345678, 0x9abcdef0}, {0xfedcba98, 0x0f1e2d3c}} {
								field := func(w uint64, at int) float64 { return float64(int64(w>>at&(1<<bits-1)) - from) }
								want := [2]float64{field(in[0], lo), field(in[words-1], hi)}
								require.Equal(t, want, pairOf(d, p.run(in[0], in[1])), "%s: %d bits from %d and %d of %d words %#x, less %d", d, bits, lo, hi, words, in, from)
							}
						}
					}
				}
			}
		}
	}
	require.False(t, FieldsFit(lang.BF16, 8, 0))
	require.False(t, FieldsFit(lang.BF16, 4, 129))
	require.False(t, FieldsFit(lang.F16, 4, -1025))
}

// The two fields of a word that is known to be a byte take a product in place of a shift and a permutation.
func TestFieldsOfAByte(t *testing.T) {
	t.Parallel()
	for _, d := range halfTypes {
		var code int
		p := assemble(t, 80, []asm.Class{asm.B32}, func(a *asm.Builder, in []asm.Reg) asm.Reg {
			a.Within(in[0], 0, 255)
			before := len(a.Body())
			x := Numbers(a, d, Field{in[0], 0, 4}, Field{in[0], 4, 4}, 8)
			code = len(a.Body()) - before
			return x
		})
		for b := range uint64(256) {
			require.Equal(t, [2]float64{float64(b&15) - 8, float64(b>>4) - 8}, pairOf(d, p.run(b)), "%s, %#x", d, b)
		}
		require.Equal(t, 6, code, "a product, lop3, fma, and three constants")
		p = assemble(t, 80, []asm.Class{asm.B32}, func(a *asm.Builder, in []asm.Reg) asm.Reg {
			a.Within(in[0], 0, 1<<16-1) // whose copies would meet
			return Numbers(a, d, Field{in[0], 0, 4}, Field{in[0], 4, 4}, 8)
		})
		for _, w := range []uint64{0xffff, 0x1234, 0xf0f0, 0x8f71} {
			require.Equal(t, [2]float64{float64(w&15) - 8, float64(w>>4&15) - 8}, pairOf(d, p.run(w)), "%s, %#x", d, w)
		}
	}
}

// Two integers of 8 bits have their values, in every place.
func TestBytesAsHalves(t *testing.T) {
	t.Parallel()
	for _, from := range []lang.DType{lang.I8, lang.U8} {
		for _, d := range halfTypes {
			for lo := range 4 {
				for hi := range 4 {
					p := assemble(t, 80, []asm.Class{asm.B32}, func(a *asm.Builder, in []asm.Reg) asm.Reg {
						return Bytes(a, from, d, in[0], lo, hi)
					})
					for u := range uint64(256) {
						w := u | (u*7+1)&0xff<<8 | (u*13+2)&0xff<<16 | (u^0x80)<<24
						at := func(i int) float64 { return float64(from.IntValue(w >> (8 * i) & 0xff)) }
						require.Equal(t, [2]float64{at(lo), at(hi)}, pairOf(d, p.run(w)), "%s to %s: bytes %d and %d of %#x", from, d, lo, hi, w)
					}
				}
			}
		}
	}
}

// Two elements of f4e2m1 have their values, in every place of two words, zeros with their sign.
func TestFoursAsHalves(t *testing.T) {
	t.Parallel()
	for _, d := range halfTypes {
		for lo := range 8 {
			for hi := range 8 {
				p := assemble(t, 80, []asm.Class{asm.B32, asm.B32}, func(a *asm.Builder, in []asm.Reg) asm.Reg {
					return Fours(a, d, Field{in[0], 4 * lo, 4}, Field{in[1], 4 * hi, 4})
				})
				for u := range uint64(16) {
					v, w := u*0x11111111^0x01234567, u*0x11111111^0x89abcdef
					got := pairOf(d, p.run(v, w))
					want := [2]float64{lang.F4E2M1.FloatValue(v >> (4 * lo) & 15), lang.F4E2M1.FloatValue(w >> (4 * hi) & 15)}
					require.Equal(t, want, got, "%s: elements %d and %d of %#x and %#x", d, lo, hi, v, w)
					require.Equal(t, math.Signbit(want[0]), math.Signbit(got[0]))
				}
			}
		}
	}
}

// Sums, differences and products of halves are rounded once, and keep the sign of 0.
func TestArithmeticOfHalves(t *testing.T) {
	t.Parallel()
	numbers := []float64{0, math.Copysign(0, -1), 1, -1.5, 3, 0.099609375, 250, -6e-8, 1.0078125, math.Inf(1)}
	for _, d := range halfTypes {
		for op, exact := range map[lang.Op]func(x, y float64) float64{
			lang.OpAdd: func(x, y float64) float64 { return x + y },
			lang.OpSub: func(x, y float64) float64 { return x - y },
			lang.OpMul: func(x, y float64) float64 { return x * y },
		} {
			p := assemble(t, 80, []asm.Class{asm.B32, asm.B32}, func(a *asm.Builder, in []asm.Reg) asm.Reg {
				r, ok := Halves(a, op, d, in[0], in[1])
				require.True(t, ok)
				return r
			})
			for _, x := range numbers {
				for _, y := range numbers {
					x, y := d.FloatValue(d.FloatBits(x)), d.FloatValue(d.FloatBits(y))
					got := pairOf(d, p.run(d.FloatBits(x)|d.FloatBits(y)<<16, d.FloatBits(y)|d.FloatBits(x)<<16))
					want := [2]float64{exact(x, y), exact(y, x)}
					for i := range want {
						want[i] = d.FloatValue(d.FloatBits(want[i]))
						same := want[i] == got[i] && math.Signbit(want[i]) == math.Signbit(got[i]) || want[i] != want[i] && got[i] != got[i]
						require.True(t, same, fmt.Sprintf("%s of %v and %v in %s: %v, want %v", op, x, y, d, got, want))
					}
				}
			}
		}
	}
	_, ok := Halves(nil, lang.OpMax, lang.F16, asm.Reg{}, asm.Reg{})
	require.False(t, ok)
}
