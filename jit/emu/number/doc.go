// Package number says what the bits of PTX values stand for and what arithmetic makes
// of them: the types of PTX, its floating-point formats and rounding modes, conversions,
// comparisons, bit fields and integer products. Functions take and give the bits of
// values in the low bits of a uint64, as a register holds them.
//
// The package knows one value at a time. It must not know of instructions, registers,
// lanes, warps or memory: jit/emu/syntax says which operation is meant, and jit/emu
// on which lanes it works.
//
// Arithmetic is rounded once, as IEEE 754 says, in each rounding mode. Operations on f32
// and narrower types are done in float64 and rounded to odd there (the functions named
// Odd), so that rounding again to the format gives what rounding the exact value once
// gives; those on f64 (named 64) are exact in big floats where a mode other than to
// nearest asks for it. NaN results of f32 and narrower types are the canonical NaN.
package number
