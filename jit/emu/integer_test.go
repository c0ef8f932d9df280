package emu

import "testing"

const (
	minus1   = 0xffffffff
	minInt32 = 0x80000000
	maxInt32 = 0x7fffffff
)

func TestIntegerInstructions(t *testing.T) {
	for _, it := range []instructionTest{
		{"add.s32", "rrr", []caseRow{{3, 1, 2}, {0, minus1, 1}, {minInt32, maxInt32, 1}}},
		{"add.u16", "hhh", []caseRow{{0x1, 0xffff, 2}}},
		{"add.u64", "lll", []caseRow{{0x1_0000_0000, 0xffffffff, 1}}},
		{"add.sat.s32", "rrr", []caseRow{{maxInt32, maxInt32, 1}, {minInt32, minInt32, minus1}, {5, 2, 3}}},
		{"add.u16x2", "rrr", []caseRow{{0x0003_0001, 0x0001_ffff, 0x0002_0002}}},
		{"sub.s32", "rrr", []caseRow{{minus1, 1, 2}}},
		{"sub.sat.s32", "rrr", []caseRow{{minInt32, minInt32, 1}, {maxInt32, maxInt32, minus1}}},
		{"mul.lo.s32", "rrr", []caseRow{{minus1 - 5, 2, minus1 - 2}, {0, 0x10000, 0x10000}}},
		{"mul.hi.s32", "rrr", []caseRow{{minus1, minus1, 1}, {1, 0x10000, 0x10000}, {0, minus1, minus1}}},
		{"mul.hi.u32", "rrr", []caseRow{{0xfffffffe, minus1, minus1}}},
		{"mul.hi.s64", "lll", []caseRow{{0xffffffffffffffff, 0xffffffffffffffff, 1}, {0, 0xffffffffffffffff, 0xffffffffffffffff}}},
		{"mul.hi.u64", "lll", []caseRow{{0xfffffffffffffffe, 0xffffffffffffffff, 0xffffffffffffffff}}},
		{"mul.wide.s32", "lrr", []caseRow{{0xfffffffffffffffe, minus1, 2}, {0x4000000000000000, minInt32, minInt32}}},
		{"mul.wide.u32", "lrr", []caseRow{{0xfffffffe00000001, minus1, minus1}}},
		{"mul.wide.s16", "rhh", []caseRow{{0xfffffffe, 0xffff, 2}}},
		{"mad.lo.s32", "rrrr", []caseRow{{10, 2, 3, 4}, {minus1, 0x10000, 0x10000, minus1}}},
		{"mad.hi.s32", "rrrr", []caseRow{{2, 0x10000, 0x10000, 1}}},
		{"mad.hi.sat.s32", "rrrr", []caseRow{{maxInt32, 0x10000, 0x10000, maxInt32}}},
		{"mad.wide.s32", "lrrl", []caseRow{{0xffffffffffffffff, minus1, 2, 1}}},
		{"mul24.lo.s32", "rrr", []caseRow{{0xfffffffe, 0x00ffffff, 2}}},
		{"mul24.hi.u32", "rrr", []caseRow{{0xfffffe00, 0x00ffffff, 0x00ffffff}}},
		{"mad24.lo.u32", "rrrr", []caseRow{{7, 2, 0xff000003, 1}}},
		{"div.s32", "rrr", []caseRow{{minus1 - 2, minus1 - 6, 2}, {3, 7, 2}}},
		{"div.u32", "rrr", []caseRow{{0x7fffffff, minus1, 2}}},
		{"rem.s32", "rrr", []caseRow{{minus1, minus1 - 6, 2}, {1, 7, minus1 - 1}}},
		{"rem.u64", "lll", []caseRow{{5, 0xffffffffffffffff, 10}}},
		{"min.s32", "rrr", []caseRow{{minus1, minus1, 1}}},
		{"min.u32", "rrr", []caseRow{{1, minus1, 1}}},
		{"max.s32", "rrr", []caseRow{{1, minus1, 1}}},
		{"max.relu.s32", "rrr", []caseRow{{0, minus1, minus1 - 3}, {4, minus1, 4}}},
		{"max.s16x2", "rrr", []caseRow{{0x0001_0002, 0xffff_0002, 0x0001_8000}}},
		{"abs.s32", "rr", []caseRow{{1, minus1}, {minInt32, minInt32}}},
		{"neg.s32", "rr", []caseRow{{1, minus1}, {minInt32, minInt32}}},
		{"sad.u32", "rrrr", []caseRow{{8, 1, 4, 5}, {8, 4, 1, 5}}},
		{"sad.s32", "rrrr", []caseRow{{7, minus1, 1, 5}}},
		{"dp4a.s32.s32", "rrrr", []caseRow{{10 - 1 - 2 + 9 + 4, 0xff_fe_03_04, 0x01_01_03_01, 10}}},
		{"dp4a.u32.s32", "rrrr", []caseRow{{minus1 - 254, 0xff, 0xff, 0}}},
		{"dp2a.lo.s32.u32", "rrrr", []caseRow{{5*4 - 3, 0x0005_ffff, 0x0000_0403, 0}}},
		{"popc.b32", "rr", []caseRow{{32, minus1}, {1, 4}}},
		{"popc.b64", "rl", []caseRow{{64, 0xffffffffffffffff}}},
		{"clz.b32", "rr", []caseRow{{32, 0}, {0, minus1}, {31, 1}}},
		{"clz.b64", "rl", []caseRow{{64, 0}, {63, 1}}},
		{"bfind.u32", "rr", []caseRow{{minus1, 0}, {31, minus1}, {3, 15}}},
		{"bfind.s32", "rr", []caseRow{{minus1, minus1}, {minus1, 0}, {1, minus1 - 3}, {2, 5}}},
		{"bfind.shiftamt.u32", "rr", []caseRow{{28, 15}, {minus1, 0}}},
		{"brev.b32", "rr", []caseRow{{minInt32, 1}, {0x0f000000, 0xf0}}},
		{"fns.b32", "rrrr", []caseRow{{3, 0xaaaaaaaa, 3, 1}, {3, 0xaaaaaaaa, 3, minus1}, {3, 0xaaaaaaaa, 2, 1}, {1, 0xaaaaaaaa, 2, minus1}, {minus1, 0, 0, 0}, {5, 0xaaaaaaaa, 2, 2}}},
		{"bfe.u32", "rrrr", []caseRow{{0xb, 0xabc, 4, 4}, {0, 0xabc, 4, 0}, {0xa, 0xabc, 8, 200}, {0, 0xabc, 32, 4}}},
		{"bfe.s32", "rrrr", []caseRow{{minus1 - 4, 0xb0, 4, 4}, {minus1, minInt32, 31, 1}, {minus1, minInt32, 40, 4}, {0, maxInt32, 40, 4}, {minus1 - 7, minInt32, 28, 8}}},
		{"bfe.s64", "llrr", []caseRow{{0xfffffffffffffffb, 0xb0, 4, 4}}},
		{"bfi.b32", "rrrrr", []caseRow{{0xabcd_1f78, 0xf1f, 0xabcd_5678, 8, 8}, {5, 7, 5, 0, 0}, {5, 7, 5, 32, 4}, {0xf000_0005, 0xff, 5, 28, 8}}},
		{"szext.clamp.s32", "rrr", []caseRow{{minus1, 7, 3}, {3, 3, 3}, {0, 7, 0}, {0xabcdabcd, 0xabcdabcd, 32}}},
		{"szext.wrap.u32", "rrr", []caseRow{{7, 0xff, 35}}},
		{"bmsk.clamp.b32", "rrr", []caseRow{{0x70, 4, 3}, {0, 32, 3}, {0xfffffff0, 4, 32}, {0, 4, 0}}},
	} {
		it.run(t)
	}
}

