package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tilec/jit"
	"tilec/jit/file"
	"tilec/jit/log"
)

// This file writes traces: what tilec did, by the host's clock, and when launches began and ended on a GPU, by the GPU's, with what they had to
// do, as JSON in the Trace Event Format, which Perfetto and chrome://tracing open.

// traceFlag adds --trace, of a command that leaves spans of its work.
func (a *app) traceFlag(f *pflag.FlagSet, what string) {
	f.StringVar(&a.trace, "trace", "", "save "+what+", to a file that Perfetto opens")
}

// beginTrace refuses, before anything is done, a --trace that could not be written, and keeps what is measured from now on.
func (a *app) beginTrace(cmd *cobra.Command) error {
	if a.trace == "" {
		return nil
	}
	a.logs.KeepSpans(cmd.Name() == "run" && cmd.Parent() == cmd.Root()) // a benchmark's launches are timed, and not to be disturbed
	return file.Check(a.trace)
}

// traceEvent is a span of time, in microseconds. Spans of one thread lie beside or inside each other.
type traceEvent struct {
	Name     string     `json:"name"`
	Phase    string     `json:"ph"`
	Begin    float64    `json:"ts"`
	Duration float64    `json:"dur"`
	Process  int        `json:"pid"`
	Thread   int        `json:"tid"`
	Args     *traceArgs `json:"args,omitempty"`
}

// traceName names a process of a trace.
type traceName struct {
	Name    string            `json:"name"`
	Phase   string            `json:"ph"`
	Process int               `json:"pid"`
	Args    map[string]string `json:"args"`
}

// The processes of a trace: each has a clock of its own.
const (
	traceDevice = 1
	traceHost   = 2
)

// traceArgs is what is told of a launch.
type traceArgs struct {
	Plan string `json:"plan"`
	// FLOP and Bytes are what the launch has to compute and to move at least, and RooflineUS the time that the machine's rates give for that.
	FLOP       int64   `json:"flop"`
	Bytes      int64   `json:"bytes"`
	RooflineUS float64 `json:"roofline_us"`
	// AddedUS is by how much the launch ended later than all before it, and Roofline the part of that which RooflineUS is.
	AddedUS  float64 `json:"added_us"`
	Roofline float64 `json:"roofline"`
	// LastBlockBeganUS is from its beginning until its last block began, which tells for how long blocks found no room.
	LastBlockBeganUS float64 `json:"last_block_began_us"`
	// WaitedUS is from its beginning until its first block had the results of the launches before, LastBlockWaitedUS until its last one had,
	// and WorkedUS from the first block's to the end.
	WaitedUS          float64 `json:"waited_us"`
	LastBlockWaitedUS float64 `json:"last_block_waited_us"`
	WorkedUS          float64 `json:"worked_us"`
}

// tracedRuns is how many runs go before the one that is traced: the first compiles and the second records.
const tracedRuns = 4

// lanes is over how many lines of the picture launches are spread, since they begin before those ahead of them have ended.
const lanes = 4

// traceLaunch runs a launch on a GPU until it is warm, and keeps when the parts of the last run began and ended, for the trace. What a CPU did is in
// the trace by the host's clock.
func (a *app) traceLaunch(l *jit.Launch, d jit.Device) error {
	if !d.Target().IsGPU() {
		return nil
	}
	for range tracedRuns {
		if err := l.Run(); err != nil {
			return err
		}
	}
	times, err := l.Program.Times()
	if err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	return a.keepLaunches(times, d)
}

// keepLaunches keeps launches for the trace, and sums them up on stderr.
func (a *app) keepLaunches(times []jit.LaunchTime, d jit.Device) error {
	if len(times) == 0 {
		return errors.New("--trace: no launch ran a block, so that there are no times")
	}
	begin := times[0].Began
	ended, idle := begin, time.Duration(0)
	for i, t := range times {
		added := max(t.Ended-ended, 0)
		idle += max(t.FirstReleased-ended, 0)
		ended = max(ended, t.Ended)
		args := traceArgs{
			Plan: t.Plan, FLOP: t.Work.FLOP, Bytes: t.Work.Bytes, RooflineUS: t.Work.Time * 1e6, AddedUS: micro(added),
			LastBlockBeganUS: micro(t.LastBegan - t.Began), WaitedUS: micro(t.FirstReleased - t.Began), LastBlockWaitedUS: micro(t.LastReleased - t.Began), WorkedUS: micro(t.Ended - t.FirstReleased),
		}
		if added > 0 {
			args.Roofline = t.Work.Time / added.Seconds()
		}
		whole := traceEvent{Name: t.Name, Phase: "X", Begin: micro(t.Began - begin), Duration: micro(t.Ended - t.Began), Process: traceDevice, Thread: i % lanes, Args: &args}
		work := traceEvent{Name: "work", Phase: "X", Begin: micro(t.FirstReleased - begin), Duration: args.WorkedUS, Process: traceDevice, Thread: i % lanes}
		a.launches = append(a.launches, whole, work)
	}
	a.sayTrace(a.launches, ended-begin, idle)
	if _, emulated := d.(*jit.Emulator); emulated {
		a.say("note: the emulator's times are instructions of one multiprocessor, a nanosecond each")
	}
	return nil
}

