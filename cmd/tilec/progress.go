package main

import (
	"fmt"
	"io"
	"time"
)

// progress is a line on a terminal that says how far long work is. It appears once the work has taken a second, and goes when the work is done, so
// that what stays on the screen is the same for quick and for slow machines.
type progress struct {
	to io.Writer
	// terminal says that what is written is for a person who looks at it: nothing is written otherwise.
	terminal bool
	what     string
	// amount says a count to people.
	amount func(n int64) string
	now    func() time.Time
	begin  time.Time
	last   time.Time
	shown  bool
}

const (
	progressAfter = time.Second
	progressEvery = 100 * time.Millisecond
	clearLine     = "\r\x1b[K"
)

// progress makes the line for work that begins now.
func (a *app) progress(what string, amount func(int64) string) *progress {
	return &progress{to: a.stderr, terminal: isTerminal(a.stderr), what: what, amount: amount, now: time.Now, begin: time.Now()}
}

// update says how much is done, of how much.
func (p *progress) update(done, total int64) {
	now := p.now()
	if !p.terminal || now.Sub(p.begin) < progressAfter || now.Sub(p.last) < progressEvery {
		return
	}
	p.last, p.shown = now, true
	fmt.Fprintf(p.to, "%s%s: %s of %s, %d %%", clearLine, p.what, p.amount(done), p.amount(total), 100*done/max(total, 1))
}

// clear takes the line away.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.to, clearLine)
		p.shown = false
	}
}
