package number

// A kind says how the bits of a value are read.
type Kind uint8

const (
	KindBits Kind = iota
	kindUnsigned
	KindSigned
	kindFloat
	KindPred
)

// A dtype is a PTX type. A packed type (f16x2) has the format of one element and the bits of all.
type Type struct {
	Name   string
	Kind   Kind
	Bits   int
	Lanes  int     // elements packed in one value; 1 for scalars
	Format *Format // of floats
}

func (t Type) Bytes() int     { return (t.Bits + 7) / 8 }
func (t Type) IsFloat() bool  { return t.Kind == kindFloat }
func (t Type) isSigned() bool { return t.Kind == KindSigned }
func (t Type) IsInt() bool    { return t.Kind == KindSigned || t.Kind == kindUnsigned }
func (t Type) Mask() uint64   { return Mask(t.Bits) }

func Mask(bits int) uint64 {
	if bits >= 64 {
		return ^uint64(0)
	}
	return 1<<bits - 1
}

// SignExtend reads the low bits of v as a two's complement number.
func SignExtend(v uint64, bits int) int64 {
	shift := 64 - bits
	return int64(v<<shift) >> shift
}

// Types are the PTX types by name.
var Types = map[string]Type{
	"pred": {"pred", KindPred, 1, 1, nil},
	"b8":   {"b8", KindBits, 8, 1, nil}, "b16": {"b16", KindBits, 16, 1, nil},
	"b32": {"b32", KindBits, 32, 1, nil}, "b64": {"b64", KindBits, 64, 1, nil},
	"u8": {"u8", kindUnsigned, 8, 1, nil}, "u16": {"u16", kindUnsigned, 16, 1, nil},
	"u32": {"u32", kindUnsigned, 32, 1, nil}, "u64": {"u64", kindUnsigned, 64, 1, nil},
	"s8": {"s8", KindSigned, 8, 1, nil}, "s16": {"s16", KindSigned, 16, 1, nil},
	"s32": {"s32", KindSigned, 32, 1, nil}, "s64": {"s64", KindSigned, 64, 1, nil},
	"u16x2": {"u16x2", kindUnsigned, 32, 2, nil}, "s16x2": {"s16x2", KindSigned, 32, 2, nil},
	"f16": {"f16", kindFloat, 16, 1, &F16}, "bf16": {"bf16", kindFloat, 16, 1, &Bf16},
	"f32": {"f32", kindFloat, 32, 1, &F32}, "f64": {"f64", kindFloat, 64, 1, &f64},
	"tf32":  {"tf32", kindFloat, 32, 1, &tf32},
	"f16x2": {"f16x2", kindFloat, 32, 2, &F16}, "bf16x2": {"bf16x2", kindFloat, 32, 2, &Bf16},
	"e4m3": {"e4m3", kindFloat, 8, 1, &e4m3}, "e5m2": {"e5m2", kindFloat, 8, 1, &e5m2},
	"e4m3x2": {"e4m3x2", kindFloat, 16, 2, &e4m3}, "e5m2x2": {"e5m2x2", kindFloat, 16, 2, &e5m2},
}
