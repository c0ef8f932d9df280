package ir

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"tilec/lang"
)

// String is the kernel's text form. Parse reads it back, and what it reads
// prints the same. Places in the source are not part of it.
func (f *Func) String() string { return f.print(noNotes).out.String() }

// Listing is String, with the place in the source of each line that has one.
func (f *Func) Listing() lang.Listing { return f.Noted(noNotes) }

// Noted is Listing with notes below what they are about, whose places they have: notes gives the lines of those about an operation, or about
// the kernel where that is nil.
func (f *Func) Noted(notes func(*Op) []string) lang.Listing {
	p := f.print(notes)
	return lang.NewListing(p.out.String(), p.places)
}

func noNotes(*Op) []string { return nil }

func (f *Func) print(notes func(*Op) []string) *printer {
	p := &printer{f: f, notes: notes}
	p.line("kernel @%s {", quote(f.Name))
	p.depth++
	p.declarations()
	p.note(nil)
	p.depth--
	p.line("body:")
	p.depth++
	p.block(f.Body)
	p.depth--
	p.line("}")
	return p
}

// String is the operation's text form on one line; of a `for` or an `if`, its head.
func (op *Op) String() string {
	s := head(op)
	if len(op.Blocks) > 0 || op.Fn != nil {
		s += " { ... }"
	}
	return s
}

type printer struct {
	f     *Func
	notes func(*Op) []string
	out   strings.Builder
	depth int
	// at is where the lines come from that are printed now, places where each line does.
	at     lang.Span
	places []lang.Span
}

// note prints the notes about an operation, or about the kernel.
func (p *printer) note(about *Op) {
	for _, line := range p.notes(about) {
		p.line("%s", line)
	}
}

func (p *printer) line(format string, args ...any) {
	p.out.WriteString(strings.Repeat("  ", p.depth))
	fmt.Fprintf(&p.out, format, args...)
	p.out.WriteByte('\n')
	p.places = append(p.places, p.at)
}

func (p *printer) declarations() {
	f := p.f
	for _, d := range f.Dims {
		wide := ""
		if d.Wide {
			wide = " wide"
		}
		p.line("dim %s = %s%s", quote(d.Name), size(d), wide)
	}
	for _, d := range f.strideDims() {
		p.line("stride %s = %s", quote(d.Name), size(d))
	}
	for _, t := range f.Tensors {
		p.line("%s", p.tensor(t))
	}
	for _, s := range f.Scalars {
		p.line("scalar %s : %s", define(s), s.Type)
	}
	for _, a := range f.Axes {
		p.at = a.At
		p.line("axis %s : %s", quote(a.Name), axis(a))
	}
	p.at = lang.Span{}
	for _, name := range sortedKeys(f.Hints) {
		p.line("hint %s = %d", quote(name), f.Hints[name])
	}
	if f.Approx {
		p.line("approx")
	}
	if f.Spill {
		p.line("spill")
	}
	if f.Dependent {
		p.line("dependent")
	}
	if f.Timed {
		p.line("timed")
	}
}

// strideDims is the unknown strides that are not dimensions too, in order of first use.
func (f *Func) strideDims() []*Dim {
	seen := map[*Dim]bool{}
	for _, d := range f.Dims {
		seen[d] = true
	}
	var ds []*Dim
	for _, t := range f.Tensors {
		for _, s := range t.Strides {
			if !s.Known() && !seen[s] {
				seen[s] = true
				ds = append(ds, s)
			}
		}
	}
	return ds
}

func size(d *Dim) string {
	switch {
	case d.Known():
		return strconv.FormatInt(d.Value, 10)
	case d.Divisor > 1:
		return fmt.Sprintf("? %% %d", d.Divisor)
	}
	return "?"
}

func (p *printer) tensor(t *Tensor) string {
	mode := t.Mode.String()
	if t.Scratch {
		mode = "scratch"
	}
	if t.Shared {
		mode = "shared"
	}
	s := fmt.Sprintf("tensor %s : %s %s[%s]", tensorName(t), mode, t.DType,
		list(t.Shape, func(d *Dim) string { return quote(d.Name) }))
	if t.Strides != nil {
		s += fmt.Sprintf(" strides [%s]", list(t.Strides, p.stride))
	}
	if t.Align > 0 {
		s += fmt.Sprintf(" align %d", t.Align)
	}
	if t.Split > 1 {
		s += fmt.Sprintf(" split %d", t.Split)
	}
	if t.Constant {
		s += " constant"
	}
	if t.Grows != nil {
		s += " " + t.Grows.String()
	}
	if t.Starts {
		s += " starts"
	}
	return s
}

