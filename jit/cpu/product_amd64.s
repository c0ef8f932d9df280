// The loops of products, with AVX-512 and with AVX2. product_amd64.go says what they compute.

#include "textflag.h"

// ARGS: BX columns, R13 steps, DI rows of c and R8 bytes between them, SI coefficients, DX rows of b and R9 bytes between
// them, R10 whether the sums begin at 0. In the loops, AX is how far ahead memory is asked for.
#define ARGS \
	MOVQ    n+0(FP), BX \
	MOVQ    k+8(FP), R13 \
	MOVQ    c+16(FP), DI \
	MOVQ    cstride+24(FP), R8 \
	MOVQ    a+32(FP), SI \
	MOVQ    b+40(FP), DX \
	MOVQ    bstride+48(FP), R9 \
	MOVBLZX fresh+64(FP), R10

// BEGIN: R11, R12 and CX walk the coefficients, the rows of b and the steps.
#define BEGIN \
	MOVQ SI, R11 \
	MOVQ DX, R12 \
	MOVQ R13, CX \
	MOVQ ahead+56(FP), AX

// STEP goes to the next row of b and its coefficients, which are so many bytes.
#define STEP(bytes, loop) \
	ADDQ $bytes, R11 \
	ADDQ R9, R12 \
	DECQ CX \
	JNZ  loop

// NEXT goes to the next columns, which are so many bytes of c and of b.
#define NEXT(columns, cbytes, bbytes, loop) \
	ADDQ $cbytes, DI \
	ADDQ $bbytes, DX \
	SUBQ $columns, BX \
	JMP  loop

// What follows does something to the sums of one row of c, at AX: of 64 columns in four registers, or of up to 32, those of K1 and K2.

#define ZERO64(s0, s1, s2, s3) \
	VPXORQ s0, s0, s0 \
	VPXORQ s1, s1, s1 \
	VPXORQ s2, s2, s2 \
	VPXORQ s3, s3, s3

#define LOAD64(s0, s1, s2, s3) \
	VMOVUPS (AX), s0 \
	VMOVUPS 64(AX), s1 \
	VMOVUPS 128(AX), s2 \
	VMOVUPS 192(AX), s3 \
	ADDQ    R8, AX

#define ADD64(s0, s1, s2, s3) \
	VADDPS (AX), s0, s0 \
	VADDPS 64(AX), s1, s1 \
	VADDPS 128(AX), s2, s2 \
	VADDPS 192(AX), s3, s3 \
	ADDQ   R8, AX

#define STORE64(s0, s1, s2, s3) \
	VMOVUPS s0, (AX) \
	VMOVUPS s1, 64(AX) \
	VMOVUPS s2, 128(AX) \
	VMOVUPS s3, 192(AX) \
	ADDQ    R8, AX

#define FMA64(at, x, s0, s1, s2, s3) \
	VBROADCASTSS at(R11), x \
	VFMADD231PS  Z0, x, s0 \
	VFMADD231PS  Z1, x, s1 \
	VFMADD231PS  Z2, x, s2 \
	VFMADD231PS  Z3, x, s3

#define ZERO32(s0, s1) \
	VPXORQ s0, s0, s0 \
	VPXORQ s1, s1, s1

#define LOAD32(s0, s1) \
	VMOVUPS.Z (AX), K1, s0 \
	VMOVUPS.Z 64(AX), K2, s1 \
	ADDQ      R8, AX

#define ADD32(s0, s1) \
	VMOVUPS.Z (AX), K1, Z0 \
	VMOVUPS.Z 64(AX), K2, Z1 \
	VADDPS    Z0, s0, s0 \
	VADDPS    Z1, s1, s1 \
	ADDQ      R8, AX

#define STORE32(s0, s1) \
	VMOVUPS s0, K1, (AX) \
	VMOVUPS s1, K2, 64(AX) \
	ADDQ    R8, AX

#define FMA32(at, x, s0, s1) \
	VBROADCASTSS at(R11), x \
	VFMADD231PS  Z0, x, s0 \
	VFMADD231PS  Z1, x, s1

// Columns of a row of b, of f32 or bf16.

#define ROW64 \
	VMOVUPS (R12), Z0 \
	VMOVUPS 64(R12), Z1 \
	VMOVUPS 128(R12), Z2 \
	VMOVUPS 192(R12), Z3 \
	PREFETCHT0 (R12)(AX*1) \
	PREFETCHT0 64(R12)(AX*1) \
	PREFETCHT0 128(R12)(AX*1) \
	PREFETCHT0 192(R12)(AX*1)

