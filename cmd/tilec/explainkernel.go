package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"tilec/jit"
	"tilec/jit/assembled"
	"tilec/jit/compile"
	"tilec/jit/file"
	"tilec/jit/graph"
	"tilec/jit/ir"
	"tilec/jit/plan"
	"tilec/jit/spec"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file is `tilec explain FILE KERNEL`: the plan of a kernel, what it costs, and what any other choice would cost.

// kernelPage is what --json prints of a kernel: a page for each of its launches. Times are predicted, in seconds.
type kernelPage struct {
	Kernel string `json:"kernel"`
	Target string `json:"target"`
	// For are the sizes, constants and element types that were given.
	For  string         `json:"for,omitempty"`
	Plan string         `json:"plan"`
	Best *plan.Estimate `json:"planned"`
	Next *plan.Estimate `json:"next,omitempty"`
	// Roofline is absent on the CPU.
	Roofline *rooflinePage `json:"roofline,omitempty"`
	// Decided is what was decided of a block of threads, Memory what takes its shared memory, and Said what became of the pins of the
	// source, in how many launches the kernel is cut, and what would take less time, a line each.
	Decided []string `json:"decided,omitempty"`
	Memory  []string `json:"memory,omitempty"`
	Said    []string `json:"said,omitempty"`
	// Assembled is absent where there is no assembler, of which NotAssembled says why.
	Assembled    *assembledPage    `json:"assembled,omitempty"`
	NotAssembled string            `json:"not_assembled,omitempty"`
	Pins         []compile.PinCost `json:"pins"`

	// code is nil where Assembled is absent.
	code *assembled.Code
}

// rooflinePage is where a launch stands beside what the machine can do.
type rooflinePage struct {
	FLOP  int64 `json:"flop"`
	Bytes int64 `json:"bytes"`
	// MemorySeconds and ComputeSeconds are what each takes at full rates.
	MemorySeconds  float64 `json:"memory_seconds"`
	ComputeSeconds float64 `json:"compute_seconds"`
	// Intensity is operations a byte, and Ridge how many of them it takes until arithmetic bounds.
	Intensity float64 `json:"intensity,omitempty"`
	Ridge     float64 `json:"ridge,omitempty"`
	Bound     string  `json:"bound"`
	// Part is which part of the rate that bounds the launch is predicted to reach.
	Part float64 `json:"part"`
}

// assembledPage is what the assembler made of the module.
type assembledPage struct {
	By string `json:"by"`
	// Registers and Spilled (bytes) are of a thread, Shared (bytes) of a block, Residency is how many blocks share a multiprocessor.
	Registers    int      `json:"registers"`
	Spilled      int      `json:"spilled"`
	Shared       int      `json:"shared"`
	Threads      int      `json:"threads"`
	Residency    int      `json:"residency"`
	Instructions int      `json:"instructions"`
	Warnings     []string `json:"warnings,omitempty"`
	// Steps are the instructions of a step of each loop with products, or, where there are none, that goes through memory.
	Steps []int `json:"steps,omitempty"`
}

