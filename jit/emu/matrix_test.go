package emu

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/emu/number"
)

// TestLoadMatrix loads four 8x8 matrices, as they are and transposed, and stores them back.
func TestLoadMatrix(t *testing.T) {
	// Element (i, j) of matrix k is 1000k + 8i + j; the lane's row is its own address.
	in := make([]byte, 512)
	for i := range 256 {
		binary.LittleEndian.PutUint16(in[2*i:], uint16(i/64*1000+i%64))
	}
	body := func(trans string) string {
		return `
	mad.wide.u32 %rd2, %r0, 16, %rd0;
	mad.wide.u32 %rd3, %r0, 16, %rd1;
	mov.u32 %r2, buffer;
	mad.lo.u32 %r2, %r0, 16, %r2;
	ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd2];
	st.shared.v4.b32 [%r2], {%r4, %r5, %r6, %r7};
	bar.warp.sync -1;
	ldmatrix.sync.aligned.m8n8.x4` + trans + `.shared.b16 {%r4, %r5, %r6, %r7}, [%r2];
	st.global.v4.b32 [%rd3], {%r4, %r5, %r6, %r7};
	stmatrix.sync.aligned.m8n8.x4` + trans + `.shared.b16 [%r2+512], {%r4, %r5, %r6, %r7};
	bar.warp.sync -1;
	ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r2+512];
	st.global.v4.b32 [%rd3+512], {%r4, %r5, %r6, %r7};`
	}
	for _, trans := range []string{"", ".trans"} {
		r := (&run{threads: 32, in: in, outSize: 1024}).clean(t, module(shared, body(trans)))
		for lane := range 32 {
			for k := range 4 {
				for e := range 2 {
					i, j := lane/4, lane%4*2+e
					if trans != "" {
						i, j = j, i
					}
					got := binary.LittleEndian.Uint16(r.out[16*lane+4*k+2*e:])
					require.Equal(t, uint16(1000*k+8*i+j), got, "%s lane %d register %d", trans, lane, k)
				}
			}
		}
		require.Equal(t, in, r.out[512:], "what stmatrix stored")
	}
	r := (&run{threads: 32, outSize: 128}).clean(t, kernel(`
	shl.b32 %r2, %r0, 1;
	add.u32 %r3, %r2, 1;
	cvt.u16.u32 %h1, %r2;
	cvt.u16.u32 %h2, %r3;
	mov.b32 %r4, {%h1, %h2};
	movmatrix.sync.aligned.m8n8.trans.b16 %r9, %r4;`+storeResult))
	for lane, v := range r.words() {
		i, j := lane/4, lane%4*2
		require.Equal(t, uint32(8*j+i)|uint32(8*(j+1)+i)<<16, v)
	}
}

// An mmaCase is an instruction with the places of its elements, written out from
// the formulas of the ISA's sections on matrix fragments, shape by shape.
type mmaCase struct {
	shape, types string
	m, k         int
	a, b, c      int                       // 32-bit registers of a lane
	bitsA        int                       // of an element
	read         func(bits uint64) float64 // of elements of A, and of B where readB is nil
	write        func(random *rand.Rand) uint64
	accumulate   func(bits uint64) float64 // of elements of C
	placeA       func(g, t, i int) (row, col int)
	placeB       func(g, t, i int) (row, col int)
	bitsC        int
	readB        func(bits uint64) float64
}

