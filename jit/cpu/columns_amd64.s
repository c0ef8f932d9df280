// The loops of products with matrices whose columns are contiguous, with AVX-512 and with AVX2: columns are transposed in
// registers. product_amd64.go says what they compute.

#include "textflag.h"

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
	MOVQ    columns+40(FP), R9 \
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

// The same for AVX2: 8 columns at a time.

#define HALVES(lo, hi, a, b) \
	VPERM2F128 $0x20, b, a, lo \
	VPERM2F128 $0x31, b, a, hi

// TRANSPOSE8 makes columns of the 8 rows of 8 words in Y0 to Y7, with Y8 besides.
#define TRANSPOSE8 \
	UNPACK2(Y8, Y1, Y0, Y1) \
	UNPACK2(Y0, Y3, Y2, Y3) \
	UNPACK2(Y2, Y5, Y4, Y5) \
	UNPACK2(Y4, Y7, Y6, Y7) \
	UNPACK4(Y6, Y0, Y8, Y0) \
	UNPACK4(Y8, Y3, Y1, Y3) \
	UNPACK4(Y1, Y4, Y2, Y4) \
	UNPACK4(Y2, Y7, Y5, Y7) \
	HALVES(Y5, Y1, Y6, Y1) \
	HALVES(Y6, Y4, Y0, Y4) \
	HALVES(Y0, Y2, Y8, Y2) \
	HALVES(Y8, Y7, Y3, Y7)

// EACHCOLUMN8 leaves Y3 free.
#define EACHCOLUMN8(do) \
	do(0, Y5) \
	do(1, Y6) \
	do(2, Y0) \
	do(3, Y8) \
	do(4, Y1) \
	do(5, Y4) \
	do(6, Y2) \
	do(7, Y7)

#define ROWOF8(i, y) \
	MOVQ       (8*i)(R9), AX \
	VMOVUPS    (AX)(R11*1), y \
	PREFETCHT0 (AX)(R12*1)

#define ROWS8 \
	ROWOF8(0, Y0) \
	ROWOF8(1, Y1) \
	ROWOF8(2, Y2) \
	ROWOF8(3, Y3) \
	ROWOF8(4, Y4) \
	ROWOF8(5, Y5) \
	ROWOF8(6, Y6) \
	ROWOF8(7, Y7)

#define DOTY(at, z, s) \
	VBROADCASTSS at(SI), Y15 \
	VFMADD231PS  Y15, z, s

#define DOTY1(i, z) \
	DOTY(4*i+0, z, Y9)

#define DOTPAIRY1(i, z) \
	VPSLLD $16, z, Y3 \
	DOTY(8*i+0, Y3, Y9) \
	VPSRLD $16, z, z \
	VPSLLD $16, z, z \
	DOTY(8*i+4+0, z, Y9)

#define DOTY2(i, z) \
	DOTY(8*i+0, z, Y9) \
	DOTY(8*i+4, z, Y10)

#define DOTPAIRY2(i, z) \
	VPSLLD $16, z, Y3 \
	DOTY(16*i+0, Y3, Y9) \
	DOTY(16*i+4, Y3, Y10) \
	VPSRLD $16, z, z \
	VPSLLD $16, z, z \
	DOTY(16*i+8+0, z, Y9) \
	DOTY(16*i+8+4, z, Y10)

#define DOTY4(i, z) \
	DOTY(16*i+0, z, Y9) \
	DOTY(16*i+4, z, Y10) \
	DOTY(16*i+8, z, Y11) \
	DOTY(16*i+12, z, Y12)

#define DOTPAIRY4(i, z) \
	VPSLLD $16, z, Y3 \
	DOTY(32*i+0, Y3, Y9) \
	DOTY(32*i+4, Y3, Y10) \
	DOTY(32*i+8, Y3, Y11) \
	DOTY(32*i+12, Y3, Y12) \
	VPSRLD $16, z, z \
	VPSLLD $16, z, z \
	DOTY(32*i+16+0, z, Y9) \
	DOTY(32*i+16+4, z, Y10) \
	DOTY(32*i+16+8, z, Y11) \
	DOTY(32*i+16+12, z, Y12)

