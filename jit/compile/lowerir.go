package compile

import (
	"slices"

	"tilec/jit/bug"
	"tilec/jit/ir"
	"tilec/jit/log"
	"tilec/jit/misuse"
	"tilec/jit/pass"
	"tilec/jit/plan"
	"tilec/jit/spec"
	"tilec/jit/target"
)

// LowerIR goes on from a kernel's IR, after whichever pass: the passes run, which leave alone what they have done already, a
// plan is chosen for what has no extent yet, and the backend of the target compiles. IR that has all its extents is as a
// backend gets it: no pass runs any more. sizes guides the planner, as those of a launch do; pins fixes extents and
// settings by name. Neither need be given, and f is left as it was.
func LowerIR(f *ir.Func, target target.Machine, sizes, pins map[string]int64, logs *log.Logs) (l *Lowered, err error) {
	const call = "LowerIR"
	if f == nil || f.Body == nil {
		return nil, misuse.Unset(call, "there is no IR: ir.Parse gives it")
	}
	if target.Name == "" {
		return nil, misuse.Unset(call, "there is no target: target.Find gives one")
	}
	begun := f
	stage := "passes"
	defer func() {
		if r := recover(); r != nil {
			l, err = nil, bug.Recovered(stage, r)
		}
		err = bug.In(err, func(e *bug.Error) {
			if e.Kernel = f.Name; e.IR == "" {
				e.IR = TextOf(begun)
			}
			e.Set("target", "%s", target.Name)
			e.Set("sizes", "%s", bug.Assignments(sizes))
			e.Set("pins", "%s", bug.Assignments(pins))
		})
	}()
	f = ir.Clone(f)
	if !target.IsGPU() { // one block goes through all of an axis
		ir.Unshare(f)
	}
	size := func(d *ir.Dim) int64 { return spec.Class(max(sizes[d.Name], 1)) }
	if planned(f) {
		stage = "plan"
		l, err = asItIs(f, target, size, pins)
	} else {
		if err := pass.Run(f, pass.Options{Verify: true, Matrix: hasMatrixUnit(target), Dump: logs.Dump()}); err != nil {
			return nil, err
		}
		logs.Print(log.IR, f.Name, f.String)
		stage = "plan"
		p := &planning{f: f, target: target, sizes: size}
		if l, err = p.fit(pins); err == nil {
			l, err = p.orForFewRows(&spec.Spec{}, pins, l)
		}
		if err == nil {
			l, err = p.orSideBySide(&spec.Spec{}, pins, l)
		}
	}
	if err != nil {
		return nil, err
	}
	logs.Print(log.Plan, f.Name, l.Reasons)
	l.logBlock(logs)
	stage = "code"
	if err := l.Code.Check(); err != nil {
		return nil, bug.In(err, func(e *bug.Error) { l.about(e, nil) })
	}
	return l, nil
}

// KnownPins are the pins that mean something to a kernel's IR: to an axis that it has, or to the plan as a whole.
func KnownPins(f *ir.Func, pins map[string]int64) map[string]int64 {
	known := map[string]int64{}
	for name, n := range pins {
		if f != nil && (isSetting(name) || slices.ContainsFunc(f.Axes, func(a *ir.Axis) bool { return plan.Parameter(a) == name })) {
			known[name] = n
		}
	}
	return known
}
