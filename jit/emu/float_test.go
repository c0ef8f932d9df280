package emu

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func b32(f float32) uint64 { return uint64(math.Float32bits(f)) }
func b64(f float64) uint64 { return math.Float64bits(f) }

const (
	nan32      = 0x7fffffff
	posInf32   = 0x7f800000
	negInf32   = 0xff800000
	negZero32  = 0x80000000
	tiny32     = 1 // the smallest subnormal
	largest32  = 0x7f7fffff
	smallest32 = 0x00800000 // normal
)

func TestFloatInstructions(t *testing.T) {
	third := b32(float32(1) / 3)
	for _, it := range []instructionTest{
		{"add.f32", "fff", []caseRow{{b32(3), b32(1), b32(2)}, {nan32, posInf32, negInf32}, {2, tiny32, tiny32}, {0, negZero32, 0}, {negZero32, negZero32, negZero32}}},
		{"add.ftz.f32", "fff", []caseRow{{0, tiny32, tiny32}, {b32(1), b32(1), tiny32}}},
		{"add.rz.f32", "fff", []caseRow{{b32(1), b32(1), b32(0x1p-30)}, {0x3f7fffff, b32(1), b32(-0x1p-30)}, {largest32, largest32, largest32}}},
		{"add.rp.f32", "fff", []caseRow{{0x3f800001, b32(1), b32(0x1p-30)}, {posInf32, largest32, largest32}}},
		{"add.rm.f32", "fff", []caseRow{{0x3f7fffff, b32(1), b32(-0x1p-30)}, {largest32, largest32, largest32}, {negZero32, b32(1), b32(-1)}, {0, 0, 0}}},
		{"add.sat.f32", "fff", []caseRow{{b32(1), b32(1), b32(2)}, {0, b32(-3), b32(2)}, {0, posInf32, negInf32}}},
		{"sub.f32", "fff", []caseRow{{b32(-1), b32(1), b32(2)}}},
		{"mul.f32", "fff", []caseRow{{b32(6), b32(2), b32(3)}, {posInf32, largest32, b32(2)}, {tiny32, smallest32, b32(0x1p-23)}}},
		{"mul.ftz.f32", "fff", []caseRow{{0, smallest32, b32(0.5)}, {negZero32, smallest32, b32(-0.5)}}},
		{"mul.rz.f32", "fff", []caseRow{{largest32, largest32, b32(2)}}},
		{"fma.rn.f32", "ffff", []caseRow{{b32(7), b32(2), b32(3), b32(1)}, {b32(0x1p-46), 0x3f800001, 0x3f800001, b32(-1.0 - 0x1p-22)}}},
		{"fma.rz.f32", "ffff", []caseRow{{b32(1), b32(1), b32(1), tiny32}}},
		{"fma.rm.f32", "ffff", []caseRow{{0x3f7fffff, b32(1), b32(1), 0x80000001}}},
		{"fma.rp.f32", "ffff", []caseRow{{0x3f800001, b32(1), b32(1), tiny32}}},
		{"fma.rn.sat.f32", "ffff", []caseRow{{b32(1), b32(2), b32(3), b32(1)}}},
		{"div.rn.f32", "fff", []caseRow{{third, b32(1), b32(3)}, {posInf32, b32(1), 0}, {nan32, 0, 0}}},
		{"div.rp.f32", "fff", []caseRow{{third, b32(1), b32(3)}}},
		{"div.rz.f32", "fff", []caseRow{{third - 1, b32(1), b32(3)}}},
		{"div.approx.f32", "fff", []caseRow{{b32(2), b32(6), b32(3)}, {0, b32(1), b32(0x1.8p126)}, {nan32, posInf32, b32(0x1.8p126)}}},
		{"rcp.rn.f32", "ff", []caseRow{{third, b32(3)}, {negInf32, negZero32}, {0, posInf32}}},
		{"rcp.approx.ftz.f32", "ff", []caseRow{{b32(0.25), b32(4)}, {posInf32, tiny32}, {0, b32(0x1.8p126)}}},
		{"sqrt.rn.f32", "ff", []caseRow{{b32(1.5), b32(2.25)}, {nan32, b32(-1)}, {negZero32, negZero32}}},
		{"sqrt.rp.f32", "ff", []caseRow{{b32(1.41421366), b32(2)}}},
		{"sqrt.rz.f32", "ff", []caseRow{{b32(1.41421354), b32(2)}}},
		{"rsqrt.approx.f32", "ff", []caseRow{{b32(0.5), b32(4)}, {negInf32, negZero32}, {posInf32, 0}, {0, posInf32}, {nan32, negInf32}}},
		{"ex2.approx.f32", "ff", []caseRow{{b32(8), b32(3)}, {0, negInf32}, {b32(1), negZero32}, {posInf32, posInf32}, {1 << 13, b32(-136)}}},
		{"ex2.approx.ftz.f32", "ff", []caseRow{{0, b32(-136)}}},
		{"lg2.approx.f32", "ff", []caseRow{{b32(3), b32(8)}, {negInf32, 0}, {nan32, b32(-1)}, {b32(-149), tiny32}}},
		{"lg2.approx.ftz.f32", "ff", []caseRow{{negInf32, tiny32}}},
		{"sin.approx.f32", "ff", []caseRow{{negZero32, negZero32}, {nan32, posInf32}}},
		{"cos.approx.f32", "ff", []caseRow{{b32(1), 0}}},
		{"tanh.approx.f32", "ff", []caseRow{{b32(-1), negInf32}, {b32(1), b32(90)}, {tiny32, tiny32}}},
		{"min.f32", "fff", []caseRow{{b32(1), b32(1), b32(2)}, {b32(2), nan32, b32(2)}, {nan32, nan32, 0x7fc00000}, {negZero32, 0, negZero32}}},
		{"max.f32", "fff", []caseRow{{b32(2), b32(1), b32(2)}, {0, 0, negZero32}, {0, negZero32, 0}}},
		{"max.NaN.f32", "fff", []caseRow{{nan32, nan32, b32(2)}, {b32(3), b32(3), b32(2)}}},
		{"min.xorsign.abs.f32", "fff", []caseRow{{b32(-1), b32(-1), b32(2)}, {b32(1), b32(-1), b32(-2)}}},
		{"min.ftz.f32", "fff", []caseRow{{0, tiny32, b32(1)}}},
		{"abs.f32", "ff", []caseRow{{b32(1), b32(-1)}, {0, negZero32}}},
		{"neg.f32", "ff", []caseRow{{b32(1), b32(-1)}, {negZero32, 0}}},
		{"neg.ftz.f32", "ff", []caseRow{{negZero32, tiny32}}},
		{"copysign.f32", "fff", []caseRow{{b32(-2), b32(-1), b32(2)}, {b32(2), b32(1), b32(-2)}}},
		{"testp.subnormal.f32", "pf", []caseRow{{1, tiny32}, {0, 0}, {0, b32(1)}}},
		{"testp.normal.f32", "pf", []caseRow{{1, 0}, {1, b32(1)}, {0, tiny32}, {0, posInf32}}},
		{"testp.notanumber.f32", "pf", []caseRow{{1, nan32}, {0, posInf32}}},

		{"add.f64", "ddd", []caseRow{{b64(3), b64(1), b64(2)}}},
		{"add.rp.f64", "ddd", []caseRow{{b64(1) + 1, b64(1), b64(0x1p-200)}, {b64(math.Inf(1)), b64(math.MaxFloat64), b64(1)}}},
		{"add.rm.f64", "ddd", []caseRow{{1 << 63, b64(1), b64(-1)}, {0, 0, 0}}},
		{"add.rz.f64", "ddd", []caseRow{{b64(math.MaxFloat64), b64(math.MaxFloat64), b64(math.MaxFloat64)}, {b64(1) - 1, b64(1), b64(-0x1p-200)}}},
		{"mul.f64", "ddd", []caseRow{{b64(6), b64(2), b64(3)}, {1 << 63, b64(-0.0) | 1<<63, b64(2)}}},
		{"mul.rm.f64", "ddd", []caseRow{{0, b64(5e-324), b64(0.5)}, {1<<63 | 1, b64(-5e-324), b64(0.5)}}},
		{"fma.rn.f64", "dddd", []caseRow{{b64(7), b64(2), b64(3), b64(1)}}},
		{"fma.rz.f64", "dddd", []caseRow{{b64(1) - 1, b64(1), b64(1), b64(-0x1p-300)}}},
		{"div.rp.f64", "ddd", []caseRow{{b64(1.0/3) + 1, b64(1), b64(3)}}},
		{"div.rn.f64", "ddd", []caseRow{{b64(1.0 / 3), b64(1), b64(3)}}},
		{"sqrt.rn.f64", "dd", []caseRow{{b64(math.Sqrt2), b64(2)}}},
		{"sqrt.rz.f64", "dd", []caseRow{{b64(math.Sqrt2) - 1, b64(2)}}},
		{"min.f64", "ddd", []caseRow{{b64(1), b64(1), b64(2)}}},
	} {
		it.run(t)
	}
}