#define ROW64BF16 \
	PREFETCHT0 (R12)(AX*1) \
	PREFETCHT0 64(R12)(AX*1) \
	VPMOVZXWD (R12), Z0 \
	VPMOVZXWD 32(R12), Z1 \
	VPMOVZXWD 64(R12), Z2 \
	VPMOVZXWD 96(R12), Z3 \
	VPSLLD    $16, Z0, Z0 \
	VPSLLD    $16, Z1, Z1 \
	VPSLLD    $16, Z2, Z2 \
	VPSLLD    $16, Z3, Z3

#define ROW32 \
	VMOVUPS.Z (R12), K1, Z0 \
	VMOVUPS.Z 64(R12), K2, Z1

#define ROW32BF16 \
	VPMOVZXWD.Z (R12), K1, Z0 \
	VPMOVZXWD.Z 32(R12), K2, Z1 \
	VPSLLD      $16, Z0, Z0 \
	VPSLLD      $16, Z1, Z1

// AVX512 is the loop over columns, 64 at a time and then up to 32. wide and narrow do a thing to the sums of every row, and
// wideFMA and narrowFMA multiply a row of b. There are so many bytes of coefficients a step, and bytes of b to 64 and 32 columns.
#define AVX512(wide, wideFMA, narrow, narrowFMA, bytes, row64, b64, row32, b32) \
	ARGS \
columns64: \
	CMPQ  BX, $64 \
	JLT   columns32 \
	TESTQ R10, R10 \
	JNZ   fresh64 \
	MOVQ  DI, AX \
	wide(LOAD64) \
	JMP   begin64 \
fresh64: \
	wide(ZERO64) \
begin64: \
	BEGIN \
loop64: \
	row64 \
	wideFMA \
	STEP(bytes, loop64) \
	TESTQ R10, R10 \
	JZ    store64 \
	MOVQ  DI, AX \
	wide(ADD64) \
store64: \
	MOVQ  DI, AX \
	wide(STORE64) \
	NEXT(64, 256, b64, columns64) \
columns32: \
	CMPQ    BX, $0 \
	JLE     done \
	MOVQ    $32, CX \
	CMPQ    BX, CX \
	CMOVQLT BX, CX \
	MOVL    $1, AX \
	SHLQ    CX, AX \
	DECQ    AX \
	KMOVW   AX, K1 \
	SHRQ    $16, AX \
	KMOVW   AX, K2 \
	TESTQ   R10, R10 \
	JNZ     fresh32 \
	MOVQ    DI, AX \
	narrow(LOAD32) \
	JMP     begin32 \
fresh32: \
	narrow(ZERO32) \
begin32: \
	BEGIN \
loop32: \
	row32 \
	narrowFMA \
	STEP(bytes, loop32) \
	TESTQ R10, R10 \
	JZ    store32 \
	MOVQ  DI, AX \
	narrow(ADD32) \
store32: \
	MOVQ  DI, AX \
	narrow(STORE32) \
	NEXT(32, 128, b32, columns32) \
done: \
	VZEROUPPER \
	RET

#define WIDE1(do) do(Z8, Z9, Z10, Z11)
#define WIDE2(do) \
	WIDE1(do) \
	do(Z12, Z13, Z14, Z15)
#define WIDE4(do) \
	WIDE2(do) \
	do(Z16, Z17, Z18, Z19) \
	do(Z20, Z21, Z22, Z23)
#define WIDE6(do) \
	WIDE4(do) \
	do(Z24, Z25, Z26, Z27) \
	do(Z28, Z29, Z30, Z31)
#define WIDEFMA1 FMA64(0, Z4, Z8, Z9, Z10, Z11)
#define WIDEFMA2 \
	WIDEFMA1 \
	FMA64(4, Z5, Z12, Z13, Z14, Z15)
#define WIDEFMA4 \
	WIDEFMA2 \
	FMA64(8, Z6, Z16, Z17, Z18, Z19) \
	FMA64(12, Z7, Z20, Z21, Z22, Z23)
#define WIDEFMA6 \
	WIDEFMA4 \
	FMA64(16, Z4, Z24, Z25, Z26, Z27) \
	FMA64(20, Z5, Z28, Z29, Z30, Z31)
#define NARROW1(do) do(Z8, Z9)
#define NARROW2(do) \
	NARROW1(do) \
	do(Z10, Z11)
#define NARROW4(do) \
	NARROW2(do) \
	do(Z12, Z13) \
	do(Z14, Z15)
#define NARROW6(do) \
	NARROW4(do) \
	do(Z16, Z17) \
	do(Z18, Z19)
#define NARROWFMA1 FMA32(0, Z4, Z8, Z9)
#define NARROWFMA2 \
	NARROWFMA1 \
	FMA32(4, Z5, Z10, Z11)
#define NARROWFMA4 \
	NARROWFMA2 \
	FMA32(8, Z6, Z12, Z13) \
	FMA32(12, Z7, Z14, Z15)