// TestMultiplyMatrices compares every shape with a plain triple loop.
func TestMultiplyMatrices(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	// Small integers: all sums are exact, so the order of additions does not count.
	asBF16 := func(r *rand.Rand) uint64 { return b32(float32(r.IntN(17)-8)) >> 16 }
	asF32 := func(r *rand.Rand) uint64 { return b32(float32(r.IntN(17) - 8)) }
	asF16 := func(r *rand.Rand) uint64 {
		return []uint64{0, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4200, 0x3800}[r.IntN(7)]
	}
	ofF16 := func(v uint64) float64 {
		return map[uint64]float64{0: 0, 0x3c00: 1, 0xbc00: -1, 0x4000: 2, 0xc000: -2, 0x4200: 3, 0x3800: 0.5}[v]
	}
	byte8 := func(r *rand.Rand) uint64 { return uint64(r.IntN(256)) }
	ofF32 := func(v uint64) float64 { return float64(math.Float32frombits(uint32(v))) }
	ofBF16 := func(v uint64) float64 { return ofF32(v << 16) }
	signed := func(v uint64) float64 { return float64(int8(v)) }
	unsigned := func(v uint64) float64 { return float64(v) }
	of32 := func(v uint64) float64 { return float64(int32(v)) }
	e4m3Few := map[uint64]float64{0: 0, 0x38: 1, 0xb8: -1, 0x40: 2, 0x30: 0.5, 0x44: 3}
	e5m2Few := map[uint64]float64{0: 0, 0x3c: 1, 0xbc: -1, 0x40: 2, 0x38: 0.5, 0x42: 3}
	pick := func(few map[uint64]float64) func(r *rand.Rand) uint64 {
		return func(r *rand.Rand) uint64 {
			n := r.IntN(256)
			for {
				if _, ok := few[uint64(n)]; ok {
					return uint64(n)
				}
				n = r.IntN(256)
			}
		}
	}

	// f16 and bf16.
	a16x8 := func(g, t, i int) (int, int) { return g + 8*boolInt(i >= 2), 2*t + i&1 }
	b16x8 := func(g, t, i int) (int, int) { return 2*t + i&1, g }
	a16x16 := func(g, t, i int) (int, int) {
		return g + 8*boolInt(!(i < 2 || 4 <= i && i < 6)), 2*t + i&1 + 8*boolInt(i >= 4)
	}
	b16x16 := func(g, t, i int) (int, int) { return 2*t + i&1 + 8*boolInt(i >= 2), g }
	// tf32.
	a32x4 := func(g, t, i int) (int, int) { return g + 8*i, t }
	b32x4 := func(g, t, i int) (int, int) { return t, g }
	a32x8 := func(g, t, i int) (int, int) { return g + 8*boolInt(i == 1 || i == 3), t + 4*boolInt(i >= 2) }
	b32x8 := func(g, t, i int) (int, int) { return t + 4*i, g }
	// 8 bits.
	a8x16 := func(g, t, i int) (int, int) { return g + 8*boolInt(i >= 4), 4*t + i&3 }
	b8x16 := func(g, t, i int) (int, int) { return 4*t + i, g }
	a8x32 := func(g, t, i int) (int, int) {
		return g + 8*boolInt(!(i < 4 || 8 <= i && i < 12)), 4*t + i&3 + 16*boolInt(i >= 8)
	}
	b8x32 := func(g, t, i int) (int, int) { return 4*t + i&3 + 16*boolInt(i >= 4), g }
	a8m8 := func(g, t, i int) (int, int) { return g, 4*t + i }

	cases := []mmaCase{
		{"m16n8k8", "f32.bf16.bf16.f32", 16, 8, 2, 1, 4, 16, ofBF16, asBF16, ofF32, a16x8, b16x8, 32, nil},
		{"m16n8k16", "f32.bf16.bf16.f32", 16, 16, 4, 2, 4, 16, ofBF16, asBF16, ofF32, a16x16, b16x16, 32, nil},
		{"m16n8k8", "f32.f16.f16.f32", 16, 8, 2, 1, 4, 16, ofF16, asF16, ofF32, a16x8, b16x8, 32, nil},
		{"m16n8k16", "f32.f16.f16.f32", 16, 16, 4, 2, 4, 16, ofF16, asF16, ofF32, a16x16, b16x16, 32, nil},
		{"m16n8k16", "f16.f16.f16.f16", 16, 16, 4, 2, 2, 16, ofF16, asF16, number.F16.Value, a16x16, b16x16, 16, nil},
		{"m16n8k4", "f32.tf32.tf32.f32", 16, 4, 2, 1, 4, 32, ofF32, asF32, ofF32, a32x4, b32x4, 32, nil},
		{"m16n8k8", "f32.tf32.tf32.f32", 16, 8, 4, 2, 4, 32, ofF32, asF32, ofF32, a32x8, b32x8, 32, nil},
		{"m16n8k16", "s32.s8.s8.s32", 16, 16, 2, 1, 4, 8, signed, byte8, of32, a8x16, b8x16, 32, nil},
		{"m16n8k32", "s32.s8.s8.s32", 16, 32, 4, 2, 4, 8, signed, byte8, of32, a8x32, b8x32, 32, nil},
		{"m16n8k32", "s32.u8.u8.s32", 16, 32, 4, 2, 4, 8, unsigned, byte8, of32, a8x32, b8x32, 32, nil},
		{"m16n8k32", "s32.u8.s8.s32", 16, 32, 4, 2, 4, 8, unsigned, byte8, of32, a8x32, b8x32, 32, signed},
		{"m16n8k32", "s32.s8.u8.s32", 16, 32, 4, 2, 4, 8, signed, byte8, of32, a8x32, b8x32, 32, unsigned},
		{"m8n8k16", "s32.s8.s8.s32", 8, 16, 1, 1, 2, 8, signed, byte8, of32, a8m8, b8x16, 32, nil},
		{"m16n8k32", "f32.e4m3.e4m3.f32", 16, 32, 4, 2, 4, 8, func(v uint64) float64 { return e4m3Few[v] }, pick(e4m3Few), ofF32, a8x32, b8x32, 32, nil},
		{"m16n8k32", "f32.e5m2.e5m2.f32", 16, 32, 4, 2, 4, 8, func(v uint64) float64 { return e5m2Few[v] }, pick(e5m2Few), ofF32, a8x32, b8x32, 32, nil},
	}
	for _, c := range cases {
		t.Run(c.shape+"."+c.types, func(t *testing.T) { c.run(t, random) })
	}
}

