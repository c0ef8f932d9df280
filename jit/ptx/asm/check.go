package asm

import (
	"fmt"
	"slices"
	"strings"
)

// Check looks for what no code of a compiler may have: a register that is read where, on some way there, nothing has
// written it, an operand of a wrong type, a condition that is no predicate, an instruction that the table of effects has
// not, a label that is placed twice or not at all. Sections are as Module takes them.
func (a *Builder) Check(sections ...Code) error {
	code := append(Code{}, a.entry...)
	for _, s := range append(sections, a.Body()) {
		code = append(code, s...)
	}
	placed, wanted := map[Label]bool{}, map[Label]*Instr{}
	for _, l := range code {
		if l, ok := l.(Label); ok {
			if placed[l] {
				return fmt.Errorf("label %s is placed twice", l)
			}
			placed[l] = true
		}
		i, ok := l.(*Instr)
		if !ok {
			continue
		}
		if i.Effects()&Unknown != 0 {
			return fmt.Errorf("the table of effects has no %q", i)
		}
		if err := i.checkTypes(); err != nil {
			return err
		}
		if i.Pred.Valid() && i.Pred.Class != Pred {
			return fmt.Errorf("the condition of %q is no predicate", i)
		}
		for _, x := range i.Src {
			if l, ok := x.(Label); ok {
				wanted[l] = i
			}
		}
	}
	for l, i := range wanted {
		if !placed[l] {
			return fmt.Errorf("%q goes to a label that is not placed", i)
		}
	}
	return a.checkReads(code)
}

// run is code that is entered at its beginning alone: from before it, or by branches to the label there.
type run struct {
	from, to int
	// written is, by register, whether it is written on each way to the beginning.
	written registerSet
	// next are the runs that may follow.
	next []int
}

// checkReads looks for a register that is read where, on some way there, nothing has written it. A write under a condition counts as one.
func (a *Builder) checkReads(code Code) error {
	runs, at := []*run{{}}, map[Label]int{}
	for n, l := range code {
		r := runs[len(runs)-1]
		switch l := l.(type) {
		case Label:
			if n > r.from {
				runs = append(runs, &run{from: n})
			}
			at[l] = len(runs) - 1
		case *Instr:
			if l.leaves() && n+1 < len(code) {
				runs = append(runs, &run{from: n + 1})
			}
		}
		r.to = n
	}
	for n, r := range runs {
		r.to = len(code)
		if n+1 < len(runs) {
			r.to = runs[n+1].from
		}
		falls := true
		if i, ok := code[max(r.to-1, 0)].(*Instr); ok && i.leaves() {
			falls = i.Pred.Valid()
			for _, x := range i.Src {
				if l, ok := x.(Label); ok {
					r.next = append(r.next, at[l])
				}
			}
		}
		if falls && n+1 < len(runs) {
			r.next = append(r.next, n+1)
		}
	}
	runs[0].written = a.newRegisterSet()
	for todo := []int{0}; len(todo) > 0; {
		r := runs[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		written := r.written.clone()
		for _, l := range code[r.from:r.to] {
			if i, ok := l.(*Instr); ok {
				for _, x := range registers(i.Dst) {
					written.add(x)
				}
			}
		}
		for _, n := range r.next {
			if next := runs[n]; next.written == nil {
				next.written = written.clone()
			} else if !next.written.keepOnly(written) {
				continue
			}
			todo = append(todo, n)
		}
	}
	for _, r := range runs {
		if r.written == nil { // nothing comes here
			continue
		}
		for _, l := range code[r.from:r.to] {
			i, ok := l.(*Instr)
			if !ok {
				continue
			}
			reads := i.Src
			if i.Pred.Valid() {
				reads = append([]Operand{i.Pred}, reads...)
			}
			for _, x := range reads {
				for _, x := range registers(x) {
					if !r.written.has(x) {
						return fmt.Errorf("%q reads %s, which nothing before it writes on some way there", i, x)
					}
				}
			}
			for _, x := range registers(i.Dst) {
				r.written.add(x)
			}
		}
	}
	return nil
}

// leaves reports that what follows in the text need not follow when the code runs.
func (i *Instr) leaves() bool {
	name, _, _ := strings.Cut(i.Name, ".")
	return name == "bra" || name == "ret" || name == "exit"
}

// registerSet is a set of registers: by class, a bit for each number.
type registerSet [][]uint64

func (a *Builder) newRegisterSet() registerSet {
	s := make(registerSet, numClasses)
	for c := range s {
		s[c] = make([]uint64, len(a.levels[c])/64+1)
	}
	return s
}

func (s registerSet) add(r Reg)      { s[r.Class][r.id/64] |= 1 << (r.id % 64) }
func (s registerSet) has(r Reg) bool { return s[r.Class][r.id/64]&(1<<(r.id%64)) != 0 }

func (s registerSet) clone() registerSet {
	c := slices.Clone(s)
	for i := range c {
		c[i] = slices.Clone(c[i])
	}
	return c
}

// keepOnly takes out what is not in another set, and reports whether that changed anything.
func (s registerSet) keepOnly(of registerSet) (changed bool) {
	for c := range s {
		for i, have := range s[c] {
			s[c][i] &= of[c][i]
			changed = changed || s[c][i] != have
		}
	}
	return changed
}

// registers are those that an operand has.
func registers(x Operand) []Reg {
	switch x := x.(type) {
	case Reg:
		return []Reg{x}
	case Vector:
		return x
	case Addr:
		return registers(x.base)
	case Box:
		return append([]Reg{x.Map}, x.At...)
	}
	return nil
}
