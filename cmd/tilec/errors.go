package main

import (
	"errors"
	"fmt"
	"os"

	"tilec/jit"
	"tilec/jit/bug"
	"tilec/jit/cache"
	"tilec/jit/cuda"
	"tilec/lang"
)

// say writes one line to stderr.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
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
func (a *app) reportBug(b *jit.Bug) {
	a.say("tilec: %v", b)
	a.say("this is a bug in the compiler, not in your program")
	bundle := bug.Bundle{Version: jit.Version + revision(), Build: cache.Build(), Args: a.args}
	for _, name := range []string{"CUTILE_LOGS", "GOMAXPROCS", cache.DirVariable, cuda.AssemblerVariable} {
		if v, ok := os.LookupEnv(name); ok {
			bundle.Env = append(bundle.Env, fmt.Sprintf("%s=%q", name, v))
		}
	}
	for name, text := range a.sources {
		bundle.Sources = append(bundle.Sources, bug.Source{Path: name, Text: string(text)})
	}
	path, err := bundle.Save(b, os.TempDir())
	if err != nil {
		a.say("the report could not be saved: %v\n%s", err, b.Stack)
		return
	}
	a.say("saved in %s: the command line, the sources, the settings, the stack and the IR; please report it with that folder", path)
	if b.IR != "" {
		a.say("to see it again: tilec build --from=ir %s", path)
	}
}

// caughtBug finds a bug of the compiler in an error.
func caughtBug(err error) (*jit.Bug, bool) {
	var b *jit.Bug
	return b, errors.As(err, &b)
}
