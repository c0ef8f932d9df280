package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"tilec/cmd/tilec/report"
	"tilec/jit"
	"tilec/jit/block"
	"tilec/jit/compile"
	"tilec/jit/file"
	"tilec/jit/spec"
	"tilec/jit/stage"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file is `tilec report FILE KERNEL`: one page of HTML with all that the compiler knows about a kernel or a graph.

// reportOptions are the flags of `tilec report`.
type reportOptions struct {
	out, target, precision string
	// limit is how long the emulator may take for the profile; 0 leaves the profile out.
	limit time.Duration
	seed  uint64
}

func (a *app) reportCommand() *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report FILE.tile KERNEL [NAME=VALUE ...]",
		Short: "Write a page with every stage of a kernel or a graph, its costs, its layouts and its profile",
		Long: `Report compiles a kernel and writes one file of HTML, which needs no network: the plan with its costs and its place under the
roofline; the typed program; the IR, as it is built, as each pass changes it and as the back end gets it; what was decided of a block of
threads, and which register of which thread holds which element of a tile; PTX; machine code, where ptxas and nvdisasm are there; and what
each line of the source costs in the emulator. Lines of the stages and lines of the source are linked.

Of a graph the page begins with its launches: the plan of each, how long it is predicted to take, of which kernels it is one and what that saves, what
could be one launch and is not, and why; then what each pass changed of the launches. The stages are those of each launch, of launches that are
alike once.

Arguments are those of tilec run. Sizes and element types are those given, or those of the kernel's @sizes. The emulator runs on random tensors
where none are given, for --limit at most: give small sizes for a profile, or --limit 0 for none.`,
		Example: "  tilec report std/nn.tile softmax M=1024 N=768 T=bf16 -o softmax.html\n  tilec report std/nn.tile linear_bias M=8192 K=768 N=3072 T=bf16 --limit 0",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 || strings.Contains(args[1], "=") {
				return errors.New("give a .tile file and the name of a kernel or a graph in it, such as `tilec report std/nn.tile softmax`")
			}
			return nil
		},
		ValidArgsFunction: a.functionOf,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.precision, err = precisionOf(o.precision); err != nil {
				return err
			}
			if o.limit < 0 {
				return usageError{fmt.Errorf("--limit is %v, must be 0 or more", o.limit)}
			}
			if a.json && !cmd.Flags().Changed("out") {
				o.out = ""
			}
			return a.reportFunction(source(args[0]), args[1], args[2:], o)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&o.out, "out", "o", "report.html", "the file of the page")
	f.StringVar(&o.target, "target", target.Default, "what to compile for: "+newestFirst(target.Names()))
	precisionFlag(f, &o.precision)
	f.DurationVar(&o.limit, "limit", 10*time.Second, "how long the emulator may take for the profile; 0 for no profile")
	f.Uint64Var(&o.seed, "seed", 0, "of the random numbers")
	a.jsonFlag(f, "print what is on the page as JSON; no file is written without -o")
	return cmd
}

// reportFunction writes the report of a kernel or a graph.
func (a *app) reportFunction(path, name string, texts []string, o reportOptions) error {
	machine, err := target.Find(o.target)
	if err != nil {
		return usageError{err}
	}
	if o.out != "" {
		if err := file.Check(o.out); err != nil {
			return err
		}
	}
	function, program, args, err := a.named(path, name, texts)
	if err != nil {
		return err
	}
	w := &reporting{app: a, function: function, machine: machine, options: o}
	for _, m := range program.Modules {
		w.sources = append(w.sources, m.Source)
	}
	w.binding = newBinding(function, o.seed, func(format string, args ...any) { w.notes = append(w.notes, fmt.Sprintf(format, args...)) })
	if err := w.binding.give(args); err != nil {
		return err
	}
	begin := time.Now()
	w.begin("planning")
	stop := a.progress("report", nil).follow(func() string {
		return fmt.Sprintf("report of %s: %s, %.0f s", name, *w.doing.Load(), time.Since(begin).Seconds())
	})
	defer stop()
	page, err := w.page()
	if err != nil {
		return err
	}
	stop()
	if o.out != "" {
		if err := file.WriteBytes(o.out, page.HTML()); err != nil {
			return err
		}
		a.say("wrote %s", o.out)
	}
	if a.json {
		return a.printJSON(page)
	}
	return nil
}

// reporting is a report that is being made.
type reporting struct {
	*app
	function *jit.Function
	machine  target.Machine
	options  reportOptions
	binding  *binding
	sources  []*lang.Source
	// notes say what was chosen for the user.
	notes []string
	// doing is what takes time now.
	doing atomic.Pointer[string]
}

func (w *reporting) begin(what string) { w.doing.Store(&what) }

// reportedLaunch is one launch of the kernel, or one of those of the graph that are alike.
type reportedLaunch struct {
	// title tells it from others.
	title     string
	spec      *spec.Spec
	explained *compile.Explanation
	costs     *kernelPage
	// decided is nil on the CPU.
	decided *block.Program
}

// view is what a report shows of each launch.
type view struct {
	id, title, about string
	of               func(w *reporting, x *reportedLaunch) (report.Part, error)
}

