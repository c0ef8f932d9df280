package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tilec/jit"
	"tilec/jit/file"
)

// This file writes traces: when launches began and ended, and what they had to do, as JSON in the Trace Event Format, which Perfetto
// and chrome://tracing open.

func (o *runOptions) traceFlag(f *pflag.FlagSet) {
	f.StringVar(&o.trace, "trace", "", "save when the launches of a graph, or of a text's last step, began and ended on a GPU, and their part of the roofline, to a file that Perfetto opens")
}

// checkTrace refuses, before anything is compiled, a --trace that could not be written.
func (a *app) checkTrace(run runOptions, d jit.Device) error {
	if run.trace == "" {
		return nil
	}
	if !d.Target().IsGPU() {
		return usageError{fmt.Errorf("--trace needs a GPU, or --device emu, and the device is %s; CUTILE_LOGS=time prints how long each launch takes there", d.ID())}
	}
	return file.Check(run.trace)
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

// traceLaunch runs a launch until it is warm, and writes when the parts of the last run began and ended.
func (a *app) traceLaunch(l *jit.Launch, d jit.Device, path string) error {
	for range tracedRuns {
		if err := l.Run(); err != nil {
			return err
		}
	}
	times, err := l.Program.Times()
	if err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	return a.writeTrace(times, d, path)
}

// writeTrace writes a trace, and sums it up on stderr.
func (a *app) writeTrace(times []jit.LaunchTime, d jit.Device, path string) error {
	if len(times) == 0 {
		return errors.New("--trace: no launch ran a block, so that there are no times")
	}
	events := []traceEvent{}
	begin := times[0].Began
	ended, idle := begin, time.Duration(0)
	for i, t := range times {
		added := max(t.Ended-ended, 0)
		idle += max(t.FirstReleased-ended, 0)
		ended = max(ended, t.Ended)
		args := traceArgs{
			Plan: t.Plan, FLOP: t.Work.FLOP, Bytes: t.Work.Bytes, RooflineUS: t.Work.Time * 1e6, AddedUS: micro(added),
			WaitedUS: micro(t.FirstReleased - t.Began), LastBlockWaitedUS: micro(t.LastReleased - t.Began), WorkedUS: micro(t.Ended - t.FirstReleased),
		}
		if added > 0 {
			args.Roofline = t.Work.Time / added.Seconds()
		}
		whole := traceEvent{Name: t.Name, Phase: "X", Begin: micro(t.Began - begin), Duration: micro(t.Ended - t.Began), Process: 1, Thread: i % lanes, Args: &args}
		work := traceEvent{Name: "work", Phase: "X", Begin: micro(t.FirstReleased - begin), Duration: args.WorkedUS, Process: 1, Thread: i % lanes}
		events = append(events, whole, work)
	}
	data, err := json.MarshalIndent(map[string]any{"traceEvents": events, "displayTimeUnit": "ns"}, "", " ")
	if err != nil {
		return err
	}
	if err := file.WriteBytes(path, append(data, '\n')); err != nil {
		return err
	}
	a.sayTrace(events, ended-begin, idle)
	if _, emulated := d.(*jit.Emulator); emulated {
		a.say("note: the emulator's times are instructions of one multiprocessor, a nanosecond each")
	}
	return nil
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
