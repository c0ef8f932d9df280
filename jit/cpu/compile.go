package cpu

import (
	"fmt"

	failure "tilec/jit/bug"
	"tilec/jit/ir"
	"tilec/lang"
)

// Compile prepares a kernel to run. The extents of its axes must be set. An
// error says what the kernel asks for that this backend cannot hold.
func Compile(f *ir.Func) (p *Program, err error) {
	defer func() {
		if r := recover(); r != nil {
			b := failure.Recovered("cpu", r)
			b.Kernel = f.Name
			p, err = nil, b
		}
	}()
	for _, a := range f.Axes {
		if a.Extent <= 0 && !(a.Kind == ir.Whole && a.Len == 0) {
			return nil, fmt.Errorf("kernel %s: axis %s has no extent", f.Name, a.Name)
		}
	}
	f = ir.Unmix(f)
	c := &compiler{f: f, axis: map[*ir.Axis]int{}, dim: map[*ir.Dim]int{}, tensor: map[*ir.Tensor]int{}}
	c.number()
	c.analyse()
	c.place()
	p = c.program()
	p.arena = c.arena
	p.setup = c.setup()
	p.body = c.block(f.Body)
	p.cost = c.estimate()
	p.pool.New = func() any { return p.newLaunch() }
	return p, nil
}

// compiler turns one kernel into steps.
type compiler struct {
	f      *ir.Func
	axis   map[*ir.Axis]int
	dim    map[*ir.Dim]int
	dims   []*ir.Dim
	tensor map[*ir.Tensor]int

	*liveness
	slot  map[*ir.Value]*slot
	slots []*slot
	arena int
}

// number gives axes, dimensions and tensors the numbers by which frames and launches know them.
func (c *compiler) number() {
	for _, scratch := range []bool{false, true} {
		for _, t := range c.f.Tensors {
			if t.Scratch == scratch {
				c.tensor[t] = len(c.tensor)
			}
		}
	}
	for _, t := range c.f.Tensors {
		for _, d := range t.Shape {
			c.dimNumber(d)
		}
		for _, d := range t.Strides {
			c.dimNumber(d)
		}
	}
	for _, d := range c.f.Dims {
		c.dimNumber(d)
	}
	for _, a := range c.f.Axes {
		c.axisNumber(a)
		if a.Dim != nil {
			c.dimNumber(a.Dim)
		}
	}
}

func (c *compiler) axisNumber(a *ir.Axis) int {
	n, ok := c.axis[a]
	if !ok {
		n = len(c.axis)
		c.axis[a] = n
	}
	return n
}

func (c *compiler) axisNumbers(axes []*ir.Axis) []int {
	n := make([]int, len(axes))
	for i, a := range axes {
		n[i] = c.axisNumber(a)
	}
	if len(n) > maxRank {
		panic(bug(fmt.Sprintf("a tile has %d axes, at most %d fit", len(n), maxRank)))
	}
	return n
}

func (c *compiler) dimNumber(d *ir.Dim) int {
	n, ok := c.dim[d]
	if !ok {
		n = len(c.dim)
		c.dim[d] = n
		c.dims = append(c.dims, d)
	}
	return n
}

func (c *compiler) tensorNumber(t *ir.Tensor) int {
	n, ok := c.tensor[t]
	if !ok {
		panic(bug(fmt.Sprintf("tensor %s is not a parameter", t.Name)))
	}
	return n
}

// most is the largest number of positions an axis has in a block.
func most(a *ir.Axis) int {
	n := a.Extent
	if a.Kind == ir.Whole {
		n = a.Len
	}
	if a.Kind != ir.Whole && a.Dim != nil && a.Dim.Known() {
		n = min(n, a.Dim.Value)
	}
	return int(n)
}

// bytes is the size of the largest tile of a type.
func bytes(t ir.Type) int {
	n := kindOfDType[t.DType].size()
	for _, a := range t.Axes {
		n *= most(a)
	}
	return n
}

// program fills in what launches need: the grid and the parameters.
func (c *compiler) program() *Program {
	p := &Program{f: c.f, axes: len(c.axis), dims: c.dims}
	for _, a := range c.f.Grid() {
		if a.Ranges != nil {
			p.ranges = c.rangesGrid(len(p.grid), a.Ranges)
		}
		p.grid = append(p.grid, gridAxis{axis: c.axisNumber(a), dim: c.dimNumber(a.Dim), extent: int(a.Extent)})
	}
	for _, t := range c.f.Tensors {
		if t.Scratch {
			continue
		}
		s := tensorShape{name: t.Name, dtype: t.DType}
		for _, d := range t.Shape {
			s.shape = append(s.shape, c.dimNumber(d))
		}
		for _, d := range t.Strides {
			s.strides = append(s.strides, c.dimNumber(d))
		}
		p.tensors = append(p.tensors, s)
	}
	p.edges = make([]int, len(c.axis))
	for a, n := range c.axis {
		p.edges[n] = int(a.Edges)
	}
	for _, param := range c.f.Params() {
		switch param.Kind {
		case ir.ParamScalar:
			v := param.Scalar
			s := scalarParam{off: c.slot[v].off, size: kindOfDType[v.Type.DType].size()}
			if narrowFloat(v.Type.DType) {
				s.narrow = v.Type.DType
			}
			p.scalars = append(p.scalars, s)
		case ir.ParamDim:
			p.given = append(p.given, c.dimNumber(param.Dim))
			p.nDims++
		case ir.ParamStride:
			p.given = append(p.given, c.dimNumber(param.Dim))
		case ir.ParamDebug:
			p.debugTable = c.f.DebugTable()
		}
	}
	return p
}

