// Package interp executes block programs on host tensors, as they say: warps that hold values in layouts, producers beside them, copies
// that are there only when they were waited for, products that read their operands until they were, rings of stages, named barriers,
// shared memory that rooms have one after the other. It finds what a program that is decided wrongly does: a slot that is read before
// its copies or overwritten while it is read, an element that no thread holds, a mask that is missing, rooms that overlap, warps that
// wait for nobody. It takes from a program what it decides (block.Program, and block.Schedule for all that is asynchronous), and
// decides itself what that leaves open, as jit/ptx does: which values come through shared memory, and where barriers stand beside them.
// It must not know instructions.
package interp

import (
	"fmt"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
)

// Args are the arguments of a launch.
type Args struct {
	// Tensors are the bytes of the kernel's tensors but for scratch ones; the first byte is element 0.
	Tensors map[*ir.Tensor][]byte
	// Scalars are the bits of the scalar parameters.
	Scalars map[*ir.Value]uint64
	// Size gives the dimensions and strides that are not known.
	Size func(*ir.Dim) int64
	// Most is how many blocks are run at most; of a launch of more there is an *UnsupportedError, and nothing is changed. 0 for any number.
	Most int64
}

// launch is one run of a program over a grid.
type launch struct {
	p            *block.Program
	size         func(*ir.Dim) int64
	tensors      map[*ir.Tensor]*tensor
	scalars      map[*ir.Value]ir.Const
	spreads      map[string]*spread
	permutations map[string][]int
	order        Order
}

// cluster is blocks that run at the same time.
type cluster struct {
	l      *launch
	sched  scheduler
	blocks []*blockState
	meets  map[[2]int]*meeting
}

// blockState is a block of threads.
type blockState struct {
	l      *launch
	c      *cluster
	rank   int
	number int64
	memory memory
	named  map[int]*barrier
	teams  []*team
	rings  map[*ir.Op]*ring
	loads  map[*ir.Op]*loaded
	own    map[*ir.Tensor]*tensor // scratch
	kept   map[*ir.Tensor]*keptTensor
	// privates are the tensors that the block changes in shared memory first.
	privates map[*ir.Tensor]*privateTensor
	// copied is what takes the place of loads of rows that are copied, left the stores that are left out.
	copied map[*ir.Op]*ir.Op
	left   map[*ir.Op]bool
	// sent are the parts of rows that were sent for.
	sent map[rowPart]*onItsWay
}

// team is the warps that compute one tile together.
type team struct {
	block *blockState
	n     int
	all   []*warp
	meets map[int]*meeting
}

// warp is a warp that computes, or, without a team, what a producer knows.
type warp struct {
	block  *blockState
	team   *team
	n      int
	values map[*ir.Value][]held
	axes   map[*ir.Axis]position
	arena  block.Arena
	// epoch is how often the warp has met the others of its team.
	epoch, clusterMeets int
	emitted             map[*ir.Op]bool
	// holds is a condition that holds for all elements of the step; nil for none.
	holds   *ir.Value
	sharing *ir.Op
	beside  map[*ir.Op]*besideTile
	// anew: scalars are computed from those of the launch, wherever they are.
	anew bool
	// products are those under way, the oldest first, and groups the copies that the warp has started.
	products []*pending
	groups   [][]func()
	// at is how many steps each ring has behind it for the warp, kept the stages that are not given back yet, by set.
	at   map[*ring]int
	kept map[*ring]map[int]int
	// running is the position of the step that runs, of each loop.
	running map[*ir.Op]int64
	// ready are the operands of products that are ready to start, scores the result of the first product where products overlap.
	ready  map[*block.Product]*operands
	scores held
	// rows is how many rows the warp has begun. next does something where the axes of the grid stand at the block's next tile, if there is one; nil in
	// a block that goes through no rows.
	next func(each func())
	rows int
}

func (w *warp) p() *block.Program  { return w.block.l.p }
func (w *warp) sched() *scheduler  { return &w.block.c.sched }
func (b *blockState) paired() bool { return b.l.p.Tiles != nil && b.l.p.Tiles.Along != nil }

// meeting is where warps come together with something.
type meeting struct {
	what string
	with map[int]any
}

// meet waits for all warps of the team, and gives what each of them comes with.
func (w *warp) meet(what string, with any) []any {
	m := w.team.meets[w.epoch]
	if m == nil {
		m = &meeting{what, map[int]any{}}
		w.team.meets[w.epoch] = m
	}
	if m.what != what {
		failf("a warp is to %q where another is to %q", what, m.what)
	}
	w.epoch++
	n := w.p().Warps
	m.with[w.n] = with
	w.sched().wait("the other warps, to "+what, func() bool { return len(m.with) == n })
	out := make([]any, n)
	for i := range out {
		out[i] = m.with[i]
	}
	return out
}

