package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/target"
	"tilec/lang"
)

// This file finds loops of two products, as attention's, in which the tensor cores need not wait for what a step computes between
// them: the first product of the next step depends on nothing of this step, so it is under way beside the last one of this step,
// while the warps compute what lies between the products of the next step.

// Overlap is how the products of a loop overlap. A step then is: what lies between its products; the first product of the next
// step; its own last product. A product is waited for where its result, or a register that it reads, is needed.
type Overlap struct {
	// First and Last are the products: First takes nothing that the loop computes, Last adds to what the loop carries.
	First, Last *Product
	// Carried is the number of what Last adds to among what the loop carries. Rescale is the operation by which the step changes
	// that before; nil where it does not.
	Carried int
	Rescale *ir.Op
	// Turns: the two warpgroups take turns: while one starts products, the other computes what lies between.
	Turns bool
}

// The forms of `overlap`.
const (
	awaited = iota + 1
	overlapped
	inTurns
)

// overlapProducts decides which loops overlap their products, with the copies that a producer does.
func (p *Program) overlapProducts() {
	for op, x := range p.Pipelines {
		o := p.newOverlap(x)
		if o == nil {
			continue
		}
		best := int64(overlapped)
		if o.registers()+RegistersBeside > p.registers() {
			best = awaited
		}
		if form := p.asks("overlap", best); form != awaited {
			o.Turns = form == inTurns && p.Warps == 2*groupWarps
			x.Overlap = o
			p.Pipelines[op] = x
		}
	}
}

// RegistersBeside is how many registers a thread needs beside those of the products: for what it carries, addresses, and what it is
// about to compute. With fewer, the assembler makes products wait for each other (seen: with 168 in all, 128 of products; 112 fit).
const RegistersBeside = 48

// registers is how many registers of a thread the products take while both are under way.
func (o *Overlap) registers() int {
	return o.First.Result.Regs() + o.Last.Result.Regs() + o.Last.FragmentLayout(o.Last.A).Regs()*o.Last.Element(o.Last.A).Size()/4
}

// registers is how many registers a thread that computes may have, where as many blocks share the multiprocessor as the plan counts on.
func (p *Program) registers() int {
	if p.Donation != nil {
		return p.Donation.Consumer
	}
	return p.Target.RegistersShare(max(p.Resident, 1), p.Threads()/layout.Lanes)
}

// RegistersBesideProducer is how many registers a thread has in a block of so many warps that compute and a producer of so many, 0 where
// the number is not pinned, where so many blocks share a multiprocessor.
func RegistersBesideProducer(t target.Machine, warps, producer, resident int) int {
	p := &Program{Target: t, Settings: Settings{Warps: warps, Producer: producer, Resident: resident}, Producing: true}
	p.donate()
	return p.registers()
}

// newOverlap finds the products of a loop that overlap; nil where it has none.
func (p *Program) newOverlap(x *Pipeline) *Overlap {
	body := x.Op.Blocks[0]
	inside := values(body)
	o := &Overlap{}
	for _, op := range body.Ops {
		c := p.Products[op]
		switch {
		case len(op.Blocks) > 0 || op.Code == lang.OpJoin:
			return nil
		case c == nil:
		case !c.Wgmma || c.Parts > 1 || op.Result().Type.DType != c.MMA.Sum || !p.atHome(op.Result(), c):
			return nil
		case o.First == nil && op.Code == lang.OpDot:
			o.First = c
		case o.Last == nil && op.Code == lang.OpMma:
			o.Last = c
		default:
			return nil
		}
	}
	if !x.Produced || x.Overlapped || len(x.Copies) != 2 || o.First == nil || o.Last == nil || inside[o.First.Op.Args[o.First.A]] || p.dependsOn(o.First.Op.Args[o.First.A], inside) {
		return nil
	}
	for i, c := range []*Product{o.First, o.Last} {
		v := c.Op.Args[c.B]
		if v != x.Copies[i].Load.Result() || len(p.Uses[v]) != 1 {
			return nil
		}
	}
	// What Last multiplies is at hand in registers, and nothing but it changes what it adds to.
	left := o.Last.Op.Args[o.Last.A]
	if left.Def == nil || !p.PackedCast(left.Def) || !inside[left] || len(p.Uses[left]) != 1 {
		return nil
	}
	if _, ok := p.Homes[left.Def.Args[0]].Permutation(o.Last.FragmentLayout(o.Last.A), left.Type.Axes); !ok {
		return nil
	}
	sum := o.Last.Op.Args[2]
	if op := sum.Def; op != nil && inside[sum] {
		if !op.Code.Row().Elementwise || len(p.Uses[sum]) != 1 || p.Yields(sum) > 0 || p.OnDemand(op) || !p.atHome(sum, o.Last) {
			return nil
		}
		o.Rescale = op
		at := slices.IndexFunc(op.Args, func(v *ir.Value) bool { return slices.Contains(body.Params[1:], v) && v.Type.Same(sum.Type) })
		if at < 0 {
			return nil
		}
		sum = op.Args[at]
	}
	o.Carried = slices.Index(body.Params, sum) - 1
	result := o.Last.Op.Result()
	if o.Carried < 0 || len(p.Uses[sum]) != 1 || p.Yields(sum) > 0 || body.Yield[o.Carried] != result || len(p.Uses[result]) > 0 || p.Yields(result) != 1 || !p.atHome(sum, o.Last) {
		return nil
	}
	return o
}

// atHome reports a value that is held as a product leaves its result, register by register.
func (p *Program) atHome(v *ir.Value, c *Product) bool {
	from, ok := c.Result.Permutation(p.Homes[v], v.Type.Axes)
	for i, r := range from {
		ok = ok && i == r
	}
	return ok && len(from) == c.Result.Regs()
}

// dependsOn reports a value that is computed where it is used, from something in the set.
func (p *Program) dependsOn(v *ir.Value, set map[*ir.Value]bool) bool {
	if set[v] {
		return true
	}
	return v.Def != nil && p.OnDemand(v.Def) && slices.ContainsFunc(v.Def.Args, func(x *ir.Value) bool { return p.dependsOn(x, set) })
}
