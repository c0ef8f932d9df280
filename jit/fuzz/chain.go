package fuzz

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tilec/jit"
	"tilec/jit/backend"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file makes chains: graphs of elementwise expressions, calls, views and slices of any numbers, which the passes of graphs make
// fewer launches of. They are run with a launch for each call too, and must give the same bits: no sum of theirs has an order.

// chainMaker makes one chain.
type chainMaker struct {
	lets
	r    *rand.Rand
	m, n int
	vars []chainValue
	used map[string]bool
}

// lets are the lines of a graph that give expressions names.
type lets struct {
	lines []string
	names int
}

// let gives an expression a name.
func (l *lets) let(text string) string {
	l.names++
	name := fmt.Sprintf("v%d", l.names)
	l.lines = append(l.lines, fmt.Sprintf("    let %s = %s", name, text))
	return name
}

// chainValue is a tensor of a chain: how it is called, its type, and its shape, in numbers and as it is written.
type chainValue struct {
	text  string
	d     lang.DType
	shape []int
	sizes []string
}

func (v chainValue) typ() string { return fmt.Sprintf("%s[%s]", v.d, strings.Join(v.sizes, ", ")) }

// chainKernels are what chains call on a matrix.
var chainKernels = []wholeKernel{
	{"doubled", `kernel doubled<T: float>(x: T[M, N]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = x[i, j] * 2
}`},
	{"below_largest", `kernel below_largest<T: float>(x: T[M, N]) -> y: T[M, N]
    grid i in M by BM
{
    axis j in N
    y[i, j] = x[i, j] - max(x[i, j], over j)
}`},
	{"turned", `kernel turned<T: float>(x: T[M, N]) -> y: T[N, M]
    grid i in M by BM, j in N by BN
{
    y[j, i] = x[i, j]
}`},
	{"parted", `kernel parted<T: float>(x: T[M, N]) -> (low: T[M, N], high: T[M, N])
    grid i in M by BM, j in N by BN
{
    low[i, j] = min(x[i, j], 0)
    high[i, j] = max(x[i, j], 0)
}`},
	{"neighbour", `kernel neighbour<T: float>(x: T[M, N]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = x[i, j + 1] else x[i, j]
}`},
	{"largest_of", `kernel largest_of<T: float>(x: T[M, N], z: T[M, N]) -> y: T[M]
    grid i in M by BM
{
    let t = for j in N by BN with t = full(T, -inf, i) {
        max(t, max(max(x[i, j], z[i, j]), over j))
    }
    y[i] = t
}`},
	{"numbered_rows", `kernel numbered_rows<T: float>(x: T[M, N]) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = max(x[i, j], index(i) as T)
}`},
}

// chainCase makes a chain with the launches that test it.
func chainCase(seed uint64) *Case {
	g := &chainMaker{r: random(seed, "chain"), used: map[string]bool{}}
	g.m, g.n = pick(g.r, 1, 2, 5, 17, 33), pick(g.r, 1, 3, 8, 20, 33)
	var params []string
	for i := range 1 + g.r.IntN(3) {
		x := chainValue{fmt.Sprintf("x%d", i), pick(g.r, lang.F32, lang.F32, lang.BF16, lang.F16), []int{g.m, g.n}, []string{"M", "N"}}
		g.vars, params = append(g.vars, x), append(params, x.text+": "+x.typ())
	}
	for range 3 + g.r.IntN(6) {
		g.statement()
	}
	var outs, ends []string
	for i := range 1 + g.r.IntN(3) {
		v := g.vars[len(g.vars)-1-g.r.IntN(min(len(g.vars), 4))]
		outs, ends = append(outs, fmt.Sprintf("y%d: %s", i, v.typ())), append(ends, fmt.Sprintf("    y%d = %s", i, v.text))
	}
	var b strings.Builder
	for _, k := range chainKernels {
		if g.used[k.name] {
			b.WriteString(k.text + "\n")
		}
	}
	fmt.Fprintf(&b, "graph g(%s) -> %s {\n%s\n%s\n}\n", strings.Join(params, ", "), tuple(outs), strings.Join(g.lines, "\n"), strings.Join(ends, "\n"))
	c := &Case{Source: b.String()}
	for _, style := range []Style{Normal, Special} {
		c.Trials = append(c.Trials, Trial{Dims: map[string]int64{"M": int64(g.m), "N": int64(g.n)}, Style: style, Seed: seed})
	}
	return c
}

// bind gives an expression a name.
func (g *chainMaker) bind(x chainValue) {
	x.text = g.let(x.text)
	g.vars = append(g.vars, x)
}

