package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Fault is one change to one source file that makes the compiler wrong.
type Fault struct {
	// ID names the fault, "area-what".
	ID string
	// File is the source, from the root of the repository.
	File string
	// Old occurs once in the file; New takes its place.
	Old, New string
	// Class is what kind of mistake it is, one of classes.
	Class string
	// Note says what goes wrong.
	Note string
	// First is the package and test to try before all others, "jit@emu TestConformance/loops"; may be empty.
	First string
	// Equivalent says why no program can tell the fault from the original; empty where one can.
	Equivalent string
	// Missed says why the tests do not notice the fault; empty where they do.
	Missed string
}

// classes are the kinds of mistakes, in the order of the report.
var classes = []string{
	"fragment", "layout", "shared", "barrier", "pipeline", "wgmma", "mask", "address", "vector",
	"reduction", "shuffle", "cast", "arithmetic", "control", "order", "fold", "cse", "licm", "dce",
	"contract", "stream", "ir", "build", "launch", "memory", "cache", "graph", "cpu", "plan", "race",
	"bounds", "unify", "coverage", "cut", "literal", "warning", "misuse", "gpt",
}

// faults is the whole list, file after file.
func faults() []Fault {
	var all []Fault
	for _, part := range [][]Fault{ptxContractFaults, ptxMemoryFaults, ptxCodeFaults, ptxOrderFaults, tileFaults, passFaults, irFaults, jitFaults, cpuFaults, useFaults, frontFaults, proofFaults, stepFaults, modelFaults, mixedFaults} {
		all = append(all, part...)
	}
	return all
}

// apply gives the file's text with the fault in it, and the line. It fails where the source has moved on.
func (f *Fault) apply(source string) (changed string, line int, err error) {
	before, after, found := strings.Cut(source, f.Old)
	switch {
	case !found:
		return "", 0, fmt.Errorf("%s no longer has %q", f.File, firstLine(f.Old))
	case strings.Contains(after, f.Old):
		return "", 0, fmt.Errorf("%s has %q more than once", f.File, firstLine(f.Old))
	}
	return before + f.New + after, 1 + strings.Count(before, "\n"), nil
}

// line is where the fault is, under a root; 0 where it does not apply.
func (f *Fault) line(root string) int {
	source, err := os.ReadFile(filepath.Join(root, f.File))
	if err != nil {
		return 0
	}
	_, line, err := f.apply(string(source))
	if err != nil {
		return 0
	}
	return line
}

// stale is why a fault does not apply under a root; nil where it does.
func (f *Fault) stale(root string) error {
	source, err := os.ReadFile(filepath.Join(root, f.File))
	if err != nil {
		return err
	}
	_, _, err = f.apply(string(source))
	return err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