#define DOTY6(i, z) \
	DOTY(24*i+0, z, Y9) \
	DOTY(24*i+4, z, Y10) \
	DOTY(24*i+8, z, Y11) \
	DOTY(24*i+12, z, Y12) \
	DOTY(24*i+16, z, Y13) \
	DOTY(24*i+20, z, Y14)

#define DOTPAIRY6(i, z) \
	VPSLLD $16, z, Y3 \
	DOTY(48*i+0, Y3, Y9) \
	DOTY(48*i+4, Y3, Y10) \
	DOTY(48*i+8, Y3, Y11) \
	DOTY(48*i+12, Y3, Y12) \
	DOTY(48*i+16, Y3, Y13) \
	DOTY(48*i+20, Y3, Y14) \
	VPSRLD $16, z, z \
	VPSLLD $16, z, z \
	DOTY(48*i+24+0, z, Y9) \
	DOTY(48*i+24+4, z, Y10) \
	DOTY(48*i+24+8, z, Y11) \
	DOTY(48*i+24+12, z, Y12) \
	DOTY(48*i+24+16, z, Y13) \
	DOTY(48*i+24+20, z, Y14)

#define CLEARDOTY(y) VXORPS y, y, y

#define ADDDOTY(y) \
	VMASKMOVPS (DI), Y15, Y0 \
	VADDPS     Y0, y, y \
	VMASKMOVPS y, Y15, (DI) \
	ADDQ       R8, DI

#define SUMSY1(do) do(Y9)
#define SUMSY2(do) \
	SUMSY1(do) \
	do(Y10)
#define SUMSY4(do) \
	SUMSY2(do) \
	do(Y11) \
	do(Y12)
#define SUMSY6(do) \
	SUMSY4(do) \
	do(Y13) \
	do(Y14)

DATA columnmask<>+0(SB)/8, $-1
DATA columnmask<>+8(SB)/8, $-1
DATA columnmask<>+16(SB)/8, $-1
DATA columnmask<>+24(SB)/8, $-1
DATA columnmask<>+32(SB)/8, $0
DATA columnmask<>+40(SB)/8, $0
DATA columnmask<>+48(SB)/8, $0
DATA columnmask<>+56(SB)/8, $0
GLOBL columnmask<>(SB), RODATA|NOPTR, $64

#define DOTSY(sums, dot, steps, bytes) \
	MOVQ    k+8(FP), BX \
	MOVQ    c+16(FP), DI \
	MOVQ    cstride+24(FP), R8 \
	MOVQ    a+32(FP), SI \
	MOVQ    columns+40(FP), R9 \
	MOVQ    ahead+48(FP), R12 \
	XORQ    R11, R11 \
	sums(CLEARDOTY) \
block: \
	ROWS8 \
	TRANSPOSE8 \
	EACHCOLUMN8(dot) \
	ADDQ    $bytes, SI \
	ADDQ    $32, R11 \
	ADDQ    $32, R12 \
	SUBQ    $steps, BX \
	JG      block \
	MOVQ    n+0(FP), CX \
	NEGQ    CX \
	LEAQ    columnmask<>+32(SB), AX \
	VMOVUPS (AX)(CX*4), Y15 \
	sums(ADDDOTY) \
	VZEROUPPER \
	RET

// DOTSTWICEY is DOTSY of one row and twice as many columns: while one half waits for its sums the other is transposed.
#define DOTTWOY(i, z) \
	DOTY(4*i, z, Y10)

#define DOTPAIRTWOY(i, z) \
	VPSLLD $16, z, Y3 \
	DOTY(8*i, Y3, Y10) \
	VPSRLD $16, z, z \
	VPSLLD $16, z, z \
	DOTY(8*i+4, z, Y10)

#define DOTSTWICEY(dot, dotTwo, steps, bytes) \
	MOVQ       k+8(FP), BX \
	MOVQ       c+16(FP), DI \
	MOVQ       a+24(FP), SI \
	MOVQ       columns+32(FP), R9 \
	MOVQ       ahead+40(FP), R12 \
	XORQ       R11, R11 \
	VXORPS     Y9, Y9, Y9 \
	VXORPS     Y10, Y10, Y10 \
