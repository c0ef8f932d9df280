// Package ptx makes PTX text of tile IR. A tile becomes an array of registers in each thread; a layout says which elements those
// are. What is to be done is decided first (jit/block); this package writes it in instructions.
package ptx

import (
	"fmt"
	"hash/fnv"
	"strings"

	"tilec/jit/block"
	"tilec/jit/bug"
	"tilec/jit/ir"
	"tilec/jit/plan"
	"tilec/jit/ptx/asm"
	"tilec/jit/target"
)

// Module is one compiled kernel.
type Module struct {
	// Text is the PTX, with one entry named Entry.
	Text  string
	Entry string
	// Threads is the size of a thread block; Shared its dynamic shared memory, in bytes.
	Threads, Shared int
	// Cluster is the blocks of a cluster, and Split over how many of them an axis is divided; 0 or 1 for none.
	Cluster, Split int
	// ForOne is how many blocks are launched for one of the grid; 0 or 1 for one.
	ForOne int
	// Most is how many blocks a launch has at most, of blocks that go through the tiles of the grid; 0 where each has one.
	Most int
	// Scratch is the scratch memory of a block, in bytes.
	Scratch int64
	// Buffers is what takes the shared memory where it is fullest, a line each.
	Buffers []string
	// Hinted says what became of the hint of an access.
	Hinted map[*ir.Op]string
	// Grid is the axes that the launch walks. The launch is one-dimensional, of Blocks blocks.
	Grid []*ir.Axis
	// Params is the launch interface, in order: that of Func.Params.
	Params []ir.Param
	// Once are the tensors that the launch reads once. Copies by the tensor memory accelerator say so to the L2 themselves, of what threads load the launch has to.
	Once []*ir.Tensor
	// Maps are the parameters behind those.
	Maps []*block.TensorMap
}

// Blocks is the number of thread blocks of a launch, given the sizes of the dimensions.
func (m *Module) Blocks(size func(*ir.Dim) int64) int64 {
	n := int64(1)
	for _, blocks := range ir.Blocks(m.Grid, func(d *ir.Dim) int64 {
		if d.Known() {
			return d.Value
		}
		return size(d)
	}) {
		n *= blocks
	}
	return m.launched(n)
}

// launched is the thread blocks for the blocks of a grid.
func (m *Module) launched(n int64) int64 {
	if m.Most > 0 {
		c := int64(max(m.Cluster, 1))
		return min((n+c-1)/c*c, int64(m.Most)/c*c)
	}
	if m.ForOne > 1 {
		return n * int64(m.ForOne)
	}
	if c := int64(m.Cluster); c > 1 { // a cluster is launched whole; blocks beyond the last do nothing
		n = (n + c - 1) / c * c
	}
	return n
}

// ScratchShare is the scratch memory that a launch over a number of blocks of the grid needs, in bytes, and how many
// thread blocks it has room for at once: whole clusters, as many as limit bytes hold and one at least.
func (m *Module) ScratchShare(blocks, limit int64) (bytes, atOnce int64) {
	if m.Scratch == 0 {
		return 0, 0
	}
	group := int64(max(m.Cluster, m.Split, 1))
	atOnce = max(min(m.launched(blocks), limit/m.Scratch)/group*group, group)
	return atOnce * m.Scratch, atOnce
}

// failure carries an error out of the lowering to Compile.
type failure struct{ err error }

func failf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// Compile lowers a kernel whose axes have extents (Plan.Apply) to PTX for a
// target. It fails when the plan does not fit the target, naming what takes the room; what fails
// for another reason is a *bug.Error.
func Compile(f *ir.Func, p *plan.Plan, t target.Machine) (m *Module, err error) {
	defer caught(f, t, &m, &err)
	mustTakePTX(t)
	decided, err := Decide(f, p, t)
	if err != nil {
		panic(failure{err})
	}
	return written(decided, fmt.Sprint("plan ", p)), nil
}

// Write makes PTX of a block program, such as block.ParseAll reads: nothing is decided anew. It fails as Compile does.
func Write(p *block.Program) (m *Module, err error) {
	defer caught(p.Func, p.Target, &m, &err)
	mustTakePTX(p.Target)
	return written(p, "of a block program"), nil
}

// caught makes of a panic the error of a kernel that could not be compiled.
func caught(f *ir.Func, t target.Machine, m **Module, err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*m, *err = nil, fmt.Errorf("kernel %s for %s: %w", f.Name, t.Name, r.err)
	default:
		b := bug.Recovered("ptx", r)
		*m, *err = nil, b
		if b.Kernel == "" && f != nil {
			b.Kernel = f.Name
		}
	}
}

func mustTakePTX(t target.Machine) {
	if !t.TakesPTX() {
		failf("target %s has no PTX backend: it needs compute capability %s or more", t.Name, target.GPUs()[0].ComputeCapability())
	}
}

