package run

import (
	"encoding/binary"
	"time"

	"tilec/jit/ir"
	"tilec/jit/misuse"
	"tilec/jit/tensor"
)

// This file reads when the launches of a program that is timed began and ended, by the GPU's own clock: in a program that is
// recorded, launches begin while those before them run.

// LaunchTime is when a launch of the last run began and ended, from the beginning of the first on.
type LaunchTime struct {
	// Name is the kernel's, and Plan what the planner chose.
	Name, Plan string
	// Bytes is the size of the tensors that the launch is given.
	Bytes int64
	// Began is when the first block began, FirstReleased and LastReleased when blocks had the results of the launches before, and
	// Ended when the last block ended.
	Began, FirstReleased, LastReleased, Ended time.Duration
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
		at := data[i*ir.TimesBytes:]
		for _, least := range []int{ir.TimesBegan, ir.TimesFirstReleased} {
			binary.LittleEndian.PutUint64(at[least:], ^uint64(0))
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
		return nil, misuse.New("Program.Times", p.bound.Name+" was not bound with Compiler.Timed on a GPU, as a graph: its launches leave no times", misuse.ErrUnset)
	}
	data := make([]byte, p.times.Size)
	if err := p.device.Read(data, p.times, 0); err != nil {
		return nil, err
	}
	var times []LaunchTime
	var start uint64
	for i := range p.steps {
		s, at := &p.steps[i], data[i*ir.TimesBytes:]
		if s.empty || binary.LittleEndian.Uint64(at[ir.TimesEnded:]) == 0 {
			continue
		}
		if len(times) == 0 {
			start = binary.LittleEndian.Uint64(at[ir.TimesBegan:])
		}
		since := func(word int) time.Duration {
			return time.Duration(binary.LittleEndian.Uint64(at[word:]) - start)
		}
		t := LaunchTime{Name: s.Spec.Name(), Plan: s.compiled.Plan.String(), Began: since(ir.TimesBegan), FirstReleased: since(ir.TimesFirstReleased), LastReleased: since(ir.TimesLastReleased), Ended: since(ir.TimesEnded)}
		for j := range s.Tensors {
			t.Bytes += s.Tensors[j].DType.Bytes(tensor.Elements(s.Tensors[j].Shape))
		}
		times = append(times, t)
	}
	return times, nil
}
