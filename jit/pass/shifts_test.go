package pass

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/lang"
)

// A shift or a mask gives what the division gives, for every value that the program makes not negative; what may be negative
// is divided as it was.
func TestShiftsGiveWhatDivisionsGive(t *testing.T) {
	natural := map[string]func(b *ir.Builder, x *ir.Value) *ir.Value{
		"max": func(b *ir.Builder, x *ir.Value) *ir.Value {
			return b.Op(lang.OpMax, x, b.Const(x.Type.DType, ir.Const{}))
		},
		"and": func(b *ir.Builder, x *ir.Value) *ir.Value {
			return b.Op(lang.OpAnd, x, b.Const(x.Type.DType, ir.Const{Int: 127}))
		},
		"cast": func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Cast(b.Cast(x, lang.U32), lang.I64) },
		"mod": func(b *ir.Builder, x *ir.Value) *ir.Value {
			return b.Op(lang.OpMod, b.Op(lang.OpShr, b.Cast(x, lang.U64), b.Const(lang.U64, ir.Const{Int: 1})), b.Const(lang.U64, ir.Const{Int: 1000}))
		},
		"min": func(b *ir.Builder, x *ir.Value) *ir.Value {
			return b.Op(lang.OpMin, b.Cast(b.Cast(x, lang.U16), lang.I32), b.Const(lang.I32, ir.Const{Int: 99}))
		},
	}
	tried := 0
	for _, d := range []lang.DType{lang.I8, lang.I16, lang.I32, lang.I64, lang.U8, lang.U16, lang.U32, lang.U64} {
		for _, code := range []lang.Op{lang.OpDiv, lang.OpFloorDiv, lang.OpMod} {
			for _, n := range []int64{1, 2, 8, 64, 3, 0, -1, -8} {
				for name, from := range natural {
					f := &ir.Func{Name: "k", Body: &ir.Block{}}
					x := f.NewValue(ir.Scalar(d), nil)
					f.Scalars = []*ir.Value{x}
					b := &ir.Builder{Func: f, Block: f.Body}
					divided := from(b, x)
					v := b.Op(code, divided, b.Const(divided.Type.DType, ir.Const{Int: n}))
					w := shifted(b, v.Def)
					if n <= 0 || n&(n-1) != 0 {
						assert.Nil(t, w, "%s by %d", code, n)
						continue
					}
					if !assert.NotNil(t, w, "%s of %s by %d, %s", code, name, n, d) {
						continue
					}
					for _, c := range corners(d) {
						tried++
						assert.Equal(t, valueOf(v, c).Int, valueOf(w, c).Int, "%s of %s of %v by %d, %s", code, name, c, n, d)
					}
					if d.IsSigned() {
						assert.Nil(t, shifted(b, b.Op(code, x, b.Const(d, ir.Const{Int: n})).Def), "%s of what may be negative", code)
					}
				}
			}
		}
	}
	require.Greater(t, tried, 1000)
}