func (p *Program) newLaunch() *launch {
	l := &launch{dims: make([]int, len(p.dims)), scalars: make([]uint64, len(p.scalars)), grid: make([]int, len(p.grid)), tensors: make([]tensorView, len(p.tensors))}
	for i, d := range p.dims {
		l.dims[i] = int(d.Value)
	}
	l.edges = p.edges
	for i, t := range p.tensors {
		l.tensors[i].shape, l.tensors[i].strides = make([]int, len(t.shape)), make([]int, len(t.shape))
	}
	return l
}

// setup is the steps that a worker runs once: whole axes, constants and sizes.
func (c *compiler) setup() steps {
	var s steps
	for a, n := range c.axis {
		if a.Kind == ir.Whole {
			state := axisState{int(a.Lo), int(a.Len)}
			s = append(s, step{nil, func(fr *frame) { fr.axes[n] = state }})
		}
	}
	c.f.Walk(func(op *ir.Op) bool {
		if c.constant(op) && c.live[op] {
			s = append(s, step{op, emitters[op.Code](c, op)})
		}
		return true
	})
	return s
}

// constant reports an operation whose value is the same in every block.
func (c *compiler) constant(op *ir.Op) bool { return op.Code == lang.OpConst || op.Code == lang.OpSize }

// block compiles the operations that something needs.
func (c *compiler) block(b *ir.Block) steps {
	var s steps
	started := map[*group]bool{}
	for _, op := range c.schedule(b) {
		if !c.live[op] || c.constant(op) || c.isAlias(op) {
			continue
		}
		if g := c.groupOf[op]; g != nil {
			if !started[g] {
				started[g] = true
				s = append(s, step{op, c.group(g)})
			}
			continue
		}
		s = append(s, step{op, c.emit(op)})
	}
	return s
}

func (c *compiler) emit(op *ir.Op) func(*frame) {
	row := op.Code.Row()
	switch {
	case row.Elementwise:
		return c.scalarOp(op)
	case op.Combines():
		return c.combine(op)
	case row.Group == lang.GroupReduce:
		return c.reduce(op)
	}
	emit := emitters[op.Code]
	if emit == nil {
		panic(bug(fmt.Sprintf("no implementation of %s", op.Code)))
	}
	return emit(c, op)
}

// emitters compiles the operations that are neither elementwise nor reductions.
var emitters map[lang.Op]func(c *compiler, op *ir.Op) func(*frame)

func init() {
	emitters = map[lang.Op]func(c *compiler, op *ir.Op) func(*frame){
		lang.OpConst:  (*compiler).constOp,
		lang.OpFull:   (*compiler).full,
		lang.OpIndex:  (*compiler).index,
		lang.OpStart:  (*compiler).start,
		lang.OpEnd:    (*compiler).end,
		lang.OpSize:   (*compiler).sizeOp,
		lang.OpLoad:   (*compiler).load,
		lang.OpStore:  func(c *compiler, op *ir.Op) func(*frame) { return c.write(op, storer(op.Tensor.Held())) },
		lang.OpDot:    (*compiler).contract,
		lang.OpMma:    (*compiler).contract,
		lang.OpFor:    (*compiler).loop,
		lang.OpIf:     (*compiler).branch,
		lang.OpTake:   (*compiler).take,
		lang.OpPrint:  (*compiler).print,
		lang.OpAssert: (*compiler).assert,
		lang.OpSort:   (*compiler).sort,
		lang.OpTopK:   (*compiler).topk,
		// A rename is another name for its operand's buffer.
		lang.OpRename: func(*compiler, *ir.Op) func(*frame) { return func(*frame) {} },
	}
	for _, op := range lang.Ops() {
		if op.IsAtomic() {
			emitters[op] = (*compiler).atomicOp
		}
	}
}

// off is the place of a value's buffer in the arena.
func (c *compiler) off(v *ir.Value) int {
	s := c.slot[c.root(v)]
	if s == nil {
		panic(bug(fmt.Sprintf("value %%%d has no buffer", v.ID)))
	}
	return s.off
}

func (c *compiler) scalarRef(v *ir.Value) scalarRef {
	return scalarRef{off: c.off(v), wide: v.Type.DType == lang.I64}
}