func (g *chainMaker) statement() {
	x := pick(g.r, g.vars...)
	switch k := g.r.IntN(100); {
	case k < 50:
		g.bind(g.elementwise(x))
	case k < 62:
		g.bind(g.view(x))
	case k < 72:
		g.bind(g.slice(x))
	default:
		g.call(x)
	}
}

// elementwise is a function of one tensor or of two of one shape, or a loop of such.
func (g *chainMaker) elementwise(x chainValue) chainValue {
	if g.r.IntN(100) < 10 {
		inner := x
		inner.text = "c"
		x.text = fmt.Sprintf("for _ in %d with c = %s { %s }", 1+g.r.IntN(3), x.text, g.unary(inner))
		return x
	}
	y, found := g.like(x)
	if !found || g.r.IntN(100) < 40 {
		x.text = g.unary(x)
	} else {
		forms := []string{"(%s + %s)", "(%s - %s)", "max(%s, %s)", "min(%s, %s)", "where(%[1]s > %[2]s, %[1]s, %[2]s)"}
		if x.d != lang.F32 { // a GPU may fuse a product of f32 with the sum behind it
			forms = append(forms, "(%s * %s)")
		}
		x.text = fmt.Sprintf(pick(g.r, forms...), x.text, y.text)
	}
	if g.r.IntN(100) < 25 {
		x.d = pick(g.r, lang.F32, lang.BF16, lang.F16)
		x.text = fmt.Sprintf("(%s as %s)", x.text, x.d)
	}
	return x
}

// unary is a function of a tensor.
func (g *chainMaker) unary(x chainValue) string {
	return fmt.Sprintf(pick(g.r, "abs(%s)", "sqrt(abs(%s))", "tanh(%s)", "exp(-abs(%s))", "max(%s, 0)", "(%s * 0.5)", "(%s + 1.25)", "floor(%s)", "(-%s)"), x.text)
}

// like is another tensor of a shape, in the type of x.
func (g *chainMaker) like(x chainValue) (chainValue, bool) {
	for _, i := range g.r.Perm(len(g.vars)) {
		y := g.vars[i]
		if !slices.Equal(y.sizes, x.sizes) {
			continue
		}
		if y.d != x.d {
			y.text = fmt.Sprintf("(%s as %s)", y.text, x.d)
		}
		return y, true
	}
	return x, false
}

// view is the elements in another shape; of what may be a slice they are computed first.
func (g *chainMaker) view(x chainValue) chainValue {
	x.text = fmt.Sprintf("view(%s, ", g.unary(x))
	all := "1"
	for i, s := range x.sizes {
		if all = s; i > 0 {
			all = strings.Join(x.sizes, " * ")
		}
	}
	switch g.r.IntN(3) {
	case 0:
		x.shape, x.sizes = slices.Clone(x.shape), slices.Clone(x.sizes)
		slices.Reverse(x.shape)
		slices.Reverse(x.sizes)
	case 1:
		n := 1
		for _, s := range x.shape {
			n *= s
		}
		x.shape, x.sizes = []int{n}, []string{all}
	default:
		x.shape, x.sizes = append([]int{1}, x.shape...), append([]string{"1"}, x.sizes...)
	}
	x.text += "[" + strings.Join(x.sizes, ", ") + "])"
	return x
}

// slice is some positions of the first dimension, or one.
func (g *chainMaker) slice(x chainValue) chainValue {
	n := x.shape[0]
	lo := g.r.IntN(n)
	rest := strings.Repeat(", ..", len(x.shape)-1)
	if len(x.shape) > 1 && g.r.IntN(100) < 40 {
		return chainValue{fmt.Sprintf("%s[%d%s]", x.text, lo, rest), x.d, x.shape[1:], x.sizes[1:]}
	}
	hi := lo + 1 + g.r.IntN(n-lo)
	return chainValue{fmt.Sprintf("%s[%d..%d%s]", x.text, lo, hi, rest), x.d,
		append([]int{hi - lo}, x.shape[1:]...), append([]string{fmt.Sprint(hi - lo)}, x.sizes[1:]...)}
}