#define NARROWFMA6 \
	NARROWFMA4 \
	FMA32(16, Z4, Z16, Z17) \
	FMA32(20, Z5, Z18, Z19)

// DOT adds to the sums of each row of c, of 16 columns, the products of step i, of which z has a number for each column; DOTPAIR
// those of two steps, of bf16, that share the words of z.

#define DOT1(i, z) \
	VFMADD231PS.BCST (4*i+0)(SI), z, Z17

#define DOTPAIR1(i, z) \
	VPSLLD $16, z, Z23 \
	VPANDD Z24, z, z \
	VFMADD231PS.BCST (8*i+0)(SI), Z23, Z17 \
	VFMADD231PS.BCST (8*i+4+0)(SI), z, Z17

#define DOT2(i, z) \
	VFMADD231PS.BCST (8*i+0)(SI), z, Z17 \
	VFMADD231PS.BCST (8*i+4)(SI), z, Z18

#define DOTPAIR2(i, z) \
	VPSLLD $16, z, Z23 \
	VPANDD Z24, z, z \
	VFMADD231PS.BCST (16*i+0)(SI), Z23, Z17 \
	VFMADD231PS.BCST (16*i+4)(SI), Z23, Z18 \
	VFMADD231PS.BCST (16*i+8+0)(SI), z, Z17 \
	VFMADD231PS.BCST (16*i+8+4)(SI), z, Z18

#define DOT4(i, z) \
	VFMADD231PS.BCST (16*i+0)(SI), z, Z17 \
	VFMADD231PS.BCST (16*i+4)(SI), z, Z18 \
	VFMADD231PS.BCST (16*i+8)(SI), z, Z19 \
	VFMADD231PS.BCST (16*i+12)(SI), z, Z20

#define DOTPAIR4(i, z) \
	VPSLLD $16, z, Z23 \
	VPANDD Z24, z, z \
	VFMADD231PS.BCST (32*i+0)(SI), Z23, Z17 \
	VFMADD231PS.BCST (32*i+4)(SI), Z23, Z18 \
	VFMADD231PS.BCST (32*i+8)(SI), Z23, Z19 \
	VFMADD231PS.BCST (32*i+12)(SI), Z23, Z20 \
	VFMADD231PS.BCST (32*i+16+0)(SI), z, Z17 \
	VFMADD231PS.BCST (32*i+16+4)(SI), z, Z18 \
	VFMADD231PS.BCST (32*i+16+8)(SI), z, Z19 \
	VFMADD231PS.BCST (32*i+16+12)(SI), z, Z20

#define DOT6(i, z) \
	VFMADD231PS.BCST (24*i+0)(SI), z, Z17 \
	VFMADD231PS.BCST (24*i+4)(SI), z, Z18 \
	VFMADD231PS.BCST (24*i+8)(SI), z, Z19 \
	VFMADD231PS.BCST (24*i+12)(SI), z, Z20 \
	VFMADD231PS.BCST (24*i+16)(SI), z, Z21 \
	VFMADD231PS.BCST (24*i+20)(SI), z, Z22

#define DOTPAIR6(i, z) \
	VPSLLD $16, z, Z23 \
	VPANDD Z24, z, z \
	VFMADD231PS.BCST (48*i+0)(SI), Z23, Z17 \
	VFMADD231PS.BCST (48*i+4)(SI), Z23, Z18 \
	VFMADD231PS.BCST (48*i+8)(SI), Z23, Z19 \
	VFMADD231PS.BCST (48*i+12)(SI), Z23, Z20 \
	VFMADD231PS.BCST (48*i+16)(SI), Z23, Z21 \
	VFMADD231PS.BCST (48*i+20)(SI), Z23, Z22 \
	VFMADD231PS.BCST (48*i+24+0)(SI), z, Z17 \
	VFMADD231PS.BCST (48*i+24+4)(SI), z, Z18 \
	VFMADD231PS.BCST (48*i+24+8)(SI), z, Z19 \
	VFMADD231PS.BCST (48*i+24+12)(SI), z, Z20 \
	VFMADD231PS.BCST (48*i+24+16)(SI), z, Z21 \
	VFMADD231PS.BCST (48*i+24+20)(SI), z, Z22

#define CLEARDOT(z) VPXORQ z, z, z

#define ADDDOT(z) \
	VMOVUPS.Z (DI), K1, Z0 \
	VADDPS    Z0, z, z \
	VMOVUPS   z, K1, (DI) \
	ADDQ      R8, DI

#define SUMS1(do) do(Z17)
#define SUMS2(do) \
	SUMS1(do) \
	do(Z18)
#define SUMS4(do) \
	SUMS2(do) \
	do(Z19) \
	do(Z20)
#define SUMS6(do) \
	SUMS4(do) \
	do(Z21) \
	do(Z22)

