package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/target"
	"tilec/lang"
)

// This file decides what a block loads before the launches before it have ended: constants, as the weights, which in a step
// of decoding are nearly all that is read.

// Dependent reports a kernel that may begin before what it reads is there, on a machine that has such launches.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (p *Program) Dependent() bool { return p.Func.Dependent && p.Target.Has(target.DependentLaunch) }

// Constant is a load of constants ahead of the wait for the launches before. Each thread copies its own elements to shared
// memory of its own: so many neighbours at once for each group of registers. The operand of a product goes to its tile.
type Constant struct {
	Load   *ir.Op
	Groups [][]int
	// Vector is the neighbours that make a group, and GroupBytes their size.
	Vector, GroupBytes int
	// Tile is where the operand of a product lies, and Layout that in which threads copy it; Tile is nil for other constants.
	Tile   *Tile
	Layout layout.Layout
	// Shared: blocks that stand elsewhere along an axis of the grid load the same elements, as the gains of a norm. Their copies go through the L1, for all
	// would ask the L2 for a few lines: a batch norm of 200,704 rows of 256 elements took 1,133 us on an H200, and 117 since.
	Shared bool
	// Handed: threads have all of the tile in registers before the wait, and the product's other operand takes its place in shared memory.
	Handed bool
	// Rounds is in how many groups a thread makes its copies of a tile, of which two are under way at a time.
	Rounds int
}

// constantRounds is the number of Rounds. A launch asks for its weights while another, which has just been released, reads the little that it waited for.
// Where a block asks for 50 to 100 KB at once, that other one's first loads stand behind them: with rounds a step of GPT-2 of 124M took 139.1 us on an
// H200 and not 142.7, and one of 355M 295.9 and not 313.3. With fewer bytes under way (16 KB a block) 124M took as long, and 355M 350 us.
const constantRounds = 4

// ThroughRegisters reports a load of groups that are smaller than what cp.async copies: a thread loads and stores them. That is worth its while where
// products wait for them, as for the gains of a norm before them and the bias behind.
func (c *Constant) ThroughRegisters() bool { return c.GroupBytes < leastCopy }

// leastCopy is how many bytes cp.async copies at least, and mostThroughRegisters how many smaller groups a thread loads and stores itself.
const leastCopy, mostThroughRegisters = 4, 4

// Bytes is the shared memory that a block needs for the load.
func (c *Constant) Bytes(p *Program) int {
	if c.Tile != nil {
		return c.Tile.Bytes()
	}
	return len(c.Groups) * c.GroupBytes * p.Warps * layout.Lanes
}

// constantsLimit is the shared memory of a block for constants, in bytes: such a block shares a multiprocessor with one that has half as much, as the launch
// before may have, and constants of up to 100 KB leave room for two.
const constantsLimit = 136 << 10

// roomForConstants is how many bytes constants may take: what the stages of loops leave to each of the blocks that the plan counts on.
func (p *Program) roomForConstants() int {
	if p.Resident == 0 {
		return constantsLimit
	}
	left := int(p.Target.SharedShare(p.Resident)) - besideStages
	for _, x := range p.Pipelines {
		for _, c := range x.Copies {
			left -= c.Tile.Bytes() * x.Stages
		}
	}
	return min(left, constantsLimit)
}

// besideStages is how many bytes of shared memory a block may need beside its stages and constants.
const besideStages = 2 << 10

// loadConstants finds the constants that the kernel loads outside of loops and branches, by addresses that it knows at its start.
func (p *Program) loadConstants() {
	if !p.Dependent() || !p.Target.Has(target.CpAsync) {
		return
	}
	total, limit := 0, p.roomForConstants()
	for _, op := range p.Func.Body.Ops {
		if op.Code != lang.OpLoad || !op.Tensor.Constant || op.Else() != nil || op.Result().Type.IsScalar() || op.Tensor.DType.Packed() {
			continue
		}
		dims := p.Access(op)
		if !p.knownAtStart(dims) || slices.ContainsFunc(dims, p.byAhead) {
			continue
		}
		c := p.constant(op, dims)
		if c != nil && c.Tile == nil {
			c.Shared = slices.ContainsFunc(p.Func.Grid(), func(a *ir.Axis) bool {
				return !slices.ContainsFunc(op.Indices(), func(v *ir.Value) bool { return dependsOnPlace(v, a) })
			})
		}
		if c == nil || c.ThroughRegisters() && (c.Tile != nil || len(c.Groups) > mostThroughRegisters || len(p.Products) == 0) || total+c.Bytes(p) > limit {
			continue
		}
		total += c.Bytes(p)
		p.Constants = append(p.Constants, c)
	}
	for _, c := range p.Constants {
		c.Handed = c.Tile != nil && p.handsOver(c)
	}
}

