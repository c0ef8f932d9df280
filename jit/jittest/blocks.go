package jittest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"tilec/jit/backend"
	"tilec/jit/backend/cpu"
	"tilec/jit/block"
	"tilec/jit/block/interp"
	"tilec/jit/ir"
	"tilec/jit/ptx"
	"tilec/jit/target"
	"tilec/lang"
)

// Blocks is a device that runs kernels twice, as planned for a GPU: their tile IR on the CPU, and their block programs in the interpreter
// (jit/block/interp), as they read back from their text. A launch whose results differ by more than their arithmetic may, or in which the interpreter finds something wrong,
// fails. What is read afterwards is what the CPU has made, or the interpreter of what the CPU cannot run.
type Blocks struct {
	*cpu.Device
	machine target.Machine
	// Most is how many blocks a launch has at most that is interpreted, 0 for any number.
	Most int64
	// Every is one of how many launches is interpreted, 0 for all: of the others, the block programs are verified, and one of readBackEvery is read back.
	Every int

	compiled    atomic.Int64
	mu          sync.Mutex
	launches    int
	interpreted int
	left        map[string]int
}

// mostBlocks keeps a launch to a second or so.
const mostBlocks = 300

// readBackEvery is of how many programs one is read from its text, where not all launches are interpreted.
const readBackEvery = 4

// NewBlocks is such a device for a machine.
func NewBlocks(machine target.Machine) *Blocks {
	return &Blocks{Device: cpu.Open(), machine: machine, Most: mostBlocks, left: map[string]int{}}
}

// Interpreted is how many launches were interpreted, and why others were not, with how many.
func (d *Blocks) Interpreted() (launches int, left map[string]int) { return d.interpreted, d.left }

// Target is the machine that kernels are planned for.
func (d *Blocks) Target() target.Machine { return d.machine }

// Name and ID say what the device is.
func (d *Blocks) Name() string { return "interpreter of block programs" }

// ID is "blocks".
func (d *Blocks) ID() string { return "blocks" }

// Compile decides the kernel's block program, and compiles its tile IR for the CPU.
func (d *Blocks) Compile(c *backend.Code, t backend.Tools) (backend.Executable, error) {
	p, err := ptx.Decide(c.Func, c.Plan, d.machine)
	if err != nil {
		return nil, err
	}
	if err := p.Verify(); err != nil {
		return nil, fmt.Errorf("the block program of %s is wrong: %w", c.Func.Name, err)
	}
	// Where some launches are interpreted, some programs are read from their text: as many kinds as there are are met anyway.
	if n := d.compiled.Add(1); d.Every <= 1 || n%readBackEvery == 0 {
		if p, err = ReadBack(p); err != nil {
			return nil, err
		}
	}
	k := &blockKernel{device: d, program: p, f: c.Func, params: c.Func.Params()}
	// To the CPU, rows in shared memory are scratch memory as any other.
	onCPU := *c
	onCPU.Func = ir.Clone(c.Func)
	for _, x := range onCPU.Func.Tensors {
		x.Shared = false
	}
	k.more = len(onCPU.Func.Params()) - len(k.params)
	k.cpu, k.refused = d.Device.Compile(&onCPU, t)
	return k, nil
}

type blockKernel struct {
	device  *Blocks
	program *block.Program
	f       *ir.Func
	params  []ir.Param
	cpu     backend.Executable
	refused error // by the CPU
	more    int   // parameters that the CPU's form has
}

// Scratch is none: each block that is interpreted has its own, and each worker of the CPU.
func (k *blockKernel) Scratch(int64) (bytes, atOnce int64) { return 0, 0 }

// Launch runs the kernel twice.
func (k *blockKernel) Launch(ctx context.Context, args []backend.Arg) error {
	sizes, _ := backend.Fixed(k.params, args)
	dims := map[string]*ir.Dim{} // those of the program have the names of the kernel's
	for _, p := range k.params {
		if p.Dim != nil {
			dims[p.Dim.Name] = p.Dim
		}
	}
	sizeOf := func(d *ir.Dim) int64 { return sizes(dims[d.Name]) }
	of := interp.Args{Tensors: map[*ir.Tensor][]byte{}, Scalars: map[*ir.Value]uint64{}, Size: sizeOf}
	type copied struct {
		t           *ir.Tensor
		mine, other []byte // of the interpreter, and of the CPU
	}
	var tensors []copied
	names := map[string]*ir.Tensor{}
	for _, t := range k.program.Func.Tensors {
		names[t.Name] = t
	}
	n := 0
	for i, p := range k.params {
		switch p.Kind {
		case ir.ParamPointer:
			data := args[i].Memory.Bytes()[args[i].Offset:][:span(p.Tensor, sizes)]
			c := copied{names[p.Tensor.Name], append([]byte(nil), data...), data}
			of.Tensors[c.t] = c.mine
			tensors = append(tensors, c)
		case ir.ParamScalar:
			of.Scalars[k.program.Func.Scalars[n]] = args[i].Bits
			n++
		}
	}
	of.Most = k.device.Most
	var why error
	if k.device.passes() && k.refused == nil {
		why = errPassed
	} else {
		why = interp.Run(k.program, of, k.device.order())
		k.device.note(why)
	}
	var unsupported *interp.UnsupportedError
	switch {
	case why != nil && !errors.As(why, &unsupported):
		return fmt.Errorf("the interpreter of block programs found: %w", why)
	case why != nil && k.refused != nil:
		return fmt.Errorf("neither the CPU nor the interpreter runs it: %w, %w", k.refused, why)
	case k.refused != nil:
		for _, c := range tensors {
			copy(c.other, c.mine)
		}
		return nil
	}
	if err := k.cpu.Launch(ctx, append(args[:len(args):len(args)], make([]backend.Arg, k.more)...)); err != nil || why != nil {
		return err
	}
	for _, c := range tensors {
		if c.t.Mode != lang.In {
			if err := k.compare(c.t, c.other, c.mine); err != nil {
				return err
			}
		}
	}
	return nil
}