// meetBlocks waits for the same warp of all blocks of the cluster.
func (w *warp) meetBlocks(what string, with any) []any {
	key := [2]int{w.n, w.clusterMeets}
	m := w.block.c.meets[key]
	if m == nil {
		m = &meeting{what, map[int]any{}}
		w.block.c.meets[key] = m
	}
	if m.what != what {
		failf("a block is to %q where another is to %q", what, m.what)
	}
	w.clusterMeets++
	n := len(w.block.c.blocks)
	m.with[w.block.rank] = with
	w.sched().wait("the other blocks, to "+what, func() bool { return len(m.with) == n })
	out := make([]any, n)
	for i := range out {
		out[i] = m.with[i]
	}
	return out
}

// Run executes a program over its grid, cluster by cluster, on the tensors of args, which it changes. The error names what is wrong with
// the program; it is an *UnsupportedError where the interpreter does not know an operation.
func Run(p *block.Program, args Args, order Order) (err error) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(fault)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("kernel %s: %w", p.Func.Name, f.err)
		}
	}()
	if p.Func.HasRanges() {
		unsupported("a grid over ranges that lie in memory")
	}
	l := &launch{p: p, tensors: map[*ir.Tensor]*tensor{}, scalars: map[*ir.Value]ir.Const{}, spreads: map[string]*spread{}, permutations: map[string][]int{}, order: order}
	l.size = func(d *ir.Dim) int64 {
		if d.Known() {
			return d.Value
		}
		return args.Size(d)
	}
	for _, t := range p.Func.Tensors {
		if !t.Scratch {
			l.tensors[t] = l.tensorOf(t, args.Tensors[t])
		}
	}
	for _, s := range p.Func.Scalars {
		l.scalars[s] = constOf(s.Type.DType, args.Scalars[s])
	}
	total := int64(1)
	for _, a := range p.Func.Grid() {
		total *= l.blocksAlong(a)
	}
	if total == 0 {
		return nil
	}
	launched, group := total, int64(1)
	switch {
	case p.Tiles != nil:
		group = int64(max(p.ClusterSize(), 1))
		launched = min((total+group-1)/group*group, int64(p.Tiles.Blocks)/group*group)
		launched = min(launched, max(group, total/4/group*group)) // few, so that each has several tiles
	case p.Split > 1:
		group = int64(p.Split)
		launched = total * int64(p.ForOne())
	}
	if args.Most > 0 && max(launched, total) > args.Most {
		return &UnsupportedError{"a launch of so many blocks"}
	}
	for first := int64(0); first < launched; first += group {
		if err := l.runCluster(first, int(group), launched, total); err != nil {
			return fmt.Errorf("kernel %s, block %d: %w", p.Func.Name, first, err)
		}
	}
	return nil
}

func (l *launch) tensorOf(t *ir.Tensor, data []byte) *tensor {
	x := &tensor{Tensor: t, data: data}
	next := int64(1)
	x.strides = make([]int64, len(t.Shape))
	for i := len(t.Shape) - 1; i >= 0; i-- {
		x.strides[i] = next
		if t.Strides != nil {
			x.strides[i] = l.size(t.Strides[i])
		}
		next *= l.size(t.Shape[i])
	}
	for _, d := range t.Shape {
		x.shape = append(x.shape, l.size(d))
	}
	return x
}

// tensor is the memory of a tensor, of a scratch one that of the block.
func (b *blockState) tensor(t *ir.Tensor) *tensor {
	if !t.Scratch {
		return b.l.tensors[t]
	}
	x := b.own[t]
	if x == nil {
		x = b.l.tensorOf(t, make([]byte, t.Bytes()))
		b.own[t] = x
	}
	return x
}

// blocksAlong is how many blocks an axis of the grid has.
func (l *launch) blocksAlong(a *ir.Axis) int64 {
	return (l.size(a.Dim) + a.Extent - 1) / a.Extent
}

// place puts the axes of the grid where a block, or a tile of a block that stays, has them. In which order blocks are numbered is
// nothing that a result shows; here the last axis is the fastest.
func (w *warp) place(number int64) {
	l, grid := w.block.l, w.p().Func.Grid()
	for i := len(grid) - 1; i >= 0; i-- {
		a := grid[i]
		n, along := l.blocksAlong(a), number
		if w.block.paired() && w.p().Tiles.Along == a {
			pairs := (n + 1) / 2
			along = number%pairs*2 + int64(w.block.rank)
			number /= pairs
		} else {
			along = number % n
			number /= n
		}
		start := along * a.Extent
		w.enter(a, start, max(min(start+a.Extent, l.size(a.Dim)), start))
	}
}

