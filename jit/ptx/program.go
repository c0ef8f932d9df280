package ptx

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
}

// Program is what one block of a kernel does, as far as it is decided before there is code.
type Program struct {
	f *ir.Func
	Settings
	target target.Machine

	// home is the layout in which each value is held.
	home map[*ir.Value]layout.Layout
	// products are the contractions, with their instructions and layouts.
	products map[*ir.Op]*Product
	// pipelines are the loops of which loads run ahead.
	pipelines map[*ir.Op]*Pipeline
	// producing: a warp beside those that compute does nothing but such copies.
	producing bool
	// stores are the stores that go through shared memory by the TMA.
	stores map[*ir.Op]*BoxStore
	// maps are the tensor maps of all boxes, in the order of their names.
	maps []*TensorMap

	// split is over how many blocks of a cluster axes are divided, 0 for none.
	split int
	// ragged are the axes of the grid whose last blocks may have fewer positions, where the other blocks have code of their own,
	// without masks. Products mask only outside their loops, so they have one code for all blocks.
	raggedGrid []*ir.Axis
	// grouped: the blocks along the last two axes of the grid are numbered so that those that run at the same time share rows
	// and columns of the operands of a product.
	grouped bool
	// revisited are the tensors that a loop may write at one place in several steps.
	revisited map[*ir.Tensor]bool
	// hinted says what became of the hints of the loads that run ahead.
	hinted map[*ir.Op]string

	uses  map[*ir.Value][]use
	loops map[*ir.Axis][]*ir.Op
	// prices and multiples remember what is asked of a value again and again.
	prices    map[priced]int
	multiples map[*ir.Value]int64
}

// use is one operand of an operation.
type use struct {
	op  *ir.Op
	arg int
}

// Decide decides what a block of a kernel does, whose axes have extents. It fails where the settings or the extents are none
// that a block of the target can have.
func Decide(f *ir.Func, s Settings, t target.Machine) (*Program, error) {
	if s.Warps < 1 || s.Warps > t.WarpsPerBlock {
		return nil, fmt.Errorf("plan has %d warps, a block has 1 to %d", s.Warps, t.WarpsPerBlock)
	}
	for _, a := range f.Axes {
		if a.Extent <= 0 && !(a.Kind == ir.Whole && a.Len == 0) {
			return nil, fmt.Errorf("axis %s has no extent; apply the plan first", a.Name)
		}
	}
	p := &Program{
		f: f, Settings: s, target: t, split: splitOver(f), revisited: revisited(f),
		home: map[*ir.Value]layout.Layout{}, products: map[*ir.Op]*Product{},
		pipelines: map[*ir.Op]*Pipeline{}, stores: map[*ir.Op]*BoxStore{}, hinted: map[*ir.Op]string{},
		uses: map[*ir.Value][]use{}, loops: map[*ir.Axis][]*ir.Op{},
		prices: map[priced]int{}, multiples: map[*ir.Value]int64{},
	}
	f.Walk(func(op *ir.Op) bool {
		for i, v := range op.Args {
			p.uses[v] = append(p.uses[v], use{op, i})
		}
		if op.Code == lang.OpFor && op.Axis != nil {
			p.loops[op.Axis] = append(p.loops[op.Axis], op)
		}
		return true
	})
	p.assign()
	for _, c := range p.products {
		c.tiles = [2]*Tile{p.operandTile(c, 0), p.operandTile(c, 1)}
	}
	p.grid()
	p.runAhead()
	p.storeByBoxes()
	return p, nil
}

// grid decides how the blocks are numbered, and which of them have code of their own.
func (p *Program) grid() {
	axes := p.f.Grid()
	last := len(axes) - 1
	p.grouped = len(p.products) > 0 && last > 0 && !axes[last].Scalar && !axes[last-1].Scalar
	if len(p.products) > 0 {
		return
	}
	for _, x := range axes {
		if p.ragged(x) {
			p.raggedGrid = append(p.raggedGrid, x)
		}
	}
}

// threads is the threads of a block.
func (p *Program) threads() int {
	if p.producing {
		return (p.Warps + 1) * layout.Lanes
	}
	return p.Warps * layout.Lanes
}

// clusterSize is how many blocks of the launch form a cluster.
func (p *Program) clusterSize() int { return max(p.Cluster, p.split) }

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