// DOTS is the loop over steps, as many at a time as 64 bytes of a row of b have, with so many bytes of coefficients.
#define DOTS(sums, dot, steps, bytes) \
	MOVQ    n+0(FP), CX \
	MOVQ    k+8(FP), BX \
	MOVQ    c+16(FP), DI \
	MOVQ    cstride+24(FP), R8 \
	MOVQ    a+32(FP), SI \
	MOVQ    rows+40(FP), R9 \
	MOVQ    ahead+48(FP), R12 \
	MOVL    $1, AX \
	SHLL    CX, AX \
	DECL    AX \
	KMOVW   AX, K1 \
	MOVL    $0xffff0000, AX \
	VPBROADCASTD AX, Z24 \
	XORQ    R11, R11 \
	sums(CLEARDOT) \
block: \
	ROWS \
	TRANSPOSE \
	EACHCOLUMN(dot) \
	ADDQ    $bytes, SI \
	ADDQ    $64, R11 \
	ADDQ    $64, R12 \
	SUBQ    $steps, BX \
	JG      block \
	sums(ADDDOT) \
	VZEROUPPER \
	RET

// func rows1AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)
TEXT ·rows1AVX512(SB), NOSPLIT, $0-65
	AVX512(WIDE1, WIDEFMA1, NARROW1, NARROWFMA1, 4, ROW64, 256, ROW32, 128)

// func rows2AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)
TEXT ·rows2AVX512(SB), NOSPLIT, $0-65
	AVX512(WIDE2, WIDEFMA2, NARROW2, NARROWFMA2, 8, ROW64, 256, ROW32, 128)

// func rows4AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)
TEXT ·rows4AVX512(SB), NOSPLIT, $0-65
	AVX512(WIDE4, WIDEFMA4, NARROW4, NARROWFMA4, 16, ROW64, 256, ROW32, 128)

// func rows6AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)
TEXT ·rows6AVX512(SB), NOSPLIT, $0-65
	AVX512(WIDE6, WIDEFMA6, NARROW6, NARROWFMA6, 24, ROW64, 256, ROW32, 128)

// func rows1BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)
TEXT ·rows1BF16AVX512(SB), NOSPLIT, $0-65
	AVX512(WIDE1, WIDEFMA1, NARROW1, NARROWFMA1, 4, ROW64BF16, 128, ROW32BF16, 64)

// func rows2BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)
TEXT ·rows2BF16AVX512(SB), NOSPLIT, $0-65
	AVX512(WIDE2, WIDEFMA2, NARROW2, NARROWFMA2, 8, ROW64BF16, 128, ROW32BF16, 64)

// func rows4BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)
TEXT ·rows4BF16AVX512(SB), NOSPLIT, $0-65
	AVX512(WIDE4, WIDEFMA4, NARROW4, NARROWFMA4, 16, ROW64BF16, 128, ROW32BF16, 64)

// func rows6BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)
TEXT ·rows6BF16AVX512(SB), NOSPLIT, $0-65
	AVX512(WIDE6, WIDEFMA6, NARROW6, NARROWFMA6, 24, ROW64BF16, 128, ROW32BF16, 64)

// The same with AVX2: 32 columns of one or two rows, 16 of four or six; and then up to 8, those of Y3.

DATA lanemask<>+0(SB)/8, $-1
DATA lanemask<>+8(SB)/8, $-1
DATA lanemask<>+16(SB)/8, $-1
DATA lanemask<>+24(SB)/8, $-1
DATA lanemask<>+32(SB)/8, $0
DATA lanemask<>+40(SB)/8, $0
DATA lanemask<>+48(SB)/8, $0
DATA lanemask<>+56(SB)/8, $0
GLOBL lanemask<>(SB), RODATA|NOPTR, $64

#define ZERO4Y(s0, s1, s2, s3) \
	VXORPS s0, s0, s0 \
	VXORPS s1, s1, s1 \
	VXORPS s2, s2, s2 \
	VXORPS s3, s3, s3

#define LOAD4Y(s0, s1, s2, s3) \
	VMOVUPS (AX), s0 \
	VMOVUPS 32(AX), s1 \
	VMOVUPS 64(AX), s2 \
	VMOVUPS 96(AX), s3 \
	ADDQ    R8, AX

#define ADD4Y(s0, s1, s2, s3) \
	VADDPS (AX), s0, s0 \
	VADDPS 32(AX), s1, s1 \
	VADDPS 64(AX), s2, s2 \
	VADDPS 96(AX), s3, s3 \
	ADDQ   R8, AX

#define STORE4Y(s0, s1, s2, s3) \
	VMOVUPS s0, (AX) \
	VMOVUPS s1, 32(AX) \
	VMOVUPS s2, 64(AX) \
	VMOVUPS s3, 96(AX) \
	ADDQ    R8, AX