// written is the module of a block program; from says in it what it is made of.
func written(decided *block.Program, from string) *Module {
	k := newKernel(decided, from)
	k.lower()
	k.checkShared()
	// A block program that waits wrongly would hang or give other numbers: here it is an error that names the act.
	if err := k.Verify(); err != nil {
		panic(err)
	}
	// Looking costs far less than the assembler, and turns wrong code into an error that names the instruction.
	if err := k.a.Check(k.producer); err != nil {
		panic(err)
	}
	return k.module()
}

// Decide decides what Compile makes instructions of.
func Decide(f *ir.Func, p *plan.Plan, t target.Machine) (*block.Program, error) {
	return block.Decide(expandTopK(f, p.Forms["selection"]), block.Settings{
		Warps: p.Warps, Stages: p.Stages, Cluster: p.Cluster, Producer: p.Producer, Persist: p.Persist, Resident: max(p.Resident, p.Occupancy), Occupancy: p.Occupancy,
		Wgmma: p.Wgmma, MostPrivate: p.Private, Forms: p.Forms, Once: p.Once,
	}, t)
}

// identifier makes a PTX identifier of a name of the language. Different names
// give different identifiers: one that has to be changed gets a hash of the whole.
func identifier(name string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, name)
	if plain == name && (name == "" || name[0] < '0' || name[0] > '9') {
		return name
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return fmt.Sprintf("k_%s_%08x", plain, h.Sum32())
}

// param is a launch parameter in PTX.
func param(p ir.Param) asm.Param {
	named := func(kind, name string) asm.Symbol { return asm.Symbol(kind + "_" + identifier(name)) }
	switch p.Kind {
	case ir.ParamPointer:
		return asm.Param{Type: ".u64", Name: named("ptr", p.Tensor.Name)}
	case ir.ParamDebug:
		return asm.Param{Type: ".u64", Name: "debug"}
	case ir.ParamScratch:
		return asm.Param{Type: ".u64", Name: "scratch"}
	case ir.ParamTimes:
		return asm.Param{Type: ".u64", Name: "times"}
	case ir.ParamFirst:
		return asm.Param{Type: ".u32", Name: "first"}
	case ir.ParamDim:
		if p.Dim.Wide {
			return asm.Param{Type: ".u64", Name: named("dim", p.Dim.Name)}
		}
		return asm.Param{Type: ".u32", Name: named("dim", p.Dim.Name)}
	case ir.ParamStride:
		return asm.Param{Type: ".u64", Name: named("stride", p.Dim.Name)}
	}
	name := named("arg", p.Scalar.Name) + asm.Symbol(fmt.Sprintf("_%d", p.Scalar.ID))
	d := p.Scalar.Type.DType
	kind := ".u"
	switch {
	case d.Size() == 1:
	case d.Bits() == 16:
		kind = ".b"
	case d.IsFloat():
		kind = ".f"
	case d.IsSigned():
		kind = ".s"
	}
	return asm.Param{Type: fmt.Sprintf("%s%d", kind, 8*d.Size()), Name: name}
}

// argument loads a launch parameter of 32 or 64 bits, for the entry section.
func (k *kernel) argument(p ir.Param) asm.Reg {
	x, c := param(p), asm.B32
	if x.Type == ".u64" {
		c = asm.B64
	}
	return k.a.Op(c, "ld.param"+x.Type, asm.At(x.Name))
}

// Of sets what a module has of its kernel and of its plan, which names the tensors that the launch reads once: a module whose code was kept
// has that anew.
func (m *Module) Of(f *ir.Func, once []string) {
	m.Scratch, m.Grid, m.Params = f.ScratchBytes(), f.Grid(), f.Params()
	for _, name := range once {
		m.Once = append(m.Once, f.Tensor(name))
	}
}

// module prints what was lowered.
func (k *kernel) module() *Module {
	m := &Module{
		Entry: identifier(k.Func.Name), Threads: k.Threads(), Shared: k.arena.Peak,
		Cluster: k.ClusterSize(), Split: k.Split, ForOne: k.ForOne(), Buffers: k.arena.names, Hinted: k.hinted,
		Maps: k.Maps,
	}
	m.Of(k.Func, k.Once)
	text := asm.Kernel{
		About: []string{k.Func.Name, k.from}, Target: k.Target.Name, Name: m.Entry,
		Threads: m.Threads, Occupancy: k.Occupancy, Cluster: m.Cluster,
	}
	if k.Occupancy == 0 && (k.ByWarpgroups() || len(k.Products) == 0) {
		text.Occupancy = k.Resident
	}
	if n := k.RegistersFor(); k.Occupancy == 0 && n > 0 {
		text.Occupancy = n
	}
	if k.Tiles != nil {
		m.Most = k.Tiles.Blocks
		text.Occupancy = max(text.Occupancy, k.Tiles.Resident)
	}
	if m.Shared > 0 {
		text.Shared = sharedName
	}
	for _, p := range m.Params {
		text.Params = append(text.Params, param(p))
	}
	for _, t := range m.Maps {
		text.Params = append(text.Params, asm.Param{Name: asm.Symbol(t.Name)})
	}
	m.Text = k.a.Module(text, k.producer)
	return m
}
