// Package block holds what is decided of a block of threads before there is any code: in which layout each value is held, by
// which instruction each product is computed and how its operands lie in shared memory, which loads of a loop run ahead, by
// what and in how many stages, which copies and stores the tensor memory accelerator does, how wide accesses are and where masks
// are needed. It is data that Decide computes from tile IR with extents, the plan's settings and the target, and nothing else.
// It knows instructions by what they can do; it must not know registers, labels, nor the text of any of them.
//
// A Program has a text form that reads back: the tile IR's, with what is decided noted below each operation (README.md).
//
// A Program is data to whoever writes code of it (jit/ptx) and to the interpreter beside it (jit/block/interp), which runs it on host
// tensors and compares it with its tile IR. What is asynchronous in a loop is in its Schedule, in the order in which both go through it.
//
// What jit/ptx still decides as it writes is listed in its README. Here is where the block program grows, in which that is
// decided too.
package block

import (
	"fmt"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/target"
	"tilec/lang"
)

// Settings are what a plan says of a block beside the extents, which the kernel's axes have.
type Settings struct {
	// Warps is the warps that compute, Stages how many steps of a loop have their loads in shared memory at once; 1 is none
	// ahead. Cluster is the blocks of a cluster; 0 or 1 for none.
	Warps, Stages, Cluster int
	// MostPrivate is up to how many elements a tensor is private (see Private): 1 for none, 0 where nothing is pinned.
	MostPrivate int
	// Forms is, by the names of lang.Forms, which forms are asked for; what is best is decided where none is.
	Forms map[string]int64
	// Producer is how many warps beside those that compute do nothing but copy, 1 or 4, where it is pinned; Resident the blocks of
	// a multiprocessor that the plan counts on. 0 where nothing is said.
	Producer, Resident int
	// Occupancy is the blocks that share a multiprocessor where that is pinned: the assembler is held to it.
	Occupancy int
	// Persist is with how many teams of warps blocks go through tiles, where they are to; 0 for a block for each tile.
	Persist int
	// Wgmma is which products are by wgmma: WgmmaNever, WgmmaAlways, or 0 for those that are faster by it.
	Wgmma int
	// Once names the tensors that the launch reads once: what is brought of them leaves the L2 first.
	Once []string
}

