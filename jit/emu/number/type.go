package number

// A Kind says how the bits of a value are read.
type Kind uint8

// The kinds of PTX types.
const (
	KindBits     Kind = iota // .b: bits that only some instructions read as numbers
	KindUnsigned             // .u
	KindSigned               // .s: two's complement
	KindFloat                // .f, .bf, .tf, .e4m3, .e5m2
	KindPred                 // .pred: true or false
)

// A Type is a PTX type. A packed type (f16x2) has the format of one element and the bits of all.
type Type struct {
	Name   string // "f16x2"
	Kind   Kind
	Bits   int     // of a value
	Lanes  int     // elements packed in one value; 1 for scalars
	Format *Format // of floats
}

// Bytes is how many bytes a value takes in memory.
func (t Type) Bytes() int { return (t.Bits + 7) / 8 }

// IsFloat tells whether values are floating-point numbers, packed or not.
func (t Type) IsFloat() bool { return t.Kind == KindFloat }

// IsInt tells whether values are integers, packed or not; those of .b types are not.
func (t Type) IsInt() bool { return t.Kind == KindSigned || t.Kind == KindUnsigned }

// Mask has ones where a value of the type has bits.
func (t Type) Mask() uint64 { return Mask(t.Bits) }

// Mask has that many ones, from the lowest bit on; all 64 for more.
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
	"u8": {"u8", KindUnsigned, 8, 1, nil}, "u16": {"u16", KindUnsigned, 16, 1, nil},
	"u32": {"u32", KindUnsigned, 32, 1, nil}, "u64": {"u64", KindUnsigned, 64, 1, nil},
	"s8": {"s8", KindSigned, 8, 1, nil}, "s16": {"s16", KindSigned, 16, 1, nil},
	"s32": {"s32", KindSigned, 32, 1, nil}, "s64": {"s64", KindSigned, 64, 1, nil},
	"u16x2": {"u16x2", KindUnsigned, 32, 2, nil}, "s16x2": {"s16x2", KindSigned, 32, 2, nil},
	"f16": {"f16", KindFloat, 16, 1, &F16}, "bf16": {"bf16", KindFloat, 16, 1, &BF16},
	"f32": {"f32", KindFloat, 32, 1, &F32}, "f64": {"f64", KindFloat, 64, 1, &F64},
	"tf32":  {"tf32", KindFloat, 32, 1, &TF32},
	"f16x2": {"f16x2", KindFloat, 32, 2, &F16}, "bf16x2": {"bf16x2", KindFloat, 32, 2, &BF16},
	"e4m3": {"e4m3", KindFloat, 8, 1, &E4M3}, "e5m2": {"e5m2", KindFloat, 8, 1, &E5M2},
	"e4m3x2": {"e4m3x2", KindFloat, 16, 2, &E4M3}, "e5m2x2": {"e5m2x2", KindFloat, 16, 2, &E5M2},
}
