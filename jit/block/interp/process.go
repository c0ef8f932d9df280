package interp

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
)

// This file runs processes, the warps and the producers of a cluster's blocks, one at a time: a process goes on until it waits for
// something. Which one goes on then is a choice by which faults show: see Order.

// Order is which of the processes that can go on does: ProducersFirst, ProducersLast, or, of other numbers, one by chance each time, by
// numbers that begin with this one.
type Order int

// The orders. A producer that goes on whenever it can overwrites what is given back too early; one that goes on last brings what is
// not waited for too late. So with the first warps and the last ones.
const (
	ProducersFirst Order = iota
	ProducersLast
)

// process is a warp that computes, or a producer.
type process struct {
	name   string
	resume chan struct{}
	ready  func() bool // nil where it can go on
	what   string      // that it waits for
	ended  bool
}

// scheduler lets processes go on.
type scheduler struct {
	all     []*process
	current *process
	paused  chan struct{}
	order   Order
	chance  *rand.Rand
	fault   error
}

// stopped is the panic that ends a process where another has failed.
type stopped struct{}

// fault is the panic of a process that has found something wrong.
type fault struct{ err error }

// failf says what is wrong with the program that is run.
func failf(format string, args ...any) { panic(fault{fmt.Errorf(format, args...)}) }

// start adds a process, which begins when run does.
func (s *scheduler) start(name string, body func()) *process {
	p := &process{name: name, resume: make(chan struct{})}
	s.all = append(s.all, p)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				switch x := r.(type) {
				case stopped:
				case fault:
					if s.fault == nil {
						s.fault = fmt.Errorf("%s: %w", p.name, x.err)
					}
				default:
					panic(r)
				}
			}
			p.ended = true
			s.paused <- struct{}{}
		}()
		<-p.resume
		if s.fault != nil {
			panic(stopped{})
		}
		body()
	}()
	return p
}

// run lets all processes go on until they have ended, or one has found something wrong, or none can go on.
func (s *scheduler) run() error {
	for {
		next := s.next()
		if next == nil {
			break
		}
		s.advance(next)
		if s.fault != nil {
			break
		}
	}
	var stuck []string
	for _, p := range s.all {
		if !p.ended {
			stuck = append(stuck, fmt.Sprintf("%s waits for %s", p.name, p.what))
		}
	}
	if s.fault == nil && len(stuck) > 0 {
		s.fault = fmt.Errorf("nobody can go on: %s", strings.Join(stuck, "; "))
	}
	err := s.fault
	for _, p := range s.all {
		if !p.ended {
			s.advance(p) // which ends at once, for there is a fault
		}
	}
	return err
}

// advance lets one process go on until it waits.
func (s *scheduler) advance(p *process) {
	s.current = p
	p.resume <- struct{}{}
	<-s.paused
}

// next is the process that goes on; nil where none can.
func (s *scheduler) next() *process {
	from := 0
	if s.chance != nil {
		from = s.chance.Intn(len(s.all))
	}
	able := func(p *process) bool { return !p.ended && (p.ready == nil || p.ready()) }
	i := slices.IndexFunc(s.all[from:], able) + from
	if i < from {
		i = slices.IndexFunc(s.all, able)
	}
	if i < 0 {
		return nil
	}
	p := s.all[i]
	p.ready = nil
	return p
}

// arrange puts the processes in the order in which they go on.
func (s *scheduler) arrange(producer func(*process) bool) {
	if s.order > ProducersLast {
		s.chance = rand.New(rand.NewSource(int64(s.order)))
		return
	}
	slices.SortStableFunc(s.all, func(p, q *process) int {
		a, b := producer(p), producer(q)
		switch {
		case a == b:
			return 0
		case a == (s.order == ProducersFirst):
			return -1
		}
		return 1
	})
	if s.order == ProducersLast {
		n := slices.IndexFunc(s.all, producer)
		if n < 0 {
			n = len(s.all)
		}
		slices.Reverse(s.all[:n])
	}
}

// wait waits until something holds.
func (s *scheduler) wait(what string, ready func() bool) {
	p := s.current
	p.what, p.ready = what, ready
	s.paused <- struct{}{}
	<-p.resume
	if s.fault != nil {
		panic(stopped{})
	}
}

// yield lets those go on that come first.
func (s *scheduler) yield() { s.wait("its turn to run", func() bool { return true }) }

// barrier is a named barrier: those who sync wait for as many as are needed, those who arrive do not.
type barrier struct {
	need, here, round int
}

func (b *barrier) arrive() {
	b.here++
	if b.here == b.need {
		b.here, b.round = 0, b.round+1
	}
}

// sync arrives and waits for the others.
func (s *scheduler) sync(b *barrier, what string) {
	round := b.round
	b.arrive()
	s.wait(what, func() bool { return b.round > round })
}

// phases is an mbarrier: a phase is over when as many have arrived as are needed, and as many bytes have come as were announced.
type phases struct {
	need, here, round int
	// expected and begun are the bytes that were announced, and those of copies that have begun; land brings what they copy.
	expected, begun int
	land            []func()
}

func (m *phases) arrive() { m.here++ }

// over reports that the phase of so many rounds before it is over. Copies come when somebody waits for them, and not before.
func (m *phases) over(round int) bool {
	if m.round > round {
		return true
	}
	if m.here < m.need || m.begun != m.expected {
		return false
	}
	m.here, m.round, m.expected, m.begun = m.here-m.need, m.round+1, 0, 0
	for _, land := range m.land {
		land()
	}
	m.land = nil
	return m.round > round
}