// Program is what one block of a kernel does, as far as it is decided before there is code.
type Program struct {
	Func *ir.Func
	Settings
	Target target.Machine

	// Homes is the layout in which each value is held.
	Homes map[*ir.Value]layout.Layout
	// Products are the contractions, with their instructions and layouts.
	Products map[*ir.Op]*Product
	// Pipelines are the loops of which loads run ahead.
	Pipelines map[*ir.Op]*Pipeline
	// Producing: warps beside those that compute do nothing but such copies; Donation is the registers that they give away.
	Producing bool
	Donation  *Donation
	// Tiles is set where blocks stay and go through tiles of the grid.
	Tiles *Tiles
	// Constants are the loads that begin before the launches before have ended.
	Constants []*Constant
	// Ahead are the scalars and small constants that a block has before the launches before have ended, and Prefetches what the L2 is asked for then.
	Ahead      []*ir.Op
	Prefetches []Prefetch
	// Early are the loads that are asked for as soon as the launches before have ended, ahead of what stands before them.
	Early []*ir.Op
	// Soon are the loads that the L2 is asked for at the block's start, since they come behind a reduction.
	Soon []*ir.Op
	// First are the loads with which each step of a loop begins, ahead of what stands before them.
	First map[*ir.Op][]*ir.Op
	// Loads are the loads outside of loops that the producer does, of operands of products in its loops.
	Loads map[*ir.Op]*BoxLoad
	// Stores are the stores that go through shared memory by the TMA.
	Stores map[*ir.Op]*BoxStore
	// Quotients are the divisions of several elements by one divisor, by how many elements of a thread have the same.
	Quotients map[*ir.Op]int
	// Privates are the tensors that the block changes in shared memory first.
	Privates []*Private
	// Late are the operations that are computed as the store that they lead to stores them, Beside the loads among them that begin before the loop.
	// Fetched are those that the L2 is asked for before it.
	Late    map[*ir.Op]*ir.Op
	Beside  []*Beside
	Fetched []*ir.Op
	// Brought are the loads outside of the kernel's only loop whose elements its products take from shared memory, to where threads copy them with
	// what they copy for the loop's first step.
	Brought []*Beside
	// Copied are the loads outside of loops that threads copy to shared memory for a product, once the launches before have ended.
	Copied []*Beside
	// RowCopies are the rows that are copied to shared memory before a loop, by loop.
	RowCopies map[*ir.Op][]*RowCopy
	// Staggered is how many blocks begin together of which every second asks for its first row part after part; 0 where all ask for all.
	Staggered int
	// Maps are the tensor maps of all boxes, in the order of their names.
	Maps []*TensorMap

	// Split is over how many blocks of a cluster axes are divided, 0 for none.
	Split int
	// Along is the axis of the grid along which the blocks that share loops are neighbours, which go on by themselves behind these; nil where
	// they are launched for the loops.
	Along *ir.Axis
	// RaggedGrid are the axes of the grid whose last blocks may have fewer positions, where the other blocks have code of their own,
	// without masks. Products mask only outside their loops, so they have one code for all blocks.
	RaggedGrid []*ir.Axis
	// Grouped: the blocks along the last two axes of the grid are numbered so that those that run at the same time share rows
	// and columns of the operands of a product.
	Grouped bool
	// LongestFirst says that the blocks with the longest loops begin first; nil where all are as long, or nobody asks.
	LongestFirst *LongestFirst
	// Words is how loops go through rows that begin at no multiples of 16 bytes; nil where they do so by columns.
	Words *Words
	// Phases are the loops of which the first steps have code of their own.
	Phases map[*ir.Op]*Phase
	// Deferred are, by loop, the reductions that are joined behind it.
	Deferred map[*ir.Op][]*Deferral
	// Moments are the means that are found together with the squares of what is off them.
	Moments map[*ir.Op]*Moments
	// refused are the products of f32 that wgmma could compute if the TMA brought their operands, which it cannot.
	refused map[*ir.Op]bool
	// unserved are the loops that no producer serves, though it could bring all that they load: see servedBehindMeeting.
	unserved map[*ir.Op]bool
	// revisited are the tensors that a loop may write at one place in several steps.
	revisited map[*ir.Tensor]bool
	// hinted says what became of the hints of the loads that run ahead.
	Hinted map[*ir.Op]string

	// multiplies reports a contraction somewhere.
	multiplies bool

	// Uses lists the uses of each value, in program order, loops the loops over each axis.
	Uses  map[*ir.Value][]Use
	loops map[*ir.Axis][]*ir.Op
	// prices and multiples remember what is asked of a value again and again.
	prices    map[priced]int
	fields    map[*ir.Op][]*ir.Op // see Fields
	multiples map[*ir.Value]int64
}

// Use is one operand of an operation.
type Use struct {
	Op  *ir.Op
	Arg int
}

// Decide decides what a block of a kernel does, whose axes have extents. It fails where the settings or the extents are none
// that a block of the target can have.
func Decide(f *ir.Func, s Settings, t target.Machine) (*Program, error) {
	unserved := map[*ir.Op]bool{}
	for {
		p, err := attempt(f, s, t, unserved)
		if err != nil {
			return nil, err
		}
		x := p.servedBehindMeeting()
		if x == nil {
			return p, nil
		}
		unserved[x.Op] = true
	}
}

// attempt is Decide where no producer serves some loops.
func attempt(f *ir.Func, s Settings, t target.Machine, unserved map[*ir.Op]bool) (*Program, error) {
	p := newProgram(s, t)
	p.unserved = unserved
	if err := p.of(f); err != nil {
		return nil, err
	}
	p.goByWords()
	for again := true; again; again = p.roundBoxes() {
		p.assign()
		for _, c := range p.Products {
			c.Tiles = [2]*Tile{p.operandTile(c, 0), p.operandTile(c, 1)}
		}
		p.runAhead()
	}
	p.groupSteps()
	p.rollSteps()
	p.divide()
	p.copyRows()
	p.grid()
	p.storeByBoxes()
	p.goThroughTiles()
	p.copyInParts()
	p.goThroughRows()
	p.stagger()
	p.donate()
	p.overlapProducts()
	p.loadByBoxes()
	p.findPhases()
	p.deferReductions()
	p.findMoments()
	if p.Tiles == nil { // a block that stays does not know at its start where its tiles are
		p.computeAhead()
		p.loadConstants()
		p.prefetch()
		p.loadEarly()
		p.askSoon()
	}
	p.copyEarly()
	p.bringOperands()
	p.copyOperands()
	p.loadFirst()
	p.computeLate()
	p.storeInParts()
	p.makePrivate()
	p.schedule()
	return p, nil
}

