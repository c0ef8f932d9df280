package run

import (
	"encoding/binary"
	"time"

	"tilec/jit/ir"
	"tilec/jit/misuse"
	"tilec/jit/plan"
)

// This file reads when the launches of a program that is timed began and ended, by the GPU's own clock: in a program that is
// recorded, launches begin while those before them run.

// LaunchTime is when a launch of the last run began and ended, by the GPU's clock, which counts from some moment on.
type LaunchTime struct {
	// Name is the kernel's, and Plan what the planner chose.
	Name, Plan string
	// Work is what the launch has to do at least.
	Work plan.Work
	// Began and LastBegan are when the first and the last block began, FirstReleased and LastReleased when blocks had the results of the launches before, and
	// Ended when the last block ended.
	Began, LastBegan, FirstReleased, LastReleased, Ended time.Duration
}

// keepTimes takes memory for the times of launches that leave theirs.
func (p *Program) keepTimes() (err error) {
	for i := range p.steps {
		if p.steps[i].compiled.Func.Timed && p.device.Target().IsGPU() {
			p.times, err = p.device.Alloc(int64(len(p.steps)) * ir.TimesBytes)
			return err
		}
	}
	return nil
}

// clearTimes makes the memory for times ready for a run.
func (p *Program) clearTimes() error {
	if p.times == nil {
		return nil
	}
	data := make([]byte, p.times.Size)
	for i := range p.steps {
		for slot := range ir.TimesSlots {
			at := data[i*ir.TimesBytes+slot*ir.TimesSlotBytes:]
			for _, least := range []int{ir.TimesBegan, ir.TimesFirstReleased} {
				binary.LittleEndian.PutUint64(at[least:], ^uint64(0))
			}
		}
	}
	return p.device.Write(p.times, 0, data)
}

// Times gives when the launches of the last run began and ended, in their order; those that had no blocks are left out. The program
// must have been bound with Compiler.Timed, on a GPU.
func (p *Program) Times() ([]LaunchTime, error) {
	if err := p.usable("Program.Times"); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times == nil {
		return nil, misuse.New("Program.Times", p.bound.Name+" was not bound with Compiler.Timed on a GPU: its launches leave no times", misuse.ErrUnset)
	}
	data := make([]byte, p.times.Size)
	if err := p.device.Read(data, p.times, 0); err != nil {
		return nil, err
	}
	var times []LaunchTime
	for i := range p.steps {
		s, at := &p.steps[i], data[i*ir.TimesBytes:(i+1)*ir.TimesBytes]
		t := LaunchTime{Name: s.Spec.Name(), Plan: s.compiled.Plan.String(),
			Began: ofSlots(at, ir.TimesBegan, false), LastBegan: ofSlots(at, ir.TimesLastBegan, true), FirstReleased: ofSlots(at, ir.TimesFirstReleased, false),
			LastReleased: ofSlots(at, ir.TimesLastReleased, true), Ended: ofSlots(at, ir.TimesEnded, true)}
		if s.empty || t.Ended == 0 {
			continue
		}
		t.Work = s.compiled.Work(s.Spec, p.device.Target())
		times = append(times, t)
	}
	return times, nil
}

// ofSlots is the least of a time that a launch's slots have at a word, or the last.
func ofSlots(at []byte, word int, last bool) time.Duration {
	found := ^uint64(0)
	if last {
		found = 0
	}
	for slot := range ir.TimesSlots {
		t := binary.LittleEndian.Uint64(at[slot*ir.TimesSlotBytes+word:])
		if last {
			found = max(found, t)
		} else {
			found = min(found, t)
		}
	}
	return time.Duration(found)
}
