package block

import (
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/target"
	"tilec/lang"
)

// This file decides what a block loads before the launches before it have ended: constants, as the weights, which in a step
// of decoding are nearly all that is read.

// Dependent reports a kernel that may begin before what it reads is there, on a machine that has such launches.
func (p *Program) Dependent() bool { return p.Func.Dependent && p.Target.Has(target.DependentLaunch) }

// Constant is a load of constants ahead of the wait for the launches before. Each thread copies its own elements to shared
// memory of its own: so many neighbours at once for each group of registers.
type Constant struct {
	Load   *ir.Op
	Groups [][]int
	// Vector is the neighbours that make a group, and GroupBytes their size.
	Vector, GroupBytes int
}

// Bytes is the shared memory that a block needs for the load.
func (c *Constant) Bytes(p *Program) int {
	return len(c.Groups) * c.GroupBytes * p.Warps * layout.Lanes
}

// constantsLimit is the shared memory of a block for constants, in bytes: two such blocks share a multiprocessor.
const constantsLimit = 100 << 10

// loadConstants finds the constants that the kernel loads outside of loops and branches, by addresses that it knows at its start.
func (p *Program) loadConstants() {
	if !p.Dependent() || !p.Target.Has(target.CpAsync) {
		return
	}
	total := 0
	for _, op := range p.Func.Body.Ops {
		if op.Code != lang.OpLoad || !op.Tensor.Constant || op.Else() != nil || op.Result().Type.IsScalar() || op.Tensor.DType.Packed() || p.OnDemand(op) {
			continue
		}
		dims, ok := p.Access(op), true
		for _, d := range dims {
			ok = ok && !d.Gather
			for _, s := range d.Affine.Scalars {
				ok = ok && p.early(s.Value)
			}
		}
		if !ok {
			continue
		}
		x, l := Contiguous(dims), p.Homes[op.Result()]
		c := &Constant{Load: op}
		c.Groups, c.Vector = l.Groups(x, l.Aligned(x, p.Vector(op.Tensor, dims, x)))
		c.GroupBytes = c.Vector * op.Tensor.DType.Size()
		if c.GroupBytes < 4 || total+c.Bytes(p) > constantsLimit { // cp.async moves 4, 8 or 16 bytes
			continue
		}
		total += c.Bytes(p)
		p.Constants = append(p.Constants, c)
	}
}
