package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tilec/jit"
	"tilec/jit/block"
	"tilec/jit/compile"
	"tilec/jit/file"
	"tilec/jit/graph"
	"tilec/jit/log"
	"tilec/jit/pass"
	"tilec/jit/spec"
	"tilec/jit/stage"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/parser"
	"tilec/typecheck/typed"
)

// buildOptions are the flags of `tilec build`.
type buildOptions struct {
	emit, target, kernel, out, bundle, precision, dumpAfter string
	// from is what the file holds: tile, ir or block.
	from string
	// given names the flags that the command line sets.
	given map[string]bool
}

// emission is a form in which `tilec build` shows a program.
type emission struct {
	name, about string
	// file lists a whole file; nil for the forms of one kernel.
	file func(p *typed.Program) (lang.Listing, error)
	// kernel lists one kernel; passes does so from its specialisation.
	kernel func(l *compile.Lowered) (lang.Listing, error)
	passes func(s *spec.Spec, t target.Machine) (lang.Listing, error)
	// block lists a block program that was read.
	block func(p *block.Program) (lang.Listing, error)
	// graph lists a graph, from its launches before any pass and behind each.
	graph func(forms []stage.Form) lang.Listing
}

// emissions are in the order of the compiler's stages.
var emissions = []emission{
	{name: "ast", about: "the syntax tree", file: listAST},
	{name: "typed", about: "the typed program", file: listTyped},
	{name: "graph", about: "the launches of a graph that is bound to sizes, before and after each pass that changes them", graph: listForms},
	{name: "passes", about: "the tile IR as it is built, and what each pass changes of it; of a graph that --kernel names, its launches likewise", passes: listPasses, graph: stage.Differences},
	{name: "ir", about: "the tile IR as a backend gets it", kernel: func(l *compile.Lowered) (lang.Listing, error) { return l.Func.Listing(), nil },
		block: func(p *block.Program) (lang.Listing, error) { return p.Func.Listing(), nil }},
	{name: "plan", about: "what the planner chose, and why", kernel: listPlan},
	{name: "block", about: "the IR with what is decided of a block of threads: layouts, instructions of products, loads that run ahead", kernel: listBlock,
		block: func(p *block.Program) (lang.Listing, error) { return p.Listing(), nil }},
	{name: "ptx", about: "the PTX module", kernel: stage.PTX, block: stage.PTXOfBlock},
}