func TestLogicInstructions(t *testing.T) {
	for _, it := range []instructionTest{
		{"and.b32", "rrr", []caseRow{{0x8, 0xc, 0xa}}},
		{"or.b32", "rrr", []caseRow{{0xe, 0xc, 0xa}}},
		{"xor.b64", "lll", []caseRow{{0x6, 0xc, 0xa}}},
		{"not.b32", "rr", []caseRow{{0xfffffffe, 1}}},
		{"cnot.b32", "rr", []caseRow{{1, 0}, {0, 5}}},
		{"and.pred", "ppp", []caseRow{{1, 1, 1}, {0, 1, 0}, {0, 0, 0}}},
		{"xor.pred", "ppp", []caseRow{{0, 1, 1}, {1, 1, 0}}},
		{"not.pred", "pp", []caseRow{{0, 1}, {1, 0}}},
		{"shl.b32", "rrr", []caseRow{{8, 1, 3}, {0, 1, 32}, {0, 1, minus1}}},
		{"shl.b64", "llr", []caseRow{{1 << 40, 1, 40}, {0, 1, 64}}},
		{"shr.u32", "rrr", []caseRow{{1, 8, 3}, {0, minus1, 32}}},
		{"shr.s32", "rrr", []caseRow{{minus1, minInt32, 31}, {minus1, minInt32, 100}, {0, maxInt32, 100}}},
		{"shr.s16", "hhr", []caseRow{{0xffff, 0x8000, 15}}},
		{"shf.l.clamp.b32", "rrrr", []caseRow{{0x1234_5678, 0x89ab_cdef, 0x0123_4567, 4}, {0x89ab_cdef, 0x89ab_cdef, 0x0123_4567, 40}}},
		{"shf.l.wrap.b32", "rrrr", []caseRow{{0x1234_5678, 0x89ab_cdef, 0x0123_4567, 36}}},
		{"shf.r.clamp.b32", "rrrr", []caseRow{{0x789a_bcde, 0x89ab_cdef, 0x0123_4567, 4}, {0x0123_4567, 0x89ab_cdef, 0x0123_4567, 99}}},
		{"prmt.b32", "rrrr", []caseRow{{0x44332211, 0x44332211, 0x88776655, 0x3210}, {0x55443322, 0x44332211, 0x88776655, 0x4321}, {0xffffff00, 0x44332211, 0x88776655, 0xfff8}}},
		{"prmt.b32.f4e", "rrrr", []caseRow{{0x66554433, 0x44332211, 0x88776655, 2}}},
		{"prmt.b32.b4e", "rrrr", []caseRow{{0x77881122, 0x44332211, 0x88776655, 1}}},
		{"prmt.b32.rc8", "rrrr", []caseRow{{0x33333333, 0x44332211, 0x88776655, 2}}},
		{"prmt.b32.ecl", "rrrr", []caseRow{{0x44332222, 0x44332211, 0x88776655, 1}}},
		{"prmt.b32.ecr", "rrrr", []caseRow{{0x22222211, 0x44332211, 0x88776655, 1}}},
		{"prmt.b32.rc16", "rrrr", []caseRow{{0x44334433, 0x44332211, 0x88776655, 1}}},
		{"selp.b32", "rrrp", []caseRow{{1, 1, 2, 1}, {2, 1, 2, 0}}},
		{"slct.b32.s32", "rrrr", []caseRow{{1, 1, 2, 0}, {2, 1, 2, minus1}}},
		{"slct.b32.f32", "rrrf", []caseRow{{1, 1, 2, 0x80000000}, {2, 1, 2, 0xbf800000}, {2, 1, 2, 0x7fc00000}}},
	} {
		it.run(t)
	}
	// lop3: the table is the operation on 0xf0, 0xcc and 0xaa.
	for table, want := range map[string]uint64{"0x80": 0xf0f0 & 0xcccc & 0xaaaa, "0xfe": 0xf0f0 | 0xcccc | 0xaaaa, "0x1a": (0xf0f0&0xcccc | 0xaaaa) ^ 0xf0f0, "0x40": 0xf0f0 & 0xcccc &^ 0xaaaa} {
		r := (&run{threads: 1, outSize: 4}).clean(t, kernel(`
	mov.b32 %r2, 0xf0f0; mov.b32 %r3, 0xcccc; mov.b32 %r4, 0xaaaa;
	lop3.b32 %r5, %r2, %r3, %r4, `+table+`;
	st.global.b32 [%rd1], %r5;`))
		if got := uint64(r.words()[0]); got != want {
			t.Errorf("lop3 %s = %#x, want %#x", table, got, want)
		}
	}
}

