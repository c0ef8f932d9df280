package emu

// A kind says how the bits of a value are read.
type kind uint8

const (
	kindBits kind = iota
	kindUnsigned
	kindSigned
	kindFloat
	kindPred
)

// A dtype is a PTX type. A packed type (f16x2) has the format of one element and the bits of all.
type dtype struct {
	name   string
	kind   kind
	bits   int
	lanes  int     // elements packed in one value; 1 for scalars
	format *format // of floats
}

func (t dtype) bytes() int     { return (t.bits + 7) / 8 }
func (t dtype) isFloat() bool  { return t.kind == kindFloat }
func (t dtype) isSigned() bool { return t.kind == kindSigned }
func (t dtype) isInt() bool    { return t.kind == kindSigned || t.kind == kindUnsigned }
func (t dtype) mask() uint64   { return widthMask(t.bits) }

func widthMask(bits int) uint64 {
	if bits >= 64 {
		return ^uint64(0)
	}
	return 1<<bits - 1
}

// signExtend reads the low bits of v as a two's complement number.
func signExtend(v uint64, bits int) int64 {
	shift := 64 - bits
	return int64(v<<shift) >> shift
}

// types are the PTX types by name.
var types = map[string]dtype{
	"pred": {"pred", kindPred, 1, 1, nil},
	"b8":   {"b8", kindBits, 8, 1, nil}, "b16": {"b16", kindBits, 16, 1, nil},
	"b32": {"b32", kindBits, 32, 1, nil}, "b64": {"b64", kindBits, 64, 1, nil},
	"u8": {"u8", kindUnsigned, 8, 1, nil}, "u16": {"u16", kindUnsigned, 16, 1, nil},
	"u32": {"u32", kindUnsigned, 32, 1, nil}, "u64": {"u64", kindUnsigned, 64, 1, nil},
	"s8": {"s8", kindSigned, 8, 1, nil}, "s16": {"s16", kindSigned, 16, 1, nil},
	"s32": {"s32", kindSigned, 32, 1, nil}, "s64": {"s64", kindSigned, 64, 1, nil},
	"u16x2": {"u16x2", kindUnsigned, 32, 2, nil}, "s16x2": {"s16x2", kindSigned, 32, 2, nil},
	"f16": {"f16", kindFloat, 16, 1, &f16}, "bf16": {"bf16", kindFloat, 16, 1, &bf16},
	"f32": {"f32", kindFloat, 32, 1, &f32}, "f64": {"f64", kindFloat, 64, 1, &f64},
	"tf32":  {"tf32", kindFloat, 32, 1, &tf32},
	"f16x2": {"f16x2", kindFloat, 32, 2, &f16}, "bf16x2": {"bf16x2", kindFloat, 32, 2, &bf16},
	"e4m3": {"e4m3", kindFloat, 8, 1, &e4m3}, "e5m2": {"e5m2", kindFloat, 8, 1, &e5m2},
	"e4m3x2": {"e4m3x2", kindFloat, 16, 2, &e4m3}, "e5m2x2": {"e5m2x2", kindFloat, 16, 2, &e5m2},
}