func (a *app) buildCommand() *cobra.Command {
	var o buildOptions
	names := make([]string, len(emissions))
	about := ""
	for i, e := range emissions {
		names[i] = e.name
		about += fmt.Sprintf("  %-6s %s\n", e.name, e.about)
	}
	passes, graphPasses := "", ""
	for _, p := range pass.Passes() {
		passes += fmt.Sprintf("  %-9s %s\n", p.Name, p.Doc)
	}
	for _, p := range graph.Passes() {
		graphPasses += fmt.Sprintf("  %-9s %s\n", p.Name, p.Doc)
	}
	cmd := &cobra.Command{
		Use:   "build FILE.tile [NAME=VALUE ...]",
		Short: "Print what the compiler makes of a file, stage by stage",
		Long: `Build compiles a file, with no GPU in the machine, and prints one stage:
` + about + `
ir, plan and ptx are of each kernel in the file (of its imports, when it has none of its own), for the sizes
and element types given or, failing these, those of the kernel's @sizes. A kernel of which these say too little is
left out, with a line on stderr that says what is missing; one that has no plan is an error, when the others have been
built. Where nothing is left to build, that is an error. --dump-after takes build, for the IR before any pass, and the names of passes:
` + passes + `
graph is of one graph, which --kernel names where the file has several, for the sizes and element types given, or those
of its @sizes. Its passes, which make fewer launches and smaller ones:
` + graphPasses,
		Example: `  tilec build --emit=ptx std/nn.tile --kernel softmax M=1024 N=768 T=bf16
  tilec build --emit=ir --target=cpu std/nn.tile --out ir/
  tilec build --emit=graph model.tile --kernel forward B=1 S=1 T=bf16
  tilec build --emit=cubin --bundle kernels/ std/nn.tile --kernel softmax M=1024 N=768 T=bf16
  tilec build --from=ir softmax.ir N=768 BM=64 --emit=plan
  tilec build --from=block softmax.block`,
		Args:              atLeastOne("a .tile file to build"),
		ValidArgsFunction: sourceFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.given = map[string]bool{"emit": cmd.Flags().Changed("emit"), "target": cmd.Flags().Changed("target"), "precision": cmd.Flags().Changed("precision")}
			switch {
			case o.bundle != "" || o.emit == "cubin":
				if inPage {
					return notInPage("--bundle")
				}
				return a.buildBundle(source(args[0]), args[1:], o)
			case o.from == "tile":
				return a.build(source(args[0]), args[1:], o)
			case o.from == "ir":
				return a.buildFromIR(source(args[0]), args[1:], o)
			case o.from == "block":
				return a.buildFromBlock(source(args[0]), args[1:], o)
			}
			return usageError{fmt.Errorf("unknown form %q to build from: known are tile, ir, block", o.from)}
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.emit, "emit", "ptx", "the stage: "+strings.Join(names, ", ")+"; with --bundle, ptx or cubin")
	f.StringVar(&o.from, "from", "tile", "what FILE holds: tile, ir to go on from IR that --emit=ir or --dump-after printed, or from the folder of the report of a compiler bug, or block to go on from what --emit=block printed, in which nothing is decided anew")
	f.StringVar(&o.target, "target", target.Default, "what to compile for: "+newestFirst(target.Names()))
	f.StringVar(&o.kernel, "kernel", "", "only the kernel of this name, or the graph")
	f.StringVar(&o.out, "out", "", "write a file a kernel to this folder instead of printing")
	f.StringVar(&o.bundle, "bundle", "", "write the kernels, compiled for one target as ptx or cubin, to this new folder, with a manifest and a C header that say how to launch them")
	a.jsonFlag(f, "print one JSON object")
	f.StringVar(&o.dumpAfter, "dump-after", "", "print the IR to stderr wherever one of these passes changes it, or as it is built: a comma list, or all")
	precisionFlag(f, &o.precision)
	a.traceFlag(f, "when tilec loaded and compiled what, stage by stage")
	return cmd
}

