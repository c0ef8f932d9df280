package main

import (
	"time"

	"tilec/jit/fuzz"
)

// fuzzResult is what --json prints of a run of `tilec fuzz`.
type fuzzResult struct {
	Programs int   `json:"programs"`
	Launches int64 `json:"launches"`
	// Elements were compared; of Unknown ones the reference can say nothing.
	Elements int64   `json:"elements"`
	Unknown  int64   `json:"unknown"`
	Seconds  float64 `json:"seconds"`
	// Restarts is how often the process that runs the programs ended before its time.
	Restarts int `json:"restarts"`
	// Kinds counts the problems by kind, and Features the programs that have each part of the language.
	Kinds    map[fuzz.Kind]int `json:"kinds"`
	Features map[string]int    `json:"features"`
	Findings []*fuzz.Finding   `json:"findings"`
}

// printFuzzJSON prints a report as one JSON object.
func (a *app) printFuzzJSON(r *fuzz.Report, spent time.Duration) error {
	f := fuzzResult{
		Programs: r.Programs, Launches: r.Tally.Launches, Elements: r.Tally.Elements, Unknown: r.Tally.Unknown, Seconds: spent.Seconds(),
		Restarts: r.Restarts, Kinds: r.Kinds, Features: r.Features, Findings: []*fuzz.Finding{},
	}
	for _, group := range r.Causes() {
		f.Findings = append(f.Findings, group...)
	}
	if f.Kinds == nil {
		f.Kinds = map[fuzz.Kind]int{}
	}
	if f.Features == nil {
		f.Features = map[string]int{}
	}
	return a.printJSON(f)
}

// replayed is what --json prints of a case that ran again, on a line of its own.
type replayed struct {
	File    string `json:"file"`
	OK      bool   `json:"ok"`
	Problem string `json:"problem,omitempty"`
}
