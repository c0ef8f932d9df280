// Package log prints the stages of the compiler that CUTILE_LOGS names. It knows their names and passes; it must not know what compiles.
package log

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"

	"tilec/jit/ir"
	"tilec/jit/misuse"
	"tilec/jit/pass"
)

// Stage is a stage of the compiler that CUTILE_LOGS can print.
type Stage string

// The stages, in order.
const (
	AST    Stage = "ast"
	Typed  Stage = "typed"
	Graph  Stage = "graph"
	IR     Stage = "ir"
	Plan   Stage = "plan"
	Block  Stage = "block"
	PTX    Stage = "ptx"
	Launch Stage = "launch"
	Time   Stage = "time"
)

// stageNames maps what users write to stages; the names of cuTile's own log are accepted for `ir`.
var stageNames = map[string]Stage{
	"ast": AST, "typed": Typed, "graph": Graph, "ir": IR, "cutileir": IR, "tileir": IR,
	"plan": Plan, "block": Block, "ptx": PTX, "launch": Launch, "time": Time,
}

// Logs prints chosen stages to a writer. A nil *Logs prints nothing.
type Logs struct {
	mu     sync.Mutex
	w      io.Writer
	stages map[Stage]bool
	// passes are those after which the IR is printed.
	passes map[string]bool
	// times is what was measured since Times printed it.
	times span
	// spans are what was measured, where they are kept, and watches how many stopwatches there were.
	spans                []Span
	keeps, keepsLaunches bool
	watches              int
}

// Parse reads the value of CUTILE_LOGS: a comma list of stages, or `all`; the name
// of a pass prints the IR wherever that pass changes it.
func Parse(value string, w io.Writer) (*Logs, error) {
	if w == nil {
		w = io.Discard
	}
	l := &Logs{w: w, stages: map[Stage]bool{}, passes: map[string]bool{}}
	for _, name := range strings.Split(value, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		switch s, ok := stageNames[name]; {
		case name == "":
		case name == "all":
			for _, s := range stageNames {
				l.stages[s] = true
			}
		case ok:
			l.stages[s] = true
		case l.DumpAfter(name) == nil:
		default:
			known := make([]string, 0, len(stageNames))
			for n := range stageNames {
				known = append(known, n)
			}
			sort.Strings(known)
			return nil, fmt.Errorf("CUTILE_LOGS: unknown stage %q: known are all, %s; and the passes %s", name, strings.Join(known, ", "), strings.Join(passNames(), ", "))
		}
	}
	return l, nil
}

// Build is what Dump's function is told of the IR that no pass has seen yet.
const Build = "build"

// DumpAfter prints the IR wherever one of the passes changes it: a comma list of
// the names of passes, of `build` for the IR as it is made, or `all`.
func (l *Logs) DumpAfter(passes string) error {
	if l == nil || l.passes == nil {
		return misuse.Unset("Logs.DumpAfter", "the logs are nothing that ParseLogs gave")
	}
	for _, name := range strings.Split(passes, ",") {
		if name == "all" {
			return l.DumpAfter(strings.Join(append(passNames(), Build), ","))
		}
		if name == Build {
			l.passes[name] = true
			continue
		}
		if _, err := pass.Find(name); err != nil {
			return err
		}
		l.passes[name] = true
	}
	return nil
}

func passNames() []string {
	var names []string
	for _, p := range pass.Passes() {
		names = append(names, p.Name)
	}
	return names
}

// Dump is what passes call when they have changed a kernel; nil when nobody wants to see it.
func (l *Logs) Dump() func(string, *ir.Func) {
	if l == nil || len(l.passes) == 0 {
		return nil
	}
	return func(pass string, f *ir.Func) {
		if l.passes[pass] {
			l.print(IR, f.Name+", after "+pass, f.String)
		}
	}
}

// On reports whether a stage is printed.
func (l *Logs) On(s Stage) bool { return l != nil && l.w != nil && l.stages[s] }

// Print writes one stage's text under a heading, when the stage is on.
func (l *Logs) Print(s Stage, title string, text func() string) {
	if l.On(s) {
		l.print(s, title, text)
	}
}

func (l *Logs) print(s Stage, title string, text func() string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.w, "// %s: %s\n%s", s, title, text())
	fmt.Fprintln(l.w)
}

// Line writes one line of a stage, when the stage is on.
func (l *Logs) Line(s Stage, format string, args ...any) {
	if !l.On(s) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.w, "%s: %s\n", s, fmt.Sprintf(format, args...))
}