// newestFirst lists the machines in words, the CPU at the end.
func newestFirst(names []string) string {
	slices.Reverse(names)
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// unit is one text that build makes.
type unit struct {
	Name string `json:"name"`
	Text string `json:"text"`
	// Lines has, for each line of the text, the line of the file that became it, from 1, or 0; nil where the text has no such line.
	Lines []int `json:"lines,omitempty"`
}

// unitOf is a listing of a file as a unit.
func unitOf(name string, l lang.Listing, file *lang.Source) unit {
	u := unit{Name: name, Text: l.String()}
	if lines := l.LinesOf(file); slices.Max(append(lines, 0)) > 0 {
		u.Lines = lines
	}
	return u
}

// built is what a build has come to, as --json prints it.
type built struct {
	Stage string `json:"stage"`
	Units []unit `json:"units"`
	// LeftOut are kernels of which too little is known to build them.
	LeftOut []leftOut `json:"left_out,omitempty"`
	// Errors are those of kernels that cannot be built.
	Errors json.RawMessage `json:"errors,omitempty"`

	failed lang.Diagnostics
}

// leftOut is a kernel with what is missing.
type leftOut struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

func (a *app) build(path string, texts []string, o buildOptions) error {
	form, err := findEmission(o.emit)
	if err != nil {
		return usageError{err}
	}
	target, err := target.Find(o.target)
	if err != nil {
		return usageError{err}
	}
	if (form.name == "ptx" || form.name == "block") && !target.IsGPU() {
		return usageError{fmt.Errorf("--emit=%s needs a GPU target, and %s is none", form.name, target.Name)}
	}
	if o.precision, err = precisionOf(o.precision); err != nil {
		return err
	}
	if o.dumpAfter != "" {
		if err := a.logs.DumpAfter(o.dumpAfter); err != nil {
			return usageError{fmt.Errorf("--dump-after: %w", err)}
		}
	}
	args, err := parseArguments(texts)
	if err != nil {
		return err
	}
	program, err := a.load(path)
	if err != nil {
		return err
	}
	var made built
	switch {
	case form.graph != nil && (form.passes == nil || isGraph(program, o.kernel)):
		u, err := a.buildGraph(program, args, form, target, o)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		made.Units = []unit{u}
	case form.file != nil:
		listing, err := form.file(program)
		if err != nil {
			return err
		}
		made.Units = []unit{unitOf(strings.TrimSuffix(filepath.Base(path), ".tile"), listing, root(program))}
	default:
		kernels, err := chooseKernels(program, o.kernel)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if made, err = a.lower(kernels, args, form, root(program), target, o); err != nil {
			return err
		}
	}
	made.Stage = form.name
	return a.deliver(made, o.out)
}

// deliver writes or prints what was built, and says what was not: that is an error where it is of the program, not
// of what is known of it.
func (a *app) deliver(made built, out string) error {
	for _, l := range made.LeftOut {
		a.say("tilec: left out %s: %s", l.Name, l.Reason)
	}
	if out != "" {
		if err := file.MakeFolder(out); err != nil {
			return err
		}
		if err := writeUnits(out, made.Stage, made.Units); err != nil {
			return err
		}
	}
	switch {
	case a.json && out == "":
		if made.failed != nil {
			var err error
			if made.Errors, err = jsonErrors(made.failed); err != nil {
				return err
			}
		}
		if err := a.printJSON(made); err != nil {
			return err
		}
		if made.failed != nil {
			return errReported
		}
	case out == "":
		for _, u := range made.Units {
			fmt.Fprint(a.stdout, u.Text)
		}
	}
	if made.failed != nil {
		return made.failed
	}
	return nil
}

func findEmission(name string) (emission, error) {
	names := make([]string, len(emissions))
	for i, e := range emissions {
		if e.name == name {
			return e, nil
		}
		names[i] = e.name
	}
	return emission{}, fmt.Errorf("unknown stage %q: known are %s", name, strings.Join(names, ", "))
}

// root is the file that a program is of, without its imports.
func root(p *typed.Program) *lang.Source { return p.Modules[len(p.Modules)-1].Source }

// isGraph reports the name of a graph.
func isGraph(p *typed.Program, name string) bool {
	return slices.ContainsFunc(p.Graphs, func(g *typed.Graph) bool { return g.Name == name })
}

// chooseKernels gives the kernels to build: the one named, or those of the file
// itself, or of its imports when it has none.
func chooseKernels(p *typed.Program, name string) ([]*typed.Kernel, error) {
	if name != "" {
		var names []string
		for _, k := range p.Kernels {
			if k.Name == name {
				return []*typed.Kernel{k}, nil
			}
			names = append(names, k.Name)
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("there is no kernel %s: the file declares none", name)
		}
		if near := lang.Nearest(name, names); near != "" {
			return nil, fmt.Errorf("there is no kernel %s: did you mean %s?", name, near)
		}
		return nil, fmt.Errorf("there is no kernel %s: there are %s", name, strings.Join(names, ", "))
	}
	var own []*typed.Kernel
	for _, k := range p.Kernels {
		if k.Decl.Name.Span().Source == root(p) {
			own = append(own, k)
		}
	}
	if own == nil {
		own = p.Kernels
	}
	if own == nil {
		return nil, errors.New("there is no kernel to build")
	}
	return own, nil
}

// lower compiles kernels. An argument must mean something to one of them at least. What is wrong with one kernel does
// not keep the others from being built; it is an error where it leaves nothing.
func (a *app) lower(kernels []*typed.Kernel, args []*argument, form emission, file *lang.Source, target target.Machine, o buildOptions) (built, error) {
	made := built{Units: []unit{}}
	var unknown lang.Diagnostics // what is missing of those left out
	err := a.eachKernel(kernels, args, o, func(k *typed.Kernel, options jit.Options) error {
		units, err := a.lowerKernel(k, options, form, file, target)
		var of *lang.Diagnostic
		switch {
		case err == nil:
			made.Units = append(made.Units, units...)
		case !errors.As(err, &of):
			return err
		case of.Code == lang.ErrArgMissing:
			unknown = append(unknown, of)
			made.LeftOut = append(made.LeftOut, leftOut{k.Name, of.Message})
		default:
			made.failed = append(made.failed, of)
		}
		return nil
	})
	if err != nil {
		return built{}, err
	}
	if len(made.Units) == 0 {
		return built{}, append(made.failed, unknown...)
	}
	return made, nil
}

// eachKernel visits kernels with the arguments that mean something to each. One that means nothing to any is an error.
func (a *app) eachKernel(kernels []*typed.Kernel, args []*argument, o buildOptions, visit func(*typed.Kernel, jit.Options) error) error {
	used := map[*argument]bool{}
	for _, k := range kernels {
		b := newBinding(jit.KernelFunction(k), 0, a.say)
		for _, arg := range args {
			if !belongs(k, arg.name) {
				continue
			}
			used[arg] = true
			if err := b.classify(arg); err != nil {
				return fmt.Errorf("%s=%s: %w", arg.name, arg.text, err)
			}
		}
		if err := visit(k, b.options(o.precision)); err != nil {
			return err
		}
	}
	for _, arg := range args {
		if !used[arg] {
			// One kernel's own words for it, with a suggestion.
			k := kernels[0]
			err := newBinding(jit.KernelFunction(k), 0, a.say).classify(arg)
			if err == nil {
				err = fmt.Errorf("%s is a parameter of %s, which a launch gives: leave it out, and give dimensions, constants, element types and extents", arg.name, k.Name)
			}
			return fmt.Errorf("%s=%s: %w", arg.name, arg.text, err)
		}
	}
	return nil
}

// lowerKernel compiles one kernel, which is several launches where it is a formula in parts.
func (a *app) lowerKernel(k *typed.Kernel, options jit.Options, form emission, file *lang.Source, target target.Machine) ([]unit, error) {
	spec, err := jit.Specialise(k, options)
	if err != nil {
		return nil, err
	}
	var units []unit
	for _, launch := range spec.Launches() {
		if form.passes != nil {
			listing, err := form.passes(launch, target)
			if err != nil {
				return nil, err
			}
			units = append(units, unitOf(launch.Kernel.Name, listing, file))
			continue
		}
		lowered, err := compile.Lower(launch, target, a.logs)
		if err != nil {
			return nil, err
		}
		watch := a.logs.Stopwatch("emit", launch.Name())
		listing, err := form.kernel(lowered)
		watch.Lap(form.name)
		if err != nil {
			return nil, err
		}
		if form.name == string(log.PTX) {
			a.logs.Print(log.PTX, launch.Kernel.Name, listing.String)
		}
		units = append(units, unitOf(launch.Kernel.Name, listing, file))
	}
	return units, nil
}

// belongs reports whether a name is a dimension, a constant, an element type or an extent of a kernel.
func belongs(k *typed.Kernel, name string) bool {
	c := jit.KernelFunction(k)
	c.Params = nil // shapes and values of parameters are for a launch
	return c.CanPin(name) || slices.Contains(c.Names(), name)
}

func listAST(p *typed.Program) (lang.Listing, error) {
	var b strings.Builder
	err := parser.Print(&b, p.Modules[len(p.Modules)-1])
	return lang.NewListing(b.String(), nil), err
}

func listTyped(p *typed.Program) (lang.Listing, error) { return typed.Listing(p), nil }

// listForms lists all forms of a graph as they are.
func listForms(forms []stage.Form) (all lang.Listing) {
	for i, f := range forms {
		if i > 0 {
			all = append(all, lang.ListedLine{Text: f.Title + ":"})
		}
		all = append(all, f.Listing...)
	}
	return all
}

func listPasses(s *spec.Spec, t target.Machine) (lang.Listing, error) {
	forms, err := compile.Forms(s, t)
	if err != nil {
		return nil, err
	}
	return stage.Passes(forms), nil
}

func listPlan(l *compile.Lowered) (lang.Listing, error) {
	return lang.NewListing(l.Func.Name+": "+l.Reasons(), nil), nil
}

func listBlock(l *compile.Lowered) (lang.Listing, error) {
	p, err := l.BlockProgram()
	if err != nil {
		return nil, err
	}
	return p.Listing(), nil
}

func writeUnits(dir, ext string, units []unit) error {
	for _, u := range units {
		path := filepath.Join(dir, u.Name+"."+ext)
		if err := file.WriteBytes(path, []byte(u.Text)); err != nil {
			return err
		}
	}
	return nil
}
