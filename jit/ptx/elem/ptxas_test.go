package elem

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/ptxtest"
	"tilec/jit/target"
	"tilec/lang"
)

// allowed reports that an operation's rule takes an operand type.
func allowed(op lang.Op, d lang.DType) bool {
	switch op.Row().Rule {
	case lang.RuleNumeric:
		return d != lang.Bool
	case lang.RuleFloat, lang.RuleTest:
		return d.IsFloat()
	case lang.RuleInt:
		return d.IsInt()
	case lang.RuleBool:
		return d == lang.Bool
	case lang.RuleBits64:
		return d == lang.U64
	}
	return true
}

// operandClasses are the register classes of an operation's operands.
func operandClasses(op lang.Op, d lang.DType) []asm.Class {
	var cs []asm.Class
	for range op.Row().Operands {
		cs = append(cs, ClassOf(d))
	}
	if op == lang.OpWhere {
		cs[0] = asm.Pred
	}
	return cs
}

// everything calls f with a name, operand classes and the emitter of each operation on
// each type, each cast, and packing.
func everything(f func(name string, classes []asm.Class, emit func(a *asm.Builder, in []asm.Reg) []asm.Reg)) {
	for _, op := range lang.Ops() {
		for _, d := range lang.DTypes() {
			if !op.Row().Elementwise || op == lang.OpCast || op == lang.OpBitcast || !allowed(op, d) {
				continue
			}
			for _, approx := range []bool{false, true} {
				f(fmt.Sprintf("%s_%s_%v", op, d, approx), operandClasses(op, d), func(a *asm.Builder, in []asm.Reg) []asm.Reg {
					return []asm.Reg{Apply(a, op, d, in, approx)}
				})
			}
		}
	}
	for _, from := range lang.DTypes() {
		for _, to := range lang.DTypes() {
			f(fmt.Sprintf("cast_%s_%s", from, to), []asm.Class{ClassOf(from)}, func(a *asm.Builder, in []asm.Reg) []asm.Reg {
				return []asm.Reg{Cast(a, from, to, in[0])}
			})
		}
		f(fmt.Sprintf("const_%s", from), nil, func(a *asm.Builder, _ []asm.Reg) []asm.Reg {
			return []asm.Reg{Constant(a, from, ir.Const{Int: -1, Float: -0.1})}
		})
		switch from.Bits() {
		case 16:
			f("pack_"+from.String(), []asm.Class{asm.B32}, func(a *asm.Builder, in []asm.Reg) []asm.Reg {
				lo, hi := unpack16(a, from, in[0])
				return []asm.Reg{pack16(a, from, lo, hi), encode(a, from, lo)}
			})
		case 8:
			f("pack_"+from.String(), []asm.Class{asm.B32}, func(a *asm.Builder, in []asm.Reg) []asm.Reg {
				x := unpack8(a, from, in[0])
				return []asm.Reg{pack8(a, from, x), encode(a, from, x[1])}
			})
		}
	}
}

// load and keep are how a test kernel reads operands and keeps results alive.
var memory = map[asm.Class]struct{ typ, size string }{
	asm.B32: {"b32", "4"}, asm.B64: {"b64", "8"}, asm.F32: {"f32", "4"}, asm.F64: {"f64", "8"},
}

func load(a *asm.Builder, p asm.Reg, c asm.Class) asm.Reg {
	if c == asm.Pred {
		return a.Op(asm.Pred, "setp.ne.b32", load(a, p, asm.B32), asm.Int(0))
	}
	return a.Op(c, "ld.global."+memory[c].typ, asm.At(p))
}

func keep(a *asm.Builder, p, r asm.Reg) {
	if r.Class == asm.Pred {
		r = a.Op(asm.B32, "selp.b32", asm.Int(1), asm.Int(0), r)
	}
	a.Do("st.global."+memory[r.Class].typ, asm.At(p), r)
}

// Every operation on every type, every cast, every packing assembles.
func TestElementwiseAssembles(t *testing.T) {
	ptxas := ptxtest.Assembler(t)
	for _, name := range []string{"sm_80", "sm_90a"} {
		to, err := target.Find(name)
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			version := 0
			everything(func(name string, classes []asm.Class, emit func(a *asm.Builder, in []asm.Reg) []asm.Reg) {
				a := asm.New(to)
				p := a.Op(asm.B64, "ld.param.b64", asm.At(asm.Symbol("p")))
				in := make([]asm.Reg, len(classes))
				for i, c := range classes {
					in[i] = load(a, p, c)
				}
				for _, r := range emit(a, in) {
					keep(a, p, r)
				}
				a.Do("ret")
				require.NoError(t, a.Check(), name)
				fmt.Fprintf(&text, ".visible .entry %s(.param .b64 p)\n{\n", name)
				text.WriteString(a.Declarations())
				text.WriteString(a.Body().String())
				text.WriteString("}\n")
				version = max(version, a.Version)
			})
			file := filepath.Join(t.TempDir(), "all.ptx")
			head := fmt.Sprintf(".version %d.%d\n.target %s\n.address_size 64\n", version/10, version%10, to.Name)
			require.NoError(t, os.WriteFile(file, []byte(head+text.String()), 0o644))
			// Optimising hundreds of kernels takes long and tells nothing more.
			out, err := exec.Command(ptxas, "-O1", "-arch="+to.Name, "-o", os.DevNull, file).CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}
