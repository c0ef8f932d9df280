// The vector loops of kernels_amd64.go: AVX2 and FMA.

#include "textflag.h"

// Constants, repeated for each lane.

#define LANES(name, bits) \
	DATA name<>+0(SB)/4, $bits \
	DATA name<>+4(SB)/4, $bits \
	DATA name<>+8(SB)/4, $bits \
	DATA name<>+12(SB)/4, $bits \
	DATA name<>+16(SB)/4, $bits \
	DATA name<>+20(SB)/4, $bits \
	DATA name<>+24(SB)/4, $bits \
	DATA name<>+28(SB)/4, $bits \
	GLOBL name<>(SB), RODATA|NOPTR, $32

LANES(log2e, 0x3fb8aa3b) // 1.44269504
LANES(ln2hi, 0x3f318000) // 0.693359375
LANES(ln2lo, 0xb95e8083) // -0.00021219444
LANES(c2, 0x3f000000) // 0.5
LANES(c3, 0x3e2aaaab) // 0.166666667
LANES(c4, 0x3d2aaaab) // 0.0416666667
LANES(c5, 0x3c088889) // 0.00833333333
LANES(c6, 0x3ab60b61) // 0.00138888889
LANES(c7, 0x39500d01) // 0.000198412698
LANES(one, 0x3f800000) // 1
LANES(two, 0x40000000) // 2
LANES(explo, 0xc2d00000) // -104
LANES(exphi, 0x42b20000) // 89
LANES(exp2lo, 0xc3170000) // -151
LANES(exp2hi, 0x43010000) // 129
LANES(ln2, 0x3f317218) // 0.693147181
LANES(tanhlim, 0x3f200000) // 0.625
LANES(tanhtop, 0x41a00000) // 20
LANES(t0, 0xbeaaaa99) // -0.333332819
LANES(t1, 0x3e088393) // 0.133314422
LANES(t2, 0xbd5c1e2d) // -0.0537397156
LANES(t3, 0x3ca9134e) // 0.0206390888
LANES(t4, 0xbbbaf0ea) // -0.00570498873
LANES(sign, 0x80000000)
LANES(abs, 0x7fffffff)
LANES(bias, 0x0000007f)
LANES(unit, 0x00000001)
LANES(half, 0x00007fff)
LANES(quiet, 0x00400000)
LANES(upper, 0xffff0000)

