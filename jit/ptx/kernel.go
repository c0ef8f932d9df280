package ptx

import (
	"maps"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// kernel is the state of lowering one Func.
type kernel struct {
	// Program is what has been decided.
	*block.Program
	// from is what the kernel is made of, as its module says.
	from string
	a    *asm.Builder

	// sharing is the loop around over an axis that blocks of a cluster divide.
	sharing *ir.Op
	// ended is where blocks go of a cluster whose first block does what is left; 0 for none.
	ended asm.Label
	// sendings are where the parts of meetings come to lie that blocks send one another, by the first join of each.
	sendings map[*ir.Op]sending
	// together: all blocks of the cluster have their mbarriers.
	together bool
	// hinted says what became of the hints of accesses.
	hinted map[*ir.Op]string

	thread asm.Reg // number in the block
	tid    asm.Reg // of those that compute, number among those that compute one tile
	walk   walk    // of a block that goes through tiles
	// began and released are when the block began and had the results of the launches before, of a kernel that is timed.
	began, released asm.Reg
	// debug is where prints and asserts go.
	debug debugOutput
	root  *scope
	scope *scope
	arena arena
	// holds is a condition that holds for all elements in the code that is being emitted; nil for none.
	holds *ir.Value
	// guard is a condition of which the code asks whether it holds for all.
	guard guarded
	// looping are the loops whose bodies are being emitted, from the outermost on.
	looping []*steps
	// produced are the loops whose copies the producer does, producer is its code, behind which the label consume stands.
	produced map[*ir.Op]*pipeline
	// arranged is a tile in shared memory that stores to come take; nil for none.
	arranged *arranged
	// begun are the loops of which copies have begun before the launches before have ended.
	begun map[*ir.Op]*pipeline
	// brought are the tiles of operands that threads copy for all steps of a loop.
	brought  map[*block.Beside]*sharedTile
	producer asm.Code
	consume  asm.Label
	// arriving are the mbarriers of the loads that the producer does outside of loops, coming those that were not waited for yet.
	arriving map[*ir.Op]arriving
	coming   []arriving
	// handed are the buffers that were read as a whole before the wait for the launches before, and are free for the operands that come then.
	handed []buffer
	// asked are the constants that were asked for before the wait for the launches before.
	asked map[*ir.Op]*askedFor
	// squares is what reductions give that were made with those before them.
	squares map[*ir.Op][]asm.Reg
	// ahead are the operands of products that were read before that wait.
	ahead map[*ir.Value]fragments
	// beside are the loads beside a product, where they lie.
	beside map[*ir.Op]*sharedTile
	// emitted are the operations that were emitted ahead of their places.
	emitted map[*ir.Op]bool
	// kept is where the tensors lie that are in shared memory, and counters where the mbarriers of rows that are copied there; copied is
	// what takes the place of their loads.
	kept     map[*ir.Tensor]int
	counters map[*block.RowCopy]int
	// rows is what a block that stays knows of its next row.
	rows   *rowsAhead
	copied map[*ir.Op]*ir.Op
	// private is where the private tensors are in shared memory.
	private map[*ir.Tensor]buffer
	// written and read are the tensors stored and loaded since the last barrier.
	written, read map[*ir.Tensor]bool
	// contends remembers block.Program.Contended, which looks at all accesses.
	contends map[*ir.Tensor]bool
}

// held is a value in registers, in one layout.
type held struct {
	layout layout.Layout
	regs   []asm.Reg
}

// scope is what the code of one region has at hand: it ends with the region,
// as what is computed in a loop's body or a branch does not hold behind it.
type scope struct {
	parent *scope
	values map[*ir.Value][]held
	axes   map[*ir.Axis]*axisState
	tiles  map[*ir.Value][]*sharedTile
	taken  map[*ir.Value]*sharedTile // values from which more will be taken
	words  map[wordAt]loadedWord     // what was loaded by words
	mark   int                       // top of the shared arena when the scope began
}

func newKernel(decided *block.Program, from string) *kernel {
	k := &kernel{
		Program: decided, from: from, a: asm.New(decided.Target), produced: map[*ir.Op]*pipeline{}, begun: map[*ir.Op]*pipeline{}, brought: map[*block.Beside]*sharedTile{}, arriving: map[*ir.Op]arriving{},
		written: map[*ir.Tensor]bool{}, read: map[*ir.Tensor]bool{}, contends: map[*ir.Tensor]bool{}, hinted: maps.Clone(decided.Hinted), asked: map[*ir.Op]*askedFor{}, squares: map[*ir.Op][]asm.Reg{}, ahead: map[*ir.Value]fragments{}, emitted: map[*ir.Op]bool{},
		kept: map[*ir.Tensor]int{}, counters: map[*block.RowCopy]int{}, copied: map[*ir.Op]*ir.Op{},
		private: map[*ir.Tensor]buffer{}, beside: map[*ir.Op]*sharedTile{},
	}
	k.root = k.newScope()
	k.scope = k.root
	return k
}

// push begins a scope whose code is a region: what it computes from outside alone goes before begin.
func (k *kernel) push(begin asm.Point) {
	k.a.Open(begin)
	k.scope = k.newScope()
}

// newScope is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (k *kernel) newScope() *scope {
	return &scope{
		parent: k.scope, values: map[*ir.Value][]held{}, axes: map[*ir.Axis]*axisState{},
		tiles: map[*ir.Value][]*sharedTile{}, taken: map[*ir.Value]*sharedTile{}, words: map[wordAt]loadedWord{}, mark: k.arena.Top,
	}
}