// constant says how a load of constants is done ahead; nil where it cannot be, since it is done where its elements are used.
func (p *Program) constant(op *ir.Op, dims []DimAccess) *Constant {
	x, v := Contiguous(dims), op.Result()
	vector := p.Vector(op.Tensor, dims, x)
	c := &Constant{Load: op}
	if p.OnDemand(op) {
		if c.Tile = p.onlyOperand(v); c.Tile == nil || c.Tile.Contiguous() != x {
			return nil
		}
		c.Vector, c.Rounds = min(vector, c.Tile.Vector()), constantRounds
		c.Layout = p.CopyLayout(c.Tile, c.Vector)
	} else {
		l := p.Homes[v]
		c.Groups, c.Vector = l.Groups(x, l.Aligned(x, vector))
	}
	c.GroupBytes = c.Vector * op.Tensor.DType.Size()
	return c
}

// RegistersAhead is how many registers a thread has for operands that are read before the launches before have ended. Launches that
// wait take the place of those to come.
const RegistersAhead = 128

// A thread that has up to fewAhead registers of operands while it waits, for one row, makes do with registersBehind more, or with leastRegisters in all. With more,
// blocks of the launches to come find no room beside those that wait, and the assembler takes some more where nothing is asked: on an H100 a step of
// GPT-2 of 355M, whose first half of the inner layer has 32 registers of weights ahead, takes 304 us with 64 in all and 338 with 72.
const fewAhead, registersBehind, leastRegisters = 48, 32, 64

// RegistersFor is for how many blocks of a launch that begins while others run the assembler is to leave registers on a multiprocessor; 0 where nothing is asked.
func (p *Program) RegistersFor() int {
	ahead := 0
	for _, c := range p.Constants {
		if c.Tile == nil {
			continue
		}
		u := p.Uses[c.Load.Result()][0]
		for _, row := range ir.Without(u.Op.Args[1-u.Arg].Type.Axes, u.Op.Over) {
			if row.Extent > 1 {
				return 0
			}
		}
		ahead += p.Products[u.Op].FragmentRegisters(u.Arg)
	}
	if ahead == 0 || ahead > fewAhead || len(p.loops) > 0 {
		return 0
	}
	return p.Target.RegistersPerSM / (max(ahead+registersBehind, leastRegisters) * p.Threads())
}

// handsOver reports an operand of one product that threads have in registers before the wait for the launches before, as a whole, and whose tile has
// room for the product's other one, which comes behind the wait. A small one has room of its own, and needs no barrier before it.
func (p *Program) handsOver(c *Constant) bool {
	u := p.Uses[c.Load.Result()][0]
	product, other := p.Products[u.Op], u.Op.Args[1-u.Arg]
	if slices.ContainsFunc(p.Constants, func(c *Constant) bool { return c.Load == other.Def }) {
		return false
	}
	into := product.Tiles[1-u.Arg]
	return into != nil && HandsOver(c.Tile.Bytes(), product.FragmentRegisters(u.Arg), into.Bytes())
}

// HandsOver reports that an operand of so many bytes, which are so many registers of a thread, hands its place over to another of so many bytes.
func HandsOver(bytes, registers, other int) bool {
	return other > mostByRegisters && other <= bytes && registers <= RegistersAhead
}

// onlyOperand is the tile of a value that is an operand of one product of warps, outside of loops and branches, and nothing
// else; nil of another.
func (p *Program) onlyOperand(v *ir.Value) *Tile {
	if len(p.Uses[v]) != 1 {
		return nil
	}
	u := p.Uses[v][0]
	c := p.Products[u.Op]
	if c == nil || c.MMA == nil || c.Wgmma || u.Arg > 1 || c.InShared(u.Arg) != v.Type.DType || !slices.Contains(p.Func.Body.Ops, u.Op) {
		return nil
	}
	if u.Arg == 1 && u.Op.Fn != nil { // what its function takes beside need not be there when this is
		return nil
	}
	return c.Tiles[u.Arg]
}