// tiles is how many tiles, or pairs of tiles, the grid has.
func (b *blockState) tiles() int64 {
	n := int64(1)
	for _, a := range b.l.p.Func.Grid() {
		along := b.l.blocksAlong(a)
		if b.paired() && b.l.p.Tiles.Along == a {
			along = (along + 1) / 2
		}
		n *= along
	}
	return n
}

// runCluster runs the blocks of a cluster, or one block.
func (l *launch) runCluster(first int64, group int, launched, total int64) error {
	c := &cluster{l: l, meets: map[[2]int]*meeting{}}
	c.sched = scheduler{paused: make(chan struct{}), order: l.order}
	p := l.p
	producers := map[*process]bool{}
	for rank := range group {
		b := &blockState{
			l: l, c: c, rank: rank, number: first + int64(rank), named: map[int]*barrier{}, rings: map[*ir.Op]*ring{}, loads: map[*ir.Op]*loaded{},
			own: map[*ir.Tensor]*tensor{}, kept: map[*ir.Tensor]*keptTensor{}, privates: map[*ir.Tensor]*privateTensor{}, copied: map[*ir.Op]*ir.Op{}, left: map[*ir.Op]bool{}, sent: map[rowPart]*onItsWay{},
		}
		b.memory.rooms = map[any]*room{}
		c.blocks = append(c.blocks, b)
		for n := range p.Teams() {
			b.teams = append(b.teams, &team{block: b, n: n, meets: map[int]*meeting{}})
		}
		for _, cs := range p.RowCopies {
			for _, x := range cs {
				b.copied[x.Load], b.left[x.Store] = x.Kept, true
			}
		}
	}
	for _, b := range c.blocks {
		b.makeRings()
		for _, t := range b.teams {
			for n := range p.Warps {
				w := b.newWarp(t, n)
				name := fmt.Sprintf("warp %d", n)
				if p.Teams() > 1 {
					name += fmt.Sprintf(" of team %d", t.n)
				}
				if group > 1 {
					name += fmt.Sprintf(" of block %d of the cluster", b.rank)
				}
				c.sched.start(name, func() { w.run(launched, group) })
			}
		}
		if p.Producing {
			w := b.newWarp(nil, 0)
			w.anew = true
			producers[c.sched.start(fmt.Sprintf("the producer of block %d", b.number), func() { w.produce(launched, group) })] = true
		}
	}
	c.sched.arrange(func(p *process) bool { return producers[p] })
	return c.sched.run()
}

func (b *blockState) newWarp(t *team, n int) *warp {
	w := &warp{
		block: b, team: t, n: n, values: map[*ir.Value][]held{}, axes: map[*ir.Axis]position{}, emitted: map[*ir.Op]bool{}, beside: map[*ir.Op]*besideTile{},
		at: map[*ring]int{}, kept: map[*ring]map[int]int{}, running: map[*ir.Op]int64{}, ready: map[*block.Product]*operands{},
	}
	if t != nil {
		t.all = append(t.all, w)
	}
	for v, c := range b.l.scalars {
		w.values[v] = []held{{layout: layout.Uniform(b.l.p.Warps), cells: []cell{{c, true}}}}
	}
	return w
}

// run is what a warp does that computes.
func (w *warp) run(launched int64, group int) {
	p, b := w.p(), w.block
	if p.Tiles == nil {
		w.place(b.number / int64(p.ForOne()))
		w.keepTensors()
		w.body(p.Func.Body)
		w.endPrivate()
		return
	}
	first, stride := b.number/int64(group), launched/int64(group)
	if len(p.RowCopies) > 0 {
		w.throughRows(stride)
		return
	}
	if p.Teams() > 1 && w.team.n == 1 {
		for _, r := range b.rings {
			w.place(first)
			w.at[r] += w.steps(r)
		}
		for _, turn := range []int{block.ProductTurn, block.ResultTurn} {
			w.act(nil, block.Act{Do: block.PassTurn, Turn: turn})
		}
	}
	for tile := first + int64(w.team.n)*stride; tile < b.tiles(); tile += stride * int64(p.Teams()) {
		w.place(tile)
		w.region(func() { w.body(p.Func.Body) })
		if p.Teams() > 1 {
			w.act(nil, block.Act{Do: block.PassTurn, Turn: block.ResultTurn})
		}
	}
}

// produce is what the producer does: the copies of one loop after the other, of all tiles where the block stays.
func (w *warp) produce(launched int64, group int) {
	p, b := w.p(), w.block
	loops := func() {
		for _, op := range p.Func.Body.Ops {
			if x := p.Pipelines[op]; x != nil && x.Produced {
				w.produceLoads(op)
				w.produceLoop(b.rings[op])
			}
		}
	}
	if p.Tiles == nil {
		w.place(b.number / int64(p.ForOne()))
		loops()
		return
	}
	for tile := b.number / int64(group); tile < b.tiles(); tile += launched / int64(group) {
		w.place(tile)
		loops()
	}
}
