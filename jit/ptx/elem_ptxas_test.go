package ptx

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// findPtxas looks for the assembler as the build does: $TILEC_PTXAS, .tools/ptxas of the repository, $PATH.
func findPtxas(t *testing.T) string {
	if p := os.Getenv("TILEC_PTXAS"); p != "" {
		return p
	}
	if p, err := filepath.Abs("../../.tools/ptxas"); err == nil {
		if info, err := os.Stat(p); err == nil && !info.IsDir() {
			return p
		}
	}
	p, err := exec.LookPath("ptxas")
	if err != nil {
		t.Skip("no ptxas: not in $TILEC_PTXAS, .tools/ptxas or $PATH")
	}
	return p
}

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
func operandClasses(op lang.Op, d lang.DType) []regClass {
	var cs []regClass
	for range op.Row().Operands {
		cs = append(cs, classOf(d))
	}
	if op == lang.OpWhere {
		cs[0] = pred
	}
	return cs
}

// everything calls f with a name, operand classes and the emitter of each operation on
// each type, each cast, and packing.
func everything(f func(name string, classes []regClass, emit func(a *asm, in []reg) []reg)) {
	for _, op := range lang.Ops() {
		for _, d := range lang.DTypes() {
			if !op.Row().Elementwise || op == lang.OpCast || op == lang.OpBitcast || !allowed(op, d) {
				continue
			}
			for _, approx := range []bool{false, true} {
				f(fmt.Sprintf("%s_%s_%v", op, d, approx), operandClasses(op, d), func(a *asm, in []reg) []reg {
					return []reg{elementwise(a, op, d, in, approx)}
				})
			}
		}
	}
	for _, from := range lang.DTypes() {
		for _, to := range lang.DTypes() {
			f(fmt.Sprintf("cast_%s_%s", from, to), []regClass{classOf(from)}, func(a *asm, in []reg) []reg {
				return []reg{cast(a, from, to, in[0])}
			})
		}
		f(fmt.Sprintf("const_%s", from), nil, func(a *asm, _ []reg) []reg {
			return []reg{constant(a, from, ir.Const{Int: -1, Float: -0.1})}
		})
		switch from.Bits() {
		case 16:
			f("pack_"+from.String(), []regClass{b32}, func(a *asm, in []reg) []reg {
				lo, hi := unpack16(a, from, in[0])
				return []reg{pack16(a, from, lo, hi), encode(a, from, lo)}
			})
		case 8:
			f("pack_"+from.String(), []regClass{b32}, func(a *asm, in []reg) []reg {
				x := unpack8(a, from, in[0])
				return []reg{pack8(a, from, x), encode(a, from, x[1])}
			})
		}
	}
}

// load and keep are how a test kernel reads operands and keeps results alive.
var memory = map[regClass]struct{ typ, size string }{
	b32: {"b32", "4"}, b64: {"b64", "8"}, f32: {"f32", "4"}, f64: {"f64", "8"},
}

func load(a *asm, p reg, c regClass) reg {
	if c == pred {
		return a.op(pred, "setp.ne.b32", load(a, p, b32), 0)
	}
	r := a.reg(c)
	a.ins("ld.global.%s %v, [%v]", memory[c].typ, r, p)
	return r
}

func keep(a *asm, p, r reg) {
	if r.class == pred {
		r = a.op(b32, "selp.b32", 1, 0, r)
	}
	a.ins("st.global.%s [%v], %v", memory[r.class].typ, p, r)
}

// Every operation on every type, every cast, every packing assembles.
func TestElementwiseAssembles(t *testing.T) {
	ptxas := findPtxas(t)
	for _, name := range []string{"sm_80", "sm_90a"} {
		to, err := target.Find(name)
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			version := 0
			everything(func(name string, classes []regClass, emit func(a *asm, in []reg) []reg) {
				a := newAsm(to)
				p := a.reg(b64)
				a.ins("ld.param.b64 %v, [p]", p)
				in := make([]reg, len(classes))
				for i, c := range classes {
					in[i] = load(a, p, c)
				}
				for _, r := range emit(a, in) {
					keep(a, p, r)
				}
				a.ins("ret")
				fmt.Fprintf(&text, ".visible .entry %s(.param .b64 p)\n{\n", name)
				a.declarations(&text)
				format(&text, a.body)
				text.WriteString("}\n")
				version = max(version, a.version)
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