#define FMA4Y(at, s0, s1, s2, s3) \
	VBROADCASTSS at(R11), Y3 \
	VFMADD231PS  Y0, Y3, s0 \
	VFMADD231PS  Y1, Y3, s1 \
	VFMADD231PS  Y2, Y3, s2 \
	VFMADD231PS  Y15, Y3, s3

#define ZERO2Y(s0, s1) \
	VXORPS s0, s0, s0 \
	VXORPS s1, s1, s1

#define LOAD2Y(s0, s1) \
	VMOVUPS (AX), s0 \
	VMOVUPS 32(AX), s1 \
	ADDQ    R8, AX

#define ADD2Y(s0, s1) \
	VADDPS (AX), s0, s0 \
	VADDPS 32(AX), s1, s1 \
	ADDQ   R8, AX

#define STORE2Y(s0, s1) \
	VMOVUPS s0, (AX) \
	VMOVUPS s1, 32(AX) \
	ADDQ    R8, AX

#define FMA2Y(at, x, s0, s1) \
	VBROADCASTSS at(R11), x \
	VFMADD231PS  Y0, x, s0 \
	VFMADD231PS  Y1, x, s1

#define ZERO8(s) \
	VXORPS s, s, s

#define LOAD8(s) \
	VMASKMOVPS (AX), Y3, s \
	ADDQ       R8, AX

#define ADD8(s) \
	VMASKMOVPS (AX), Y3, Y0 \
	VADDPS     Y0, s, s \
	ADDQ       R8, AX

#define STORE8(s) \
	VMASKMOVPS s, Y3, (AX) \
	ADDQ       R8, AX

#define FMA8(at, s) \
	VBROADCASTSS at(R11), Y2 \
	VFMADD231PS  Y0, Y2, s

#define AVX2(count, size, zero, load, add, store, wide, wideFMA, narrow, narrowFMA, bytes, wideRow, bWide, row8, b8) \
	ARGS \
columnsWide: \
	CMPQ  BX, $count \
	JLT   columns8 \
	TESTQ R10, R10 \
	JNZ   freshWide \
	MOVQ  DI, AX \
	wide(load) \
	JMP   beginWide \
freshWide: \
	wide(zero) \
beginWide: \
	BEGIN \
loopWide: \
	wideRow \
	wideFMA \
	STEP(bytes, loopWide) \
	TESTQ R10, R10 \
	JZ    storeWide \
	MOVQ  DI, AX \
	wide(add) \
storeWide: \
	MOVQ  DI, AX \
	wide(store) \
	NEXT(count, size, bWide, columnsWide) \
columns8: \
	CMPQ    BX, $0 \
	JLE     done \
	MOVQ    $8, CX \
	CMPQ    BX, CX \
	CMOVQLT BX, CX \
	NEGQ    CX \
	LEAQ    lanemask<>+32(SB), AX \
	VMOVUPS (AX)(CX*4), Y3 \
	TESTQ   R10, R10 \
	JNZ     fresh8 \
	MOVQ    DI, AX \
	narrow(LOAD8) \
	JMP     begin8 \
fresh8: \
	narrow(ZERO8) \
begin8: \
	BEGIN \
loop8: \
	row8 \
	narrowFMA \
	STEP(bytes, loop8) \
	TESTQ R10, R10 \
	JZ    store8 \
	MOVQ  DI, AX \
	narrow(ADD8) \
store8: \
	MOVQ  DI, AX \
	narrow(STORE8) \
	NEXT(8, 32, b8, columns8) \
done: \
	VZEROUPPER \
	RET

#define ROW4Y \
	VMOVUPS (R12), Y0 \
	VMOVUPS 32(R12), Y1 \
	VMOVUPS 64(R12), Y2 \
	VMOVUPS 96(R12), Y15 \
	PREFETCHT0 (R12)(AX*1) \
	PREFETCHT0 64(R12)(AX*1)

#define ROW4YBF16 \
	PREFETCHT0 (R12)(AX*1) \
	VPMOVZXWD (R12), Y0 \
	VPMOVZXWD 16(R12), Y1 \
	VPMOVZXWD 32(R12), Y2 \
	VPMOVZXWD 48(R12), Y15 \
	VPSLLD    $16, Y0, Y0 \
	VPSLLD    $16, Y1, Y1 \
	VPSLLD    $16, Y2, Y2 \
	VPSLLD    $16, Y15, Y15

#define ROW2Y \
	VMOVUPS (R12), Y0 \
	VMOVUPS 32(R12), Y1 \
	PREFETCHT0 (R12)(AX*1)

#define ROW2YBF16 \
	PREFETCHT0 (R12)(AX*1) \
	VPMOVZXWD (R12), Y0 \
	VPMOVZXWD 16(R12), Y1 \
	VPSLLD    $16, Y0, Y0 \
	VPSLLD    $16, Y1, Y1

