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