func (c mmaCase) run(t *testing.T, random *rand.Rand) {
	registers := c.a + c.b + c.c
	in := make([]byte, 32*4*registers)
	var a [16][32]float64
	var b [32][8]float64
	per := 32 / c.bitsA
	readB := c.readB
	if readB == nil {
		readB = c.read
	}
	element := func(lane, register, i, bits int, v uint64) {
		at := in[4*(lane*registers+register):]
		binary.LittleEndian.PutUint32(at, binary.LittleEndian.Uint32(at)|uint32(v)<<(i*bits))
	}
	for lane := range 32 {
		for i := range c.a * per {
			v := c.write(random)
			row, col := c.placeA(lane/4, lane%4, i)
			a[row][col] = c.read(v)
			element(lane, i/per, i%per, c.bitsA, v)
		}
		for i := range c.b * per {
			v := c.write(random)
			row, col := c.placeB(lane/4, lane%4, i)
			b[row][col] = readB(v)
			element(lane, c.a+i/per, i%per, c.bitsA, v)
		}
	}
	// C starts with zeros but for its first register: 1 in the type's own form.
	one := uint64(1)
	if c.types[0] == 'f' {
		one = map[int]uint64{32: 0x3f800000, 16: 0x3c003c00}[c.bitsC]
	}
	for lane := range 32 {
		element(lane, c.a+c.b, 0, 32, one)
	}
	var load, d, ra, rb, rc []string
	for i := range registers {
		load = append(load, fmt.Sprintf("ld.global.b32 %%r%d, [%%rd2+%d];", 10+i, 4*i))
		name := fmt.Sprintf("%%r%d", 10+i)
		switch {
		case i < c.a:
			ra = append(ra, name)
		case i < c.a+c.b:
			rb = append(rb, name)
		default:
			rc = append(rc, name)
		}
	}
	var stores string
	for i := range c.c {
		d = append(d, fmt.Sprintf("%%r%d", 40+i))
		stores += fmt.Sprintf("st.global.b32 [%%rd3+%d], %%r%d;\n", 4*i, 40+i)
	}
	declared := ""
	if c.types[0] == 'f' && c.bitsC == 32 { // accumulators of type f32 are .f32 registers
		for i := range c.c {
			load = append(load, fmt.Sprintf("mov.b32 %%f%d, %%r%d;", 10+i, 10+c.a+c.b+i))
			rc[i], d[i] = fmt.Sprintf("%%f%d", 10+i), fmt.Sprintf("%%f%d", 20+i)
			declared += fmt.Sprintf("mov.b32 %%r%d, %%f%d;\n", 40+i, 20+i)
		}
	}
	vector := func(names []string) string { return "{" + strings.Join(names, ",") + "}" }
	body := fmt.Sprintf("mad.wide.u32 %%rd2, %%r0, %d, %%rd0; mad.wide.u32 %%rd3, %%r0, %d, %%rd1;\n", 4*registers, 4*c.c) +
		strings.Join(load, "\n") +
		fmt.Sprintf("\nmma.sync.aligned.%s.row.col.%s %s, %s, %s, %s;\n", c.shape, c.types, vector(d), vector(ra), vector(rb), vector(rc)) +
		declared + stores
	r := (&run{threads: 32, in: in, outSize: 32 * 4 * c.c}).clean(t, kernel(body))
	perC := 32 / c.bitsC
	for lane := range 32 {
		for i := range c.c * perC {
			row, col := lane/4+8*boolInt(i >= 2), 2*(lane%4)+i&1
			want := 0.0
			if i/perC == 0 {
				want = 1
			}
			for k := range c.k {
				want += a[row][k] * b[k][col]
			}
			bits := uint64(binary.LittleEndian.Uint32(r.out[4*(lane*c.c+i/perC):])) >> (i % perC * c.bitsC) & number.Mask(c.bitsC)
			require.Equal(t, want, c.accumulate(bits), "row %d column %d", row, col)
		}
	}
}

// TestMultiplyDoubles is mma of f64: registers are 64 bits wide.
func TestMultiplyDoubles(t *testing.T) {
	r := (&run{threads: 32, outSize: 32 * 16}).clean(t, kernel(`
	shr.u32 %r2, %r0, 2;
	and.b32 %r3, %r0, 3;
	mad.lo.u32 %r4, %r2, 4, %r3;
	mad.lo.u32 %r5, %r3, 8, %r2;
	cvt.rn.f64.u32 %d1, %r4;
	cvt.rn.f64.u32 %d2, %r5;
	mov.f64 %d3, 0d3FF0000000000000;
	mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d4, %d5}, {%d1}, {%d2}, {%d3, %d3};
	mad.wide.u32 %rd3, %r0, 16, %rd1;
	st.global.v2.f64 [%rd3], {%d4, %d5};`))
	for lane := range 32 {
		for e := range 2 {
			row, col, want := lane/4, lane%4*2+e, 1.0
			for k := range 4 {
				want += float64(4*row+k) * float64(8*k+col)
			}
			require.Equal(t, want, math.Float64frombits(binary.LittleEndian.Uint64(r.out[16*lane+8*e:])))
		}
	}
}
