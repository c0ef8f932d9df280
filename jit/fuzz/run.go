// Package fuzz tests the compiler by random programs: it generates sources that
// type-check, runs them on a device at several shapes, plans and inputs, and
// compares every element with a reference that knows how far a correct result
// may be off. What differs is made as small as it can be and kept as a file.
package fuzz

import (
	"context"
	"sync"
	"time"

	"tilec/jit/backend"
)

// Finding is a program on which something is wrong.
type Finding struct {
	Seed    uint64 `json:"seed"`
	Kind    Kind   `json:"kind"`
	Problem string `json:"problem"`
	// Cause tells findings apart; findings of one cause are most likely one mistake.
	Cause string `json:"cause"`
	// Case is the program, as small as it was made, with its run.
	Case string `json:"case"`
	// Small: the case was made smaller, or cannot be.
	Small bool `json:"small,omitempty"`
}

// finding makes a finding of a problem.
func finding(seed uint64, p *Problem, cs *Case) *Finding {
	return &Finding{Seed: seed, Kind: p.Kind, Problem: p.Text, Cause: causeOf(p, cs), Case: cs.String()}
}

// Event tells of the progress of one program: that it begins, what came of it,
// or that its finding was made smaller.
type Event struct {
	Seed    uint64       `json:"seed"`
	Done    bool         `json:"done,omitempty"`
	Tally   Tally        `json:"tally"`
	Kinds   map[Kind]int `json:"kinds,omitempty"` // problems that are no finding
	Finding *Finding     `json:"finding,omitempty"`
	// Features is what the program is made of.
	Features []string      `json:"features,omitempty"`
	Spent    time.Duration `json:"spent,omitempty"`
}

// Config says which programs to run where.
type Config struct {
	Device backend.Device
	// Topic is what the programs are about.
	Topic Topic
	// Seed of the first program; the others follow it.
	Seed  uint64
	Count int
	// Jobs is how many programs are worked on at once.
	Jobs int
	// Events gets every event, one at a time.
	Events func(Event)
}

// Run runs programs until they are done or the context ends. It is an error
// when the device works no more; the programs that had begun then are suspects.
func Run(ctx context.Context, cfg Config) error {
	c := newChecker(cfg.Device)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var events sync.Mutex
	var lost error // the device works no more
	emit := func(e Event) {
		events.Lock()
		defer events.Unlock()
		if lost == nil {
			cfg.Events(e)
		}
	}
	lose := func(err error) {
		events.Lock()
		defer events.Unlock()
		lost = err
		cancel()
	}
	next := make(chan uint64)
	go func() {
		defer close(next)
		for n := range uint64(cfg.Count) {
			select {
			case next <- cfg.Seed + n:
			case <-ctx.Done():
				return
			}
		}
	}()
	var workers sync.WaitGroup
	for range max(1, cfg.Jobs) {
		workers.Go(func() {
			for seed := range next {
				emit(Event{Seed: seed})
				e := c.program(cfg.Topic, seed)
				if e.Finding != nil && e.Finding.Kind == RunError {
					if err := c.alive(); err != nil {
						if cfg.Count == 1 {
							emit(e)
						}
						lose(err)
						return
					}
				}
				emit(e)
			}
		})
	}
	workers.Wait()
	return lost
}

// alive reports whether the device still works.
func (c *checker) alive() error {
	m, err := c.device.Alloc(256)
	if err != nil {
		return err
	}
	defer c.device.Free(m)
	if err := c.device.Write(m, 0, make([]byte, 256)); err != nil {
		return err
	}
	return c.device.Sync()
}

// program generates one program about a topic and runs it.
func (c *checker) program(topic Topic, seed uint64) Event {
	begin := time.Now()
	e := Event{Seed: seed, Done: true}
	cs := GenerateAbout(topic, seed)
	e.Features = Features(cs)
	if topic == Anything {
		topic = topicOf(seed)
	}
	if topic != Anything {
		e.Features = append(e.Features, "topic "+string(topic))
	}
	t, kinds, r, p := c.runCase(cs)
	e.Tally, e.Kinds = t, kinds
	for name := range t.instructions {
		e.Features = append(e.Features, "instruction "+name)
	}
	if p != nil {
		e.Finding = finding(seed, p, cs.with(r))
	}
	e.Spent = time.Since(begin)
	return e
}

// runCase runs a case until something is wrong; r is the run that it is wrong in.
func (c *checker) runCase(cs *Case) (t Tally, kinds map[Kind]int, r Trial, p *Problem) {
	kinds = map[Kind]int{}
	if len(cs.Trials) == 0 {
		if t, p = c.runTests(cs); p != nil && !p.Kind.finding() {
			kinds[p.Kind]++
			p = nil
		}
		return t, kinds, r, p
	}
	check := func(r Trial) (Tally, *Problem) { return c.checkChain(cs.Source, r) }
	if !cs.isChain() {
		k, p := load(cs.Source)
		if p != nil {
			return t, kinds, cs.Trials[0], p
		}
		check = func(r Trial) (Tally, *Problem) { return c.check(k, r) }
	}
	for _, r := range cs.Trials {
		u, p := check(r)
		t.add(u)
		if p != nil && (p.Kind == Refused || p.Kind == CompileError && len(r.Pins) > 0) {
			kinds[Refused]++ // what pins ask for may not fit; without them it must
			r.Pins = nil
			u, p = check(r)
			t.add(u)
		}
		switch {
		case p == nil:
		case p.Kind.finding():
			return t, kinds, r, p
		default:
			kinds[p.Kind]++
		}
	}
	return t, kinds, r, nil
}

// Replay runs a case on a device; the error says what is wrong.
func Replay(d backend.Device, cs *Case) (Tally, error) {
	t, _, _, p := newChecker(d).runCase(cs)
	if p != nil {
		return t, p
	}
	return t, nil
}
