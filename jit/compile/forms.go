package compile

import (
	"tilec/jit/backend"
	"tilec/jit/bug"
	"tilec/jit/build"
	"tilec/jit/ir"
	"tilec/jit/misuse"
	"tilec/jit/plan"
	"tilec/jit/spec"
	"tilec/jit/target"
)

// Form is a kernel's IR at a point on its way to a target's backend.
type Form struct {
	// Pass is what gave it the form: "" for the kernel as it was built, the name of a pass, or "plan" for the
	// extents that the planner chose, with which the backend gets it.
	Pass string
	Func *ir.Func
}

// Forms gives every form that a kernel has between its source and the backend of a target, in order. With an
// error, which a pass may be the cause of, come the forms up to there.
func Forms(s *spec.Spec, target target.Machine) (forms []Form, err error) {
	if err := s.Check("Forms"); err != nil {
		return nil, err
	}
	if target.Name == "" {
		return nil, misuse.Unset("Forms", "there is no target: target.Find gives one")
	}
	_, err = lower(s, target, lowering{forms: func(pass string, f *ir.Func) {
		forms = append(forms, Form{pass, ir.Clone(f)})
	}})
	return forms, err
}

// lowerForm plans a form of a specialisation as it is: no pass runs.
func lowerForm(s *spec.Spec, f *ir.Func, target target.Machine) (*Lowered, error) {
	_, dims, err := build.Kernel(s.Whole(), target.Name)
	if err != nil {
		return nil, err
	}
	f = ir.Clone(f)
	if !target.IsGPU() {
		ir.Unshare(f)
	}
	l, err := asItIs(f, target, func(d *ir.Dim) int64 {
		n, err := dims.Size(d, s)
		if err != nil {
			return 1
		}
		return s.Reckoned(n)
	}, nil)
	if err == nil {
		l.dims = dims
	}
	return l, err
}

// asItIs plans what has no extent in a kernel's IR and makes code of it; no pass runs, and no axis is cut. f becomes the kernel that is lowered.
func asItIs(f *ir.Func, target target.Machine, sizes func(*ir.Dim) int64, pins map[string]int64) (*Lowered, error) {
	p, err := plan.Choose(f, target, sizes, pins)
	if err != nil {
		return nil, err
	}
	p.Chunks = nil
	if err := p.Apply(f); err != nil {
		return nil, err
	}
	l := &Lowered{Func: f, Plan: p, target: target, uncut: f, sizes: sizes}
	if l.Code, err = backend.Make(f, p, target, nil); err != nil {
		return nil, bug.In(err, func(e *bug.Error) { l.about(e, nil) })
	}
	return l, nil
}

// planned reports IR that a plan was applied to: every axis that blocks or steps walk has its extent.
func planned(f *ir.Func) bool {
	walked := false
	for _, a := range f.Axes {
		if a.Kind == ir.Whole || a.Scalar {
			continue
		}
		if walked = true; a.Extent <= 0 {
			return false
		}
	}
	return walked
}