// endTrace writes the trace.
func (a *app) endTrace() error {
	if a.trace == "" || a.logs == nil {
		return nil
	}
	events := []any{}
	if len(a.launches) > 0 {
		events = append(events, traceName{"process_name", "M", traceDevice, map[string]string{"name": "launches, by the GPU's clock"}})
		for _, e := range a.launches {
			events = append(events, e)
		}
	}
	events = append(events, traceName{"process_name", "M", traceHost, map[string]string{"name": "tilec, by the host's clock"}})
	for _, e := range hostEvents(a.logs.Spans(), a.begin) {
		events = append(events, e)
	}
	data, err := json.MarshalIndent(map[string]any{"traceEvents": events, "displayTimeUnit": "ns"}, "", " ")
	if err != nil {
		return err
	}
	return file.WriteBytes(a.trace, append(data, '\n'))
}

// hostEvents are the events of spans, since a moment: the laps of a stopwatch lie inside one of all its work. Work that was done at the same time
// lies in threads side by side.
func hostEvents(spans []log.Span, since time.Time) []traceEvent {
	type work struct {
		name         string
		began, ended time.Time
		laps         []log.Span
	}
	var all []*work
	watches := map[int]*work{}
	for _, s := range spans {
		w := watches[s.Watch]
		switch {
		case s.Watch == 0:
			w = &work{name: strings.Join(s.Path, " "), began: s.Began}
			all = append(all, w)
		case w == nil:
			w = &work{name: strings.Join(s.Path[:len(s.Path)-1], " "), began: s.Began}
			watches[s.Watch] = w
			all = append(all, w)
		}
		if s.Watch != 0 {
			w.laps = append(w.laps, s)
		}
		w.ended = s.Began.Add(s.Took)
	}
	slices.SortStableFunc(all, func(x, y *work) int {
		return cmp.Or(x.began.Compare(y.began), -x.ended.Compare(y.ended))
	})
	var events []traceEvent
	var busy []time.Time // until when each thread is
	for _, w := range all {
		thread := slices.IndexFunc(busy, func(until time.Time) bool { return !until.After(w.began) })
		if thread < 0 {
			thread, busy = len(busy), append(busy, time.Time{})
		}
		busy[thread] = w.ended
		event := func(name string, began time.Time, took time.Duration) {
			events = append(events, traceEvent{Name: name, Phase: "X", Begin: micro(began.Sub(since)), Duration: micro(took), Process: traceHost, Thread: thread})
		}
		event(w.name, w.began, w.ended.Sub(w.began))
		for _, s := range w.laps {
			event(s.Path[len(s.Path)-1], s.Began, s.Took)
		}
	}
	return events
}

// sayTrace says what took the time.
func (a *app) sayTrace(events []traceEvent, total, idle time.Duration) {
	// What launches of a name and a plan added to the time.
	type kind struct {
		name, plan      string
		launches        int
		added, roofline float64
	}
	var kinds []*kind
	roofline := 0.0
	for _, e := range events {
		if e.Args == nil {
			continue
		}
		roofline += e.Args.RooflineUS
		i := slices.IndexFunc(kinds, func(k *kind) bool { return k.name == e.Name && k.plan == e.Args.Plan })
		if i < 0 {
			i, kinds = len(kinds), append(kinds, &kind{name: e.Name, plan: e.Args.Plan})
		}
		kinds[i].launches++
		kinds[i].added += e.Args.AddedUS
		kinds[i].roofline += e.Args.RooflineUS
	}
	slices.SortStableFunc(kinds, func(x, y *kind) int {
		switch {
		case x.added > y.added:
			return -1
		case x.added < y.added:
			return 1
		}
		return 0
	})
	var most []string
	for _, k := range kinds[:min(3, len(kinds))] {
		most = append(most, fmt.Sprintf("%s %.1f us (%d x, %.0f %% of the roofline)", k.name, k.added, k.launches, 100*k.roofline/max(k.added, 1e-3)))
	}
	a.say("trace: %d launches in %.1f us, %.0f %% of the roofline, %.0f %% between launches; the most: %s",
		len(events)/2, micro(total), 100*roofline/max(micro(total), 1e-3), 100*micro(idle)/max(micro(total), 1e-3), strings.Join(most, ", "))
}

func micro(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
