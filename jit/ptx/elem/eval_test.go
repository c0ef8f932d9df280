package elem

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ptx/asm"
	"tilec/jit/target"
)

// program executes the text that the elementwise emitters write, one thread,
// as the PTX ISA describes the instructions. It is made for bulk: text is decoded once, and
// immediates live in slots beside the registers. Approximate instructions are off by as much
// as their documentation allows, up and down, so that error bounds measured
// with it hold whatever the hardware does. What the ISA leaves open stops the test.
type program struct {
	slots  []uint64
	code   []step
	inputs []int
	result int
	regs   map[string]int
}

type step struct {
	run    func(v []uint64)
	guard  int // slot of a predicate, or -1
	negate bool
	target int // of a branch, else -1
}

// assemble emits with inputs of the classes given and decodes what was written.
func assemble(t testing.TB, arch int, classes []asm.Class, emit func(a *asm.Builder, in []asm.Reg) asm.Reg) *program {
	t.Helper()
	to, err := target.ForDevice(arch)
	require.NoError(t, err)
	a := asm.New(to)
	in := make([]asm.Reg, len(classes))
	for i, c := range classes {
		in[i] = a.Reg(c)
	}
	out := emit(a, in)
	p := &program{regs: map[string]int{}}
	for _, r := range in {
		p.inputs = append(p.inputs, p.slot(r.String()))
	}
	labels, lines := map[string]int{}, []*asm.Instr{}
	for _, l := range a.Body() {
		switch l := l.(type) {
		case asm.Label:
			labels[l.String()] = len(lines)
		case *asm.Instr:
			lines = append(lines, l)
		}
	}
	for _, l := range lines {
		p.code = append(p.code, p.decode(t, l.String(), labels))
	}
	p.result = p.slot(out.String())
	return p
}

// run gives the result for one set of operands, as bits.
func (p *program) run(in ...uint64) uint64 {
	v := p.slots
	for i, x := range in {
		v[p.inputs[i]] = x
	}
	for pc := 0; pc < len(p.code); {
		s := &p.code[pc]
		pc++
		if s.guard >= 0 && (v[s.guard] != 0) == s.negate {
			continue
		}
		if s.target >= 0 {
			pc = s.target
			continue
		}
		s.run(v)
	}
	return v[p.result]
}

func (p *program) slot(name string) int {
	if i, ok := p.regs[name]; ok {
		return i
	}
	p.slots = append(p.slots, 0)
	p.regs[name] = len(p.slots) - 1
	return len(p.slots) - 1
}

// operand is the slot of a register or an immediate of a width.
func (p *program) operand(t testing.TB, text string) int {
	if strings.HasPrefix(text, "%") {
		return p.slot(text)
	}
	key := "=" + text
	if i, ok := p.regs[key]; ok {
		return i
	}
	var v uint64
	var err error
	switch {
	case strings.HasPrefix(text, "0f"), strings.HasPrefix(text, "0d"):
		v, err = strconv.ParseUint(text[2:], 16, 64)
	case strings.HasPrefix(text, "-"):
		var n int64
		n, err = strconv.ParseInt(text, 0, 64)
		v = uint64(n)
	default:
		v, err = strconv.ParseUint(text, 0, 64)
	}
	if err != nil {
		t.Fatalf("operand %q: %v", text, err)
	}
	i := p.slot(key)
	p.slots[i] = v
	return i
}

func (p *program) decode(t testing.TB, text string, labels map[string]int) step {
	s := step{guard: -1, target: -1}
	if strings.HasPrefix(text, "@") {
		g, rest, _ := strings.Cut(text[1:], " ")
		s.negate = strings.HasPrefix(g, "!")
		s.guard = p.slot(strings.TrimPrefix(g, "!"))
		text = rest
	}
	name, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	if name == "bra" {
		at, ok := labels[rest]
		if !ok {
			t.Fatalf("no label %s", rest)
		}
		s.target = at
		return s
	}
	if name == "mov.b64" || name == "mov.b32" {
		if run := p.decodeMovPair(rest, name == "mov.b64"); run != nil {
			s.run = run
			return s
		}
	}
	var ops []int
	for i, f := range strings.Split(rest, ",") {
		f = strings.TrimSpace(f)
		if i == 0 {
			ops = append(ops, p.slot(f))
		} else {
			ops = append(ops, p.operand(t, f))
		}
	}
	run, err := decodeOp(strings.Split(name, "."), ops)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	s.run = run
	return s
}

// decodeMovPair is the packing and unpacking form of mov.
func (p *program) decodeMovPair(rest string, wide bool) func(v []uint64) {
	width, mask := 16, uint64(0xffff)
	if wide {
		width, mask = 32, 0xffffffff
	}
	open, end := strings.Index(rest, "{"), strings.Index(rest, "}")
	if open < 0 {
		return nil
	}
	lo, hi, _ := strings.Cut(rest[open+1:end], ",")
	l, h := p.slot(strings.TrimSpace(lo)), p.slot(strings.TrimSpace(hi))
	if open == 0 {
		x := p.slot(strings.Trim(rest[end+1:], ", "))
		return func(v []uint64) { v[l], v[h] = v[x]&mask, v[x]>>width&mask }
	}
	d := p.slot(strings.Trim(rest[:open], ", "))
	return func(v []uint64) { v[d] = v[l]&mask | v[h]&mask<<width }
}