func TestHalfInstructions(t *testing.T) {
	// 1 = 0x3c00, 2 = 0x4000, 3 = 0x4200 in f16; 0x3f80, 0x4000, 0x4040 in bf16.
	for _, it := range []instructionTest{
		{"add.f16", "hhh", []caseRow{{0x4200, 0x3c00, 0x4000}, {0x7c00, 0x7bff, 0x7bff}, {2, 1, 1}}},
		{"add.ftz.f16", "hhh", []caseRow{{0, 1, 1}}},
		{"add.sat.f16", "hhh", []caseRow{{0x3c00, 0x3c00, 0x4000}}},
		{"sub.f16x2", "rrr", []caseRow{{0x3c00_bc00, 0x4200_3c00, 0x4000_4000}}},
		{"mul.f16", "hhh", []caseRow{{0x4600, 0x4000, 0x4200}}},
		{"fma.rn.f16x2", "rrrr", []caseRow{{0x4200_4700, 0x3c00_4000, 0x3c00_4200, 0x4000_3c00}}},
		{"fma.rn.relu.f16", "hhhh", []caseRow{{0, 0x3c00, 0xbc00, 0}}},
		{"fma.rn.bf16", "hhhh", []caseRow{{0x40e0, 0x4000, 0x4040, 0x3f80}}},
		{"fma.rn.bf16x2", "rrrr", []caseRow{{0x4040_40e0, 0x3f80_4000, 0x3f80_4040, 0x4000_3f80}}},
		{"add.rn.bf16", "hhh", []caseRow{{0x4040, 0x3f80, 0x4000}}},
		{"mul.rn.bf16x2", "rrr", []caseRow{{0x40c0_3f80, 0x4000_3f80, 0x4040_3f80}}},
		{"max.NaN.bf16x2", "rrr", []caseRow{{0x7fff_4000, 0x7fc0_3f80, 0x3f80_4000}}},
		{"min.f16", "hhh", []caseRow{{0x8000, 0, 0x8000}, {0x3c00, 0x7e00, 0x3c00}}},
		{"abs.f16x2", "rr", []caseRow{{0x3c00_0000, 0xbc00_8000}}},
		{"neg.bf16x2", "rr", []caseRow{{0xbf80_0000, 0x3f80_8000}}},
		{"ex2.approx.f16", "hh", []caseRow{{0x4800, 0x4200}}},
		{"ex2.approx.ftz.bf16", "hh", []caseRow{{0x4100, 0x4040}}},
		{"tanh.approx.f16x2", "rr", []caseRow{{0x3c00_bc00, 0x7c00_fc00}}},
	} {
		it.run(t)
	}
}

