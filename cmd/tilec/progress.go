package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"tilec/jit"
	"tilec/jit/emu"
)

// progress is a line on a terminal that says how far long work is. It appears once the work has taken a second, and goes when the work is done, so
// that what stays on the screen is the same for quick and for slow machines. It is safe for concurrent use.
type progress struct {
	to io.Writer
	// terminal says that what is written is for a person who looks at it: there is no line otherwise.
	terminal bool
	what     string
	// amount says a count to people.
	amount func(n int64) string
	now    func() time.Time

	mu    sync.Mutex
	begin time.Time
	last  time.Time
	shown bool
}

const (
	progressAfter = time.Second
	progressEvery = 100 * time.Millisecond
	clearLine     = "\r\x1b[K"
	// lineWidth is how much of a line is shown, in characters: a line that a terminal breaks in two could not be cleared.
	lineWidth = 79
)

// progress makes the line for work that begins now.
func (a *app) progress(what string, amount func(int64) string) *progress {
	return &progress{to: a.stderr, terminal: isTerminal(a.stderr), what: what, amount: amount, now: time.Now, begin: time.Now()}
}

// update says how much is done, of how much.
func (p *progress) update(done, total int64) {
	if p.terminal {
		p.show(fmt.Sprintf("%s: %s of %s, %d %%", p.what, p.amount(done), p.amount(total), 100*done/max(total, 1)))
	}
}

// show says how far the work is, where it is time for that.
func (p *progress) show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if !p.terminal || now.Sub(p.begin) < progressAfter || now.Sub(p.last) < progressEvery {
		return
	}
	if runes := []rune(text); len(runes) > lineWidth {
		text = string(runes[:lineWidth-3]) + "..."
	}
	p.last, p.shown = now, true
	fmt.Fprintf(p.to, "%s%s", clearLine, text)
}

// follow shows how far work is that tells nothing by itself, from now on until it is stopped.
func (p *progress) follow(text func() string) (stop func()) {
	if !p.terminal {
		return func() {}
	}
	p.mu.Lock()
	p.begin = p.now()
	p.mu.Unlock()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				p.show(text())
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		p.clear()
	}
}

// clear takes the line away.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
}

// wipe is clear for who holds the lock.
func (p *progress) wipe() {
	if p.shown {
		fmt.Fprint(p.to, clearLine)
		p.shown = false
	}
}

// Write writes what stays, in place of the line.
func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipe()
	return p.to.Write(text)
}

// followEmulator makes a line that shows how far launches in the emulator are, where the compiler's device is one. What kernels and profiles print
// takes its place.
func (a *app) followEmulator(c *jit.Compiler) *progress {
	line := a.progress("emulating", nil)
	e, ok := c.Device.(*jit.Emulator)
	if !ok || !line.terminal {
		return line
	}
	c.Output = line
	e.Progress = func(kernel string, blocks, of int64) {
		line.show(fmt.Sprintf("emulating %s: block %d of %d, %d %%", kernel, blocks, of, 100*blocks/max(of, 1)))
	}
	if e.OnLaunch != nil {
		e.OnLaunch = func(kernel string, r *emu.Report) { r.Print(line, kernel) }
	}
	return line
}
