package run

import (
	"context"
	"fmt"
	"slices"

	"tilec/jit/backend"
	"tilec/jit/log"
	"tilec/jit/tensor"
	"tilec/lang"
)

// This file records a program that runs again on the same arguments, and replays it from then on: the host then gives a
// GPU all launches by one call, and the GPU goes from one to the next by itself.

// fewest is how many launches make a recording worth its while: one launch alone costs no more than its replay.
const fewest = 2

// recorded is what a program has of its recording.
type recorded struct {
	// last is what the last run was of, recording what of.
	last, of  occasion
	recording backend.Recording
	// refused says that the program cannot be recorded.
	refused bool
}

// occasion is all that the launches of a run depend on: where tensors lie, and scalars.
type occasion struct {
	places  []uint64
	scalars []lang.Literal
}

func (o *occasion) equal(p *occasion) bool {
	return slices.Equal(o.places, p.places) && slices.Equal(o.scalars, p.scalars)
}

// occasion describes a run, in the room that into has.
func (p *Program) occasion(into occasion, tensors []*tensor.Tensor, scalars []lang.Literal) occasion {
	o := occasion{into.places[:0], append(into.scalars[:0], scalars...)}
	for _, t := range tensors {
		o.places = append(o.places, t.Memory.Address(), uint64(t.Offset))
	}
	for _, m := range []*backend.Memory{p.arena.Temps, p.arena.Scratch} {
		if m != nil {
			o.places = append(o.places, m.Address(), uint64(m.Size))
		}
	}
	for i, at := range p.placed {
		if at.memory != nil {
			o.places = append(o.places, uint64(i), at.memory.Address(), uint64(at.offset))
		}
	}
	return o
}

// replay does the launches of a run by a recording, and reports whether it did: a run on what the run before was on is
// recorded, and the runs after it on the same replay it.
func (p *Program) replay(ctx context.Context, tensors []*tensor.Tensor, scalars []lang.Literal) (done bool, err error) {
	r, ok := p.device.(backend.Recorder)
	if !ok || p.recorded.refused || p.observer != nil || len(p.steps) < fewest || p.compiler.Logs.On(log.Time) {
		return false, nil
	}
	if c, ok := p.device.(backend.Capturer); ok && c.Capturing() { // whose recording gets each launch
		return false, nil
	}
	now := p.occasion(occasion{}, tensors, scalars)
	again := now.equal(&p.recorded.last)
	p.recorded.last = now
	if p.recorded.recording == nil || !now.equal(&p.recorded.of) {
		if !again {
			return false, nil
		}
		if done, err := p.record(r, tensors, scalars); err != nil || !done {
			return false, err
		}
		p.recorded.of = now
	}
	if ctx.Err() != nil {
		return false, fmt.Errorf("%s: %w", p.bound.Name, context.Cause(ctx))
	}
	if err := p.recorded.recording.Replay(ctx); err != nil {
		return false, fmt.Errorf("%s: %w", p.bound.Name, err)
	}
	p.compiler.Logs.Line(log.Launch, "%s: %d launches replayed", p.bound.Name, len(p.steps))
	return true, nil
}

// record records the launches of a run; where they cannot be, the log says why, and they will not be tried again.
func (p *Program) record(r backend.Recorder, tensors []*tensor.Tensor, scalars []lang.Literal) (bool, error) {
	p.recorded.forget()
	tasks, refusal, err := p.tasks(tensors, scalars)
	if err != nil {
		return false, err
	}
	if refusal == "" {
		if p.recorded.recording, err = r.Record(tasks); err == nil {
			return true, nil
		}
		refusal = err.Error()
	}
	p.recorded.refused = true
	p.compiler.Logs.Line(log.Launch, "%s is not recorded, and costs the host each launch: %s", p.bound.Name, refusal)
	return false, nil
}

// tasks are the launches of a run as data, and what is done between them; refusal says why they cannot be.
func (p *Program) tasks(tensors []*tensor.Tensor, scalars []lang.Literal) (tasks []backend.Task, refusal string, err error) {
	for i := range p.steps {
		s := &p.steps[i]
		if s.debug != nil {
			return nil, fmt.Sprintf("%s prints or asserts, which the host looks at after each launch", s.Spec.Kernel.Name), nil
		}
		tasks = append(tasks, p.prepared(i)...)
		if s.empty {
			continue
		}
		if s.ranged {
			empty, err := s.ranges(s.scalarsOf(scalars))
			if err != nil {
				return nil, "", err
			}
			if empty {
				continue
			}
		}
		if err := s.begin(p.device, scalars); err != nil {
			return nil, "", err
		}
		p.arguments(s, tensors, scalars)
		tasks = append(tasks, backend.Task{Exe: s.compiled.Exe, Args: slices.Clone(s.args), Dependent: s.compiled.Func.Dependent})
	}
	return tasks, "", nil
}

// forget gives the recording back.
func (r *recorded) forget() {
	if r.recording != nil {
		_ = r.recording.Close()
		r.recording = nil
	}
}
