package fuzz

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"time"
)

// This file runs the programs in another process, which may crash, hang, or
// lose its device without ending the test.

// Report is what came of a session.
type Report struct {
	Programs int
	Tally    Tally
	// Kinds counts the problems, findings and others.
	Kinds map[Kind]int
	// Features counts the programs that have each part of the language.
	Features map[string]int
	Findings []*Finding
	// Restarts is how often the process that ran the programs ended before its time.
	Restarts int
}

// Note adds an event to the report.
func (r *Report) Note(e Event) {
	if e.Finding != nil && e.Finding.Small {
		for i, f := range r.Findings {
			if f.Seed == e.Seed {
				r.Findings[i] = e.Finding
			}
		}
		return
	}
	if !e.Done {
		return
	}
	if r.Kinds == nil {
		r.Kinds, r.Features = map[Kind]int{}, map[string]int{}
	}
	r.Programs++
	r.Tally.add(e.Tally)
	for k, n := range e.Kinds {
		r.Kinds[k] += n
	}
	for _, f := range e.Features {
		r.Features[f]++
	}
	if e.Finding != nil {
		r.Kinds[e.Finding.Kind]++
		r.Findings = append(r.Findings, e.Finding)
	}
}

// Causes groups the findings by cause, the commonest first; in each group the smallest case is first.
func (r *Report) Causes() [][]*Finding {
	groups := map[string][]*Finding{}
	for _, f := range r.Findings {
		groups[f.Cause] = append(groups[f.Cause], f)
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b *Finding) int { return cmp.Compare(len(a.Case), len(b.Case)) })
	}
	causes := slices.Sorted(maps.Keys(groups))
	slices.SortStableFunc(causes, func(a, b string) int { return len(groups[b]) - len(groups[a]) })
	var all [][]*Finding
	for _, cause := range causes {
		all = append(all, groups[cause])
	}
	return all
}

// Supervisor runs programs in other processes.
type Supervisor struct {
	// Command makes the process that runs count programs from a seed on and writes its events to stdout, a line of JSON each.
	Command func(ctx context.Context, seed uint64, count int) *exec.Cmd
	// Shrinker makes the process that reads findings from stdin, a line of JSON each, and makes them smaller.
	Shrinker func(ctx context.Context) *exec.Cmd
	// Topic is what the programs are about.
	Topic Topic
	// Silence is how long a process may go without an event before it counts as hanging.
	Silence time.Duration
	// Events gets every event.
	Events func(Event)
}

// maxRestarts bounds how often a process that ends early is replaced.
const maxRestarts = 100

// Run runs count programs from a seed on, or as many as the context leaves time for.
func (s *Supervisor) Run(ctx context.Context, seed uint64, count int) (*Report, error) {
	report := &Report{}
	note := func(e Event) {
		report.Note(e)
		if s.Events != nil {
			s.Events(e)
		}
	}
	for end := seed + uint64(count); seed < end && ctx.Err() == nil; {
		next, suspects, err := s.batch(ctx, seed, int(end-seed), note)
		if err == nil || ctx.Err() != nil {
			return report, nil
		}
		if report.Restarts++; report.Restarts > maxRestarts {
			return report, fmt.Errorf("the process that runs the programs ended %d times: %w", report.Restarts, err)
		}
		if next == seed && len(suspects) == 0 {
			return report, err // it did not even begin
		}
		for _, one := range suspects {
			if ctx.Err() != nil {
				return report, nil
			}
			_, alone, err := s.batch(ctx, one, 1, note)
			if err != nil && len(alone) > 0 && ctx.Err() == nil {
				note(Event{Seed: one, Done: true, Finding: finding(one, problem(Hang, "%v", err), GenerateAbout(s.Topic, one))})
			}
		}
		seed = next
	}
	return report, nil
}

// Shrink makes the findings of a report smaller, until the context ends or the process does.
func (s *Supervisor) Shrink(ctx context.Context, report *Report) error {
	if len(report.Findings) == 0 {
		return nil
	}
	var lines bytes.Buffer
	out := json.NewEncoder(&lines)
	for _, f := range report.Findings {
		if err := out.Encode(f); err != nil {
			return err
		}
	}
	return s.watch(ctx, func(ctx context.Context) *exec.Cmd {
		cmd := s.Shrinker(ctx)
		cmd.Stdin = &lines
		return cmd
	}, func(e Event) {
		report.Note(e)
		if s.Events != nil {
			s.Events(e)
		}
	})
}

// batch runs one process. It gives the first seed that was not begun, and those that were begun and did not end.
func (s *Supervisor) batch(ctx context.Context, seed uint64, count int, note func(Event)) (next uint64, suspects []uint64, err error) {
	next = seed
	open := map[uint64]bool{}
	err = s.watch(ctx, func(ctx context.Context) *exec.Cmd { return s.Command(ctx, seed, count) }, func(e Event) {
		if next = max(next, e.Seed+1); e.Done {
			delete(open, e.Seed)
		} else {
			open[e.Seed] = true
		}
		note(e)
	})
	for one := range open {
		suspects = append(suspects, one)
	}
	return next, suspects, err
}

// watch runs a process, which must not be silent for long, and gives its events; the error has the end of its stderr.
func (s *Supervisor) watch(ctx context.Context, command func(context.Context) *exec.Cmd, note func(Event)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cmd := command(ctx)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	tail := &lastLines{}
	cmd.Stderr = tail
	if err := cmd.Start(); err != nil {
		return err
	}
	silent := time.AfterFunc(s.Silence, func() { stop(fmt.Errorf("nothing happened for %s", s.Silence)) })
	defer silent.Stop()
	for d := json.NewDecoder(bufio.NewReader(out)); ; {
		var e Event
		if err := d.Decode(&e); err != nil {
			break
		}
		silent.Reset(s.Silence)
		note(e)
	}
	_, _ = io.Copy(io.Discard, out)
	if err = cmd.Wait(); err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("%w\n%s", err, tail)
}

// lastLines keeps the end of what is written to it.
type lastLines struct{ text []byte }

// Write keeps the end of what is written.
func (l *lastLines) Write(p []byte) (int, error) {
	const most = 8000
	l.text = append(l.text, p...)
	if n := len(l.text); n > most {
		l.text = append(l.text[:most/2:most/2], l.text[n-most/2:]...)
	}
	return len(p), nil
}

// String is what was kept.
func (l *lastLines) String() string { return string(l.text) }