func TestConversions(t *testing.T) {
	for _, it := range []instructionTest{
		{"cvt.s64.s32", "lr", []caseRow{{0xffffffffffffffff, minus1}}},
		{"cvt.u64.u32", "lr", []caseRow{{0xffffffff, minus1}}},
		{"cvt.u16.u32", "hr", []caseRow{{0x5678, 0x12345678}}},
		{"cvt.s32.s8", "rr", []caseRow{{minus1, 0xff}}},
		{"cvt.u32.u8", "rr", []caseRow{{0xff, 0xfff}}},
		{"cvt.sat.s8.s32", "rr", []caseRow{{0x7f, 1000}, {0xffffff80, minus1 - 1000}}},
		{"cvt.sat.u8.s32", "rr", []caseRow{{0, minus1}, {0xff, 256}}},
		{"cvt.sat.u32.s64", "rl", []caseRow{{0, 0xffffffffffffffff}, {minus1, 1 << 40}}},
		{"cvt.rzi.s32.f32", "rf", []caseRow{{1, b32(1.9)}, {minus1, b32(-1.9)}, {maxInt32, b32(3e9)}, {minInt32, negInf32}, {0, nan32}}},
		{"cvt.rni.s32.f32", "rf", []caseRow{{2, b32(2.5)}, {4, b32(3.5)}}},
		{"cvt.rmi.s32.f32", "rf", []caseRow{{minus1 - 1, b32(-1.5)}}},
		{"cvt.rpi.s32.f32", "rf", []caseRow{{2, b32(1.5)}}},
		{"cvt.rzi.u32.f32", "rf", []caseRow{{0, b32(-1)}, {minus1, b32(5e9)}, {3, b32(3.7)}}},
		{"cvt.rzi.s64.f32", "lf", []caseRow{{1 << 63, nan32}, {0x7fffffffffffffff, b32(1e30)}}},
		{"cvt.rzi.s32.f64", "rd", []caseRow{{minInt32, b64(math.NaN())}, {7, b64(7.9)}}},
		{"cvt.rzi.u64.f64", "ld", []caseRow{{1 << 63, b64(math.NaN())}, {0xffffffffffffffff, b64(1e30)}, {1 << 63, b64(0x1p63)}}},
		{"cvt.rn.f32.s32", "fr", []caseRow{{b32(-1), minus1}, {b32(16777216), 16777217}, {b32(16777220), 16777219}}},
		{"cvt.rz.f32.u32", "fr", []caseRow{{b32(16777218), 16777219}}},
		{"cvt.rn.f32.u64", "fl", []caseRow{{b32(0x1p64), 0xffffffffffffffff}, {0x5f000000, 1 << 63}, {0x5f000001, 1<<63 + 1<<39 + 1}}},
		{"cvt.rp.f32.s64", "fl", []caseRow{{0x5f000000, 1<<63 - 1}}},
		{"cvt.rn.f64.s64", "dl", []caseRow{{b64(-1), 0xffffffffffffffff}}},
		{"cvt.rz.f64.u64", "dl", []caseRow{{b64(0x1.fffffffffffffp63), 0xffffffffffffffff}}},
		{"cvt.rn.f16.s32", "hr", []caseRow{{0x3c00, 1}}},
		{"cvt.f64.f32", "df", []caseRow{{b64(1.5), b32(1.5)}}},
		{"cvt.rn.f32.f64", "fd", []caseRow{{b32(1.1), b64(1.1)}, {0, b64(1e-300)}}},
		{"cvt.rp.f32.f64", "fd", []caseRow{{tiny32, b64(1e-300)}}},
		{"cvt.rni.f32.f32", "ff", []caseRow{{b32(2), b32(2.5)}, {negZero32, b32(-0.25)}}},
		{"cvt.rmi.f32.f32", "ff", []caseRow{{b32(-3), b32(-2.5)}}},
		{"cvt.sat.f32.f32", "ff", []caseRow{{b32(1), b32(2.5)}, {0, nan32}}},
		{"cvt.ftz.rzi.s32.f32", "rf", []caseRow{{0, tiny32}}},
		{"cvt.rn.f16.f32", "hf", []caseRow{{0x3c00, b32(1)}, {0x7c00, b32(65520)}, {0x7bff, b32(65519)}, {1, b32(0x1p-24)}}},
		{"cvt.rz.f16.f32", "hf", []caseRow{{0x7bff, b32(65520)}}},
		{"cvt.f32.f16", "fh", []caseRow{{b32(0x1p-24), 1}, {posInf32, 0x7c00}}},
		{"cvt.rn.bf16.f32", "hf", []caseRow{{0x3f80, b32(1)}, {0x3f80, 0x3f808000}, {0x3f82, 0x3f818000}, {0x7f80, largest32}}},
		{"cvt.rn.relu.bf16.f32", "hf", []caseRow{{0, b32(-1)}}},
		{"cvt.f32.bf16", "fh", []caseRow{{b32(1), 0x3f80}}},
		{"cvt.rn.bf16x2.f32", "rff", []caseRow{{0x3f80_4000, b32(1), b32(2)}}},
		{"cvt.rn.f16x2.f32", "rff", []caseRow{{0x3c00_4000, b32(1), b32(2)}}},
		{"cvt.rna.tf32.f32", "rf", []caseRow{{0x3f802000, 0x3f801000}, {0x3f800000, 0x3f800fff}}},
		{"cvt.rn.satfinite.e4m3x2.f32", "hff", []caseRow{{0x38_40, b32(1), b32(2)}, {0x7e_fe, b32(1000), negInf32}, {0x7f_00, nan32, b32(0)}}},
		{"cvt.rn.satfinite.e5m2x2.f32", "hff", []caseRow{{0x3c_40, b32(1), b32(2)}, {0x7b_fb, posInf32, b32(-1e9)}}},
		{"cvt.rn.satfinite.e4m3x2.f16x2", "hr", []caseRow{{0x38_40, 0x3c00_4000}}},
		{"cvt.rn.f16x2.e4m3x2", "rh", []caseRow{{0x3c00_4000, 0x38_40}}},
		{"cvt.rn.f16x2.e5m2x2", "rh", []caseRow{{0x3c00_7c00, 0x3c_7c}}},
	} {
		it.run(t)
	}
}

