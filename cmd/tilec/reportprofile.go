package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"tilec/cmd/tilec/report"
	"tilec/jit"
	"tilec/jit/emu"
	"tilec/lang"
)

// profile runs the kernel in the emulator. Where that cannot be, or takes too long, the part says why; what lines cost is then nil.
func (w *reporting) profile() (report.Part, []report.Cost, error) {
	switch {
	case !w.machine.IsGPU():
		return report.Part{Missing: w.notGPU()}, nil, nil
	case w.options.limit == 0:
		return report.Part{Missing: "There is no profile, as --limit 0 says."}, nil, nil
	}
	launched, err := w.emulate()
	if err != nil {
		if _, ok := caughtBug(err); ok {
			return report.Part{}, nil, err
		}
		return report.Part{Missing: "There is no profile: " + err.Error()}, nil, nil
	}
	part, costs := w.profileOf(launched)
	return part, costs, nil
}

// emulated is what one launch cost.
type emulated struct {
	kernel string
	*emu.Report
}

// emulate runs the kernel once, for as long as the limit lets it.
func (w *reporting) emulate() (launched []emulated, err error) {
	device, err := jit.OpenDevice("emu:" + w.machine.Name)
	if err != nil {
		return nil, err
	}
	defer device.Close()
	e := device.(*jit.Emulator)
	e.OnLaunch = func(kernel string, r *emu.Report) { launched = append(launched, emulated{kernel, r}) }
	e.Progress = func(_ string, blocks, of int64) { w.begin(fmt.Sprintf("profile, block %d of %d", blocks, of)) }
	for p, d := range w.binding.to.TypeHints { // what no tensor tells is what the plan is for
		if _, told := w.binding.types[p]; !told {
			w.binding.types[p] = d
		}
	}
	values, err := w.binding.args(w.options.precision)
	if err != nil {
		return nil, err
	}
	launch, err := w.binding.to.On(jit.NewCompiler(device, w.logs)).Bind(values)
	if err != nil {
		return nil, err
	}
	defer launch.Close()
	late := fmt.Errorf("the emulator takes longer than %v: give smaller sizes, or --limit a longer time", w.options.limit)
	ctx, cancel := context.WithTimeoutCause(context.Background(), w.options.limit, late)
	defer cancel()
	if err := launch.RunContext(ctx); err != nil {
		if errors.Is(err, late) {
			return nil, late
		}
		return nil, err
	}
	return launched, nil
}

// profileOf lists what launches cost: the emulator's own figures, and each line of the sources with its part of all instructions.
func (w *reporting) profileOf(launched []emulated) (report.Part, []report.Cost) {
	type place struct {
		file string
		line int
	}
	var order []place
	sum, all := map[place]int64{}, int64(0)
	var figures bytes.Buffer
	for _, note := range w.notes {
		fmt.Fprintln(&figures, note)
	}
	for _, l := range launched {
		l.Print(&figures, l.kernel)
		for _, n := range l.Lines {
			at := place{n.File, n.Line}
			if _, ok := sum[at]; !ok {
				order = append(order, at)
			}
			sum[at] += n.Warps
			all += n.Warps
		}
	}
	lines := lang.Listing{{Text: "instructions executed by warps, by line of the source:"}}
	var costs []report.Cost
	for _, at := range order {
		part := float64(sum[at]) / float64(max(all, 1))
		line := lang.ListedLine{Text: fmt.Sprintf("%6.2f%% %12d  of no line", 100*part, sum[at])}
		for _, s := range w.sources {
			if s.Path == at.file && at.line > 0 {
				line = lang.ListedLine{Text: fmt.Sprintf("%6.2f%% %12d  %s:%d: %s", 100*part, sum[at], at.file, at.line, strings.TrimSpace(s.Line(at.line))), At: s.LineSpan(at.line)}
				costs = append(costs, report.Cost{File: at.file, Line: at.line, Part: part})
			}
		}
		lines = append(lines, line)
	}
	lines = append(lines, lang.ListedLine{})
	return report.Part{Lines: append(lines, report.Text(figures.String(), w.sources)...)}, costs
}