// views are in the order of the page; what is of a kernel as a whole stands between them.
var views = []view{
	{"plan", "Plan", "What the planner chose, what that costs beside the candidate that came next, where it stands under the roofline, and what any other choice would cost.", viewPlan},
	{"passes", "IR by pass", "The tile IR as it is built, and what each pass changes.", viewPasses},
	{"ir", "IR", "The tile IR as the back end gets it.", viewIR},
	{"block", "Block", "What was decided of a block of threads: layouts, instructions of products, loads that run ahead.", viewBlock},
	{"layouts", "Layouts", "Which register of which thread holds which element of a tile. Values that have one layout share a picture; the thread under the pointer is marked wherever it has an element.", viewLayouts},
	{"ptx", "PTX", "The code for the GPU.", viewPTX},
	{"sass", "SASS", "The machine code that the assembler makes of the PTX.", viewMachineCode},
}

// page makes all of the page.
func (w *reporting) page() (*report.Page, error) {
	options := w.binding.options(w.options.precision)
	for s, n := range w.binding.dims { // those that the shapes of tensors tell are known too
		options.Dims[s.Name] = n
	}
	p := &report.Page{Title: fmt.Sprintf("%s on %s", w.function.Name, w.machine.Name), For: givenTo(options), By: "tilec " + jit.Version}
	var launches []*reportedLaunch
	var typedLines lang.Listing
	var err error
	if g := w.function.Graph; g != nil {
		p.Source, typedLines = g.Decl.Name.Span().Source, typed.GraphListing(g)
		p.Sections, launches, err = w.graphSections(options)
	} else {
		p.Source, typedLines = w.function.Kernel.Decl.Name.Span().Source, typed.KernelListing(w.function.Kernel)
		launches, err = w.kernelLaunches(options)
	}
	if err != nil {
		return nil, err
	}
	begin := len(p.Sections)
	for _, v := range views {
		w.begin(v.title)
		s := report.Section{ID: v.id, Title: v.title, About: v.about}
		for _, x := range launches {
			part, err := v.of(w, x)
			if err != nil {
				return nil, err
			}
			if len(launches) > 1 {
				part.Title = x.title
			}
			s.Parts = append(s.Parts, part)
		}
		p.Sections = append(p.Sections, s)
	}
	typedSection := report.Section{ID: "typed", Title: "Typed", About: "Names resolved, every expression with its element type and axes.", Parts: []report.Part{{Lines: typedLines}}}
	p.Sections = slices.Insert(p.Sections, begin+1, typedSection)
	w.begin("profile")
	profile, costs, err := w.profile()
	if err != nil {
		return nil, err
	}
	p.Costs = costs
	p.Sections = append(p.Sections, report.Section{ID: "profile", Title: "Profile", About: "What the emulator executes, by class of instruction, by line of the source, and by access to memory.", Parts: []report.Part{profile}})
	return p, nil
}

// kernelLaunches are the launches of a kernel.
func (w *reporting) kernelLaunches(options jit.Options) ([]*reportedLaunch, error) {
	whole, err := jit.Specialise(w.function.Kernel, options)
	if err != nil {
		return nil, err
	}
	var launches []*reportedLaunch
	for _, s := range whole.Launches() {
		x, err := w.explained(s)
		if err != nil {
			return nil, err
		}
		x.title, x.costs.For = s.Kernel.Name, givenTo(options)
		launches = append(launches, x)
	}
	return launches, nil
}

// explained is all that is known of a launch.
func (w *reporting) explained(s *spec.Spec) (*reportedLaunch, error) {
	x := &reportedLaunch{spec: s}
	var err error
	if x.explained, err = compile.Explain(s, w.machine); err != nil {
		return nil, err
	}
	if x.costs, err = kernelPageOf(x.explained, w.machine); err != nil {
		return nil, err
	}
	if w.machine.IsGPU() {
		if x.decided, err = x.explained.BlockProgram(); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func viewPlan(w *reporting, x *reportedLaunch) (report.Part, error) {
	var b bytes.Buffer
	x.costs.write(&b)
	return report.Part{
		Pictures: []report.Picture{{SVG: string(explanationSVG([]*kernelPage{x.costs}))}},
		Lines:    report.Text(b.String()+"\n"+x.explained.Func.Name+": "+x.explained.Reasons(), w.sources),
	}, nil
}

func viewPasses(w *reporting, x *reportedLaunch) (report.Part, error) {
	forms, err := compile.Forms(x.spec, w.machine)
	return report.Part{Lines: stage.Passes(forms), Differences: true}, err
}

func viewIR(_ *reporting, x *reportedLaunch) (report.Part, error) {
	return report.Part{Lines: x.explained.Func.Listing()}, nil
}

// notGPU is what a report says in place of what only code for a GPU has; "" for a GPU.
func (w *reporting) notGPU() string {
	if w.machine.IsGPU() {
		return ""
	}
	return fmt.Sprintf("The target %s runs the IR itself: --target sm_90a, or another GPU, has this.", w.machine.Name)
}

func viewBlock(w *reporting, x *reportedLaunch) (report.Part, error) {
	if x.decided == nil {
		return report.Part{Missing: w.notGPU()}, nil
	}
	return report.Part{Lines: x.decided.Listing()}, nil
}

func viewPTX(w *reporting, x *reportedLaunch) (report.Part, error) {
	if missing := w.notGPU(); missing != "" {
		return report.Part{Missing: missing}, nil
	}
	lines, err := stage.PTX(x.explained.Lowered)
	return report.Part{Lines: lines}, err
}

func viewMachineCode(w *reporting, x *reportedLaunch) (report.Part, error) {
	if missing := w.notGPU(); missing != "" {
		return report.Part{Missing: missing}, nil
	}
	if x.costs.code == nil {
		return report.Part{Missing: "There is no machine code: " + x.costs.NotAssembled}, nil
	}
	return report.Part{Lines: stage.MachineCode(x.explained.Lowered, x.costs.code.Text)}, nil
}
