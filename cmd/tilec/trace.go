package main

import (
	"encoding/json"
	"fmt"
	"time"

	"tilec/jit"
	"tilec/jit/file"
)

// This file writes traces: when the launches of a run began and ended, as JSON in the Trace Event Format, which Perfetto and
// chrome://tracing open.

// traceEvent is a span of time, in microseconds. Spans of one thread lie beside or inside each other.
type traceEvent struct {
	Name     string         `json:"name"`
	Phase    string         `json:"ph"`
	Begin    float64        `json:"ts"`
	Duration float64        `json:"dur"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

// tracedRuns is how many runs go before the one that is traced: the first compiles and the second records.
const tracedRuns = 4

// lanes is over how many lines of the picture launches are spread, since they begin before those ahead of them have ended.
const lanes = 4

// trace runs a launch until it is warm, and writes when the parts of the last run began and ended.
func (a *app) trace(l *jit.Launch, path string) error {
	for range tracedRuns {
		if err := l.Run(); err != nil {
			return err
		}
	}
	times, err := l.Program.Times()
	if err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	events := []traceEvent{}
	for i, t := range times {
		events = append(events, traceEvent{
			Name: t.Name, Phase: "X", Begin: micro(t.Began), Duration: micro(t.Ended - t.Began), Process: 1, Thread: i % lanes,
			Args: map[string]any{
				"plan": t.Plan, "bytes": t.Bytes, "waited_us": micro(t.FirstReleased - t.Began), "worked_us": micro(t.Ended - t.FirstReleased),
				"last_block_waited_us": micro(t.LastReleased - t.Began),
			},
		}, traceEvent{
			Name: "work", Phase: "X", Begin: micro(t.FirstReleased), Duration: micro(t.Ended - t.FirstReleased), Process: 1, Thread: i % lanes,
		})
	}
	data, err := json.MarshalIndent(map[string]any{"traceEvents": events, "displayTimeUnit": "ns"}, "", " ")
	if err != nil {
		return err
	}
	return file.WriteBytes(path, append(data, '\n'))
}

func micro(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