// call binds what a kernel gives for a matrix.
func (g *chainMaker) call(x chainValue) {
	if len(x.shape) != 2 {
		g.bind(g.elementwise(x))
		return
	}
	k := pick(g.r, chainKernels...)
	g.used[k.name] = true
	y := x
	y.text = fmt.Sprintf("%s(%s)", k.name, x.text)
	switch k.name {
	case "turned":
		y.shape, y.sizes = []int{x.shape[1], x.shape[0]}, []string{x.sizes[1], x.sizes[0]}
	case "largest_of":
		z, _ := g.like(x)
		y.text = fmt.Sprintf("%s(%s, %s)", k.name, x.text, z.text)
		y.shape, y.sizes = x.shape[:1], x.sizes[:1]
	case "parted":
		g.names += 2
		low, high := fmt.Sprintf("v%d", g.names-1), fmt.Sprintf("v%d", g.names)
		g.lines = append(g.lines, fmt.Sprintf("    let (%s, %s) = %s", low, high, y.text))
		y.text = low
		g.vars = append(g.vars, y)
		y.text = high
		g.vars = append(g.vars, y)
		return
	}
	g.bind(y)
}

// isChain reports a case that is run twice, with its passes and with a launch for each call.
func (c *Case) isChain() bool {
	return len(c.Trials) > 0 && strings.Contains("\n"+c.Source, "\ngraph ")
}

// checkChain runs a chain both ways and compares the bits.
func (c *checker) checkChain(source string, r Trial) (t Tally, p *Problem) {
	defer func() {
		if e := recover(); e != nil {
			bug := jit.NewBug(e)
			p = problem(Crash, "%v\n%s", bug, bug.Stack)
		}
	}()
	program, ds := jit.Load("fuzz.tile", []byte(source), nil)
	if len(ds) > 0 {
		return t, rejected(ds)
	}
	if len(program.Graphs) != 1 {
		return t, problem(Rejected, "the source has %d graphs, a chain has 1", len(program.Graphs))
	}
	t.instructions = map[string]bool{}
	g := program.Graphs[0]
	want, p := c.runChain(g, r, true, &t)
	if p != nil {
		return t, p
	}
	got, p := c.runChain(g, r, false, &t)
	if p != nil {
		return t, p
	}
	t.Launches += 2
	for i := range want {
		a, b := want[i], got[i]
		for at := range int(jit.Elements(a.Shape)) {
			t.Elements++
			x, y := a.DType.RawBitsAt(a.Data, int64(at)), a.DType.RawBitsAt(b.Data, int64(at))
			if x == y || a.Float(at) != a.Float(at) && b.Float(at) != b.Float(at) { // which NaN it is, no program can tell
				continue
			}
			return t, problem(Wrong, "element %d of result %d is %v, and %v with a launch for each call", at, i, b.Float(at), a.Float(at))
		}
	}
	return t, nil
}

// runChain gives the results of a chain, with or without a launch for each call.
func (c *checker) runChain(g *typed.Graph, r Trial, separate bool, t *Tally) ([]*jit.Array, *Problem) {
	var args []jit.Value
	failed := func(err error) ([]*jit.Array, *Problem) { return nil, problem(runErrorKind(err), "%v", err) }
	var memory []*backend.Memory
	defer func() {
		for _, m := range memory {
			c.device.Free(m)
		}
	}()
	for _, p := range g.Params {
		shape := make([]int64, len(p.Type.Shape))
		for i, s := range p.Type.Shape {
			n, ok := s.Const()
			if sym := s.Symbol(); sym != nil {
				n, ok = r.Dims[sym.Name], true
			}
			if !ok {
				return nil, problem(RunError, "the size %s of %s is not known", s, p.Name)
			}
			shape[i] = n
		}
		d := p.Type.DType.Of
		data := r.Style.fill(d, jit.Elements(shape), random(r.Seed, p.Name))
		m, err := c.device.Alloc(max(1, int64(len(data))))
		if err != nil {
			return failed(err)
		}
		memory = append(memory, m)
		if err := c.device.Write(m, 0, data); err != nil {
			return failed(err)
		}
		args = append(args, jit.TensorValue(&jit.Tensor{DType: d, Shape: shape, Memory: m}))
	}
	program, err := watched(c.device, t.instructions).BindGraph(g, args, jit.Options{Separate: separate})
	if err != nil {
		return nil, compileProblem(err, false)
	}
	defer program.Close()
	if c.device.Target().IsGPU() {
		c.running.Lock()
		defer c.running.Unlock()
	}
	results, err := program.Run(args)
	if err == nil && !separate { // the second time a GPU may replay what it has captured
		results, err = program.Run(args)
	}
	if err != nil {
		return failed(err)
	}
	var out []*jit.Array
	for _, v := range results {
		a := jit.NewArray(v.Tensor.DType, v.Tensor.Shape...)
		if err := jit.ReadTensor(c.device, v.Tensor, a.Data); err != nil {
			return failed(err)
		}
		out = append(out, a)
	}
	return out, nil
}