// func addAVX(n int, d, a, b unsafe.Pointer)
TEXT ·addAVX(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	MOVQ a+16(FP), SI
	MOVQ b+24(FP), DX
	XORQ CX, CX
	MOVQ BX, AX
	ANDQ $~7, AX
	JZ addTail

addLoop:
	VMOVUPS (SI)(CX*4), Y0
	VMOVUPS (DX)(CX*4), Y1
	VADDPS Y1, Y0, Y0
	VMOVUPS Y0, (DI)(CX*4)
	ADDQ $8, CX
	CMPQ CX, AX
	JLT addLoop

addTail:
	CMPQ CX, BX
	JGE addDone
	VMOVSS (SI)(CX*4), X0
	VMOVSS (DX)(CX*4), X1
	VADDSS X1, X0, X0
	VMOVSS X0, (DI)(CX*4)
	INCQ CX
	JMP addTail

addDone:
	VZEROUPPER
	RET

// func subAVX(n int, d, a, b unsafe.Pointer)
TEXT ·subAVX(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	MOVQ a+16(FP), SI
	MOVQ b+24(FP), DX
	XORQ CX, CX
	MOVQ BX, AX
	ANDQ $~7, AX
	JZ subTail

subLoop:
	VMOVUPS (SI)(CX*4), Y0
	VMOVUPS (DX)(CX*4), Y1
	VSUBPS Y1, Y0, Y0
	VMOVUPS Y0, (DI)(CX*4)
	ADDQ $8, CX
	CMPQ CX, AX
	JLT subLoop

subTail:
	CMPQ CX, BX
	JGE subDone
	VMOVSS (SI)(CX*4), X0
	VMOVSS (DX)(CX*4), X1
	VSUBSS X1, X0, X0
	VMOVSS X0, (DI)(CX*4)
	INCQ CX
	JMP subTail

subDone:
	VZEROUPPER
	RET

// func mulAVX(n int, d, a, b unsafe.Pointer)
TEXT ·mulAVX(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	MOVQ a+16(FP), SI
	MOVQ b+24(FP), DX
	XORQ CX, CX
	MOVQ BX, AX
	ANDQ $~7, AX
	JZ mulTail

mulLoop:
	VMOVUPS (SI)(CX*4), Y0
	VMOVUPS (DX)(CX*4), Y1
	VMULPS Y1, Y0, Y0
	VMOVUPS Y0, (DI)(CX*4)
	ADDQ $8, CX
	CMPQ CX, AX
	JLT mulLoop

mulTail:
	CMPQ CX, BX
	JGE mulDone
	VMOVSS (SI)(CX*4), X0
	VMOVSS (DX)(CX*4), X1
	VMULSS X1, X0, X0
	VMOVSS X0, (DI)(CX*4)
	INCQ CX
	JMP mulTail

mulDone:
	VZEROUPPER
	RET

// func divAVX(n int, d, a, b unsafe.Pointer)
TEXT ·divAVX(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	MOVQ a+16(FP), SI
	MOVQ b+24(FP), DX
	XORQ CX, CX
	MOVQ BX, AX
	ANDQ $~7, AX
	JZ divTail

divLoop:
	VMOVUPS (SI)(CX*4), Y0
	VMOVUPS (DX)(CX*4), Y1
	VDIVPS Y1, Y0, Y0
	VMOVUPS Y0, (DI)(CX*4)
	ADDQ $8, CX
	CMPQ CX, AX
	JLT divLoop

divTail:
	CMPQ CX, BX
	JGE divDone
	VMOVSS (SI)(CX*4), X0
	VMOVSS (DX)(CX*4), X1
	VDIVSS X1, X0, X0
	VMOVSS X0, (DI)(CX*4)
	INCQ CX
	JMP divTail

divDone:
	VZEROUPPER
	RET

// The hardware gives the second operand of two zeros, or when one is NaN: both
// orders together give the right zero, and an unordered pair gives NaN.
// func maximumAVX(n int, d, a, b unsafe.Pointer)
TEXT ·maximumAVX(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	MOVQ a+16(FP), SI
	MOVQ b+24(FP), DX
	XORQ CX, CX
	MOVQ BX, AX
	ANDQ $~7, AX
	JZ maximumTail

maximumLoop:
	VMOVUPS (SI)(CX*4), Y0
	VMOVUPS (DX)(CX*4), Y1
	VMAXPS Y1, Y0, Y2
	VMAXPS Y0, Y1, Y3
	VCMPPS $3, Y1, Y0, Y4
	VANDPS Y3, Y2, Y0
	VORPS Y4, Y0, Y0
	VMOVUPS Y0, (DI)(CX*4)
	ADDQ $8, CX
	CMPQ CX, AX
	JLT maximumLoop

maximumTail:
	CMPQ CX, BX
	JGE maximumDone
	VMOVSS (SI)(CX*4), X0
	VMOVSS (DX)(CX*4), X1
	VMAXPS X1, X0, X2
	VMAXPS X0, X1, X3
	VCMPPS $3, X1, X0, X4
	VANDPS X3, X2, X0
	VORPS X4, X0, X0
	VMOVSS X0, (DI)(CX*4)
	INCQ CX
	JMP maximumTail

maximumDone:
	VZEROUPPER
	RET

// func minimumAVX(n int, d, a, b unsafe.Pointer)
TEXT ·minimumAVX(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	MOVQ a+16(FP), SI
	MOVQ b+24(FP), DX
	XORQ CX, CX
	MOVQ BX, AX
	ANDQ $~7, AX
	JZ minimumTail

minimumLoop:
	VMOVUPS (SI)(CX*4), Y0
	VMOVUPS (DX)(CX*4), Y1
	VMINPS Y1, Y0, Y2
	VMINPS Y0, Y1, Y3
	VCMPPS $3, Y1, Y0, Y4
	VORPS Y3, Y2, Y0
	VORPS Y4, Y0, Y0
	VMOVUPS Y0, (DI)(CX*4)
	ADDQ $8, CX
	CMPQ CX, AX
	JLT minimumLoop

minimumTail:
	CMPQ CX, BX
	JGE minimumDone
	VMOVSS (SI)(CX*4), X0
	VMOVSS (DX)(CX*4), X1
	VMINPS X1, X0, X2
	VMINPS X0, X1, X3
	VCMPPS $3, X1, X0, X4
	VORPS X3, X2, X0
	VORPS X4, X0, X0
	VMOVSS X0, (DI)(CX*4)
	INCQ CX
	JMP minimumTail

minimumDone:
	VZEROUPPER
	RET

// func fmaAVX(n int, d, a, b, c unsafe.Pointer)
TEXT ·fmaAVX(SB), NOSPLIT, $0-40
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	MOVQ a+16(FP), SI
	MOVQ b+24(FP), DX
	MOVQ c+32(FP), R8
	XORQ CX, CX
	MOVQ BX, AX
	ANDQ $~7, AX
	JZ fmaTail

fmaLoop:
	VMOVUPS (SI)(CX*4), Y0
	VMOVUPS (DX)(CX*4), Y1
	VMOVUPS (R8)(CX*4), Y2
	VFMADD213PS Y2, Y1, Y0
	VMOVUPS Y0, (DI)(CX*4)
	ADDQ $8, CX
	CMPQ CX, AX
	JLT fmaLoop

fmaTail:
	CMPQ CX, BX
	JGE fmaDone
	VMOVSS (SI)(CX*4), X0
	VMOVSS (DX)(CX*4), X1
	VMOVSS (R8)(CX*4), X2
	VFMADD213SS X2, X1, X0
	VMOVSS X0, (DI)(CX*4)
	INCQ CX
	JMP fmaTail

fmaDone:
	VZEROUPPER
	RET

// POLY: e**r of Y1 in Y2, for |r| up to ln(2)/2; the Taylor series.
#define POLY \
	VMOVUPS     c7<>(SB), Y2 \
	VFMADD213PS c6<>(SB), Y1, Y2 \
	VFMADD213PS c5<>(SB), Y1, Y2 \
	VFMADD213PS c4<>(SB), Y1, Y2 \
	VFMADD213PS c3<>(SB), Y1, Y2 \
	VFMADD213PS c2<>(SB), Y1, Y2 \
	VMULPS      Y1, Y2, Y2 \
	VFMADD213PS Y1, Y1, Y2 \
	VADDPS      one<>(SB), Y2, Y2

// SCALE: Y0 = Y2 times 2 to the power of Y3, in two steps so that results
// below the normal numbers are rounded once.
#define SCALE \
	VCVTPS2DQ Y3, Y3 \
	VPSRAD    $1, Y3, Y4 \
	VPSUBD    Y4, Y3, Y3 \
	VPADDD    bias<>(SB), Y3, Y3 \
	VPADDD    bias<>(SB), Y4, Y4 \
	VPSLLD    $23, Y3, Y3 \
	VPSLLD    $23, Y4, Y4 \
	VMULPS    Y3, Y2, Y2 \
	VMULPS    Y4, Y2, Y0

// EXP: Y0 = e**Y0. The bounds keep NaN: the hardware gives the second operand.
#define EXP \
	VMOVUPS      explo<>(SB), Y1 \
	VMAXPS       Y0, Y1, Y0 \
	VMOVUPS      exphi<>(SB), Y1 \
	VMINPS       Y0, Y1, Y0 \
	VMULPS       log2e<>(SB), Y0, Y3 \
	VROUNDPS     $0, Y3, Y3 \
	VMOVAPS      Y0, Y1 \
	VFNMADD231PS ln2hi<>(SB), Y3, Y1 \
	VFNMADD231PS ln2lo<>(SB), Y3, Y1 \
	POLY \
	SCALE

// func expAVX(n int, d, a unsafe.Pointer)
TEXT ·expAVX(SB), NOSPLIT, $0-24
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	MOVQ a+16(FP), SI
	XORQ CX, CX

expLoop:
	VMOVUPS (SI)(CX*4), Y0
	EXP
	VMOVUPS Y0, (DI)(CX*4)
	ADDQ $8, CX
	CMPQ CX, BX
	JLT expLoop
	VZEROUPPER
	RET

// func exp2AVX(n int, d, a unsafe.Pointer)
TEXT ·exp2AVX(SB), NOSPLIT, $0-24
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	MOVQ a+16(FP), SI
	XORQ CX, CX

exp2Loop:
	VMOVUPS (SI)(CX*4), Y0
	VMOVUPS exp2lo<>(SB), Y1
	VMAXPS Y0, Y1, Y0
	VMOVUPS exp2hi<>(SB), Y1
	VMINPS Y0, Y1, Y0
	VROUNDPS $0, Y0, Y3
	VSUBPS Y3, Y0, Y1
	VMULPS ln2<>(SB), Y1, Y1
	POLY
	SCALE
	VMOVUPS Y0, (DI)(CX*4)
	ADDQ $8, CX
	CMPQ CX, BX
	JLT exp2Loop
	VZEROUPPER
	RET

// func sigmoidAVX(n int, d, a unsafe.Pointer)
TEXT ·sigmoidAVX(SB), NOSPLIT, $0-24
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	MOVQ a+16(FP), SI
	XORQ CX, CX

sigmoidLoop:
	VMOVUPS (SI)(CX*4), Y0
	VMOVAPS Y0, Y5
	VORPS sign<>(SB), Y0, Y0 // -|x|: e does not overflow
	EXP
	VADDPS one<>(SB), Y0, Y1
	VMOVUPS one<>(SB), Y2
	VBLENDVPS Y5, Y0, Y2, Y0 // e / (1 + e) below 0, 1 / (1 + e) above
	VDIVPS Y1, Y0, Y0
	VMOVUPS Y0, (DI)(CX*4)
	ADDQ $8, CX
	CMPQ CX, BX
	JLT sigmoidLoop
	VZEROUPPER
	RET

// func tanhAVX(n int, d, a unsafe.Pointer)
TEXT ·tanhAVX(SB), NOSPLIT, $0-24
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	MOVQ a+16(FP), SI
	XORQ CX, CX

tanhLoop:
	VMOVUPS (SI)(CX*4), Y0
	VMOVAPS Y0, Y5
	VANDPS abs<>(SB), Y0, Y6
	VMOVUPS tanhtop<>(SB), Y1
	VMINPS Y6, Y1, Y0
	VADDPS Y0, Y0, Y0
	EXP
	VADDPS one<>(SB), Y0, Y0
	VMOVUPS two<>(SB), Y1
	VDIVPS Y0, Y1, Y0
	VMOVUPS one<>(SB), Y1
	VSUBPS Y0, Y1, Y0 // 1 - 2 / (1 + e**2|x|)
	VMULPS Y6, Y6, Y7
	VMOVUPS t4<>(SB), Y1
	VFMADD213PS t3<>(SB), Y7, Y1
	VFMADD213PS t2<>(SB), Y7, Y1
	VFMADD213PS t1<>(SB), Y7, Y1
	VFMADD213PS t0<>(SB), Y7, Y1
	VMULPS Y7, Y1, Y1
	VFMADD213PS Y6, Y6, Y1 // |x| + |x|**3 P(x**2)
	VCMPPS $1, tanhlim<>(SB), Y6, Y2
	VBLENDVPS Y2, Y1, Y0, Y0
	VANDPS sign<>(SB), Y5, Y5
	VORPS Y5, Y0, Y0
	VMOVUPS Y0, (DI)(CX*4)
	ADDQ $8, CX
	CMPQ CX, BX
	JLT tanhLoop
	VZEROUPPER
	RET

// func sumAVX(n int, x unsafe.Pointer) float64
TEXT ·sumAVX(SB), NOSPLIT, $0-24
	MOVQ   n+0(FP), BX
	MOVQ   x+8(FP), SI
	XORQ   CX, CX
	VXORPD Y4, Y4, Y4
	VXORPD Y5, Y5, Y5
	VXORPD Y6, Y6, Y6
	VXORPD Y7, Y7, Y7

sumLoop:
	CMPQ      CX, BX
	JGE       sumDone
	VCVTPS2PD (SI)(CX*4), Y0
	VCVTPS2PD 16(SI)(CX*4), Y1
	VCVTPS2PD 32(SI)(CX*4), Y2
	VCVTPS2PD 48(SI)(CX*4), Y3
	VADDPD    Y0, Y4, Y4
	VADDPD    Y1, Y5, Y5
	VADDPD    Y2, Y6, Y6
	VADDPD    Y3, Y7, Y7
	ADDQ      $16, CX
	JMP       sumLoop

sumDone:
	VADDPD       Y5, Y4, Y4
	VADDPD       Y7, Y6, Y6
	VADDPD       Y6, Y4, Y4
	VEXTRACTF128 $1, Y4, X5
	VADDPD       X5, X4, X4
	VHADDPD      X4, X4, X4
	VMOVSD       X4, ret+16(FP)
	VZEROUPPER
	RET

// func maxAVX(n int, x unsafe.Pointer) float32
TEXT ·maxAVX(SB), NOSPLIT, $0-20
	MOVQ    n+0(FP), BX
	MOVQ    x+8(FP), SI
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VXORPS  Y4, Y4, Y4 // where a NaN was seen
	XORQ    CX, CX

maxLoop:
	VMOVUPS (SI)(CX*4), Y2
	VMOVUPS 32(SI)(CX*4), Y3
	VCMPPS  $3, Y3, Y2, Y5
	VORPS   Y5, Y4, Y4
	VMAXPS  Y2, Y0, Y0
	VMAXPS  Y3, Y1, Y1
	ADDQ    $16, CX
	CMPQ    CX, BX
	JLT     maxLoop

	VMAXPS       Y1, Y0, Y0
	VMOVMSKPS    Y4, AX
	VEXTRACTF128 $1, Y0, X1
	VMAXPS       X1, X0, X0
	VMOVHLPS     X0, X0, X1
	VMAXPS       X1, X0, X0
	VMOVSHDUP    X0, X1
	VMAXSS       X1, X0, X0
	TESTL        AX, AX
	JZ           maxDone
	VCMPSS       $15, X0, X0, X0 // all ones: NaN

maxDone:
	VMOVSS X0, ret+16(FP)
	VZEROUPPER
	RET

// func transposeAVX(n int, d unsafe.Pointer, step int, rows *[8]unsafe.Pointer)
TEXT ·transposeAVX(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), DX
	MOVQ d+8(FP), DI
	MOVQ step+16(FP), AX
	MOVQ rows+24(FP), CX
	MOVQ (CX), R8
	MOVQ 8(CX), R9
	MOVQ 16(CX), R10
	MOVQ 24(CX), R11
	MOVQ 32(CX), R12
	MOVQ 40(CX), R13
	MOVQ 48(CX), SI
	MOVQ 56(CX), BX
	XORQ CX, CX

transposeLoop:
	VMOVUPS (R8)(CX*4), Y0
	VMOVUPS (R9)(CX*4), Y1
	VMOVUPS (R10)(CX*4), Y2
	VMOVUPS (R11)(CX*4), Y3
	VMOVUPS (R12)(CX*4), Y4
	VMOVUPS (R13)(CX*4), Y5
	VMOVUPS (SI)(CX*4), Y6
	VMOVUPS (BX)(CX*4), Y7
	VUNPCKLPS Y1, Y0, Y8
	VUNPCKHPS Y1, Y0, Y9
	VUNPCKLPS Y3, Y2, Y10
	VUNPCKHPS Y3, Y2, Y11
	VUNPCKLPS Y5, Y4, Y12
	VUNPCKHPS Y5, Y4, Y13
	VUNPCKLPS Y7, Y6, Y14
	VUNPCKHPS Y7, Y6, Y15
	VSHUFPS $0x44, Y10, Y8, Y0
	VSHUFPS $0xee, Y10, Y8, Y1
	VSHUFPS $0x44, Y11, Y9, Y2
	VSHUFPS $0xee, Y11, Y9, Y3
	VSHUFPS $0x44, Y14, Y12, Y4
	VSHUFPS $0xee, Y14, Y12, Y5
	VSHUFPS $0x44, Y15, Y13, Y6
	VSHUFPS $0xee, Y15, Y13, Y7
	VPERM2F128 $0x20, Y4, Y0, Y8
	VMOVUPS Y8, (DI)
	ADDQ AX, DI
	VPERM2F128 $0x20, Y5, Y1, Y8
	VMOVUPS Y8, (DI)
	ADDQ AX, DI
	VPERM2F128 $0x20, Y6, Y2, Y8
	VMOVUPS Y8, (DI)
	ADDQ AX, DI
	VPERM2F128 $0x20, Y7, Y3, Y8
	VMOVUPS Y8, (DI)
	ADDQ AX, DI
	VPERM2F128 $0x31, Y4, Y0, Y8
	VMOVUPS Y8, (DI)
	ADDQ AX, DI
	VPERM2F128 $0x31, Y5, Y1, Y8
	VMOVUPS Y8, (DI)
	ADDQ AX, DI
	VPERM2F128 $0x31, Y6, Y2, Y8
	VMOVUPS Y8, (DI)
	ADDQ AX, DI
	VPERM2F128 $0x31, Y7, Y3, Y8
	VMOVUPS Y8, (DI)
	ADDQ AX, DI
	ADDQ $8, CX
	CMPQ CX, DX
	JLT  transposeLoop
	VZEROUPPER
	RET

// func widenBF16AVX(n int, d, a unsafe.Pointer)
TEXT ·widenBF16AVX(SB), NOSPLIT, $0-24
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	MOVQ a+16(FP), SI
	XORQ CX, CX

widenBF16Loop:
	VPMOVZXWD (SI)(CX*2), Y0
	VPSLLD    $16, Y0, Y0
	VMOVUPS   Y0, (DI)(CX*4)
	ADDQ      $8, CX
	CMPQ      CX, BX
	JLT       widenBF16Loop
	VZEROUPPER
	RET

// func widenF16AVX(n int, d, a unsafe.Pointer)
TEXT ·widenF16AVX(SB), NOSPLIT, $0-24
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	MOVQ a+16(FP), SI
	XORQ CX, CX

widenF16Loop:
	VCVTPH2PS (SI)(CX*2), Y0
	VMOVUPS   Y0, (DI)(CX*4)
	ADDQ      $8, CX
	CMPQ      CX, BX
	JLT       widenF16Loop
	VZEROUPPER
	RET

// func narrowBF16AVX(n int, d, a unsafe.Pointer)
TEXT ·narrowBF16AVX(SB), NOSPLIT, $0-24
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	MOVQ a+16(FP), SI
	XORQ CX, CX

narrowBF16Loop:
	VMOVUPS   (SI)(CX*4), Y0
	VPSRLD    $16, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPACKUSDW X1, X0, X0
	VMOVUPS   X0, (DI)(CX*2)
	ADDQ      $8, CX
	CMPQ      CX, BX
	JLT       narrowBF16Loop
	VZEROUPPER
	RET

// func narrowF16AVX(n int, d, a unsafe.Pointer)
TEXT ·narrowF16AVX(SB), NOSPLIT, $0-24
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	MOVQ a+16(FP), SI
	XORQ CX, CX

narrowF16Loop:
	VMOVUPS   (SI)(CX*4), Y0
	VCVTPS2PH $0, Y0, (DI)(CX*2)
	ADDQ      $8, CX
	CMPQ      CX, BX
	JLT       narrowF16Loop
	VZEROUPPER
	RET

// func roundF16AVX(n int, d unsafe.Pointer)
TEXT ·roundF16AVX(SB), NOSPLIT, $0-16
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	XORQ CX, CX

roundF16Loop:
	VMOVUPS   (DI)(CX*4), Y0
	VCVTPS2PH $0, Y0, X0
	VCVTPH2PS X0, Y0
	VMOVUPS   Y0, (DI)(CX*4)
	ADDQ      $8, CX
	CMPQ      CX, BX
	JLT       roundF16Loop
	VZEROUPPER
	RET

// func roundBF16AVX(n int, d unsafe.Pointer)
TEXT ·roundBF16AVX(SB), NOSPLIT, $0-16
	MOVQ n+0(FP), BX
	MOVQ d+8(FP), DI
	XORQ CX, CX

roundBF16Loop:
	VMOVUPS   (DI)(CX*4), Y0
	VPSRLD    $16, Y0, Y1
	VPAND     unit<>(SB), Y1, Y1
	VPADDD    half<>(SB), Y1, Y1
	VPADDD    Y0, Y1, Y1 // to nearest, ties to even
	VPOR      quiet<>(SB), Y0, Y2
	VCMPPS    $3, Y0, Y0, Y3
	VBLENDVPS Y3, Y2, Y1, Y0 // NaN stays NaN
	VPAND     upper<>(SB), Y0, Y0
	VMOVUPS   Y0, (DI)(CX*4)
	ADDQ      $8, CX
	CMPQ      CX, BX
	JLT       roundBF16Loop
	VZEROUPPER
	RET

// func fillAVX(n int, d unsafe.Pointer, v uint32)
TEXT ·fillAVX(SB), NOSPLIT, $0-20
	MOVQ         n+0(FP), BX
	MOVQ         d+8(FP), DI
	VBROADCASTSS v+16(FP), Y0
	XORQ         CX, CX

fillLoop:
	CMPQ    CX, BX
	JGE     fillDone
	VMOVUPS Y0, (DI)(CX*4)
	ADDQ    $8, CX
	JMP     fillLoop

fillDone:
	VZEROUPPER
	RET
