package bench

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"tilec/jit"
	"tilec/jit/assembled"
	"tilec/jit/block"
	"tilec/jit/compile"
	"tilec/jit/graph"
	"tilec/jit/ptx"
	"tilec/jit/target"
	"tilec/typecheck/typed"
)

// This file looks at what the assembler makes of workloads, which needs no GPU.

// Figures are those of one launch's machine code that should not get worse. What should not be at all is 0 where all is well.
type Figures struct {
	// Name is the workload, and behind it the kernel where its formula became several launches.
	Name string `json:"name"`
	// Spilled is the bytes of a thread that are stored and loaded for want of registers, Warnings how many the assembler gave of products
	// that wait for one another, Missing how many blocks fewer share a multiprocessor than the plan reckons with.
	Spilled  int `json:"spilled,omitempty"`
	Warnings int `json:"warnings,omitempty"`
	Missing  int `json:"missing,omitempty"`
	// Barriers and Calls are those in loops with products on the matrix unit; a barrier counts if all warps wait at it.
	Barriers int `json:"barriers,omitempty"`
	Calls    int `json:"calls,omitempty"`
	// Fences are those in the same loops at which a thread waits until all of the GPU sees what it wrote.
	Fences int `json:"fences,omitempty"`
	// Idle is 1 where the plan has stages and no load runs ahead.
	Idle int `json:"idle,omitempty"`
	// Code is how many instructions the kernel has: what the assembler takes to make it, and the processor to fetch it.
	Code int `json:"code,omitempty"`
	// Instructions is what a warp executes for each of a Unit of work; not said where nothing is counted.
	Instructions float64 `json:"instructions,omitempty"`
	Unit         string  `json:"unit,omitempty"`
	// PTX stands for the text that was assembled, and the assembler: where both are those on record, so are the other figures.
	PTX string `json:"ptx,omitempty"`
	// Held says that the code is held to the plan's residency (plan.Plan.Resident), and nobody pins the plan: then nothing may be spilled,
	// warned of or missing, whatever is on record.
	Held bool `json:"-"`
}

// The units of work that instructions are counted for.
const (
	unitScore    = "score"              // a score of attention, in a thread
	unitElement  = "element"            // an element of a row, in a thread
	unitProducts = "1024 multiply-adds" // of a warp, on the matrix unit
)

// instructionSlack is by how much the instructions of a unit may be more than recorded, as the assembler's choice of order moves some; codeSlack is that of
// the whole code, which loops that are unrolled and edges that have code of their own make longer.
const instructionSlack, codeSlack = 1.03, 1.2

// Worse lists what is worse than in the figures that are on record.
func (f Figures) Worse(record Figures) (problems []string) {
	if f.Held {
		record.Spilled, record.Warnings, record.Missing = 0, 0, 0
	}
	for _, x := range []struct {
		is, was int
		what    string
	}{
		{f.Spilled, record.Spilled, "bytes of a thread are spilled"},
		{f.Warnings, record.Warnings, "warnings of the assembler"},
		{f.Missing, record.Missing, "blocks a multiprocessor are missing from the plan's residency"},
		{f.Barriers, record.Barriers, "barriers of the block stand in loops with products"},
		{f.Calls, record.Calls, "calls stand in loops with products"},
		{f.Fences, record.Fences, "fences of the whole GPU stand in loops with products"},
		{f.Idle, record.Idle, "plans have stages in which nothing runs ahead"},
	} {
		if x.is > x.was {
			problems = append(problems, fmt.Sprintf("%d %s, at most %d may be", x.is, x.what, x.was))
		}
	}
	if most := int(float64(record.Code) * codeSlack); record.Code > 0 && f.Code > most {
		problems = append(problems, fmt.Sprintf("the code is %d instructions, at most %d may be", f.Code, most))
	}
	if record.Instructions > 0 && f.Unit == record.Unit && f.Instructions > record.Instructions*instructionSlack {
		problems = append(problems, fmt.Sprintf("%.4g instructions for each %s, at most %.4g may be", f.Instructions, f.Unit, record.Instructions*instructionSlack))
	}
	return problems
}

