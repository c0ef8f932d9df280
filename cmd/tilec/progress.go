package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
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
	logs := os.Getenv("CUTILE_LOGS") != "" // what the compiler logs would be written into the line
	return &progress{to: a.stderr, terminal: isTerminal(a.stderr) && !logs, what: what, amount: amount, now: time.Now, begin: time.Now()}
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
	return sync.OnceFunc(func() {
		close(done)
		<-ended
		p.clear()
	})
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

// followRun shows for how long a kernel or graph has been at work and, in the emulator, how many blocks of a launch have ended, until it is stopped.
// What kernels and profiles print takes the place of the line.
func (a *app) followRun(c *jit.Compiler, name string) (stop func()) {
	line := a.progress(name, nil)
	if !line.terminal {
		return func() {}
	}
	c.Output = line
	var launch atomic.Pointer[string] // how far the emulator is
	if e, ok := c.Device.(*jit.Emulator); ok {
		e.Progress = func(kernel string, blocks, of int64) {
			text := fmt.Sprintf(": %s, block %d of %d, %d %%", kernel, blocks, of, 100*blocks/max(of, 1))
			if blocks == of { // what follows may be another's work
				text = ""
			}
			launch.Store(&text)
		}
		if e.OnLaunch != nil {
			e.OnLaunch = func(kernel string, r *emu.Report) { r.Print(line, kernel) }
		}
	}
	begin := time.Now()
	return line.follow(func() string {
		text := fmt.Sprintf("%s on %s, %.0f s", name, c.Device.ID(), time.Since(begin).Seconds())
		if l := launch.Load(); l != nil {
			text += *l
		}
		return text
	})
}
