package jit

import (
	"strings"
	"tilec/typecheck/typed"
)

// check is one check of a test that is bound: what it compares.
type check struct {
	stmt *typed.GCheck
	a, b gval // b is empty when the check is of a bool
	// round is which rounds of loops it is in; "" for none.
	round string
}

// check writes down what a check compares.
func (f *frame) check(s *typed.GCheck) (err error) {
	c := check{stmt: s, round: strings.Join(f.rounds, ", ")}
	if c.a, err = f.eval(s.A); err != nil {
		return err
	}
	if s.B != nil {
		if c.b, err = f.eval(s.B); err != nil {
			return err
		}
	}
	f.checks = append(f.checks, c)
	return nil
}