// explainKernel explains the launches of a kernel. svg is a file for a picture, "" for none.
func (a *app) explainKernel(k *typed.Kernel, args []*argument, machine target.Machine, svg string) error {
	var pages []*kernelPage
	err := a.eachKernel([]*typed.Kernel{k}, args, buildOptions{}, func(k *typed.Kernel, options jit.Options) error {
		s, err := jit.Specialise(k, options)
		if err != nil {
			return err
		}
		for _, launch := range s.Launches() {
			made, err := launchPages(launch, machine)
			if err != nil {
				return err
			}
			for _, page := range made {
				page.For = givenTo(completed(options, s))
			}
			pages = append(pages, made...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if svg != "" {
		if err := file.WriteBytes(svg, explanationSVG(pages)); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(pages)
	}
	for i, p := range pages {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		p.write(a.stdout)
	}
	return nil
}

// widerFactors says, of a product with a factor that is a product of narrow floats itself, in f32 as the language has it in a sum, what takes less time.
func widerFactors(f *ir.Func) (said []string) {
	f.Walk(func(op *ir.Op) bool {
		if op.Code.Row().Group != lang.GroupContract {
			return true
		}
		if op.InParts() {
			said = append(said, "a factor of f32 beside one of bf16 is multiplied in two parts: `dot(v as bf16, w)` rounds it to bf16 first, and has half the instructions of the tensor cores")
			return true
		}
		for _, x := range op.Args[:2] {
			if x.Type.DType != lang.F32 || x.Def == nil || x.Def.Code != lang.OpMul {
				continue
			}
			narrow := slices.IndexFunc(x.Def.Args, func(v *ir.Value) bool {
				return v.Def != nil && v.Def.Code == lang.OpCast && v.Def.Args[0].Type.DType.IsFloat() && v.Def.Args[0].Type.DType.Bits() == 16
			})
			if narrow >= 0 {
				d := x.Def.Args[narrow].Def.Args[0].Type.DType
				said = append(said, fmt.Sprintf("a sum of products of three factors multiplies f32 numbers, which threads make: `dot(a * b, c)` rounds a * b to %s first, and has the rate of %s", d, d))
			}
		}
		return true
	})
	return said
}

// launchPages explain a launch, or the several in which it is cut, or before which operands are laid out anew.
func launchPages(s *spec.Spec, machine target.Machine) ([]*kernelPage, error) {
	explain := func(s *spec.Spec, said string) (*kernelPage, error) {
		e, err := compile.Explain(s, machine)
		if err != nil {
			return nil, err
		}
		p, err := kernelPageOf(e, machine)
		if err == nil && said != "" {
			p.Said = append([]string{said}, p.Said...)
		}
		return p, err
	}
	parts, said, judged, how, err := partsOf(s, machine)
	if err != nil {
		return nil, err
	}
	var whole *kernelPage
	if parts == nil || judged {
		if whole, err = explain(s, ""); err != nil || parts == nil {
			return []*kernelPage{whole}, err
		}
	}
	var pages []*kernelPage
	time := 0.0
	for i, part := range parts {
		page, err := explain(part, said[i])
		if err != nil {
			return nil, err
		}
		pages, time = append(pages, page), time+page.Best.Seconds
	}
	if whole != nil && !graph.Pays(whole.Best, time, how) {
		return []*kernelPage{whole}, nil
	}
	return pages, nil
}

// partsOf are the launches that a launch becomes, with what is said of each; nil where it is one. Judged says that it becomes these where they are predicted to take less time.
// How is what they do in its place.
func partsOf(s *spec.Spec, machine target.Machine) (parts []*spec.Spec, said []string, judged bool, how graph.Instead, err error) {
	h, err := graph.Cut(s, machine)
	if err != nil {
		return nil, nil, false, 0, err
	}
	if h != nil {
		between := fmt.Sprintf("%s%v between them; `cut=1` keeps it one", h.DType, h.Shape)
		return []*spec.Spec{h.Front, h.Behind}, []string{"the first of the two launches in which it is cut, with " + between, "the second of two launches, with " + between}, h.Judged, h.Instead(), nil
	}
	parts, judged, err = graph.Relaid(s, machine)
	for i := range parts {
		if i == len(parts)-1 {
			before := "a launch that lays out an operand anew"
			if i > 1 {
				before = fmt.Sprintf("%d launches that lay out operands anew", i)
			}
			said = append(said, "behind "+before+"; `relayout=1` reads what there is as it lies")
		} else {
			said = append(said, fmt.Sprintf("lays out an operand of %s anew", s.Kernel.Name))
		}
	}
	return parts, said, judged, graph.LaidAnew, err
}

// completed are options with what a kernel's @sizes and defaults give where the options have nothing.
func completed(o jit.Options, s *spec.Spec) jit.Options {
	o.Types, o.Dims, o.Consts = map[string]lang.DType{}, map[string]int64{}, map[string]lang.Literal{}
	for t, d := range s.Types {
		o.Types[t.Name] = d
	}
	for d, n := range s.Dims {
		o.Dims[d.Name] = n
	}
	for c, l := range s.Consts {
		o.Consts[c.Name] = l
	}
	return o
}

// givenTo are the sizes, constants, types and pins of options.
func givenTo(o jit.Options) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(o.Types)) {
		words = append(words, name+"="+o.Types[name].String())
	}
	for _, m := range []map[string]int64{o.Dims, o.Pins} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			words = append(words, fmt.Sprintf("%s=%d", name, m[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Consts)) {
		words = append(words, name+"="+formatScalar(o.Consts[name]))
	}
	return strings.Join(words, " ")
}

func kernelPageOf(e *compile.Explanation, machine target.Machine) (*kernelPage, error) {
	p := &kernelPage{
		Kernel: e.Func.Name, Target: machine.Name, Plan: e.Plan.String(), Best: e.Plan.Estimate, Next: e.Plan.Next,
		Decided: e.Decided, Memory: e.Memory(), Said: slices.Concat(e.Fills(), e.Lowered.Pins, widerFactors(e.Func)), Pins: e.Pins,
	}
	if w := e.Work; w.Time > 0 {
		r := &rooflinePage{FLOP: w.FLOP, Bytes: w.Bytes, MemorySeconds: w.Memory, ComputeSeconds: w.Compute, Bound: e.Bound(), Part: w.Time / e.Plan.Time}
		r.Intensity, r.Ridge = e.Intensity()
		p.Roofline = r
	}
	if !machine.IsGPU() {
		return p, nil
	}
	tools, err := assembled.Find()
	if errors.Is(err, assembled.ErrNoTools) {
		p.NotAssembled = err.Error()
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	module := e.Code.PTX
	code, err := tools.Assemble(context.Background(), module.Text, machine.Name)
	if err != nil {
		p.NotAssembled = err.Error() // an assembler that is older than the machine
		return p, nil
	}
	made := &assembledPage{
		By: "ptxas " + tools.Assembler.Version(), Registers: code.Registers, Spilled: code.Spilled, Shared: module.Shared + code.Static, Threads: module.Threads,
		Residency: code.Residency(machine, module.Threads, module.Shared), Instructions: len(code.Instructions), Warnings: code.Warnings,
	}
	loops := code.Rings()
	if len(loops) == 0 {
		loops = code.Streams()
	}
	for _, l := range loops {
		if step, ok := code.Step(l); ok {
			made.Steps = append(made.Steps, step.Instructions)
		}
	}
	p.Assembled, p.code = made, code
	return p, nil
}

// write prints a page.
func (p *kernelPage) write(w io.Writer) {
	fmt.Fprintf(w, "%s on %s", p.Kernel, p.Target)
	if p.For != "" {
		fmt.Fprintf(w, ", for %s", p.For)
	}
	fmt.Fprintln(w)
	for _, line := range p.Said {
		fmt.Fprintf(w, "  %s\n", line)
	}
	p.writeTerms(w)
	p.writeRoofline(w)
	p.writeCode(w)
	p.writePins(w)
}

// writeTerms prints what the planned candidate and the next one cost.
func (p *kernelPage) writeTerms(w io.Writer) {
	if p.Best == nil {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	both := []*plan.Estimate{p.Best}
	fmt.Fprintf(t, "\npredicted\tplanned")
	if p.Next != nil {
		both = append(both, p.Next)
		fmt.Fprintf(t, "\tnext")
	}
	row := func(name string, of func(e *plan.Estimate) string) {
		cells, any := name, false
		for _, e := range both {
			text := of(e)
			cells, any = cells+"\t"+text, any || text != ""
		}
		if any {
			fmt.Fprintf(t, "\n%s", cells)
		}
	}
	row("choice", func(e *plan.Estimate) string { return e.Choice })
	row("time", func(e *plan.Estimate) string { return microseconds(e.Seconds) + ", bound by " + e.Bound })
	for i, term := range p.Best.Terms {
		row("  "+term.Name, func(e *plan.Estimate) string {
			if e.Terms[i].Seconds == 0 {
				return ""
			}
			return microseconds(e.Terms[i].Seconds)
		})
	}
	if p.Best.SharesSteps || p.Next != nil && p.Next.SharesSteps {
		row("  shared steps", func(e *plan.Estimate) string {
			if !e.SharesSteps {
				return ""
			}
			return "-" + microseconds(e.Shorter)
		})
	}
	row("blocks", func(e *plan.Estimate) string {
		return fmt.Sprintf("%d, wave efficiency %.2f", e.Blocks, e.WaveEfficiency)
	})
	count := func(n int64) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	row("blocks a multiprocessor", func(e *plan.Estimate) string { return count(e.Residency) })
	row("registers of tiles", func(e *plan.Estimate) string { return count(e.Registers) })
	row("shared memory", func(e *plan.Estimate) string {
		if e.SharedBytes == 0 {
			return ""
		}
		return bytesText(e.SharedBytes)
	})
	fmt.Fprintln(t)
	t.Flush()
	fmt.Fprintln(w, "The longest of the terms counts, with latency and launch on top of it.")
}

func (p *kernelPage) writeRoofline(w io.Writer) {
	r := p.Roofline
	if r == nil {
		return
	}
	fmt.Fprintf(w, "\nroofline: %s take %s, %.4g operations take %s; ", bytesText(r.Bytes), microseconds(r.MemorySeconds), float64(r.FLOP), microseconds(r.ComputeSeconds))
	if r.Ridge > 0 {
		fmt.Fprintf(w, "%.3g operations a byte, and the ridge is at %.3g; ", r.Intensity, r.Ridge)
	}
	fmt.Fprintf(w, "%s bounds it, and %.0f %% of that rate are predicted\n", r.Bound, 100*r.Part)
}

// writeCode prints what was decided, and what the assembler made of it.
func (p *kernelPage) writeCode(w io.Writer) {
	if len(p.Decided) > 0 {
		fmt.Fprintln(w, "\ndecided (tilec build --emit=block has the layouts too, jit/block/README.md says what notes mean):")
		for _, line := range p.Decided {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	for _, line := range p.Memory {
		fmt.Fprintf(w, "  %s\n", line)
	}
	switch c := p.Assembled; {
	case c != nil:
		fmt.Fprintf(w, "\nassembled by %s: %d registers a thread, %d bytes spilled, %d threads and %d bytes of shared memory a block, %d blocks a multiprocessor, %d instructions",
			c.By, c.Registers, c.Spilled, c.Threads, c.Shared, c.Residency, c.Instructions)
		for i, n := range c.Steps {
			if i == 0 {
				fmt.Fprint(w, "; steps of loops take ")
			} else {
				fmt.Fprint(w, ", ")
			}
			fmt.Fprint(w, n)
		}
		fmt.Fprintln(w)
		for _, line := range c.Warnings {
			fmt.Fprintf(w, "  %s\n", line)
		}
	case p.NotAssembled != "":
		fmt.Fprintf(w, "\nnot assembled: %s\n", p.NotAssembled)
	}
}

// writePins prints what each value that can be pinned would cost, against the plan.
func (p *kernelPage) writePins(w io.Writer) {
	if len(p.Pins) == 0 || p.Best == nil {
		return
	}
	fmt.Fprintln(w, "\npins, each with the time that is predicted with it / planned; * is planned:")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	refused := map[string]bool{}
	var refusals []string
	for i := 0; i < len(p.Pins); {
		name := p.Pins[i].Name
		fmt.Fprintf(t, "  %s", name)
		for ; i < len(p.Pins) && p.Pins[i].Name == name; i++ {
			c := p.Pins[i]
			switch {
			case c.Planned:
				fmt.Fprintf(t, "\t%d*", c.Value)
			case c.Refused != "":
				fmt.Fprintf(t, "\t%d -", c.Value)
				reason := strings.TrimPrefix(c.Refused, fmt.Sprintf("%s = %d: ", c.Name, c.Value))
				if !refused[reason] {
					refused[reason] = true
					refusals = append(refusals, fmt.Sprintf("%s=%d: %s", c.Name, c.Value, reason))
				}
			default:
				fmt.Fprintf(t, "\t%d %.2f", c.Value, c.Seconds/p.Best.Longest())
			}
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	for _, line := range refusals {
		fmt.Fprintf(w, "  no plan with %s\n", line)
	}
}