#define ROW8 \
	VMASKMOVPS (R12), Y3, Y0

// ROW8BF16 reads 8 columns: there is no reading of fewer.
#define ROW8BF16 \
	VPMOVZXWD (R12), Y0 \
	VPSLLD    $16, Y0, Y0

#define FOUR1(do) do(Y4, Y5, Y6, Y7)
#define FOUR2(do) \
	FOUR1(do) \
	do(Y8, Y9, Y10, Y11)
#define FOURFMA1 FMA4Y(0, Y4, Y5, Y6, Y7)
#define FOURFMA2 \
	FOURFMA1 \
	FMA4Y(4, Y8, Y9, Y10, Y11)
#define TWO4(do) \
	do(Y4, Y5) \
	do(Y6, Y7) \
	do(Y8, Y9) \
	do(Y10, Y11)
#define TWO6(do) \
	TWO4(do) \
	do(Y12, Y13) \
	do(Y14, Y15)
#define TWOFMA4 \
	FMA2Y(0, Y2, Y4, Y5) \
	FMA2Y(4, Y3, Y6, Y7) \
	FMA2Y(8, Y2, Y8, Y9) \
	FMA2Y(12, Y3, Y10, Y11)
#define TWOFMA6 \
	TWOFMA4 \
	FMA2Y(16, Y2, Y12, Y13) \
	FMA2Y(20, Y3, Y14, Y15)
#define ONE1(do) do(Y4)
#define ONE2(do) \
	ONE1(do) \
	do(Y5)
#define ONE4(do) \
	ONE2(do) \
	do(Y6) \
	do(Y7)
#define ONE6(do) \
	ONE4(do) \
	do(Y8) \
	do(Y9)
#define ONEFMA1 FMA8(0, Y4)
#define ONEFMA2 \
	ONEFMA1 \
	FMA8(4, Y5)
#define ONEFMA4 \
	ONEFMA2 \
	FMA8(8, Y6) \
	FMA8(12, Y7)
#define ONEFMA6 \
	ONEFMA4 \
	FMA8(16, Y8) \
	FMA8(20, Y9)

// func rows1AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)
TEXT ·rows1AVX2(SB), NOSPLIT, $0-65
	AVX2(32, 128, ZERO4Y, LOAD4Y, ADD4Y, STORE4Y, FOUR1, FOURFMA1, ONE1, ONEFMA1, 4, ROW4Y, 128, ROW8, 32)

// func rows2AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)
TEXT ·rows2AVX2(SB), NOSPLIT, $0-65
	AVX2(32, 128, ZERO4Y, LOAD4Y, ADD4Y, STORE4Y, FOUR2, FOURFMA2, ONE2, ONEFMA2, 8, ROW4Y, 128, ROW8, 32)

// func rows4AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)
TEXT ·rows4AVX2(SB), NOSPLIT, $0-65
	AVX2(16, 64, ZERO2Y, LOAD2Y, ADD2Y, STORE2Y, TWO4, TWOFMA4, ONE4, ONEFMA4, 16, ROW2Y, 64, ROW8, 32)

// func rows6AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)
TEXT ·rows6AVX2(SB), NOSPLIT, $0-65
	AVX2(16, 64, ZERO2Y, LOAD2Y, ADD2Y, STORE2Y, TWO6, TWOFMA6, ONE6, ONEFMA6, 24, ROW2Y, 64, ROW8, 32)

// func rows1BF16AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)
TEXT ·rows1BF16AVX2(SB), NOSPLIT, $0-65
	AVX2(32, 128, ZERO4Y, LOAD4Y, ADD4Y, STORE4Y, FOUR1, FOURFMA1, ONE1, ONEFMA1, 4, ROW4YBF16, 64, ROW8BF16, 16)

// func rows2BF16AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)
TEXT ·rows2BF16AVX2(SB), NOSPLIT, $0-65
	AVX2(32, 128, ZERO4Y, LOAD4Y, ADD4Y, STORE4Y, FOUR2, FOURFMA2, ONE2, ONEFMA2, 8, ROW4YBF16, 64, ROW8BF16, 16)

// func rows4BF16AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)
TEXT ·rows4BF16AVX2(SB), NOSPLIT, $0-65
	AVX2(16, 64, ZERO2Y, LOAD2Y, ADD2Y, STORE2Y, TWO4, TWOFMA4, ONE4, ONEFMA4, 16, ROW2YBF16, 32, ROW8BF16, 16)

// func rows6BF16AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)
TEXT ·rows6BF16AVX2(SB), NOSPLIT, $0-65
	AVX2(16, 64, ZERO2Y, LOAD2Y, ADD2Y, STORE2Y, TWO6, TWOFMA6, ONE6, ONEFMA6, 24, ROW2YBF16, 32, ROW8BF16, 16)