// stride prints a constant as a number, and a dimension by its name, quoted
// where the name looks like a number.
func (p *printer) stride(d *Dim) string {
	for _, dim := range p.f.Dims {
		if d == dim && number.MatchString(d.Name) {
			return strconv.Quote(d.Name)
		}
		if d == dim {
			return quote(d.Name)
		}
	}
	if d.Known() {
		return strconv.FormatInt(d.Value, 10)
	}
	return quote(d.Name)
}

func axis(a *Axis) string {
	s := axisRange(a)
	if r := a.Ranges; r != nil {
		s += " over ranges of " + quote(r.Of.Name) + " from " + rangeEnd(r.Lo) + " to " + rangeEnd(r.Hi)
		for i, t := range r.Outside {
			s += [...]string{" zero outside in ", ", "}[min(i, 1)] + tensorName(t)
		}
	}
	if a.Split > 1 {
		s += fmt.Sprintf(" split %d", a.Split)
	}
	if a.Edges > 0 {
		s += fmt.Sprintf(" edges of %d", a.Edges)
	}
	return s
}

func rangeEnd(e *Element) string {
	if e == nil {
		return "?"
	}
	return fmt.Sprintf("%s[%d]", tensorName(e.Tensor), e.Plus)
}

func axisRange(a *Axis) string {
	s := a.Kind.String()
	if a.Scalar {
		s += " scalar"
	}
	if a.Dim != nil {
		s += " " + quoteBut(a.Dim.Name, "scalar")
	}
	if a.Kind == Whole {
		if a.Dim == nil {
			s += " "
		}
		s += fmt.Sprintf("[%d .. %d]", a.Lo, a.Lo+a.Len)
	}
	if a.Scalar || a.Kind == Whole && a.Tile == "" && len(a.Choices) == 0 {
		return s
	}
	s += " by "
	switch {
	case a.Tile != "":
		name := quote(a.Tile)
		if number.MatchString(name) {
			name = strconv.Quote(a.Tile)
		}
		s += name
		if a.Kind != Whole {
			s += " = " + extent(a)
		}
	case a.Kind == Whole:
		s += "?"
	default:
		s += extent(a)
	}
	if len(a.Choices) > 0 {
		s += fmt.Sprintf(" in {%s}", list(a.Choices, func(n int64) string { return strconv.FormatInt(n, 10) }))
	}
	return s
}

func extent(a *Axis) string {
	if a.Extent == 0 {
		return "?"
	}
	return strconv.FormatInt(a.Extent, 10)
}

func (p *printer) block(b *Block) {
	around := p.at
	defer func() { p.at = around }()
	for _, op := range b.Ops {
		p.at = op.At
		blocks := op.Blocks
		if op.Fn != nil {
			blocks = []*Block{op.Fn}
		}
		if len(blocks) == 0 {
			p.line("%s", head(op))
			p.depth++
			p.note(op)
			p.depth--
			continue
		}
		p.line("%s {", head(op))
		for i, inner := range blocks {
			if i > 0 {
				p.line("} else {")
			}
			p.depth++
			if i == 0 {
				p.note(op)
			}
			p.block(inner)
			if len(inner.Yield) > 0 {
				p.line("yield %s", uses(inner.Yield))
			}
			p.depth--
		}
		p.line("}")
	}
}

// head is an operation without its blocks.
func head(op *Op) string {
	var b strings.Builder
	if len(op.Results) > 0 {
		fmt.Fprintf(&b, "%s = ", list(op.Results, define))
	}
	b.WriteString(op.Code.String())
	if c := conventions[op.Code]; c.print != nil {
		c.print(&b, op)
	} else if len(op.Args) > 0 {
		b.WriteString(" " + uses(op.Args))
	}
	if len(op.Over) > 0 {
		fmt.Fprintf(&b, " over %s", list(op.Over, func(a *Axis) string { return quote(a.Name) }))
	}
	if op.Reverse && op.Code != lang.OpFor {
		b.WriteString(" reverse")
	}
	if op.Fn != nil {
		fmt.Fprintf(&b, " by (%s)", list(op.Fn.Params, define))
	}
	if op.Descending {
		b.WriteString(" descending")
	}
	if op.Coarse {
		b.WriteString(" coarse")
	}
	if op.Relative {
		b.WriteString(" relative")
	}
	if op.Precision != "" {
		fmt.Fprintf(&b, " precision %s", quote(op.Precision))
	}
	switch {
	case len(op.Results) == 0:
	case op.Code == lang.OpFor || op.Code == lang.OpIf || op.Fn != nil || op.Code == lang.OpTopK:
		fmt.Fprintf(&b, " : (%s)", list(op.Results, func(v *Value) string { return v.Type.String() }))
	default:
		fmt.Fprintf(&b, " : %s", op.Results[0].Type)
	}
	return b.String()
}

