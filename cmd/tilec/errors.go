package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"

	"tilec/jit"
	"tilec/lang"
)

// say writes one line to stderr.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) }

// printError prints an error: diagnostics with their source lines, anything else on one line.
func (a *app) printError(err error) {
	if ds := diagnostics(err); ds != nil {
		if err := lang.Render(a.stderr, ds, lang.RenderOptions{Color: a.color}); err == nil {
			return
		}
	}
	a.say("tilec: %v", err)
}

// diagnostics finds what an error has to say of a source; nil when it has nothing.
func diagnostics(err error) lang.Diagnostics {
	var many lang.Diagnostics
	if errors.As(err, &many) {
		return many
	}
	var one *lang.Diagnostic
	if errors.As(err, &one) {
		return lang.Diagnostics{one}
	}
	return nil
}

// reportBug says that the compiler failed, and saves what it takes to see it again.
func (a *app) reportBug(bug *jit.Bug) {
	a.say("tilec: %v", bug)
	a.say("this is a bug in the compiler, not in your program")
	path, err := a.saveRepro(bug)
	if err != nil {
		a.say("the report could not be saved: %v\n%s", err, bug.Stack)
		return
	}
	a.say("saved in %s: the command line, the sources and the stack; please report it with that file", path)
}

// saveRepro writes a file with all that a report of a bug needs.
func (a *app) saveRepro(bug *jit.Bug) (path string, err error) {
	f, err := os.CreateTemp("", "tilec-bug-*.txt")
	if err != nil {
		return "", err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	dir, _ := os.Getwd()
	fmt.Fprintf(f, "tilec %s, %s %s/%s, %d cores\nfolder: %s\nargs: %q\nCUTILE_LOGS=%q\n\n%v\n\n%s\n",
		jit.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), filepath.ToSlash(dir), a.args, os.Getenv("CUTILE_LOGS"), bug, bug.Stack)
	names := make([]string, 0, len(a.sources))
	for n := range a.sources {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		if _, err = fmt.Fprintf(f, "-- %s --\n%s\n", n, a.sources[n]); err != nil {
			return "", err
		}
	}
	return f.Name(), nil
}