// TestCarry multiplies 64-bit numbers with 32-bit instructions, as the ISA's example does, and subtracts with a borrow.
func TestCarry(t *testing.T) {
	r := (&run{threads: 1, outSize: 32}).clean(t, kernel(`
	mov.b32 %r4, 0x89abcdef; mov.b32 %r5, 0x01234567;
	mov.b32 %r6, 0x76543210; mov.b32 %r7, 0xfedcba98;
	mul.lo.u32     %r10,%r4,%r6;
	mul.hi.u32     %r11,%r4,%r6;
	mad.lo.cc.u32  %r11,%r5,%r6,%r11;
	madc.hi.u32    %r12,%r5,%r6,0;
	mad.lo.cc.u32  %r11,%r4,%r7,%r11;
	madc.hi.cc.u32 %r12,%r4,%r7,%r12;
	addc.u32       %r13,0,0;
	mad.lo.cc.u32  %r12,%r5,%r7,%r12;
	madc.hi.u32    %r13,%r5,%r7,%r13;
	st.global.v4.b32 [%rd1], {%r10, %r11, %r12, %r13};
	sub.cc.u32  %r14, %r4, %r7;
	subc.u32    %r15, %r5, %r6;
	add.cc.u32  %r16, %r7, %r7;
	addc.u32    %r17, %r4, %r4;
	st.global.v4.b32 [%rd1+16], {%r14, %r15, %r16, %r17};`))
	const x, y = uint64(0x0123456789abcdef), uint64(0xfedcba9876543210)
	hi, lo := mul128(x, y)
	z := uint64(0x76543210)<<32 | 0xfedcba98 // r6:r7
	sum := uint64(0x89abcdef)<<32 | 0xfedcba98
	want := []uint64{lo, hi, x - z, 2 * sum}
	for i, v := range want {
		got := uint64(r.words()[2*i+1])<<32 | uint64(r.words()[2*i])
		if got != v {
			t.Errorf("result %d is %#x, want %#x", i, got, v)
		}
	}
}

// mul128 multiplies by halves, as taught at school.
func mul128(x, y uint64) (hi, lo uint64) {
	const half = 1<<32 - 1
	ll, lh, hl, hh := (x&half)*(y&half), (x&half)*(y>>32), (x>>32)*(y&half), (x>>32)*(y>>32)
	mid := ll>>32 + lh&half + hl&half
	return hh + lh>>32 + hl>>32 + mid>>32, mid<<32 | ll&half
}