// errPassed is why a launch is not interpreted that is none of those.
var errPassed = &interp.UnsupportedError{What: "a launch that is not one of so many"}

// passes counts a launch, and reports one that is not to be interpreted.
func (d *Blocks) passes() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.launches++
	return d.Every > 1 && d.launches%d.Every != 0
}

// span is how many bytes lie from the first element of a tensor to behind its last one.
func span(t *ir.Tensor, sizes func(*ir.Dim) int64) int64 {
	of := func(d *ir.Dim) int64 {
		if d.Known() {
			return d.Value
		}
		return sizes(d)
	}
	last, step := int64(0), int64(1)
	for i := len(t.Shape) - 1; i >= 0; i-- {
		n := of(t.Shape[i])
		if n == 0 {
			return 0
		}
		if t.Strides != nil {
			step = of(t.Strides[i])
		}
		last += (n - 1) * step
		step *= n
	}
	return t.DType.Bytes(last + 1)
}

// order is the order of processes of the next launch: each of several in turn.
func (d *Blocks) order() interp.Order {
	d.mu.Lock()
	defer d.mu.Unlock()
	const several = 4
	return interp.Order(d.interpreted % several)
}

// note counts a launch.
func (d *Blocks) note(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var unsupported *interp.UnsupportedError
	if errors.As(err, &unsupported) {
		d.left[unsupported.What]++
	} else {
		d.interpreted++
	}
}

// compare compares what the CPU and the interpreter have made of a tensor: bit by bit where the kernel does nothing but what is exact
// or rounded once, else within what the order and the precision of sums may change.
func (k *blockKernel) compare(t *ir.Tensor, want, got []byte) error {
	d := t.DType
	n := d.Elements(int64(len(want)))
	if k.exact() || !d.IsFloat() {
		for i := range n {
			if a, b := d.RawBitsAt(want, i), d.RawBitsAt(got, i); a != b && !(math.IsNaN(d.ElementAt(want, i)) && math.IsNaN(d.ElementAt(got, i))) {
				return fmt.Errorf("the interpreter of block programs makes element %d of %s the bits %#x, the tile IR %#x", i, t.Name, b, a)
			}
		}
		return nil
	}
	largest := 0.0
	for i := range n {
		if x := math.Abs(d.ElementAt(want, i)); !math.IsInf(x, 0) && x > largest {
			largest = x
		}
	}
	unit := math.Ldexp(1, -min(d.Precision(), 24)+2) + k.precision()
	for i := range n {
		a, b := d.ElementAt(want, i), d.ElementAt(got, i)
		if a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= unit*largest {
			continue
		}
		return fmt.Errorf("the interpreter of block programs makes element %d of %s %v, the tile IR %v, of up to %v", i, t.Name, b, a, largest)
	}
	return nil
}

// precision is the relative error of the kernel's inner results beside those that it stores.
func (k *blockKernel) precision() float64 {
	worst := math.Ldexp(1, -18)
	k.f.Walk(func(op *ir.Op) bool {
		for _, v := range op.Results {
			if d := v.Type.DType; d.IsFloat() && d != lang.F32 && d != lang.F64 {
				worst = max(worst, math.Ldexp(1, 2-d.Precision()))
			}
		}
		if op.Code.Row().Group == lang.GroupContract && op.Args[0].Type.DType == lang.F32 {
			worst = max(worst, math.Ldexp(1, -8)) // tf32
		}
		return true
	})
	return worst
}

// exact reports a kernel whose results no order of operations changes: operations that are exact or rounded once, and no sums of
// floats.
func (k *blockKernel) exact() bool {
	exact := true
	k.f.Walk(func(op *ir.Op) bool {
		row := op.Code.Row()
		float := false
		for _, v := range op.Results {
			float = float || v.Type.DType.IsFloat()
		}
		switch {
		case !float:
		case row.Ulp > 0 || op.Coarse || op.Code == lang.OpDiv || op.Code == lang.OpMod || op.Code == lang.OpFloorDiv || op.Code == lang.OpPow:
			exact = false
		case op.Code == lang.OpSum, op.Code == lang.OpMean, op.Code == lang.OpProd, row.Group == lang.GroupContract, op.Combines(), op.Code == lang.OpJoin:
			exact = false
		}
		return true
	})
	return exact
}