func printFor(b *strings.Builder, op *Op) {
	if op.Axis != nil {
		b.WriteString(" " + quoteBut(op.Axis.Name, "from"))
	}
	if len(op.Args) < 2 || len(op.Blocks) != 1 {
		return // malformed: the verifier prints what it refuses
	}
	fmt.Fprintf(b, " from %s to %s", use(op.Args[0]), use(op.Args[1]))
	if op.Reverse {
		b.WriteString(" reverse")
	}
	params := op.Blocks[0].Params
	if inits := op.Args[2:]; len(inits) > 0 && len(params) == len(inits)+1 {
		carried := make([]string, len(inits))
		for i, v := range inits {
			carried[i] = define(params[i+1]) + " = " + use(v)
		}
		fmt.Fprintf(b, " with (%s)", strings.Join(carried, ", "))
	}
	if len(params) > 0 {
		b.WriteString(" pos " + define(params[0]))
	}
}

func printAccess(b *strings.Builder, op *Op) {
	fmt.Fprintf(b, " %s[", tensorName(op.Tensor))
	rank := min(len(op.Tensor.Shape), len(op.Args))
	for i, v := range op.Args[:rank] {
		if i > 0 {
			b.WriteString(", ")
		}
		if i < len(op.Checked) && op.Checked[i] {
			b.WriteByte('?')
		}
		b.WriteString(use(v))
	}
	b.WriteByte(']')
	if rest := op.Args[rank:]; len(rest) > 0 {
		sep := " = "
		if op.Code == lang.OpLoad {
			sep = " else "
		}
		b.WriteString(sep + uses(rest))
	}
	b.WriteString(op.Hint.String())
}

// literal prints a constant exactly. Floats narrower than f64 print the
// shortest decimal that rounds to them as f32; the few that are not f32
// values print in hexadecimal, which Parse does not round.
func literal(c Const, d lang.DType) string {
	switch {
	case d == lang.Bool && (c.Int == 0 || c.Int == 1):
		return strconv.FormatBool(c.Int == 1)
	case !d.IsFloat():
		return strconv.FormatInt(c.Int, 10)
	case math.IsNaN(c.Float):
		if b := math.Float64bits(c.Float); b != math.Float64bits(math.NaN()) {
			return fmt.Sprintf("nan_%016x", b)
		}
		return "nan"
	case math.IsInf(c.Float, 1):
		return "inf"
	case math.IsInf(c.Float, -1):
		return "-inf"
	case d == lang.F64:
		return strconv.FormatFloat(c.Float, 'g', -1, 64)
	case float64(float32(c.Float)) == c.Float:
		return strconv.FormatFloat(c.Float, 'g', -1, 32)
	}
	return strconv.FormatFloat(c.Float, 'x', -1, 64)
}

func use(v *Value) string {
	if v == nil {
		return "%?"
	}
	return "%" + strconv.Itoa(v.ID)
}

// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func uses(vs []*Value) string { return list(vs, use) }

func define(v *Value) string {
	if v != nil && v.Name != "" {
		return use(v) + " " + quote(v.Name)
	}
	return use(v)
}

var (
	number = regexp.MustCompile(`^[0-9]+$`)
	plain  = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*|[0-9]+)$`)
)

// quote gives a name as it is when it is a word or a number, else as a Go string.
func quote(name string) string {
	if plain.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}

// quoteBut quotes a word too where it would read as the keyword given.
func quoteBut(name, keyword string) string {
	if name == keyword {
		return strconv.Quote(name)
	}
	return quote(name)
}

// tensorName sets tensors apart from values: those are numbers.
func tensorName(t *Tensor) string {
	if number.MatchString(t.Name) {
		return "%" + strconv.Quote(t.Name)
	}
	return "%" + quote(t.Name)
}

func list[T any](items []T, each func(T) string) string {
	words := make([]string, len(items))
	for i, x := range items {
		words[i] = each(x)
	}
	return strings.Join(words, ", ")
}
