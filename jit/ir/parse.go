package ir

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tilec/lang"
)

// maxNesting is the deepest nesting of regions that Parse reads.
const maxNesting = 100

// Parse reads a kernel in its text form and verifies it. Errors name the place
// as `name:line:col`.
func Parse(name, text string) (*Func, error) {
	f, err := parse(name, text)
	if err != nil {
		return nil, err
	}
	if err := Verify(f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// ParseAll reads the kernels of a text, one or more, such as what passes print of a
// file as they change it, and verifies them.
func ParseAll(name, text string) (all []*Func, err error) {
	p := newParser(name, text)
	defer p.catch(&err)
	for p.next(); ; {
		p.reset()
		p.kernel()
		if err := Verify(p.f); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if all = append(all, p.f); p.tok.kind == tokEnd {
			return all, nil
		}
	}
}

// parse reads a kernel without verifying it.
func parse(name, text string) (f *Func, err error) {
	p := newParser(name, text)
	defer p.catch(&err)
	p.next()
	p.kernel()
	if p.tok.kind != tokEnd {
		p.fail("%s after the kernel", p.tok)
	}
	return p.f, nil
}

func newParser(name, text string) *parser {
	p := &parser{lexer: lexer{file: name, text: text, line: 1, col: 1}}
	p.reset()
	return p
}

// reset begins a kernel.
func (p *parser) reset() {
	p.f = &Func{Body: &Block{}}
	p.dims, p.tensors, p.axes, p.values = map[string]*Dim{}, map[string]*Tensor{}, map[string]*Axis{}, map[int]*Value{}
}

// catch makes an error of a syntaxError on its way.
func (p *parser) catch(err *error) {
	switch e := recover().(type) {
	case nil:
	case syntaxError:
		*err = e
	default:
		panic(e)
	}
}

type parser struct {
	lexer
	f       *Func
	dims    map[string]*Dim
	tensors map[string]*Tensor
	axes    map[string]*Axis
	values  map[int]*Value
	depth   int
	// note reads a note about an operation, or about the kernel where that is nil; it is nil where a text has none. around are the
	// operations in whose regions the place is, the outermost first.
	note   func(*Op)
	around []*Op
}

func (p *parser) kernel() {
	p.word("kernel")
	p.punct("@")
	p.f.Name = p.name()
	p.punct("{")
	for p.tok.text != "body" || p.tok.kind != tokWord {
		if p.notes(nil) {
			break
		}
		decl, ok := declarations[p.tok.text]
		if !ok || p.tok.kind != tokWord {
			p.fail("%s where a declaration (dim, stride, tensor, scalar, axis, hint, approx, spill) or body belongs", p.tok)
		}
		p.next()
		decl(p)
	}
	p.word("body")
	p.punct(":")
	p.block(p.f.Body, false)
	p.punct("}")
}

var declarations = map[string]func(*parser){
	"dim":    func(p *parser) { p.f.Dims = append(p.f.Dims, p.dim()) },
	"stride": func(p *parser) { p.dim() },
	"tensor": (*parser).tensor,
	"scalar": func(p *parser) {
		v := p.define()
		p.punct(":")
		v.Type = p.typ()
		p.f.Scalars = append(p.f.Scalars, v)
	},
	"axis": (*parser).axisDecl,
	"hint": func(p *parser) {
		name := p.name()
		p.punct("=")
		if p.f.Hints == nil {
			p.f.Hints = map[string]int64{}
		}
		p.f.Hints[name] = p.integer()
	},
	"approx":    func(p *parser) { p.f.Approx = true },
	"spill":     func(p *parser) { p.f.Spill = true },
	"dependent": func(p *parser) { p.f.Dependent = true },
	"timed":     func(p *parser) { p.f.Timed = true },
}

func (p *parser) dim() *Dim {
	at := p.tok
	d := &Dim{Name: p.name(), Value: -1, Divisor: 1}
	if p.dims[d.Name] != nil {
		p.failAt(at, "dimension %s is declared twice", d.Name)
	}
	p.punct("=")
	if p.accept("?") {
		if p.accept("%") {
			d.Divisor = p.positive()
		}
	} else {
		d.Value = p.size()
	}
	d.Wide = p.acceptWord("wide")
	p.dims[d.Name] = d
	return d
}

func (p *parser) dimUse() *Dim {
	at := p.tok
	name := p.name()
	d := p.dims[name]
	if d == nil {
		p.failAt(at, "dimension %s is not declared", name)
	}
	return d
}

var modes = map[string]lang.ParamMode{"in": lang.In, "out": lang.Out, "inout": lang.InOut}

func (p *parser) tensor() {
	at := p.tok
	t := &Tensor{Name: p.tensorName()}
	if p.tensors[t.Name] != nil {
		p.failAt(at, "tensor %s is declared twice", t.Name)
	}
	p.punct(":")
	mode, ok := modes[p.tok.text]
	t.Shared = p.tok.text == "shared"
	if t.Scratch = t.Shared || p.tok.text == "scratch"; t.Scratch {
		mode, ok = lang.InOut, true
	}
	if !ok {
		p.fail("%s where in, out, inout, scratch or shared belongs", p.tok)
	}
	p.next()
	t.Mode, t.DType = mode, p.dtype()
	p.punct("[")
	p.items("]", func() { t.Shape = append(t.Shape, p.dimUse()) })
	if p.acceptWord("strides") {
		t.Strides = []*Dim{}
		p.punct("[")
		p.items("]", func() {
			if p.tok.kind == tokNumber {
				t.Strides = append(t.Strides, &Dim{Value: p.size(), Divisor: 1})
			} else {
				t.Strides = append(t.Strides, p.dimUse())
			}
		})
	}
	if p.acceptWord("align") {
		t.Align = p.positive()
	}
	if at := p.tok; p.acceptWord("split") {
		if t.Split = p.positive(); t.Split < 2 || !t.Shared || len(t.Shape) == 0 {
			p.failAt(at, "shared memory with dimensions is split over 2 blocks or more, and no other tensor")
		}
	}
	t.Constant = p.acceptWord("constant")
	if p.acceptWord("grows") {
		t.Grows = &Grows{Dim: int(p.size())}
		if !p.acceptWord("by") {
			p.fail("%s where by belongs", p.tok)
		}
		t.Grows.By = int(p.size())
		if last := max(t.Grows.Dim, t.Grows.By); last >= len(t.Shape) {
			p.fail("%s has no dimension %d", t.Name, last)
		}
	}
	t.Starts = p.acceptWord("starts")
	p.tensors[t.Name] = t
	p.f.Tensors = append(p.f.Tensors, t)
}

var kinds = map[string]AxisKind{"grid": Grid, "loop": Loop, "whole": Whole}

func (p *parser) axisDecl() {
	at := p.tok
	a := &Axis{Name: p.name()}
	if p.axes[a.Name] != nil {
		p.failAt(at, "axis %s is declared twice", a.Name)
	}
	p.punct(":")
	kind, ok := kinds[p.tok.text]
	if !ok {
		p.fail("%s where grid, loop or whole belongs", p.tok)
	}
	p.next()
	a.Kind = kind
	if p.acceptWord("scalar") {
		a.Scalar, a.Extent = true, 1
	}
	if !p.is("[") {
		a.Dim = p.dimUse()
	}
	if kind == Whole {
		p.punct("[")
		a.Lo = p.size()
		p.punct("..")
		at := p.tok
		a.Len = p.size() - a.Lo
		if a.Len < 0 {
			p.failAt(at, "range ends before its start")
		}
		a.Extent = a.Len
		p.punct("]")
	}
	if p.acceptWord("by") {
		p.by(a)
	}
	if p.acceptWord("over") {
		a.Ranges = p.ranges(a)
	}
	if at := p.tok; p.acceptWord("split") {
		if a.Split = p.positive(); a.Split < 2 || a.Scalar || kind == Grid {
			p.failAt(at, "a loop or a whole axis is split over 2 blocks or more")
		}
	}
	if p.acceptWord("edges") {
		p.word("of")
		a.Edges = p.positive()
	}
	p.axes[a.Name] = a
	p.f.Axes = append(p.f.Axes, a)
}

// ranges reads `ranges of e from %first[0] to %first[1]`, behind `over`; `?` is the end of the dimension.
func (p *parser) ranges(a *Axis) *Ranges {
	p.word("ranges")
	p.word("of")
	at := p.tok
	r := &Ranges{Of: p.axisUse()}
	if a.Kind != Grid || r.Of.Kind != Grid || !r.Of.Scalar {
		p.failAt(at, "ranges are those of the positions of a scalar grid axis, which a grid axis goes through")
	}
	end := func(word string) *Element {
		p.word(word)
		if p.accept("?") {
			return nil
		}
		e := &Element{Tensor: p.tensorUse()}
		p.punct("[")
		e.Plus = p.size()
		p.punct("]")
		return e
	}
	r.Lo = end("from")
	r.Hi = end("to")
	if p.acceptWord("zero") {
		p.word("outside")
		p.word("in")
		for more := true; more; more = p.accept(",") {
			r.Outside = append(r.Outside, p.tensorUse())
		}
	}
	return r
}

// by reads `BM = 128 in {64, 128}`, `128`, `?`, and of a whole axis `BK in {32}`.
func (p *parser) by(a *Axis) {
	unplanned := func() {
		if !p.accept("?") {
			a.Extent = p.positive()
		}
	}
	switch {
	case p.tok.kind == tokWord || p.tok.kind == tokString:
		a.Tile = p.name()
		if a.Kind != Whole {
			p.punct("=")
			unplanned()
		}
	case a.Kind == Whole:
		p.punct("?")
	default:
		unplanned()
	}
	if p.acceptWord("in") {
		p.punct("{")
		p.items("}", func() { a.Choices = append(a.Choices, p.positive()) })
	}
}

func (p *parser) block(b *Block, yields bool) {
	if p.depth++; p.depth > maxNesting {
		p.fail("more than %d regions inside one another", maxNesting)
	}
	defer func() { p.depth-- }()
	for !p.is("}") {
		if yields && p.acceptWord("yield") {
			b.Yield = p.uses()
			break
		}
		op := p.op()
		b.Ops = append(b.Ops, op)
		if len(op.Blocks) == 0 && op.Fn == nil {
			p.notes(op)
		}
	}
}

func (p *parser) op() *Op {
	op := &Op{}
	if p.tok.kind == tokValue {
		for ok := true; ok; ok = p.accept(",") {
			v := p.define()
			v.Def = op
			op.Results = append(op.Results, v)
		}
		p.punct("=")
	}
	at := p.tok
	code, ok := lang.OpByName(p.tok.text)
	if !ok || p.tok.kind != tokWord {
		p.fail("%s where an operation belongs", p.tok)
	}
	p.next()
	op.Code = code
	if c := conventions[code]; c.parse != nil {
		c.parse(p, op)
	} else {
		op.Args = p.uses()
	}
	if p.acceptWord("over") {
		for ok := true; ok; ok = p.accept(",") {
			op.Over = append(op.Over, p.axisUse())
		}
	}
	op.Reverse = p.acceptWord("reverse") || op.Reverse
	if code.Row().Group == lang.GroupContract && p.isWord("by") {
		op.Fn = &Block{Yield: make([]*Value, 1)}
	}
	if op.Fn != nil {
		p.functionHead(op, at)
	}
	op.Descending = p.acceptWord("descending")
	op.Coarse = p.acceptWord("coarse")
	op.Relative = p.acceptWord("relative")
	if p.acceptWord("precision") {
		op.Precision = p.name()
	}
	if code == lang.OpFor || code == lang.OpIf || op.Fn != nil {
		p.region(op, at)
		return op
	}
	if code == lang.OpTopK {
		p.resultTypes(op, at)
		return op
	}
	if len(op.Results) > 1 {
		p.failAt(at, "%s has one result", code)
	}
	if len(op.Results) == 1 {
		p.punct(":")
		at := p.tok
		op.Results[0].Type = p.typ()
		switch code {
		case lang.OpConst:
			p.literal(op, at)
		case lang.OpFull:
			op.Axes = op.Results[0].Type.Axes
		}
	}
	return op
}

// region reads the result types and the blocks of a `for` or an `if`.
func (p *parser) region(op *Op, at token) {
	p.resultTypes(op, at)
	if op.Code == lang.OpFor {
		params := op.Blocks[0].Params
		if len(params) != len(op.Results)+1 {
			p.failAt(at, "%d results and %d carried values", len(op.Results), len(params)-1)
		}
		for i, r := range op.Results {
			params[i+1].Type = r.Type
		}
	}
	blocks, yields := op.Blocks, 0
	if op.Fn != nil {
		blocks = []*Block{op.Fn}
		yields, op.Fn.Yield = len(op.Fn.Yield), nil
	}
	p.around = append(p.around, op)
	for i, b := range blocks {
		if i > 0 {
			p.word("else")
		}
		p.punct("{")
		if i == 0 {
			p.notes(op)
		}
		p.block(b, true)
		p.punct("}")
	}
	p.around = p.around[:len(p.around)-1]
	if op.Fn != nil && len(op.Fn.Yield) != yields {
		p.failAt(at, "%d operands, and the function yields %d values", yields, len(op.Fn.Yield))
	}
}

// convention is how an operation is written, where it is not `name %1, %2`.
type convention struct {
	print func(*strings.Builder, *Op)
	parse func(*parser, *Op)
}

var axisConvention = convention{
	func(b *strings.Builder, op *Op) {
		if op.Axis != nil {
			b.WriteString(" " + quote(op.Axis.Name))
		}
	},
	func(p *parser, op *Op) { op.Axis = p.axisUse() },
}

// boundConvention is `start i`, or `start i span 64`.
var boundConvention = convention{
	func(b *strings.Builder, op *Op) {
		axisConvention.print(b, op)
		if op.Span != 0 {
			fmt.Fprintf(b, " span %d", op.Span)
		}
	},
	func(p *parser, op *Op) {
		axisConvention.parse(p, op)
		if p.acceptWord("span") {
			op.Span = p.positive()
		}
	},
}

var accessConvention = convention{printAccess, (*parser).access}

// conventions is filled by init: printing and parsing refer back to it.
var conventions map[lang.Op]convention

func init() {
	conventions = map[lang.Op]convention{
		lang.OpConst: {
			func(b *strings.Builder, op *Op) {
				if len(op.Results) == 1 {
					b.WriteString(" " + literal(op.Const, op.Results[0].Type.DType))
				}
			},
			func(p *parser, op *Op) {
				if len(op.Results) != 1 {
					p.fail("const without a result")
				}
				p.pending = p.tok
				p.next()
			},
		},
		lang.OpIndex: axisConvention,
		lang.OpStart: boundConvention,
		lang.OpEnd:   boundConvention,
		lang.OpSize: {
			func(b *strings.Builder, op *Op) {
				if op.Dim != nil {
					b.WriteString(" " + quote(op.Dim.Name))
				}
			},
			func(p *parser, op *Op) { op.Dim = p.dimUse() },
		},
		lang.OpLoad:   accessConvention,
		lang.OpStore:  accessConvention,
		lang.OpPrint:  debugConvention,
		lang.OpAssert: debugConvention,
		lang.OpRename: {
			func(b *strings.Builder, op *Op) {
				b.WriteString(" " + uses(op.Args))
				if op.From != nil && op.Axis != nil {
					fmt.Fprintf(b, " from %s to %s", quote(op.From.Name), quote(op.Axis.Name))
				}
			},
			func(p *parser, op *Op) {
				op.Args = p.uses()
				p.word("from")
				op.From = p.axisUse()
				p.word("to")
				op.Axis = p.axisUse()
			},
		},
		lang.OpTake:   {printTake, (*parser).take},
		lang.OpDot:    contractConvention,
		lang.OpMma:    contractConvention,
		lang.OpReduce: combineConvention,
		lang.OpScan:   combineConvention,
		lang.OpFor:    {printFor, (*parser).forHead},
		lang.OpTopK:   topkConvention,
		lang.OpJoin:   joinConvention,
		lang.OpIf: {
			func(b *strings.Builder, op *Op) { b.WriteString(" " + uses(op.Args)) },
			func(p *parser, op *Op) {
				op.Args = []*Value{p.use()}
				op.Blocks = []*Block{{}, {}}
			},
		},
	}
	for _, op := range lang.Ops() {
		if op.IsAtomic() {
			conventions[op] = convention{printAtomic, (*parser).atomic}
		}
	}
}

func printAtomic(b *strings.Builder, op *Op) {
	printAccess(b, op)
	if op.Order != "" {
		b.WriteString(" order " + quote(op.Order))
	}
	if op.Scope != "" {
		b.WriteString(" scope " + quote(op.Scope))
	}
}

func (p *parser) atomic(op *Op) {
	p.access(op)
	op.Old = len(op.Results) > 0
	if p.acceptWord("order") {
		op.Order = p.name()
	}
	if p.acceptWord("scope") {
		op.Scope = p.name()
	}
}

func (p *parser) forHead(op *Op) {
	body := &Block{}
	op.Blocks = []*Block{body}
	if p.tok.kind != tokWord || p.tok.text != "from" {
		op.Axis = p.axisUse()
	}
	p.word("from")
	op.Args = []*Value{p.use()}
	p.word("to")
	op.Args = append(op.Args, p.use())
	op.Reverse = p.acceptWord("reverse")
	var carried []*Value
	if p.acceptWord("with") {
		p.punct("(")
		p.items(")", func() {
			carried = append(carried, p.define())
			p.punct("=")
			op.Args = append(op.Args, p.use())
		})
	}
	p.word("pos")
	pos := p.define()
	pos.Type = Scalar(op.Axis.Counts())
	body.Params = append([]*Value{pos}, carried...)
}

func (p *parser) tensorUse() *Tensor {
	at := p.tok
	name := p.tensorName()
	t := p.tensors[name]
	if t == nil {
		p.failAt(at, "tensor %s is not declared", name)
	}
	return t
}

func (p *parser) access(op *Op) {
	at := p.tok
	op.Tensor = p.tensorUse()
	p.punct("[")
	p.items("]", func() {
		op.Checked = append(op.Checked, p.accept("?"))
		op.Args = append(op.Args, p.use())
	})
	if n := len(op.Args); n != len(op.Tensor.Shape) {
		p.failAt(at, "%d indices of %s, which has %d dimensions", n, op.Tensor.Name, len(op.Tensor.Shape))
	}
	if op.Code != lang.OpLoad {
		p.punct("=")
		op.Args = append(op.Args, p.uses()...)
	} else if p.acceptWord("else") {
		op.Args = append(op.Args, p.use())
	}
	if p.acceptWord("latency") {
		op.Hint.Latency = p.positive()
	}
	if p.acceptWord("cache") {
		at := p.tok
		op.Hint.Cache = p.name()
		if known := lang.CacheHints(); !slices.Contains(known, op.Hint.Cache) {
			p.failAt(at, "unknown cache hint %s: known are %s", op.Hint.Cache, strings.Join(known, ", "))
		}
	}
}

// literal sets a const's payload from the token that its type tells how to read.
func (p *parser) literal(op *Op, at token) {
	d, tok := op.Results[0].Type.DType, p.pending
	switch {
	case d == lang.Bool && tok.kind == tokWord && (tok.text == "true" || tok.text == "false"):
		if tok.text == "true" {
			op.Const.Int = 1
		}
	case d.IsFloat() && (tok.kind == tokNumber || tok.kind == tokWord):
		v, err := parseFloat(tok.text, d)
		if err != nil {
			p.failAt(tok, "%s is not a number", tok)
		}
		op.Const.Float = v
	case tok.kind == tokNumber && !d.IsFloat():
		n, err := strconv.ParseInt(tok.text, 10, 64)
		if err != nil {
			p.failAt(tok, "%s is not a 64-bit integer", tok)
		}
		op.Const.Int = n
	default:
		p.failAt(tok, "%s is not a constant of %s", tok, d)
	}
}

func parseFloat(s string, d lang.DType) (float64, error) {
	if hex, ok := strings.CutPrefix(s, "nan_"); ok {
		b, err := strconv.ParseUint(hex, 16, 64)
		if v := math.Float64frombits(b); err == nil && math.IsNaN(v) {
			return v, nil
		}
		return 0, fmt.Errorf("not a NaN")
	}
	if s == "nan" {
		return math.NaN(), nil
	}
	if d == lang.F64 || strings.Contains(s, "0x") {
		return strconv.ParseFloat(s, 64)
	}
	v, err := strconv.ParseFloat(s, 32)
	return v, err
}

func (p *parser) axisUse() *Axis {
	at := p.tok
	name := p.name()
	a := p.axes[name]
	if a == nil {
		p.failAt(at, "axis %s is not declared", name)
	}
	return a
}

func (p *parser) dtype() lang.DType {
	d, ok := lang.ParseDType(p.tok.text)
	if !ok {
		p.fail("%s where an element type belongs", p.tok)
	}
	p.next()
	return d
}

func (p *parser) typ() Type {
	t := Scalar(p.dtype())
	// The brace of a region follows a closing parenthesis, never a type.
	if p.accept("{") {
		p.items("}", func() {
			at := p.tok
			a := p.axisUse()
			if t.Has(a) {
				p.failAt(at, "axis %s twice in a type", a.Name)
			}
			t.Axes = append(t.Axes, a)
		})
	}
	return t
}

// define reads the `%5` or `%5 name` that makes a value.
func (p *parser) define() *Value {
	at := p.tok
	id := p.valueID()
	if p.values[id] != nil {
		p.failAt(at, "%%%d is defined twice", id)
	}
	v := &Value{ID: id}
	if k := p.tok.kind; k == tokString || k == tokWord || k == tokNumber {
		v.Name = p.name()
	}
	p.values[id] = v
	p.f.nextID = max(p.f.nextID, id+1)
	return v
}

func (p *parser) use() *Value {
	at := p.tok
	v := p.values[p.valueID()]
	if v == nil {
		p.failAt(at, "%s is not defined", at)
	}
	return v
}

func (p *parser) uses() []*Value {
	vs := []*Value{p.use()}
	for p.accept(",") {
		vs = append(vs, p.use())
	}
	return vs
}
