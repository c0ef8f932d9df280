package fuzz

import (
	"fmt"
	"strings"

	"tilec/jit"
	"tilec/typecheck/typed"
)

// runTests runs the tests that a case has in place of launches, and counts their checks.
func (c *checker) runTests(cs *Case) (t Tally, p *Problem) {
	defer func() {
		if e := recover(); e != nil {
			bug := jit.NewBug(e)
			p = problem(Crash, "%v\n%s", bug, bug.Stack)
		}
	}()
	program, ds := jit.Load("fuzz.tile", []byte(cs.Source), nil)
	if len(ds) > 0 {
		return t, rejected(ds)
	}
	if c.device.Target().IsGPU() {
		c.running.Lock()
		defer c.running.Unlock()
	}
	t.instructions = map[string]bool{}
	for _, test := range program.Tests {
		failures, err := watched(c.device, t.instructions).RunTest(test, jit.Options{})
		if err != nil {
			if p := compileProblem(err, false); p.Kind == Crash {
				return t, p
			}
			return t, problem(runErrorKind(err), "%v", err)
		}
		t.Launches++
		t.Elements += checked(test)
		if len(failures) > 0 {
			var texts []string
			for _, f := range failures {
				line, _ := f.Check.At.Position()
				texts = append(texts, fmt.Sprintf("fuzz.tile:%d: %s", line, strings.Join(f.Text(), "\n")))
			}
			return t, problem(Wrong, "%s", strings.Join(texts, "\n"))
		}
	}
	return t, nil
}

// checked is how many elements the checks of a test compare, where the test says their number.
func checked(t *typed.Test) (n int64) {
	typed.Walk(t, func(x typed.Node) bool {
		c, ok := x.(*typed.GCheck)
		if !ok || c.B == nil {
			return true
		}
		elements := int64(1)
		for _, s := range c.B.GType().Shape {
			if size, ok := s.Const(); ok {
				elements *= size
			}
		}
		n += elements
		return true
	})
	return n
}