// Launches are the launches of a workload, compiled for a target, as a program that only it is has them: copies of operands before it too.
func (w Workload) Launches(p *typed.Program, t target.Machine) ([]*compile.Lowered, error) {
	k, err := w.In(p)
	if err != nil {
		return nil, err
	}
	c, err := compilerFor(t)
	if err != nil {
		return nil, err
	}
	defer c.Device.Close()
	all, err := launches(c, k, w.Options(k))
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	return all, nil
}

// compilerFor is a compiler for a device that stands for a target. Nothing is to run on it.
func compilerFor(t target.Machine) (*jit.Compiler, error) {
	id := t.Name
	if t.IsGPU() {
		id = "emu:" + t.Name
	}
	device, err := jit.OpenDevice(id)
	if err != nil {
		return nil, err
	}
	return jit.NewCompiler(device, nil), nil
}

// launches compiles the launches that a kernel is for arguments of the sizes that are given; there are no arguments.
func launches(c *jit.Compiler, k *typed.Kernel, o jit.Options) ([]*compile.Lowered, error) {
	b, err := graph.BindKernelSizes(&c.Compiler, k, jit.KernelFunction(k).Params, o)
	if err != nil {
		return nil, err
	}
	defer b.Free(c.Device)
	var all []*compile.Lowered
	for _, call := range b.Calls {
		l, err := compile.Lower(call.Spec, c.Device.Target(), nil)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// Figures are those of each launch of the workload. What is on record of the same text is not assembled again.
func (w Workload) Figures(ctx context.Context, p *typed.Program, t target.Machine, tools *assembled.Tools, record map[string]Figures) ([]Figures, error) {
	launches, err := w.Launches(p, t)
	if err != nil {
		return nil, err
	}
	var all []Figures
	for _, l := range launches {
		f, err := w.figures(ctx, l, t, tools, record)
		if err != nil {
			return nil, fmt.Errorf("workload %s: %w", w.Name, err)
		}
		if len(launches) > 1 {
			f.Name += ", " + l.Func.Name
		}
		for n, name := 2, f.Name; slices.ContainsFunc(all, func(o Figures) bool { return o.Name == f.Name }); n++ {
			f.Name = fmt.Sprintf("%s %d", name, n) // one more copy
		}
		all = append(all, f)
	}
	return all, nil
}

func (w Workload) figures(ctx context.Context, l *compile.Lowered, t target.Machine, tools *assembled.Tools, record map[string]Figures) (Figures, error) {
	module := l.Code.PTX
	f := Figures{Name: w.Name, PTX: fmt.Sprintf("%x", sha256.Sum256([]byte(tools.Assembler.Version()+module.Text)))[:16]}
	for name, r := range record {
		if of, _, _ := strings.Cut(name, ", "); of == w.Name && r.PTX == f.PTX {
			r.Name, r.Held = w.Name, w.held(l)
			return r, nil
		}
	}
	decided, err := ptx.Decide(l.Func, l.Plan, t)
	if err != nil {
		return f, err
	}
	code, err := tools.Assemble(ctx, module.Text, t.Name)
	if err != nil {
		return f, err
	}
	if err := agree(l, decided, code, t); err != nil {
		return f, err
	}
	f.Spilled, f.Warnings, f.Code = code.Spilled, len(code.Warnings), len(code.Instructions)
	if e := l.Plan.Estimate; e != nil {
		planned := min(e.Residency, (e.Blocks+int64(t.SMs)-1)/int64(t.SMs))
		if l.Plan.Resident > 0 {
			planned, f.Held = int64(l.Plan.Resident), w.held(l)
		}
		f.Missing = max(int(planned)-code.Residency(t, module.Threads, module.Shared), 0)
	}
	rings := code.Rings()
	for _, r := range rings {
		f.Barriers += code.Count(r, (*assembled.Instruction).AllWarps)
		f.Calls += code.Count(r, func(i *assembled.Instruction) bool { return i.Is("CALL") })
		f.Fences += code.Count(r, (*assembled.Instruction).FencesGPU)
	}
	if l.Plan.Stages > 1 && len(decided.Pipelines) == 0 {
		f.Idle = 1
	}
	f.Instructions, f.Unit = w.instructions(code.Kernel, rings)
	return f, nil
}

// held reports a launch whose code is held to the plan's residency.
func (w Workload) held(l *compile.Lowered) bool {
	return l.Plan.Estimate != nil && l.Plan.Resident > 0 && len(w.Pins) == 0
}

// agree reports a plan, a block program and a module that say different things.
func agree(l *compile.Lowered, decided *block.Program, code *assembled.Code, t target.Machine) error {
	module := l.Code.PTX
	switch {
	case decided.Warps != l.Plan.Warps || module.Threads != decided.Threads():
		return fmt.Errorf("plan %s: the block program has %d warps that compute and %d threads, the module %d threads", l.Plan, decided.Warps, decided.Threads(), module.Threads)
	case module.Shared+code.Static > l.Plan.SharedLimit(t):
		return fmt.Errorf("plan %s: the module has %d bytes of shared memory, the limit is %d", l.Plan, module.Shared+code.Static, l.Plan.SharedLimit(t))
	case module.Cluster > 1 && module.Cluster != max(l.Plan.Cluster, 1):
		return fmt.Errorf("plan %s: the module has clusters of %d blocks", l.Plan, module.Cluster)
	}
	for _, x := range decided.Pipelines {
		if x.Steps == 0 && (x.Stages < 2 || x.Ahead >= x.Stages) {
			return fmt.Errorf("plan %s: a loop's loads run %d steps ahead in %d stages", l.Plan, x.Ahead, x.Stages)
		}
	}
	onMatrix, wide := 0, 0
	for _, c := range decided.Products {
		if c.MMA != nil {
			onMatrix++
		}
		if c.Wgmma {
			wide++
		}
	}
	of := func(families ...string) bool {
		return slices.ContainsFunc(code.Instructions, func(i assembled.Instruction) bool { return i.Is(families...) })
	}
	if (wide > 0) != of("HGMMA", "QGMMA", "IGMMA", "BGMMA") {
		return fmt.Errorf("plan %s: the block program has %d products by wgmma, and the machine code is of another mind", l.Plan, wide)
	}
	if (onMatrix > wide) != of("HMMA", "IMMA", "DMMA") {
		return fmt.Errorf("plan %s: the block program has %d products by mma.sync, and the machine code is of another mind", l.Plan, onMatrix-wide)
	}
	return nil
}

// instructions is what a warp executes for each of a unit of work: in loops with products, for scores of attention or for products, elsewhere
// for the elements that loops read and write, or that are stored.
func (w Workload) instructions(k *assembled.Kernel, rings []assembled.Loop) (each float64, unit string) {
	if len(rings) > 0 {
		sum, work := 0, 0.0
		for _, r := range rings {
			step, ok := k.Step(r)
			if !ok || step.MultiplyAdds == 0 {
				return 0, ""
			}
			sum, work = sum+step.Instructions, work+float64(step.MultiplyAdds)
		}
		if w.Kernel == "attention" { // each score is that of D multiply-adds twice, and a warp has 32 lanes
			return round(float64(sum) / (work / float64(2*32*w.Sizes["D"]))), unitScore
		}
		return round(float64(sum) / (work / 1024)), unitProducts
	}
	size := float64(w.Type().Bits()) / 8
	if streams := k.Streams(); len(streams) > 0 {
		for _, s := range streams {
			step, ok := k.Step(s)
			if !ok || step.Bytes == 0 {
				return 0, ""
			}
			each += float64(step.Instructions) / (float64(step.Bytes) / size)
		}
		return round(each), unitElement
	}
	whole, ok := k.Straight()
	if !ok || whole.Bytes == 0 {
		return 0, ""
	}
	return round(float64(whole.Instructions) / (float64(whole.Bytes) / size)), unitElement
}

// round leaves three digits behind the point.
func round(x float64) float64 { return float64(int64(x*1000+0.5)) / 1000 }