block: \
	ROWS8 \
	TRANSPOSE8 \
	EACHCOLUMN8(dot) \
	ADDQ       $64, R9 \
	ROWS8 \
	TRANSPOSE8 \
	EACHCOLUMN8(dotTwo) \
	SUBQ       $64, R9 \
	ADDQ       $bytes, SI \
	ADDQ       $32, R11 \
	ADDQ       $32, R12 \
	SUBQ       $steps, BX \
	JG         block \
	MOVQ       n+0(FP), CX \
	MOVQ       $8, AX \
	CMPQ       CX, AX \
	CMOVQLT    CX, AX \
	SUBQ       AX, CX \
	NEGQ       AX \
	NEGQ       CX \
	LEAQ       columnmask<>+32(SB), DX \
	VMOVUPS    (DX)(AX*4), Y15 \
	VMASKMOVPS (DI), Y15, Y0 \
	VADDPS     Y0, Y9, Y9 \
	VMASKMOVPS Y9, Y15, (DI) \
	VMOVUPS    (DX)(CX*4), Y15 \
	VMASKMOVPS 32(DI), Y15, Y0 \
	VADDPS     Y0, Y10, Y10 \
	VMASKMOVPS Y10, Y15, 32(DI) \
	VZEROUPPER \
	RET

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


// func dots1AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dots1AVX512(SB), NOSPLIT, $0-56
	DOTS(SUMS1, DOT1, 16, 64)

// func dots2AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dots2AVX512(SB), NOSPLIT, $0-56
	DOTS(SUMS2, DOT2, 16, 128)

// func dots4AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dots4AVX512(SB), NOSPLIT, $0-56
	DOTS(SUMS4, DOT4, 16, 256)

// func dots6AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dots6AVX512(SB), NOSPLIT, $0-56
	DOTS(SUMS6, DOT6, 16, 384)

// func dots1BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dots1BF16AVX512(SB), NOSPLIT, $0-56
	DOTS(SUMS1, DOTPAIR1, 32, 128)

// func dots2BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dots2BF16AVX512(SB), NOSPLIT, $0-56
	DOTS(SUMS2, DOTPAIR2, 32, 256)

// func dots4BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dots4BF16AVX512(SB), NOSPLIT, $0-56
	DOTS(SUMS4, DOTPAIR4, 32, 512)

// func dots6BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dots6BF16AVX512(SB), NOSPLIT, $0-56
	DOTS(SUMS6, DOTPAIR6, 32, 768)

// func dots1AVX2(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dots1AVX2(SB), NOSPLIT, $0-56
	DOTSY(SUMSY1, DOTY1, 8, 32)

// func dots2AVX2(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dots2AVX2(SB), NOSPLIT, $0-56
	DOTSY(SUMSY2, DOTY2, 8, 64)

// func dots4AVX2(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dots4AVX2(SB), NOSPLIT, $0-56
	DOTSY(SUMSY4, DOTY4, 8, 128)

// func dots6AVX2(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dots6AVX2(SB), NOSPLIT, $0-56
	DOTSY(SUMSY6, DOTY6, 8, 192)

// func dots1BF16AVX2(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dots1BF16AVX2(SB), NOSPLIT, $0-56
	DOTSY(SUMSY1, DOTPAIRY1, 16, 64)

// func dots2BF16AVX2(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dots2BF16AVX2(SB), NOSPLIT, $0-56
	DOTSY(SUMSY2, DOTPAIRY2, 16, 128)

// func dots4BF16AVX2(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dots4BF16AVX2(SB), NOSPLIT, $0-56
	DOTSY(SUMSY4, DOTPAIRY4, 16, 256)

// func dots6BF16AVX2(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dots6BF16AVX2(SB), NOSPLIT, $0-56
	DOTSY(SUMSY6, DOTPAIRY6, 16, 384)

// func dotsTwiceAVX2(n, k int, c, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dotsTwiceAVX2(SB), NOSPLIT, $0-48
	DOTSTWICEY(DOTY1, DOTTWOY, 8, 32)

// func dotsTwiceBF16AVX2(n, k int, c, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
TEXT ·dotsTwiceBF16AVX2(SB), NOSPLIT, $0-48
	DOTSTWICEY(DOTPAIRY1, DOTPAIRTWOY, 16, 64)