// func panelAVX512(k int, d, src unsafe.Pointer, stride int)
TEXT ·panelAVX512(SB), NOSPLIT, $0-32
	MOVQ k+0(FP), CX
	MOVQ d+8(FP), DI
	MOVQ src+16(FP), R12
	MOVQ stride+24(FP), R8
	LEAQ (R8*8), AX

panelLoop:
	ROW64
	VMOVUPS Z0, (DI)
	VMOVUPS Z1, 64(DI)
	VMOVUPS Z2, 128(DI)
	VMOVUPS Z3, 192(DI)
	ADDQ    R8, R12
	ADDQ    $256, DI
	DECQ    CX
	JNZ     panelLoop
	VZEROUPPER
	RET

// func panelBF16AVX512(k int, d, src unsafe.Pointer, stride int)
TEXT ·panelBF16AVX512(SB), NOSPLIT, $0-32
	MOVQ k+0(FP), CX
	MOVQ d+8(FP), DI
	MOVQ src+16(FP), R12
	MOVQ stride+24(FP), R8
	LEAQ (R8*8), AX

panelBF16Loop:
	ROW64BF16
	VMOVUPS Z0, (DI)
	VMOVUPS Z1, 64(DI)
	VMOVUPS Z2, 128(DI)
	VMOVUPS Z3, 192(DI)
	ADDQ    R8, R12
	ADDQ    $256, DI
	DECQ    CX
	JNZ     panelBF16Loop
	VZEROUPPER
	RET

// TRANSPOSE makes columns of the 16 rows of 16 words in Z0 to Z15, with Z16 besides: EACHCOLUMN says where they are then. Of
// two registers each step makes two, one in that which is free; what was in the first is free after it.
#define UNPACK2(lo, hi, a, b) \
	VUNPCKLPS b, a, lo \
	VUNPCKHPS b, a, hi
#define UNPACK4(lo, hi, a, b) \
	VUNPCKLPD b, a, lo \
	VUNPCKHPD b, a, hi
#define SHUFFLE(lo, hi, a, b) \
	VSHUFF32X4 $0x88, b, a, lo \
	VSHUFF32X4 $0xdd, b, a, hi

#define TRANSPOSE \
UNPACK2(Z16, Z1, Z0, Z1) \
	UNPACK2(Z0, Z3, Z2, Z3) \
	UNPACK2(Z2, Z5, Z4, Z5) \
	UNPACK2(Z4, Z7, Z6, Z7) \
	UNPACK2(Z6, Z9, Z8, Z9) \
	UNPACK2(Z8, Z11, Z10, Z11) \
	UNPACK2(Z10, Z13, Z12, Z13) \
	UNPACK2(Z12, Z15, Z14, Z15) \
	UNPACK4(Z14, Z0, Z16, Z0) \
	UNPACK4(Z16, Z3, Z1, Z3) \
	UNPACK4(Z1, Z4, Z2, Z4) \
	UNPACK4(Z2, Z7, Z5, Z7) \
	UNPACK4(Z5, Z8, Z6, Z8) \
	UNPACK4(Z6, Z11, Z9, Z11) \
	UNPACK4(Z9, Z12, Z10, Z12) \
	UNPACK4(Z10, Z15, Z13, Z15) \
	SHUFFLE(Z13, Z1, Z14, Z1) \
	SHUFFLE(Z14, Z9, Z5, Z9) \
	SHUFFLE(Z5, Z4, Z0, Z4) \
	SHUFFLE(Z0, Z12, Z8, Z12) \
	SHUFFLE(Z8, Z2, Z16, Z2) \
	SHUFFLE(Z16, Z10, Z6, Z10) \
	SHUFFLE(Z6, Z7, Z3, Z7) \
	SHUFFLE(Z3, Z15, Z11, Z15) \
	SHUFFLE(Z11, Z14, Z13, Z14) \
	SHUFFLE(Z13, Z9, Z1, Z9) \
	SHUFFLE(Z1, Z0, Z5, Z0) \
	SHUFFLE(Z5, Z12, Z4, Z12) \
	SHUFFLE(Z4, Z16, Z8, Z16) \
	SHUFFLE(Z8, Z10, Z2, Z10) \
	SHUFFLE(Z2, Z3, Z6, Z3) \
	SHUFFLE(Z6, Z15, Z7, Z15)

#define EACHCOLUMN(do) \
	do(0, Z11) \
	do(1, Z1) \
	do(2, Z4) \
	do(3, Z2) \
	do(4, Z13) \
	do(5, Z5) \
	do(6, Z8) \
	do(7, Z6) \
	do(8, Z14) \
	do(9, Z0) \
	do(10, Z16) \
	do(11, Z3) \
	do(12, Z9) \
	do(13, Z12) \
	do(14, Z10) \
	do(15, Z15)