// pop ends what push began.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (k *kernel) pop() {
	k.arena.Top = k.scope.mark
	k.scope = k.scope.parent
	k.a.Close()
}

// hold records a value's registers.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (k *kernel) hold(v *ir.Value, l layout.Layout, regs []asm.Reg) {
	k.scope.values[v] = append(k.scope.values[v], held{l, regs})
}

// copies lists where a value is held, innermost scope first.
func (k *kernel) copies(v *ir.Value) []held {
	var hs []held
	for s := k.scope; s != nil; s = s.parent {
		hs = append(hs, s.values[v]...)
	}
	return hs
}

// lower emits the whole kernel.
func (k *kernel) lower() {
	k.a.AtEntry(func() {
		k.letNextBegin()
		k.thread = k.a.Op(asm.B32, "mov.u32", asm.Thread)
		k.tid = k.thread
		if k.Teams() > 1 {
			k.tid = k.a.Op(asm.B32, "and.b32", k.thread, asm.Int(k.Warps*layout.Lanes-1))
		}
	})
	for _, p := range k.Func.Params() {
		if p.Kind == ir.ParamScalar {
			k.hold(p.Scalar, layout.Uniform(k.Warps), []asm.Reg{k.scalarParam(p)})
		}
	}
	for _, m := range k.Maps { // they are on their way while the block finds out where it stands
		k.tensorMap(m)
	}
	if k.Tiles != nil {
		k.readyTiles()
	} else {
		k.number()
	}
	k.began = k.now()
	k.push(0) // what is computed from here on is not at hand in the producer
	k.beginSending()
	k.waitForLaunchBefore()
	if !k.Producing { // which gives the others time until they are sent something
		k.awaitCluster()
	}
	k.startProducer()
	k.keepRows()
	k.beginPrivate()
	k.askSoon()
	k.emitAhead(k.Early)
	k.body()
	if k.ended != 0 {
		k.a.Place(k.ended)
	}
	k.endPrivate()
	k.leaveTimes()
	k.a.Do("ret")
	if k.Producing {
		k.inProducer(func() {
			k.a.Do("ret")
			k.a.Place(k.consume)
			if d := k.Donation; d != nil {
				k.a.Do("setmaxnreg.inc.sync.aligned.u32", asm.Int(d.Consumer))
			}
		})
	}
}

// body emits the kernel's body: twice where whole blocks can do without masks
// and the last ones cannot.
func (k *kernel) body() {
	switch {
	case k.Tiles != nil && len(k.RowCopies) > 0:
		k.throughRows()
		return
	case k.Tiles != nil:
		k.throughTiles()
		return
	}
	ragged := k.RaggedGrid
	if len(ragged) == 0 {
		k.block(k.Func.Body)
		return
	}
	a := k.a
	var whole asm.Reg
	ends := make([]asm.Reg, len(ragged))
	for i, x := range ragged {
		c := countClass(x)
		ends[i] = k.a.Calc(c, c.Signed("add"), k.state(x).start, asm.Int(x.Extent))
		whole = k.both(whole, k.a.Calc(asm.Pred, c.Signed("setp.eq"), ends[i], k.state(x).end))
	}
	partial, done := a.Label(), a.Label()
	begin := a.Here()
	a.Unless(whole).Do("bra.uni", partial)
	a.Comment("all of the block's elements exist")
	k.push(begin)
	for i, x := range ragged {
		k.setAxis(x, k.state(x).start, ends[i])
		k.state(x).full = true
	}
	k.block(k.Func.Body)
	begin = k.a.Begin()
	k.pop()
	a.Do("bra.uni", done)
	a.Place(partial)
	a.Comment("some do not")
	k.push(begin)
	k.assumeTouched()
	k.block(k.Func.Body)
	k.pop()
	a.Place(done)
}

