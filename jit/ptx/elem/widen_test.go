package elem

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// Widening gives every number of 8 bits its value, in every place, whatever the others are.
func TestWidening(t *testing.T) {
	t.Parallel()
	type widen func(a *asm.Builder, from, to lang.DType, w asm.Reg) (one, other asm.Reg)
	places := map[string]struct {
		widen widen
		at    [2][2]int // the numbers of each pair
	}{
		"neighbours": {WidenNeighbours, [2][2]int{{0, 1}, {2, 3}}},
		"alternate":  {WidenAlternate, [2][2]int{{0, 2}, {1, 3}}},
	}
	for _, from := range []lang.DType{lang.I8, lang.U8, lang.F8E4M3, lang.F8E5M2} {
		for _, to := range []lang.DType{lang.F16, lang.BF16} {
			for _, arch := range []int{80, 90} {
				for name, c := range places {
					for which := range 2 {
						p := assemble(t, arch, []asm.Class{asm.B32}, func(a *asm.Builder, in []asm.Reg) asm.Reg {
							one, other := c.widen(a, from, to, in[0])
							return []asm.Reg{one, other}[which]
						})
						for u := range uint64(256) {
							w := u | (u*7+1)&0xff<<8 | (u*13+2)&0xff<<16 | (u^0x80)<<24
							got := p.run(w)
							for half, place := range c.at[which] {
								bits := w >> (8 * place) & 0xff
								want := float32(int64(bits))
								switch {
								case from == lang.I8:
									want = float32(int8(bits))
								case from.IsFloat():
									want = fl(elementBits(from, bits))
								}
								x := halfValue(to, got>>(16*half)&0xffff)
								if math.Float32bits(x) != math.Float32bits(want) && (x == x || want == want) {
									require.Fail(t, "widened wrong", fmt.Sprintf("%s to %s, %s, arch %d: byte %d of %#x gives %v, want %v", from, to, name, arch, place, w, x, want))
								}
							}
						}
					}
				}
			}
		}
	}
}

// A byte of a word is the same number as a float of 32 bits, from whichever place.
func TestBytesAsFloats(t *testing.T) {
	t.Parallel()
	for _, d := range []lang.DType{lang.I8, lang.U8} {
		for place := range 4 {
			p := assemble(t, 90, []asm.Class{asm.B32}, func(a *asm.Builder, in []asm.Reg) asm.Reg {
				return Cast(a, d, lang.F32, unpack8(a, d, in[0])[place])
			})
			for u := range uint64(256) {
				want := float32(u)
				if d == lang.I8 {
					want = float32(int8(u))
				}
				w := 0x7f80ff01&^(0xff<<(8*place)) | u<<(8*place)
				require.Equal(t, want, fl(p.run(w)), "%s, byte %d of %#x", d, place, w)
			}
		}
	}
}