func TestComparisons(t *testing.T) {
	for _, it := range []instructionTest{
		{"setp.lt.s32", "prr", []caseRow{{1, minus1, 1}, {0, 1, 1}}},
		{"setp.lt.u32", "prr", []caseRow{{0, minus1, 1}}},
		{"setp.lo.u32", "prr", []caseRow{{1, 1, minus1}}},
		{"setp.hs.u64", "pll", []caseRow{{1, 1 << 63, 1}}},
		{"setp.eq.b16", "phh", []caseRow{{1, 7, 7}}},
		{"setp.lt.f32", "pff", []caseRow{{1, b32(1), b32(2)}, {0, nan32, b32(2)}}},
		{"setp.ltu.f32", "pff", []caseRow{{1, nan32, b32(2)}, {0, b32(2), b32(2)}}},
		{"setp.eq.f32", "pff", []caseRow{{1, 0, negZero32}, {0, nan32, nan32}}},
		{"setp.ne.f32", "pff", []caseRow{{0, nan32, b32(1)}, {1, b32(1), b32(2)}}},
		{"setp.neu.f32", "pff", []caseRow{{1, nan32, b32(1)}}},
		{"setp.nan.f32", "pff", []caseRow{{1, nan32, b32(1)}, {0, b32(1), b32(1)}}},
		{"setp.num.f64", "pdd", []caseRow{{0, b64(math.NaN()), b64(1)}, {1, b64(1), b64(1)}}},
		{"setp.eq.ftz.f32", "pff", []caseRow{{1, tiny32, 0}}},
		{"setp.gt.and.s32", "prrp", []caseRow{{1, 2, 1, 1}, {0, 2, 1, 0}}},
		{"setp.gt.or.s32", "prrp", []caseRow{{1, 0, 1, 1}, {0, 0, 1, 0}}},
		{"setp.gt.xor.s32", "prrp", []caseRow{{0, 2, 1, 1}, {1, 2, 1, 0}}},
		{"setp.lt.f16", "phh", []caseRow{{1, 0x3c00, 0x4000}}},
		{"set.lt.u32.s32", "rrr", []caseRow{{minus1, 1, 2}, {0, 2, 1}}},
		{"set.lt.f32.s32", "frr", []caseRow{{b32(1), 1, 2}}},
	} {
		it.run(t)
	}
	r := (&run{threads: 1, outSize: 8}).clean(t, kernel(`
	setp.lt.s32 %p1|%p2, 1, 2;
	selp.b32 %r2, 1, 0, %p1;
	selp.b32 %r3, 1, 0, %p2;
	st.global.v2.b32 [%rd1], {%r2, %r3};`))
	require.Equal(t, []uint32{1, 0}, r.words())
}
