package graph

import (
	"strings"
	"tilec/typecheck/typed"
)

// Check is one check of a test that is bound: what it compares.
type Check struct {
	Stmt *typed.GCheck
	A, B Value // b is empty when the check is of a bool
	// Round is which rounds of loops it is in; "" for none.
	Round string
}

// check writes down what a check compares.
func (f *frame) check(s *typed.GCheck) (err error) {
	c := Check{Stmt: s, Round: strings.Join(f.rounds, ", ")}
	if c.A, err = f.eval(s.A); err != nil {
		return err
	}
	if s.B != nil {
		if c.B, err = f.eval(s.B); err != nil {
			return err
		}
	}
	f.checks = append(f.checks, c)
	return nil
}