// ROWS loads 64 bytes of each of 16 rows, R11 bytes from where they begin, and asks for those at R12; R9 has the pointers to the rows.
#define ROWOF(i, z) \
	MOVQ       (8*i)(R9), AX \
	VMOVUPS    (AX)(R11*1), z \
	PREFETCHT0 (AX)(R12*1)

#define ROWS \
	ROWOF(0, Z0) \
	ROWOF(1, Z1) \
	ROWOF(2, Z2) \
	ROWOF(3, Z3) \
	ROWOF(4, Z4) \
	ROWOF(5, Z5) \
	ROWOF(6, Z6) \
	ROWOF(7, Z7) \
	ROWOF(8, Z8) \
	ROWOF(9, Z9) \
	ROWOF(10, Z10) \
	ROWOF(11, Z11) \
	ROWOF(12, Z12) \
	ROWOF(13, Z13) \
	ROWOF(14, Z14) \
	ROWOF(15, Z15)

#define PUT(i, z) \
	VMOVUPS z, (DI) \
	ADDQ    R8, DI

// PUTPAIR: of each word the lower half is one column, and the upper half the next.
#define PUTPAIR(i, z) \
	VPSLLD  $16, z, Z17 \
	VPANDD  Z18, z, z \
	VMOVUPS Z17, (DI) \
	VMOVUPS z, (DI)(R8*1) \
	LEAQ    (DI)(R8*2), DI

// func transposeAVX512(n int, d unsafe.Pointer, step int, rows *[16]unsafe.Pointer, ahead int)
TEXT ·transposeAVX512(SB), NOSPLIT, $0-40
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	MOVQ step+16(FP), R8
	MOVQ rows+24(FP), R9
	MOVQ ahead+32(FP), R12
	XORQ R11, R11

transposeBlock:
	CMPQ BX, $16
	JLT  transposeDone
	ROWS
	TRANSPOSE
	EACHCOLUMN(PUT)
	ADDQ $64, R11
	ADDQ $64, R12
	SUBQ $16, BX
	JMP  transposeBlock

transposeDone:
	VZEROUPPER
	RET

// func transposeBF16AVX512(n int, d unsafe.Pointer, step int, rows *[16]unsafe.Pointer, ahead int)
TEXT ·transposeBF16AVX512(SB), NOSPLIT, $0-40
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	MOVQ step+16(FP), R8
	MOVQ rows+24(FP), R9
	MOVQ ahead+32(FP), R12
	XORQ R11, R11

pairBlock:
	CMPQ         BX, $32
	JLT          pairDone
	ROWS
	TRANSPOSE
	MOVL         $0xffff0000, AX
	VPBROADCASTD AX, Z18
	EACHCOLUMN(PUTPAIR)
	ADDQ         $64, R11
	ADDQ         $64, R12
	SUBQ         $32, BX
	JMP          pairBlock

pairDone:
	VZEROUPPER
	RET


// func dots1AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, rows *[16]unsafe.Pointer, ahead int)
TEXT ·dots1AVX512(SB), NOSPLIT, $0-56
	DOTS(SUMS1, DOT1, 16, 64)

// func dots2AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, rows *[16]unsafe.Pointer, ahead int)
TEXT ·dots2AVX512(SB), NOSPLIT, $0-56
	DOTS(SUMS2, DOT2, 16, 128)

// func dots4AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, rows *[16]unsafe.Pointer, ahead int)
TEXT ·dots4AVX512(SB), NOSPLIT, $0-56
	DOTS(SUMS4, DOT4, 16, 256)

// func dots6AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, rows *[16]unsafe.Pointer, ahead int)
TEXT ·dots6AVX512(SB), NOSPLIT, $0-56
	DOTS(SUMS6, DOT6, 16, 384)

// func dots1BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, rows *[16]unsafe.Pointer, ahead int)
TEXT ·dots1BF16AVX512(SB), NOSPLIT, $0-56
	DOTS(SUMS1, DOTPAIR1, 32, 128)

// func dots2BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, rows *[16]unsafe.Pointer, ahead int)
TEXT ·dots2BF16AVX512(SB), NOSPLIT, $0-56
	DOTS(SUMS2, DOTPAIR2, 32, 256)

// func dots4BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, rows *[16]unsafe.Pointer, ahead int)
TEXT ·dots4BF16AVX512(SB), NOSPLIT, $0-56
	DOTS(SUMS4, DOTPAIR4, 32, 512)

// func dots6BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, rows *[16]unsafe.Pointer, ahead int)
TEXT ·dots6BF16AVX512(SB), NOSPLIT, $0-56
	DOTS(SUMS6, DOTPAIR6, 32, 768)