// block emits the operations of a block.
func (k *kernel) block(b *ir.Block) {
	for i := 0; i < len(b.Ops); {
		if m := k.MeetingAt(b, i); len(m.Joins) > 0 {
			k.a.Loc(m.Joins[0].At)
			k.meet(m)
			i += len(m.Joins)
			continue
		}
		k.emit(b.Ops[i])
		i++
	}
}

// emitAhead emits operations ahead of their places.
func (k *kernel) emitAhead(ops []*ir.Op) {
	for _, op := range ops {
		k.emit(op)
		k.emitted[op] = true
	}
}

// emit emits one operation.
func (k *kernel) emit(op *ir.Op) {
	k.a.Loc(op.At)
	if k.OnDemand(op) || k.emitted[op] || k.addedUp(op) || k.Late[op] != nil {
		return
	}
	k.a.Comment("%s", describe(op))
	if op.Code.Row().Elementwise {
		v := op.Result()
		k.hold(v, k.Homes[v], k.elementwise(op, k.Homes[v]))
		return
	}
	lower, ok := structural[op.Code]
	if !ok {
		failf("operation %s has no PTX form", op.Code)
	}
	if k.Alike() && k.sharing == nil && op.Code.Row().Effect == lang.Writes && (op.Tensor == nil || !op.Tensor.Scratch) {
		k.onlyFirst(func() { lower(k, op) })
		return
	}
	lower(k, op)
}

// structural is the table of the operations that are not elementwise.
var structural map[lang.Op]func(*kernel, *ir.Op)

func init() {
	structural = map[lang.Op]func(*kernel, *ir.Op){
		lang.OpConst:     (*kernel).create,
		lang.OpFull:      (*kernel).create,
		lang.OpIndex:     (*kernel).create,
		lang.OpStart:     (*kernel).create,
		lang.OpEnd:       (*kernel).create,
		lang.OpSize:      (*kernel).create,
		lang.OpRename:    (*kernel).create,
		lang.OpTake:      (*kernel).take,
		lang.OpSort:      (*kernel).sort,
		lang.OpTopK:      (*kernel).topk,
		lang.OpLoad:      (*kernel).loadOp,
		lang.OpStore:     (*kernel).storeOp,
		lang.OpSum:       (*kernel).reduce,
		lang.OpProd:      (*kernel).reduce,
		lang.OpReduceMax: (*kernel).reduce,
		lang.OpReduceMin: (*kernel).reduce,
		lang.OpMean:      (*kernel).reduce,
		lang.OpAny:       (*kernel).reduce,
		lang.OpAll:       (*kernel).reduce,
		lang.OpArgMax:    (*kernel).reduce,
		lang.OpArgMin:    (*kernel).reduce,
		lang.OpReduce:    (*kernel).reduceBy,
		lang.OpScan:      (*kernel).scan,
		lang.OpDot:       (*kernel).contract,
		lang.OpMma:       (*kernel).contract,
		lang.OpFor:       (*kernel).loop,
		lang.OpIf:        (*kernel).branch,
		lang.OpJoin:      func(k *kernel, op *ir.Op) { k.meet(block.Meeting{Joins: []*ir.Op{op}}) },
		lang.OpPrint:     (*kernel).print,
		lang.OpAssert:    (*kernel).assert,
	}
	for _, op := range lang.Ops() {
		if op.IsAtomic() {
			structural[op] = (*kernel).atomicOp
		}
	}
}

// describe is an operation on one line, for comments.
func describe(op *ir.Op) string {
	s := ""
	for i, r := range op.Results {
		if i > 0 {
			s += ", "
		}
		s += block.ValueName(r)
	}
	if s != "" {
		s += " = "
	}
	s += op.Code.String()
	if op.Tensor != nil {
		s += " " + op.Tensor.Name
	}
	for _, v := range op.Args {
		s += " " + block.ValueName(v)
	}
	for _, a := range op.Over {
		s += " over " + a.Name
	}
	if len(op.Results) == 1 {
		s += " : " + op.Result().Type.String()
	}
	return s
}