// newProgram is a program of which nothing is decided but the settings.
func newProgram(s Settings, t target.Machine) *Program {
	return &Program{
		Settings: s, Target: t, refused: map[*ir.Op]bool{}, Homes: map[*ir.Value]layout.Layout{}, Products: map[*ir.Op]*Product{},
		Pipelines: map[*ir.Op]*Pipeline{}, Stores: map[*ir.Op]*BoxStore{}, Hinted: map[*ir.Op]string{}, Quotients: map[*ir.Op]int{},
		Late: map[*ir.Op]*ir.Op{}, RowCopies: map[*ir.Op][]*RowCopy{}, First: map[*ir.Op][]*ir.Op{}, Loads: map[*ir.Op]*BoxLoad{},
		Phases: map[*ir.Op]*Phase{}, Deferred: map[*ir.Op][]*Deferral{}, Moments: map[*ir.Op]*Moments{}, Uses: map[*ir.Value][]Use{}, loops: map[*ir.Axis][]*ir.Op{},
		prices: map[priced]int{}, multiples: map[*ir.Value]int64{},
	}
}

// of gives the program its kernel, and notes where the kernel uses what. It fails where no block of the target can have the settings or the
// extents.
func (p *Program) of(f *ir.Func) error {
	if p.Warps < 1 || p.Warps > p.Target.WarpsPerBlock {
		return fmt.Errorf("plan has %d warps, a block has 1 to %d", p.Warps, p.Target.WarpsPerBlock)
	}
	for _, a := range f.Axes {
		if a.Extent <= 0 && !(a.Kind == ir.Whole && a.Len == 0) {
			return fmt.Errorf("axis %s has no extent; apply the plan first", a.Name)
		}
	}
	p.Func, p.Split, p.revisited = f, splitOver(f), revisited(f)
	f.Walk(func(op *ir.Op) bool {
		for i, v := range op.Args {
			p.Uses[v] = append(p.Uses[v], Use{op, i})
		}
		p.multiplies = p.multiplies || op.Code.Row().Group == lang.GroupContract
		if op.Code == lang.OpFor && op.Axis != nil {
			p.loops[op.Axis] = append(p.loops[op.Axis], op)
		}
		return true
	})
	return nil
}

// grid decides how the blocks are numbered, and which of them have code of their own.
func (p *Program) grid() {
	axes := p.Func.Grid()
	last := len(axes) - 1
	p.LongestFirst = p.longestFirst()
	p.Grouped = len(p.Products) > 0 && last > 0 && !axes[last].Scalar && !axes[last-1].Scalar
	p.Along = p.along()
	if len(p.Products) > 0 {
		return
	}
	for _, x := range axes {
		if p.Ragged(x) {
			p.RaggedGrid = append(p.RaggedGrid, x)
		}
	}
}

// Threads is the threads of a block.
func (p *Program) Threads() int {
	return (p.Warps*p.Teams() + p.producers()) * layout.Lanes
}

// ByWarpgroups reports products, each of them by wgmma: their blocks keep to the registers that the plan counts on.
func (p *Program) ByWarpgroups() bool {
	for _, c := range p.Products {
		if !c.Wgmma {
			return false
		}
	}
	return len(p.Products) > 0
}

// ClusterSize is how many blocks of the launch form a cluster.
func (p *Program) ClusterSize() int { return max(p.Cluster, p.Split) }

// splitOver finds over how many blocks loops are divided; 0 for none.
func splitOver(f *ir.Func) int {
	n := int64(0)
	f.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpFor && op.Axis != nil && op.Axis.Split > 1 {
			n = max(n, op.Axis.Split)
		}
		return true
	})
	return int(n)
}
