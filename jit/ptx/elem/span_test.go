package elem

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// known is a constant, as the entry section has them.
func known(a *asm.Builder, n int64) asm.Reg {
	r := Constant(a, lang.I32, ir.Const{Int: n})
	a.Within(r, n, n)
	return r
}

// Integers that are known to lie between two numbers become the floats that integers of any size become, where a float type has all of them and where it has not.
func TestIntegersOfAKnownRange(t *testing.T) {
	t.Parallel()
	for _, mask := range []int64{15, 255, 256, 2047, 4095, 1<<24 - 1} {
		for _, minus := range []int64{0, 8, 300} {
			for _, d := range []lang.DType{lang.F32, lang.F16, lang.BF16} {
				p := assemble(t, 90, []asm.Class{asm.B32}, func(a *asm.Builder, in []asm.Reg) asm.Reg {
					x := Apply(a, lang.OpAnd, lang.I32, []asm.Reg{in[0], known(a, mask)}, false)
					x = Apply(a, lang.OpSub, lang.I32, []asm.Reg{x, known(a, minus)}, false)
					return Cast(a, lang.I32, d, x)
				})
				for _, u := range []uint64{0, 1, 7, 8, 0xff, 0x1ff, 0x123, 0xfff, 0x801, 0xfedcba9, 0xffffff, 0xffffffff} {
					n := int64(u)&mask - minus
					require.Equal(t, d.Round(float32(n)), fl(p.run(u)), "%d as %s, of those up to %d less %d", n, d, mask, minus)
				}
			}
		}
	}
}

// What is narrowed keeps its bits where it lies in the narrow type, and loses those above where it does not.
func TestNarrowingIntegersOfAKnownRange(t *testing.T) {
	t.Parallel()
	for _, mask := range []int64{15, 127, 128, 255, 256, 0xffff} {
		for _, d := range []lang.DType{lang.I8, lang.U8, lang.I16, lang.U16} {
			p := assemble(t, 90, []asm.Class{asm.B32}, func(a *asm.Builder, in []asm.Reg) asm.Reg {
				x := Apply(a, lang.OpAnd, lang.I32, []asm.Reg{in[0], known(a, mask)}, false)
				x = Apply(a, lang.OpSub, lang.I32, []asm.Reg{x, known(a, 8)}, false)
				return Cast(a, lang.I32, d, x)
			})
			for _, u := range []uint64{0, 7, 15, 127, 128, 136, 200, 255, 256, 0xfedc, 0xffffffff} {
				n := int64(u)&mask - 8
				require.Equal(t, wrapTo(d, n), int32(p.run(u)), "%d as %s", n, d)
			}
		}
	}
}

// The same bits are another number without a sign: what was known of the one does not hold for the other.
func TestRangesHoldForOneSign(t *testing.T) {
	t.Parallel()
	p := assemble(t, 90, []asm.Class{asm.B32}, func(a *asm.Builder, in []asm.Reg) asm.Reg {
		x := Apply(a, lang.OpAnd, lang.I32, []asm.Reg{in[0], known(a, 255)}, false)
		x = Apply(a, lang.OpSub, lang.I32, []asm.Reg{x, known(a, 200)}, false)
		return Cast(a, lang.U32, lang.BF16, Cast(a, lang.I32, lang.U32, x))
	})
	for u := range uint64(256) {
		n := uint32(int32(u) - 200)
		require.Equal(t, lang.BF16.Round(float32(n)), fl(p.run(u)), "%d as bf16", n)
	}
}
